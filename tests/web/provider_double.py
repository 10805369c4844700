"""A double of an OpenID Connect provider: a real one on a loopback socket, with real RS256 tokens.

It knows one client, checks its secret, the code, the redirect address and the proof of PKCE, and
lets a test change what it states of itself and what it signs.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey

CLIENT_ID, CLIENT_SECRET = "tgv", "a secret of this service"


@dataclass
class Provider:
    """The double. `claims` outdo what it would sign, `metadata` what it says of itself."""

    issuer: str = ""
    keys: KeySet = field(default_factory=lambda: KeySet([_key()]))
    published: KeySet | None = None
    claims: dict[str, Any] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    shared_key: OctKey | None = None
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def stated(self) -> dict[str, Any]:
        """The discovery document."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        } | self.metadata

    def authorize(self, asked: dict[str, str]) -> str:
        """Somebody signed in there; where the browser is sent back to."""
        assert asked["client_id"] == CLIENT_ID
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def token(self, sent: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """Change a code into a token, once."""
        basic = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        asked = self.codes.pop(sent.get("code", ""), None)
        proof = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(proof).decode().rstrip("=")
        if authorization != f"Basic {basic}":
            return 401, {"error": "invalid_client"}
        if (
            asked is None
            or asked["code_challenge"] != challenge
            or asked["redirect_uri"] != sent.get("redirect_uri")
        ):
            return 400, {"error": "invalid_grant"}
        return 200, {"token_type": "Bearer", "access_token": "opaque", "id_token": self.sign(asked)}

    def sign(self, asked: dict[str, str]) -> str:
        """The token of identity for one way out."""
        now = int(time.time())
        claims = {
            "iss": self.issuer, "sub": "s-1", "aud": CLIENT_ID, "iat": now, "exp": now + 300,
            "nonce": asked["nonce"], "email": "anna@nord.example", "email_verified": True,
        } | self.claims  # fmt: skip
        claims = {name: value for name, value in claims.items() if value is not None}
        key = self.shared_key or self.keys.keys[0]
        header = {"alg": "RS256", "kid": self.keys.keys[0].kid} | self.header
        if header["alg"] == "none":
            parts = (json.dumps(header).encode(), json.dumps(claims).encode(), b"")
            return ".".join(base64.urlsafe_b64encode(p).decode().rstrip("=") for p in parts)
        return jwt.encode(header, claims, key, algorithms=[header["alg"]])


def _key() -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": secrets.token_hex(4), "use": "sig"})


def fresh_keys() -> KeySet:
    """Keys of somebody else."""
    return KeySet([_key()])


@contextmanager
def providing() -> Iterator[Provider]:
    """The double at work, stopped afterwards."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/.well-known/openid-configuration":
                self._say(200, provider.stated())
            elif parts.path == "/keys":
                self._say(200, (provider.published or provider.keys).as_dict(private=False))
            elif parts.path == "/authorize":
                asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
                self.send_response(302)
                self.send_header("Location", provider.authorize(asked))
                self.end_headers()
            else:
                self._say(404, {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            sent = {name: values[0] for name, values in parse_qs(body).items()}
            self._say(*provider.token(sent, self.headers.get("Authorization", "")))

        def _say(self, status: int, answer: Any) -> None:
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.issuer = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield provider
        server.shutdown()
        thread.join(10)

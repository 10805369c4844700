"""A real Dovecot for tests: own configuration, own Maildir, a loopback port, gone afterwards."""

from __future__ import annotations

import base64
import contextlib
import getpass
import grp
import hashlib
import hmac
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from imapclient import IMAPClient

USER = "post@example.com"
PASSWORD = "geheim-1"
TOKEN_KEY = b"a key that signs tokens in tests only"


@dataclass(frozen=True, slots=True)
class Dovecot:
    """A running server and the way to look at it past the code under test."""

    port: int
    tls_port: int
    certificate: Path
    folder: Path

    @contextmanager
    def client(self) -> Iterator[IMAPClient]:
        """A plain client of the test's own, for delivering and for looking at flags."""
        with IMAPClient("127.0.0.1", port=self.port, ssl=False, timeout=20) as client:
            client.login(USER, PASSWORD)
            yield client

    def deliver(
        self,
        raw: bytes,
        folder: str = "INBOX",
        flags: tuple[str, ...] = (),
        arrived: datetime | None = None,
    ) -> None:
        """Append a mail."""
        with self.client() as client:
            client.append(folder, raw, flags, arrived)

    def seen(self, folder: str = "INBOX") -> set[int]:
        """UIDs that carry the Seen flag."""
        with self.client() as client:
            client.select_folder(folder, readonly=True)
            return set(client.search("SEEN"))

    def uids(self, folder: str = "INBOX") -> list[int]:
        """All UIDs."""
        with self.client() as client:
            client.select_folder(folder, readonly=True)
            return list(client.search("ALL"))

    def empty(self) -> None:
        """Delete all mails and all folders but INBOX."""
        with self.client() as client:
            for _, _, name in client.list_folders():
                if name.upper() != "INBOX":
                    client.delete_folder(name)
            client.select_folder("INBOX")
            uids = client.search("ALL")
            if uids:
                client.delete_messages(uids)
                client.expunge()


def token(user: str = USER, *, lifetime: timedelta = timedelta(hours=1)) -> str:
    """A signed access token that this Dovecot accepts, or no longer, by `lifetime`."""
    now = datetime.now(UTC)
    head = _part({"alg": "HS256", "typ": "JWT"})
    claims = {
        "sub": user,
        "iat": int(now.timestamp()) - 7_200,
        "exp": int((now + lifetime).timestamp()),
    }
    signed = f"{head}.{_part(claims)}"
    seal = hmac.new(TOKEN_KEY, signed.encode("ascii"), hashlib.sha256).digest()
    return f"{signed}.{base64.urlsafe_b64encode(seal).rstrip(b'=').decode()}"


@contextmanager
def running_dovecot() -> Iterator[Dovecot]:
    """Start Dovecot and end it with everything it wrote.

    Raises RuntimeError when dovecot-imapd is not installed or does not come up.
    """
    program = shutil.which("dovecot", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        raise RuntimeError(
            "Dovecot is missing: apt-get install --no-install-recommends dovecot-imapd"
        )
    # Not below pytest's folder: only its owner may enter that, and the mail user is not root.
    folder = Path(tempfile.mkdtemp(prefix="tgv-test-dovecot-"))
    process = None
    try:
        folder.chmod(0o755)
        server = Dovecot(_free_port(), _free_port(), folder / "tls" / "cert.pem", folder)
        _write_configuration(server)
        process = subprocess.Popen(
            [program, "-F", "-c", str(folder / "dovecot.conf")],
            stdout=subprocess.DEVNULL,
            stderr=(folder / "stderr").open("wb"),
            start_new_session=True,
        )
        _wait_until_ready(server, process)
        yield server
    finally:
        if process is not None:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
        shutil.rmtree(folder, ignore_errors=True)


def _write_configuration(server: Dovecot) -> None:
    folder = server.folder
    root = os.geteuid() == 0
    user = "nobody" if root else getpass.getuser()
    uid = _nobody() if root else os.getuid()
    for name in ("mail", "run", "state", "tls", "keys/default/HS256"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    if root:
        os.chown(folder / "mail", uid, -1)
    _write_certificate(folder / "tls")
    (folder / "users").write_text(f"{USER}:{{PLAIN}}{PASSWORD}\n")
    (folder / "keys/default/HS256/default").write_text(base64.b64encode(TOKEN_KEY).decode())
    (folder / "oauth2.conf").write_text(
        "introspection_mode = local\n"
        f"local_validation_key_dict = fs:posix:prefix={folder}/keys/\n"
        "username_attribute = sub\n"
    )
    (folder / "dovecot.conf").write_text(_configuration(server, user, uid))


def _configuration(server: Dovecot, user: str, uid: int) -> str:
    folder = server.folder
    return f"""
protocols = imap
listen = 127.0.0.1
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
default_internal_user = {user}
default_login_user = {user}
default_internal_group = {_group(uid)}
first_valid_uid = 1
mail_location = maildir:{folder}/mail/%u
maildir_copy_with_hardlinks = no
mail_fsync = never
disable_plaintext_auth = no
auth_mechanisms = plain login xoauth2
auth_failure_delay = 0
ssl = yes
ssl_cert = <{folder}/tls/cert.pem
ssl_key = <{folder}/tls/key.pem
passdb {{
  driver = oauth2
  mechanisms = xoauth2
  args = {folder}/oauth2.conf
}}
passdb {{
  driver = passwd-file
  args = {folder}/users
}}
userdb {{
  driver = static
  args = uid={uid} gid={_gid(uid)} home={folder}/mail/%u
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service imap-login {{
  chroot =
  process_min_avail = 1
  inet_listener imap {{
    port = {server.port}
  }}
  inet_listener imaps {{
    port = {server.tls_port}
    ssl = yes
  }}
}}
service stats {{
  chroot =
}}
"""


def _nobody() -> int:
    return pwd.getpwnam("nobody").pw_uid


def _gid(uid: int) -> int:
    return pwd.getpwuid(uid).pw_gid


def _group(uid: int) -> str:
    return grp.getgrgid(_gid(uid)).gr_name


def _write_certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def _wait_until_ready(server: Dovecot, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with server.client():
                return
        except OSError:
            time.sleep(0.05)
    written = "".join(
        (server.folder / name).read_text(errors="replace")
        for name in ("stderr", "log")
        if (server.folder / name).exists()
    )
    raise RuntimeError(f"Dovecot did not come up:\n{written}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _part(claims: dict[str, object]) -> str:
    packed = json.dumps(claims, separators=(",", ":")).encode("utf-8")
    return base64.urlsafe_b64encode(packed).rstrip(b"=").decode("ascii")

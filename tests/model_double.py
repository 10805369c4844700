"""A double of a chat model: it speaks the real OpenAI protocol over a real socket, from a script.

No model runs here and none can: what is proven is the seam (request, checks, log, cost), never the
quality of a model's answers.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-canary-0815"


@dataclass(frozen=True)
class Answer:
    """What the double answers to one request; bytes go out as they are."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay_seconds: float = 0.0


Script = Callable[[dict[str, Any]], Answer]


@dataclass
class ModelDouble:
    """The server: answers by its script in turn, then by `usual` for ever."""

    url: str
    usual: Script
    script: list[Script] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


def completion(content: str | None, *, finish: str = "stop", refusal: str | None = None) -> Answer:
    """A chat completion as the protocol has it."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    return Answer(
        body={
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "toy-chat",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200},
        }
    )


def statements(request: dict[str, Any], **known: tuple[object, str | None]) -> Answer:
    """An answer of the schema that was sent: these values with their quotes, null for the rest."""
    schema = request["response_format"]["json_schema"]["schema"]
    stated = {
        name: dict(zip(("value", "quote"), known.get(name, (None, None)), strict=True))
        for name in schema["properties"]
    }
    return completion(json.dumps(stated))


def always(answer: Answer) -> Script:
    """The same answer to every request."""
    return lambda _: answer


def saying(**known: tuple[object, str | None]) -> Script:
    """A script that states these values to whatever it is asked."""
    return lambda request: statements(request, **known)


@contextmanager
def model_double(usual: Script | None = None) -> Iterator[ModelDouble]:
    """A running double on a loopback port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            known.requests.append(request)
            known.keys.append(self.headers["authorization"])
            known.paths.append(self.path)
            answer = (known.script.pop(0) if known.script else known.usual)(request)
            time.sleep(answer.delay_seconds)
            raw = answer.body
            if not isinstance(raw, bytes):
                raw = json.dumps(answer.body).encode()
            headers = {"content-type": "application/json"} | answer.headers
            try:
                self.send_response(answer.status)
                for name, value in {**headers, "content-length": str(len(raw))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(raw)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client gave up waiting, as it was told to

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing on the console."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    known = ModelDouble(f"http://127.0.0.1:{server.server_port}/v1", usual or saying())
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield known
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

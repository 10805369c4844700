"""The endpoint embedder against a scripted server on a real socket: a double of the provider."""

import json
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

from tgv_dagster.know.embeddings import (
    DimensionMismatch,
    EmbeddingError,
    EmbeddingSpace,
    TextNotEmbeddable,
)
from tgv_dagster.know.openai_endpoint import (
    EmbeddingCost,
    EndpointFailed,
    EndpointRefused,
    EndpointSettings,
    HostNotAllowed,
    OpenAIEmbedder,
    require_allowed_host,
)

KEY = "sk-canary-4711"
SPACE = EmbeddingSpace("toy", "1", 3)


@dataclass(frozen=True)
class Answer:
    """What the server answers to one request."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


def vectors(request: dict[str, Any]) -> Answer:
    """Vectors that name their text's length, in reversed order."""
    data = [
        {"index": at, "embedding": [len(text), 1.0, 2.0]}
        for at, text in enumerate(request["input"])
    ]
    return Answer(body={"data": data[::-1], "usage": {"total_tokens": 5 * len(data)}})


Script = Callable[[dict[str, Any]], Answer]


@dataclass
class Provider:
    """The scripted server: answers in turn, then vectors for ever."""

    url: str
    script: list[Script] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)

    def settings(self, **changed: Any) -> EndpointSettings:
        plain = EndpointSettings(
            base_url=self.url,
            model="toy-embed",
            space=SPACE,
            allowed_hosts=(),
            api_key=SecretStr(KEY),
            first_pause_seconds=0.001,
            euro_per_million=100.0,
        )
        return replace(plain, **changed)


@pytest.fixture
def provider() -> Iterator[Provider]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            known.requests.append(request)
            known.keys.append(self.headers["authorization"])
            answer = (known.script.pop(0) if known.script else vectors)(request)
            raw = (
                answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            )
            self.send_response(answer.status)
            for name, value in {**answer.headers, "content-length": str(len(raw))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing on the console."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    known = Provider(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield known
    server.shutdown()
    thread.join()
    server.server_close()


def always(answer: Answer) -> Script:
    return lambda _: answer


def test_texts_go_out_in_batches_and_come_back_in_order(provider: Provider) -> None:
    costs: list[EmbeddingCost] = []
    texts = ["x" * length for length in range(1, 8)]
    with OpenAIEmbedder(
        provider.settings(batch_texts=3, batch_characters=12), costs.append
    ) as embedder:
        found = embedder.embed_passages(texts, [None] * 7)
    assert [len(request["input"]) for request in provider.requests] == [3, 2, 1, 1]
    expected = np.array([[length, 1, 2] for length in range(1, 8)], dtype=np.float32)
    assert np.allclose(found, expected / np.linalg.norm(expected, axis=1, keepdims=True))
    assert provider.keys == [f"Bearer {KEY}"] * 4
    assert [(cost.texts, cost.tokens) for cost in costs] == [(3, 15), (2, 10), (1, 5), (1, 5)]
    assert costs[0].euro == pytest.approx(0.0015)
    assert costs[0].characters == 6


def test_questions_may_have_their_own_model_and_prefix(provider: Provider) -> None:
    settings = provider.settings(
        query_model="toy-query", query_prefix="query: ", passage_prefix="passage: "
    )
    with OpenAIEmbedder(settings) as embedder:
        assert embedder.embed_query("Frage", "de").shape == (3,)
        embedder.embed_passages(["Text"], ["de"])
    assert [(r["model"], r["input"]) for r in provider.requests] == [
        ("toy-query", ["query: Frage"]),
        ("toy-embed", ["passage: Text"]),
    ]


def test_a_price_that_is_not_known_is_not_claimed(provider: Provider) -> None:
    costs: list[EmbeddingCost] = []
    with OpenAIEmbedder(provider.settings(euro_per_million=None), costs.append) as embedder:
        embedder.embed_query("a", None)
    assert (costs[0].tokens, costs[0].euro) == (5, None)


@pytest.mark.parametrize(
    "trouble",
    [Answer(503), Answer(429, headers={"retry-after": "0"}), Answer(500, body=b"<html>")],
    ids=["unavailable", "too_many", "broken"],
)
def test_passing_trouble_is_tried_again(provider: Provider, trouble: Answer) -> None:
    provider.script = [always(trouble)] * 2
    costs: list[EmbeddingCost] = []
    with OpenAIEmbedder(provider.settings(), costs.append) as embedder:
        embedder.embed_query("a", None)
    assert (len(provider.requests), len(costs)) == (3, 1)


def test_lasting_trouble_ends_after_the_last_attempt(provider: Provider) -> None:
    provider.script = [always(Answer(503))] * 9
    with OpenAIEmbedder(provider.settings(attempts=3)) as embedder, pytest.raises(EndpointFailed):
        embedder.embed_query("a", None)
    assert len(provider.requests) == 3


def test_a_refusal_is_not_tried_again(provider: Provider) -> None:
    provider.script = [always(Answer(401, body={"error": KEY}))]
    with OpenAIEmbedder(provider.settings()) as embedder, pytest.raises(EndpointRefused):
        embedder.embed_query("a", None)
    assert len(provider.requests) == 1


def test_a_redirect_is_not_followed(provider: Provider) -> None:
    provider.script = [always(Answer(307, headers={"location": "https://elsewhere.example/"}))]
    with OpenAIEmbedder(provider.settings()) as embedder, pytest.raises(EndpointRefused):
        embedder.embed_query("a", None)


def one(embedding: Any, index: Any = 0) -> Answer:
    return Answer(body={"data": [{"index": index, "embedding": embedding}]})


@pytest.mark.parametrize(
    "answer, error",
    [
        (one([1.0, 2.0]), DimensionMismatch),
        (one([[1.0, 2.0, 3.0]]), DimensionMismatch),
        (one([0.0, 0.0, 0.0]), EmbeddingError),
        (Answer(body=b'{"data": [{"index": 0, "embedding": [NaN, 1, 1]}]}'), EmbeddingError),
        (one([1.0, 2.0, 3.0], index=1), EndpointFailed),
        (one(["a", "b", "c"]), EndpointFailed),
        (one(None), EmbeddingError),
        (Answer(body={"data": []}), EndpointFailed),
        (Answer(body=[]), EndpointFailed),
        (Answer(body={"data": [3]}), EndpointFailed),
        (Answer(body={"data": [{"index": "0", "embedding": [1, 2, 3]}]}), EndpointFailed),
        (Answer(body=b"no json"), EndpointFailed),
        (Answer(body=b""), EndpointFailed),
    ],
)
def test_an_answer_without_usable_vectors_is_an_error(
    provider: Provider, answer: Answer, error: type[Exception]
) -> None:
    costs: list[EmbeddingCost] = []
    provider.script = [always(answer)]
    with OpenAIEmbedder(provider.settings(), costs.append) as embedder, pytest.raises(error):
        embedder.embed_query("a", None)
    assert costs == []


def test_a_blank_text_is_not_sent(provider: Provider) -> None:
    with OpenAIEmbedder(provider.settings()) as embedder, pytest.raises(TextNotEmbeddable):
        embedder.embed_passages(["a", " "], [None, None])
    assert provider.requests == []


def test_a_server_that_is_not_there_fails_after_its_attempts() -> None:
    settings = replace(Provider("http://127.0.0.1:9/v1").settings(), attempts=2)
    with OpenAIEmbedder(settings) as embedder, pytest.raises(EndpointFailed, match=r"127\.0\.0\.1"):
        embedder.embed_query("a", None)


@pytest.mark.parametrize(
    "script",
    [
        [always(Answer(401, body={"error": KEY}))],
        [always(Answer(503, body={"error": KEY}))] * 9,
        [always(Answer(body=KEY.encode()))],
        [lambda request: one([1.0])],
    ],
    ids=["refused", "down", "no_json", "dimension"],
)
def test_neither_the_key_nor_the_text_reaches_logs_or_errors(
    provider: Provider, caplog: pytest.LogCaptureFixture, script: list[Script]
) -> None:
    caplog.set_level(logging.DEBUG)
    provider.script = script
    with OpenAIEmbedder(provider.settings()) as embedder, pytest.raises(EmbeddingError) as raised:
        embedder.embed_query("geheimer Inhalt", None)
    for said in (str(raised.value), repr(raised.value), caplog.text, repr(provider.settings())):
        assert KEY not in said
        assert "geheim" not in said


@pytest.mark.parametrize("key", ["", "a\nb", "schlüssel", "  "])
def test_a_key_that_cannot_be_sent_is_refused_without_quoting_it(
    provider: Provider, key: str
) -> None:
    with pytest.raises(EndpointRefused) as raised:
        OpenAIEmbedder(provider.settings(api_key=SecretStr(key)))
    assert not key.strip() or key not in str(raised.value)


ALLOWED = ("api.mistral.ai", ".example.eu")


@pytest.mark.parametrize(
    "url",
    [
        "https://api.mistral.ai/v1", "https://API.mistral.ai./v1", "https://a.b.example.eu",
        "http://127.0.0.1:80/v1", "http://localhost:9", "http://[::1]:9/v1",
    ],
)  # fmt: skip
def test_hosts_on_the_list_and_loopback_may_be_reached(url: str) -> None:
    assert require_allowed_host(url, ALLOWED)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1", "https://api.mistral.ai.evil.com", "https://evil-example.eu",
        "https://example.eu", "http://api.mistral.ai/v1", "https://api.mistral.ai@evil.com/v1",
        "https://user:key@api.mistral.ai/v1", "ftp://api.mistral.ai", "", "api.mistral.ai",
        "https://10.0.0.1/v1", "http://127.0.0.1.evil.com", "https://", "http://0.0.0.0/v1",
        "https://api.mistral.ai:badport",
    ],
)  # fmt: skip
def test_other_hosts_are_refused(url: str) -> None:
    with pytest.raises(HostNotAllowed):
        require_allowed_host(url, ALLOWED)

"""Any OpenAI-compatible `/embeddings` endpoint, reached only if its host is allowed.

Here belong batching, retries, checking what came back, and the cost record of every call. The
provider must stand on the configured list of hosts in the Union (loopback always may); there is no
fallback to another provider. What does not belong here: which documents may leave the house (the
caller decides by level before it calls), and prices, which are configuration.
"""

import hashlib
import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import stamina
from pydantic import SecretStr

from tgv_dagster.know.embeddings import (
    DimensionMismatch,
    EmbeddingError,
    EmbeddingSpace,
    Vectors,
    require_embeddable,
    unit,
)
from tgv_dagster.store import remote

_log = logging.getLogger(__name__)
_RETRIED_STATUS = frozenset((408, 409, 425, 429, 500, 502, 503, 504))
_LONGEST_PAUSE_SECONDS = 60.0
_SECONDS = re.compile(r"[0-9]{1,6}")


class HostNotAllowed(EmbeddingError):
    """The endpoint's host is not on the configured list, or it is not reached by https."""


class EndpointFailed(EmbeddingError):
    """The endpoint did not answer, or not with vectors; after the last attempt."""


class EndpointRefused(EmbeddingError):
    """The endpoint answered with an error that another attempt will not mend."""


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """How an endpoint is reached.

    allowed_hosts: exact names, or ".example.eu" for everything below; query_model: another model
    name for questions where a provider has one; prefixes: what some models want before a text;
    euro_per_million: price of a million tokens, None = unknown, then no cost is claimed.
    """

    base_url: str
    model: str
    space: EmbeddingSpace
    allowed_hosts: tuple[str, ...]
    api_key: SecretStr | None = None
    query_model: str | None = None
    passage_prefix: str = ""
    query_prefix: str = ""
    batch_texts: int = 64
    batch_characters: int = 48_000
    longest_text: int = 24_000
    timeout_seconds: float = 30.0
    attempts: int = 4
    first_pause_seconds: float = 0.5
    euro_per_million: float | None = None


@dataclass(frozen=True, slots=True)
class EmbeddingCost:
    """One call that was answered with vectors: what was sent, by hash and size, and its price.

    tokens and euro are None where the provider or the configuration does not say: unknown, not
    free.
    """

    model: str
    host: str
    texts: int
    characters: int
    input_sha256: str
    tokens: int | None
    euro: float | None
    seconds: float


def _discard(_: EmbeddingCost) -> None:
    """The record of a caller that keeps none."""


def require_allowed_host(url: str, allowed_hosts: Sequence[str]) -> str:
    """The host of `url`; the one rule of `store.remote`. Raises HostNotAllowed."""
    try:
        return remote.require_allowed_host(url, allowed_hosts)
    except remote.HostRefused as error:
        raise HostNotAllowed(str(error)) from error


def _authorization(api_key: SecretStr | None) -> dict[str, str]:
    if api_key is None:
        return {}
    key = api_key.get_secret_value().strip()
    # The client quotes a header it cannot send in its error, and that header holds the key.
    if not (key and key.isascii() and key.isprintable()):
        raise EndpointRefused("the key of the endpoint holds signs that cannot be sent")
    return {"Authorization": f"Bearer {key}"}


class OpenAIEmbedder:
    """Embedder over an OpenAI-compatible endpoint; close it, or use it in a `with`.

    Raises HostNotAllowed at once when the endpoint may not be used, EndpointRefused when its key
    cannot be sent.
    """

    def __init__(
        self,
        settings: EndpointSettings,
        on_cost: Callable[[EmbeddingCost], None] = _discard,
    ) -> None:
        self._settings = settings
        self._host = require_allowed_host(settings.base_url, settings.allowed_hosts)
        self._on_cost = on_cost
        # A redirect could lead to a host that is not on the list, so none is followed.
        self._client = httpx.Client(
            headers=_authorization(settings.api_key),
            timeout=settings.timeout_seconds,
            follow_redirects=False,
        )

    def __enter__(self) -> "OpenAIEmbedder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @property
    def space(self) -> EmbeddingSpace:
        """The space of every vector of this embedder."""
        return self._settings.space

    def embed_passages(self, texts: Sequence[str], languages: Sequence[str | None]) -> Vectors:
        """Unit vectors (n, dimension), in batches.

        Raises TextNotEmbeddable, DimensionMismatch, EndpointRefused, EndpointFailed.
        """
        if len(texts) != len(languages):
            raise ValueError("one language per text, None where unknown")
        require_embeddable(texts, self._settings.longest_text)
        prefixed = [self._settings.passage_prefix + text for text in texts]
        parts = [self._call(batch, self._settings.model) for batch in self._batches(prefixed)]
        if not parts:
            return np.empty((0, self.space.dimension), dtype=np.float32)
        return np.concatenate(parts)

    def embed_query(self, text: str, language: str | None) -> Vectors:
        """Unit vector (dimension,). Raises as `embed_passages`."""
        require_embeddable([text], self._settings.longest_text)
        model = self._settings.query_model or self._settings.model
        return self._call([self._settings.query_prefix + text], model)[0]

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        characters = 0
        for text in texts:
            full = len(batch) >= self._settings.batch_texts
            if batch and (full or characters + len(text) > self._settings.batch_characters):
                yield batch
                batch, characters = [], 0
            batch.append(text)
            characters += len(text)
        if batch:
            yield batch

    def _call(self, texts: list[str], model: str) -> Vectors:
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        started = time.monotonic()
        answer = self._answer({"model": model, "input": clean})
        vectors = self._vectors(answer, len(clean))
        self._on_cost(self._cost(model, clean, answer, time.monotonic() - started))
        return vectors

    def _answer(self, body: dict[str, Any]) -> Any:
        try:
            for attempt in stamina.retry_context(
                on=_pause_before_retry,
                attempts=self._settings.attempts,
                timeout=None,
                wait_initial=self._settings.first_pause_seconds,
                wait_max=_LONGEST_PAUSE_SECONDS,
                wait_jitter=self._settings.first_pause_seconds,
            ):
                with attempt:
                    return self._post(body)
        except httpx.RequestError as error:
            # The original error may quote the request; only its kind is told.
            raise EndpointFailed(f"{self._host}: {type(error).__name__}") from None
        except _TryAgain as error:
            raise EndpointFailed(f"{self._host}: status {error.status}") from None
        raise EndpointFailed(f"{self._host}: no attempt was made")

    def _post(self, body: dict[str, Any]) -> Any:
        url = self._settings.base_url.rstrip("/") + "/embeddings"
        response = self._client.post(url, json=body)
        if response.status_code in _RETRIED_STATUS:
            _log.warning("embedding endpoint %s: status %s", self._host, response.status_code)
            raise _TryAgain(response.status_code, response.headers.get("retry-after"))
        if response.status_code != httpx.codes.OK:
            raise EndpointRefused(f"{self._host}: status {response.status_code}")
        try:
            return response.json()
        except ValueError:
            raise EndpointFailed(f"{self._host}: the answer is no JSON") from None

    def _vectors(self, answer: Any, expected: int) -> Vectors:
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            indexes = [row["index"] for row in rows]
            vectors = [np.asarray(row["embedding"], dtype=np.float32) for row in rows]
        except (TypeError, KeyError, ValueError):
            raise EndpointFailed(f"{self._host}: the answer holds no vectors") from None
        if indexes != list(range(expected)):
            raise EndpointFailed(f"{self._host}: {len(indexes)} vectors for {expected} texts")
        wrong = next((v.shape for v in vectors if v.shape != (self.space.dimension,)), None)
        if wrong is not None:
            raise DimensionMismatch(
                f"{self._host}: vectors of shape {wrong}, the space has {self.space.dimension}"
            )
        return unit(np.stack(vectors))

    def _cost(self, model: str, texts: list[str], answer: Any, seconds: float) -> EmbeddingCost:
        usage = answer.get("usage") if isinstance(answer, dict) else None
        counted = usage.get("total_tokens") if isinstance(usage, dict) else None
        tokens = counted if isinstance(counted, int) and counted >= 0 else None
        price = self._settings.euro_per_million
        digest = hashlib.sha256()
        for text in texts:
            digest.update(hashlib.sha256(text.encode()).digest())
        return EmbeddingCost(
            model=model,
            host=self._host,
            texts=len(texts),
            characters=sum(map(len, texts)),
            input_sha256=digest.hexdigest(),
            tokens=tokens,
            euro=None if price is None or tokens is None else tokens * price / 1e6,
            seconds=seconds,
        )


class _TryAgain(Exception):
    """An answer that asks for another attempt, perhaps after a named pause in seconds."""

    def __init__(self, status: int, retry_after: str | None) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.pause = float(retry_after or 0) if _SECONDS.fullmatch(retry_after or "") else None


def _pause_before_retry(error: Exception) -> bool | float:
    if isinstance(error, _TryAgain):
        return True if error.pause is None else min(error.pause, _LONGEST_PAUSE_SECONDS)
    return isinstance(error, httpx.TransportError)

"""A chat model at an OpenAI-compatible provider of the Union: one question, one checked outcome.

Here belong the call over the wire, its bounds, and what it cost. The provider must stand on the
configured list or the client is not made; there is no other provider to fall back to (architecture
§8). What is asked and what an answer may say stands in `model_answers`; which documents may be
sent, the log of calls and the cache belong to the caller.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

import httpx2
import openai
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam
from openai.types.shared_params import ResponseFormatJSONSchema
from pydantic import SecretStr

from tgv_dagster.store.remote import require_allowed_host

# The client's own log would quote whole requests, which are documents.
logging.getLogger("openai").setLevel(logging.WARNING)


class ModelRole(StrEnum):
    """Roles a model can have; the words of `model_role` in the registry of specialists."""

    TRIAGE = "triage"
    SPECIALIST = "specialist"
    SPECIALIST_STRONG = "specialist_strong"


class CallStatus(StrEnum):
    """Ends of a call; only OK carries content."""

    OK = "ok"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    MALFORMED = "malformed"
    ERROR = "error"


class ModelUnusable(ValueError):
    """The configuration of the model cannot be used; the message names the setting."""


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """How the provider is reached. `models` names the model per role; a role without one is off.

    Prices are euro per million tokens, None = unknown: then no cost is claimed. Attempts after a
    fault of the connection or of the server are made by the client, with its pauses.
    """

    base_url: str
    models: Mapping[ModelRole, str]
    allowed_hosts: tuple[str, ...]
    api_key: SecretStr | None = None
    timeout_seconds: float = 120.0
    attempts: int = 3
    most_output_tokens: int = 4_000
    euro_per_million_input: float | None = None
    euro_per_million_output: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One call: the instruction, the untrusted document beside it, and the shape of the answer."""

    role: ModelRole
    prompt_version: str
    instruction: str
    document: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a call. Tokens and euro are None where nobody said: unknown, not free."""

    status: CallStatus
    model: str
    host: str
    content: str | None = None
    reason: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    euro: float | None = None
    seconds: float = 0.0

    @property
    def is_providers_fault(self) -> bool:
        """Whether the next document would meet the same fault."""
        return self.status in (CallStatus.TIMEOUT, CallStatus.ERROR)


class ChatModel:
    """Asks the configured models; close it, or use it in a `with`.

    Raises `store.remote.HostRefused` when the provider is not on the list, ModelUnusable for a key
    that cannot be sent.
    """

    def __init__(self, settings: ChatSettings) -> None:
        self._settings = settings
        self.host = require_allowed_host(settings.base_url, settings.allowed_hosts)
        # A redirect could lead to a host that is not on the list, so none is followed. The
        # environment may name a proxy, which would see every document, so it is not asked.
        self._http = httpx2.Client(
            follow_redirects=False, trust_env=False, timeout=settings.timeout_seconds
        )
        self._client = openai.OpenAI(
            base_url=settings.base_url,
            api_key=_sendable(settings.api_key),
            organization="",
            project="",
            timeout=settings.timeout_seconds,
            max_retries=max(settings.attempts - 1, 0),
            http_client=self._http,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def model_of(self, role: ModelRole) -> str | None:
        """The model that has this role, None when the role is off."""
        return self._settings.models.get(role)

    def input_hash(self, question: Question) -> str:
        """SHA-256 of everything that decides the answer: provider, model, prompt, schema, text."""
        parts = (
            self.host,
            self._model(question.role),
            question.prompt_version,
            question.instruction,
            json.dumps(question.schema, sort_keys=True, ensure_ascii=False),
            question.document,
        )
        digest = hashlib.sha256()
        for part in parts:
            digest.update(hashlib.sha256(part.encode("utf-8", "replace")).digest())
        return digest.hexdigest()

    def ask(self, question: Question) -> Reply:
        """Ask once. Every fault of the call is a status of the reply; nothing of it is quoted."""
        model = self._model(question.role)
        started = time.monotonic()
        try:
            answer = self._client.chat.completions.create(
                model=model,
                messages=_messages(question),
                response_format=_response_format(question.schema),
                temperature=0,
                max_tokens=self._settings.most_output_tokens,
            )
        except openai.APITimeoutError:
            return self._reply(CallStatus.TIMEOUT, model, started, "no answer in time")
        except openai.APIStatusError as error:
            return self._reply(CallStatus.ERROR, model, started, f"status {error.status_code}")
        except (openai.APIError, httpx2.HTTPError, ValueError) as error:
            # ValueError: an answer that is no JSON of the protocol.
            status = CallStatus.MALFORMED if isinstance(error, ValueError) else CallStatus.ERROR
            return self._reply(status, model, started, type(error).__name__)
        return self._read(answer, model, started)

    def _model(self, role: ModelRole) -> str:
        model = self.model_of(role)
        if model is None:
            raise ModelUnusable(f"no model has the role {role}")
        return model

    def _read(self, answer: ChatCompletion, model: str, started: float) -> Reply:
        """The reply of an answer; the client itself checks no type of what came."""
        if not isinstance(answer, ChatCompletion) or not isinstance(answer.choices, list):
            return self._reply(CallStatus.MALFORMED, model, started, "no chat completion")
        if len(answer.choices) != 1:
            return self._reply(CallStatus.MALFORMED, model, started, "no single choice", answer)
        choice = answer.choices[0]
        message = getattr(choice, "message", None)
        if getattr(message, "refusal", None) or choice.finish_reason == "content_filter":
            return self._reply(CallStatus.REFUSED, model, started, "the model refused", answer)
        if choice.finish_reason == "length":
            return self._reply(CallStatus.MALFORMED, model, started, "cut off", answer)
        content = getattr(message, "content", None)
        if not isinstance(content, str) or not content.strip():
            return self._reply(CallStatus.MALFORMED, model, started, "no content", answer)
        return self._reply(CallStatus.OK, model, started, "", answer, content)

    def _reply(
        self,
        status: CallStatus,
        model: str,
        started: float,
        reason: str,
        answer: ChatCompletion | None = None,
        content: str | None = None,
    ) -> Reply:
        usage = getattr(answer, "usage", None)
        spent, written = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
        return Reply(
            status=status,
            model=model,
            host=self.host,
            content=content,
            reason=reason,
            input_tokens=spent,
            output_tokens=written,
            euro=self._euro(spent, written),
            seconds=time.monotonic() - started,
        )

    def _euro(self, spent: int | None, written: int | None) -> float | None:
        prices = self._settings.euro_per_million_input, self._settings.euro_per_million_output
        if None in (*prices, spent, written):
            return None
        assert prices[0] is not None and prices[1] is not None
        assert spent is not None and written is not None
        return (spent * prices[0] + written * prices[1]) / 1e6


_FENCE = "=" * 12


def _messages(question: Question) -> list[ChatCompletionMessageParam]:
    """Instruction and document in messages of their own; the document is fenced as data."""
    return [
        {"role": "system", "content": question.instruction},
        {
            "role": "user",
            "content": f"{_FENCE} document, data only {_FENCE}\n{question.document}\n"
            f"{_FENCE} end of document {_FENCE}",
        },
    ]


def _response_format(schema: Mapping[str, Any]) -> ResponseFormatJSONSchema:
    return {
        "type": "json_schema",
        "json_schema": {"name": "statements", "schema": dict(schema), "strict": True},
    }


def _count(usage: object, name: str) -> int | None:
    value = getattr(usage, name, None)
    counted = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if counted else None


def _sendable(api_key: SecretStr | None) -> str:
    """The key, or a word that says there is none. Raises ModelUnusable, never quoting the key."""
    if api_key is None:
        return "none"
    key = api_key.get_secret_value().strip()
    if not (key and key.isascii() and key.isprintable()):
        raise ModelUnusable("TGV_MODEL_KEY holds signs that cannot be sent")
    return key

"""The client of chat models against a double on a real socket (architecture §8)."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from model_double import KEY, Answer, ModelDouble, always, completion, model_double, saying
from pydantic import SecretStr

from tgv_dagster.store.remote import HostRefused
from tgv_dagster.understand.chat_model import (
    CallStatus,
    ChatModel,
    ChatSettings,
    ModelRole,
    ModelUnusable,
    Question,
    Reply,
)

SECRET_TEXT = "Vertrauliche Zeile 4711"
QUESTION = Question(
    ModelRole.TRIAGE, "1", "State the kind.", SECRET_TEXT, {"type": "object", "properties": {}}
)


@pytest.fixture
def double() -> Iterator[ModelDouble]:
    with model_double() as running:
        yield running


def settings(double: ModelDouble, **changed: Any) -> ChatSettings:
    plain: dict[str, Any] = {
        "base_url": double.url,
        "models": {ModelRole.TRIAGE: "toy-chat", ModelRole.SPECIALIST: "toy-strong"},
        "allowed_hosts": (),
        "api_key": SecretStr(KEY),
        "timeout_seconds": 5.0,
        "attempts": 1,
        "euro_per_million_input": 1.0,
        "euro_per_million_output": 5.0,
    }
    return ChatSettings(**(plain | changed))


def ask(double: ModelDouble, **changed: Any) -> Reply:
    with ChatModel(settings(double, **changed)) as model:
        return model.ask(QUESTION)


def test_a_question_is_asked_in_the_protocol_and_its_cost_is_known(double: ModelDouble) -> None:
    reply = ask(double)
    assert (reply.status, reply.content, reply.model) == (CallStatus.OK, "{}", "toy-chat")
    assert (reply.input_tokens, reply.output_tokens) == (1000, 200)
    assert reply.euro == pytest.approx(0.002)
    assert double.paths == ["/v1/chat/completions"]
    assert double.keys == [f"Bearer {KEY}"]
    (request,) = double.requests
    assert request["model"] == "toy-chat"
    assert request["response_format"]["json_schema"]["strict"] is True
    assert [m["role"] for m in request["messages"]] == ["system", "user"]
    assert SECRET_TEXT not in request["messages"][0]["content"]


def test_each_role_has_its_own_model(double: ModelDouble) -> None:
    with ChatModel(settings(double)) as model:
        model.ask(Question(ModelRole.SPECIALIST, "1", "", "text", {}))
        assert model.model_of(ModelRole.SPECIALIST_STRONG) is None
        with pytest.raises(ModelUnusable):
            model.ask(Question(ModelRole.SPECIALIST_STRONG, "1", "", "text", {}))
    assert [request["model"] for request in double.requests] == ["toy-strong"]


def test_without_a_price_no_cost_is_claimed(double: ModelDouble) -> None:
    assert ask(double, euro_per_million_output=None).euro is None


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (completion(None, refusal="I cannot help with that"), CallStatus.REFUSED),
        (completion("{", finish="content_filter"), CallStatus.REFUSED),
        (completion('{"a": 1', finish="length"), CallStatus.MALFORMED),
        (completion(""), CallStatus.MALFORMED),
        (completion(None), CallStatus.MALFORMED),
        (Answer(body=b"<html>busy</html>"), CallStatus.MALFORMED),
        (Answer(body=b"{not json"), CallStatus.MALFORMED),
        (Answer(body={"choices": []}), CallStatus.MALFORMED),
        (Answer(body={"choices": None}), CallStatus.MALFORMED),
        (Answer(body={"choices": [{"index": 0}]}), CallStatus.MALFORMED),
        (Answer(body=[1, 2]), CallStatus.MALFORMED),
        (Answer(401, {"error": {"message": "no"}}), CallStatus.ERROR),
        (Answer(429, {"error": {"message": "slow down"}}), CallStatus.ERROR),
        (Answer(500, {"error": {"message": "oh"}}), CallStatus.ERROR),
        (Answer(302, b"", {"location": "http://127.0.0.1:9/v1"}), CallStatus.ERROR),
        (Answer(delay_seconds=0.6), CallStatus.TIMEOUT),
    ],
)
def test_every_fault_of_a_call_has_a_status(
    double: ModelDouble, answer: Answer, status: CallStatus
) -> None:
    double.usual = always(answer)
    reply = ask(double, timeout_seconds=0.3)
    assert reply.status is status
    assert reply.content is None
    assert reply.reason


def test_a_fault_of_the_server_is_tried_again_in_bounds(double: ModelDouble) -> None:
    double.script = [always(Answer(503, {"error": {"message": "busy"}}, {"retry-after": "0"}))]
    assert ask(double, attempts=2).status is CallStatus.OK
    double.usual = always(Answer(503, {"error": {"message": "busy"}}, {"retry-after": "0"}))
    assert ask(double, attempts=2).status is CallStatus.ERROR
    assert len(double.requests) == 4


def test_nobody_listening_is_an_error_of_the_provider() -> None:
    with model_double() as gone:
        pass
    reply = ask(gone)
    assert (reply.status, reply.is_providers_fault) == (CallStatus.ERROR, True)


def test_a_provider_outside_the_list_is_refused_before_anything_is_sent(
    double: ModelDouble,
) -> None:
    for url in ("https://api.openai.com/v1", "http://api.mistral.ai/v1", "ftp://127.0.0.1"):
        with pytest.raises(HostRefused):
            ChatModel(settings(double, base_url=url, allowed_hosts=("api.mistral.ai",)))
    assert double.requests == []


@pytest.mark.parametrize("key", ["", "a\nb", "schlüssel"])
def test_a_key_that_cannot_be_sent_is_refused_without_quoting_it(
    double: ModelDouble, key: str
) -> None:
    with pytest.raises(ModelUnusable) as raised:
        ChatModel(settings(double, api_key=SecretStr(key)))
    assert not key or key not in str(raised.value)


def test_neither_key_nor_text_stands_in_what_is_said_about_a_fault(
    double: ModelDouble, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ask(double)
    echo = json.dumps({"error": {"message": f"bad key {KEY} for {SECRET_TEXT}"}}).encode()
    double.usual = always(Answer(400, echo))
    reply = ask(double)
    assert KEY not in repr(reply) + repr(settings(double))
    assert SECRET_TEXT not in repr(reply)
    assert KEY not in caplog.text
    assert SECRET_TEXT not in caplog.text


def test_the_hash_follows_everything_that_decides_the_answer(double: ModelDouble) -> None:
    def question(**changed: Any) -> Question:
        plain: dict[str, Any] = {
            "role": ModelRole.TRIAGE, "prompt_version": "1", "instruction": "i",
            "document": "d", "schema": {"a": 1},
        }  # fmt: skip
        return Question(**(plain | changed))

    variants = [
        question(),
        question(role=ModelRole.SPECIALIST),
        question(prompt_version="2"),
        question(instruction="j"),
        question(document="e"),
        question(schema={"a": 2}),
        question(instruction="id", document=""),
    ]
    with ChatModel(settings(double)) as model:
        hashes = [model.input_hash(variant) for variant in variants]
        assert model.input_hash(question()) == hashes[0]
    assert len(set(hashes)) == len(variants)


def test_the_usual_answer_of_the_double_keeps_to_the_schema(double: ModelDouble) -> None:
    double.usual = saying(kind=("invoice", None))
    assert ask(double).content == "{}"

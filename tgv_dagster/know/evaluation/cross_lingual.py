"""The cross-lingual comparison: the same question in two languages, the same document? (EVAL-22 on)

Asked of the production search, per pair kind and model; directions stay apart (EVAL-30). When the
control kind fails, the set-up is broken and there is no verdict (EVAL-25).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import mean

from tgv_dagster.know.evaluation.measures import Quality, quality, rank_of
from tgv_dagster.know.evaluation.questions import PairKind, Pairs, Wording
from tgv_dagster.know.evaluation.stock import Stock, StockDocument
from tgv_dagster.know.evaluation.ways import keys_of, ways_of

FOUND_AMONG = 6


class Verdict(StrEnum):
    """What a run says of a model; without a working control it says nothing."""

    MET = "met"
    NOT_MET = "not_met"
    NO_VERDICT = "no_verdict"


@dataclass(frozen=True, slots=True)
class KindResult:
    """One kind of pairs. same_document: share of pairs whose question in the other language finds
    the document of the pair, as the question in its own language does (EVAL-26).

    own: the same questions asked in the language of the document; similarity: mean cosine of the
    document's best window to the question in the other language, None where it was not found.
    """

    kind: PairKind
    pairs: int
    same_document: float
    other: Quality
    own: Quality
    similarity: float | None


@dataclass(frozen=True, slots=True)
class CrossLingual:
    """All kinds with one model; distractors: other documents every question competes with."""

    space_id: str
    distractors: int
    kinds: tuple[KindResult, ...]
    verdict: Verdict
    reason: str


def gold(pairs: Pairs) -> list[StockDocument]:
    """Every passage of every language on the shelf of its language."""
    return [
        StockDocument(_key(topic, language), wording.text, language)
        for topic, wordings in pairs.topics.items()
        for language, wording in wordings.items()
    ]


def measure(stock: Stock, pairs: Pairs, distractors: int) -> CrossLingual:
    """Ask every pair of every kind both ways round and judge by what was expected before."""
    kinds = tuple(_kind(stock, pairs, kind) for kind in pairs.kinds)
    verdict, reason = judge(pairs, kinds)
    return CrossLingual(stock.embedder.space.space_id, distractors, kinds, verdict, reason)


def judge(pairs: Pairs, kinds: Sequence[KindResult]) -> tuple[Verdict, str]:
    """The verdict by the expectations of the data file, with its reason."""
    by_language = {result.kind.document_in: result for result in kinds}
    control = by_language[pairs.control]
    if control.same_document < pairs.control_at_least:
        return Verdict.NO_VERDICT, (
            f"the control {control.kind.name} found {control.same_document:.0%},"
            f" expected {pairs.control_at_least:.0%}: the set-up is broken, not the model"
        )
    short = [r.kind.name for r in kinds if r.same_document < pairs.each_at_least]
    if short:
        return Verdict.NOT_MET, f"below {pairs.each_at_least:.0%}: {', '.join(short)}"
    least = by_language["fr"].same_document - pairs.open_behind_at_most
    behind = [
        by_language[x].kind.name for x in ("ru", "it") if by_language[x].same_document < least
    ]
    if behind:
        return Verdict.NOT_MET, f"too far behind French: {', '.join(behind)}"
    return Verdict.MET, "every kind reaches what was expected"


def _kind(stock: Stock, pairs: Pairs, kind: PairKind) -> KindResult:
    other: list[int | None] = []
    own: list[int | None] = []
    similar: list[float] = []
    same = 0
    for topic, wordings in pairs.topics.items():
        key = _key(topic, kind.document_in)
        asked, in_own = wordings[kind.asked_in], wordings[kind.document_in]
        other.append(_rank(stock, asked, key, kind))
        own.append(_rank(stock, in_own, key, kind))
        same += all(rank is not None and rank <= FOUND_AMONG for rank in (other[-1], own[-1]))
        similar += [
            hit.score
            for hit in ways_of(stock, asked.ask, kind.document_in).vector
            if stock.keys[hit.document_id] == key
        ][:1]
    count = len(pairs.topics)
    return KindResult(
        kind, count, same / count, quality(other), quality(own), mean(similar) if similar else None
    )


def _rank(stock: Stock, wording: Wording, key: str, kind: PairKind) -> int | None:
    answer = stock.ask(wording.ask, kind.document_in)
    return rank_of(key, keys_of(stock, [card.document_id for card in answer.cards]))


def _key(topic: str, language: str) -> str:
    return f"{topic}/{language}"

"""Reminders: what is demanded in the end, the open amount with the fees put on top of it.

Here belongs the proof that a printed amount is the open amount plus every printed fee. A fee that a
sentence only threatens with is none. Without that proof the amounts are a question and no value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from tgv_dagster.understand import amounts, words
from tgv_dagster.understand.amounts import AmountMention
from tgv_dagster.understand.totals import Total


@dataclass(frozen=True, slots=True)
class Demand:
    """The amount demanded with fees, or the amounts between which the paper does not decide."""

    total: Total | None
    choices: tuple[Decimal, ...] = ()


_PROVEN, _ONLY, _MOST_WORDS = 0.95, 0.82, 4


def demand(text: str, language: str | None) -> Demand | None:
    """The demanded amount of a reminder; None where it prints no fee and several amounts."""
    fees: list[AmountMention] = []
    others: dict[Decimal, AmountMention] = {}
    for line, start, mention in _amount_lines(text, language):
        if _is_fee(line, mention.span[0] - start, mention.span[1] - start):
            fees.append(mention)
        elif mention.value > 0:
            others.setdefault(mention.value, mention)
    if not others:
        return None
    if not fees:
        only = next(iter(others.values())) if len(others) == 1 else None
        return None if only is None else Demand(_total(only, _ONLY, "amount_due.only"))
    charged = sum((fee.value for fee in fees), Decimal(0))
    proven = [mention for value, mention in others.items() if _is_sum(value, charged, others)]
    if len(proven) == 1:
        return Demand(_total(proven[0], _PROVEN, "amount_due.with_fees"))
    highest = max(others)
    return Demand(None, (highest, highest + charged))


def _total(mention: AmountMention, confidence: float, rule_id: str) -> Total:
    return Total(mention.value, confidence, mention.span, rule_id)


def _is_sum(value: Decimal, charged: Decimal, others: dict[Decimal, AmountMention]) -> bool:
    """Whether an amount is the fees plus one other amount, or plus all the others."""
    rest = [other for other in others if other != value]
    return bool(rest) and (value - charged in rest or value - charged == sum(rest))


def _amount_lines(text: str, language: str | None) -> Iterator[tuple[str, int, AmountMention]]:
    """Each line with amounts: folded text, its start, and its last amount."""
    last: dict[int, AmountMention] = {}
    for mention in amounts.find(text, language):
        last[text.rfind("\n", 0, mention.span[0]) + 1] = mention
    for start, mention in last.items():
        end = text.find("\n", start)
        yield words.fold(text[start : end if end >= 0 else len(text)]), start, mention


def _is_fee(line: str, begin: int, end: int) -> bool:
    """Whether a line is a fee and its amount; a sentence about fees has more words."""
    hit = next(words.finder("amount_labels", "fees").find(line), None)
    if hit is None or hit.start > begin:
        return False
    rest = f"{line[: hit.start]} {line[hit.end : begin]} {line[end:]}"
    return sum(word[:1].isalpha() for word in rest.split()) <= _MOST_WORDS

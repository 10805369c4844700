"""Totals: net, tax, gross and payable amount of one document, proven by arithmetic where possible.

Here belong the search for labelled totals and the proof net + tax = gross. Lines and positions do
not belong here, nor does the e-invoice, whose figures are given and need no search.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cache
from itertools import pairwise, product

from tgv_dagster.understand import amounts, words
from tgv_dagster.understand.amounts import AmountMention, Offsets

_CENT = Decimal("0.01")
_TOLERANCE = Decimal("0.02")
_KNOWN_RATES = tuple(
    Decimal(rate)
    for rate in [
        *("2.1", "2.5", "2.6", "3.8", "4", "5", "5.5", "6", "7", "7.7", "8", "8.1", "8.5", "9"),
        *("10", "12", "13", "13.5", "14", "16", "17", "18", "19", "20", "21", "22", "23", "24"),
        *("25", "25.5", "27"),
    ]
)


class Arithmetic(StrEnum):
    """What adding up says: proven, not checkable with what is printed, or contradicted."""

    PROVEN = "proven"
    UNPROVEN = "unproven"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True)
class Total:
    """One total; `span` is None when it is derived and stands nowhere in the text.

    `parts` are the places of the amounts it is the sum of.
    """

    value: Decimal
    confidence: float
    span: Offsets | None
    rule_id: str
    parts: tuple[Offsets, ...] = ()


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of a document; a role nobody could settle is None.

    `rivals` are gross amounts between which the text does not decide.
    """

    net: Total | None
    tax: Total | None
    gross: Total | None
    due: Total | None
    currency: str | None
    arithmetic: Arithmetic
    rivals: tuple[Decimal, ...] = ()


NOTHING = Totals(None, None, None, None, None, Arithmetic.UNPROVEN)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An amount that may play a role, with the weight of what says so.

    `labelled` is a word beside it; a row that merely adds up is none. `parts` are the places of
    the amounts that were added up for it.
    """

    role: str
    value: Decimal
    weight: float
    span: Offsets | None
    currency: str | None
    labelled: bool = True
    parts: tuple[Offsets, ...] = ()


def read(text: str, language: str | None = None) -> Totals:
    """Net, tax, gross and due amount of a text (TRI-01), with their offsets.

    Amounts follow their label on the line, stand under it, or form a row whose parts add up. A
    gross amount without proof keeps a low confidence; two equally labelled ones give none.
    """
    mentions = amounts.find(text, language)
    if not mentions:
        return NOTHING
    folded = words.fold(text)
    lines = _lines(text, folded, mentions)
    candidates = [*_labelled(text, folded, lines), *_row_sums(lines)]
    candidates += _sums_of_lines(folded, lines, candidates)
    candidates += _rate_sums(folded, lines, candidates)
    currency = _currency(mentions, candidates) or stated_currency(text)
    proven = _prove(candidates)
    exempt = next(words.finder("amount_labels", "exempt").find(folded), None) is not None
    if proven is not None:
        return _proven_totals(proven, candidates, currency)
    summed = _sum_of_all(lines, candidates, currency) or _less_prepaid(candidates, currency)
    if summed is not None and not exempt:
        return summed
    return _unproven_totals(candidates, currency, exempt=exempt, rates=_printed_rates(folded))


# --- candidates ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Label:
    role: str
    strong: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    labels: tuple[_Label, ...]
    mentions: tuple[AmountMention, ...]


def _labelled(text: str, folded: str, lines: list[_Line]) -> Iterator[_Candidate]:
    for line in lines:
        if line.mentions:
            yield from _on_line(folded, line)
    stacks = list(_stacks(text, lines))
    stacked = {index for labels, _ in stacks for index in labels}
    for labels, values in stacks:
        for upper, lower in zip(labels, values, strict=True):
            yield from _under_label(lines[upper], lines[lower])
    for index, (upper, lower) in enumerate(pairwise(lines)):
        if index in stacked:
            continue
        if upper.labels and not upper.mentions and _only_amounts(text, lower):
            yield from _under_label(upper, lower)


def _stacks(text: str, lines: list[_Line]) -> Iterator[tuple[range, range]]:
    """Lines of one label each, followed by as many lines of one amount each, by their indexes."""
    position = 0
    while position < len(lines):
        end = position
        while end < len(lines) and _is_bare_label(lines[end]):
            end += 1
        count = end - position
        below = lines[end : end + count]
        if count >= 2 and len(below) == count and all(_is_lone_amount(text, b) for b in below):
            follows = end + count
            longer = follows < len(lines) and _is_lone_amount(text, lines[follows])
            if not longer:
                yield range(position, end), range(end, follows)
        position = max(end, position + 1)


def _is_bare_label(line: _Line) -> bool:
    return len(line.labels) == 1 and not line.mentions and line.labels[0].role != "none"


def _is_lone_amount(text: str, line: _Line) -> bool:
    return len(line.mentions) == 1 and _only_amounts(text, line)


def _lines(text: str, folded: str, mentions: tuple[AmountMention, ...]) -> list[_Line]:
    labels = list(_labels(folded))
    label_starts = [label.start for label in labels]
    mention_starts = [mention.span[0] for mention in mentions]
    lines: list[_Line] = []
    for match in re.finditer(r"[^\n\r\f\v]+", text):
        if not match.group().strip():
            continue
        start, end = match.span()
        lines.append(
            _Line(
                start,
                end,
                tuple(labels[_slice(label_starts, start, end)]),
                tuple(mentions[_slice(mention_starts, start, end)]),
            )
        )
    return lines


def _slice(starts: list[int], start: int, end: int) -> slice:
    return slice(bisect_right(starts, start - 1), bisect_right(starts, end - 1))


def _labels(folded: str) -> Iterator[_Label]:
    for hit in _finder().find(folded):
        strength, role = hit.key.split(".")
        yield _Label(
            "none" if strength == "none" else role, strength == "strong", hit.start, hit.end
        )


@cache
def _finder() -> words.PhraseFinder:
    """One finder over all label strengths, so that the longest label wins."""
    return words.PhraseFinder(
        {
            f"{strength}.{role}": phrases
            for strength in ("strong", "none", "weak")
            for role, phrases in words.phrases_by_key("amount_labels", strength).items()
        }
    )


_STRONG, _WEAK, _POSTFIX, _UNDER, _ROW, _BESIDE = 1.0, 0.6, 0.5, 0.8, 0.5, 0.3
_ROW_UNDER_HEADER = 0.65
_HEADER_REACH = 3
_INCLUDED = re.compile(
    r"(?:inkl|incl|einschl|einschlies{1,2}lich|enthalten\w*|compris|ttc|con|inclu\w+)\W.{0,12}$"
)
_EXCLUDED = re.compile(r"(?:exkl|excl|ohne|hors|vor|before|senza|esclusa)\W.{0,8}$")


def _on_line(folded: str, line: _Line) -> Iterator[_Candidate]:
    """Candidates of a line: each group of labels speaks for the amounts behind it."""
    taken: set[int] = set()
    for group, run in _groups(line):
        labels = _known_roles(folded, group, line)
        if run:
            taken.update(mention.span[0] for mention in run)
            yield from _assign(labels, run)
        elif labels:
            yield from _postfix(labels[0], line, taken)


def _groups(line: _Line) -> Iterator[tuple[list[_Label], list[AmountMention]]]:
    """Labels without amounts between them, with the amounts that follow up to the next label."""
    group: list[_Label] = []
    run: list[AmountMention] = []
    events = sorted(
        [(label.start, label, None) for label in line.labels]
        + [(mention.span[0], None, mention) for mention in line.mentions],
        key=lambda event: event[0],
    )
    for _, label, mention in events:
        if label is not None:
            if run and group:
                yield group, run
                group = []
            run = []
            group.append(label)
        elif mention is not None and group:
            run.append(mention)
    if group:
        yield group, run


def _known_roles(folded: str, group: list[_Label], line: _Line) -> list[_Label]:
    """Labels of a group after "incl." and "excl." have been read; combined where they touch."""
    labels: list[_Label] = []
    for label in group:
        before = folded[max(line.start, label.start - 24) : label.start]
        if label.role == "tax" and labels and _INCLUDED.search(before):
            labels[-1] = _Label("gross", True, labels[-1].start, label.end)
        elif label.role == "tax" and _EXCLUDED.search(before):
            labels.append(_Label("net", True, label.start, label.end))
        else:
            labels.append(label)
    return labels


def _assign(labels: list[_Label], run: list[AmountMention]) -> Iterator[_Candidate]:
    if len(labels) > 1 and len(labels) == len(run):
        for label, mention in zip(labels, run, strict=True):
            yield from _candidates(label, mention, 1.0)
        return
    label = labels[-1]
    if len(labels) > 1 and label.role == "gross" and not label.strong:
        label = labels[-2]
    preferred = 0 if label.role == "net" else len(run) - 1
    for index, mention in enumerate(run):
        yield from _candidates(label, mention, 1.0 if index == preferred else _BESIDE)


def _postfix(label: _Label, line: _Line, taken: set[int]) -> Iterator[_Candidate]:
    """A label directly behind an amount, as in "29,99 EUR TTC"."""
    if label.role not in ("gross", "net"):
        return
    for mention in line.mentions:
        if 0 <= label.start - mention.span[1] <= 2 and mention.span[0] not in taken:
            yield from _candidates(label, mention, _POSTFIX)


def _candidates(label: _Label, mention: AmountMention, factor: float) -> Iterator[_Candidate]:
    weight = (_STRONG if label.strong else _WEAK) * factor
    if mention.other_reading is not None:
        yield _Candidate(
            label.role, mention.other_reading, weight * 0.7, mention.span, mention.currency
        )
        weight *= 0.7
    yield _Candidate(label.role, mention.value, weight, mention.span, mention.currency)


def _only_amounts(text: str, line: _Line) -> bool:
    """Whether nothing but amounts stands on a line."""
    if not line.mentions or line.labels:
        return False
    rest = text[line.start : line.end]
    for mention in line.mentions:
        rest = rest.replace(mention.raw, " ", 1)
    return not any(character.isalnum() for character in rest)


def _under_label(upper: _Line, lower: _Line) -> Iterator[_Candidate]:
    """Amounts under their labels, column by column, or one amount under one label."""
    labels = [label for label in upper.labels if label.role != "none"]
    if len(labels) == len(lower.mentions):
        for label, mention in zip(labels, lower.mentions, strict=True):
            yield from _candidates(label, mention, _UNDER)


def _row_sums(lines: list[_Line]) -> Iterator[_Candidate]:
    """Three neighbouring amounts of a line of which the last or first is the sum of the others.

    A row under a line that names net, tax and gross weighs more than a bare coincidence.
    """
    header_at = -_HEADER_REACH - 1
    for index, line in enumerate(lines):
        roles = {label.role for label in line.labels}
        if {"tax", "gross"} <= roles or {"net", "gross"} <= roles:
            header_at = index
        weight = _ROW_UNDER_HEADER if index - header_at <= _HEADER_REACH else _ROW
        for three in zip(line.mentions, line.mentions[1:], line.mentions[2:], strict=False):
            tax, net, gross = sorted(three, key=lambda mention: abs(mention.value))
            if three[1] is gross or tax.value == 0:
                continue
            if _adds_up(net.value, tax.value, gross.value):
                headed = weight > _ROW
                for role, found in (("net", net), ("tax", tax), ("gross", gross)):
                    yield _Candidate(role, found.value, weight, found.span, found.currency, headed)


_MOST_RATES = 5


def _sums_of_lines(
    folded: str, lines: list[_Line], candidates: list[_Candidate]
) -> list[_Candidate]:
    """Net and tax amounts of several rates added up: their sums may be printed nowhere.

    A net amount counts where its line prints its rate; taxes count with and without one.
    """
    found: list[_Candidate] = []
    starts = [line.start for line in lines]
    for role in ("net", "tax"):
        rated: dict[tuple[Decimal | None, Decimal], _Candidate] = {}
        for candidate in candidates:
            if candidate.role == role and candidate.weight >= _WEAK and candidate.value:
                key = (_rate_of_line(folded, lines, starts, candidate), candidate.value)
                rated.setdefault(key, candidate)
        groups = [{key: one for key, one in rated.items() if key[0] is not None}]
        if role == "tax":
            groups.append({(None, one.value): one for one in rated.values()})
        found += [_sum(role, list(group.values())) for group in groups if _is_split(group)]
    return found


def _is_split(group: dict[tuple[Decimal | None, Decimal], _Candidate]) -> bool:
    return 2 <= len(group) <= _MOST_RATES


def _sum(role: str, parts: list[_Candidate]) -> _Candidate:
    spans = tuple(part.span for part in parts if part.span is not None)
    total = sum((part.value for part in parts), Decimal(0))
    return _Candidate(role, total, _WEAK, None, parts[0].currency, parts=spans)


def _rate_of_line(
    folded: str, lines: list[_Line], starts: list[int], candidate: _Candidate
) -> Decimal | None:
    """The rate printed on the line of an amount."""
    if candidate.span is None:
        return None
    line = lines[bisect_right(starts, candidate.span[0]) - 1]
    match = _RATE.search(folded, line.start, line.end)
    return None if match is None else Decimal(f"{match[1]}.{match[2] or 0}")


_RATE = re.compile(r"(?<![\w.,])([0-9]{1,2})(?:[.,]([0-9]{1,2}))?\s?%")


def _rate_sums(folded: str, lines: list[_Line], candidates: list[_Candidate]) -> list[_Candidate]:
    """Net and tax of a gross amount that lines per tax rate add up to.

    A line "7 % of 285.00: 18.64" shows its base with or without tax; which one, the rate tells.
    """
    grosses = {c.value: c for c in candidates if c.role in ("gross", "due") and c.labelled}
    parts = [part for line in lines if (part := _rate_part(folded, line)) is not None]
    for inclusive in (True, False):
        chosen = {part[:3]: part for part in parts if part[3] is inclusive}.values()
        if not chosen:
            continue
        tax = sum((part[2] for part in chosen), Decimal(0))
        base = sum((part[1] for part in chosen), Decimal(0))
        gross = base if inclusive else base + tax
        known = grosses.get(gross)
        if known is not None and tax:
            net = gross - tax
            return [
                _Candidate("net", net, _WEAK, None, known.currency),
                _Candidate("tax", tax, _WEAK, None, known.currency),
            ]
    return []


def _rate_part(folded: str, line: _Line) -> tuple[Decimal, Decimal, Decimal, bool] | None:
    """Rate, base, tax of a line and whether the base includes the tax."""
    rate_match = _RATE.search(folded, line.start, line.end)
    if rate_match is None or len(line.mentions) < 2:
        return None
    rate = Decimal(f"{rate_match[1]}.{rate_match[2] or 0}")
    values = sorted((mention.value for mention in line.mentions[:3]), key=abs)
    for base in reversed(values):
        for tax in values:
            if tax == base or not tax:
                continue
            if abs(base * rate / (100 + rate) - tax) <= _CENT:
                return rate, base, tax, True
            if abs(base * rate / 100 - tax) <= _CENT:
                return rate, base, tax, False
    return None


# --- proof --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Proof:
    net: _Candidate
    tax: _Candidate
    gross: _Candidate

    @property
    def score(self) -> float:
        return self.net.weight + self.tax.weight + 2 * self.gross.weight


def _adds_up(net: Decimal, tax: Decimal, gross: Decimal) -> bool:
    if abs(net + tax - gross) > _TOLERANCE or net == 0:
        return False
    share = tax / net
    return tax == 0 or Decimal("0.015") <= share <= Decimal("0.30")


_LIMIT = 16


def _prove(candidates: list[_Candidate]) -> _Proof | None:
    """The best labelled three amounts with net + tax = gross; the larger gross breaks a tie."""
    nets, taxes = _best(candidates, {"net"}), _best(candidates, {"tax"})
    grosses = _best(candidates, {"gross", "due"})
    proofs = [
        _Proof(net, tax, gross)
        for net, tax, gross in product(nets, taxes, grosses)
        if _adds_up(net.value, tax.value, gross.value) and _is_exact(net, tax, gross)
    ]
    return max(proofs, key=lambda p: (round(p.score, 2), abs(p.gross.value)), default=None)


def _is_exact(net: _Candidate, tax: _Candidate, gross: _Candidate) -> bool:
    """Whether amounts added up here meet the gross amount to the cent; rounding is no excuse."""
    return not (net.parts or tax.parts) or net.value + tax.value == gross.value


_LEAST_LINES = 2


def _sum_of_all(
    lines: list[_Line], candidates: list[_Candidate], currency: str | None
) -> Totals | None:
    """A total that is, to the cent, the sum of every other amount of the paper.

    Bills without net and tax of their own end so: tolls, duties, fares, fees.
    """
    last = [line.mentions[-1] for line in lines if line.mentions]
    strong = {c.value: c for c in candidates if c.role in ("gross", "due") and c.weight >= _WEAK}
    found = [
        total
        for value, total in strong.items()
        if len(rest := [one.value for one in last if one.value != value]) >= _LEAST_LINES
        and sum(rest) == value
        and all(part > 0 for part in rest)
        and not any(other.role == "gross" for other in strong.values() if other.value in rest)
    ]
    return _without_tax(found[0], candidates, currency, "totals.lines") if len(found) == 1 else None


def _less_prepaid(candidates: list[_Candidate], currency: str | None) -> Totals | None:
    """A total and what is left of it after a printed payment, equal to the cent."""
    by_role = {
        role: {
            c.value: c for c in candidates if c.role == role and c.labelled and c.weight >= _WEAK
        }
        for role in ("gross", "due", "prepaid")
    }
    found = [
        gross
        for gross, due, paid in product(by_role["gross"], by_role["due"], by_role["prepaid"])
        if paid and gross - abs(paid) == due
    ]
    if len(found) != 1:
        return None
    return _without_tax(by_role["gross"][found[0]], candidates, currency, "totals.prepaid")


def _without_tax(
    gross: _Candidate, candidates: list[_Candidate], currency: str | None, rule_id: str
) -> Totals:
    return Totals(
        net=None,
        tax=None,
        gross=_total(gross, 0.9, rule_id),
        due=_due(candidates, gross.value),
        currency=gross.currency or currency,
        arithmetic=Arithmetic.PROVEN,
    )


def _best(candidates: list[_Candidate], roles: set[str]) -> list[_Candidate]:
    """The weightiest candidate per value, at most `_LIMIT` of them."""
    by_value: dict[Decimal, _Candidate] = {}
    for candidate in candidates:
        if candidate.role not in roles:
            continue
        known = by_value.get(candidate.value)
        if known is None or candidate.weight > known.weight:
            by_value[candidate.value] = candidate
    ranked = sorted(by_value.values(), key=lambda c: (-c.weight, -abs(c.value)))
    return ranked[:_LIMIT]


def _proven_totals(proof: _Proof, candidates: list[_Candidate], currency: str | None) -> Totals:
    strong = proof.gross.weight >= _UNDER
    confidence = 0.98 if strong else 0.93 if proof.gross.labelled else 0.7
    rivals = _strong_rivals(candidates, proof.gross.value) if not strong else ()
    return Totals(
        net=_total(proof.net, confidence, "totals.sum"),
        tax=_total(proof.tax, confidence, "totals.sum"),
        gross=_total(proof.gross, confidence, "totals.sum"),
        due=_due(candidates, proof.gross.value),
        currency=proof.gross.currency or currency,
        arithmetic=Arithmetic.CONTRADICTED if rivals else Arithmetic.PROVEN,
        rivals=(proof.gross.value, *rivals) if rivals else (),
    )


def _strong_rivals(candidates: list[_Candidate], gross: Decimal) -> tuple[Decimal, ...]:
    strong = {c.value for c in candidates if c.role == "gross" and c.weight >= _UNDER}
    return () if gross in strong else tuple(sorted(strong))


def _unproven_totals(
    candidates: list[_Candidate],
    currency: str | None,
    *,
    exempt: bool,
    rates: frozenset[Decimal],
) -> Totals:
    grosses = _best(candidates, {"gross"})
    dues = _best(candidates, {"due"})
    gross, rivals = _single(grosses or dues)
    if gross is None and dues:
        gross = next((c for c in grosses if c.value == dues[0].value and len(dues) == 1), None)
        rivals = () if gross is not None else rivals
    net, net_rivals = _single(_best(candidates, {"net"}))
    tax, tax_rivals = _single(_best(candidates, {"tax"}))
    if gross is not None:
        agreed = _agreed(gross, net, tax, candidates, currency)
        if agreed is not None:
            return agreed
        derived = _derive(gross, net, tax, currency, exempt=exempt, dues=candidates)
        if derived is not None and not _fits_printed(derived, rates):
            derived = None
        if derived is not None:
            return derived
    strong = [c for c in (gross, net, tax) if c is not None and c.weight >= _UNDER]
    contradicted = len(strong) == 3 and not net_rivals and not tax_rivals
    confidence = 0.4 if contradicted else 0.75
    return Totals(
        net=_total(net, confidence, "totals.label"),
        tax=_total(tax, confidence, "totals.label"),
        gross=_total(
            gross, confidence if gross and gross.weight >= _UNDER else 0.55, "totals.label"
        ),
        due=_due(candidates, gross.value if gross else None),
        currency=(gross.currency if gross else None) or currency,
        arithmetic=Arithmetic.CONTRADICTED if contradicted or rivals else Arithmetic.UNPROVEN,
        rivals=rivals,
    )


def _agreed(
    gross: _Candidate,
    net: _Candidate | None,
    tax: _Candidate | None,
    candidates: list[_Candidate],
    currency: str | None,
) -> Totals | None:
    """A gross amount that another label states again, on a paper that shows no tax."""
    if tax is not None:
        return None
    again = [
        c
        for c in candidates
        if c.value == gross.value and c.span != gross.span and c.labelled and c.weight >= _WEAK
    ]
    if not any(c.role in ("net", "due", "prepaid", "gross") for c in again):
        return None
    if net is not None and net.value != gross.value:
        return None
    rule = "totals.repeated"
    return Totals(
        net=None,
        tax=None,
        gross=_total(gross, 0.85, rule),
        due=_due(candidates, gross.value),
        currency=gross.currency or currency,
        arithmetic=Arithmetic.UNPROVEN,
    )


def _single(ranked: list[_Candidate]) -> tuple[_Candidate | None, tuple[Decimal, ...]]:
    """The one candidate that stands out, else the equally good values."""
    if not ranked:
        return None, ()
    peers = [c for c in ranked if c.weight > ranked[0].weight - 0.25]
    if len(peers) == 1:
        return peers[0], ()
    return None, tuple(c.value for c in peers)


def _derive(
    gross: _Candidate,
    net: _Candidate | None,
    tax: _Candidate | None,
    currency: str | None,
    *,
    exempt: bool,
    dues: list[_Candidate],
) -> Totals | None:
    """The third total from two printed ones, when the rate between them is a known tax rate."""
    rule = "totals.rate"
    if net is not None and tax is None and _known_rate(net.value, gross.value - net.value):
        tax_total = Total(gross.value - net.value, 0.85, None, rule)
        net_total = _total(net, 0.9, rule)
    elif tax is not None and net is None and _known_rate(gross.value - tax.value, tax.value):
        net_total = Total(gross.value - tax.value, 0.85, None, rule)
        tax_total = _total(tax, 0.9, rule)
    elif exempt and (tax is None or tax.value == 0) and (net is None or net.value == gross.value):
        rule = "totals.exempt"
        net_total = Total(gross.value, 0.85, gross.span, rule)
        tax_total = Total(Decimal(0), 0.85, None, rule)
    else:
        return None
    return Totals(
        net=net_total,
        tax=tax_total,
        gross=_total(gross, 0.9, rule),
        due=_due(dues, gross.value),
        currency=gross.currency or currency,
        arithmetic=Arithmetic.PROVEN,
    )


def _printed_rates(folded: str) -> frozenset[Decimal]:
    """The tax rates that a text prints; other percentages (discount, share) are mostly none."""
    found = {Decimal(f"{match[1]}.{match[2] or 0}") for match in _RATE.finditer(folded)}
    return frozenset(rate for rate in found if rate in _KNOWN_RATES)


def _fits_printed(totals: Totals, rates: frozenset[Decimal]) -> bool:
    """Whether a derived total belongs to a printed rate; a paper without any leaves it open."""
    net, tax = totals.net, totals.tax
    if net is None or tax is None or not tax.value or not rates:
        return True
    return any(abs(net.value * rate / 100 - tax.value) <= _TOLERANCE for rate in rates)


def _known_rate(net: Decimal, tax: Decimal) -> bool:
    """Whether tax is a known rate of net, to the cent of rounding."""
    if net == 0 or tax == 0:
        return False
    return any(abs(net * rate / 100 - tax) <= _CENT for rate in _KNOWN_RATES)


def _total(candidate: _Candidate | None, confidence: float, rule_id: str) -> Total | None:
    if candidate is None:
        return None
    return Total(candidate.value, confidence, candidate.span, rule_id, candidate.parts)


def _due(candidates: list[_Candidate], gross: Decimal | None) -> Total | None:
    """The payable amount; certain when it is the gross amount or gross less what was prepaid."""
    due, _ = _single(_best(candidates, {"due"}))
    if due is None:
        return None
    prepaid = {c.value for c in candidates if c.role == "prepaid"}
    explained = gross is not None and (
        due.value == gross or any(abs(gross - abs(p) - due.value) <= _TOLERANCE for p in prepaid)
    )
    alone = gross is None
    return _total(due, 0.97 if explained else 0.82 if alone else 0.75, "totals.due")


def _currency(mentions: tuple[AmountMention, ...], candidates: list[_Candidate]) -> str | None:
    """The currency of the totals, else the only or clearly commonest one of the text."""
    own = {c.currency for c in candidates if c.role in ("gross", "due") and c.currency}
    if len(own) == 1:
        return own.pop()
    counts: dict[str, int] = {}
    for mention in mentions:
        if mention.currency:
            counts[mention.currency] = counts.get(mention.currency, 0) + 1
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    if ranked and (len(ranked) == 1 or ranked[0][1] >= 4 * ranked[1][1]):
        return ranked[0][0]
    return None


_STATED = re.compile(
    r"(?:waehrung|wahrung|currency|devise|valuta|monnaie|prices in|preise in|montants en"
    r"|betrag|montant|amount|importo|preis|summe|total|totale|gesamt|netto|brutto)"
    r"\W{1,6}?(eur|euro|€|usd|us dollars|gbp|chf|nok|sek|dkk|pln|czk|huf)(?!\w)"
)
_STATED_CODES = {"euro": "EUR", "€": "EUR", "us dollars": "USD"}


def stated_currency(text: str) -> str | None:
    """The currency a text names once for all its amounts."""
    stated = {match.group(1) for match in _STATED.finditer(words.fold(text))}
    codes = {_STATED_CODES.get(word, word.upper()) for word in stated}
    return codes.pop() if len(codes) == 1 else None

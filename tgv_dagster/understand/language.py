"""Language: in which of the allowed languages a text or a passage is written.

Here belongs detection restricted to a list of languages. Which languages a tenant reads is his
configuration; a further language is one entry in that list and no code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from lingua import IsoCode639_1, Language, LanguageDetector, LanguageDetectorBuilder

_SAMPLE = 6000
_FEWEST_LETTERS = 12
_CONTRAST = ("de", "fr", "en", "it", "ru")


class UnknownLanguageError(ValueError):
    """A language code the detector does not know; the message names it."""


@dataclass(frozen=True, slots=True)
class LanguageVerdict:
    """The language (ISO 639-1) with confidence 0..1; None with the reason when there is none."""

    language: str | None
    confidence: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of text with its own language; offsets into the text."""

    start: int
    end: int
    verdict: LanguageVerdict


def detect(text: str, allowed: Sequence[str]) -> LanguageVerdict:
    """The language of a text among `allowed` (ISO 639-1 codes).

    Long texts are judged by samples of their beginning, middle and end, so the cost is bounded. A
    text with too few letters has no language. Raises UnknownLanguageError for an unknown code.
    """
    sample = _sample(text)
    letters = sum(character.isalpha() for character in sample)
    if letters < _FEWEST_LETTERS:
        return LanguageVerdict(None, 0.0, "too few letters")
    wanted = tuple(dict.fromkeys(allowed))
    detector = _detector(wanted if len(wanted) > 1 else (*wanted, *_CONTRAST))
    values = detector.compute_language_confidence_values(sample)
    best = values[0]
    code = best.language.iso_code_639_1.name.lower()
    if code not in wanted:
        return LanguageVerdict(None, best.value, f"reads as {code}, which is not allowed")
    return LanguageVerdict(code, round(best.value, 4))


def passages(text: str, allowed: Sequence[str], shortest: int = 120) -> tuple[Passage, ...]:
    """Paragraphs with their languages; neighbours of one language are joined.

    Paragraphs shorter than `shortest` characters go with the text around them.
    """
    found: list[Passage] = []
    for start, end in _paragraphs(text, shortest):
        verdict = detect(text[start:end], allowed)
        last = found[-1] if found else None
        if last is not None and verdict.language in (last.verdict.language, None):
            joined = LanguageVerdict(
                last.verdict.language, min(last.verdict.confidence, verdict.confidence or 1.0)
            )
            found[-1] = Passage(last.start, end, joined)
        else:
            found.append(Passage(start, end, verdict))
    return tuple(found)


def main_language(parts: Sequence[Passage]) -> str | None:
    """The language of most characters of a text that was read in passages."""
    counts: Counter[str] = Counter()
    for passage in parts:
        if passage.verdict.language is not None:
            counts[passage.verdict.language] += passage.end - passage.start
    return counts.most_common(1)[0][0] if counts else None


def _sample(text: str) -> str:
    if len(text) <= _SAMPLE:
        return text
    third = _SAMPLE // 3
    middle = len(text) // 2
    return "\n".join((text[:third], text[middle - third // 2 : middle + third // 2], text[-third:]))


def _paragraphs(text: str, shortest: int) -> list[tuple[int, int]]:
    """Paragraph borders, each paragraph at least `shortest` characters where the text allows."""
    borders: list[tuple[int, int]] = []
    start = 0
    for match in re.finditer(r"\n[ \t\r]*\n\s*|\f|\Z", text):
        if match.start() - start >= shortest or match.end() == len(text):
            if text[start : match.start()].strip():
                borders.append((start, match.start()))
            start = match.end()
    return borders


@cache
def _detector(codes: tuple[str, ...]) -> LanguageDetector:
    languages = [_language(code) for code in dict.fromkeys(codes)]
    return LanguageDetectorBuilder.from_languages(*languages).build()


def _language(code: str) -> Language:
    try:
        return Language.from_iso_code_639_1(getattr(IsoCode639_1, code.upper()))
    except AttributeError as error:
        raise UnknownLanguageError(f"unknown language code {code!r}") from error

"""Which words name a party: the folded words of its name without legal forms and single letters.

Stored beside each mention (`contact_mentions.name_words`), so that a question finds a party by an
index. Whoever changes what these functions yield, or how `folding` folds, fills that column anew in
a migration.
"""

from __future__ import annotations

from collections.abc import Iterable

from tgv_dagster.understand.folding import collapse, fold, is_unspaced, words

LONGEST_WORD = 64
"""Words of a name are compared up to this length; an index takes no longer ones."""

_LEGAL_FORMS = frozenset(
    {
        *("ag", "bv", "co", "cie", "company", "eg", "ei", "eirl", "eurl", "ev", "gbr", "gmbh"),
        *("inc", "kg", "kgaa", "llc", "ltd", "mbh", "ohg", "plc", "sa", "sarl", "sas", "sasu"),
        *("sci", "scop", "se", "snc", "spa", "srl", "ug", "und", "et", "and"),
    }
)


def name_words(name: str | None) -> tuple[str, ...]:
    """The different words that name a party, sorted; pairs of letters where a script has no spaces.

    Empty when the name is nothing but a legal form, and for no name.
    """
    found = words(fold((name or "").replace(".", "")))
    return tuple(sorted({part for word in found for part in _parts(word) if _names(part)}))


def asked_words(collapsed: Iterable[str]) -> tuple[str, ...]:
    """The words of a question (folded and collapsed) that may stand in a name, sorted."""
    return tuple(sorted({word[:LONGEST_WORD] for word in collapsed if _names(word)}))


def is_named(of_name: Iterable[str], asked: Iterable[str]) -> bool:
    """Whether words of a question name the party with these `name_words`.

    All words of the name stand in the question, or the question holds nothing but words of the
    name ("Wer ist Mustermann?").
    """
    name, question = frozenset(of_name), frozenset(asked)
    return bool(name) and bool(question) and (name <= question or question <= name)


def _parts(word: str) -> list[str]:
    if is_unspaced(word) and len(word) > 2:
        return [word[at : at + 2] for at in range(len(word) - 1)]
    return [collapse(word)[:LONGEST_WORD]]


def _names(word: str) -> bool:
    return len(word) > 1 and word not in _LEGAL_FORMS

"""Text quality: a score from 0 (garbage) to 1 (clean), so that the best layer of a page wins.

Here: the signs of a broken character map, of letters set apart, of noise. Not here: the choice
between layers (`readers.pdf`) and the language of a text.
"""

import re
from dataclasses import dataclass

GOOD = 0.6
_FEW_WORDS = 12
_SAMPLE = 90
_PIECE = 400

_BAD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff\ud800-\udfff]")
_CID = re.compile(r"\(cid:\d+\)")
_OTHER_SCRIPT = re.compile(r"[\u0590-\u08ff\u0900-\u1cff\u3040-\u9fff\uac00-\ud7af]")
_VOWELS = frozenset("aeiouyäöüàâáãåæèéêëìíîïòóôõøœùúûаеёиоуыэюяіїє")
_CLUSTER = re.compile(r"[bcdfghjklmnpqrstvwxzßçñбвгджзйклмнпрстфхцчшщ]{6}")
_ACCENT = re.compile("[\u00c0-\u024f]")
_USUAL_SIGNS = ".,:;()/%-–+€&@'’\"„“*|="
_LEADERS = "._-–=*·…"
_EDGES = "".join(sorted(set(_USUAL_SIGNS + _LEADERS + "?!<>[]{}«»”‘§°#")))

_STOP_TEXT = """
der die das und ist von zu mit den dem des ein eine einer für auf im in nicht auch an bei nach oder
wird werden sind sie wir ihre ihr ihnen zum zur aus bis vom als es durch über uns unser datum seite
betrag gesamt summe rechnung straße nr tel
le la les de du des et est un une en pour dans par sur avec au aux ce cette que qui ne pas vous nous
votre notre sont ou date page montant total facture rue
the of and to is for on with by this that be are or from at as it you we our your not will shall
invoice amount number due tax
il lo gli di del della che per con una non sono da al alla nel si fattura via data
не на по от для из за это что как его или до при
el los se las su con por para het een van op te zijn voor met
"""
_STOP_WORDS = frozenset(_STOP_TEXT.split())
_ONE_LETTER_WORDS = frozenset("aàyeoixиваскоуяzwv€$")


@dataclass(frozen=True, slots=True)
class _Tally:
    words: int
    single: int
    stops: int
    odd: int
    letters: int
    vowels: int


def score(text: str) -> float:
    """Quality of one page of text; 0.0 for no visible text at all. Long pages are sampled."""
    tokens = _sampled(text).lower().split()
    solid = "".join(tokens)
    visible = len(solid)
    if not visible:
        return 0.0 if not text.strip() else score(text.strip())
    printable = text.replace("\r", "").replace("\n", "").isprintable()
    if (not printable and _BAD.search(text)) or "(cid:" in solid:
        bad = len(_BAD.findall(text)) + sum(map(len, _CID.findall(text)))
        everything = sum(map(len, text.split()))
        if bad > 0.01 * everything and bad > 2:
            return max(0.0, 0.3 - bad / everything)
    lengths = list(map(len, tokens))
    if lengths.count(1) > max(4, 0.06 * len(tokens)) and _is_torn(tokens, lengths):
        return 0.3
    stops = sum(map(_STOP_WORDS.__contains__, tokens))
    if stops > max(5, 0.05 * len(tokens)) and visible > 3 * len(tokens):
        return min(1.0, round(0.75 + 0.8 * stops / len(tokens), 3))
    if not solid.isascii() and len(_OTHER_SCRIPT.findall(solid)) > 0.3 * visible:
        return 0.8
    sample = text.split(None, _SAMPLE)[:_SAMPLE]
    return round(_of_words(sample) * _calm("".join(sample)), 3)


def _sampled(text: str) -> str:
    """The text, or its beginning and a piece of its middle: their fonts may differ."""
    if len(text) <= 2 * _PIECE:
        return text
    middle = len(text) // 2
    return text[:_PIECE] + text[middle : middle + _PIECE]


def _is_torn(tokens: list[str], lengths: list[int]) -> bool:
    """Letters that stand alone without being words, more than enumerations explain."""
    alone = [t for t, n in zip(tokens, lengths, strict=True) if n == 1 and t.isalpha()]
    odd = sum(token not in _ONE_LETTER_WORDS for token in alone)
    return odd > max(4, 0.1 * sum(map(str.isalpha, tokens)))


def _calm(solid: str) -> float:
    """1.0 for text with usual punctuation, less the more signs stand without letters."""
    leaders = sum(map(solid.count, _LEADERS))
    letters = sum(map(str.isalnum, solid))
    rest = max(1, len(solid) - leaders)
    usual = sum(map(solid.count, _USUAL_SIGNS))
    symbols = max(0, len(solid) - letters - usual) / len(solid)
    return max(0.0, 1.0 - 2.5 * max(0.0, symbols - 0.08)) * min(
        1.0, max(0.0, letters / rest * 2 - 0.2)
    )


def _of_words(tokens: list[str]) -> float:
    tally = _tally(tokens)
    if tally.words >= 8 and tally.single > 0.5 * tally.words:
        return 0.2
    real = tally.words - tally.single
    # Every language writes a third or so of its letters as vowels, a wrong character map does not.
    if real >= _FEW_WORDS // 2 and not 0.2 * tally.letters < tally.vowels < 0.65 * tally.letters:
        return 0.2
    if real < _FEW_WORDS:
        # Too little to judge by words: numbers speak for a table, oddity against the rest.
        return 0.75 if tally.odd <= 0.35 * real or real < 0.2 * len(tokens) else 0.45
    stops, odd = tally.stops / real, tally.odd / real
    if stops >= 0.04:
        return min(1.0, 0.75 + 0.8 * stops) * (1.0 if odd < 0.25 else 0.8)
    return max(0.05, min(0.85, 1.0 - 2.0 * odd))


def _tally(tokens: list[str]) -> _Tally:
    words = single = stops = odd = letters = vowels = 0
    for token in tokens:
        word = token if token.isalpha() else token.strip(_EDGES)
        if not word.isalpha():
            continue
        words += 1
        low = word.lower()
        letters += len(word)
        vowels += sum(map(_VOWELS.__contains__, low))
        if len(word) == 1:
            single += 1
        elif low in _STOP_WORDS:
            stops += 1
        else:
            odd += _is_odd(word, low)
    return _Tally(words, single, stops, odd, letters, vowels)


def _is_odd(word: str, low: str) -> bool:
    """Whether no language would write this: no vowel, six consonants, mixed case, all accents."""
    if len(word) == 2 or word.isupper():
        return len(word) > 3 and _VOWELS.isdisjoint(low)
    return (
        _VOWELS.isdisjoint(low)
        or not (word.islower() or word[1:].islower())
        or (len(word) > 6 and _CLUSTER.search(low) is not None)
        or (not word.isascii() and len(_ACCENT.findall(word)) > 0.4 * len(word))
    )

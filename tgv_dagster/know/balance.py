"""Balancing of the two search ways, rule A″, at this ONE place (RET-09): pure functions.

The vector way leads with its budget, the word way adds documents the vector way does not have, a
total cap ends the list. Here also belong the label on every card, the hit line that says how many
hits are unverified, and what becomes of unverified cards after an answer. What does not belong
here: searching, walls, and the values of the budgets (`BalanceSettings` is filled from the
register of tuning values).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tgv_dagster.know.embeddings import ScoreFloor
from tgv_dagster.know.queries import NothingToSearch


class Weg(StrEnum):
    """The way that found a card."""

    VEKTOR = "vektor"
    WORTSUCHE = "wortsuche"


class ValidationStatus(StrEnum):
    """What a renderer that knows nothing of ways reads on a card (RET-07)."""

    AI_SUGGESTED = "ai_suggested"
    AI_UNVERIFIED = "ai_unverified"


class WayState(StrEnum):
    """How one way ended; a failure never looks like an empty result (OBS-08)."""

    COMPLETE = "complete"
    TRUNCATED = "truncated"
    FAILED = "failed"
    NOT_RUN = "not_run"


class Emptiness(StrEnum):
    """What an answer is short of (RET-19, RET-34)."""

    NONE = "none"
    ONLY_UNVERIFIED = "only_unverified"
    NOTHING_FOUND = "nothing_found"
    NOTHING_TO_SEARCH = "nothing_to_search"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class Hit:
    """One chunk found by one way; score is comparable only with hits of the same way."""

    document_id: int
    chunk_id: int
    score: float
    title: str = ""
    snippet: str = ""
    page: int | None = None


@dataclass(frozen=True, slots=True)
class WayResult:
    """What one way found, best first, and how it ended; reason names why it failed or did not
    run. doubted: nothing it found stands out, so that none of it is shown."""

    hits: tuple[Hit, ...]
    state: WayState = WayState.COMPLETE
    reason: str = ""
    doubted: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """One source offered to the reader, with its label on it and not in the running text (RET-06).

    geprueft: the hit reached the score from which its space counts a hit as checked; a word hit
    never did, and a vector hit of a space without a measured floor has not either. marks: half-open
    spans of the snippet that are words of the question. verbatim_ok: whether its words may be
    quoted outside, as a person said at the drop; None = nobody said (UPL-15).
    """

    document_id: int
    chunk_id: int
    weg: Weg
    geprueft: bool
    validation_status: ValidationStatus
    ai_suggested: bool
    score: float
    title: str
    snippet: str
    page: int | None
    marks: tuple[tuple[int, int], ...] = ()
    verbatim_ok: bool | None = None

    @property
    def link(self) -> str:
        """The source link shown in prose."""
        return f"#{self.document_id}"


@dataclass(frozen=True, slots=True)
class BalanceSettings:
    """Budgets of rule A″ (RET-11, RET-13); words_first is a switch a person sets after the
    evaluation on the own corpus."""

    vector_top: int = 6
    total: int = 10
    words_first: bool = False


@dataclass(frozen=True, slots=True)
class Balanced:
    """The cards of one question and what has to be said about them.

    below_floor: the floor cut vector hits, so that the reader may be told that a floor acted;
    acting: names of the filters that acted (RET-29); vector_measured: the space has a floor.
    """

    cards: tuple[Card, ...]
    emptiness: Emptiness
    vector: WayState
    words: WayState
    vector_measured: bool
    below_floor: bool
    pinned: bool = False
    acting: tuple[str, ...] = ()
    nothing: NothingToSearch | None = None

    @property
    def unverified(self) -> int:
        """Cards that nothing has checked for relevance but a word match."""
        return sum(card.validation_status is ValidationStatus.AI_UNVERIFIED for card in self.cards)


STANDING_OUT = slice(9, 30)
"""Ranks of the vector way that are the background of a question: past what may answer it."""

LEAST_BACKGROUND = 20
"""Chunks that must have been compared before a background means anything."""

AGREEING_TOP = 6
"""Hits of each way that are looked at for documents both name."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """When a question is taken to have no answer here, as measured for one space.

    All three must hold: the best cosine is below `score`, it stands less than `margin` above the
    mean of the background, and fewer than `agreeing` documents lead both ways.
    """

    score: float
    margin: float
    agreeing: int

    def holds(self, scores: Sequence[float], vector: Sequence[Hit], words: Sequence[Hit]) -> bool:
        """`scores`: cosines of the nearest chunks, best first, as many as were compared."""
        if len(scores) < LEAST_BACKGROUND:
            return False
        background = scores[STANDING_OUT]
        both = {hit.document_id for hit in vector[:AGREEING_TOP]} & {
            hit.document_id for hit in words[:AGREEING_TOP]
        }
        return (
            scores[0] < self.score
            and scores[0] - sum(background) / len(background) < self.margin
            and len(both) < self.agreeing
        )


NOT_RUN_PINNED = WayResult((), WayState.NOT_RUN, "pinned_document")
"""What stands for the word way of a pinned document (RET-14)."""


def balance(
    vector: WayResult,
    words: WayResult,
    *,
    settings: BalanceSettings,
    floor: ScoreFloor | None,
    question: str,
    pinned_document: int | None = None,
    acting: Sequence[str] = (),
    nothing: NothingToSearch | None = None,
) -> Balanced:
    """Rule A″ (RET-10 to RET-14).

    Vector hits are cut at the floor of their space, all of them when they are doubted; then the
    best `vector_top` chunks lead, and the word way adds one card per document not yet there until
    `total`. With a pinned document only its vector hits count. With `words_first` and a question
    that has digits or at most three words, the word way leads the order; a document both ways know
    keeps its vector card.
    """
    if pinned_document is not None:
        words = NOT_RUN_PINNED
        vector = replace(
            vector, hits=tuple(hit for hit in vector.hits if hit.document_id == pinned_document)
        )
    kept = [
        hit
        for hit in _once(vector.hits)
        if not vector.doubted and (floor is None or hit.score >= floor.value)
    ]
    led = [_vector_card(hit, floor) for hit in kept[: settings.vector_top]]
    added = _one_per_document(words.hits)
    if settings.words_first and pinned_document is None and words_should_lead(question):
        cards = _words_then_vector(led, added, settings)
    else:
        cards = _vector_then_words(led, added, settings)
    return Balanced(
        cards=cards,
        emptiness=_emptiness(cards, vector, words, nothing, measured=floor is not None),
        vector=vector.state,
        words=words.state,
        vector_measured=floor is not None,
        below_floor=len(kept) < len(_once(vector.hits)),
        pinned=pinned_document is not None,
        acting=tuple(acting),
        nothing=nothing,
    )


_DIGIT = re.compile(r"\d")
_MOST_WORDS = 3


def words_should_lead(question: str) -> bool:
    """Whether a question is of the kind the word way answers best: digits, or three words."""
    return bool(_DIGIT.search(question)) or len(question.split()) <= _MOST_WORDS


def _once(hits: Iterable[Hit]) -> list[Hit]:
    """Each chunk once, the first time it comes."""
    return list({hit.chunk_id: hit for hit in reversed(tuple(hits))}.values())[::-1]


def _one_per_document(hits: Iterable[Hit]) -> list[Card]:
    best: dict[int, Hit] = {}
    for hit in hits:
        best.setdefault(hit.document_id, hit)
    return [_word_card(hit) for hit in best.values()]


def _vector_then_words(
    led: list[Card], added: list[Card], settings: BalanceSettings
) -> tuple[Card, ...]:
    there = {card.document_id for card in led}
    more = [card for card in added if card.document_id not in there]
    return tuple((led + more)[: settings.total])


def _words_then_vector(
    led: list[Card], added: list[Card], settings: BalanceSettings
) -> tuple[Card, ...]:
    by_document: dict[int, Card] = {}
    for card in led:
        by_document.setdefault(card.document_id, card)
    leading = [by_document.get(card.document_id, card) for card in added[: settings.vector_top]]
    taken = {card.chunk_id for card in leading}
    there = {card.document_id for card in (*leading, *led)}
    more = [card for card in led if card.chunk_id not in taken]
    rest = [card for card in added[settings.vector_top :] if card.document_id not in there]
    return tuple((leading + more + rest)[: settings.total])


def _vector_card(hit: Hit, floor: ScoreFloor | None) -> Card:
    checked = floor is not None and floor.is_checked(hit.score)
    return _card(hit, Weg.VEKTOR, checked, ValidationStatus.AI_SUGGESTED)


def _word_card(hit: Hit) -> Card:
    return _card(hit, Weg.WORTSUCHE, False, ValidationStatus.AI_UNVERIFIED)


def _card(hit: Hit, weg: Weg, geprueft: bool, status: ValidationStatus) -> Card:
    return Card(
        document_id=hit.document_id,
        chunk_id=hit.chunk_id,
        weg=weg,
        geprueft=geprueft,
        validation_status=status,
        ai_suggested=status is ValidationStatus.AI_SUGGESTED,
        score=hit.score,
        title=hit.title,
        snippet=hit.snippet,
        page=hit.page,
    )


def _emptiness(
    cards: tuple[Card, ...],
    vector: WayResult,
    words: WayResult,
    nothing: NothingToSearch | None,
    *,
    measured: bool,
) -> Emptiness:
    failed = WayState.FAILED in (vector.state, words.state)
    if not cards:
        if failed:
            return Emptiness.INCOMPLETE
        return Emptiness.NOTHING_FOUND if nothing is None else Emptiness.NOTHING_TO_SEARCH
    only_words = all(card.weg is Weg.WORTSUCHE for card in cards)
    if only_words or (measured and not any(card.geprueft for card in cards)):
        return Emptiness.ONLY_UNVERIFIED
    return Emptiness.NONE


# --- the hit line ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Wording:
    """The sentences of the hit line in one language."""

    one_hit: str
    hits: str
    unmeasured: str
    unverified_one: str
    unverified: str
    only_unverified: str
    only_weak: str
    nothing: str
    nothing_floor: str
    failed_all: str
    failed_vector: str
    failed_words: str
    truncated: str
    pinned: str
    filters: str


_WORDINGS = {
    "de": _Wording(
        one_hit="1 Treffer.",
        hits="{n} Treffer.",
        unmeasured="Für die Vektorsuche ist keine Schwelle gemessen; ihre Treffer sind nur "
        "die ähnlichsten.",
        unverified_one="Davon ist 1 UNGEPRÜFT (Wortsuche): eine Ergänzung, keine Alternative.",
        unverified="Davon sind {n} UNGEPRÜFT (Wortsuche): eine Ergänzung, keine Alternative.",
        only_unverified="Alle Treffer sind UNGEPRÜFT; die Vektorsuche fand nichts.",
        only_weak="Kein Treffer ist GEPRÜFT; was ähnlich ist, liegt unter der gemessenen Schwelle.",
        nothing="Nichts gefunden.",
        nothing_floor="Nichts gefunden: Was ähnlich war, lag unter der Schwelle.",
        failed_all="Die Suche ist ausgefallen; über den Bestand sagt das nichts.",
        failed_vector="Die Vektorsuche ist ausgefallen, die Liste ist unvollständig.",
        failed_words="Die Wortsuche ist ausgefallen, die Liste ist unvollständig.",
        truncated="Die Suche wurde abgebrochen, die Liste kann unvollständig sein.",
        pinned="Gesucht wurde nur im angehefteten Dokument.",
        filters="Gefiltert nach: {names}.",
    ),
    "fr": _Wording(
        one_hit="1 résultat.",
        hits="{n} résultats.",
        unmeasured="Aucun seuil n'est mesuré pour la recherche vectorielle ; ses résultats sont "
        "seulement les plus proches.",
        unverified_one="Dont 1 NON VÉRIFIÉ (recherche par mots) : un complément, pas une "
        "alternative.",
        unverified="Dont {n} NON VÉRIFIÉS (recherche par mots) : un complément, pas une "
        "alternative.",
        only_unverified="Tous les résultats sont NON VÉRIFIÉS ; la recherche vectorielle n'a rien "
        "trouvé.",
        only_weak="Aucun résultat n'est VÉRIFIÉ ; ce qui ressemble reste sous le seuil mesuré.",
        nothing="Rien trouvé.",
        nothing_floor="Rien trouvé : ce qui ressemblait restait sous le seuil.",
        failed_all="La recherche est en panne ; cela ne dit rien du fonds.",
        failed_vector="La recherche vectorielle est en panne, la liste est incomplète.",
        failed_words="La recherche par mots est en panne, la liste est incomplète.",
        truncated="La recherche a été interrompue, la liste peut être incomplète.",
        pinned="Recherche limitée au document épinglé.",
        filters="Filtres : {names}.",
    ),
    "en": _Wording(
        one_hit="1 hit.",
        hits="{n} hits.",
        unmeasured="No floor is measured for the vector search; its hits are only the most "
        "similar ones.",
        unverified_one="Of these, 1 is UNVERIFIED (word search): a supplement, not an alternative.",
        unverified="Of these, {n} are UNVERIFIED (word search): a supplement, not an alternative.",
        only_unverified="All hits are UNVERIFIED; the vector search found nothing.",
        only_weak="No hit is VERIFIED; what is similar lies below the measured threshold.",
        nothing="Nothing found.",
        nothing_floor="Nothing found: what was similar lay below the floor.",
        failed_all="The search failed; this says nothing about the stock.",
        failed_vector="The vector search failed, the list is incomplete.",
        failed_words="The word search failed, the list is incomplete.",
        truncated="The search was cut short, the list may be incomplete.",
        pinned="Only the pinned document was searched.",
        filters="Filtered by: {names}.",
    ),
}


def hit_line(result: Balanced, language: str) -> str:
    """What is said above the cards, in de, fr or en (any other language: en); RET-15, RET-19,
    RET-29.

    It counts what is shown and never what a wall hid.
    """
    wording = _WORDINGS.get(language, _WORDINGS["en"])
    said = [*_found(result, wording), *_state(result, wording)]
    if result.nothing is not None and not result.cards:
        said = [result.nothing.message(language), *_state(result, wording)]
    if result.acting:
        said.append(wording.filters.format(names=", ".join(result.acting)))
    return " ".join(said)


def _found(result: Balanced, wording: _Wording) -> Iterable[str]:
    count, unverified = len(result.cards), result.unverified
    if not count:
        if result.emptiness is Emptiness.NOTHING_FOUND:
            yield wording.nothing_floor if result.below_floor else wording.nothing
        return
    yield wording.one_hit if count == 1 else wording.hits.format(n=count)
    if unverified == 1:
        yield wording.unverified_one
    elif unverified:
        yield wording.unverified.format(n=unverified)
    # "Found nothing" is only true of a vector search that ran to its end.
    if result.emptiness is Emptiness.ONLY_UNVERIFIED and result.vector is WayState.COMPLETE:
        yield wording.only_unverified if unverified == count else wording.only_weak
    if not result.vector_measured and unverified < count:
        yield wording.unmeasured


def _state(result: Balanced, wording: _Wording) -> Iterable[str]:
    ways = (result.vector, result.words)
    ran = [way for way in ways if way is not WayState.NOT_RUN]
    if ran and all(way is WayState.FAILED for way in ran):
        yield wording.failed_all
    elif result.vector is WayState.FAILED:
        yield wording.failed_vector
    elif result.words is WayState.FAILED:
        yield wording.failed_words
    if WayState.TRUNCATED in ways:
        yield wording.truncated
    if result.pinned:
        yield wording.pinned


# --- after the answer --------------------------------------------------------------------------


class Rendering(StrEnum):
    """How a card is shown after the answer."""

    CARD = "card"
    SOURCE_LINE = "source_line"


@dataclass(frozen=True, slots=True)
class RenderedCard:
    """A card and how it is shown: degraded, never dropped."""

    card: Card
    rendering: Rendering


_REFERENCE = re.compile(r"(?:#|/d/)(\d{1,18})(?!\d)")
_SHORTEST_TITLE = 4


def _names(prose: str, title: str) -> bool:
    """Whether a title stands in the prose as a whole: "Dokument 3" is not in "Dokument 31"."""
    if len(title) < _SHORTEST_TITLE or title not in prose:
        return False
    return re.search(rf"(?<!\w){re.escape(title)}(?!\w)", prose) is not None


def degrade_unused(cards: Sequence[Card], prose: str) -> tuple[RenderedCard, ...]:
    """Unverified cards the answer does not mention become a source line (RET-16); the rest stays.

    An answer mentions a card by its link, by its page address or by its title.
    """
    mentioned = {int(match.group(1)) for match in _REFERENCE.finditer(prose)}
    folded = prose.casefold()

    def used(card: Card) -> bool:
        return card.document_id in mentioned or _names(folded, card.title.strip().casefold())

    return tuple(
        RenderedCard(
            card,
            Rendering.SOURCE_LINE
            if card.validation_status is ValidationStatus.AI_UNVERIFIED and not used(card)
            else Rendering.CARD,
        )
        for card in cards
    )

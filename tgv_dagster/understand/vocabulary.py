"""Vocabulary: the closed set of entities and projects, and where their names stand in a text.

Here belongs what is known of the own organisation and how it is recognised: by identifiers first,
then by whole names (TRI-07). No other entity than one of this set is ever named by triage; which
of several is meant is decided in `entity`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from tgv_dagster.store.levels import Level
from tgv_dagster.understand import words
from tgv_dagster.understand.amounts import Offsets
from tgv_dagster.understand.identifiers import Identifier, IdentifierKind, normal_form
from tgv_dagster.understand.words import PhraseFinder


@dataclass(frozen=True, slots=True)
class EntityEntry:
    """One entity of the organisation as configured; `address` is one line or several."""

    slug: str
    mandant_id: int
    mandant_slug: str
    kind: str
    legal_name: str
    aliases: tuple[str, ...] = ()
    vat_ids: tuple[str, ...] = ()
    ibans: tuple[str, ...] = ()
    register_no: str | None = None
    address: str | None = None
    email_domains: tuple[str, ...] = ()
    default_level: Level | None = None


@dataclass(frozen=True, slots=True)
class ProjectEntry:
    """One project of an entity."""

    project_code: str
    entity_slug: str
    name: str
    aliases: tuple[str, ...] = ()


class MatchKind(StrEnum):
    """How an entity was recognised, strongest first."""

    VAT_ID = "vat_id"
    IBAN = "iban"
    REGISTER_NO = "register_no"
    SIREN = "siren"
    LEGAL_NAME = "legal_name"
    ALIAS = "alias"
    EMAIL_DOMAIN = "email_domain"
    ADDRESS = "address"


IDENTIFYING = frozenset({MatchKind.VAT_ID, MatchKind.IBAN, MatchKind.REGISTER_NO, MatchKind.SIREN})


@dataclass(frozen=True, slots=True)
class EntityMatch:
    """A place where something of an entity stands.

    `embedded` marks a name that is part of a longer company name and so may mean somebody else.
    """

    slug: str
    kind: MatchKind
    span: Offsets
    raw: str
    embedded: bool = False


@dataclass(frozen=True)
class Vocabulary:
    """The closed set of what may be named; slugs are unique."""

    entities: tuple[EntityEntry, ...] = ()
    projects: tuple[ProjectEntry, ...] = ()
    _by_slug: dict[str, EntityEntry] = field(init=False, repr=False, compare=False)
    _by_number: dict[str, tuple[tuple[str, MatchKind], ...]] = field(
        init=False, repr=False, compare=False
    )
    _names: PhraseFinder = field(init=False, repr=False, compare=False)
    _projects: PhraseFinder = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_slug", {entry.slug: entry for entry in self.entities})
        object.__setattr__(self, "_by_number", _numbers(self.entities))
        object.__setattr__(self, "_names", PhraseFinder(_names(self.entities)))
        object.__setattr__(self, "_projects", PhraseFinder(_project_names(self.projects)))

    def entity(self, slug: str) -> EntityEntry | None:
        """The entry of a slug; None when it is not in the vocabulary (TRI-07)."""
        return self._by_slug.get(slug)

    def narrowed(self, mandant_id: int) -> Vocabulary:
        """The part of one tenant; his walls are not crossed by recognition."""
        entities = tuple(e for e in self.entities if e.mandant_id == mandant_id)
        slugs = {entry.slug for entry in entities}
        return Vocabulary(entities, tuple(p for p in self.projects if p.entity_slug in slugs))


def match_identifier(vocabulary: Vocabulary, kind: MatchKind, raw: str) -> tuple[str, ...]:
    """Slugs of the entities that carry an identifier, compared in normal form."""
    found = vocabulary._by_number.get(_normal(raw), ())
    return tuple(slug for slug, known in found if known is kind)


def match_name(vocabulary: Vocabulary, name: str) -> tuple[tuple[str, MatchKind], ...]:
    """Entities whose legal name or alias is the whole given name, apart from case and marks."""
    wanted = _plain_name(name)
    return tuple(
        (entry.slug, kind)
        for entry in vocabulary.entities
        for kind, known in _known_names(entry)
        if _plain_name(known) == wanted
    )


def match_projects(vocabulary: Vocabulary, text: str) -> tuple[tuple[str, Offsets], ...]:
    """Project codes whose code, name or alias stands in a text, with their places."""
    folded = words.fold(text)
    return tuple((hit.key, (hit.start, hit.end)) for hit in vocabulary._projects.find(folded))


def find_matches(
    vocabulary: Vocabulary, text: str, identifiers: tuple[Identifier, ...]
) -> tuple[EntityMatch, ...]:
    """Every place of a text where something of a known entity stands, ordered by place.

    Known numbers are found by themselves, so a number without valid check digits still counts
    when the organisation lists it. Linear in the length of the text.
    """
    folded = words.fold(text)
    found = [
        *_by_known_number(vocabulary, text, folded),
        *_by_establishment(vocabulary, text, identifiers),
        *_by_register(vocabulary, text, identifiers),
        *_by_domain(vocabulary, text, identifiers),
        *_by_name(vocabulary, text, folded),
        *_by_address(vocabulary, text, folded),
    ]
    return tuple(sorted(set(found), key=lambda match: (match.span, match.kind, match.slug)))


# --- indexes -------------------------------------------------------------------------------------


def _normal(raw: str) -> str:
    return re.sub(r"[^0-9A-Z]", "", words.fold(raw).upper())


_SIREN = re.compile(r"(?<![0-9])[0-9]{3} ?[0-9]{3} ?[0-9]{3}(?![0-9])")


def _numbers(
    entities: tuple[EntityEntry, ...],
) -> dict[str, tuple[tuple[str, MatchKind], ...]]:
    """Normal forms of VAT ids and IBANs (and the SIREN inside a French VAT id)."""
    index: dict[str, tuple[tuple[str, MatchKind], ...]] = {}

    def add(raw: str, slug: str, kind: MatchKind) -> None:
        if number := _normal(raw):
            index[number] = tuple(dict.fromkeys((*index.get(number, ()), (slug, kind))))

    for entry in entities:
        for vat_id in entry.vat_ids:
            add(vat_id, entry.slug, MatchKind.VAT_ID)
            if _normal(vat_id).startswith("FR"):
                add(_normal(vat_id)[4:], entry.slug, MatchKind.SIREN)
        for iban in entry.ibans:
            add(iban, entry.slug, MatchKind.IBAN)
        for match in _SIREN.finditer(entry.register_no or ""):
            add(match.group(), entry.slug, MatchKind.SIREN)
    return index


def _known_names(entry: EntityEntry) -> Iterator[tuple[MatchKind, str]]:
    yield MatchKind.LEGAL_NAME, entry.legal_name
    for alias in entry.aliases:
        yield MatchKind.ALIAS, alias


_SHORTEST_NAME = 3


def _names(entities: tuple[EntityEntry, ...]) -> dict[str, list[str]]:
    """Phrases per "slug|kind"; a name shared by two entities stands once and is resolved later."""
    phrases: dict[str, list[str]] = {}
    for entry in entities:
        for kind, name in _known_names(entry):
            phrase = _as_phrase(name)
            if len(phrase) >= _SHORTEST_NAME:
                phrases.setdefault(f"{entry.slug}|{kind.value}", []).append(phrase)
    return phrases


def _as_phrase(name: str) -> str:
    """A name in the notation of word lists: full stops and hyphens are optional in the text."""
    return re.sub(r"\s+", " ", name.replace("*", " ")).strip()


def _plain_name(name: str) -> str:
    return re.sub(r"[^\w]+", " ", words.fold(name)).strip()


def _project_names(projects: tuple[ProjectEntry, ...]) -> dict[str, list[str]]:
    return {
        project.project_code: [
            _as_phrase(name)
            for name in (project.project_code, project.name, *project.aliases)
            if len(name) >= _SHORTEST_NAME
        ]
        for project in projects
    }


# --- search --------------------------------------------------------------------------------------

_LONGEST = 40


def _by_known_number(vocabulary: Vocabulary, text: str, folded: str) -> Iterator[EntityMatch]:
    """Known VAT ids, IBANs and SIREN numbers, however they are grouped."""
    index = vocabulary._by_number
    if not index:
        return
    heads = "|".join(sorted({re.escape(number[:2].lower()) for number in index}))
    for match in re.finditer(rf"(?<![0-9a-z])(?:{heads})", folded):
        for number, place in _prefixes(folded, match.start()):
            for slug, kind in index.get(number, ()):
                yield EntityMatch(slug, kind, place, text[slice(*place)])


def _prefixes(folded: str, start: int) -> Iterator[tuple[str, Offsets]]:
    """Letters and digits from a place on, blanks left out, at each end where a number may end."""
    characters: list[str] = []
    position = start
    while position < len(folded) and len(characters) < _LONGEST:
        character = folded[position]
        if character.isascii() and character.isalnum():
            characters.append(character.upper())
        elif character not in " .-\t":
            break
        position += 1
        behind = folded[position : position + 1]
        if len(characters) >= 8 and characters and not (behind.isascii() and behind.isdigit()):
            yield "".join(characters), (start, position)


def _by_establishment(
    vocabulary: Vocabulary, text: str, identifiers: tuple[Identifier, ...]
) -> Iterator[EntityMatch]:
    """A SIRET begins with the SIREN of its company."""
    for identifier in identifiers:
        if identifier.kind is IdentifierKind.SIRET:
            for slug in match_identifier(vocabulary, MatchKind.SIREN, identifier.value[:9]):
                span = identifier.span
                yield EntityMatch(slug, MatchKind.SIREN, span, text[slice(*span)])


def _by_register(
    vocabulary: Vocabulary, text: str, identifiers: tuple[Identifier, ...]
) -> Iterator[EntityMatch]:
    """Register numbers; the court must agree where both sides name one."""
    known = [
        (entry.slug, number, words.fold(entry.register_no or ""))
        for entry in vocabulary.entities
        if entry.register_no
        for number in [normal_form(IdentifierKind.REGISTER_NO, entry.register_no)]
    ]
    for identifier in identifiers:
        if identifier.kind is not IdentifierKind.REGISTER_NO:
            continue
        for slug, number, printed in known:
            court = words.fold(identifier.detail)
            if number == identifier.value and (not court or court in printed or " " not in printed):
                span = identifier.span
                yield EntityMatch(slug, MatchKind.REGISTER_NO, span, text[slice(*span)])


def _by_domain(
    vocabulary: Vocabulary, text: str, identifiers: tuple[Identifier, ...]
) -> Iterator[EntityMatch]:
    for identifier in identifiers:
        if identifier.kind is IdentifierKind.EMAIL:
            domain = identifier.value.rpartition("@")[2]
        elif identifier.kind is IdentifierKind.DOMAIN:
            domain = identifier.value
        else:
            continue
        for entry in vocabulary.entities:
            if any(_same_domain(domain, own) for own in entry.email_domains):
                span = identifier.span
                yield EntityMatch(entry.slug, MatchKind.EMAIL_DOMAIN, span, text[slice(*span)])


def _same_domain(domain: str, own: str) -> bool:
    own = own.strip().lower().removeprefix("www.")
    return bool(own) and (domain == own or domain.endswith("." + own))


_LEGAL_FORM = (
    r"(?:gmbh|mbh|ag|kg|ohg|gbr|ug|e\.? ?k\.?|e\.? ?v\.?|eg|se|sarl|s\.a\.r\.l\.?|sas|sasu|sa"
    r"|eurl|sci|snc|ltd|limited|llc|inc|plc|llp|s\.?r\.?l|s\.?p\.?a|b\.?v|n\.?v|ооо|зао|ао|тоо)"
)
_CONTINUES = re.compile(rf"[ ]{{1,2}}(?:(?:[\w&.+-]+)[ ]{{1,2}}){{0,3}}{_LEGAL_FORM}(?!\w)")
_NAME_WORD_BEFORE = re.compile(r"([A-ZÄÖÜÉ][\w&.-]*)[ ]$")


def _by_name(vocabulary: Vocabulary, text: str, folded: str) -> Iterator[EntityMatch]:
    """Whole names; a name inside a longer company name is marked as embedded."""
    for hit in vocabulary._names.find(folded):
        slug, _, kind = hit.key.partition("|")
        span = (hit.start, hit.end)
        raw = text[slice(*span)]
        for owner in _owners(vocabulary, slug, raw):
            entry = vocabulary.entity(owner)
            is_company = entry is not None and entry.kind == "company"
            embedded = _is_embedded(text, folded, span, is_company=is_company)
            yield EntityMatch(owner, MatchKind(kind), span, raw, embedded)


def _owners(vocabulary: Vocabulary, slug: str, raw: str) -> Iterator[str]:
    """Every entity that carries this very name, for two tenants may share one."""
    wanted = _plain_name(raw)
    shared = {
        entry.slug
        for entry in vocabulary.entities
        for _, name in _known_names(entry)
        if _plain_name(name) == wanted
    }
    yield from sorted(shared | {slug})


def _is_embedded(text: str, folded: str, span: Offsets, *, is_company: bool) -> bool:
    """Whether the name goes on to another company's name on its line: "Muster Bau GmbH".

    A capital word in front makes a company another one ("Neue Muster GmbH"), people it greets.
    """
    own_form = re.search(rf"{_LEGAL_FORM}\.?$", folded[span[0] : span[1]])
    line_end = text.find("\n", span[1], span[1] + 60)
    behind = folded[span[1] : line_end if line_end >= 0 else span[1] + 60]
    if own_form is None and _CONTINUES.match(behind):
        return True
    if not is_company:
        return False
    before = _NAME_WORD_BEFORE.search(text[max(0, span[0] - 30) : span[0]])
    if before is None:
        return False
    word = words.fold(before.group(1))
    return next(words.finder("parties", "before_name").find(word), None) is None


def _by_address(vocabulary: Vocabulary, text: str, folded: str) -> Iterator[EntityMatch]:
    """Street and postcode of an entity near each other; two entities may share an address."""
    for entry in vocabulary.entities:
        street, postcode = _address_parts(entry.address)
        if street is None or postcode is None:
            continue
        for match in re.finditer(street, folded):
            if postcode in folded[match.end() : match.end() + 60]:
                span = match.span()
                yield EntityMatch(entry.slug, MatchKind.ADDRESS, span, text[slice(*span)])


def _address_parts(address: str | None) -> tuple[str | None, str | None]:
    """A pattern for the street line, and the postcode."""
    if not address:
        return None, None
    postcode = re.search(r"(?<!\d)\d{4,5}(?!\d)", address)
    lines = [part.strip() for part in re.split(r"[\n,;]", address)]
    street = next(
        (line for line in lines if re.search(r"\d", line) and re.search("[^\\W\\d]", line)), None
    )
    if postcode is None or street is None or postcode.group() in street:
        return None, None
    pattern = re.escape(words.fold(street)).replace(r"\ ", r"\s{1,2}")
    pattern = re.sub(r"stra(?:s|ss)e(?=\\s)", r"str(?:asse|ase|\\.)", pattern)
    return rf"(?<!\w){pattern}(?!\w)", postcode.group()

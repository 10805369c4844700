"""The register of tuning values: each has one place, an owner, and the day it was last measured.

The row in `tuning_values` leads. The constant here is its default: what a fresh installation is
seeded with, and what stands in when the row is missing or cannot be used; standing in is an event
(VAL-01 to VAL-07). Deployment facts belong to `settings`, switches of people to `system_config`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record

CHUNK_CHARS = 3200
CHUNK_OVERLAP = 400
WINDOW_CHARS = 300
P_TOP_K = 6
GESAMT_MAX = 10
P_MIN_SCORE = 0.78
P_CHECKED_SCORE = 0.78
P_MIN_SCORE_USE = 0.10
P_CHECKED_SCORE_USE = 0.20
P_DOUBT_SCORE_USE = 0.17
P_DOUBT_MARGIN_USE = 0.11
P_DOUBT_AGREEING_USE = 2
WORDS_FIRST = False
EXACT_SCAN_ROWS = 30_000
RERANK_ROWS = 3_200

TRIAGE_LEAST_DOC_TYPE = 0.8
TRIAGE_LEAST_ENTITY = 0.8
TRIAGE_LEAST_PROVIDER = 0.8
TRIAGE_LEAST_AMOUNTS = 0.8
TRIAGE_LEAST_DATES = 0.75
TRIAGE_LEAST_NUMBERS = 0.8
TRIAGE_LEAST_LANGUAGE = 0.5
TRIAGE_LEAST_PROJECT = 0.8

NEVER = "never"
Value = int | float | bool


class TuningError(ValueError):
    """A value that is not registered, of another kind, or out of its range."""


@dataclass(frozen=True, slots=True)
class TuningValue:
    """One registered value with its range; `default` also fixes its kind.

    measured: how it was last measured, `NEVER` where nobody did (VAL-06), and measured_on the day;
    interim values name what ends them (VAL-07).
    """

    key: str
    default: Value
    says: str
    owner: str
    least: float = 0
    most: float = float("inf")
    measured: str = NEVER
    measured_on: date | None = None
    expires_when: str | None = None

    @property
    def place(self) -> str:
        """Where the default stands, as `module:KEY`."""
        return f"{__name__}:{self.key}"

    def parse(self, text: str) -> Value:
        """The value that a stored text means. Raises TuningError."""
        try:
            value = _parsed(text.strip(), type(self.default))
        except ValueError:
            raise TuningError(f"{self.key}: {text[:40]!r} cannot be read") from None
        if not self.least <= value <= self.most:
            raise TuningError(f"{self.key}: {text[:40]} is outside {self.least} to {self.most}")
        return value


_SWITCH = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}


def _parsed(text: str, kind: type[Value]) -> Value:
    if kind is not bool:
        return kind(text)
    if text.lower() not in _SWITCH:
        raise ValueError(text)
    return _SWITCH[text.lower()]


_RETRIEVAL = "retrieval"
_UNDERSTANDING = "understanding"


def _least(key: str, default: float, what: str) -> TuningValue:
    says = f"confidence below which {what} is asked instead of stated"
    return TuningValue(key, default, says, _UNDERSTANDING, 0, 1)


_DAY = date(2026, 11, 30)
_USE = "use-multilingual-denoised@3/512/none"
_OWN_FLOOR = "a reranker, or a floor measured on the own corpus"
_EVALUATED = "shipped questions of the evaluation, not the own corpus"
_DOUBTS = (
    "chosen on 103 shipped and 27 sample questions and 40 nonsense questions; the other halves keep"
    " 101 of 102 and 27 of 27, and of 24 other nonsense questions .67 (shipped) and .58 (samples)"
    " show nothing by the vector way"
)
_SIZES = (
    _EVALUATED + ": with windows of 300 embedded, sizes 600 to 3,200 and overlaps 0 to 400 give the"
    " same document ranks; embedded whole, chunks lose in every class"
)

REGISTER: tuple[TuningValue, ...] = (
    TuningValue(
        "CHUNK_CHARS", CHUNK_CHARS, "characters of a chunk", _RETRIEVAL, 50, 100_000,
        measured=_SIZES, measured_on=_DAY,
    ),
    TuningValue(
        "CHUNK_OVERLAP", CHUNK_OVERLAP, "of them overlap", _RETRIEVAL, 0, 50_000,
        measured=_SIZES, measured_on=_DAY,
    ),
    TuningValue(
        "WINDOW_CHARS", WINDOW_CHARS, "characters of an embedded window, at most",
        _RETRIEVAL, 20, 20_000, measured=_SIZES, measured_on=_DAY,
    ),
    TuningValue("P_TOP_K", P_TOP_K, "cards of the vector way", _RETRIEVAL, 1, 100),
    TuningValue("GESAMT_MAX", GESAMT_MAX, "cards of an answer", _RETRIEVAL, 1, 100),
    TuningValue(
        "P_MIN_SCORE", P_MIN_SCORE, "cosine below which mistral-embed found nothing",
        _RETRIEVAL, -1, 1, expires_when="a reranker",
    ),
    TuningValue(
        "P_CHECKED_SCORE", P_CHECKED_SCORE, "cosine from which a hit of mistral-embed is checked",
        _RETRIEVAL, -1, 1, expires_when="a reranker",
    ),
    TuningValue(
        f"P_MIN_SCORE:{_USE}", P_MIN_SCORE_USE, "cosine below which the default found nothing",
        _RETRIEVAL, -1, 1, measured_on=_DAY, expires_when=_OWN_FLOOR,
        measured="keeps 54 of 55 questions to the samples in five languages and 146 of 146 shipped"
        " ones; cuts 6 (samples) and 2 (shipped) of 24 nonsense questions",
    ),
    TuningValue(
        f"P_CHECKED_SCORE:{_USE}", P_CHECKED_SCORE_USE,
        "cosine from which a hit of the default model is checked",
        _RETRIEVAL, -1, 1, measured_on=_DAY, expires_when=_OWN_FLOOR,
        measured="reached by 36 of 55 questions to the samples and 139 of 146 shipped ones, by 4"
        " (samples) and 2 (shipped) of 24 nonsense questions",
    ),
    TuningValue(
        f"P_DOUBT_SCORE:{_USE}", P_DOUBT_SCORE_USE,
        "cosine below which the best hit of the default model says little by itself",
        _RETRIEVAL, -1, 1, measured=_DOUBTS, measured_on=_DAY, expires_when=_OWN_FLOOR,
    ),
    TuningValue(
        f"P_DOUBT_MARGIN:{_USE}", P_DOUBT_MARGIN_USE,
        "cosine by which the best hit stands above those behind, or is doubted",
        _RETRIEVAL, 0, 2, measured=_DOUBTS, measured_on=_DAY, expires_when=_OWN_FLOOR,
    ),
    TuningValue(
        f"P_DOUBT_AGREEING:{_USE}", P_DOUBT_AGREEING_USE,
        "documents leading both ways that end a doubt", _RETRIEVAL, 1, 6,
        measured=_DOUBTS, measured_on=_DAY, expires_when=_OWN_FLOOR,
    ),
    TuningValue(
        "WORDS_FIRST", WORDS_FIRST, "the word way leads when a question has digits or few words",
        _RETRIEVAL,
    ),
    TuningValue(
        "EXACT_SCAN_ROWS", EXACT_SCAN_ROWS, "windows of a tenant up to which all are compared",
        _RETRIEVAL, 0,
    ),
    TuningValue(
        "RERANK_ROWS", RERANK_ROWS, "windows compared exactly after the pass over bits",
        _RETRIEVAL, 1, 100_000,
        measured="recall@6 of exact, 88,900 near-duplicates, USE, 120 questions: 800 .974,"
        " 1,600 .990, 2,400 .997, 3,200 .999, 4,800 1.000",
        measured_on=_DAY,
    ),
    _least("TRIAGE_LEAST_DOC_TYPE", TRIAGE_LEAST_DOC_TYPE, "the kind of a document"),
    _least("TRIAGE_LEAST_ENTITY", TRIAGE_LEAST_ENTITY, "the entity"),
    _least("TRIAGE_LEAST_PROVIDER", TRIAGE_LEAST_PROVIDER, "the supplier"),
    _least("TRIAGE_LEAST_AMOUNTS", TRIAGE_LEAST_AMOUNTS, "an amount"),
    _least("TRIAGE_LEAST_DATES", TRIAGE_LEAST_DATES, "a date"),
    _least("TRIAGE_LEAST_NUMBERS", TRIAGE_LEAST_NUMBERS, "a number on the paper"),
    _least("TRIAGE_LEAST_LANGUAGE", TRIAGE_LEAST_LANGUAGE, "the language"),
    _least("TRIAGE_LEAST_PROJECT", TRIAGE_LEAST_PROJECT, "the project"),
)  # fmt: skip

_BY_KEY = {value.key: value for value in REGISTER}


@dataclass(frozen=True, slots=True)
class Measured:
    """A number with the account of how it came about; measured_at None = never measured here."""

    value: float
    note: str | None
    measured_at: datetime | None
    expires_when: str | None


@dataclass(frozen=True, slots=True)
class Tuning:
    """The values of one moment. `fallbacks` names the keys whose row did not serve."""

    values: Mapping[str, Value]
    accounts: Mapping[str, Measured]
    fallbacks: tuple[str, ...] = ()

    def integer(self, key: str) -> int:
        """A registered whole number. Raises TuningError for anything else."""
        value = self.values.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise TuningError(f"{key} is not registered as a whole number")

    def number(self, key: str) -> float:
        """A registered number. Raises TuningError for anything else."""
        value = self.values.get(key)
        if isinstance(value, float):
            return value
        raise TuningError(f"{key} is not registered as a number")

    def switch(self, key: str) -> bool:
        """A registered switch. Raises TuningError for anything else."""
        value = self.values.get(key)
        if isinstance(value, bool):
            return value
        raise TuningError(f"{key} is not registered as a switch")

    def measured(self, key: str) -> Measured | None:
        """A number with its account, also of a key beside the register; None when nobody set it."""
        return self.accounts.get(key)


def seed(connection: Connection) -> None:
    """Register what is missing; a value that somebody set keeps its value and its account.

    A value that nobody set follows its default to the next version.
    """
    with connection.cursor() as cursor:
        cursor.executemany(
            """
            INSERT INTO tuning_values (key, value, place, owner, set_by, measured_note,
                measured_at, interim, expires_when)
            VALUES (%s, %s, %s, %s, 'default', %s, %s, %s, %s)
            ON CONFLICT (key) DO UPDATE SET place = excluded.place, value = excluded.value,
                measured_note = excluded.measured_note, measured_at = excluded.measured_at,
                interim = excluded.interim, expires_when = excluded.expires_when
            WHERE tuning_values.set_by = 'default'
              AND (tuning_values.place, tuning_values.value, tuning_values.measured_note)
                IS DISTINCT FROM (excluded.place, excluded.value, excluded.measured_note)
            """,
            [
                (v.key, str(v.default), v.place, v.owner, v.measured, v.measured_on,
                 v.expires_when is not None, v.expires_when)
                for v in REGISTER
            ],
        )  # fmt: skip
        cursor.executemany(
            "UPDATE tuning_values SET place = %s WHERE key = %s AND place <> %s",
            [(value.place, value.key, value.place) for value in REGISTER],
        )


def defaults() -> Tuning:
    """The defaults, for code that has no database."""
    return Tuning({value.key: value.default for value in REGISTER}, {})


def load(database: Database) -> Tuning:
    """All values in one read. What is missing or unusable is replaced by its default, as an event.

    The event is recorded once until somebody sets the value.
    """
    with database.worker() as connection:
        return load_in(connection)


def load_in(connection: Connection) -> Tuning:
    """The same in the caller's transaction."""
    rows = connection.execute(
        "SELECT key, value, measured_note, measured_at, expires_when FROM tuning_values"
    ).fetchall()
    values: dict[str, Value] = {}
    reasons: dict[str, str] = {}
    texts = {row[0]: row[1] for row in rows}
    for value in REGISTER:
        try:
            values[value.key] = value.parse(_stored(texts, value.key))
        except TuningError as error:
            values[value.key], reasons[value.key] = value.default, str(error)
    for key, reason in reasons.items():
        _tell_fallback(connection, key, reason)
    accounts = {
        key: Measured(number, note, measured_at, expires_when)
        for key, text, note, measured_at, expires_when in rows
        if (number := values.get(key, _number(text))) is not None
    }
    return Tuning(values, accounts, tuple(reasons))


def set_value(
    connection: Connection,
    key: str,
    text: str,
    *,
    by: str,
    is_human: bool = True,
    measured_at: datetime | None = None,
    note: str = NEVER,
    expires_when: str | None = None,
) -> None:
    """Set a value and its account, with an event.

    A key beside the register has the form `KEY:what it is for` and takes the kind and range of
    `KEY`. Raises TuningError when the key is unknown or the value does not fit.
    """
    value = _registered(key)
    parsed = value.parse(text)
    connection.execute(
        """
        INSERT INTO tuning_values (key, value, place, owner, set_by, measured_at, measured_note,
            interim, expires_when)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value, set_by = excluded.set_by,
            set_at = now(), measured_at = excluded.measured_at,
            measured_note = excluded.measured_note, interim = excluded.interim,
            expires_when = excluded.expires_when
        """,
        (
            key, str(parsed), value.place if key == value.key else "tuning_values", value.owner,
            by, measured_at, note, expires_when is not None, expires_when,
        ),
    )  # fmt: skip
    record(
        connection,
        Event(
            kind="tuning.set",
            author=by,
            is_human=is_human,
            object=f"tuning:{key}",
            reason="a tuning value was set",
            payload={"value": str(parsed), "note": note, "expires_when": expires_when},
        ),
    )


def deviations(connection: Connection) -> tuple[str, ...]:
    """Keys whose default in the code differs from the value that leads (VAL-04)."""
    rows = connection.execute("SELECT key, value FROM tuning_values").fetchall()
    texts = dict(rows)
    found = []
    for value in REGISTER:
        try:
            if value.parse(_stored(texts, value.key)) != value.default:
                found.append(value.key)
        except TuningError:
            found.append(value.key)
    return tuple(found)


def _registered(key: str) -> TuningValue:
    if key in _BY_KEY:
        return _BY_KEY[key]
    name = key.split(":", 1)[0]
    # A value of another space is judged by the one that is registered for some space.
    found = next((v for v in REGISTER if v.key.split(":", 1)[0] == name and ":" in key), None)
    if found is None:
        raise TuningError(f"{name[:60]!r} is not in the register of tuning values")
    return _BY_KEY.get(name, found)


def _stored(texts: Mapping[str, str], key: str) -> str:
    if key not in texts:
        raise TuningError(f"{key}: the row is missing")
    return texts[key]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _tell_fallback(connection: Connection, key: str, reason: str) -> None:
    subject = f"tuning:{key}"
    told = connection.execute(
        "SELECT kind, reason FROM agent_events WHERE object = %s ORDER BY id DESC LIMIT 1",
        (subject,),
    ).fetchone()
    if told == ("tuning.fallback", reason):
        return
    record(
        connection,
        Event(kind="tuning.fallback", author="tgv", object=subject, reason=reason),
    )

"""The confidentiality ladder and the roles: two closed vocabularies, each in this one place.

Foreign words of other products are mapped nowhere silently: whatever is not on the ladder counts as
the strictest level and is reported (CONF-02, CONF-03, CONF-04).
"""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """Stored level names, loosest first."""

    PUBLIC = "oeffentlich"
    INTERNAL = "intern"
    CONFIDENTIAL = "vertraulich"
    STRICT = "streng_vertraulich"

    @property
    def rank(self) -> int:
        """0 (anyone) to 3 (strictest)."""
        return _ORDER.index(self)


_ORDER = tuple(Level)
STRICTEST_RANK = len(_ORDER) - 1


def rank_of(value: str | None) -> int:
    """Rank of a stored word; NULL and unknown words are the strictest (RET-24, CONF-02)."""
    try:
        return Level(value).rank if value is not None else STRICTEST_RANK
    except ValueError:
        return STRICTEST_RANK


def is_known(value: str | None) -> bool:
    """Whether the word stands on the ladder."""
    return value is not None and value in set(Level)


def level_rank_sql(column: str) -> str:
    """SQL expression for `rank_of(column)`, generated from the same ladder."""
    cases = " ".join(f"WHEN '{level}' THEN {level.rank}" for level in Level)
    return f"(CASE {column} {cases} ELSE {STRICTEST_RANK} END)::smallint"


class Role(StrEnum):
    """Roles of a membership, strongest first."""

    SUPER_ADMIN = "super_admin"
    MANDANT_ADMIN = "mandant_admin"
    EDITOR = "editor"
    VIEWER = "viewer"

    @property
    def rank(self) -> int:
        """3 (strongest) to 0."""
        return len(_ROLES) - 1 - _ROLES.index(self)

    def at_least(self, other: Role) -> bool:
        """Whether this role has the rights of `other`."""
        return self.rank >= other.rank


_ROLES = tuple(Role)


def ceiling_of(role: str, membership_ceiling: str | None) -> int:
    """Highest level rank the holder of a membership may read; -1 means nothing (CONF-22).

    Owner and tenant manager have no ceiling; everybody else reads up to the ceiling of the
    membership, which is `intern` unless it says otherwise; an unknown role reads nothing.
    """
    if role in (Role.SUPER_ADMIN, Role.MANDANT_ADMIN):
        return STRICTEST_RANK
    if role not in (Role.EDITOR, Role.VIEWER):
        return -1
    if membership_ceiling is None:
        return Level.INTERNAL.rank
    return Level(membership_ceiling).rank if is_known(membership_ceiling) else -1

"""Types that several routes take: numbers, texts and keys with their limits.

The limits are those of the database, so that a value that passes here can be stored.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from pydantic import AfterValidator, Field, JsonValue

MAX_NUMBER = 2**63 - 1


def _storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain a NUL character")
    return text


Number = Annotated[int, Path(ge=1, le=MAX_NUMBER, description="Number", examples=[17])]
Slug = Annotated[
    str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$", max_length=63, examples=["nordwind-gmbh"])
]
Text = Annotated[str, Field(max_length=4000), AfterValidator(_storable)]
ShortText = Annotated[str, Field(max_length=300), AfterValidator(_storable)]
JsonObject = dict[str, JsonValue]

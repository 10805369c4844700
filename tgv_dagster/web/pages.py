"""Pages for people: templates, the language of the reader, and errors that can be read.

Every text stands in `wording.yaml` in three languages; every value is escaped by the template
engine. Does not belong here: what a page shows; the routers hand it over.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tgv_dagster.web.limits import PAGE_POLICY

LANGUAGES = ("de", "fr", "en")
FALLBACK = "en"
PAGE_PREFIXES = ("/d/", "/l/")
_HERE = Path(__file__).parent
STATIC = _HERE / "static"


def is_page(request: Request) -> bool:
    """Whether a person's browser asks: these routes answer with pages, errors included."""
    return request.url.path.startswith(PAGE_PREFIXES)


def language_of(request: Request) -> str:
    """The best of our languages by the Accept-Language header (RFC 9110, 12.5.4)."""
    best, best_weight = FALLBACK, 0.0
    for item in request.headers.get("accept-language", "").split(","):
        tag, _, parameter = item.strip().partition(";")
        language = tag.strip().lower().split("-")[0]
        weight = _weight(parameter)
        if language in LANGUAGES and weight > best_weight:
            best, best_weight = language, weight
    return best


def _weight(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if not name:
        return 1.0
    try:
        weight = float(value) if name.strip() == "q" else 0.0
    except ValueError:
        return 0.0
    return weight if 0 <= weight <= 1 else 0.0


@cache
def wording() -> dict[str, dict[str, str]]:
    """Every text by its key and language."""
    return yaml.safe_load((_HERE / "wording.yaml").read_text(encoding="utf-8"))


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(
    request: Request,
    template: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **context: Any,
) -> HTMLResponse:
    """A page in the reader's language."""
    language = language_of(request)

    def say(key: str) -> str:
        return wording()[key][language]

    def label(group: str, word: str | None) -> str:
        """The text of a word of a closed set; a word we do not know stands for itself."""
        return wording().get(f"{group}.{word}", {}).get(language, word or "–")

    html = (
        _environment()
        .get_template(template)
        .render(language=language, say=say, label=label, **context)
    )
    return HTMLResponse(
        html.encode("utf-8", "replace"),
        status_code=status,
        headers={
            "Content-Language": language,
            "Vary": "Accept-Language, Authorization",
            "Content-Security-Policy": PAGE_POLICY,
            **(headers or {}),
        },
    )


def error_page(request: Request, status: int, headers: Mapping[str, str]) -> HTMLResponse:
    """What went wrong and what helps, in the reader's language."""
    known = f"error.{status}.title" in wording()
    return render(
        request,
        "error.html",
        status=status,
        headers=headers,
        code=status,
        key=f"error.{status}" if known else "error.other",
    )

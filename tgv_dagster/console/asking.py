"""Questions on the console: ask the knowledge base and show cards with their sources."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
import yaml
from rich.markup import escape

from tgv_dagster.console.common import AS_OPTION, MANDANT_OPTION, opened, out, scope_of
from tgv_dagster.installation import Installation
from tgv_dagster.know.balance import Card, Weg
from tgv_dagster.know.search import SearchAnswer, SearchFilters, SearchParts, search
from tgv_dagster.store.scope import Scope

LANGUAGES = ("de", "fr", "en")
_WAY = {
    Weg.VEKTOR: {"de": "Bedeutung", "fr": "sens", "en": "meaning"},
    Weg.WORTSUCHE: {"de": "Wortsuche", "fr": "mots", "en": "words"},
}
_UNVERIFIED = {"de": "ungeprüft", "fr": "non vérifié", "en": "unverified"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question in its language, asked on behalf of somebody."""

    text: str
    language: str
    login: str | None = None
    mandant: str | None = None


def ask(
    question: str = typer.Argument(help="Any words, in any language."),
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
    entity: str | None = typer.Option(None, "--entity", help="Only this entity."),
    project: str | None = typer.Option(None, "--project", help="Only this project."),
    document: int | None = typer.Option(None, "--document", help="Only this document number."),
    limit: int | None = typer.Option(None, "--limit", min=1, help="Fewer hits than usual."),
    language: str = typer.Option("de", "--language", help="Language of the labels: de, fr, en."),
) -> None:
    """Ask the knowledge base; every hit names its document, page and way."""
    with opened() as installation:
        scope = scope_of(installation.database, login, mandant)
        filters = SearchFilters(entity=entity, project_code=project, document_id=document)
        answer = search(
            parts_of(installation), scope, question, filters=filters, limit=limit, language=language
        )
        show(installation, answer, language)


def parts_of(installation: Installation) -> SearchParts:
    """What searching needs of the installation."""
    return SearchParts.of(installation.database, installation.words, installation.embedder)


def show(installation: Installation, answer: SearchAnswer, language: str) -> None:
    """Print an answer: the hit line, the cards, and which filters acted."""
    out.print(f"[bold]{escape(answer.question)}[/bold]")
    out.print(f"  {escape(answer.line)}")
    for card in answer.cards:
        out.print(_card(installation, card, language))
    for hit in answer.fields.hits:
        out.print(f"  [cyan]{hit.link}[/cyan] {escape(hit.title)} [dim]{hit.field}[/dim]"
                  f" {escape(hit.value)}")  # fmt: skip
    if answer.trace.reasons:
        out.print(f"  [yellow]{escape('; '.join(answer.trace.reasons))}[/yellow]")
    if answer.acting:
        out.print(f"  [dim]{escape(' · '.join(answer.acting))}[/dim]")


def _card(installation: Installation, card: Card, language: str) -> str:
    words = language if language in LANGUAGES else "en"
    label = _WAY[card.weg][words]
    if not card.geprueft:
        label += f", {_UNVERIFIED[words]}"
    page = "" if card.page is None else f" · {_page(words)} {card.page}"
    settings = installation.settings
    link = f"http://{settings.http_host}:{settings.http_port}/d/{card.document_id}"
    return (
        f"  [cyan]{card.link}[/cyan] {escape(card.title)}{page} [dim]({label})[/dim]\n"
        f"      {_marked(card)}\n      [dim]{link}[/dim]"
    )


def _marked(card: Card) -> str:
    """The snippet with the words of the question in bold."""
    parts, at = [], 0
    for start, end in card.marks:
        parts += [
            escape(card.snippet[at:start]),
            f"[bold]{escape(card.snippet[start:end])}[/bold]",
        ]
        at = end
    return "".join([*parts, escape(card.snippet[at:])])


def _page(language: str) -> str:
    return "S." if language == "de" else "p."


def demo_questions(samples: Path) -> tuple[Question, ...]:
    """The two questions that the samples ask after a run."""
    data: dict[str, Any] = yaml.safe_load((samples / "questions.yaml").read_text(encoding="utf-8"))
    return tuple(
        Question(q["ask"][q["in"]], q["in"], q["as"], q["mandant"])
        for q in data["questions"]
        if q.get("demo")
    )


def own_questions(installation: Installation, scope: Scope) -> tuple[Question, ...]:
    """Two example questions about the reader's own stock: its most frequent senders."""
    with installation.database.reading(scope) as connection:
        rows = connection.execute(
            "SELECT provider FROM documents WHERE provider IS NOT NULL AND state = 'active'"
            " GROUP BY provider ORDER BY count(*) DESC, provider LIMIT 2"
        ).fetchall()
    names = [row[0] for row in rows]
    forms = (("de", "Was schreibt {} und welcher Betrag ist offen?"), ("fr", "Que demande {} ?"))
    if not names:
        return (
            Question("Welche Rechnungen sind offen?", "de"),
            Question("Quels contrats avons-nous ?", "fr"),
        )
    names = (names * 2)[:2]
    return tuple(
        Question(form.format(name), language)
        for (language, form), name in zip(forms, names, strict=True)
    )

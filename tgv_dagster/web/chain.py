"""The intake chain as a page, and as nodes and edges for a graph: one picture, two readers.

Belongs here: showing what `audit.chain` read. Figures and evidence span all tenants, so they are
shown to the owner in a session over all tenants and to nobody else; the words stand for everybody.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import BaseModel, Field

from tgv_dagster.audit.chain import Chain, Link, StationView, read_chain
from tgv_dagster.audit.register import Station
from tgv_dagster.audit.verdict import Figure, State
from tgv_dagster.store.scope import Scope
from tgv_dagster.store.stages import STAGES, Room
from tgv_dagster.web import pages
from tgv_dagster.web.errors import documented
from tgv_dagster.web.principals import Service, Viewer
from tgv_dagster.web.texts import Speaker, language_of

router = APIRouter(tags=["audit"])

SHAPES = {State.GREEN: "circle", State.RED: "square", State.UNMEASURED: "triangle"}
"""Each state has a shape of its own, so that nothing hangs on colour alone."""


class View(StrEnum):
    """Kinds of statement of the graph: how the product is built, how a document walks."""

    ARCHITECTURE = "architektur"
    PROCESS = "prozess"


class GraphAsk(BaseModel):
    """Which picture, of which part. `focus` is the id of the node to stand on (GRAPH-04)."""

    ansicht: View = View.PROCESS
    entity: str | None = Field(None, max_length=200)
    focus: str | None = Field(None, max_length=200)


class NodeOut(BaseModel):
    """One node. `state`, `shape` and `word` say the same; null where nothing is measured at all."""

    id: str
    kind: str
    label: str
    state: State | None = None
    shape: str | None = None
    word: str | None = None
    items: int | None = None
    found_at: str | None = None
    measured_at: datetime | None = None
    limit: str | None = None


class EdgeOut(BaseModel):
    """From one node to another; `kind` is the kind of statement it makes."""

    source: str
    target: str
    kind: View


class MailboxOut(BaseModel):
    """The intake address of one of the reader's entities."""

    entity: str
    intake_mail: str | None


class GraphOut(BaseModel):
    """The picture with what was asked, so that card and screen show the same extract."""

    ansicht: View
    entity: str | None
    focus: str | None
    taken_at: datetime
    page: str
    mailboxes: list[MailboxOut]
    nodes: list[NodeOut]
    edges: list[EdgeOut]


@router.post(
    "/api/skill/system-graph",
    summary="The product as nodes and edges: how it is built, or how a document walks",
    response_model=GraphOut,
    responses=documented(401, 403, 422, 503),
)
def system_graph(ask: GraphAsk, request: Request, service: Service, scope: Viewer) -> GraphOut:
    """The same register as the page; rights are checked anew with each question (GRAPH-05)."""
    chain = read_chain(service, scope, entity=ask.entity)
    speaker = Speaker(language_of(request))
    nodes, edges = (
        _process(chain, speaker) if ask.ansicht is View.PROCESS else _architecture(speaker)
    )
    return GraphOut(
        ansicht=ask.ansicht,
        entity=chain.entity,
        focus=ask.focus,
        taken_at=chain.taken_at,
        page="/chain" if chain.entity is None else f"/chain?entity={chain.entity}",
        mailboxes=[MailboxOut(entity=m.entity, intake_mail=m.address) for m in chain.mailboxes],
        nodes=nodes,
        edges=edges,
    )


@router.get("/chain", include_in_schema=False)
def page(
    request: Request,
    service: Service,
    scope: Viewer,
    entity: Annotated[str, Query(max_length=200)] = "",
) -> HTMLResponse:
    """The chain as this reader may see it."""
    chain = read_chain(service, scope, entity=entity)
    return pages.render(
        request,
        "chain.html",
        chain=chain,
        entities=chain.mailboxes if chain.entity is None else (),
        **_shown(chain, scope),
    )


def standalone(chain: Chain, language: str) -> str:
    """The same page as one file without navigation, for a reader that has no session here."""
    here = Path(__file__).parent
    speaker = Speaker(language)
    environment = Environment(
        loader=FileSystemLoader(here / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("chain_file.html").render(
        chain=chain,
        language=language,
        css=(pages.STATIC / "pages.css").read_text(encoding="utf-8"),
        say=speaker.say,
        moment=speaker.moment,
        number=speaker.number,
        **_shown(chain, None),
    )


def _shown(chain: Chain, scope: Scope | None) -> dict[str, Any]:
    """Helpers of the template; without a reader nothing of a single tenant is shown."""
    whole = scope is not None and scope.is_owner and scope.mandant_id is None
    return {
        "shape": lambda state: SHAPES[state],
        "spark": sparkline,
        "figures": _figures if whole else lambda link: [],
        "evidence": (lambda link: link.entry.verdict.evidence) if whole else lambda link: (),
        "total": {
            state: sum(station.counts[state] for station in chain.stations) for state in State
        },
    }


def _figures(link: Link) -> list[tuple[str, Figure]]:
    return sorted(link.entry.verdict.figures.items())


def sparkline(history: tuple[State, ...]) -> list[tuple[float, float, State]]:
    """Points of the small picture of a history: place, height and state of each measurement.

    Green stands high, red low; unmeasured lies between them and joins neither.
    """
    heights = {State.GREEN: 4.0, State.UNMEASURED: 11.0, State.RED: 18.0}
    return [(4 + 8.0 * number, heights[state], state) for number, state in enumerate(history)]


def _process(chain: Chain, speaker: Speaker) -> tuple[list[NodeOut], list[EdgeOut]]:
    nodes: list[NodeOut] = []
    edges = [
        EdgeOut(source=_id(one), target=_id(other), kind=View.PROCESS)
        for one, other in pairwise(Station)
    ]
    for station in chain.stations:
        nodes.append(_station_node(station, speaker))
        for link in station.links:
            nodes.append(_checkpoint_node(link, speaker))
            edges.append(
                EdgeOut(
                    source=_id(station.station),
                    target=f"checkpoint:{link.entry.checkpoint.id}",
                    kind=View.PROCESS,
                )
            )
    return nodes, edges


def _id(station: Station) -> str:
    return f"station:{station}"


def _station_node(view: StationView, speaker: Speaker) -> NodeOut:
    return NodeOut(
        id=_id(view.station),
        kind="station",
        label=getattr(view.title, speaker.language),
        state=view.state,
        shape=SHAPES[view.state],
        word=speaker.say(f"chain.state.{view.state}"),
        items=view.items,
    )


def _checkpoint_node(link: Link, speaker: Speaker) -> NodeOut:
    which, state = link.entry.checkpoint, link.entry.verdict.state
    return NodeOut(
        id=f"checkpoint:{which.id}",
        kind="checkpoint",
        label=getattr(which.statement, speaker.language),
        state=state,
        shape=SHAPES[state],
        word=speaker.say(f"chain.state.{state}"),
        found_at=which.found_at.function or which.found_at.asset,
        measured_at=link.entry.measured_at,
        limit=getattr(which.limit, speaker.language),
    )


def _architecture(speaker: Speaker) -> tuple[list[NodeOut], list[EdgeOut]]:
    """Rooms in their order, the stages of the flow in them, and what follows what."""
    nodes = [NodeOut(id=f"room:{room}", kind="room", label=str(room)) for room in Room]
    edges = [
        EdgeOut(source=f"room:{one}", target=f"room:{other}", kind=View.ARCHITECTURE)
        for one, other in pairwise(Room)
    ]
    for stage, info in STAGES.items():
        nodes.append(NodeOut(id=f"stage:{stage}", kind="stage", label=str(stage)))
        targets = [f"stage:{following}" for following in info.then]
        edges.append(
            EdgeOut(source=f"room:{info.room}", target=f"stage:{stage}", kind=View.ARCHITECTURE)
        )
        edges += [
            EdgeOut(source=f"stage:{stage}", target=target, kind=View.ARCHITECTURE)
            for target in targets
        ]
    return nodes, edges

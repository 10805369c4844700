"""The intake chain: one register, three readers; colour, shape and word; the walls of each."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from postgres_tap import tapped
from web_builders import Service, browser, document, opened, serving

from tgv_dagster.audit import ledger
from tgv_dagster.audit.chain import read_chain
from tgv_dagster.audit.register import CHECKPOINTS, Station, checkpoint
from tgv_dagster.audit.verdict import State, Verdict, green, red, unmeasured
from tgv_dagster.store.stages import STAGES, Room
from tgv_dagster.web.chain import SHAPES, standalone

GRAPH = "/api/skill/system-graph"


def keep(service: Service, name: str, *verdicts: Verdict) -> None:
    """Verdicts of one checkpoint, the last one newest."""
    with service.installation.database.worker() as connection:
        for verdict in verdicts:
            ledger.keep(connection, checkpoint(name), verdict)


def graph(service: Service, login: str, mandant: str | None = "nord", **ask: str):
    return service.post(GRAPH, login, mandant=mandant, json=ask)


def nodes(service: Service, **ask: str) -> dict[str, dict[str, object]]:
    return {node["id"]: node for node in graph(service, "anna", **ask).json()["nodes"]}


def test_the_process_has_eight_stations_in_their_order_and_every_checkpoint(
    service: Service,
) -> None:
    """CHAIN-14, GRAPH-03: the graph is the register drawn."""
    answer = graph(service, "vera", ansicht="prozess").json()
    stations = [n["id"] for n in answer["nodes"] if n["kind"] == "station"]
    assert stations == [f"station:{station}" for station in Station]
    shown = {n["id"] for n in answer["nodes"] if n["kind"] == "checkpoint"}
    assert shown == {f"checkpoint:{which.id}" for which in CHECKPOINTS}
    edges = [(edge["source"], edge["target"]) for edge in answer["edges"]]
    assert [edge for edge in edges if edge[1] in stations] == list(pairwise(stations))


def test_the_architecture_has_every_room_and_stage(service: Service) -> None:
    answer = graph(service, "vera", ansicht="architektur").json()
    assert {n["id"] for n in answer["nodes"]} == {f"room:{room}" for room in Room} | {
        f"stage:{stage}" for stage in STAGES
    }


@pytest.mark.parametrize("verdict", [green("fine"), red("broken"), unmeasured("nobody looked")])
def test_page_and_graph_say_the_same_state_by_word_and_shape(
    service: Service, verdict: Verdict
) -> None:
    keep(service, "level_known", verdict)
    node = nodes(service)["checkpoint:level_known"]
    assert (node["state"], node["shape"]) == (verdict.state, SHAPES[verdict.state])
    assert node["word"] == str(verdict.state)
    with browser(service, "anna") as reader:
        page = reader.get("/chain").text
    statement = checkpoint("level_known").statement.en
    before = page.split(statement)[0]
    assert before.endswith(f"<strong>{verdict.state}</strong> ")


def test_a_station_is_never_rounded(service: Service) -> None:
    for which in CHECKPOINTS:
        if which.station is Station.TEXT:
            keep(service, which.id, green("fine"))
    assert nodes(service)["station:text"]["state"] == State.GREEN
    keep(service, "text_for_every_document", unmeasured("nobody looked"))
    assert nodes(service)["station:text"]["state"] == State.UNMEASURED
    keep(service, "text_for_every_document", red("broken"))
    assert nodes(service)["station:text"]["state"] == State.RED


def test_the_history_is_drawn_with_a_shape_per_state_and_said_in_words(service: Service) -> None:
    keep(service, "triage_complete", green("a"), red("b"), unmeasured("c"), green("d"))
    with browser(service, "anna") as reader:
        page = reader.get("/chain").text
    assert "History: 2 times green, 1 times red, 1 times unmeasured" in page


def test_own_entity_missing_entity_and_alle_are_answered_and_a_foreign_one_is_not(
    service: Service,
) -> None:
    """CHAIN-17: own or none is answered, foreign is forbidden."""
    assert graph(service, "anna").status_code == 200
    for entity in ("nord-gmbh", "alle", ""):
        answer = graph(service, "anna", entity=entity)
        assert answer.status_code == 200, entity
    foreign, absent = (graph(service, "anna", entity=e) for e in ("haus-sued", "nobody"))
    assert (foreign.status_code, absent.status_code) == (403, 403)
    assert foreign.json() == absent.json()
    assert graph(service, "eva", entity="nord-gmbh").status_code == 403
    assert service.post(GRAPH, json={}).status_code == 401
    assert graph(service, "anna", ansicht="alles").status_code == 422


def test_each_account_sees_the_mailbox_of_its_own_entity_row(service: Service) -> None:
    """Entities may share an address, so the row is compared and not the address (CHAIN-16)."""
    service.rows("UPDATE entities SET intake_mail = 'belege@example.org'")
    for login, mandant, own in (("eva", "nord", ["nord-sarl"]), ("sven", "sued", ["haus-sued"])):
        boxes = graph(service, login, mandant).json()["mailboxes"]
        assert [box["entity"] for box in boxes] == own
        assert {box["intake_mail"] for box in boxes} == {"belege@example.org"}


def test_items_of_a_station_are_counted_behind_the_walls(service: Service) -> None:
    def arrived(login: str, mandant: str) -> int:
        answer = graph(service, login, mandant).json()
        return next(n["items"] for n in answer["nodes"] if n["id"] == "station:raw")

    before = arrived("anna", "nord"), arrived("sven", "sued")
    document(service, level="intern")
    assert (arrived("anna", "nord"), arrived("sven", "sued")) == (before[0] + 1, before[1])


def test_figures_and_evidence_of_all_tenants_are_the_owners_alone(service: Service) -> None:
    keep(service, "chunk_count", red("broken", {"gap": 3}, evidence=("document:424242",)))
    with browser(service, "anna") as reader:
        page = reader.get("/chain").text
    assert "424242" not in page
    with browser(service, "chef") as owner:
        assert "document:424242" in owner.get("/chain").text


def test_soll_is_carried_word_for_word_and_the_owner_keeps_it(service: Service) -> None:
    """CHAIN-12: what the owner judged is carried over, not computed away."""
    home: Path = service.installation.settings.home
    (home / "soll.md").write_text("# Soll\n\nStand: 2026-12-01\nVerfasser: Chef <&>\n")
    with browser(service, "anna") as reader:
        page = reader.get("/chain").text
    (home / "soll.md").unlink()
    assert "Verfasser: Chef &lt;&amp;&gt;" in page
    with browser(service, "anna") as reader:
        assert "Verfasser: Projekt TGV" in reader.get("/chain").text


@pytest.mark.parametrize(("language", "word"), [("de", "nicht gemessen"), ("fr", "non mesuré")])
def test_the_page_speaks_the_readers_language(service: Service, language: str, word: str) -> None:
    with browser(service, "anna", language) as reader:
        page = reader.get("/chain").text
    assert word in page
    assert getattr(checkpoint("raw_first").statement, language).replace("'", "&#39;") in page


def test_the_file_for_dagster_holds_no_figure_of_a_tenant(service: Service) -> None:
    keep(service, "chunk_count", red("broken", {"gap": 3}, evidence=("document:424242",)))
    scope = service.installation.service_scope(source="test")
    page = standalone(read_chain(service.installation, scope), "en")
    assert "424242" not in page
    assert "<script" not in page
    assert checkpoint("raw_first").statement.en in page


def test_the_page_asks_a_constant_number_of_questions(database_url: str, tmp_path: Path) -> None:
    with (
        tapped(database_url, tmp_path) as tap,
        opened(tap.url, tmp_path / "home") as installation,
        serving(installation) as service,
        browser(service, "anna") as reader,
    ):
        asked = []
        for number in (1, 40):
            for _ in range(number):
                document(service)
                keep(service, "level_known", green("fine"))
            reader.get("/chain")
            with tap.counting() as found:
                assert reader.get("/chain").status_code == 200
            asked.append(found[0])
    assert asked[0] == asked[1]

"""Pages for people: what they show, how forms answer, hostile content, constant statements."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from PIL import Image
from postgres_tap import tapped
from psycopg.types.json import Jsonb
from reportlab.pdfgen.canvas import Canvas
from web_builders import (
    PASSWORD,
    Browser,
    Facts,
    Service,
    arrive,
    booking,
    browser,
    document,
    fresh_database,
    opened,
    parked_arrival,
    question,
    serving,
    value,
)

from tgv_dagster.store.actions import Action
from tgv_dagster.store.cards import NewCard, propose
from tgv_dagster.understand.extracted import (
    ENGINE_VERSION,
    Extraction,
    Method,
    PageText,
    Status,
    WordBoxes,
)
from tgv_dagster.web import pages
from tgv_dagster.web.texts import texts

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'{{7*7}}"


@pytest.fixture(scope="module")
def anna(service: Service) -> Iterator[Browser]:
    with browser(service, "anna") as person:
        yield person


def read(service: Service, number: int, text: str, **facts: Any) -> None:
    """What extraction leaves of a document with one page."""
    page = PageText(1, text, Method.TEXT_LAYER, 1.0, **facts)
    result = Extraction(Status.COMPLETE, pages=(page,)).to_json().decode()
    service.rows(
        "INSERT INTO extractions (raw_sha256, engine_version, status, characters, pages, result)"
        " SELECT raw_sha256, %s, 'complete', %s, 1, %s FROM documents WHERE id = %s",
        ENGINE_VERSION,
        len(text),
        result,
        number,
    )


def pdf(text: str) -> bytes:
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(300, 400), invariant=1)
    canvas.drawString(30, 350, text)
    canvas.save()
    return out.getvalue()


def state_of(service: Service, case: int) -> str:
    return str(service.rows("SELECT state FROM cases WHERE id = %s", case)[0][0])


# --- what is shown -------------------------------------------------------------------------------


def test_a_value_leads_to_the_place_that_shows_it(service: Service, anna: Browser) -> None:
    number = document(service, content=pdf("Betrag 119,00 EUR"))
    text = "Rechnung\nBetrag 119,00 EUR"
    boxes = WordBoxes.of([(9, 26)], [(30.0, 40.0, 130.0, 52.0)])
    read(service, number, text, words=boxes, width=300.0, height=400.0)
    value(service, number, "amount_gross", "119.00", evidence={"page": 1, "start": 16, "end": 22})
    page = anna.get(f"/d/{number}?field=amount_gross").text
    assert "<mark>119,00</mark>" in page
    assert 'viewBox="0 0 300.0 400.0"' in page
    left = re.search(r'<rect x="([0-9.]+)" y="40.0"', page)
    assert left is not None
    assert 30 < float(left[1]) < 130
    picture = anna.get(f"/d/{number}/page/1.webp")
    assert picture.headers["content-type"] == "image/webp"
    image = Image.open(io.BytesIO(picture.content))
    assert image.size == (1100, 1467)
    assert len(set(image.convert("L").resize((50, 60)).tobytes())) > 1
    again = anna.get(f"/d/{number}/page/1.webp", headers={"If-None-Match": picture.headers["etag"]})
    assert again.status_code == 304
    assert anna.get(f"/d/{number}/page/2.webp").status_code == 404


def photograph(shade: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (80, 60), (shade, 90, 7)).save(out, "PNG")
    return out.getvalue()


def test_a_photograph_without_words_is_shown_beside_its_question(
    service: Service, anna: Browser
) -> None:
    number = document(service, media_type="image/png", content=photograph(1))
    case = question(service, number, "entity")
    for place in (f"/inbox/{case}", f"/d/{number}"):
        (picture,) = re.findall(rf'<img src="(/d/{number}/page/1.webp)"', anna.get(place).text)
        assert anna.get(picture).headers["content-type"] == "image/webp"
    drawing = document(service, media_type="image/svg+xml", content=b"<svg/>")
    read(service, drawing, "Plan")
    assert anna.get(f"/d/{drawing}/page/1.webp").status_code == 404
    for place in (f"/inbox/{question(service, drawing, 'entity')}", f"/d/{drawing}"):
        page = anna.get(place).text
        assert f'<iframe src="/d/{drawing}/frame" sandbox' in page
        assert "/page/1.webp" not in page


def test_photographs_that_wait_in_a_mail_are_shown_on_their_cards(
    service: Service, anna: Browser
) -> None:
    mail = parked_arrival(service, media_type="message/rfc822")
    arrivals = [arrive(service, Facts(content=photograph(shade))).arrival_id for shade in (2, 3)]
    service.rows(
        "UPDATE raw_items r SET media_type = 'image/png' FROM arrivals a"
        " WHERE a.id = ANY (%s) AND r.id = a.raw_item_id",
        arrivals,
    )
    subjects = [
        {"subject_id": one, "part_path": f"2.{one}", "file_name": f"{one}.png"} for one in arrivals
    ]
    service.rows(
        "UPDATE cases SET evidence = evidence || %s WHERE id = %s",
        Jsonb({"subjects": subjects}),
        mail,
    )
    with service.installation.database.worker() as connection:
        for one in arrivals:
            arguments = {"stage": "extract", "subject_id": one}
            propose(connection, mail, NewCard(Action.RELEASE, arguments, "tgv"))
    page = anna.get(f"/inbox/{mail}").text
    assert re.findall(r'<img src="(/inbox/arrivals/\d+.webp)"', page) == [
        f"/inbox/arrivals/{one}.webp" for one in arrivals
    ]
    for one in arrivals:
        assert anna.get(f"/inbox/arrivals/{one}.webp").headers["content-type"] == "image/webp"
    with browser(service, "emil") as emil:
        assert "/inbox/arrivals/" not in emil.get(f"/inbox/{mail}").text
        assert emil.get(f"/inbox/arrivals/{arrivals[0]}.webp").status_code == 404


def test_the_lineage_is_where_the_reader_reaches_the_dagster_ui(
    service: Service, anna: Browser
) -> None:
    number = document(service)
    settings = service.installation.settings
    for host, shown in (
        ("eiche.example.org:8765", "eiche.example.org"),
        ("[::1]:8765", "[::1]"),
    ):
        page = anna.get(f"/d/{number}", headers={"Host": host}).text
        assert f'href="http://{shown}:{settings.ui_port}/assets/documents?view=lineage"' in page
    service.installation.settings = settings.model_copy(
        update={"ui_url": "https://runs.example.org"}
    )
    try:
        page = anna.get(f"/d/{number}").text
    finally:
        service.installation.settings = settings
    assert 'href="https://runs.example.org/assets/documents?view=lineage"' in page


def test_a_thread_names_no_mail_that_its_reader_may_not_see(
    service: Service, anna: Browser
) -> None:
    levels = ("intern", "vertraulich", "intern")
    numbers = [document(service, title=f"Faden {n}", level=levels[n]) for n in range(3)]
    for n, number in enumerate(numbers):
        service.rows(
            "UPDATE documents SET message_id = %s, in_reply_to = %s WHERE id = %s",
            f"faden{n}@example.org",
            f"faden{n - 1}@example.org" if n else None,
            number,
        )

    def thread(person: Browser) -> list[str]:
        page = person.get(f"/d/{numbers[2]}").text
        listed = page.partition("<h3>Mails of this thread</h3>")[2].partition("</ol>")[0]
        return sorted(re.findall(r"Faden \d", listed))

    assert thread(anna) == ["Faden 0", "Faden 1", "Faden 2"]
    with browser(service, "emil") as emil:
        assert thread(emil) == []


def test_there_is_one_symbol_for_what_the_machine_found(service: Service, anna: Browser) -> None:
    number = document(service)
    value(service, number, "doc_type", "invoice")
    value(service, number, "provider", "Holzkontor", origin="human")
    page = anna.get(f"/d/{number}").text
    rows = {m[1]: m[0] for m in re.finditer(r'<th scope="row">([^<]*)</th>.*?</tr>', page, re.S)}
    assert '<use href="/static/symbols.svg#machine">' in rows["Document type"]
    assert "<svg" not in rows["Provider"]
    sources = [p.read_text() for p in (Path(pages.__file__).parent / "templates").glob("*.html")]
    sources += [text for language in ("de", "fr", "en") for text in texts(language).values()]
    assert not any(re.search("[\U0001f300-\U0001faff\u2600-\u27bf]", text) for text in sources)
    assert sum(text.count("#machine") for text in sources) == 1


def test_the_list_and_its_export_hold_the_same_span(service: Service, anna: Browser) -> None:
    inside, outside = document(service, title="Im Maerz"), document(service, title="Im Mai")
    for number, day in ((inside, "2031-03-10"), (outside, "2031-05-10")):
        service.rows("UPDATE documents SET invoice_date = %s WHERE id = %s", day, number)
    span = "axis=invoice_date&from=2031-03-01&to=2031-03-31"
    for path in (f"/search?{span}", f"/export/documents.csv?{span}"):
        text = anna.get(path).text
        assert "Im Maerz" in text
        assert "Im Mai" not in text
    for wrong in (
        "axis=created_at&from=2031-03-01",
        "from=2031-02-30",
        "from=2031-03-02&to=2031-03-01",
        "doc_type=nonsense",
        "q=%00",
    ):
        assert anna.get(f"/search?{wrong}").status_code == 422, wrong


def test_only_own_uploads_stand_in_the_queue(service: Service, anna: Browser) -> None:
    service.upload("emil", ("Emils Datei.txt", b"by emil"), entity="nord-gmbh")
    token = anna.token()
    sent = anna.client.post(
        "/api/upload",
        files={"files": ("Annas Datei.txt", b"by anna")},
        data={"entity": "nord-gmbh", "intent": "bitte ablegen"},
        headers={"X-CSRF-Token": token},
    )
    assert sent.status_code == 202
    queue = anna.get("/drop/queue").text
    assert "Annas Datei.txt" in queue
    assert "under way" in queue
    assert "Emils Datei.txt" not in queue
    assert "<html" not in queue


def test_deadlines_name_their_axis_and_computation(service: Service, anna: Browser) -> None:
    """FLOW-10, DATE-13: a day never stands without its axis."""
    number = document(service, title="Mietvertrag Halle")
    service.rows("UPDATE documents SET due_date = '2041-02-01' WHERE id = %s", number)
    service.rows(
        "INSERT INTO prf_contracts (document_id, mandant_id, entity, partner, notice_deadline,"
        " derivation) SELECT id, mandant_id, entity, 'Hafenbau', '2041-01-15', %s FROM documents"
        " WHERE id = %s",
        Jsonb(
            [
                {
                    "rule": "end_minus_period",
                    "value": "2041-01-15",
                    "inputs": {"notice_period_days": "91"},
                    "source": "",
                }
            ]
        ),
        number,
    )
    page = anna.get("/deadlines?from=2041-01-01&to=2041-12-31").text
    assert page.index("Give notice by") < page.index("Due<")
    assert "end_minus_period: notice_period_days 91 = 2041-01-15" in page
    assert "Hafenbau" in page
    assert "Mietvertrag Halle" not in anna.get("/deadlines?from=2041-02-02&to=2041-12-31").text


# --- deciding ------------------------------------------------------------------------------------


def test_an_answer_goes_through_the_door_of_programs(service: Service, anna: Browser) -> None:
    number = document(service)
    case = question(service, number, "due_date", "provider")
    sent = {"value.due_date": "2026-04-01", "none.provider": "on", "value.provider": "ignored"}
    done = anna.send(f"/inbox/{case}/answer", **sent)
    assert done.status_code == 303
    assert state_of(service, case) == "executed"
    assert service.rows(
        "SELECT field, value, checked_none, set_by FROM document_values WHERE document_id = %s"
        " AND origin = 'human' ORDER BY field",
        number,
    ) == [("due_date", "2026-04-01", False, "anna"), ("provider", None, True, "anna")]


def test_a_typed_value_wins_over_a_chosen_one(service: Service, anna: Browser) -> None:
    number = document(service)
    case = question(service, number, "provider")
    token = anna.token()
    body = f"csrf={token}&value.provider=chosen&value.provider=typed"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    anna.client.post(f"/inbox/{case}/answer", content=body, headers=headers)
    assert service.rows(
        "SELECT value FROM document_values WHERE document_id = %s AND origin = 'human'", number
    ) == [("typed",)]


def test_what_stays_open_is_listed_and_the_page_stays(service: Service, anna: Browser) -> None:
    case = question(service, document(service), "due_date", "provider")
    done = anna.send(f"/inbox/{case}/answer", **{"value.due_date": "2026-04-01"})
    assert done.headers["location"] == f"/inbox/{case}"
    page = anna.get(f"/inbox/{case}").text
    assert "Still open: 1" in page
    assert 'name="value.provider"' in page
    assert 'name="value.due_date"' not in page


@pytest.mark.parametrize(
    "fields",
    [{}, {"value.due_date": "infinity"}, {"value.nonsense": "x"}, {"value.provider": "not asked"}],
)
def test_an_answer_that_does_not_fit_changes_nothing(
    service: Service, anna: Browser, fields: dict[str, str]
) -> None:
    case = question(service, document(service), "due_date")
    assert anna.send(f"/inbox/{case}/answer", **fields).status_code == 422
    assert state_of(service, case) == "open"


def test_a_second_press_and_a_stale_card_get_what_stands(service: Service, anna: Browser) -> None:
    number = document(service)
    case = question(service, number, "due_date")
    arguments = {"document_id": number, "values": {"due_date": "2026-04-14"}}
    with service.installation.database.worker() as connection:
        card = propose(connection, case, NewCard(Action.ANSWER, arguments, "tgv"))
    first = anna.send(f"/inbox/cards/{card}/execute")
    second = anna.send(f"/inbox/cards/{card}/execute")
    assert (first.status_code, second.status_code) == (303, 303)
    assert second.headers["location"] == f"/inbox/{case}"
    assert "Decided: executed (anna)" in anna.get(f"/inbox/{case}").text
    late = anna.send(f"/inbox/{case}/answer", **{"value.due_date": "2026-05-01"})
    assert late.status_code == 409
    assert "That is decided already" in late.text
    assert service.rows(
        "SELECT count(*) FROM document_values WHERE document_id = %s AND origin = 'human'", number
    ) == [(1,)]


def test_words_are_kept_and_come_back_as_a_card(service: Service, anna: Browser) -> None:
    case = question(service, document(service), "due_date")
    assert anna.send(f"/inbox/{case}/say", text="Fällig am 14.04.2026").status_code == 303
    page = anna.get(f"/inbox/{case}").text
    assert "Fällig am 14.04.2026" in page
    assert "<strong>14 Apr 2026</strong>" in page


def test_a_session_that_ended_keeps_the_answer_from_being_taken(service: Service) -> None:
    case = question(service, document(service), "due_date")
    with browser(service, "emil") as emil:
        token = emil.token()
        service.rows("UPDATE web_sessions SET ended_at = now() WHERE ended_at IS NULL AND user_id ="
                     " (SELECT id FROM users WHERE login = 'emil')")  # fmt: skip
        late = emil.send(f"/inbox/{case}/answer", csrf=token, **{"value.due_date": "2026-04-01"})
    assert late.status_code == 401
    assert state_of(service, case) == "open"


# --- tokens and passwords of people --------------------------------------------------------------


def test_a_person_makes_a_token_sees_it_once_and_revokes_it(service: Service) -> None:
    with browser(service, "emil") as emil:
        made = emil.send("/settings/tokens", name="scanner", days="3")
        (text,) = re.findall(r"tgv_\d+_[\w-]{43}", made.text)
        headers = {"Authorization": f"Bearer {text}"}
        assert service.get("/api/organisation", headers=headers).json()["login"] == "emil"
        assert text not in emil.get("/settings").text
        emil.send(f"/settings/tokens/{text.split('_')[1]}/revoke")
        assert service.get("/api/organisation", headers=headers).status_code == 401
    refused = service.post("/settings/tokens", "emil", data={"name": "from a token"})
    assert refused.status_code == 403


def test_a_person_changes_the_own_password(service: Service) -> None:
    with browser(service, "vera") as vera:
        assert (
            vera.send("/settings/password", old="wrong", new="ganz neue Worte 9").status_code == 422
        )
        assert vera.send("/settings/password", old=PASSWORD, new="short").status_code == 422
        assert (
            vera.send("/settings/password", old=PASSWORD, new="ganz neue Worte 9").status_code
            == 303
        )
        assert vera.get("/settings").status_code == 401
        assert vera.sign_in("vera").status_code == 401
        assert vera.sign_in("vera", "ganz neue Worte 9").status_code == 303


# --- hostile content -----------------------------------------------------------------------------


def test_hostile_words_are_shown_and_never_run_on_any_page(service: Service, anna: Browser) -> None:
    number = document(service, title=HOSTILE, file_name=f"{HOSTILE}.pdf")
    value(service, number, "due_date", "2051-01-01", evidence={"page": 1, "start": 0, "end": 40})
    value(service, number, "provider", HOSTILE, evidence={"note": HOSTILE})
    read(service, number, HOSTILE)
    case = question(service, number, "due_date", "provider")
    service.rows(
        "UPDATE cases SET reason = %s, choices = %s, open_points = %s WHERE id = %s",
        HOSTILE,
        Jsonb([{"field": "provider", "values": [HOSTILE]}]),
        Jsonb([{"field": "provider", "kind": "unknown", "reason": HOSTILE}]),
        case,
    )
    service.rows(
        "UPDATE documents SET provider = %s, due_date = '2051-01-01', mail_subject = %s,"
        " mail_from = %s, intent_text = %s WHERE id = %s",
        HOSTILE, HOSTILE, HOSTILE, HOSTILE, number,
    )  # fmt: skip
    anna.send(f"/inbox/{case}/say", text=HOSTILE)
    anna.client.post(
        "/api/upload",
        files={"files": ("<script>alert(1)<b>.txt", b"xss")},
        data={"entity": "nord-gmbh"},
        headers={"X-CSRF-Token": anna.token()},
    )
    places = (
        "/inbox",
        f"/inbox/{case}",
        f"/d/{number}?field=due_date",
        "/deadlines?from=2051-01-01",
        f"/search?provider={HOSTILE}",
        f"/search?q={HOSTILE}",
        "/drop",
        "/drop/queue",
    )
    for path in places:
        page = anna.get(path)
        assert page.status_code == 200, path
        assert "<script>alert" not in page.text, path
        assert "<img src=x" not in page.text, path
        assert ">49" not in page.text, path
        assert "style=" not in page.text, path
        assert not re.search(r"\son[a-z]+=(?![^<]*&)", re.sub(r'"[^"]*"', '""', page.text)), path
    assert "&lt;script&gt;" in anna.get(f"/d/{number}").text


@pytest.mark.parametrize(
    ("media_type", "shown_as"),
    [
        ("text/html", "text/html"),
        ("image/svg+xml", "image/svg+xml"),
        ("application/xml", "text/plain"),
    ],
)
def test_a_hostile_page_or_drawing_stands_in_a_frame_where_nothing_runs(
    service: Service, anna: Browser, media_type: str, shown_as: str
) -> None:
    content = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>1</script></svg>"
    number = document(service, media_type=media_type, content=content + media_type.encode())
    read(service, number, "x")
    frame = anna.get(f"/d/{number}/frame")
    policy = frame.headers["content-security-policy"]
    assert frame.headers["content-type"] == shown_as
    assert frame.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in policy
    assert re.search(r"sandbox(;|$)", policy)
    assert "script-src" not in policy
    assert "frame-ancestors 'self'" in policy
    page = anna.get(f"/d/{number}").text
    if media_type != "image/svg+xml":
        assert re.search(rf'<iframe src="/d/{number}/frame" sandbox ', page)


@pytest.mark.parametrize("media_type", ["application/zip", "application/pdf", "video/mp4", None])
def test_nothing_else_stands_in_a_frame(
    service: Service, anna: Browser, media_type: str | None
) -> None:
    assert anna.get(f"/d/{document(service, media_type=media_type)}/frame").status_code == 404


@pytest.mark.parametrize(
    ("media_type", "content"),
    [
        ("application/pdf", b"%PDF-1.7 broken"),
        ("image/png", b"\x89PNG\r\n\x1a\n broken"),
        ("image/png", b""),
        ("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
    ],
)
def test_a_file_that_cannot_be_drawn_has_no_picture(
    service: Service, anna: Browser, media_type: str, content: bytes
) -> None:
    number = document(service, media_type=media_type, content=content + str(media_type).encode())
    assert anna.get(f"/d/{number}/page/1.webp").status_code == 404
    assert anna.get(f"/d/{number}").status_code == 200


def test_scripts_and_styles_of_pages_are_ours_and_nothing_is_inline(anna: Browser) -> None:
    for path in ("/inbox", "/drop", "/search", "/settings", "/login", "/nothing/here"):
        page = anna.get(path)
        policy = page.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "script-src 'self'" in policy
        assert not re.search(r"<script(?![^>]* src=\"/static/)", page.text)
        assert "<style" not in page.text
    folder = Path(pages.__file__).parent / "static" / "htmx"
    digest = hashlib.sha256((folder / "htmx.min.js").read_bytes()).hexdigest()
    assert digest in (folder / "VERSION").read_text()
    assert "Zero-Clause BSD" in (folder / "LICENSE").read_text()


# --- unmatched money and thresholds --------------------------------------------------------------


def test_what_has_no_counterpart_is_listed_until_a_person_confirms_it(
    service: Service, anna: Browser
) -> None:
    number = document(service, title="Beleg Dachziegel")
    service.rows(
        "UPDATE documents SET doc_type = 'invoice', direction = 'in', amount_gross = 119,"
        " currency = 'EUR', invoice_date = '2032-05-04' WHERE id = %s",
        number,
    )
    paid = booking(service, number, "intern", purpose="=1+1 " + HOSTILE)
    service.rows("UPDATE txn_master SET booking_date = '2032-05-05' WHERE id = %s", paid)
    span = "from=2032-05-01&to=2032-05-31"
    page = anna.get(f"/unmatched?{span}").text
    assert "Beleg Dachziegel" in page
    assert "-119.00\u00a0EUR" in page
    assert "<script>alert" not in page
    assert "'=1+1" in anna.get(f"/export/unmatched-bookings.csv?{span}").text
    assert "Beleg Dachziegel" not in anna.get("/unmatched?from=2032-06-01").text
    service.rows(
        "INSERT INTO txn_document_links (txn_id, document_id, amount, set_by)"
        " VALUES (%s, %s, 119, 'tgv')",
        paid,
        number,
    )
    proposed = anna.get(f"/unmatched?{span}").text
    assert f'#machine"></use></svg> Receipt <a href="/d/{number}">' in proposed
    assert "Beleg Dachziegel" in proposed
    ((link,),) = service.rows("SELECT id FROM txn_document_links WHERE txn_id = %s", paid)
    assert f'action="/unmatched/link/{link}/confirm"' in proposed
    asked = {"first": "2032-05-01", "last": "2032-05-31"}
    done = anna.send(f"/unmatched/link/{link}/confirm", **asked)
    assert (done.status_code, done.headers["location"]) == (303, f"/unmatched?{span}")
    late = anna.send(f"/unmatched/link/{link}/reject", **asked)
    assert late.status_code == 404
    assert "That proposal is not there any more" in late.text
    settled = anna.get(f"/unmatched?{span}").text
    assert "Every booking has its receipt." in settled
    assert "Every receipt has its booking." in settled
    for wrong in ("from=2032-02-30", "from=2032-03-02&to=2032-03-01", "from=%00"):
        assert anna.get(f"/unmatched?{wrong}").status_code == 422, wrong
    assert anna.get("/export/unmatched-nothing.csv").status_code in (404, 422)


def test_a_booking_is_linked_by_hand(service: Service, anna: Browser) -> None:
    number = document(service, title="Beleg Kranmiete")
    service.rows(
        "UPDATE documents SET doc_type = 'invoice', amount_gross = 200, currency = 'EUR',"
        " invoice_date = '2033-05-04' WHERE id = %s",
        number,
    )
    paid = booking(service, number, "intern", amount="-119.00")
    service.rows("UPDATE txn_master SET booking_date = '2033-05-05' WHERE id = %s", paid)
    refused = anna.send(f"/unmatched/{paid}/link", document="999999")
    assert refused.status_code == 404
    assert anna.send(f"/unmatched/{paid}/link", document=str(number)).status_code == 303
    page = anna.get("/unmatched?from=2033-05-01&to=2033-05-31").text
    assert "Every booking has its receipt." in page
    assert "81.00\u00a0EUR" in page
    again = anna.send(f"/unmatched/{paid}/link", document=str(number))
    assert again.status_code == 409
    assert "These cannot be linked" in again.text


@pytest.mark.parametrize(
    ("language", "shown", "written"),
    [
        ("de", "1.234,50\u00a0EUR", '"1234,50"'),
        ("fr", "1\u202f234,50\u00a0EUR", '"1234,50"'),
        ("en", "1,234.50\u00a0EUR", '"1234.50"'),
    ],
)
def test_money_is_written_as_its_reader_writes_it(
    service: Service, language: str, shown: str, written: str
) -> None:
    number = document(service, title=f"Betrag {language}")
    service.rows(
        "UPDATE documents SET doc_type = 'invoice', amount_gross = 1234.5, currency = 'EUR',"
        " provider = %s, invoice_date = '2034-05-04', date_received = '2034-05-04' WHERE id = %s",
        f"Kontor {language}",
        number,
    )
    value(service, number, "amount_gross", "1234.50")
    span = "from=2034-05-01&to=2034-05-31"
    with browser(service, "anna", language) as person:
        for path in (f"/unmatched?{span}", f"/search?provider=Kontor%20{language}"):
            assert shown in person.get(path).text, path
        assert shown.split("\u00a0")[0] in person.get(f"/d/{number}").text
        for path in (
            f"/export/unmatched-receipts.csv?{span}",
            f"/export/documents.csv?provider=Kontor%20{language}",
        ):
            assert written in person.get(path).text, path


def test_a_threshold_is_simulated_before_it_is_set(service: Service) -> None:
    with browser(service, "chef") as chef:
        assert "/settings/thresholds" in chef.get("/settings").text
        before = service.rows("SELECT value FROM tuning_values WHERE key = 'TRIAGE_LEAST_DATES'")
        place = "/settings/thresholds/TRIAGE_LEAST_DATES"
        tried = chef.send(f"{place}/simulation", value="0.63").text
        assert "0.63" in tried
        assert "not measured" in tried
        assert before == service.rows(
            "SELECT value FROM tuning_values WHERE key = 'TRIAGE_LEAST_DATES'"
        )
        for wrong in ("1.5", "nan", "-1", "", "x" * 5000):
            assert chef.send(f"{place}/simulation", value=wrong).status_code == 422, wrong
            assert chef.send(place, value=wrong).status_code == 422, wrong
        assert chef.send("/settings/thresholds/MOST_ROWS", value="0.5").status_code == 422
        assert chef.send(place, value="0.63").status_code == 303
        ((value_now, note),) = service.rows(
            "SELECT value, measured_note FROM tuning_values WHERE key = 'TRIAGE_LEAST_DATES'"
        )
        assert float(value_now) == 0.63
        assert note.startswith("simulated on")


# --- speed ---------------------------------------------------------------------------------------


def test_the_number_of_statements_of_a_page_does_not_grow(
    server_url: str, template: str, tmp_path: Path
) -> None:
    with (
        TemporaryDirectory(prefix="tap") as folder,
        fresh_database(server_url, template) as url,
        tapped(url, Path(folder)) as tap,
        opened(tap.url, tmp_path) as installation,
        serving(installation) as running,
        browser(running, "anna") as person,
    ):
        number = document(running)
        read(running, number, "Eichenholz")
        case = question(running, number, "entity")
        running.upload("anna", ("a.txt", b"a"), entity="nord-gmbh")
        places = ("/inbox", f"/inbox/{case}", f"/d/{number}", "/search", "/search?q=Eichenholz",
                  "/deadlines", "/parked", "/settings", "/drop", "/drop/queue",
                  "/unmatched",
                  "/export/documents.csv", "/export/deadlines.csv",
                  "/export/unmatched-receipts.csv")  # fmt: skip

        def costs() -> dict[str, int]:
            found: dict[str, int] = {}
            for path in places:
                assert person.get(path).status_code == 200, path
                with tap.counting() as counted:
                    person.get(path)
                found[path] = counted[0]
            return found

        few = costs()
        for n in range(40):
            more = document(running)
            question(running, more, "entity", "due_date")
            value(running, number, "customer_number", str(n))
            running.rows(
                "UPDATE documents SET due_date = '2090-01-01', doc_type = 'receipt' WHERE id = %s",
                more,
            )
            booking(running, more, "intern", purpose=f"Miete {n}")
            running.upload("anna", (f"{n}.txt", str(n).encode()), entity="nord-gmbh")
            running.rows(
                "UPDATE arrivals SET document_id = %s WHERE document_id = %s AND id %% 2 = 0",
                number, more,
            )  # fmt: skip
            with installation.database.worker() as connection:
                propose(connection, case, NewCard(Action.ANSWER, {"document_id": number,
                        "values": {"entity": "nord-gmbh"}}, f"t{n}"))  # fmt: skip
        assert costs() == few
        assert all(0 < count < 60 for count in few.values()), few

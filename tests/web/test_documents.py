"""Documents over HTTP: facts with their source, the original in pieces, the page, old links."""

from __future__ import annotations

import hashlib
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from web_builders import (
    RECEIVED,
    Facts,
    Service,
    ago,
    arrive,
    document,
    question,
    value,
    working_material,
)

from tgv_dagster.web.document_view import DATE_AXES
from tgv_dagster.web.documents import disposition
from tgv_dagster.web.originals import PIECE, ByteRange, RangeOutside, asked_range


def test_values_carry_source_origin_and_confidence_and_dates_stand_apart(service: Service) -> None:
    number = document(service)
    value(service, number, "doc_type", "invoice", evidence={"page": 1, "start": 3, "end": 9})
    value(service, number, "doc_type", "letter", origin="human", confidence=1.0)
    value(service, number, "invoice_date", "2026-02-27")
    value(service, number, "due_date", None)
    case = question(service, number, "entity")
    found = service.get(f"/api/documents/{number}", "vera").json()
    human, machine = (v for v in found["values"] if v["field"] == "doc_type")
    assert (human["value"], human["origin"], human["in_force"]) == ("letter", "human", True)
    assert (machine["value"], machine["in_force"]) == ("invoice", False)
    assert machine["confidence"] == pytest.approx(0.9)
    source = machine["source"]
    assert (source["page"], source["start"], source["end"]) == (1, 3, 9)
    assert (source["rule_id"], source["set_by"], source["version"]) == ("r-1", "triage", "1")
    axes = {d["field"]: (d["value"], d["checked_none"]) for d in found["dates"]}
    assert axes["invoice_date"] == ("2026-02-27", False)
    assert axes["due_date"] == (None, True)
    assert axes["date_received"] == (RECEIVED.isoformat(), False)
    assert not {v["field"] for v in found["values"]} & {str(axis) for axis in DATE_AXES}
    assert found["open_cases"] == [case]
    assert [a["gate"] for a in found["arrivals"]] == ["folder"]


def test_a_document_before_its_release_is_not_there(service: Service) -> None:
    later = document(service, visible_from=ago(days=-1))
    earlier = document(service, visible_from=ago(days=1))
    assert service.get(f"/api/documents/{later}", "vera").status_code == 404
    assert service.get(f"/api/documents/{earlier}", "vera").status_code == 200


def test_an_unknown_level_is_told_to_who_may_see_it(service: Service) -> None:
    """CONF-05: a level of another vocabulary counts as strictest and is told."""
    number = document(service, level="publishable_book")
    assert service.get(f"/api/documents/{number}", "anna").json()["level_known"] is False
    assert service.get(f"/api/documents/{document(service)}", "anna").json()["level_known"] is True


# --- the original ------------------------------------------------------------------------------


def test_the_original_comes_as_an_attachment_that_nothing_can_run(service: Service) -> None:
    number = document(
        service, content=b"<script>alert(1)</script>", media_type="text/html", file_name="a.html"
    )
    answer = service.get(f"/api/documents/{number}/bytes", "vera")
    assert answer.content == b"<script>alert(1)</script>"
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["etag"] == f'"{hashlib.sha256(answer.content).hexdigest()}"'
    assert answer.headers["content-length"] == str(len(answer.content))


@pytest.mark.parametrize("size", [0, 1, PIECE, PIECE + 1, 3 * PIECE + 7])
def test_files_of_any_size_come_whole(service: Service, size: int) -> None:
    content = (bytes(range(256)) * (size // 256 + 1))[:size]
    number = document(service, content=content, file_name=f"{size}.bin")
    answer = service.get(f"/api/documents/{number}/bytes", "vera")
    assert answer.status_code == 200
    assert answer.content == content


@pytest.fixture(scope="module")
def ten_bytes(service: Service) -> str:
    """The address of a file of ten bytes."""
    return f"/api/documents/{document(service, content=b'0123456789')}/bytes"


@pytest.mark.parametrize(
    ("header", "status", "content"),
    [
        ("bytes=0-3", 206, b"0123"),
        ("bytes=4-", 206, b"456789"),
        ("bytes=-2", 206, b"89"),
        ("bytes=-100", 206, b"0123456789"),
        ("bytes=2-1000", 206, b"23456789"),
        ("bytes=10-", 416, None),
        ("bytes=-0", 416, None),
        ("bytes=5-2", 200, b"0123456789"),
        ("bytes=0-1,4-5", 200, b"0123456789"),
        ("bytes=-", 200, b"0123456789"),
        ("lines=1-2", 200, b"0123456789"),
        ("bytes=" + "9" * 50 + "-", 200, b"0123456789"),
    ],
)
def test_ranges(
    service: Service, ten_bytes: str, header: str, status: int, content: bytes | None
) -> None:
    answer = service.get(ten_bytes, "vera", headers={"Range": header})
    assert answer.status_code == status
    if content is not None:
        assert answer.content == content
    if status == 206:
        assert answer.headers["content-range"].endswith("/10")
    if status == 416:
        assert answer.headers["content-range"] == "bytes */10"
        assert answer.json()["error"]["code"] == "range"


@given(st.text(alphabet="bytes=-0123456789, ", max_size=40), st.integers(0, 10**6))
def test_any_range_header_gives_bytes_of_the_file_or_none(header: str, size: int) -> None:
    try:
        asked = asked_range(header, size)
    except RangeOutside as outside:
        assert outside.size == size
        return
    assert asked is None or (0 <= asked.start <= asked.end < size)


def test_a_range_runs_from_its_first_to_its_last_byte() -> None:
    assert asked_range("bytes=0-0", 1) == ByteRange(0, 0)
    assert asked_range("bytes=-1", 5) == ByteRange(4, 4)


def test_a_condition_on_other_bytes_gives_the_whole_file(service: Service) -> None:
    number = document(service, content=b"conditional")
    path = f"/api/documents/{number}/bytes"
    etag = service.get(path, "vera").headers["etag"]

    def status(**headers: str) -> int:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return service.get(path, "vera", headers=named).status_code

    assert status(Range="bytes=0-1", If_Range=etag) == 206
    assert status(Range="bytes=0-1", If_Range='"other"') == 200
    assert status(If_None_Match=etag) == 304
    assert status(If_None_Match='"other"') == 200


@pytest.mark.parametrize("name", ["a.pdf", 'a"; filename="b.exe', "über 100 %.pdf", "日本\r\n"])
def test_a_name_never_leaves_its_header(service: Service, name: str) -> None:
    number = document(service, file_name=name)
    answer = service.get(f"/api/documents/{number}/bytes", "vera")
    header = answer.headers["content-disposition"]
    assert header.count('"') == 2
    assert "set-cookie" not in answer.headers
    encoded = httpx.URL("http://x/?n=" + header.rsplit("''", 1)[1]).params["n"]
    assert encoded == name


@given(st.text(max_size=300))
def test_the_header_of_any_name_is_one_line_of_ascii(name: str) -> None:
    header = disposition(name)
    assert header.isascii()
    assert header.isprintable()
    assert header.count('"') == 2


@pytest.mark.parametrize("stored", ["text/html; charset=x\r\nX: y", "nonsense", "", None])
def test_a_media_type_that_is_none_becomes_plain_bytes(
    service: Service, stored: str | None
) -> None:
    number = document(service, media_type=stored)
    answer = service.get(f"/api/documents/{number}/bytes", "vera")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert "x" not in answer.headers


def _blob(service: Service, number: int) -> Path:
    ((bucket, key),) = service.rows(
        "SELECT storage_bucket, raw_key FROM documents WHERE id = %s", number
    )
    return service.installation.settings.home / "blobs" / bucket / key


def test_damaged_bytes_never_arrive_as_a_complete_file(service: Service) -> None:
    number = document(service, content=b"a" * (2 * PIECE))
    blob = _blob(service, number)
    blob.chmod(0o600)
    blob.write_bytes(b"a" * (2 * PIECE - 1) + b"b")
    with pytest.raises(httpx.HTTPError):
        service.get(f"/api/documents/{number}/bytes", "vera")


def test_missing_bytes_are_said_to_be_missing(service: Service) -> None:
    number = document(service)
    _blob(service, number).unlink()
    gone = service.get(f"/api/documents/{number}/bytes", "vera")
    service.rows(
        "UPDATE raw_items SET state = 'missing' WHERE id ="
        " (SELECT raw_item_id FROM documents WHERE id = %s)",
        number,
    )
    known_gone = service.get(f"/api/documents/{number}/bytes", "vera")
    for answer in (gone, known_gone):
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == "original_unavailable"


def test_erased_bytes_are_said_to_be_erased(service: Service) -> None:
    number = document(service)
    service.rows(
        "UPDATE raw_items SET state = 'erased' WHERE id ="
        " (SELECT raw_item_id FROM documents WHERE id = %s)",
        number,
    )
    assert service.get(f"/api/documents/{number}/bytes", "vera").status_code == 410


def test_a_mail_is_only_for_who_may_read_everything_in_it(service: Service) -> None:
    mail = arrive(service, Facts(content=b"the whole mail"))
    body = document(
        service,
        content=b"the whole mail",
        part_role="body",
        file_class="mail_body",
        parent_id=mail.arrival_id,
    )
    path = f"/api/documents/{body}/bytes"
    assert service.get(path, "vera").status_code == 200
    inside = document(service, level="vertraulich", parent_id=mail.arrival_id)
    assert service.get(path, "vera").status_code == 403
    assert service.get(path, "anna").content == b"the whole mail"
    service.rows("UPDATE documents SET confidentiality_level = 'intern' WHERE id = %s", inside)
    assert service.get(path, "vera").status_code == 200
    ((inside_arrival,),) = service.rows("SELECT id FROM arrivals WHERE document_id = %s", inside)
    document(service, mandant="sued", entity="haus-sued", parent_id=inside_arrival)
    assert service.get(path, "anna").status_code == 403
    assert service.get(path, "chef").status_code == 200


def test_what_is_not_decided_yet_keeps_a_container_with_the_manager(service: Service) -> None:
    archive = document(service, content=b"an archive with text")
    ((arrival_id,),) = service.rows("SELECT id FROM arrivals WHERE document_id = %s", archive)
    arrive(service, Facts(parent_id=arrival_id))
    assert service.get(f"/api/documents/{archive}/bytes", "vera").status_code == 403
    assert service.get(f"/api/documents/{archive}/bytes", "anna").status_code == 200


# --- pages -------------------------------------------------------------------------------------


def test_hostile_text_is_shown_and_never_run(service: Service) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    number = document(service, title=hostile, file_name=f"{hostile}.pdf")
    value(service, number, "provider", hostile, evidence={"note": hostile})
    answer = service.get(f"/d/{number}", "vera")
    assert answer.status_code == 200
    assert hostile not in answer.text
    assert answer.text.count("&lt;img src=x onerror=alert(1)&gt;") >= 4
    policy = dict(
        part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; ")
    )
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["default-src"] == "'none'"


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("de-DE,de;q=0.9,en;q=0.8", "de"),
        ("fr", "fr"),
        ("en;q=0.3, fr-CA;q=0.7", "fr"),
        ("ru, it;q=0.9", "en"),
        ("de;q=0, fr;q=0.1", "fr"),
        ("de;q=nonsense", "en"),
        ("*", "en"),
        ("", "en"),
    ],
)
def test_the_page_speaks_the_readers_language(service: Service, header: str, language: str) -> None:
    number = document(service)
    answer = service.get(f"/d/{number}", "vera", headers={"Accept-Language": header})
    word = {"de": "Vertraulichkeit", "fr": "Confidentialité", "en": "Confidentiality"}[language]
    assert answer.headers["content-language"] == language
    assert f'<html lang="{language}">' in answer.text
    assert word in answer.text


@pytest.mark.parametrize("path", ["/d/17", "/d/nonsense", "/l/old-1"])
def test_without_a_token_a_page_says_how_to_sign_in(service: Service, path: str) -> None:
    answer = service.get(path, headers={"Accept-Language": "fr"})
    assert answer.status_code == 401
    assert answer.headers["content-type"].startswith("text/html")
    assert "Veuillez vous identifier" in answer.text
    assert 'name="password"' in answer.text


@pytest.mark.parametrize(("path", "status"), [("/d/999999", 404), ("/d/0", 422), ("/l/x", 404)])
def test_errors_of_pages_are_pages(service: Service, path: str, status: int) -> None:
    answer = service.get(path, "vera", headers={"Accept-Language": "de"})
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert '<html lang="de">' in answer.text


def test_a_held_document_says_why(service: Service) -> None:
    number = document(service)
    service.rows(
        "UPDATE documents SET state = 'held', held_gate = 'raw_first',"
        " held_reason = 'the bytes are missing' WHERE id = %s",
        number,
    )
    assert "raw_first: the bytes are missing" in service.get(f"/d/{number}", "vera").text


# --- old links ---------------------------------------------------------------------------------

DRIVE = "https://drive.example.org/file/d/abc/view?usp=sharing"


def _legacy(service: Service, url: str, state: str, number: int | None, text: str | None) -> None:
    service.rows(
        "INSERT INTO legacy_links (legacy_url, mandant_id, legacy_number, document_id, state)"
        " VALUES (%s, (SELECT id FROM mandanten WHERE slug = 'nord'), %s, %s, %s)",
        url,
        text,
        number,
        state,
    )


@pytest.mark.parametrize("asked", ["/l/7001", "/l/%237001", f"/l/{DRIVE}"])
def test_an_old_link_leads_to_the_document(service: Service, asked: str) -> None:
    if not service.rows("SELECT 1 FROM legacy_links WHERE legacy_url = %s", DRIVE):
        _legacy(service, DRIVE, "recovered", document(service), "7001")
    ((number,),) = service.rows("SELECT document_id FROM legacy_links WHERE legacy_url = %s", DRIVE)
    answer = service.get(asked, "vera")
    assert answer.status_code == 302
    assert answer.headers["location"] == f"/d/{number}"
    assert service.get(asked, "sven").status_code == 404


def test_a_link_to_the_old_store_shows_the_way_there(service: Service) -> None:
    _legacy(service, "https://drive.example.org/old", "old_store", document(service), "7002")
    answer = service.get("/l/7002", "vera")
    assert answer.status_code == 200
    assert 'href="https://drive.example.org/old"' in answer.text


def test_a_lost_original_is_said_to_be_lost_to_the_manager(service: Service) -> None:
    _legacy(service, "https://drive.example.org/lost", "unrecoverable", None, "7003")
    answer = service.get("/l/7003", "anna", headers={"Accept-Language": "en"})
    assert answer.status_code == 200
    assert "cannot be recovered" in answer.text
    for login in ("vera", "sven"):
        assert service.get("/l/7003", login).status_code == 404


def test_a_script_is_no_address(service: Service) -> None:
    _legacy(service, "javascript:alert(1)", "old_store", document(service), "7004")
    assert "javascript" not in service.get("/l/7004", "vera").text


def test_a_number_of_two_tenants_is_shown_to_the_owner_as_two(service: Service) -> None:
    one = document(service, legacy_number="7005")
    two = document(service, mandant="sued", entity="haus-sued", legacy_number="7005")
    answer = service.get("/l/7005", "chef")
    assert answer.status_code == 200
    assert f"/d/{one}" in answer.text
    assert f"/d/{two}" in answer.text
    assert service.get("/l/7005", "vera").headers["location"] == f"/d/{one}"


def test_the_page_offers_what_was_made_from_the_table(service: Service) -> None:
    number = working_material(service)
    sql = f"SELECT * FROM d{number}"
    body = {"title": "Mengen", "documents": [number], "sql": sql, "plot": True}
    made = service.post("/api/artefacts", "anna", json=body).json()

    page = service.get(f"/d/{number}", "vera").text
    assert all(form in page for form in made["forms"])
    assert len(made["forms"]) == 4
    assert service.get(made["forms"][0], "vera").headers["content-disposition"].startswith("attach")
    refused = service.post("/api/artefacts", "anna", json=body | {"sql": "DROP TABLE x"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "query_refused")

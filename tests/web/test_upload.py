"""The upload gate over HTTP: raw first, one result per file, rights before effect (UPL-08)."""

from __future__ import annotations

import hashlib
import io
import re
import socket
import threading
import wave
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from web_builders import RECEIVED, Facts, Service, arrive, document, fresh_database, opened, serving

from tgv_dagster.arrive.upload import clean_name, distinct_name
from tgv_dagster.web.limits import DEFAULT_BODY_BYTES

MAIL = (
    b"From: a@example.org\r\nTo: b@example.org\r\nSubject: Rechnung\r\n"
    b"Message-ID: <1@example.org>\r\nDate: Mon, 2 Mar 2026 09:00:00 +0100\r\n\r\nHallo\r\n"
)


def results(answer: object) -> list[dict[str, object]]:
    """The queue of an answer."""
    return answer.json()["files"]  # pyright: ignore[reportAttributeAccessIssue]


def sound() -> bytes:
    """A short WAV file."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(b"\x00\x01" * 400)
    return buffer.getvalue()


def test_bytes_are_secured_with_intent_uploader_and_hints(service: Service) -> None:
    """TRI-09, FIN-03: the intent travels with the bytes."""
    content = b"Rechnung fuer Projekt Kita"
    answer = service.upload(
        "emil", ("Rechnung.txt", content), intent="Schlussrechnung", project="P-1"
    )
    assert answer.status_code == 202
    (result,) = results(answer)
    assert (result["status"], result["name"]) == ("taken", "Rechnung.txt")
    ((gate, uploader, intent, entity, hint, sha, bucket, key, stage),) = service.rows(
        "SELECT a.gate, a.uploader, a.intent_text, a.entity_hint, a.origin ->> 'project_hint',"
        " r.sha256, r.storage_bucket, r.raw_key, l.stage FROM arrivals a"
        " JOIN raw_items r ON r.id = a.raw_item_id"
        " JOIN flow_ledger l ON l.subject_id = a.id AND l.state = 'pending' WHERE a.id = %s",
        result["arrival_id"],
    )
    assert (gate, uploader, intent) == ("upload", "emil", "Schlussrechnung")
    assert (entity, hint, stage) == ("nord-gmbh", "P-1", "extract")
    assert sha == result["sha256"] == hashlib.sha256(content).hexdigest()
    assert service.installation.blobs.open(bucket, key).read() == content


def test_each_file_of_a_drop_has_its_own_result_in_order(service: Service) -> None:
    number = document(service, content=b"known bytes")
    answer = service.upload(
        "anna",
        ("new.txt", b"new bytes"),
        ("known.txt", b"known bytes"),
        ("talk.wav", sound()),
        ("empty.txt", b""),
        gate="drop",
    )
    found = [(r["position"], r["status"], r["document_id"]) for r in results(answer)]
    assert found == [
        (0, "taken", None),
        (1, "already_here", number),
        (2, "set_apart", None),
        (3, "taken", None),
    ]
    assert all(r["reason"] for r in results(answer)[1:])
    secured = [r["arrival_id"] for r in results(answer)]
    assert service.rows("SELECT count(*) FROM arrivals WHERE id = ANY (%s)", secured) == [(4,)]


def test_a_form_without_a_chosen_file_is_refused_beside_the_others(service: Service) -> None:
    body = (
        b'--x\r\nContent-Disposition: form-data; name="files"; filename=""\r\n\r\n\r\n'
        b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
        b"A\r\n--x--\r\n"
    )
    answer = service.post(
        "/api/upload",
        "emil",
        content=body,
        headers={"Content-Type": "multipart/form-data; boundary=x"},
    )
    assert [r["status"] for r in results(answer)] == ["refused", "taken"]
    assert results(answer)[0]["arrival_id"] is None


def test_a_duplicate_is_told_only_to_who_may_see_the_document(service: Service) -> None:
    content = b"strictly confidential and uploaded twice"
    number = document(service, content=content, level="streng_vertraulich")
    (for_manager,) = results(service.upload("anna", ("a.txt", content)))
    (for_editor,) = results(service.upload("emil", ("a.txt", content)))
    (for_other_tenant,) = results(service.upload("sven", ("a.txt", content)))
    assert (for_manager["status"], for_manager["document_id"]) == ("already_here", number)
    for hidden in (for_editor, for_other_tenant):
        assert (hidden["status"], hidden["document_id"], hidden["reason"]) == ("taken", None, "")


def test_a_duplicate_in_the_trash_is_no_dead_end(service: Service) -> None:
    number = document(service, content=b"thrown away", state="trashed")
    (result,) = results(service.upload("emil", ("a.txt", b"thrown away")))
    assert (result["status"], result["document_id"]) == ("already_here", number)
    assert "restore" in str(result["reason"])


@pytest.mark.parametrize("sent", ["../../etc/passwd", "..\\..\\passwd", "/etc/passwd"])
def test_a_path_in_a_name_leads_nowhere(service: Service, sent: str) -> None:
    (result,) = results(service.upload("emil", (sent, f"content of {sent}".encode())))
    assert (result["status"], result["name"]) == ("taken", "passwd")


def test_own_bytes_sent_again_are_recognised_before_they_are_a_document(service: Service) -> None:
    content = b"sent twice within a minute"
    (first,) = results(service.upload("emil", ("a.txt", content)))
    (second,) = results(service.upload("emil", ("b.txt", content)))
    (of_somebody_else,) = results(service.upload("anna", ("a.txt", content)))
    assert (first["status"], second["status"]) == ("taken", "already_here")
    assert second["arrival_id"] != first["arrival_id"]
    assert of_somebody_else["status"] == "taken"


def test_a_mail_that_became_documents_is_recognised(service: Service) -> None:
    number = document(service)
    service.rows(
        "INSERT INTO mail_parts (eml_sha, part_path, part_sha, role, outcome, document_id)"
        " VALUES (%s, '1', 'x', 'attachment', 'arrived', %s)",
        hashlib.sha256(MAIL).hexdigest(),
        number,
    )
    (result,) = results(service.upload("emil", ("Rechnung.eml", MAIL)))
    assert (result["status"], result["document_id"]) == ("already_here", number)
    assert service.rows(
        "SELECT a.part_role, r.kind, r.bucket FROM arrivals a"
        " JOIN raw_items r ON r.id = a.raw_item_id WHERE a.id = %s",
        result["arrival_id"],
    ) == [("mail", "eml", "intake")]


def test_the_same_key_is_one_act_however_often_it_is_sent(service: Service) -> None:
    files = (("image.jpg", b"one"), ("image.jpg", b"two"), ("image.jpg", b"one"))
    key = {"Idempotency-Key": "drop-1"}
    first = results(service.upload("emil", *files, headers=key, intent="first"))
    backwards = files[::-1]
    again = results(service.upload("emil", *backwards, headers=key, intent="second"))
    assert {r["arrival_id"] for r in first} == {r["arrival_id"] for r in again}
    assert len({r["arrival_id"] for r in first}) == 3
    assert [r["repeated"] for r in first] == [False, False, False]
    assert all(r["repeated"] and "first time stand" in str(r["reason"]) for r in again)
    assert {r["name"] for r in again} == {r["name"] for r in first}
    other = results(service.upload("anna", files[0], headers=key))
    assert other[0]["arrival_id"] not in {r["arrival_id"] for r in first}


def test_a_double_click_records_one_arrival(service: Service) -> None:
    def send(_: int) -> tuple[int, list[dict[str, object]]]:
        answer = service.upload(
            "emil", ("click.txt", b"clicked"), headers={"Idempotency-Key": "click"}
        )
        return answer.status_code, results(answer)

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(send, range(6)))
    assert {status for status, _ in answers} == {202}
    assert len({found[0]["arrival_id"] for _, found in answers}) == 1


@pytest.mark.parametrize(
    ("login", "fields"),
    [
        ("emil", {"entity": "haus-sued"}),
        ("emil", {"entity": "nowhere"}),
        ("eva", {"entity": "nord-gmbh"}),
        ("eva", {"project": "P-1"}),
        ("emil", {"project": "P-9"}),
        ("emil", {"project": "P-0"}),
        ("emil", {"entity": "nord-sarl", "project": "P-1"}),
    ],
)
def test_what_the_caller_may_not_assign_is_refused_before_anything_is_kept(
    service: Service, login: str, fields: dict[str, str]
) -> None:
    before = service.rows("SELECT count(*) FROM arrivals")
    answer = service.upload(login, ("a.txt", b"assigned"), **fields)
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "not_assignable"
    assert service.rows("SELECT count(*) FROM arrivals") == before


def test_foreign_and_absent_entities_are_refused_with_the_same_words(service: Service) -> None:
    foreign = service.upload("emil", ("a.txt", b"x"), entity="haus-sued")
    absent = service.upload("emil", ("a.txt", b"x"), entity="nowhere")
    assert foreign.content == absent.content


def test_the_owner_of_all_tenants_may_leave_the_tenant_open(service: Service) -> None:
    (open_one,) = results(service.upload("chef", ("a.txt", b"whose?")))
    (placed,) = results(service.upload("chef", ("a.txt", b"theirs"), entity="haus-sued"))
    tenants = service.rows(
        "SELECT m.slug FROM arrivals a LEFT JOIN mandanten m ON m.id = a.mandant_id"
        " WHERE a.id = ANY (%s) ORDER BY a.id",
        [open_one["arrival_id"], placed["arrival_id"]],
    )
    assert tenants == [(None,), ("sued",)]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\anna\\Rechnung.pdf", "Rechnung.pdf"),
        ("/absolute/Rechnung.pdf", "Rechnung.pdf"),
        ("Rechnung\x00.pdf", "Rechnung_.pdf"),
        ("Rechnung\nX-Evil: 1.pdf", "Rechnung_X-Evil: 1.pdf"),
        ("Rechnung\u202efdp.exe", "Rechnung_fdp.exe"),
        ("u\u0308ber.pdf", "über.pdf"),
        ("ä" * 300 + ".pdf", "ä" * 196 + ".pdf"),
        ("..", ""),
        ("...", ""),
        ("dir/", ""),
        ("\ud800.txt", "_.txt"),
    ],
)
def test_a_name_is_one_component_that_can_be_shown(sent: str, kept: str) -> None:
    assert clean_name(sent) == kept


@given(st.text(alphabet=st.characters(), max_size=400))
def test_any_name_becomes_short_and_showable(sent: str) -> None:
    name = clean_name(sent)
    assert len(name) <= 200
    assert clean_name(name) == name
    assert not set(name) & set("/\\\x00\r\n\u202e")
    name.encode("utf-8")


@pytest.mark.parametrize(
    "name",
    ["image.jpg", "IMG_0001.JPG", "photo (2).png", "Bild.jpeg", "DSC01234.jpg", "blob", "scan.pdf"],
)
def test_a_name_any_camera_gives_becomes_distinguishable(service: Service, name: str) -> None:
    (one, two) = results(service.upload("emil", (name, b"a" + name.encode()), (name, b"b")))
    stem = name.rsplit(".", 1)[0]
    for result in (one, two):
        assert re.match(re.escape(stem) + r"_\d{8}-\d{6}_[0-9a-f]{8}(\.\w+)?$", str(result["name"]))
    assert one["name"] != two["name"]
    assert one["sent_name"] == name
    assert service.rows(
        "SELECT origin ->> 'raw_name' FROM arrivals WHERE id = %s", one["arrival_id"]
    ) == [(name,)]


@pytest.mark.parametrize("name", ["Rechnung 12.pdf", "4711-26.pdf", "Fotos Dach.pdf", "über.jpg"])
def test_a_name_that_says_something_stays(name: str) -> None:
    assert distinct_name(name, received_at=RECEIVED, sha256="0" * 64, media_type="x/y") == name


@pytest.mark.parametrize(
    ("fields", "files"),
    [
        ({"intent": "x" * 4001}, [("files", ("a.txt", b"x"))]),
        ({"intent": "NUL \x00 inside"}, [("files", ("a.txt", b"x"))]),
        ({"entity": "NO SLUG"}, [("files", ("a.txt", b"x"))]),
        ({"gate": "mail"}, [("files", ("a.txt", b"x"))]),
        ({"colour": "red"}, [("files", ("a.txt", b"x"))]),
        ({"intent": ["one", "two"]}, [("files", ("a.txt", b"x"))]),
        ({}, [("other", ("a.txt", b"x"))]),
        ({"files": "no file"}, [("ignored", ("a.txt", b"x"))]),
        ({}, [("files", (f"{n}.txt", b"x")) for n in range(201)]),
    ],
)
def test_a_form_that_does_not_fit_is_refused_with_a_remedy(
    service: Service, fields: dict[str, object], files: list[tuple[str, tuple[str, bytes]]]
) -> None:
    before = service.rows("SELECT count(*) FROM arrivals")
    answer = service.post("/api/upload", "emil", data=fields, files=files)
    assert answer.status_code in (400, 422), answer.text
    assert answer.json()["error"]["remedy"]
    assert service.rows("SELECT count(*) FROM arrivals") == before


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("multipart/form-data", b"no boundary"),
        ("multipart/form-data; boundary=x", b"--x\r\nnonsense"),
        ("application/json", b"{}"),
        ("application/x-www-form-urlencoded", b"files=a"),
        ("text/plain", b""),
    ],
)
def test_a_body_that_is_no_form_is_refused(
    service: Service, content_type: str, body: bytes
) -> None:
    answer = service.post(
        "/api/upload", "emil", content=body, headers={"Content-Type": content_type}
    )
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["remedy"]


@pytest.mark.parametrize("key", ["", "with space", "ü", "x" * 201])
def test_a_key_that_does_not_fit_is_refused(service: Service, key: str) -> None:
    headers = {
        b"Idempotency-Key": key.encode("latin-1"),
        b"Authorization": f"Bearer {service.token('emil')}".encode(),
    }
    files = [("files", ("a.txt", b"x"))]
    assert service.client.post("/api/upload", files=files, headers=headers).status_code == 422


def test_without_a_token_nothing_of_the_body_is_asked_for(service: Service) -> None:
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(
            b"POST /api/upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n"
            b"Content-Type: multipart/form-data; boundary=x\r\nExpect: 100-continue\r\n\r\n"
        )
        assert connection.recv(65536).startswith(b"HTTP/1.1 401")


def test_a_length_above_the_limit_is_refused_before_the_body_is_asked_for(
    service: Service,
) -> None:
    host, port = service.url.removeprefix("http://").split(":")
    length = (service.installation.settings.max_upload_mb << 20) + 1
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(
            f"POST /api/upload HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n"
            f"Authorization: Bearer {service.token('emil')}\r\nExpect: 100-continue\r\n"
            "Content-Type: multipart/form-data; boundary=x\r\n\r\n".encode()
        )
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")


def test_a_connection_that_breaks_off_leaves_nothing(service: Service) -> None:
    before = service.rows("SELECT count(*) FROM arrivals")
    host, port = service.url.removeprefix("http://").split(":")
    token = service.token("emil")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(
            f"POST /api/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            "Content-Length: 1000000\r\nContent-Type: multipart/form-data; boundary=x\r\n\r\n"
            '--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nhalf'
            "".encode()
        )
    (after,) = results(service.upload("emil", ("whole.txt", b"whole")))
    assert after["status"] == "taken"
    ((count,),) = service.rows("SELECT count(*) FROM arrivals")
    assert count == before[0][0] + 1


def test_an_upload_larger_than_the_limit_is_refused_declared_or_not(
    server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = b"x" * (2 << 20)
    with (
        fresh_database(server_url, template) as url,
        opened(url, tmp_path_factory.mktemp("small"), max_upload_mb=1) as installation,
        serving(installation) as small,
    ):
        declared = small.upload("emil", ("big.bin", content))
        body = (
            b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n',
            content,
            b"\r\n--x--\r\n",
        )
        streamed = small.post(
            "/api/upload",
            "emil",
            content=iter(body),
            headers={"Content-Type": "multipart/form-data; boundary=x"},
        )
        fitting = small.upload("emil", ("small.bin", b"x" * 1000))
        for answer in (declared, streamed):
            assert answer.status_code == 413
            assert answer.json()["error"]["code"] == "too_large"
        assert fitting.status_code == 202
        assert small.rows("SELECT count(*) FROM arrivals") == [(1,)]


def test_a_json_body_has_a_limit_of_its_own(service: Service) -> None:
    answer = service.post("/api/cases/1/dismiss", "emil", json={"reason": "x" * DEFAULT_BODY_BYTES})
    assert answer.status_code == 413


def test_the_uploader_follows_an_arrival_without_learning_more(service: Service) -> None:
    content = b"followed by its uploader"
    (sent,) = results(service.upload("emil", ("a.txt", content)))
    path = f"/api/arrivals/{sent['arrival_id']}"
    assert service.get(path, "emil").json()["outcome"] == "pending"
    assert service.get(path, "vera").status_code == 404
    number = document(service, level="streng_vertraulich", content=b"hidden before")
    service.rows(
        "UPDATE arrivals SET outcome = 'already_here', document_id = %s WHERE id = %s",
        number,
        sent["arrival_id"],
    )
    hidden = service.get(path, "emil").json()
    assert (hidden["outcome"], hidden["document_id"]) == ("entered", None)
    shown = service.get(path, "anna").json()
    assert (shown["outcome"], shown["document_id"]) == ("already_here", number)


def test_an_arrival_names_the_parts_that_came_out_of_it(service: Service) -> None:
    mail = arrive(service, Facts(content=b"mail", uploader="emil"))
    part = arrive(service, Facts(content=b"part", uploader="emil", parent_id=mail.arrival_id))
    answer = service.get(f"/api/arrivals/{mail.arrival_id}", "emil").json()
    assert [p["arrival_id"] for p in answer["parts"]] == [part.arrival_id]


def test_a_full_store_refuses_and_a_repetition_completes(
    server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("gone")
    with (
        fresh_database(server_url, template) as url,
        opened(url, home) as installation,
        serving(installation) as broken,
    ):
        store = home / "blobs"
        aside = store.rename(home / "aside")
        refused = broken.upload("emil", ("a.txt", b"x"), headers={"Idempotency-Key": "k"})
        aside.rename(store)
        taken = broken.upload("emil", ("a.txt", b"x"), headers={"Idempotency-Key": "k"})
        assert refused.status_code == 503
        assert str(home) not in refused.text
        assert refused.json()["error"]["remedy"]
        assert results(taken)[0]["status"] == "taken"
        assert broken.rows("SELECT count(*) FROM arrivals") == [(1,)]


def test_large_files_pass_in_bounded_memory(service: Service) -> None:
    size = 96 << 20
    peak = _Peak()

    def body() -> Iterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="files"; filename="big.bin"\r\n\r\n'
        for _ in range(size >> 20):
            yield b"\x07" * (1 << 20)
        yield b"\r\n--x--\r\n"

    with peak:
        answer = service.post(
            "/api/upload",
            "emil",
            content=body(),
            headers={"Content-Type": "multipart/form-data; boundary=x"},
        )
    assert results(answer)[0]["size"] == size
    assert peak.grown < size // 2


class _Peak:
    """How much this process, which holds the service, grew at most. `grown` in bytes."""

    grown = 0

    def __enter__(self) -> None:
        self._stop = threading.Event()
        self._before = _resident()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.01):
            self.grown = max(self.grown, _resident() - self._before)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

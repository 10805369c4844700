"""Builders for the tests of the web room: a small organisation, documents, cases, tokens, a server.

The server is the real one (uvicorn on an ephemeral port of this machine); nothing is simulated.
"""

from __future__ import annotations

import io
import itertools
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import psycopg
import uvicorn
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.json import Jsonb

from tgv_dagster.arrive.gates import GateKind, NewArrival, arrival_key
from tgv_dagster.arrive.raw import SavedRaw, save_raw
from tgv_dagster.audit.ledger import keep
from tgv_dagster.audit.register import checkpoint
from tgv_dagster.audit.verdict import Verdict, green
from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings
from tgv_dagster.store import organisation
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, open_case
from tgv_dagster.web.app import server_config
from tgv_dagster.web.passwords import set_password
from tgv_dagster.web.tokens import create_token

ORGANISATION = """
mandanten: [{slug: nord, name: Nord}, {slug: sued, name: Sued}]
entities:
  - {slug: nord-gmbh, mandant: nord, kind: company, legal_name: Nordlicht GmbH, bucket: nord-gmbh}
  - {slug: nord-sarl, mandant: nord, kind: company, legal_name: Atelier SARL, bucket: nord-sarl}
  - {slug: haus-sued, mandant: sued, kind: household, legal_name: Familie Sued, bucket: haus-sued}
projects:
  - {project_code: P-1, entity: nord-gmbh, name: Umbau Kita}
  - {project_code: P-9, entity: haus-sued, name: Dach}
users:
  - {login: anna, name: Anna, roles: [{mandant: nord, role: mandant_admin}]}
  - {login: emil, name: Emil, roles: [{mandant: nord, role: editor}]}
  - {login: vera, name: Vera, roles: [{mandant: nord, role: viewer}]}
  - {login: eva, name: Eva, roles: [{mandant: nord, role: editor, entities: [nord-sarl]}]}
  - {login: sven, name: Sven, roles: [{mandant: sued, role: mandant_admin}]}
  - {login: chef, name: Chef, roles: [{role: super_admin}]}
  - {login: otto, name: Otto}
"""

RECEIVED = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_numbers = itertools.count(1)


@contextmanager
def fresh_database(server_url: str, template: str) -> Iterator[str]:
    """A migrated database of one's own."""
    name = f"web_{next(_numbers)}"
    parts: dict[str, Any] = conninfo_to_dict(server_url)
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
    yield make_conninfo(**(parts | {"dbname": name}))
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def opened(database_url: str, home: Path, **settings: Any) -> Iterator[Installation]:
    """An installation with the small organisation."""
    found = Settings(home=home, database_url=database_url, workers=1, **settings)  # pyright: ignore[reportCallIssue, reportArgumentType]
    installation = Installation.open(found)
    with installation.database.worker() as connection:
        organisation.import_organisation(
            connection, organisation.parse(ORGANISATION), author="test"
        )
    yield installation
    installation.close()


@dataclass
class Service:
    """A running service and its installation."""

    installation: Installation
    client: httpx.Client
    _tokens: dict[tuple[str, str | None], str] = field(default_factory=dict)

    def token(self, login: str, mandant: str | None = None) -> str:
        """A valid token of this user."""
        key = (login, mandant)
        if key not in self._tokens:
            made = create_token(self.installation.database, login, mandant=mandant, by="test")
            self._tokens[key] = made.text
        return self._tokens[key]

    def headers(self, login: str | None, mandant: str | None = None) -> dict[str, str]:
        """The headers of a request by this user; none for nobody."""
        return {} if login is None else {"Authorization": f"Bearer {self.token(login, mandant)}"}

    @property
    def url(self) -> str:
        """Where it answers."""
        return str(self.client.base_url).rstrip("/")

    def ask(
        self, method: str, path: str, login: str | None = None, mandant: str | None = None,
        **options: Any,
    ) -> httpx.Response:  # fmt: skip
        """A request by this user."""
        headers = self.headers(login, mandant) | options.pop("headers", {})
        return self.client.request(method, path, headers=headers, **options)

    def get(self, path: str, login: str | None = None, **options: Any) -> httpx.Response:
        """GET as this user."""
        return self.ask("GET", path, login, **options)

    def post(self, path: str, login: str | None = None, **options: Any) -> httpx.Response:
        """POST as this user."""
        return self.ask("POST", path, login, **options)

    def upload(
        self, login: str | None, *files: tuple[str, bytes], headers: Any = None,
        **fields: str,
    ) -> httpx.Response:  # fmt: skip
        """Send files with the fields of the form."""
        parts = [("files", (name, io.BytesIO(content))) for name, content in files]
        return self.post(
            "/api/upload", login, files=parts, data=fields, headers=dict(headers or {})
        )

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """One statement of the flow; its rows, if any."""
        with self.installation.database.worker() as connection:
            cursor = connection.execute(query.encode(), parameters or None)
            return cursor.fetchall() if cursor.description else []


@contextmanager
def serving(installation: Installation) -> Iterator[Service]:
    """The service on an ephemeral port, stopped afterwards."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        server = uvicorn.Server(server_config(installation, host="127.0.0.1", port=port))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            yield Service(installation, client)
        server.should_exit = True
        thread.join(30)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of a document that tests change. `content` None: bytes of its own."""

    mandant: str = "nord"
    entity: str | None = "nord-gmbh"
    level: str | None = "intern"
    file_name: str = "Rechnung.pdf"
    media_type: str | None = "application/pdf"
    title: str | None = "Rechnung 4711"
    state: str = "active"
    content: bytes | None = None
    visible_from: datetime | None = None
    legacy_number: str | None = None
    uploader: str | None = None
    parent_id: int | None = None
    part_role: str = "file"
    file_class: str = "file"


def arrive(service: Service, facts: Facts) -> SavedRaw:
    """Secure bytes through the one way in."""
    number = next(_numbers)
    content = facts.content if facts.content is not None else f"file {number}".encode()
    arrival = NewArrival(
        gate=GateKind.FOLDER,
        arrival_key=arrival_key(GateKind.FOLDER, "builder", number),
        bucket="intake",
        file_name=facts.file_name,
        received_at=RECEIVED,
        mandant=facts.mandant,
        entity_hint=facts.entity,
        uploader=facts.uploader,
    )
    saved = save_raw(
        service.installation.database, service.installation.blobs, arrival, io.BytesIO(content)
    )
    service.rows(
        "UPDATE arrivals SET parent_id = %s WHERE id = %s", facts.parent_id, saved.arrival_id
    )
    return saved


def working_material(service: Service, **of: Any) -> int:
    """A document with a small table kept as working material; returns its number."""
    number = document(service, **of)
    stream = io.BytesIO()
    pl.DataFrame({"Ort": ["Kiel", "Lyon"], "Menge": [3, 4]}).write_parquet(stream)
    service.rows(
        "INSERT INTO table_imports (mandant_id, document_id, raw_sha256, state, target, working)"
        " SELECT mandant_id, id, raw_sha256, 'working', 'working', %s FROM documents WHERE id = %s"
        " RETURNING id",
        stream.getvalue(),
        number,
    )
    return number


def document(service: Service, facts: Facts | None = None, **changes: Any) -> int:
    """A document as triage leaves it; returns its number."""
    facts = replace(facts or Facts(), **changes)
    saved = arrive(service, facts)
    ((number,),) = service.rows(
        "INSERT INTO document_numbers (mandant_id, raw_sha256, part_role, arrival_uid)"
        " SELECT mandant_id, %s, %s, uid FROM arrivals WHERE id = %s RETURNING id",
        saved.sha256,
        facts.part_role,
        saved.arrival_id,
    )
    service.rows(
        "INSERT INTO documents (id, mandant_id, entity, raw_sha256, raw_item_id, storage_bucket,"
        " raw_key, part_role, file_class, file_name, media_type, title, confidentiality_level,"
        " state, visible_from, legacy_number, date_received)"
        " SELECT %s, a.mandant_id, %s, r.sha256, r.id, r.storage_bucket, r.raw_key, %s, %s, %s,"
        " %s, %s, %s, %s, %s, %s, a.received_at"
        " FROM arrivals a JOIN raw_items r ON r.id = a.raw_item_id WHERE a.id = %s",
        number,
        facts.entity,
        facts.part_role,
        facts.file_class,
        facts.file_name,
        facts.media_type,
        facts.title,
        facts.level,
        facts.state,
        facts.visible_from,
        facts.legacy_number,
        saved.arrival_id,
    )
    service.rows(
        "UPDATE arrivals SET outcome = 'entered', document_id = %s WHERE id = %s",
        number,
        saved.arrival_id,
    )
    return int(number)


def value(
    service: Service,
    document_id: int,
    name: str,
    text: str | None,
    *,
    origin: str = "machine",
    confidence: float = 0.9,
    evidence: dict[str, Any] | None = None,
) -> None:
    """One stored value of a document."""
    service.rows(
        "INSERT INTO document_values (document_id, field, value, checked_none, origin, confidence,"
        " evidence, rule_id, set_by, version) VALUES (%s, %s, %s, %s, %s, %s, %s, 'r-1',"
        " 'triage', '1')",
        document_id,
        name,
        text,
        text is None,
        origin,
        confidence,
        None if evidence is None else Jsonb(evidence),
    )


def question(service: Service, document_id: int, *fields: str) -> int:
    """An open case about fields of a document; returns its number."""
    ((mandant_id, entity, level),) = service.rows(
        "SELECT mandant_id, entity, confidentiality_level FROM documents WHERE id = %s",
        document_id,
    )
    with service.installation.database.worker() as connection:
        return open_case(
            connection,
            NewCase(
                kind=CaseKind.UNKNOWN,
                subject_kind=SubjectKind.DOCUMENT,
                subject_key=str(document_id),
                reason=f"unknown {next(_numbers)}",
                author="test",
                mandant_id=mandant_id,
                entity=entity,
                document_id=document_id,
                confidentiality_level=level,
                open_points=tuple({"field": name, "kind": "unknown"} for name in fields),
            ),
        )


def parked_arrival(service: Service, **facts: Any) -> int:
    """A parked arrival with its case; returns the number of the case."""
    saved = arrive(service, replace(Facts(), **facts))
    service.rows(
        "UPDATE arrivals SET outcome = 'parked', outcome_reason = 'encrypted' WHERE id = %s",
        saved.arrival_id,
    )
    service.rows(
        "UPDATE flow_ledger SET state = 'parked' WHERE stage = 'extract' AND subject_id = %s",
        saved.arrival_id,
    )
    ((mandant_id,),) = service.rows(
        "SELECT mandant_id FROM arrivals WHERE id = %s", saved.arrival_id
    )
    with service.installation.database.worker() as connection:
        return open_case(
            connection,
            NewCase(
                kind=CaseKind.PARKED,
                subject_kind=SubjectKind.ARRIVAL,
                subject_key=str(saved.arrival_id),
                reason="extract: encrypted",
                author="test",
                mandant_id=mandant_id,
                arrival_id=saved.arrival_id,
                confidentiality_level="intern",
                evidence={"stage": "extract"},
            ),
        )


def booking(
    service: Service, number: int, level: str | None, *, amount: str = "-119.00", purpose: str = ""
) -> int:
    """A booking of the tenant and entity of a document, linked to nothing; returns its id."""
    service.rows(
        "INSERT INTO md_accounts (mandant_id, entity, account_key, name, active, confirmed_by)"
        " SELECT mandant_id, entity, 'giro-' || entity, 'Giro', true, 'test' FROM documents"
        " WHERE id = %s ON CONFLICT DO NOTHING",
        number,
    )
    ((made,),) = service.rows(
        "INSERT INTO txn_master (mandant_id, entity, account_id, booking_date, amount, currency,"
        " purpose, counterparty_name, row_key, source, confidentiality_level)"
        " SELECT d.mandant_id, d.entity, a.id, '2026-03-10', %s, 'EUR', %s, %s, %s, 'test', %s"
        " FROM documents d JOIN md_accounts a ON a.account_key = 'giro-' || d.entity"
        " WHERE d.id = %s RETURNING id",
        amount,
        purpose,
        purpose,
        f"test-{next(_numbers)}",
        level,
        number,
    )
    return made


def learned_rule(service: Service) -> int:
    """A proposed rule of the tenant nord, with its case."""
    numbers = [document(service) for _ in range(3)]
    mark = f"Meier {numbers[0]}"
    for number in numbers:
        service.rows(
            "UPDATE documents SET cues = jsonb_build_object('provider', %s::text) WHERE id = %s",
            mark,
            number,
        )
        answered = service.post(
            f"/api/cases/{question(service, number, 'provider')}/answer",
            "anna",
            json={"values": {"provider": f"{mark} GmbH"}},
        )
        assert answered.status_code == 200
    ((rule_id,),) = service.rows("SELECT max(id) FROM pattern_rules")
    return rule_id


PASSWORD = "vier Eichen am Hafen"


def walls_are(service: Service, verdict: Verdict) -> None:
    """What the gate `walls` says from now on."""
    with service.installation.database.worker() as connection:
        keep(connection, checkpoint("walls"), verdict)


def activate(service: Service, login: str, password: str = PASSWORD) -> None:
    """Let a person sign in with a password."""
    walls_are(service, green("test"))
    set_password(service.installation.database, login, password, by="test")


@dataclass
class Browser:
    """A person's browser without scripts: it keeps cookies and sends the token of its pages."""

    client: httpx.Client

    def get(self, path: str, **options: Any) -> httpx.Response:
        """Open a page; redirections are not followed."""
        return self.client.get(path, **options)

    def token(self, path: str = "/login") -> str:
        """The token that the forms of a page hold."""
        found = re.search(r'data-csrf="([0-9a-f]{64})"', self.get(path).text)
        assert found is not None
        return found[1]

    def send(self, path: str, *, csrf: str | None = None, **fields: Any) -> httpx.Response:
        """Send a form as the page would."""
        token = self.token() if csrf is None else csrf
        return self.client.post(path, data={"csrf": token, **fields})

    def sign_in(self, login: str, password: str = PASSWORD, next: str = "/") -> httpx.Response:
        """Sign in at the form."""
        return self.send("/login", login=login, password=password, next=next)


@contextmanager
def browser(service: Service, login: str | None = None, language: str = "en") -> Iterator[Browser]:
    """A browser, signed in when a login is named."""
    headers = {"Accept-Language": language, "Accept": "text/html"}
    with httpx.Client(base_url=service.url, timeout=60, headers=headers) as client:
        opened = Browser(client)
        if login is not None:
            activate(service, login)
            assert opened.sign_in(login).status_code == 303
        yield opened


def ago(**span: float) -> datetime:
    """A moment in the past."""
    return datetime.now(UTC) - timedelta(**span)

"""The canary: a synthetic test tenant with one document, in a transaction that is never kept.

Its ids are negative, so that no number is used up and no row of it stands among real ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tgv_dagster.installation import Installation
from tgv_dagster.store.db import Connection
from tgv_dagster.store.levels import Level

CANARY = -1
_SHA = "0" * 64


class _Discard(Exception):
    """Ends the transaction of the canary without keeping it."""


@contextmanager
def discarded(installation: Installation) -> Iterator[Connection]:
    """A worker's transaction that is rolled back at its end, whatever happens in it."""
    try:
        with installation.database.worker() as connection:
            yield connection
            raise _Discard
    except _Discard:
        return


def put_canary_document(connection: Connection) -> None:
    """A test tenant with one strictly confidential document that no arrival brought."""
    connection.execute(
        "INSERT INTO mandanten (id, slug, name, is_test) VALUES (%s, 'tgv-canary', 'canary', true)",
        (CANARY,),
    )
    connection.execute(
        "INSERT INTO entities (id, slug, mandant_id, kind, legal_name, bucket, is_test)"
        " VALUES (%s, 'tgv-canary', %s, 'company', 'canary', 'canary', true)",
        (CANARY, CANARY),
    )
    connection.execute(
        "INSERT INTO document_numbers (id, mandant_id, raw_sha256, part_role, arrival_uid)"
        " VALUES (%s, %s, %s, 'body', gen_random_uuid())",
        (CANARY, CANARY, _SHA),
    )
    connection.execute(
        "INSERT INTO documents (id, entity, raw_sha256, part_role, file_class, file_name,"
        " confidentiality_level, is_test, date_received)"
        " VALUES (%s, 'tgv-canary', %s, 'body', 'mail_body', 'canary', %s, true, now())",
        (CANARY, _SHA, Level.STRICT),
    )

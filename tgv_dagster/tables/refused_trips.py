"""Trips that were refused until a person recorded an exchange of the odometer come in again.

An import with such rows is taken back and made due once more, so that the file comes in whole as
its next generation; rows somebody worked on stay and are known to it (TAB-36).
"""

from __future__ import annotations

from tgv_dagster.intervals.odometers import Exchange, record_exchange
from tgv_dagster.store import ledger
from tgv_dagster.store.db import Connection
from tgv_dagster.store.stages import Stage
from tgv_dagster.tables.importing import undo_rows
from tgv_dagster.tables.model import SetAside
from tgv_dagster.tables.targets import Target

_REFUSED = """
    SELECT t.id, t.document_id FROM table_imports t
    JOIN entities e ON e.mandant_id = t.mandant_id AND e.slug = %(entity)s
    WHERE t.state = 'imported' AND t.target = %(target)s
      AND (t.aside > jsonb_array_length(t.aside_rows)
           OR EXISTS (SELECT 1 FROM jsonb_array_elements(t.aside_rows) r
                      WHERE r ->> 'reason' = %(reason)s
                        AND strpos(r ->> 'raw', %(vehicle)s) > 0))
    ORDER BY t.id FOR UPDATE OF t
"""


def exchange_odometer(
    connection: Connection, exchange: Exchange, *, by: str
) -> tuple[int, tuple[int, ...]]:
    """Record the exchange and bring refused trips of the vehicle in again, in one transaction.

    Returns the number of the exchange and the documents that are due again. Raises ExchangeRefused.
    """
    number = record_exchange(connection, exchange, by=by)
    found = connection.execute(
        _REFUSED,
        {
            "entity": exchange.entity,
            "target": str(Target.TRIPS),
            "reason": str(SetAside.INTERVAL),
            "vehicle": exchange.vehicle,
        },
    ).fetchall()
    for import_id, _ in found:
        undo_rows(connection, import_id, Target.TRIPS, by=by)
    documents = tuple(dict.fromkeys(document_id for _, document_id in found))
    ledger.enqueue(connection, Stage.TABLES, documents, again=True)
    return number, documents

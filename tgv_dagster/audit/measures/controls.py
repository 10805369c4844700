"""Positive controls of the gates in production: each gate is shown a fault and has to turn red.

The fault belongs to a synthetic tenant with `is_test`, in a transaction that is rolled back, so
that no consumer can ever see it (OBS-04). A gate without a control says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tgv_dagster.audit.measures.canary import CANARY, discarded, put_canary_document
from tgv_dagster.audit.measures.raw import RAW_FIRST, judge_pointers
from tgv_dagster.audit.verdict import State, Verdict, judged, unmeasured
from tgv_dagster.installation import Installation
from tgv_dagster.store.db import Connection

Control = Callable[[Connection], Verdict]


def raw_first_control(connection: Connection) -> Verdict:
    """A document row that no arrival brought: the gate has to call it systemic."""
    put_canary_document(connection)
    connection.execute(
        """
        WITH item AS (
            INSERT INTO raw_items (id, bucket, sha256, size, kind, storage_bucket, raw_key,
                verified_at)
            SELECT id, 'canary', raw_sha256, 0, 'file', 'canary', 'sha256/00/00/' || raw_sha256,
                now() FROM documents WHERE id = %s RETURNING id, storage_bucket, raw_key)
        UPDATE documents d SET raw_item_id = item.id, storage_bucket = item.storage_bucket,
            raw_key = item.raw_key, file_class = 'file' FROM item WHERE d.id = item.id
        """,
        (CANARY,),
    )
    return judge_pointers(connection, only=CANARY)


CONTROLS: Mapping[str, Control] = {RAW_FIRST: raw_first_control}
"""The control of each gate."""


def gates_turn_red(
    installation: Installation, gates: Sequence[str], controls: Mapping[str, Control] = CONTROLS
) -> Verdict:
    """Show every gate its fault; red when one lets it pass, unmeasured when one has no control."""
    missing = [gate for gate in gates if gate not in controls]
    if missing:
        return unmeasured("a gate has no positive control", {"without_control": len(missing)})
    blind = [gate for gate in gates if not _turns_red(installation, controls[gate])]
    return judged(
        len(blind),
        holds="every gate turned red when it was shown a fault",
        broken="a gate was shown a fault and let it pass",
        figures={"gates": len(gates), "blind": len(blind)},
        evidence=tuple(f"gate:{gate}" for gate in blind),
    )


def _turns_red(installation: Installation, control: Control) -> bool:
    with discarded(installation) as connection:
        verdict = control(connection)
    return verdict.state is State.RED and not verdict.opens_gate

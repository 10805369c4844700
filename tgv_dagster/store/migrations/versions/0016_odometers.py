"""Exchanges of odometers: trips of a vehicle are compared within what one odometer counted."""

from pathlib import Path

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table, the column and the functions."""
    statements = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    op.get_bind().connection.cursor().execute(statements)  # pyright: ignore[reportAttributeAccessIssue]

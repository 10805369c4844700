"""Bookings follow the walls of the document they came in, in locked months too."""

from pathlib import Path

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Replace the triggers of bookings and let documents pass their walls on."""
    statements = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    op.get_bind().connection.cursor().execute(statements)  # pyright: ignore[reportAttributeAccessIssue]

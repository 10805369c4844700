"""The circle of a document as a wall of its own, and people who come through a sign-on provider."""

from pathlib import Path

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns, the table and the functions that carry the wall along."""
    statements = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    op.get_bind().connection.cursor().execute(statements)  # pyright: ignore[reportAttributeAccessIssue]

"""Fields that are asked for by value get an index; a mention gets the words that name its party."""

from pathlib import Path

from alembic import op

from tgv_dagster.understand.naming import name_words

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_AT_ONCE = 10_000


def upgrade() -> None:
    """Add functions, indexes and the column, and fill it for the mentions that stand."""
    cursor = op.get_bind().connection.cursor()  # pyright: ignore[reportAttributeAccessIssue]
    cursor.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    names = cursor.execute("SELECT DISTINCT name_raw FROM contact_mentions").fetchall()
    for start in range(0, len(names), _AT_ONCE):
        part = [name for (name,) in names[start : start + _AT_ONCE]]
        cursor.execute(
            "UPDATE contact_mentions m SET name_words = string_to_array(t.words, ' ')"
            " FROM unnest(%s::text[], %s::text[]) AS t (name, words)"
            " WHERE m.name_raw IS NOT DISTINCT FROM t.name",
            (part, [" ".join(name_words(name)) for name in part]),
        )
    cursor.execute("ALTER TABLE contact_mentions ALTER COLUMN name_words SET NOT NULL")
    cursor.execute(
        "CREATE INDEX contact_mentions_names ON contact_mentions"
        " USING gin (name_words) WITH (fastupdate = off)"
    )

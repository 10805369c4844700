"""A page of the inbox costs the same number of statements however many cases are open."""

from __future__ import annotations

from pathlib import Path

from postgres_tap import tapped
from web_builders import document, fresh_database, opened, question, serving


def test_the_inbox_asks_a_constant_number_of_statements(
    server_url: str, template: str, tmp_path: Path
) -> None:
    with (
        fresh_database(server_url, template) as url,
        tapped(url, tmp_path) as tap,
        opened(tap.url, tmp_path / "home") as installation,
        serving(installation) as service,
    ):
        service.get("/api/inbox", "anna")

        def page() -> tuple[int, int]:
            with tap.counting() as statements:
                shown = service.get("/api/inbox?limit=50", "anna").json()["cases"]
            return statements[0], len(shown)

        question(service, document(service), "due_date")
        few, one = page()
        for _ in range(30):
            question(service, document(service), "due_date", "doc_type")
        many, more = page()
    assert (one, more) == (1, 31)
    assert many == few


def test_the_inbox_pages_on(server_url: str, template: str, tmp_path: Path) -> None:
    with (
        fresh_database(server_url, template) as url,
        opened(url, tmp_path / "home") as installation,
        serving(installation) as service,
    ):
        made = [question(service, document(service), "due_date") for _ in range(5)]
        seen: list[int] = []
        after = 0
        while True:
            page = service.get(f"/api/inbox?limit=2&after={after}", "anna").json()
            seen += [one["case"]["id"] for one in page["cases"]]
            if page["next_after"] is None:
                break
            after = page["next_after"]
    assert seen == made

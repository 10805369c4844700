"""Text formats, and the pure parts beneath all readers: layout, quality, outcomes."""

import random
from pathlib import Path

import pytest
from extraction_files import read, written
from hypothesis import given, settings
from hypothesis import strategies as st

from tgv_dagster.arrive.filetype import Family, FileType
from tgv_dagster.understand.extracted import PageText, WordBoxes, cache_key
from tgv_dagster.understand.extraction import (
    Extraction,
    ExtractionSettings,
    Method,
    Status,
    extract,
)
from tgv_dagster.understand.layout import HYPHEN, lay_out
from tgv_dagster.understand.text_quality import GOOD, score


@pytest.mark.parametrize(
    ("name", "raw", "text"),
    [
        ("a.txt", "Größe\r\nund Maß".encode(), "Größe\nund Maß"),
        ("a.txt", "Über 5 € für März".encode("cp1252"), "Über 5 € für März"),
        ("a.txt", "\ufeffZeile mit Ümlaut".encode("utf-16"), "Zeile mit Ümlaut"),
        ("a.txt", "ohne Marke, aber breit".encode("utf-16-le"), "ohne Marke, aber breit"),
        ("a.txt", b"Guten Tag\0 Herr Meier " * 5, "Guten Tag Herr Meier " * 5),
        ("a.vcf", b"BEGIN:VCARD\r\nFN:Erika\r\nEND:VCARD\r\n",
         "Erika\n"),
    ],
)  # fmt: skip
def test_text_is_decoded_and_storable(name: str, raw: bytes, text: str, tmp_path: Path):
    found = read(written(tmp_path / name, raw))

    assert found.text == text and found.status is Status.COMPLETE


def test_html_shows_what_a_reader_sees(tmp_path: Path):
    markup = (
        '<html><head><meta charset="iso-8859-1"><style>p {}</style><script>var x</script></head>'
        "<body><h1>Größe</h1><table><tr><td>Summe</td><td>12,50</td></tr></table></body></html>"
    )

    found = read(written(tmp_path / "a", markup.encode("latin-1")))

    assert [line.split() for line in found.text.splitlines() if line] == [
        ["Größe"], ["Summe", "12,50"],
    ]  # fmt: skip


def test_html_nested_thousands_deep_keeps_its_text(tmp_path: Path):
    markup = "<html>" + "<div>" * 20_000 + "wichtig" + "</div>" * 20_000

    assert "wichtig" in read(written(tmp_path / "a.html", markup.encode())).text


def test_xml_becomes_names_and_values(tmp_path: Path):
    raw = b'<a:Order xmlns:a="u"><No>7</No><Line qty="2">Schraube</Line></a:Order>'

    assert read(written(tmp_path / "a", raw)).text.splitlines() == [
        "No: 7", "Line: Schraube (qty: 2)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        (b'<!DOCTYPE l [<!ENTITY a "b">]><l>&a;</l>', "document type"),
        (b'<?xml version="1.0"?><a><b></a>', "well-formed"),
        (b"<?xml version='1.0'?>" + b"<a>" * 5000 + b"</a>" * 5000, "well-formed"),
    ],
)
def test_hostile_xml_fails_with_a_reason(raw: bytes, word: str, tmp_path: Path):
    found = read(written(tmp_path / "a", raw))

    assert found.status is Status.FAILED and word in found.reason


def test_a_mail_file_shows_its_head_and_body(tmp_path: Path):
    raw = (
        b"From: Erika <e@example.org>\r\nSubject: =?utf-8?q?R=C3=BCckfrage?=\r\n"
        b"Date: Mon, 4 Mar 2024 10:00:00 +0100\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n\r\nGuten Tag\r\n--b\r\n'
        b'Content-Disposition: attachment; filename="a.csv"\r\n\r\na;b\r\n1;2\r\n--b--\r\n'
    )

    found = read(written(tmp_path / "a", raw), embedded_dir=tmp_path / "i")

    assert "Subject: Rückfrage" in found.text and "Guten Tag" in found.text
    assert [item.name for item in found.embedded] == ["a.csv"]


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"", Status.EMPTY),
        (b" \n\t ", Status.EMPTY),
        (b"ID3\x03\0" * 9, Status.UNSUPPORTED),
        (b"\x1aE\xdf\xa3" * 9, Status.UNSUPPORTED),
    ],
)
def test_what_cannot_be_read_says_why(raw: bytes, status: Status, tmp_path: Path):
    found = read(written(tmp_path / "a", raw))

    assert found.status is status and found.reason and not found.text.strip()


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from([f for f in Family if f not in (Family.IMAGE,)]),
    st.sampled_from(["application/pdf", "text/html", "application/msword", "application/zip",
                     "application/rtf", "application/x-tar", "application/vnd.ms-excel",
                     "application/ms-tnef", "application/pkcs7-mime", "application/gzip",
                     "application/vnd.ms-outlook", "text/csv", "application/xml"]),
    st.sampled_from([b"%PDF-1.4\n", b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"{\\rtf1 ",
                     b"<a>", b"\x1f\x8b\x08", b"\x78\x9f\x3e\x22", b"0\x82\x01\x00", b""]),
    st.binary(min_size=1, max_size=400),
)  # fmt: skip
def test_no_bytes_make_a_reader_raise(tmp_path_factory, family, media_type, head, body):
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(head + body)

    found = extract(path, FileType(media_type, family, ""), ExtractionSettings(ocr=False))

    assert found.status in Status
    assert found.status is Status.COMPLETE or found.reason
    found.text.encode("utf-8")
    assert Extraction.from_json(found.to_json()) == found


def test_the_cache_key_changes_with_content_and_reading():
    plain = ExtractionSettings()
    keys = {
        cache_key("a", plain),
        cache_key("b", plain),
        cache_key("a", ExtractionSettings(languages=("deu",))),
        cache_key("a", ExtractionSettings(passwords=("x",))),
        cache_key("a", ExtractionSettings(ocr=False)),
    }
    assert len(keys) == 5 and cache_key("a", ExtractionSettings()) in keys


def test_settings_cross_the_border_and_hide_their_passwords(tmp_path: Path):
    settings = ExtractionSettings(passwords=("geheim",), embedded_dir=tmp_path)

    assert ExtractionSettings.from_json(settings.to_json()) == settings
    assert "geheim" not in repr(settings)


def test_positions_are_found_inside_a_run():
    page = PageText(1, "Summe 12,50 EUR\nEnde", Method.TEXT_LAYER, words=WordBoxes.of(
        [(0, 15), (16, 20)], [(100, 10, 250, 22), (100, 30, 140, 42)]))  # fmt: skip

    (amount,) = page.locate(6, 11)

    assert (amount.start, amount.end, amount.y0, amount.y1) == (6, 11, 10, 22)
    assert 140 < amount.x0 < 180 and 195 < amount.x1 < 225
    assert [box.start for box in page.locate(12, 18)] == [12, 16]
    assert PageText(1, "x", Method.NATIVE).locate(0, 1) == ()


def _word(text: str, x: float, y: float, size: float = 10) -> tuple[str, tuple[float, ...]]:
    return text, (x, y, x + len(text) * size / 2, y + size)


@given(st.integers(0, 2**32), st.integers(2, 8), st.integers(2, 12))
def test_rows_of_a_table_survive_any_drawing_order(seed: int, columns: int, rows: int):
    cells = [
        _word(f"r{row}c{column}", 40 + 70 * column, 50 + 15 * row)
        for column in range(columns)
        for row in range(rows)
    ]
    random.Random(seed).shuffle(cells)

    laid = lay_out([c[0] for c in cells], range(len(cells)), [c[1] for c in cells])

    assert [line.split() for line in laid.text.split("\n")] == [
        [f"r{row}c{column}" for column in range(columns)] for row in range(rows)
    ]


@given(st.lists(st.text("abcäß 1,", min_size=1, max_size=6).filter(str.strip), max_size=30))
def test_spans_point_to_their_words(words: list[str]):
    words = [word.strip() for word in words]
    placed = [_word(word, 30 + 60 * (n % 4), 40 + 14 * (n // 4)) for n, word in enumerate(words)]

    laid = lay_out(words, [n // 4 for n in range(len(words))], [box for _, box in placed])

    assert [laid.text[start:end] for start, end in laid.spans] == [words[n] for n in laid.order]
    assert sorted(laid.order) == list(range(len(words)))


def test_a_word_over_the_line_end_is_joined_or_keeps_its_hyphen():
    words = ["Rech" + HYPHEN, "nung an Müller" + HYPHEN, "Lüdenscheidt"]
    boxes = [_word(word, 40, 50 + 14 * n)[1] for n, word in enumerate(words)]

    assert lay_out(words, [0, 1, 2], boxes).text == "Rechnung an Müller-Lüdenscheidt"


@pytest.mark.parametrize(
    "text",
    [
        "Sehr geehrte Damen und Herren, hiermit erhalten Sie die Rechnung für den Monat März.",
        "Veuillez trouver ci-joint la facture relative aux prestations du mois de janvier.",
        "Szanowni Państwo, w załączeniu przesyłamy fakturę za usługi wykonane w marcu tego roku",
        "Уважаемые господа, направляем вам счёт за услуги, оказанные в марте этого года",
        "Pos Artikel Menge Preis\n1 Schraube 100 12,00\nUSt 19% 2,93 IBAN DE89370400440532013000",
        "12,50 13,40 1.234,00\n2024-01-03 44,00 55\nSumme 1.345,90 EUR",
        "Kapitel 1 ............ 3\nKapitel 2 ............ 17\nKapitel 3 ............ 99",
        "السلام عليكم ورحمة الله وبركاته",
    ],
)
def test_clean_text_scores_good(text: str):
    assert score(text) >= GOOD


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n ",
        "R e c h n u n g N r . 1 2 3 S e h r g e e h r t e D a m e n u n d H e r r e n",
        "Vhku jhhkuwh Gdphq xqg Khuuhq, klhuplw hukdowhq Vlh glh Uhfkqxqj iüu ghq Prqdw Päuc",
        "6HKU JHHKUWH 'DPHQ XQG +HUUHQ KLHUPLW HUKDOWHQ 6LH GLH 5HFKQXQJ I€U GHQ 0RQDW",
        "\uf053\uf065\uf068\uf072 \uf067\uf065\uf065\uf068\uf072\uf074\uf065",
        "Ïðèâåò ìèð ýòî òåñò ïëîõîé êîäèðîâêè äëÿ ïðîâåðêè êà÷åñòâà òåêñòà íà ñòðàíèöå ñ÷åò",
        "~ | 4 ,; ij ' l1 |) _ wv -- x7 \" ' = ~~ il |i ^^ {} \\ #",
        "(cid:12)(cid:44)(cid:3)(cid:81) (cid:9)(cid:77)",
    ],
)
def test_garbage_scores_bad(text: str):
    assert score(text) < GOOD


@given(st.text(max_size=300))
def test_any_text_has_a_score(text: str):
    assert 0.0 <= score(text) <= 1.0

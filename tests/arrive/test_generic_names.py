"""UPL-12: which names say nothing, and which are the words of a person."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from tgv_dagster.arrive.generic_names import is_generic

GENERIC = """
image.jpg
image (1).jpg
image0.jpeg
image001.png
IMG_1234.HEIC
IMG_E1234.JPG
IMG_20260302_123456.jpg
IMG-20260302-WA0007.jpg
DSC_0001.JPG
DSC00123.ARW
DSCN1234.jpg
P1010101.JPG
DJI_0001.JPG
GOPR0012.JPG
PXL_20260302_101112345.jpg
PXL_20260302_101112345.MP.jpg
20260302_101112.jpg
2026-03-02 10.11.12.jpg
1000012345.jpg
FullSizeRender.jpg
VID_20260302_101112.mp4
VID-20260302-WA0001.mp4
Screenshot.png
Screenshot_2026-03-02-10-11-12.png
Screenshot 2026-03-02 at 10.11.12.png
Screenshot_20260302-101112_Chrome.jpg
Bildschirmfoto 2026-03-02 um 10.11.12.png
Capture d’écran 2026-03-02 à 10.11.12.png
Capture d'écran (12).png
Scan.pdf
Scan0001.pdf
scan_20260302.pdf
Scan 12.03.2026.pdf
SCAN 2 März 2026.pdf
Gescanntes Dokument.pdf
Scanned Document.pdf
Document scanné.pdf
Numérisation.pdf
Numérisation_20260302.pdf
Numériser 12.pdf
CamScanner 03-02-2026 10.11.pdf
Adobe Scan 02.03.2026.pdf
Adobe Scan 2 mars 2026.pdf
Microsoft Lens.pdf
Office Lens 20260302.pdf
WhatsApp Image 2026-03-02 at 10.11.12.jpeg
WhatsApp Image 2026-03-02 at 10.11.12 (1).jpeg
WhatsApp Bild 2026-03-02 um 10.11.12.jpeg
WhatsApp Audio 2026-03-02 at 10.11.12.opus
PHOTO-2026-03-02-10-11-12.jpg
Foto.jpg
Foto 12.03.26.jpg
Foto am 02.03.2026.jpg
Photo du 02-03-2026.jpg
signal-2026-03-02-10-11-12-123.jpg
Neues Dokument.pdf
Nouveau document 2.pdf
New Document(3).pdf
Unbenannt-1.pdf
Sans titre.pdf
Ohne Titel.pdf
Neue Aufnahme 3.m4a
Sprachmemo.m4a
Enregistrement.m4a
attachment.pdf
Anhang.pdf
Anlage 1.pdf
pièce jointe.pdf
download (2).pdf
unknown.jpeg
E2F4A1B0-1234-4ABC-9DEF-0123456789AB.jpg
6f1ed002ab5595859014ebf0951522d9.jpg
""".strip().splitlines()

TELLING = """
Rechnung 2026-03-02.pdf
Scan Mietvertrag.pdf
Foto Badezimmer.jpg
Screenshot Kontoauszug.png
R-2026-17.pdf
E-17.pdf
Mai 2026.pdf
Photovoltaik.pdf
Filet.pdf
Dokumentation.pdf
IMG Holzkontor.jpg
Bild der Anlage.jpg
Anlage Rechnung 17.pdf
WhatsApp Vertrag Kita.jpeg
Numérisation bail Altland.pdf
照片契約.jpg
defaced.pdf
4711.pdf
4711-26.pdf
2026-03-02.pdf
DE02120300000000202051.pdf
""".strip().splitlines()


@pytest.mark.parametrize("name", GENERIC)
def test_a_name_of_a_device_says_nothing(name: str) -> None:
    assert is_generic(PurePosixPath(name).stem)


@pytest.mark.parametrize("name", TELLING)
def test_a_word_of_a_person_is_kept(name: str) -> None:
    assert not is_generic(PurePosixPath(name).stem)

"""What arrives without a place: mails, and the files an intake must survive (`_unsorted`)."""

from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from io import BytesIO

from PIL import Image, ImageDraw
from reportlab.platypus import Flowable

from samplekit import atelier, nordwind
from samplekit.money import position, totals
from samplekit.paper import SANS, SERIF, Letter, invoice_table, letter_pdf, paragraphs
from samplekit.parties import GARAGE, TIDEWACHT, Firm, own
from samplekit.sample import Sample

FIRM_FOLDER = "nordwind/_unsorted"
HOME_FOLDER = "familie-brandt/_unsorted"
NORDWIND = own("nordwind-gmbh")
ATELIER = own("atelier-sarl")
FAMILY = own("familie-brandt")
SHARPENER = Firm(
    "Schleiferei Krummzahn OHG",
    "Wetzsteinweg 14",
    "21073 Hamburg",
    "DE",
    vat_id="DE999600520",
    register="Amtsgericht Hamburg HRA 299600",
    mail="buero@krummzahn.example",
    bank="Elbufer Handelsbank AG",
    iban="DE72999000660031415926",
    bic="XELHDEH1XXX",
)


def sharpening_invoice() -> bytes:
    """Saw blades sharpened; hangs two mails deep."""
    lines = (position("Kreissägeblatt 300 mm schärfen", "9", "Stk", "14.50"),)
    body: list[Flowable] = [
        *invoice_table(lines, totals(lines, "19"), "de", SERIF),
        *paragraphs(SERIF, "Leistung am 11.03.2026. Zahlbar sofort, spätestens bis 26.03.2026."),
    ]
    info = (("Rechnung", "WK-3390"), ("Datum", "12.03.2026"))
    return letter_pdf(
        Letter(
            SHARPENER,
            NORDWIND.address,
            "Rechnung WK-3390",
            body,
            SERIF,
            info,
            claim="scharf seit 1931",
        )
    )


def premium_invoice() -> bytes:
    """The yearly premium of the liability policy."""
    lines = (
        position(
            "Betriebshaftpflicht BH-4471-0093, 01.12.2026 bis 01.12.2027", "1", "Jahr", "1012.00"
        ),
    )
    body: list[Flowable] = [
        *invoice_table(lines, totals(lines, "19"), "de", SANS, tax_text="Versicherungsteuer 19 %"),
        *paragraphs(
            SANS,
            "Wir buchen den Beitrag am 01.12.2026 von Ihrem Konto ab. Grundlage ist Ihr "
            "Versicherungsschein BH-4471-0093.",
        ),
    ]
    info = (("Beitragsrechnung", "BR-26-90417"), ("Datum", "02.11.2026"))
    recipient = (NORDWIND.name, NORDWIND.street, NORDWIND.town)
    return letter_pdf(
        Letter(
            TIDEWACHT,
            recipient,
            "Beitragsrechnung BR-26-90417",
            body,
            SANS,
            info,
            claim="gegründet am Deich",
        )
    )


@dataclass(frozen=True, slots=True)
class Head:
    """The header lines every mail has; `date` is written out, `key` makes the Message-ID."""

    sender: str
    to: str
    subject: str
    date: str
    key: str


def _mail(head: Head, text: str) -> EmailMessage:
    message = EmailMessage(policy=SMTP)
    message["From"] = head.sender
    message["To"] = head.to
    message["Subject"] = head.subject
    message["Date"] = head.date
    message["Message-ID"] = f"<{head.key}>"
    message.set_content(text, cte="quoted-printable")
    return message


def _attach_pdf(message: EmailMessage, data: bytes, name: str, disposition: str) -> None:
    message.add_attachment(
        data, maintype="application", subtype="pdf", filename=name, disposition=disposition
    )


def _bytes(message: EmailMessage) -> bytes:
    """The mail with boundaries that are the same every time."""
    multiparts = [part for part in message.walk() if part.get_content_maintype() == "multipart"]
    for number, part in enumerate(multiparts):
        part.set_boundary(f"=_grenze_{number:02d}_nordwind")
    return message.as_bytes()


def wrong_mailbox() -> bytes:
    """Sent to the joinery's address, but the invoice is made out to the workshop in Lyon."""
    head = Head(
        f"Garage du Pont Tournant <{GARAGE.mail}>",
        NORDWIND.mail,
        "Facture GPT-8841",
        "Mon, 16 Mar 2026 17:22:40 +0100",
        "gpt-8841.20260316@pont-tournant.example",
    )
    message = _mail(
        head,
        "Bonjour,\n\nveuillez trouver ci-joint notre facture pour la fourgonnette.\n\n"
        "Cordialement,\nLe garage\n",
    )
    _attach_pdf(message, atelier.garage_invoice(), "GPT-8841.pdf", "attachment")
    return _bytes(message)


def forwarded_mail() -> bytes:
    """A mail that carries another mail, which carries the invoice."""
    inner = _mail(
        Head(
            f"Schleiferei Krummzahn <{SHARPENER.mail}>",
            "mareike@nordwind-objektbau.example",
            "Ihre Rechnung WK-3390",
            "Thu, 12 Mar 2026 09:05:11 +0100",
            "wk-3390@krummzahn.example",
        ),
        "Moin Frau Petersen,\n\ndie Sägeblätter sind fertig, Rechnung im Anhang.\n",
    )
    _attach_pdf(inner, sharpening_invoice(), "Rechnung_WK-3390.pdf", "attachment")
    inner.set_boundary("=_innen_nordwind")
    outer = _mail(
        Head(
            "Mareike Petersen <mareike@nordwind-objektbau.example>",
            NORDWIND.mail,
            "WG: Ihre Rechnung WK-3390",
            "Thu, 12 Mar 2026 10:31:02 +0100",
            "wg-0312@nordwind-objektbau.example",
        ),
        "Für die Buchhaltung, siehe angehängte Mail.\n\nMareike\n",
    )
    outer.add_attachment(inner)
    return _bytes(outer)


def _logo() -> bytes:
    picture = Image.new("RGB", (180, 60), (20, 60, 90))
    draw = ImageDraw.Draw(picture)
    draw.polygon([(20, 50), (32, 10), (44, 50)], fill=(250, 250, 250))
    draw.rectangle((60, 22, 165, 30), fill=(240, 200, 60))
    draw.rectangle((60, 36, 140, 42), fill=(250, 250, 250))
    target = BytesIO()
    picture.save(target, "PNG")
    return target.getvalue()


def inline_parts() -> bytes:
    """A logo the HTML refers to, and a PDF that calls itself inline as well."""
    message = _mail(
        Head(
            f"Tidewacht Versicherung <{TIDEWACHT.mail}>",
            NORDWIND.mail,
            "Ihre Beitragsrechnung BR-26-90417",
            "Mon, 2 Nov 2026 06:14:55 +0100",
            "br-26-90417@tidewacht.example",
        ),
        "Guten Tag,\n\nanbei erhalten Sie Ihre Beitragsrechnung.\n\nTidewacht Versicherung AG\n",
    )
    message.add_alternative(
        "<html><body><p>Guten Tag,</p><p>anbei erhalten Sie Ihre Beitragsrechnung.</p>"
        '<p><img src="cid:logo@tidewacht.example" alt="Tidewacht"></p></body></html>',
        subtype="html",
        cte="quoted-printable",
    )
    page = list(message.iter_parts())[1]
    assert isinstance(page, EmailMessage)
    page.add_related(
        _logo(),
        maintype="image",
        subtype="png",
        cid="<logo@tidewacht.example>",
        filename="logo.png",
        disposition="inline",
    )
    _attach_pdf(message, premium_invoice(), "Beitragsrechnung_BR-26-90417.pdf", "inline")
    return _bytes(message)


def cancellation() -> bytes:
    """No attachment, and the text is the message that matters."""
    message = _mail(
        Head(
            "Pfarrbüro Sankt Annen <buero@sankt-annen-gemeinde.example>",
            NORDWIND.mail,
            "Re: Parkettpflege Bücherei, Vertrag PP-2023-07",
            "Fri, 29 May 2026 11:48:30 +0200",
            "20260529.114830@sankt-annen-gemeinde.example",
        ),
        "Sehr geehrter Herr Brandt,\n\n"
        "wie telefonisch besprochen pflegt unser Hausmeister den Boden künftig selbst.\n"
        "Vertrag gekündigt zum 31.08. Bitte bestätigen Sie uns die Kündigung des Pflegevertrages\n"
        "PP-2023-07 mit der Nordwind GmbH kurz schriftlich.\n\n"
        "Mit freundlichen Grüßen\nRoswitha Engel, Pfarrbüro\n",
    )
    message["In-Reply-To"] = "<pp-2023-07.20260511@nordwind-objektbau.example>"
    message["References"] = "<pp-2023-07.20260511@nordwind-objektbau.example>"
    return _bytes(message)


def french_name() -> bytes:
    """A French mail whose attachment name is split and percent-encoded (RFC 2231)."""
    message = _mail(
        Head(
            "Mutuelle des Faîtières <pro@mutuelle-faitieres.example>",
            ATELIER.mail,
            "Votre attestation d'assurance 2026",
            "Mon, 23 Mar 2026 14:02:19 +0100",
            "mrp-55120.attestation@mutuelle-faitieres.example",
        ),
        "Madame,\n\nvous trouverez en pièce jointe l'attestation demandée par votre bailleur.\n\n"
        "Bien à vous,\nle service professionnels\n",
    )
    _attach_pdf(message, atelier.insurance_certificate(), "NAME.pdf", "attachment")
    split = (
        b"filename*0*=UTF-8''Attestation%20d%27assurance%20%E2%80%93%20;\r\n"
        b" filename*1*=Atelier%20du%20Vent%20%28ann%C3%A9e%202026%29;\r\n"
        b' filename*2=".pdf"'
    )
    return _bytes(message).replace(b'filename="NAME.pdf"', b"\r\n " + split)


def newsletter() -> bytes:
    """Bulk mail that a routing rule blocks."""
    message = _mail(
        Head(
            "Der Möbelspiegel <post@moebelspiegel.example>",
            NORDWIND.mail,
            "Newsletter März: Esche ist die neue Eiche",
            "Wed, 4 Mar 2026 05:00:00 +0100",
            "nl-2026-03@moebelspiegel.example",
        ),
        "Unsere Themen: helle Hölzer, Messe im Mai, Rabatt auf das Jahresabo (nur 89,00 EUR).\n",
    )
    message["List-Unsubscribe"] = "<mailto:abmelden@moebelspiegel.example>"
    message["Precedence"] = "bulk"
    message.add_alternative(
        "<html><body><h1>Esche ist die neue Eiche</h1><p>Helle Hölzer, Messe im Mai, Rabatt auf "
        "das Jahresabo (nur 89,00 EUR).</p></body></html>",
        subtype="html",
        cte="quoted-printable",
    )
    return _bytes(message)


def italian_confirmation() -> bytes:
    """An Italian mail to the household, text only."""
    return _bytes(
        _mail(
            Head(
                "Bruna Torchetti <bruna@casa-ulivella.example>",
                FAMILY.mail,
                "Caparra ricevuta",
                "Tue, 3 Feb 2026 19:40:12 +0100",
                "caparra-0203@casa-ulivella.example",
            ),
            "Gentile famiglia Brandt,\n\n"
            "confermo di aver ricevuto la caparra di 567,00 EUR per il soggiorno dal 18 luglio al\n"
            "1° agosto 2026. Il codice del portone è 4417, le chiavi sono nella cassetta verde.\n\n"
            "Un caro saluto da Lerici,\nBruna\n",
        )
    )


def silent_audio() -> bytes:
    """An ID3 tag and a few silent MPEG frames: a voice note as far as any reader can tell."""
    title = b"\x03Sprachnotiz"
    frame = b"TIT2" + len(title).to_bytes(4, "big") + b"\x00\x00" + title
    tag = b"ID3\x03\x00\x00" + len(frame).to_bytes(4, "big") + frame
    silence = (b"\xff\xfb\x90\xc4" + bytes(413)) * 12
    return tag + silence


def broken_pdf() -> bytes:
    """A PDF whose writer stopped before the page tree: nothing that a repair could bring back."""
    whole = nordwind.bookkeeping_note()
    return whole[: whole.index(b"/Type /Pages") - 60]


def samples() -> list[Sample]:
    """Mails and difficult files of both tenants."""
    files = {
        f"{FIRM_FOLDER}/Mail_Garage_GPT-8841.eml": wrong_mailbox(),
        f"{FIRM_FOLDER}/Mail_WG_Schleiferei.eml": forwarded_mail(),
        f"{FIRM_FOLDER}/Mail_Beitragsrechnung_inline.eml": inline_parts(),
        f"{FIRM_FOLDER}/Mail_Kündigung_Parkettpflege.eml": cancellation(),
        f"{FIRM_FOLDER}/Mail_attestation.eml": french_name(),
        f"{FIRM_FOLDER}/Newsletter_Möbelspiegel.eml": newsletter(),
        f"{FIRM_FOLDER}/Kopie von Rechnung Holzkontor (1).pdf": nordwind.supplier_invoice(),
        f"{FIRM_FOLDER}/Scan_0007.pdf": b"",
        f"{FIRM_FOLDER}/Scan_0008.pdf": broken_pdf(),
        f"{FIRM_FOLDER}/Sprachnotiz_0314.mp3": silent_audio(),
        f"{HOME_FOLDER}/Conferma_caparra.eml": italian_confirmation(),
    }
    return [Sample(path, data) for path, data in files.items()]

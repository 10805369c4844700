"""E-invoices: one shape for all syntaxes, found by root element, nothing dropped in silence."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from extraction_files import LETTER, read, text_pdf, with_attachments, written
from hypothesis import given, settings
from hypothesis import strategies as st

from tgv_dagster.understand.einvoice_model import Syntax
from tgv_dagster.understand.extracted import ReaderError
from tgv_dagster.understand.extraction import Extraction, Method, Status
from tgv_dagster.understand.readers.einvoice import NotAnInvoiceError, read_einvoice, render_text

UBL = """<?xml version="1.0" encoding="UTF-8"?>
<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"
 xmlns:c="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"
 xmlns:a="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2">
<c:CustomizationID>urn:cen.eu:en16931:2017#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0</c:CustomizationID>
<c:ID>RE-7</c:ID><c:IssueDate>2024-03-01</c:IssueDate><c:DueDate>2024-03-31</c:DueDate>
<c:InvoiceTypeCode>380</c:InvoiceTypeCode><c:Note>Danke</c:Note>
<c:DocumentCurrencyCode>EUR</c:DocumentCurrencyCode><c:BuyerReference>04011000</c:BuyerReference>
<a:ContractDocumentReference><c:ID>V-12</c:ID></a:ContractDocumentReference>
<a:AccountingSupplierParty><a:Party>
<a:PostalAddress><c:StreetName>Weg 1</c:StreetName><c:CityName>Köln</c:CityName>
<c:PostalZone>50667</c:PostalZone><a:Country><c:IdentificationCode>DE</c:IdentificationCode></a:Country></a:PostalAddress>
<a:PartyTaxScheme><c:CompanyID>DE123456789</c:CompanyID><a:TaxScheme><c:ID>VAT</c:ID></a:TaxScheme></a:PartyTaxScheme>
<a:PartyLegalEntity><c:RegistrationName>Muster GmbH</c:RegistrationName><c:CompanyID>HRB 9</c:CompanyID></a:PartyLegalEntity>
</a:Party></a:AccountingSupplierParty>
<a:AccountingCustomerParty><a:Party><a:PartyName><c:Name>Kunde AG</c:Name></a:PartyName></a:Party></a:AccountingCustomerParty>
<a:PaymentMeans><c:PaymentMeansCode>58</c:PaymentMeansCode><a:PayeeFinancialAccount><c:ID>DE02 1203 0000 0000 2020 51</c:ID></a:PayeeFinancialAccount></a:PaymentMeans>
<a:TaxTotal><c:TaxAmount currencyID="SEK">99</c:TaxAmount></a:TaxTotal>
<a:TaxTotal><c:TaxAmount currencyID="EUR">19.00</c:TaxAmount><a:TaxSubtotal><c:TaxableAmount>100</c:TaxableAmount>
<c:TaxAmount>19.00</c:TaxAmount><a:TaxCategory><c:ID>S</c:ID><c:Percent>19</c:Percent></a:TaxCategory></a:TaxSubtotal></a:TaxTotal>
<a:LegalMonetaryTotal><c:LineExtensionAmount>100.00</c:LineExtensionAmount><c:TaxExclusiveAmount>100.00</c:TaxExclusiveAmount>
<c:TaxInclusiveAmount>119.00</c:TaxInclusiveAmount><c:PayableAmount>119.00</c:PayableAmount></a:LegalMonetaryTotal>
<a:InvoiceLine><c:ID>1</c:ID><c:InvoicedQuantity unitCode="HUR">2</c:InvoicedQuantity><c:LineExtensionAmount>100.00</c:LineExtensionAmount>
<a:Item><c:Name>Beratung</c:Name><a:ClassifiedTaxCategory><c:ID>S</c:ID><c:Percent>19</c:Percent></a:ClassifiedTaxCategory></a:Item>
<a:Price><c:PriceAmount>50</c:PriceAmount></a:Price></a:InvoiceLine>
</Invoice>"""  # noqa: E501

CII = """<rsm:CrossIndustryInvoice xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"
 xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"
 xmlns:udt="urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100">
<rsm:ExchangedDocumentContext><ram:GuidelineSpecifiedDocumentContextParameter><ram:ID>urn:cen.eu:en16931:2017</ram:ID></ram:GuidelineSpecifiedDocumentContextParameter></rsm:ExchangedDocumentContext>
<rsm:ExchangedDocument><ram:ID>F-9</ram:ID><ram:TypeCode>381</ram:TypeCode><ram:IssueDateTime><udt:DateTimeString format="102">20240229</udt:DateTimeString></ram:IssueDateTime></rsm:ExchangedDocument>
<rsm:SupplyChainTradeTransaction>
<ram:IncludedSupplyChainTradeLineItem><ram:AssociatedDocumentLineDocument><ram:LineID>1</ram:LineID></ram:AssociatedDocumentLineDocument>
<ram:SpecifiedTradeProduct><ram:Name>Vin rouge</ram:Name></ram:SpecifiedTradeProduct>
<ram:SpecifiedLineTradeAgreement><ram:NetPriceProductTradePrice><ram:ChargeAmount>5</ram:ChargeAmount></ram:NetPriceProductTradePrice></ram:SpecifiedLineTradeAgreement>
<ram:SpecifiedLineTradeDelivery><ram:BilledQuantity unitCode="C62">20</ram:BilledQuantity></ram:SpecifiedLineTradeDelivery>
<ram:SpecifiedLineTradeSettlement><ram:ApplicableTradeTax><ram:RateApplicablePercent>20</ram:RateApplicablePercent></ram:ApplicableTradeTax><ram:SpecifiedTradeSettlementLineMonetarySummation><ram:LineTotalAmount>100</ram:LineTotalAmount></ram:SpecifiedTradeSettlementLineMonetarySummation></ram:SpecifiedLineTradeSettlement>
</ram:IncludedSupplyChainTradeLineItem>
<ram:ApplicableHeaderTradeAgreement><ram:SellerTradeParty><ram:Name>Cave SARL</ram:Name><ram:PostalTradeAddress><ram:CountryID>FR</ram:CountryID></ram:PostalTradeAddress><ram:SpecifiedTaxRegistration><ram:ID schemeID="VA">FR11123456782</ram:ID></ram:SpecifiedTaxRegistration></ram:SellerTradeParty><ram:BuyerTradeParty><ram:Name>Client SA</ram:Name></ram:BuyerTradeParty></ram:ApplicableHeaderTradeAgreement>
<ram:ApplicableHeaderTradeDelivery/>
<ram:ApplicableHeaderTradeSettlement><ram:InvoiceCurrencyCode>EUR</ram:InvoiceCurrencyCode>
<ram:ApplicableTradeTax><ram:CalculatedAmount>20</ram:CalculatedAmount><ram:BasisAmount>100</ram:BasisAmount><ram:RateApplicablePercent>20</ram:RateApplicablePercent></ram:ApplicableTradeTax>
<ram:SpecifiedTradePaymentTerms><ram:DueDateDateTime><udt:DateTimeString format="102">20240331</udt:DateTimeString></ram:DueDateDateTime></ram:SpecifiedTradePaymentTerms>
<ram:SpecifiedTradeSettlementHeaderMonetarySummation><ram:LineTotalAmount>100</ram:LineTotalAmount><ram:TaxBasisTotalAmount>100</ram:TaxBasisTotalAmount><ram:TaxTotalAmount currencyID="EUR">20</ram:TaxTotalAmount><ram:GrandTotalAmount>120</ram:GrandTotalAmount><ram:DuePayableAmount>120</ram:DuePayableAmount></ram:SpecifiedTradeSettlementHeaderMonetarySummation>
</ram:ApplicableHeaderTradeSettlement></rsm:SupplyChainTradeTransaction></rsm:CrossIndustryInvoice>"""  # noqa: E501

ZUGFERD1 = (
    CII.replace("CrossIndustryInvoice", "CrossIndustryDocument")
    .replace("ExchangedDocumentContext", "SpecifiedExchangedDocumentContext")
    .replace("rsm:ExchangedDocument>", "rsm:HeaderExchangedDocument>")
    .replace("SupplyChainTradeTransaction", "SpecifiedSupplyChainTradeTransaction")
    .replace("ApplicableHeaderTrade", "ApplicableSupplyChainTrade")
    .replace("RateApplicablePercent", "ApplicablePercent")
    .replace("SpecifiedLineTrade", "SpecifiedSupplyChainTrade")
    .replace("SettlementLineMonetary", "SettlementMonetary")
    .replace("SettlementHeaderMonetary", "SettlementMonetary")
)

FATTURA = """<p:FatturaElettronica versione="FPR12" xmlns:p="http://ivaservizi.agenziaentrate.gov.it/docs/xsd/fatture/v1.2">
<FatturaElettronicaHeader><CedentePrestatore><DatiAnagrafici><IdFiscaleIVA><IdPaese>IT</IdPaese><IdCodice>01234567890</IdCodice></IdFiscaleIVA><Anagrafica><Denominazione>Marmi SRL</Denominazione></Anagrafica></DatiAnagrafici><Sede><Indirizzo>Via 1</Indirizzo><CAP>00100</CAP><Comune>Roma</Comune><Nazione>IT</Nazione></Sede></CedentePrestatore>
<CessionarioCommittente><DatiAnagrafici><CodiceFiscale>RSSMRA</CodiceFiscale><Anagrafica><Nome>Mario</Nome><Cognome>Rossi</Cognome></Anagrafica></DatiAnagrafici></CessionarioCommittente></FatturaElettronicaHeader>
<FatturaElettronicaBody><DatiGenerali><DatiGeneraliDocumento><TipoDocumento>TD04</TipoDocumento><Divisa>EUR</Divisa><Data>2024-01-15</Data><Numero>12/A</Numero><ImportoTotaleDocumento>122.00</ImportoTotaleDocumento></DatiGeneraliDocumento></DatiGenerali>
<DatiBeniServizi><DettaglioLinee><NumeroLinea>1</NumeroLinea><Descrizione>Lastra</Descrizione><PrezzoTotale>100.00</PrezzoTotale></DettaglioLinee><DatiRiepilogo><AliquotaIVA>22.00</AliquotaIVA><ImponibileImporto>100.00</ImponibileImporto><Imposta>22.00</Imposta></DatiRiepilogo></DatiBeniServizi></FatturaElettronicaBody></p:FatturaElettronica>"""  # noqa: E501


@pytest.mark.parametrize(
    ("xml", "syntax", "number", "issued", "due", "net", "tax", "gross"),
    [
        (UBL, Syntax.UBL, "RE-7", date(2024, 3, 1), date(2024, 3, 31), "100.00", "19.00", "119.00"),
        (CII, Syntax.CII, "F-9", date(2024, 2, 29), date(2024, 3, 31), "100", "20", "120"),
        (ZUGFERD1, Syntax.ZUGFERD1, "F-9", date(2024, 2, 29), date(2024, 3, 31), "100", "20",
         "120"),
        (FATTURA, Syntax.FATTURAPA, "12/A", date(2024, 1, 15), None, "100.00", "22.00", "122.00"),
    ],
)  # fmt: skip
def test_the_fields_of_every_syntax(xml, syntax, number, issued, due, net, tax, gross):
    invoice = read_einvoice(xml.encode())

    assert (invoice.syntax, invoice.number) == (syntax, number)
    assert (invoice.issue_date, invoice.due_date) == (issued, due)
    assert (invoice.net, invoice.tax, invoice.gross) == tuple(map(Decimal, (net, tax, gross)))
    assert invoice.problems == () and len(invoice.lines) == 1


def test_parties_payment_and_references():
    invoice = read_einvoice(UBL.encode())

    assert invoice.seller.name == "Muster GmbH" and invoice.seller.vat_id == "DE123456789"
    assert invoice.seller.address.city == "Köln" and invoice.buyer.name == "Kunde AG"
    assert invoice.payments[0].iban == "DE02120300000000202051"
    assert [(ref.kind, ref.number) for ref in invoice.references] == [("contract", "V-12")]


def test_credit_notes_are_known():
    assert read_einvoice(CII.encode()).is_credit_note
    assert read_einvoice(FATTURA.encode()).is_credit_note
    assert not read_einvoice(UBL.encode()).is_credit_note


def test_the_rendering_is_readable_in_the_language_of_the_seller():
    german, french = (render_text(read_einvoice(xml.encode())) for xml in (UBL, CII))

    assert "Rechnungsnummer: RE-7" in german and "Gesamtbetrag brutto: 119,00 EUR" in german
    assert "Fällig am: 31.03.2024" in german and "Beratung | 2 HUR" in german
    assert french.startswith("Avoir F-9") and "Total TTC: 120,00 EUR" in french


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("<c:TaxInclusiveAmount>119.00", "<c:TaxInclusiveAmount>118.00", "BR-CO-15"),
        ("<c:PayableAmount>119.00", "<c:PayableAmount>100.00", "BR-CO-16"),
        ("<c:LineExtensionAmount>100.00</c:LineExtensionAmount>\n<a:Item>",
         "<c:LineExtensionAmount>90.00</c:LineExtensionAmount>\n<a:Item>", "BR-CO-10"),
        ("<c:ID>RE-7</c:ID>", "", "missing: number"),
        ("2024-03-01", "01.03.2024", "IssueDate is not a date"),
        ("<c:PriceAmount>50", "<c:PriceAmount>50,00", "PriceAmount is not a decimal"),
    ],
)  # fmt: skip
def test_what_does_not_add_up_is_told(before: str, after: str, problem: str):
    assert before in UBL

    problems = read_einvoice(UBL.replace(before, after).encode()).problems

    assert any(problem in told for told in problems)


def test_an_envelope_a_mark_and_a_wrong_label_are_no_obstacle():
    """Real senders wrap, prefix and mislabel (known faults 166, 167)."""
    body = UBL.partition("?>")[2]
    wrapped = f"<StandardBusinessDocument><Header/>{body}</StandardBusinessDocument>"
    latin = UBL.replace('"UTF-8"', '"UTF-16"').encode()

    assert read_einvoice(wrapped.encode()).number == "RE-7"
    assert read_einvoice(b"\xef\xbb\xbf" + UBL.encode()).number == "RE-7"
    mislabelled = read_einvoice(latin)
    assert mislabelled.number == "RE-7" and "wrong encoding" in mislabelled.problems[0]
    assert mislabelled.seller.address.city == "Köln"


@pytest.mark.parametrize(
    "xml",
    [
        '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>' + UBL.partition("?>")[2],
        '<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><r>&b;</r>',
    ],
)
def test_document_types_are_refused(xml: str):
    with pytest.raises(ReaderError, match="document type"):
        read_einvoice(xml.encode())


@pytest.mark.parametrize("xml", [b"<dummy/>", b"<Invoice/>", b"<a><b/></a>"])
def test_other_xml_is_no_invoice(xml: bytes):
    with pytest.raises(NotAnInvoiceError):
        read_einvoice(xml)


@pytest.mark.parametrize("xml", [b"", b"<Invoice", b"\0\0", UBL[:700].encode()])
def test_broken_xml_is_refused_with_a_reason(xml: bytes):
    with pytest.raises(ReaderError):
        read_einvoice(xml)


def test_an_invoice_root_without_data_is_refused():
    with pytest.raises(ReaderError, match="without invoice data"):
        read_einvoice(b'<CrossIndustryInvoice xmlns="u"><x/></CrossIndustryInvoice>')


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([UBL, CII, FATTURA]), st.integers(0, 5000), st.binary(max_size=12))
def test_damage_ends_in_an_invoice_or_a_reason(xml: str, at: int, noise: bytes):
    raw = xml.encode()
    try:
        invoice = read_einvoice(raw[:at] + noise + raw[at + len(noise) :])
    except ReaderError as error:
        assert str(error)
    else:
        assert render_text(invoice)


def test_a_bare_xml_invoice_is_a_document_with_a_page(tmp_path: Path):
    """Known fault 169."""
    found = read(written(tmp_path / "x", UBL.encode()))

    assert found.status is Status.COMPLETE and found.pages[0].method is Method.RENDERED
    assert found.einvoice is not None and found.einvoice.number == "RE-7"
    assert Extraction.from_json(found.to_json()) == found


def test_documents_carried_in_the_xml_are_kept(tmp_path: Path):
    carried = (
        "<a:AdditionalDocumentReference><c:ID>1</c:ID><a:Attachment>"
        '<c:EmbeddedDocumentBinaryObject mimeCode="text/csv" filename="aufmass.csv">'
        "YTtiCjE7Mgo=</c:EmbeddedDocumentBinaryObject></a:Attachment></a:AdditionalDocumentReference>"
    )
    raw = UBL.replace("<a:AccountingSupplierParty>", carried + "<a:AccountingSupplierParty>")

    found = read(written(tmp_path / "x", raw.encode()), embedded_dir=tmp_path / "i")

    assert (tmp_path / "i" / found.embedded[0].sha256).read_bytes() == b"a;b\n1;2\n"
    assert found.einvoice is not None and found.einvoice.attachment_names == ("aufmass.csv",)


@pytest.mark.parametrize(
    "name",
    ["factur-x.xml", "ZUGFeRD-invoice.xml", "xrechnung.xml", "c//x//factur-x.xml", "a.bin"],
)
def test_an_invoice_in_a_pdf_is_found_by_its_content(name: str, tmp_path: Path):
    pdf = with_attachments(text_pdf(LETTER), {"notiz.xml": b"<n>1</n>", name: CII.encode()})

    found = read(written(tmp_path / "a", pdf))

    assert found.einvoice is not None and found.einvoice.number == "F-9"
    assert found.status is Status.COMPLETE


def test_of_two_invoices_in_a_pdf_the_current_syntax_counts(tmp_path: Path):
    files = {"a.xml": ZUGFERD1.encode(), "b.xml": CII.encode(), "c.xml": UBL[:900].encode()}
    pdf = with_attachments(text_pdf(LETTER), files)

    found = read(written(tmp_path / "a", pdf))

    assert found.einvoice is not None and found.einvoice.syntax is Syntax.CII
    assert "2 e-invoices" in found.reason and "not well-formed" in found.reason

"""Two e-invoices: a ZUGFeRD PDF (EN 16931, CII) and a bare XRechnung (UBL).

Both XML documents are filled from the same `EInvoice` figures, so that picture and data agree.
"""

import re
from dataclasses import dataclass
from datetime import date
from io import BytesIO

import pikepdf
from facturx import generate_from_binary
from reportlab.platypus import Flowable

from samplekit.money import Position, numeric_day, position, totals
from samplekit.paper import SANS, Letter, invoice_table, letter_pdf, paragraphs
from samplekit.parties import BUEROKOLOSS, LICHTWERK, Firm, own
from samplekit.sample import Sample

BUYER = own("nordwind-gmbh")
_UNITS = {"Stk": "C62", "Psch": "LS"}


@dataclass(frozen=True, slots=True)
class EInvoice:
    """The figures of one e-invoice; amounts in euro, one tax rate for all lines."""

    number: str
    issued: date
    delivered: date
    due: date
    seller: Firm
    order: str
    lines: tuple[Position, ...]


LIGHTING = EInvoice(
    "LW-26-1107",
    date(2026, 3, 18),
    date(2026, 3, 12),
    date(2026, 4, 17),
    LICHTWERK,
    "P-2026-014",
    (
        position("Pendelleuchte Boje, 4000 K, dimmbar", "14", "Stk", "129.90"),
        position("Notausgangsleuchte mit Einzelbatterie", "4", "Stk", "84.25"),
        position("Versand und Verpackung", "1", "Psch", "39.00"),
    ),
)
OFFICE_SUPPLIES = EInvoice(
    "BK-2026-5581",
    date(2026, 3, 9),
    date(2026, 3, 6),
    date(2026, 4, 8),
    BUEROKOLOSS,
    "EK-0091",
    (
        position("Kopierpapier A4, 80 g, 500 Blatt", "20", "Stk", "4.49"),
        position("Toner schwarz TK-99", "2", "Stk", "79.00"),
        position("Ordner breit, grau", "30", "Stk", "1.89"),
    ),
)


def _postcode_city(firm: Firm) -> tuple[str, str]:
    postcode, city = firm.town.split(" ", 1)
    return postcode, city


def _flat(xml: str) -> bytes:
    """The template as a file: declaration, one tag per line, no indentation."""
    body = re.sub(r">\s+<", ">\n<", xml.strip())
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'.encode()


def _cii_day(day: date) -> str:
    return f'<udt:DateTimeString format="102">{day:%Y%m%d}</udt:DateTimeString>'


def _cii_party(role: str, firm: Firm) -> str:
    postcode, city = _postcode_city(firm)
    return f"""
    <ram:{role}><ram:Name>{firm.name}</ram:Name>
      <ram:PostalTradeAddress><ram:PostcodeCode>{postcode}</ram:PostcodeCode>
        <ram:LineOne>{firm.street}</ram:LineOne><ram:CityName>{city}</ram:CityName>
        <ram:CountryID>{firm.country}</ram:CountryID></ram:PostalTradeAddress>
      <ram:SpecifiedTaxRegistration><ram:ID schemeID="VA">{firm.vat_id}</ram:ID>
      </ram:SpecifiedTaxRegistration></ram:{role}>"""


def _cii_line(number: int, line: Position, rate: str) -> str:
    return f"""
    <ram:IncludedSupplyChainTradeLineItem>
      <ram:AssociatedDocumentLineDocument><ram:LineID>{number}</ram:LineID>
      </ram:AssociatedDocumentLineDocument>
      <ram:SpecifiedTradeProduct><ram:Name>{line.text}</ram:Name></ram:SpecifiedTradeProduct>
      <ram:SpecifiedLineTradeAgreement><ram:NetPriceProductTradePrice>
        <ram:ChargeAmount>{line.price}</ram:ChargeAmount></ram:NetPriceProductTradePrice>
      </ram:SpecifiedLineTradeAgreement>
      <ram:SpecifiedLineTradeDelivery>
        <ram:BilledQuantity unitCode="{_UNITS[line.unit]}">{line.quantity}</ram:BilledQuantity>
      </ram:SpecifiedLineTradeDelivery>
      <ram:SpecifiedLineTradeSettlement>
        <ram:ApplicableTradeTax><ram:TypeCode>VAT</ram:TypeCode>
          <ram:CategoryCode>S</ram:CategoryCode>
          <ram:RateApplicablePercent>{rate}</ram:RateApplicablePercent></ram:ApplicableTradeTax>
        <ram:SpecifiedTradeSettlementLineMonetarySummation>
          <ram:LineTotalAmount>{line.amount}</ram:LineTotalAmount>
        </ram:SpecifiedTradeSettlementLineMonetarySummation>
      </ram:SpecifiedLineTradeSettlement>
    </ram:IncludedSupplyChainTradeLineItem>"""


def cii_xml(invoice: EInvoice) -> bytes:
    """The invoice as UN/CEFACT CII, profile EN 16931."""
    sums = totals(invoice.lines, "19")
    lines = "".join(
        _cii_line(number, line, f"{sums.rate:.2f}")
        for number, line in enumerate(invoice.lines, start=1)
    )
    base = "urn:un:unece:uncefact:data:standard"
    return _flat(f"""
<rsm:CrossIndustryInvoice xmlns:rsm="{base}:CrossIndustryInvoice:100"
    xmlns:ram="{base}:ReusableAggregateBusinessInformationEntity:100"
    xmlns:udt="{base}:UnqualifiedDataType:100">
  <rsm:ExchangedDocumentContext><ram:GuidelineSpecifiedDocumentContextParameter>
    <ram:ID>urn:cen.eu:en16931:2017</ram:ID></ram:GuidelineSpecifiedDocumentContextParameter>
  </rsm:ExchangedDocumentContext>
  <rsm:ExchangedDocument><ram:ID>{invoice.number}</ram:ID><ram:TypeCode>380</ram:TypeCode>
    <ram:IssueDateTime>{_cii_day(invoice.issued)}</ram:IssueDateTime></rsm:ExchangedDocument>
  <rsm:SupplyChainTradeTransaction>{lines}
    <ram:ApplicableHeaderTradeAgreement>
      {_cii_party("SellerTradeParty", invoice.seller)}
      {_cii_party("BuyerTradeParty", BUYER)}
      <ram:BuyerOrderReferencedDocument>
        <ram:IssuerAssignedID>{invoice.order}</ram:IssuerAssignedID>
      </ram:BuyerOrderReferencedDocument>
    </ram:ApplicableHeaderTradeAgreement>
    <ram:ApplicableHeaderTradeDelivery><ram:ActualDeliverySupplyChainEvent>
      <ram:OccurrenceDateTime>{_cii_day(invoice.delivered)}</ram:OccurrenceDateTime>
    </ram:ActualDeliverySupplyChainEvent></ram:ApplicableHeaderTradeDelivery>
    <ram:ApplicableHeaderTradeSettlement>
      <ram:InvoiceCurrencyCode>EUR</ram:InvoiceCurrencyCode>
      <ram:SpecifiedTradeSettlementPaymentMeans><ram:TypeCode>58</ram:TypeCode>
        <ram:PayeePartyCreditorFinancialAccount><ram:IBANID>{invoice.seller.iban}</ram:IBANID>
        </ram:PayeePartyCreditorFinancialAccount></ram:SpecifiedTradeSettlementPaymentMeans>
      <ram:ApplicableTradeTax><ram:CalculatedAmount>{sums.tax}</ram:CalculatedAmount>
        <ram:TypeCode>VAT</ram:TypeCode><ram:BasisAmount>{sums.net}</ram:BasisAmount>
        <ram:CategoryCode>S</ram:CategoryCode>
        <ram:RateApplicablePercent>{sums.rate:.2f}</ram:RateApplicablePercent>
      </ram:ApplicableTradeTax>
      <ram:SpecifiedTradePaymentTerms>
        <ram:DueDateDateTime>{_cii_day(invoice.due)}</ram:DueDateDateTime>
      </ram:SpecifiedTradePaymentTerms>
      <ram:SpecifiedTradeSettlementHeaderMonetarySummation>
        <ram:LineTotalAmount>{sums.net}</ram:LineTotalAmount>
        <ram:TaxBasisTotalAmount>{sums.net}</ram:TaxBasisTotalAmount>
        <ram:TaxTotalAmount currencyID="EUR">{sums.tax}</ram:TaxTotalAmount>
        <ram:GrandTotalAmount>{sums.gross}</ram:GrandTotalAmount>
        <ram:DuePayableAmount>{sums.gross}</ram:DuePayableAmount>
      </ram:SpecifiedTradeSettlementHeaderMonetarySummation>
    </ram:ApplicableHeaderTradeSettlement>
  </rsm:SupplyChainTradeTransaction>
</rsm:CrossIndustryInvoice>""")


def _picture(invoice: EInvoice) -> bytes:
    body: list[Flowable] = [
        *invoice_table(invoice.lines, totals(invoice.lines, "19"), "de", SANS),
        *paragraphs(
            SANS,
            f"Zahlbar ohne Abzug bis zum {numeric_day(invoice.due, 'de')}. Lieferung am "
            f"{numeric_day(invoice.delivered, 'de')} auf die Baustelle Kita Elbufer.",
            "Diese Rechnung enthält die Daten nach EN 16931 als eingebettete Datei.",
        ),
    ]
    info = (
        ("Rechnungsnummer", invoice.number),
        ("Rechnungsdatum", numeric_day(invoice.issued, "de")),
        ("Bestellung", invoice.order),
        ("Kundennummer", "20815"),
    )
    title = f"Rechnung {invoice.number}"
    return letter_pdf(
        Letter(invoice.seller, BUYER.address, title, body, SANS, info, claim="Licht nach Maß")
    )


def _without_clock(pdf: bytes) -> bytes:
    """The same PDF with the moment of writing replaced by a fixed one, everywhere it stands."""
    target = BytesIO()
    with pikepdf.open(BytesIO(pdf)) as document:
        for key in ("/CreationDate", "/ModDate"):
            document.docinfo[key] = "D:20260318080000Z"
        xmp = document.Root.Metadata.read_bytes().decode("utf-8")
        fixed = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)", "2026-03-18T08:00:00Z", xmp)
        document.Root.Metadata.write(fixed.encode("utf-8"))
        for item in document.objects:
            if isinstance(item, pikepdf.Stream) and "/Params" in item:
                for key in ("/CreationDate", "/ModDate"):
                    if key in item["/Params"]:
                        item["/Params"][key] = pikepdf.String("D:20260318080000Z")
        document.save(target, deterministic_id=True)
    return target.getvalue()


def zugferd_pdf() -> bytes:
    """The lighting invoice as hybrid PDF; raises when the XML breaks the EN 16931 schema."""
    hybrid = generate_from_binary(
        _picture(LIGHTING),
        cii_xml(LIGHTING),
        flavor="factur-x",
        level="en16931",
        lang="de",
        pdf_metadata={
            "author": LIGHTING.seller.name,
            "keywords": "Rechnung, ZUGFeRD",
            "title": f"Rechnung {LIGHTING.number}",
            "subject": f"Rechnung {LIGHTING.number} vom {LIGHTING.issued.isoformat()}",
        },
    )
    return _without_clock(hybrid)


def _ubl_party(firm: Firm) -> str:
    postcode, city = _postcode_city(firm)
    return f"""
    <cac:Party><cbc:EndpointID schemeID="EM">{firm.mail}</cbc:EndpointID>
      <cac:PartyName><cbc:Name>{firm.name}</cbc:Name></cac:PartyName>
      <cac:PostalAddress><cbc:StreetName>{firm.street}</cbc:StreetName>
        <cbc:CityName>{city}</cbc:CityName><cbc:PostalZone>{postcode}</cbc:PostalZone>
        <cac:Country><cbc:IdentificationCode>{firm.country}</cbc:IdentificationCode></cac:Country>
      </cac:PostalAddress>
      <cac:PartyTaxScheme><cbc:CompanyID>{firm.vat_id}</cbc:CompanyID>
        <cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme></cac:PartyTaxScheme>
      <cac:PartyLegalEntity><cbc:RegistrationName>{firm.name}</cbc:RegistrationName>
      </cac:PartyLegalEntity>
      <cac:Contact><cbc:Name>Buchhaltung</cbc:Name>
        <cbc:Telephone>{firm.phone or "040 66969 000"}</cbc:Telephone>
        <cbc:ElectronicMail>{firm.mail}</cbc:ElectronicMail></cac:Contact>
    </cac:Party>"""


def _ubl_tax_category(tag: str, rate: str) -> str:
    return (
        f"<cac:{tag}><cbc:ID>S</cbc:ID><cbc:Percent>{rate}</cbc:Percent>"
        f"<cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme></cac:{tag}>"
    )


def _ubl_line(number: int, line: Position, rate: str) -> str:
    return f"""
  <cac:InvoiceLine><cbc:ID>{number}</cbc:ID>
    <cbc:InvoicedQuantity unitCode="{_UNITS[line.unit]}">{line.quantity}</cbc:InvoicedQuantity>
    <cbc:LineExtensionAmount currencyID="EUR">{line.amount}</cbc:LineExtensionAmount>
    <cac:Item><cbc:Name>{line.text}</cbc:Name>{_ubl_tax_category("ClassifiedTaxCategory", rate)}
    </cac:Item>
    <cac:Price><cbc:PriceAmount currencyID="EUR">{line.price}</cbc:PriceAmount></cac:Price>
  </cac:InvoiceLine>"""


def ubl_invoice() -> bytes:
    """The office supplies as XRechnung 3.0 in UBL syntax."""
    invoice = OFFICE_SUPPLIES
    sums = totals(invoice.lines, "19")
    rate = f"{sums.rate:.2f}"
    base = "urn:oasis:names:specification:ubl:schema:xsd"
    profile = "urn:cen.eu:en16931:2017#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0"
    lines = "".join(
        _ubl_line(number, line, rate) for number, line in enumerate(invoice.lines, start=1)
    )
    return _flat(f"""
<ubl:Invoice xmlns:ubl="{base}:Invoice-2" xmlns:cac="{base}:CommonAggregateComponents-2"
    xmlns:cbc="{base}:CommonBasicComponents-2">
  <cbc:CustomizationID>{profile}</cbc:CustomizationID>
  <cbc:ProfileID>urn:fdc:peppol.eu:2017:poacc:billing:01:1.0</cbc:ProfileID>
  <cbc:ID>{invoice.number}</cbc:ID>
  <cbc:IssueDate>{invoice.issued.isoformat()}</cbc:IssueDate>
  <cbc:DueDate>{invoice.due.isoformat()}</cbc:DueDate>
  <cbc:InvoiceTypeCode>380</cbc:InvoiceTypeCode>
  <cbc:DocumentCurrencyCode>EUR</cbc:DocumentCurrencyCode>
  <cbc:BuyerReference>{invoice.order}</cbc:BuyerReference>
  <cac:AccountingSupplierParty>{_ubl_party(invoice.seller)}</cac:AccountingSupplierParty>
  <cac:AccountingCustomerParty>{_ubl_party(BUYER)}</cac:AccountingCustomerParty>
  <cac:Delivery><cbc:ActualDeliveryDate>{invoice.delivered.isoformat()}</cbc:ActualDeliveryDate>
  </cac:Delivery>
  <cac:PaymentMeans><cbc:PaymentMeansCode>58</cbc:PaymentMeansCode>
    <cac:PayeeFinancialAccount><cbc:ID>{invoice.seller.iban}</cbc:ID></cac:PayeeFinancialAccount>
  </cac:PaymentMeans>
  <cac:TaxTotal><cbc:TaxAmount currencyID="EUR">{sums.tax}</cbc:TaxAmount>
    <cac:TaxSubtotal><cbc:TaxableAmount currencyID="EUR">{sums.net}</cbc:TaxableAmount>
      <cbc:TaxAmount currencyID="EUR">{sums.tax}</cbc:TaxAmount>
      {_ubl_tax_category("TaxCategory", rate)}</cac:TaxSubtotal></cac:TaxTotal>
  <cac:LegalMonetaryTotal>
    <cbc:LineExtensionAmount currencyID="EUR">{sums.net}</cbc:LineExtensionAmount>
    <cbc:TaxExclusiveAmount currencyID="EUR">{sums.net}</cbc:TaxExclusiveAmount>
    <cbc:TaxInclusiveAmount currencyID="EUR">{sums.gross}</cbc:TaxInclusiveAmount>
    <cbc:PayableAmount currencyID="EUR">{sums.gross}</cbc:PayableAmount>
  </cac:LegalMonetaryTotal>{lines}
</ubl:Invoice>""")


def samples() -> list[Sample]:
    """Both e-invoices, in the folder of the joinery."""
    folder = "nordwind/nordwind-gmbh"
    return [
        Sample(f"{folder}/Rechnung_Lichtwerk_LW-26-1107.pdf", zugferd_pdf()),
        Sample(f"{folder}/BK-2026-5581.xml", ubl_invoice()),
    ]

"""E-invoices: XML becomes one structured invoice, and a readable rendering of it.

Here: UBL, UN/CEFACT CII (Factur-X, ZUGFeRD 2, XRechnung), ZUGFeRD 1 and FatturaPA, told apart by
their root element wherever it stands. Not here: validation against Schematron, and the comparison
with the picture (triage).
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path

from tgv_dagster.arrive.decoding import clean_text
from tgv_dagster.arrive.filetype import FileType
from tgv_dagster.understand.einvoice_model import (
    Address,
    Adjustment,
    EInvoice,
    InvoiceLine,
    Party,
    PaymentMeans,
    Reference,
    Syntax,
    TaxLine,
    Totals,
    XmlAttachment,
)
from tgv_dagster.understand.einvoice_text import render_text
from tgv_dagster.understand.extracted import (
    EmbeddedRole,
    Extraction,
    ExtractionSettings,
    Method,
    PageText,
    ReaderError,
    Status,
)
from tgv_dagster.understand.readers.embedding import keep
from tgv_dagster.understand.readers.xml_tree import Element, every, first, local, parse, text

__all__ = ["NotAnInvoiceError", "preference", "read", "read_attachments", "read_einvoice",
           "render_text"]  # fmt: skip

MOST_BYTES = 64 * 2**20
_CENT = Decimal("0.01")
_TOLERANCE = Decimal("0.02")
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)")
_UBL_ROOTS = {"Invoice", "CreditNote", "SelfBilledInvoice", "SelfBilledCreditNote"}
_CREDIT_ROOTS = {"CreditNote", "SelfBilledCreditNote"}
_RANK = {Syntax.UBL: 3, Syntax.CII: 3, Syntax.FATTURAPA: 2, Syntax.ZUGFERD1: 1}


class NotAnInvoiceError(ReaderError):
    """Well-formed XML whose root is no invoice that is read here."""


def read(source: Path, file_type: FileType, settings: ExtractionSettings) -> Extraction:
    """Read a bare XML invoice: rendering as its page. Raises ReaderError."""
    if source.stat().st_size > MOST_BYTES:
        raise ReaderError(f"XML larger than {MOST_BYTES} bytes")
    raw = source.read_bytes()
    invoice = read_einvoice(raw)
    files = [
        keep(item.name, item.content, EmbeddedRole.ATTACHMENT, settings)
        for item in read_attachments(raw)
        if item.content
    ]
    page = PageText(1, render_text(invoice), Method.RENDERED, 1.0)
    return Extraction(
        Status.COMPLETE,
        pages=(page,),
        engine=f"e-invoice {invoice.syntax}",
        embedded=tuple(files),
        einvoice=invoice,
    )


def preference(invoice: EInvoice) -> tuple[int, int]:
    """Orders several invoices of one file: current syntax first, then the more complete one."""
    return _RANK[invoice.syntax], -len(invoice.problems)


def read_einvoice(xml: bytes) -> EInvoice:
    """The invoice in an XML document, also inside an envelope.

    Raises NotAnInvoiceError for other XML and ReaderError for XML that is broken, has a document
    type, or is an invoice without number, parties and totals.
    """
    root, remark = parse(xml)
    node = _invoice_node(root)
    reader = {
        "CrossIndustryInvoice": _cii,
        "CrossIndustryDocument": _cii,
        "FatturaElettronica": _fattura,
    }.get(local(node), _ubl)
    found = _Findings()
    invoice = reader(node, found)
    stated = invoice.totals
    if not (invoice.number or invoice.seller.name or stated.gross or stated.payable):
        raise ReaderError("an e-invoice root without invoice data")
    problems = [*([remark] if remark else []), *found.problems, *_missing(invoice)]
    return replace(invoice, problems=(*problems, *_arithmetic(invoice)))


def read_attachments(xml: bytes) -> tuple[XmlAttachment, ...]:
    """Documents carried in the XML (BG-24). Raises ReaderError."""
    root, _ = parse(xml)
    node = _invoice_node(root)
    if local(node) == "FatturaElettronica":
        found = (
            XmlAttachment(text(item, "NomeAttachment"), "", text(item, "DescrizioneAttachment"),
                          content=_base64(text(item, "Attachment")))
            for item in every(node, "FatturaElettronicaBody/Allegati")
        )  # fmt: skip
        return tuple(found)
    if local(node) in _UBL_ROOTS:
        return tuple(_ubl_attachments(node))
    return tuple(_cii_attachments(node))


def _invoice_node(root: Element) -> Element:
    for node in root.iter():
        name = local(node)
        space = node.tag.partition("}")[0] if isinstance(node.tag, str) else ""
        if name in _UBL_ROOTS and "specification:ubl" in space.lower():
            return node
        if name in ("CrossIndustryInvoice", "CrossIndustryDocument", "FatturaElettronica"):
            return node
    raise NotAnInvoiceError(f"XML with root {local(root)} is no invoice that is read here")


class _Findings:
    """Collects values that could not be read, so that none is dropped in silence."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def amount(self, node: Element | None, path: str = "") -> Decimal | None:
        raw = text(node, path)
        if not raw:
            return None
        try:
            if _DECIMAL.fullmatch(raw):
                return Decimal(raw)
        except InvalidOperation:
            pass
        self.problems.append(f"{_last(path, node)} is not a decimal number")
        return None

    def day(self, node: Element | None, path: str = "") -> date | None:
        raw = text(node, path)
        if not raw:
            return None
        digits = re.fullmatch(r"(\d{4})-?(\d{2})-?(\d{2})(?:[TZ+\-\d].*)?", raw)
        if digits:
            try:
                return date(*map(int, digits.groups()))
            except ValueError:
                pass
        coarse = re.fullmatch(r"\d{4}-?\d{2}|\d{6}", raw) is not None
        why = "names a month or week and no day" if coarse else "is not a date"
        self.problems.append(f"{_last(path, node)} {why}")
        return None


def _last(path: str, node: Element | None) -> str:
    return path.rpartition("/")[2].partition("|")[0] or (local(node) if node is not None else "")


def _texts(nodes: Iterable[Element]) -> tuple[str, ...]:
    return tuple(clean_text(value) for node in nodes if (value := text(node)))


def _account(value: str) -> str:
    return re.sub(r"\s", "", value)


def _base64(value: str) -> bytes:
    try:
        return base64.b64decode(re.sub(r"\s", "", value), validate=False)
    except (binascii.Error, ValueError):
        return b""


# --- UBL 2.x -------------------------------------------------------------------------------------


def _ubl(node: Element, found: _Findings) -> EInvoice:
    credit = local(node) in _CREDIT_ROOTS
    currency = text(node, "DocumentCurrencyCode")
    due = found.day(node, "DueDate") or found.day(node, "PaymentMeans/PaymentDueDate")
    period = first(node, "InvoicePeriod")
    return EInvoice(
        syntax=Syntax.UBL,
        profile=text(node, "CustomizationID") or text(node, "ProfileID"),
        type_code=text(node, "InvoiceTypeCode|CreditNoteTypeCode") or ("381" if credit else "380"),
        number=text(node, "ID"),
        issue_date=found.day(node, "IssueDate"),
        due_date=due,
        currency=currency,
        seller=_ubl_party(first(node, "AccountingSupplierParty/Party")),
        buyer=_ubl_party(first(node, "AccountingCustomerParty/Party")),
        totals=_ubl_totals(node, currency, found),
        payee=_optional(_ubl_party(first(node, "PayeeParty"))),
        delivery_date=found.day(node, "Delivery/ActualDeliveryDate"),
        period_start=found.day(period, "StartDate"),
        period_end=found.day(period, "EndDate"),
        buyer_reference=text(node, "BuyerReference"),
        references=tuple(_ubl_references(node, found)),
        payment_terms=" ".join(_texts(every(node, "PaymentTerms/Note"))),
        payments=tuple(_ubl_payment(item) for item in every(node, "PaymentMeans")),
        taxes=tuple(_ubl_tax(item, found) for item in every(node, "TaxTotal/TaxSubtotal")),
        adjustments=tuple(_ubl_adjustment(i, found) for i in every(node, "AllowanceCharge")),
        lines=tuple(_ubl_line(i, found) for i in every(node, "InvoiceLine|CreditNoteLine")),
        notes=_texts(every(node, "Note")),
        attachment_names=tuple(item.name for item in _ubl_attachments(node, decoded=False)),
    )


def _optional(party: Party) -> Party | None:
    return party if party != Party() else None


def _ubl_party(node: Element | None) -> Party:
    legal = text(node, "PartyLegalEntity/RegistrationName")
    trading = text(node, "PartyName/Name")
    vat, number = "", ""
    for scheme in every(node, "PartyTaxScheme"):
        identifier = text(scheme, "CompanyID")
        if text(scheme, "TaxScheme/ID").upper() in ("VAT", "") and not vat:
            vat = identifier
        else:
            number = number or identifier
    place = first(node, "PostalAddress")
    return Party(
        name=legal or trading,
        trading_name=trading if legal and trading != legal else "",
        vat_id=vat,
        tax_number=number,
        register_id=text(node, "PartyLegalEntity/CompanyID"),
        identifiers=_texts(every(node, "PartyIdentification/ID")),
        electronic_address=text(node, "EndpointID"),
        contact=text(node, "Contact/Name"),
        phone=text(node, "Contact/Telephone"),
        email=text(node, "Contact/ElectronicMail"),
        address=Address(
            lines=_texts(every(place, "StreetName|BuildingNumber|AdditionalStreetName"))
            + _texts(every(place, "AddressLine/Line")),
            postcode=text(place, "PostalZone"),
            city=text(place, "CityName"),
            region=text(place, "CountrySubentity"),
            country=text(place, "Country/IdentificationCode"),
        ),
    )


def _ubl_totals(node: Element, currency: str, found: _Findings) -> Totals:
    money = first(node, "LegalMonetaryTotal")
    return Totals(
        lines=found.amount(money, "LineExtensionAmount"),
        allowances=found.amount(money, "AllowanceTotalAmount"),
        charges=found.amount(money, "ChargeTotalAmount"),
        net=found.amount(money, "TaxExclusiveAmount"),
        tax=found.amount(_in_currency(every(node, "TaxTotal/TaxAmount"), currency)),
        gross=found.amount(money, "TaxInclusiveAmount"),
        prepaid=found.amount(money, "PrepaidAmount"),
        rounding=found.amount(money, "PayableRoundingAmount"),
        payable=found.amount(money, "PayableAmount"),
    )


def _in_currency(nodes: Iterable[Element], currency: str) -> Element | None:
    """Tax may be stated twice, the second time in the currency of the books (BT-111)."""
    found = list(nodes)
    same = (node for node in found if node.get("currencyID", currency) == currency)
    return next(same, found[0] if found else None)


def _ubl_references(node: Element, found: _Findings) -> Iterator[Reference]:
    for kind, path in (
        ("order", "OrderReference"),
        ("contract", "ContractDocumentReference"),
        ("project", "ProjectReference"),
        ("delivery", "DespatchDocumentReference"),
        ("tender", "OriginatorDocumentReference"),
        ("preceding invoice", "BillingReference/InvoiceDocumentReference"),
    ):
        for item in every(node, path):
            if number := text(item, "ID"):
                yield Reference(kind, number, found.day(item, "IssueDate"))


def _ubl_payment(node: Element) -> PaymentMeans:
    return PaymentMeans(
        code=text(node, "PaymentMeansCode"),
        iban=_account(text(node, "PayeeFinancialAccount/ID")),
        bic=text(node, "PayeeFinancialAccount/FinancialInstitutionBranch/ID"),
        holder=text(node, "PayeeFinancialAccount/Name"),
        reference=text(node, "PaymentID"),
        mandate=text(node, "PaymentMandate/ID"),
        debited_iban=_account(text(node, "PaymentMandate/PayerFinancialAccount/ID")),
    )


def _ubl_tax(node: Element, found: _Findings) -> TaxLine:
    return TaxLine(
        category=text(node, "TaxCategory/ID"),
        rate=found.amount(node, "TaxCategory/Percent"),
        basis=found.amount(node, "TaxableAmount"),
        amount=found.amount(node, "TaxAmount"),
        exemption=text(node, "TaxCategory/TaxExemptionReason"),
    )


def _ubl_adjustment(node: Element, found: _Findings) -> Adjustment:
    return Adjustment(
        charge=text(node, "ChargeIndicator").lower() in ("true", "1"),
        amount=found.amount(node, "Amount"),
        reason=text(node, "AllowanceChargeReason"),
        rate=found.amount(node, "MultiplierFactorNumeric"),
    )


def _ubl_line(node: Element, found: _Findings) -> InvoiceLine:
    quantity = first(node, "InvoicedQuantity|CreditedQuantity")
    tax = first(node, "Item/ClassifiedTaxCategory")
    return InvoiceLine(
        number=text(node, "ID"),
        name=text(node, "Item/Name"),
        description=text(node, "Item/Description"),
        article=text(node, "Item/SellersItemIdentification/ID"),
        quantity=found.amount(quantity),
        unit=quantity.get("unitCode", "") if quantity is not None else "",
        unit_price=found.amount(node, "Price/PriceAmount"),
        net=found.amount(node, "LineExtensionAmount"),
        tax_category=text(tax, "ID"),
        tax_rate=found.amount(tax, "Percent"),
        note=" ".join(_texts(every(node, "Note"))),
    )


def _ubl_attachments(node: Element, *, decoded: bool = True) -> Iterator[XmlAttachment]:
    for item in every(node, "AdditionalDocumentReference"):
        binary = first(item, "Attachment/EmbeddedDocumentBinaryObject")
        url = text(item, "Attachment/ExternalReference/URI")
        if binary is None and not url:
            continue
        yield XmlAttachment(
            name=(binary.get("filename", "") if binary is not None else "") or text(item, "ID"),
            media_type=binary.get("mimeCode", "") if binary is not None else "",
            description=text(item, "DocumentDescription"),
            url=url,
            content=_base64(text(binary)) if decoded else b"",
        )


# --- UN/CEFACT CII and ZUGFeRD 1 -----------------------------------------------------------------

_SETTLEMENT = "ApplicableHeaderTradeSettlement|ApplicableSupplyChainTradeSettlement"
_AGREEMENT = "ApplicableHeaderTradeAgreement|ApplicableSupplyChainTradeAgreement"
_DELIVERY = "ApplicableHeaderTradeDelivery|ApplicableSupplyChainTradeDelivery"
_SUM = "SpecifiedTradeSettlementHeaderMonetarySummation|SpecifiedTradeSettlementMonetarySummation"
_LINE_SUM = (
    "SpecifiedTradeSettlementLineMonetarySummation|SpecifiedTradeSettlementMonetarySummation"
)
_RATE = "RateApplicablePercent|ApplicablePercent"


def _cii(node: Element, found: _Findings) -> EInvoice:
    context = first(node, "ExchangedDocumentContext|SpecifiedExchangedDocumentContext")
    header = first(node, "ExchangedDocument|HeaderExchangedDocument")
    trade = first(node, "SupplyChainTradeTransaction|SpecifiedSupplyChainTradeTransaction")
    agreement, delivery = first(trade, _AGREEMENT), first(trade, _DELIVERY)
    settlement = first(trade, _SETTLEMENT)
    currency = text(settlement, "InvoiceCurrencyCode")
    terms = list(every(settlement, "SpecifiedTradePaymentTerms"))
    period = first(settlement, "BillingSpecifiedPeriod")
    event = "ActualDeliverySupplyChainEvent/OccurrenceDateTime/DateTimeString"
    due = (found.day(item, "DueDateDateTime/DateTimeString") for item in terms)
    return EInvoice(
        syntax=Syntax.ZUGFERD1 if local(node) == "CrossIndustryDocument" else Syntax.CII,
        profile=text(context, "GuidelineSpecifiedDocumentContextParameter/ID"),
        type_code=text(header, "TypeCode"),
        number=text(header, "ID"),
        issue_date=found.day(header, "IssueDateTime/DateTimeString|DateTime"),
        due_date=next(filter(None, due), None),
        currency=currency,
        seller=_cii_party(first(agreement, "SellerTradeParty")),
        buyer=_cii_party(first(agreement, "BuyerTradeParty")),
        totals=_cii_totals(first(settlement, _SUM), currency, found),
        payee=_optional(_cii_party(first(settlement, "PayeeTradeParty"))),
        delivery_date=found.day(delivery, event),
        period_start=found.day(period, "StartDateTime/DateTimeString"),
        period_end=found.day(period, "EndDateTime/DateTimeString"),
        buyer_reference=text(agreement, "BuyerReference"),
        references=tuple(_cii_references(agreement, delivery, settlement, found)),
        payment_terms=" ".join(_texts(t for item in terms for t in every(item, "Description"))),
        payments=_cii_payments(settlement, terms),
        taxes=tuple(_cii_tax(item, found) for item in every(settlement, "ApplicableTradeTax")),
        adjustments=tuple(
            _cii_adjustment(item, found)
            for item in every(settlement, "SpecifiedTradeAllowanceCharge")
        ),
        lines=tuple(
            _cii_line(item, found) for item in every(trade, "IncludedSupplyChainTradeLineItem")
        ),
        notes=_texts(every(header, "IncludedNote/Content")),
        attachment_names=tuple(item.name for item in _cii_attachments(node, decoded=False)),
    )


def _cii_party(node: Element | None) -> Party:
    tax = {
        item.get("schemeID", "VA").upper(): text(item)
        for item in every(node, "SpecifiedTaxRegistration/ID")
    }
    place, contact = first(node, "PostalTradeAddress"), first(node, "DefinedTradeContact")
    trading = text(node, "SpecifiedLegalOrganization/TradingBusinessName")
    name = text(node, "Name")
    return Party(
        name=name or trading,
        trading_name=trading if trading != name else "",
        vat_id=tax.get("VA", ""),
        tax_number=tax.get("FC", ""),
        register_id=text(node, "SpecifiedLegalOrganization/ID"),
        identifiers=_texts(every(node, "ID|GlobalID")),
        electronic_address=text(node, "URIUniversalCommunication/URIID"),
        contact=text(contact, "PersonName") or text(contact, "DepartmentName"),
        phone=text(contact, "TelephoneUniversalCommunication/CompleteNumber"),
        email=text(contact, "EmailURIUniversalCommunication/URIID|CompleteNumber"),
        address=Address(
            lines=_texts(every(place, "LineOne|StreetName"))
            + _texts(every(place, "LineTwo|LineThree")),
            postcode=text(place, "PostcodeCode"),
            city=text(place, "CityName"),
            region=text(place, "CountrySubDivisionName"),
            country=text(place, "CountryID"),
        ),
    )


def _cii_totals(node: Element | None, currency: str, found: _Findings) -> Totals:
    return Totals(
        lines=found.amount(node, "LineTotalAmount"),
        allowances=found.amount(node, "AllowanceTotalAmount"),
        charges=found.amount(node, "ChargeTotalAmount"),
        net=found.amount(node, "TaxBasisTotalAmount"),
        tax=found.amount(_in_currency(every(node, "TaxTotalAmount"), currency)),
        gross=found.amount(node, "GrandTotalAmount"),
        prepaid=found.amount(node, "TotalPrepaidAmount"),
        rounding=found.amount(node, "RoundingAmount"),
        payable=found.amount(node, "DuePayableAmount"),
    )


def _cii_references(
    agreement: Element | None,
    delivery: Element | None,
    settlement: Element | None,
    found: _Findings,
) -> Iterator[Reference]:
    number = "IssuerAssignedID|ID"
    issued = "FormattedIssueDateTime/DateTimeString"
    for kind, holder, path in (
        ("order", agreement, "BuyerOrderReferencedDocument"),
        ("sales order", agreement, "SellerOrderReferencedDocument"),
        ("contract", agreement, "ContractReferencedDocument"),
        ("project", agreement, "SpecifiedProcuringProject"),
        ("delivery", delivery, "DespatchAdviceReferencedDocument|DeliveryNoteReferencedDocument"),
        ("preceding invoice", settlement, "InvoiceReferencedDocument"),
    ):
        for item in every(holder, path):
            if value := text(item, number):
                yield Reference(kind, value, found.day(item, issued))


def _cii_payments(settlement: Element | None, terms: list[Element]) -> tuple[PaymentMeans, ...]:
    mandate = next(filter(None, (text(t, "DirectDebitMandateID") for t in terms)), "")
    account = "PayeePartyCreditorFinancialAccount"
    return tuple(
        PaymentMeans(
            code=text(item, "TypeCode"),
            iban=_account(
                text(item, f"{account}/IBANID") or text(item, f"{account}/ProprietaryID")
            ),
            bic=text(item, "PayeeSpecifiedCreditorFinancialInstitution/BICID"),
            holder=text(item, f"{account}/AccountName"),
            reference=text(settlement, "PaymentReference"),
            mandate=mandate,
            debited_iban=_account(text(item, "PayerPartyDebtorFinancialAccount/IBANID")),
        )
        for item in every(settlement, "SpecifiedTradeSettlementPaymentMeans")
    )


def _cii_tax(node: Element, found: _Findings) -> TaxLine:
    return TaxLine(
        category=text(node, "CategoryCode"),
        rate=found.amount(node, _RATE),
        basis=found.amount(node, "BasisAmount"),
        amount=found.amount(node, "CalculatedAmount"),
        exemption=text(node, "ExemptionReason"),
    )


def _cii_adjustment(node: Element, found: _Findings) -> Adjustment:
    return Adjustment(
        charge=text(node, "ChargeIndicator/Indicator").lower() in ("true", "1"),
        amount=found.amount(node, "ActualAmount"),
        reason=text(node, "Reason"),
        rate=found.amount(node, "CalculationPercent"),
    )


def _cii_line(node: Element, found: _Findings) -> InvoiceLine:
    agreement = first(node, "SpecifiedLineTradeAgreement|SpecifiedSupplyChainTradeAgreement")
    delivery = first(node, "SpecifiedLineTradeDelivery|SpecifiedSupplyChainTradeDelivery")
    settled = first(node, "SpecifiedLineTradeSettlement|SpecifiedSupplyChainTradeSettlement")
    quantity = first(delivery, "BilledQuantity")
    tax = first(settled, "ApplicableTradeTax")
    total = first(settled, _LINE_SUM)
    product = first(node, "SpecifiedTradeProduct")
    return InvoiceLine(
        number=text(node, "AssociatedDocumentLineDocument/LineID"),
        parent=text(node, "AssociatedDocumentLineDocument/ParentLineID"),
        name=text(product, "Name"),
        description=text(product, "Description"),
        article=text(product, "SellerAssignedID") or text(product, "GlobalID"),
        quantity=found.amount(quantity),
        unit=quantity.get("unitCode", "") if quantity is not None else "",
        unit_price=found.amount(agreement, "NetPriceProductTradePrice/ChargeAmount"),
        net=found.amount(total, "LineTotalAmount"),
        tax_category=text(tax, "CategoryCode"),
        tax_rate=found.amount(tax, _RATE),
        note=" ".join(_texts(every(node, "AssociatedDocumentLineDocument/IncludedNote/Content"))),
    )


def _cii_attachments(node: Element, *, decoded: bool = True) -> Iterator[XmlAttachment]:
    trade = first(node, "SupplyChainTradeTransaction|SpecifiedSupplyChainTradeTransaction")
    for item in every(trade, f"{_AGREEMENT}/AdditionalReferencedDocument"):
        binary = first(item, "AttachmentBinaryObject")
        url = text(item, "URIID")
        if binary is None and not url:
            continue
        named = text(item, "IssuerAssignedID|ID")
        yield XmlAttachment(
            name=(binary.get("filename", "") if binary is not None else "") or named,
            media_type=binary.get("mimeCode", "") if binary is not None else "",
            description=text(item, "Name"),
            url=url,
            content=_base64(text(binary)) if decoded else b"",
        )


# --- FatturaPA -----------------------------------------------------------------------------------

_FATTURA_CREDIT = {"TD04": "381", "TD05": "383", "TD06": "380", "TD02": "386"}


def _fattura(node: Element, found: _Findings) -> EInvoice:
    bodies = list(every(node, "FatturaElettronicaBody"))
    if len(bodies) > 1:
        found.problems.append(f"{len(bodies)} invoices in one file, only the first is read")
    body = bodies[0] if bodies else None
    header = first(node, "FatturaElettronicaHeader")
    general = first(body, "DatiGenerali/DatiGeneraliDocumento")
    summary = list(every(body, "DatiBeniServizi/DatiRiepilogo"))
    payments = list(every(body, "DatiPagamento/DettaglioPagamento"))
    due = (found.day(item, "DataScadenzaPagamento") for item in payments)
    taxes = tuple(_fattura_tax(item, found) for item in summary)
    return EInvoice(
        syntax=Syntax.FATTURAPA,
        profile=node.get("versione", "") or text(header, "DatiTrasmissione/FormatoTrasmissione"),
        type_code=_FATTURA_CREDIT.get(text(general, "TipoDocumento"), "380"),
        number=text(general, "Numero"),
        issue_date=found.day(general, "Data"),
        due_date=next(filter(None, due), None),
        currency=text(general, "Divisa"),
        seller=_fattura_party(first(header, "CedentePrestatore")),
        buyer=_fattura_party(first(header, "CessionarioCommittente")),
        totals=_fattura_totals(general, taxes, payments, found),
        references=tuple(
            Reference(kind, text(item, "IdDocumento"), found.day(item, "Data"))
            for kind, path in (
                ("order", "DatiOrdineAcquisto"),
                ("contract", "DatiContratto"),
                ("preceding invoice", "DatiFattureCollegate"),
            )
            for item in every(body, f"DatiGenerali/{path}")
        ),
        payments=tuple(
            PaymentMeans(
                code=text(item, "ModalitaPagamento"),
                iban=_account(text(item, "IBAN")),
                bic=text(item, "BIC"),
                holder=text(item, "Beneficiario"),
            )
            for item in payments
        ),
        taxes=taxes,
        lines=tuple(_fattura_line(i, found) for i in every(body, "DatiBeniServizi/DettaglioLinee")),
        notes=_texts(every(general, "Causale")),
        attachment_names=_texts(every(body, "Allegati/NomeAttachment")),
    )


def _fattura_party(node: Element | None) -> Party:
    person = first(node, "DatiAnagrafici/Anagrafica")
    full = " ".join(filter(None, (text(person, "Nome"), text(person, "Cognome"))))
    vat = first(node, "DatiAnagrafici/IdFiscaleIVA")
    place = first(node, "Sede")
    street = " ".join(filter(None, (text(place, "Indirizzo"), text(place, "NumeroCivico"))))
    return Party(
        name=text(person, "Denominazione") or full,
        vat_id=text(vat, "IdPaese") + text(vat, "IdCodice"),
        tax_number=text(node, "DatiAnagrafici/CodiceFiscale"),
        phone=text(node, "Contatti/Telefono"),
        email=text(node, "Contatti/Email"),
        address=Address(
            lines=(street,) if street else (),
            postcode=text(place, "CAP"),
            city=text(place, "Comune"),
            region=text(place, "Provincia"),
            country=text(place, "Nazione"),
        ),
    )


def _fattura_tax(node: Element, found: _Findings) -> TaxLine:
    return TaxLine(
        category=text(node, "Natura"),
        rate=found.amount(node, "AliquotaIVA"),
        basis=found.amount(node, "ImponibileImporto"),
        amount=found.amount(node, "Imposta"),
        exemption=text(node, "RiferimentoNormativo"),
    )


def _fattura_totals(
    general: Element | None,
    taxes: tuple[TaxLine, ...],
    payments: list[Element],
    found: _Findings,
) -> Totals:
    """The format states totals per rate and per payment; their sums are the document's."""
    due = [found.amount(item, "ImportoPagamento") for item in payments]
    bases = [line.basis for line in taxes if line.basis is not None]
    amounts = [line.amount for line in taxes if line.amount is not None]
    return Totals(
        net=sum(bases, Decimal(0)) if bases else None,
        tax=sum(amounts, Decimal(0)) if amounts else None,
        gross=found.amount(general, "ImportoTotaleDocumento"),
        rounding=found.amount(general, "Arrotondamento"),
        payable=sum(filter(None, due), Decimal(0)) if any(due) else None,
    )


def _fattura_line(node: Element, found: _Findings) -> InvoiceLine:
    return InvoiceLine(
        number=text(node, "NumeroLinea"),
        name=text(node, "Descrizione"),
        article=text(node, "CodiceArticolo/CodiceValore"),
        quantity=found.amount(node, "Quantita"),
        unit=text(node, "UnitaMisura"),
        unit_price=found.amount(node, "PrezzoUnitario"),
        net=found.amount(node, "PrezzoTotale"),
        tax_category=text(node, "Natura"),
        tax_rate=found.amount(node, "AliquotaIVA"),
    )


# --- checks --------------------------------------------------------------------------------------


def _missing(invoice: EInvoice) -> Iterator[str]:
    for name, value in (
        ("number", invoice.number),
        ("issue date", invoice.issue_date),
        ("currency", invoice.currency),
        ("seller", invoice.seller.name),
        ("buyer", invoice.buyer.name),
    ):
        if not value:
            yield f"missing: {name}"
    if invoice.totals.gross is None and invoice.totals.payable is None:
        yield "missing: total"


def _arithmetic(invoice: EInvoice) -> Iterator[str]:
    """The sums of EN 16931, wherever both sides are stated."""
    stated, zero = invoice.totals, Decimal(0)
    nets = [line.net for line in invoice.lines if not line.parent]
    if any(nets) and stated.lines is not None:
        yield from _differs("BR-CO-10: line sum", stated.lines, sum(filter(None, nets), zero))
    if stated.net is not None and stated.lines is not None:
        computed = stated.lines - (stated.allowances or zero) + (stated.charges or zero)
        yield from _differs("BR-CO-13: total without tax", stated.net, computed)
    amounts = [line.amount for line in invoice.taxes]
    if amounts and None not in amounts and stated.tax is not None:
        yield from _differs("BR-CO-14: tax sum", stated.tax, sum(filter(None, amounts), zero))
    if stated.gross is not None and stated.net is not None:
        computed = stated.net + (stated.tax or zero) + _fattura_rounding(invoice)
        yield from _differs("BR-CO-15: total with tax", stated.gross, computed)
    # The two smallest profiles do not carry what was paid before.
    short = any(name in invoice.profile.lower() for name in ("minimum", "basicwl"))
    short = short or invoice.syntax is Syntax.FATTURAPA
    if stated.payable is not None and stated.gross is not None and not short:
        computed = stated.gross - (stated.prepaid or zero) + (stated.rounding or zero)
        yield from _differs("BR-CO-16: amount due", stated.payable, computed)


def _fattura_rounding(invoice: EInvoice) -> Decimal:
    return (
        (invoice.totals.rounding or Decimal(0))
        if invoice.syntax is Syntax.FATTURAPA
        else Decimal(0)
    )


def _differs(rule: str, stated: Decimal, computed: Decimal) -> Iterator[str]:
    if abs(stated - computed) > _TOLERANCE:
        yield f"{rule} is stated as {stated} and computes to {computed.quantize(_CENT)}"

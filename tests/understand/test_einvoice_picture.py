"""An e-invoice whose page says something else is an exception with both values, never a choice."""

from __future__ import annotations

import pytest
from extraction_files import text_pdf, with_attachments

from tgv_dagster import flow
from tgv_dagster.installation import Installation

CII = """<rsm:CrossIndustryInvoice
 xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"
 xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"
 xmlns:udt="urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100">
<rsm:ExchangedDocumentContext><ram:GuidelineSpecifiedDocumentContextParameter>
<ram:ID>urn:cen.eu:en16931:2017</ram:ID>
</ram:GuidelineSpecifiedDocumentContextParameter></rsm:ExchangedDocumentContext>
<rsm:ExchangedDocument><ram:ID>W-77</ram:ID><ram:TypeCode>380</ram:TypeCode>
<ram:IssueDateTime><udt:DateTimeString format="102">20260504</udt:DateTimeString>
</ram:IssueDateTime></rsm:ExchangedDocument>
<rsm:SupplyChainTradeTransaction><ram:ApplicableHeaderTradeAgreement>
<ram:SellerTradeParty><ram:Name>Werbetechnik Funke GmbH</ram:Name></ram:SellerTradeParty>
<ram:BuyerTradeParty><ram:Name>Nordlicht Tischlerei GmbH</ram:Name></ram:BuyerTradeParty>
</ram:ApplicableHeaderTradeAgreement><ram:ApplicableHeaderTradeDelivery/>
<ram:ApplicableHeaderTradeSettlement><ram:InvoiceCurrencyCode>EUR</ram:InvoiceCurrencyCode>
<ram:SpecifiedTradeSettlementHeaderMonetarySummation>
<ram:TaxBasisTotalAmount>100</ram:TaxBasisTotalAmount>
<ram:TaxTotalAmount currencyID="EUR">19</ram:TaxTotalAmount>
<ram:GrandTotalAmount>119</ram:GrandTotalAmount><ram:DuePayableAmount>119</ram:DuePayableAmount>
</ram:SpecifiedTradeSettlementHeaderMonetarySummation></ram:ApplicableHeaderTradeSettlement>
</rsm:SupplyChainTradeTransaction></rsm:CrossIndustryInvoice>"""
HEAD = ("Werbetechnik Funke GmbH", "Lindenring 7, 48143 Münster", "Nordlicht Tischlerei GmbH",
        "Hafenweg 1, 20457 Hamburg", "Rechnungsdatum: 04.05.2026")  # fmt: skip


def _conflicts(
    installation: Installation, *page: str, number: str = "W-77"
) -> dict[str, tuple[list[str], str]]:
    """Choices and reason of every field in the conflict case of an invoice with this page."""
    pdf = with_attachments(
        text_pdf([*HEAD, f"Rechnung Nr. {number}", *page]), {"factur-x.xml": CII.encode()}
    )
    home = installation.settings.inbox_path / "nord" / "nord-gmbh"
    home.mkdir(parents=True, exist_ok=True)
    (home / "rechnung.pdf").write_bytes(pdf)
    flow.run_until_idle(installation)
    with installation.database.worker() as connection:
        rows = connection.execute(
            "SELECT c.choices, c.open_points FROM cases c JOIN documents d ON d.id = c.document_id"
            " WHERE d.doc_type = 'invoice' AND c.state = 'open'"
        ).fetchall()
    offered = {c["field"]: c["values"] for choices, _ in rows for c in choices}
    return {
        point["field"]: (offered[point["field"]], point["reason"])
        for _, points in rows
        for point in points
        if point["kind"] == "conflict"
    }


@pytest.mark.parametrize(
    "page",
    [
        ("Nettobetrag 1.000,00 EUR", "MwSt 19 % 190,00 EUR", "Rechnungsbetrag 1.190,00 EUR"),
        ("Rechnungsbetrag 1.190,00 EUR",),
    ],
    ids=["proven", "label only"],
)
def test_another_total_on_the_page_is_asked_with_both_values(
    page: tuple[str, ...], installation: Installation
) -> None:
    values, reason = _conflicts(installation, *page)["amount_gross"]
    assert values == ["119", "1190.00"]
    assert "the e-invoice says 119" in reason and "(page 1) 1190.00" in reason


def test_the_same_values_on_the_page_are_not_asked(installation: Installation) -> None:
    page = ("Nettobetrag 100,00 EUR", "MwSt 19 % 19,00 EUR", "Rechnungsbetrag 119,00 EUR")
    assert _conflicts(installation, *page) == {}


def test_another_number_on_the_page_is_asked(installation: Installation) -> None:
    found = _conflicts(installation, "Rechnungsbetrag 119,00 EUR", number="W-78")
    assert found.keys() == {"invoice_number"}
    assert found["invoice_number"][0] == ["W-77", "W-78"]

"""Learned rules are read back beside the machine's values, inside their scope."""

from __future__ import annotations

from understanding_papers import BETA, VOCABULARY, Invoice

from tgv_dagster.understand.evidence import EntityOrigin, Field, Origin
from tgv_dagster.understand.learned import rule_of
from tgv_dagster.understand.rules import Rule
from tgv_dagster.understand.triage import TriageInput, TriageResult, triage

SENDER = "Holzhandel Brink GmbH"


def learned(field: Field, value: str, *, entity: str | None = None) -> Rule:
    return rule_of(7, 1, entity, {"provider": SENDER.casefold()}, {str(field): value})


def understood(text: str, *rules: Rule, mandant_id: int | None = 1) -> TriageResult:
    return triage(
        TriageInput(pages=(text,), vocabulary=VOCABULARY, learned=rules, mandant_id=mandant_id)
    )


def test_the_machines_value_stays_beside_the_learned_one() -> None:
    result = understood(Invoice().text(), learned(Field.PROVIDER, "Brink eG", entity="alpha"))
    found = [f for f in result.findings if f.field is Field.PROVIDER]
    assert [(f.value, f.origin) for f in found] == [
        ("Brink eG", Origin.RULE),
        (SENDER, Origin.MACHINE),
    ]
    assert (result.provider, found[0].rule_id) == ("Brink eG", "learned:7")
    assert "learned:7" in result.matched_rules


def test_a_rule_about_the_entity_fills_what_the_paper_leaves_open() -> None:
    rule = learned(Field.ENTITY, "alpha")
    silent = Invoice(bill_to=("An die Geschäftsleitung",)).text()
    assert understood(silent).entity_slug is None
    taught = understood(silent, rule)
    assert (taught.entity_slug, taught.entity_quelle) == ("alpha", EntityOrigin.STRUCTURAL_RULE)
    assert "learned:7" in taught.matched_rules
    assert understood(silent, rule, mandant_id=2).entity_slug is None, "another tenant"
    assert understood(silent, rule, mandant_id=None).entity_slug is None, "no tenant known"


def test_the_paper_is_stronger_than_a_rule_about_the_entity() -> None:
    against = understood(
        Invoice(bill_to=(BETA.legal_name, "9 rue du Port", "69001 Lyon")).text(),
        learned(Field.ENTITY, "alpha"),
    )
    assert against.entity_slug == "beta"


def test_a_learned_kind_is_how_the_paper_is_read() -> None:
    text = f"{SENDER}\nSägeweg 8\n20097 Hamburg\n\nAlpha Werkstatt GmbH\n\nMitteilung 17\n"
    taught = understood(text, learned(Field.DOC_TYPE, "letter"))
    (machine,) = [
        f for f in taught.findings if f.field is Field.DOC_TYPE and f.origin is Origin.MACHINE
    ]
    assert taught.doc_type == "letter"
    assert machine.value == understood(text).finding(Field.DOC_TYPE).value  # pyright: ignore[reportOptionalMemberAccess]
    assert Field.DOC_TYPE not in {point.field for point in taught.open_points}

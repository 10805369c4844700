"""Contracts in layout families: prose, schedules and leases with start, end, notice and renewal.

Traps are the days that are no start (signing, birth, founding, an older contract), a denied start,
a start by reference to another clause, and a start that is not stated at all.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from tgv_dagster.deepen.evaluation.deals import (
    MONTHS_WORDS,
    OF_MONTHS,
    TRAPS,
    Deal,
    Family,
    draw,
)
from tgv_dagster.deepen.evaluation.papers import LabelledPaper, Part, in_figures, in_words
from tgv_dagster.deepen.evaluation.sales import LANGUAGES
from tgv_dagster.deepen.evaluation.shop_papers import SUMMARIES
from tgv_dagster.deepen.evaluation.trade_papers import FRAMES
from tgv_dagster.deepen.evaluation.unseen_later import CONSULTANCIES
from tgv_dagster.deepen.evaluation.unseen_papers import CONTRACTS, SEEN_CONTRACTS
from tgv_dagster.understand.evidence import Field


def _filler(deal: Deal, *, long: bool) -> str:
    """Clauses that say nothing about days; a hundred thousand characters when long."""
    clause = {
        "de": "Änderungen und Ergänzungen dieses Vertrages bedürfen der Schriftform. Die"
        " Vertragspartner behandeln alle Unterlagen vertraulich und geben sie nicht weiter.",
        "fr": "Toute modification du présent contrat se fait par écrit. Les parties gardent les"
        " documents confidentiels et ne les communiquent à aucun tiers.",
        "en": "Amendments to this agreement are made in writing. The parties keep all documents"
        " confidential and do not pass them on to third parties.",
        "it": "Ogni modifica del presente contratto avviene per iscritto. Le parti mantengono"
        " riservati i documenti e non li comunicano a terzi.",
    }[deal.language]  # fmt: skip
    return "\n".join([clause] * (600 if long else 2))


def _traps(deal: Deal, said: Mapping[str, str]) -> list[str]:
    signed, older = in_words(deal.signed, deal.language), in_figures(deal.older, deal.language)
    return {
        "signed": [said["signed"].format(day=signed)],
        "older": [said["older"].format(day=older)],
        "founded": [said["founded"].format(day=older)],
    }.get(deal.trap, [])


_COMMON: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "de": {"signed": "Bremen, den {day}", "older": "Der Vertrag vom {day} wird aufgehoben.",
               "founded": "Die Gesellschaft wurde am {day} gegründet."},
        "fr": {"signed": "Fait à Lille, le {day}",
               "older": "Le contrat signé le {day} est résilié.",
               "founded": "La société a été fondée le {day}."},
        "en": {"signed": "Signed in Bristol on {day}",
               "older": "The former agreement signed on {day} is superseded.",
               "founded": "The company was founded on {day}."},
        "it": {"signed": "Bologna, lì {day}", "older": "Il contratto firmato il {day} è risolto.",
               "founded": "La società è stata fondata il {day}."},
    }
)  # fmt: skip

# --- tuning --------------------------------------------------------------------------------------

_PLAIN: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "de": {"title": "Dienstleistungsvertrag", "between": "zwischen {a} und {b}",
               "start": "Der Vertrag beginnt am {day}.", "end": "Er endet am {day}.",
               "open": "Er läuft auf unbestimmte Zeit.",
               "notice": "Die Kündigungsfrist beträgt {length}.",
               "renews": "Er verlängert sich jeweils um ein Jahr, wenn er nicht gekündigt wird."},
        "fr": {"title": "Contrat de prestation de services", "between": "entre {a} et {b}",
               "start": "Le contrat prend effet le {day}.", "end": "Il prend fin le {day}.",
               "open": "Il est conclu pour une durée indéterminée.",
               "notice": "Le préavis est de {length}.",
               "renews": "Il est reconduit tacitement pour un an."},
        "en": {"title": "Service agreement", "between": "between {a} and {b}",
               "start": "The agreement commences on {day}.", "end": "It ends on {day}.",
               "open": "It continues for an indefinite period.",
               "notice": "The notice period is {length}.",
               "renews": "It renews automatically for one year."},
        "it": {"title": "Contratto di servizi", "between": "tra {a} e {b}",
               "start": "Il contratto decorre dal {day}.", "end": "Esso termina il {day}.",
               "open": "Esso è a tempo indeterminato.",
               "notice": "Il preavviso è di {length}.",
               "renews": "Si rinnova tacitamente di anno in anno."},
    }
)  # fmt: skip


def _plain_prose(deal: Deal) -> tuple[str, dict[Field, str | None]]:
    said = _PLAIN[deal.language]
    lines = [
        said["title"],
        said["between"].format(a=deal.other, b=deal.own),
        *_traps(deal, _COMMON[deal.language]),
        said["start"].format(day=in_figures(deal.start, deal.language)),
        said["open"] if deal.end is None
        else said["end"].format(day=in_figures(deal.end, deal.language)),
        *([said["renews"]] if deal.renews else []),
        said["notice"].format(length=MONTHS_WORDS[deal.language][deal.notice_months]),
        _filler(deal, long=deal.trap == "long"),
    ]  # fmt: skip
    truth = deal.truth("contract", auto_renewal="true" if deal.renews else "-")
    if deal.renews:
        del truth[Field.CONTRACT_END_DATE]
    return "\n".join(lines), truth


# --- more of tuning ------------------------------------------------------------------------------

_PARAGRAPHS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "de": {"title": "Wartungsvertrag", "between": "{a}, {at} (Auftragnehmer), und {b}"
               " (Auftraggeber) vereinbaren:",
               "start": "§ 2 Vertragsdauer\nDieser Vertrag tritt mit Wirkung vom {day} in Kraft",
               "end": " und läuft bis zum {day}.", "open": " und wird auf unbestimmte Zeit"
               " geschlossen.",
               "notice": "§ 3 Kündigung\nDer Vertrag kann mit einer Frist von {length} schriftlich"
               " gekündigt werden.",
               "ref": "Der Beginn richtet sich nach § 2 (Vertragsdauer)."},
        "fr": {"title": "Contrat de maintenance", "between": "{a}, {at} (le prestataire), et {b}"
               " (le client) conviennent :",
               "start": "Article 2 - Durée\nLe présent contrat est conclu à compter du {day}",
               "end": " et jusqu'au {day}.", "open": " pour une durée indéterminée.",
               "notice": "Article 3 - Résiliation\nChaque partie peut résilier le contrat moyennant"
               " un préavis de {length}.",
               "ref": "La date de début résulte de l'article 2 (Durée)."},
        "en": {"title": "Maintenance Agreement", "between": "{a}, {at} (the Contractor), and {b}"
               " (the Client) agree as follows:",
               "start": "2. Term\nThis Agreement takes effect on {day}",
               "end": " and expires on {day}.",
               "open": " and continues until terminated.",
               "notice": "3. Termination\nEither party may terminate this Agreement by giving not"
               " less than {length} written notice.",
               "ref": "The commencement follows from clause 2 (Term)."},
        "it": {"title": "Contratto di manutenzione", "between": "{a}, {at} (il fornitore), e {b}"
               " (il cliente) convengono:",
               "start": "Art. 2 Durata\nIl presente contratto ha effetto a decorrere dal {day}",
               "end": " fino al {day}.", "open": " ed è a tempo indeterminato.",
               "notice": "Art. 3 Recesso\nCiascuna parte può recedere con un preavviso di"
               " {length}.",
               "ref": "L'inizio risulta dall'art. 2 (Durata)."},
    }
)  # fmt: skip


def _paragraphs(deal: Deal) -> tuple[str, dict[Field, str | None]]:
    """Numbered clauses; the trap `reference` only names the clause before it comes."""
    said = _PARAGRAPHS[deal.language]
    day = in_words(deal.start, deal.language)
    until = (
        said["open"]
        if deal.end is None
        else said["end"].format(day=in_words(deal.end, deal.language))
    )
    lines = [
        said["title"],
        said["between"].format(a=deal.other, at=deal.other_address, b=deal.own),
        *([said["ref"]] if deal.trap == "reference" else []),
        _filler(deal, long=deal.trap == "long"),
        said["start"].format(day=day) + until,
        said["notice"].format(length=OF_MONTHS[deal.language][deal.notice_months]),
        *_traps(deal, _COMMON[deal.language]),
    ]
    return "\n\n".join(lines), deal.truth("contract", auto_renewal="-")


_SCHEDULE: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "de": {"title": "Versicherungsschein", "kind": "Betriebshaftpflichtversicherung",
               "holder": "Versicherungsnehmer", "start": "Versicherungsbeginn",
               "end": "Versicherungsablauf", "renews": "Der Vertrag verlängert sich stillschweigend"
               " um jeweils ein Jahr, wenn er nicht mit einer Frist von {length} zum Ablauf"
               " gekündigt wird.", "none": "keine"},
        "fr": {"title": "Conditions particulières - Assurance responsabilité civile",
               "kind": "Contrat d'assurance", "holder": "Souscripteur",
               "start": "Date d'effet du contrat", "end": "Échéance du contrat",
               "renews": "Le contrat est reconduit tacitement chaque année, sauf résiliation avec"
               " un préavis de {length}.", "none": "néant"},
        "en": {"title": "Insurance policy schedule", "kind": "Public liability insurance",
               "holder": "Policyholder", "start": "Commencement of cover", "end": "Expiry of cover",
               "renews": "The policy renews automatically each year unless cancelled with {length}"
               " notice.", "none": "none"},
        "it": {"title": "Polizza di assicurazione", "kind": "Responsabilità civile",
               "holder": "Contraente", "start": "Decorrenza della polizza",
               "end": "Scadenza della polizza", "renews": "La polizza si rinnova tacitamente di"
               " anno in anno, salvo disdetta con preavviso di {length}.", "none": "nessuna"},
    }
)  # fmt: skip


def _schedule(deal: Deal) -> tuple[str, dict[Field, str | None]]:
    """An insurance schedule; the trap `reference` denies the start instead."""
    said = _SCHEDULE[deal.language]
    denied = deal.trap == "reference"
    start = said["none"] if denied else f"{in_figures(deal.start, deal.language)}, 00:00"
    lines = [
        f"{deal.other} Versicherung" if deal.language == "de" else deal.other,
        said["title"], said["kind"],
        f"{said['holder']}: {deal.own}",
        *_traps(deal, _COMMON[deal.language]),
        f"{said['start']}: {start}",
        said["renews"].format(length=OF_MONTHS[deal.language][deal.notice_months]),
    ]  # fmt: skip
    truth = deal.truth("insurance", contract_end_date=None, auto_renewal="true")
    if denied:
        truth[Field.CONTRACT_START_DATE] = None
    return "\n".join(lines), truth


_LEASE: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "de": {"title": "Gewerbemietvertrag", "landlord": "Vermieter", "tenant": "Mieter",
               "start": "Das Mietverhältnis beginnt am {day}", "end": " und endet am {day}, ohne"
               " dass es einer Kündigung bedarf.", "open": " und läuft auf unbestimmte Zeit.",
               "notice": "Kündigungsfrist: {length} zum Monatsende.",
               "rent": "Die Miete beträgt monatlich 1.850,00 EUR und wird nach dem"
               " Verbraucherpreisindex angepasst."},
        "fr": {"title": "Bail commercial", "landlord": "Bailleur", "tenant": "Preneur",
               "start": "Le bail prend cours le {day}", "end": " et se termine le {day}.",
               "open": " pour une durée indéterminée.",
               "notice": "Préavis : {length} avant la fin du mois.",
               "rent": "Le loyer mensuel s'élève à 1 850,00 € et suit l'indice des loyers."},
        "en": {"title": "Lease agreement", "landlord": "Landlord", "tenant": "Tenant",
               "start": "The tenancy shall commence on {day}", "end": " and shall end on {day}.",
               "open": " and shall continue from month to month.",
               "notice": "Notice period: {length} to the end of a month.",
               "rent": "The rent is GBP 1,850.00 per month, indexed to consumer prices."},
        "it": {"title": "Contratto di locazione", "landlord": "Locatore", "tenant": "Conduttore",
               "start": "La locazione ha inizio il {day}", "end": " e termina il {day}.",
               "open": " ed è a tempo indeterminato.",
               "notice": "Preavviso: {length} prima della fine del mese.",
               "rent": "Il canone mensile è di 1.850,00 EUR, aggiornato secondo l'indice ISTAT."},
    }
)  # fmt: skip


def _lease(deal: Deal) -> tuple[str, dict[Field, str | None]]:
    """A lease with rent and index clause, long when the trap says so."""
    said = _LEASE[deal.language]
    until = (
        said["open"]
        if deal.end is None
        else said["end"].format(day=in_figures(deal.end, deal.language))
    )
    lines = [
        said["title"],
        f"{said['landlord']}: {deal.other}, {deal.other_address}",
        f"{said['tenant']}: {deal.own}",
        *_traps(deal, _COMMON[deal.language]),
        _filler(deal, long=deal.trap == "long"),
        said["start"].format(day=in_figures(deal.start, deal.language)) + until,
        said["rent"],
        said["notice"].format(length=MONTHS_WORDS[deal.language][deal.notice_months]),
    ]
    return "\n".join(lines), deal.truth("lease", auto_renewal="-")


FAMILIES: Mapping[Part, Mapping[str, Family]] = MappingProxyType(
    {
        Part.TUNING: {
            "plain_prose": _plain_prose,
            "paragraphs": _paragraphs,
            "schedule": _schedule,
            "lease": _lease,
            **SUMMARIES,
            **SEEN_CONTRACTS,
            **FRAMES,
        },
        Part.TEST: {**CONTRACTS, **CONSULTANCIES},
    }
)


def contract_papers(part: Part, *, per_cell: int = 40, seed: int = 4711) -> Iterator[LabelledPaper]:
    """`per_cell` papers for each family and language of a part, every second one nasty."""
    for family, made in FAMILIES[part].items():
        for language in LANGUAGES:
            rng = random.Random(f"{seed}.{part}.{family}.{language}")
            for number in range(per_cell):
                nasty = number % 2 == 1
                text, truth = made(draw(rng, language, rng.choice(TRAPS) if nasty else ""))
                name = f"{family}-{language}-{number}"
                yield LabelledPaper(name, family, part, language, nasty, text, truth)

"""Paper and contracts of the workshop in Lyon (`nordwind/atelier-sarl`), as PDF."""

from decimal import Decimal

from reportlab.platypus import Flowable, Spacer

from samplekit.money import Totals, position, totals
from samplekit.paper import (
    BAR,
    GREEN,
    SANS,
    SERIF,
    TYPED,
    Contract,
    Letter,
    contract_pdf,
    grid,
    heading,
    invoice_table,
    letter_pdf,
    para,
    paragraphs,
)
from samplekit.parties import EAUX, FROID, GARAGE, LARKMOOR, MARMI, PAPETERIE, Firm, own
from samplekit.sample import Sample
from samplekit.scan import grey_scan

FOLDER = "nordwind/atelier-sarl"
ATELIER = own("atelier-sarl")
_SIREN_LINE = "SIRET client : 999 001 019 00010, TVA FR83999001019"


def stationery_invoice() -> bytes:
    """Packing material, French invoice with HT, TVA and TTC."""
    lines = (
        position("Papier de soie, rouleau de 50 m", "25", "u.", "7.80"),
        position("Carton double cannelure 60 x 40 x 40 cm", "40", "u.", "3.15"),
        position("Étiquettes « fragile », boîte de 500", "10", "u.", "12.40"),
        position("Frais de livraison", "1", "u.", "18.50"),
    )
    body: list[Flowable] = [
        *invoice_table(lines, totals(lines, "20"), "fr", BAR),
        *paragraphs(
            BAR,
            "Payable par virement à 30 jours, au plus tard le 04/04/2026. Pas d'escompte pour "
            "paiement anticipé.",
            "En cas de retard : intérêts au taux de trois fois l'intérêt légal et indemnité "
            "forfaitaire de recouvrement de 40 euros.",
            _SIREN_LINE,
        ),
    ]
    info = (
        ("Facture n°", "FA-2026-0217"),
        ("Date de facture", "05/03/2026"),
        ("Code client", "ADV-88"),
        ("Livraison", "03/03/2026"),
    )
    letter = Letter(
        PAPETERIE,
        ATELIER.address,
        "Facture FA-2026-0217",
        body,
        BAR,
        info,
        claim="tout pour emballer",
    )
    return letter_pdf(letter)


def water_bill() -> bytes:
    """The water bill, before scanning."""
    lines = (
        position("Abonnement, 2e semestre 2025", "1", "u.", "38.40"),
        position("Consommation d'eau potable", "86", "m³", "2.046"),
    )
    body: list[Flowable] = [
        *invoice_table(lines, totals(lines, "5.5"), "fr", SANS),
        *paragraphs(
            SANS,
            "Index relevé le 29/12/2025 : 1 482 m³ (précédent : 1 396 m³).",
            "Montant à régler avant le 06/03/2026. Le règlement peut se faire en ligne ou par "
            "prélèvement automatique.",
        ),
    ]
    info = (
        ("Facture n°", "E2-774120"),
        ("Émise le", "12/02/2026"),
        ("Compteur", "C-30994"),
        ("Lieu", "14 montée des Girouettes"),
    )
    return letter_pdf(
        Letter(
            EAUX,
            ATELIER.address,
            "Facture d'eau n° E2-774120 du 12/02/2026",
            body,
            SANS,
            info,
            claim="l'eau de vos collines",
        )
    )


def maintenance_contract() -> bytes:
    """A maintenance contract: start "à compter du 1er janvier 2024", notice of 90 days."""
    clauses = (
        (
            "Article 1 – Objet",
            (
                "Le prestataire assure l'entretien préventif et le dépannage des trois unités de "
                "climatisation et du groupe de ventilation installés dans l'atelier du client, 14 "
                "montée des Girouettes à Lyon.",
            ),
        ),
        (
            "Article 2 – Prestations",
            (
                "Deux visites par an, au printemps et à l'automne : nettoyage des filtres, "
                "contrôle de l'étanchéité, mesure des pressions, essai des sécurités. Chaque "
                "visite donne lieu à un compte rendu.",
                "Sur appel, un technicien intervient sous un jour ouvré. Les pièces sont "
                "facturées en sus après accord du client.",
            ),
        ),
        (
            "Article 3 – Durée et résiliation",
            (
                "Le présent contrat est conclu pour une durée de trois ans à compter du 1er "
                "janvier 2024. Il se poursuit ensuite par tacite reconduction, par périodes d'un "
                "an.",
                "Chaque partie peut s'opposer à la reconduction par lettre recommandée, "
                "moyennant un préavis de quatre-vingt-dix (90) jours avant l'échéance.",
            ),
        ),
        (
            "Article 4 – Prix",
            (
                "La redevance annuelle s'élève à 1 140,00 € HT, soit 1 368,00 € TTC au taux de "
                "TVA de 20 %. Elle est payable d'avance le 15 janvier et révisée chaque année "
                "selon l'indice du coût horaire du travail.",
            ),
        ),
        (
            "Article 5 – Responsabilité",
            (
                "Le prestataire est tenu à une obligation de moyens. Il n'est pas responsable d'un "
                "arrêt dû à une coupure de courant ou à une intervention d'un tiers.",
            ),
        ),
    )
    return contract_pdf(
        Contract(
            "Contrat d'entretien n° FSC-2023-118",
            (
                f"Entre {FROID.name}, {FROID.street}, {FROID.town}, {FROID.register}, représentée "
                "par Hervé Clavel, <b>le prestataire</b>,",
                f"et {ATELIER.name}, {ATELIER.street}, {ATELIER.town}, {ATELIER.register}, "
                "représentée par sa gérante Clara Brandt, <b>le client</b>.",
            ),
            clauses,
            ("Hervé Clavel", "Clara Brandt"),
            "Fait à Villeurbanne, le 4 décembre 2023, en deux exemplaires.",
            "page",
        )
    )


def business_tax_notice() -> bytes:
    """The local business tax (CFE) of the workshop."""
    office = Firm("Service des impôts des entreprises", "Cité des Registres", "69003 Lyon", "FR")
    rows = [
        ["Libellé", "Base", "Taux", "Montant"],
        ["Commune", "3 120", "22,48 %", "701 €"],
        ["Intercommunalité", "3 120", "3,27 %", "102 €"],
        ["Frais de gestion", "", "", "24 €"],
        ["Total de votre imposition", "", "", "827 €"],
    ]
    body: list[Flowable] = [
        grid(rows, (80, 30, 30, 30), TYPED, right=(1, 2, 3), bold_last=True),
        Spacer(1, 8),
        *paragraphs(
            TYPED,
            "Montant à payer au plus tard le 15/12/2026 : 827,00 €, par voie dématérialisée.",
            "Vous pouvez présenter une réclamation jusqu'au 31/12/2027.",
        ),
    ]
    info = (("Référence", "26 69 9990019"), ("Établi le", "02/11/2026"), ("SIREN", "999 001 019"))
    footer = (office.address, ("Accueil sur rendez-vous",))
    subject = "Avis d'imposition : cotisation foncière des entreprises 2026"
    return letter_pdf(Letter(office, ATELIER.address, subject, body, TYPED, info, footer))


def french_payslip() -> bytes:
    """A French payslip: strictest level."""
    rows = [
        ["Rubrique", "Base", "Taux", "Montant €"],
        ["Salaire de base (151,67 h)", "", "", "2 450,00"],
        ["Salaire brut", "", "", "2 450,00"],
        ["Sécurité sociale, part salariale", "2 450,00", "7,30 %", "-178,85"],
        ["Retraite complémentaire", "2 450,00", "4,01 %", "-98,25"],
        ["CSG et CRDS", "2 407,13", "9,70 %", "-233,49"],
        ["Mutuelle", "", "", "-28,41"],
        ["Net à payer avant impôt", "", "", "1 911,00"],
        ["Impôt prélevé à la source", "1 911,00", "2,55 %", "-48,70"],
        ["Net payé", "", "", "1 862,30"],
    ]
    body: list[Flowable] = [
        grid(rows, (80, 30, 25, 35), SANS, right=(1, 2, 3), bold_last=True),
        Spacer(1, 8),
        *paragraphs(
            SANS,
            "Virement effectué le 31/03/2026. Congés payés acquis : 22,5 jours, pris : 3 jours.",
            "Document confidentiel, à conserver sans limitation de durée.",
        ),
    ]
    info = (("Période", "mars 2026"), ("Matricule", "L-004"), ("Entrée", "02/09/2021"))
    recipient = ("Luc Fontenelle", "9 impasse du Tour à Bois", "69004 Lyon")
    footer = (ATELIER.address, (ATELIER.register, "SIRET 999 001 019 00010", "NAF 3109B"))
    return letter_pdf(
        Letter(ATELIER, recipient, "Bulletin de paie – mars 2026", body, SANS, info, footer)
    )


def marble_invoice() -> bytes:
    """Marble tops from Carrara: Italian, intra-community supply without VAT."""
    lines = (
        position("Piano in marmo bianco, bordo lucidato, 140 x 60 cm", "2", "pz", "685.00"),
        position("Imballo e trasporto fino a Lione", "1", "pz", "190.00"),
    )
    net = sum((line.amount for line in lines), Decimal(0))
    sums = Totals(net, Decimal(0), Decimal(0), net)
    body: list[Flowable] = [
        *paragraphs(SERIF, "Rif. vostro ordine del 24/02/2026, cantiere Boutique Croix-Blanche."),
        *invoice_table(lines, sums, "it", SERIF, tax_text="IVA 0 %"),
        *paragraphs(
            SERIF,
            "Operazione non imponibile ai sensi dell'art. 41 D.L. 331/1993, cessione "
            "intracomunitaria. Partita IVA del cliente: FR83999001019.",
            "Pagamento: bonifico bancario entro il 18/04/2026.",
        ),
    ]
    info = (("Fattura n.", "88/2026"), ("Data", "19/03/2026"), ("Cliente", "C-0417"))
    letter = Letter(
        MARMI,
        ATELIER.address,
        "Fattura n. 88/2026",
        body,
        SERIF,
        info,
        claim="marmi e pietre dal 1962",
    )
    return letter_pdf(letter)


def software_invoice() -> bytes:
    """An English invoice to the Hamburg firm, lying in the folder of the Lyon firm."""
    buyer = own("nordwind-gmbh")
    lines = (position("CutList Studio, annual licence, per seat", "3", "seats", "411.50"),)
    net = sum((line.amount for line in lines), Decimal(0))
    sums = Totals(net, Decimal(0), Decimal(0), net)
    body: list[Flowable] = [
        *invoice_table(lines, sums, "en", GREEN, tax_text="VAT (reverse charge)"),
        *paragraphs(
            GREEN,
            f"Reverse charge: VAT is to be accounted for by the customer, {buyer.vat_id}.",
            "Payment is due by 1 April 2026 by bank transfer. Licence period: 2 March 2026 to "
            "1 March 2027. The licence renews for another year unless it is cancelled 30 days "
            "before the period ends.",
            "Thank you for your business.",
        ),
    ]
    info = (("Invoice no.", "LARK-20931"), ("Invoice date", "2 March 2026"), ("Account", "NW-77"))
    recipient = (*buyer.address, "Germany")
    letter = Letter(
        LARKMOOR, recipient, "Invoice LARK-20931", body, GREEN, info, claim="software for workshops"
    )
    return letter_pdf(letter)


def garage_invoice() -> bytes:
    """Repair of the delivery van of the Lyon firm; a mail brings it to the Hamburg mailbox."""
    lines = (
        position("Vidange et filtre à huile", "1", "u.", "89.00"),
        position("Plaquettes de frein avant", "1", "jeu", "142.50"),
        position("Main-d'œuvre", "2.5", "h", "68.00"),
    )
    body: list[Flowable] = [
        para("Véhicule : fourgonnette, immatriculation XX-999-VT, 84 310 km", SANS),
        *invoice_table(lines, totals(lines, "20"), "fr", SANS),
        *paragraphs(SANS, "Règlement à réception, au plus tard le 31/03/2026.", _SIREN_LINE),
    ]
    info = (("Facture n°", "GPT-8841"), ("Date", "16/03/2026"))
    return letter_pdf(
        Letter(
            GARAGE,
            ATELIER.address,
            "Facture GPT-8841",
            body,
            SANS,
            info,
            claim="mécanique et carrosserie",
        )
    )


def insurance_certificate() -> bytes:
    """A certificate of insurance that arrives with an RFC 2231 file name."""
    insurer = Firm(
        "Mutuelle des Faîtières",
        "2 place du Toit",
        "69006 Lyon",
        "FR",
        register="SIREN 999 007 073",
        mail="pro@mutuelle-faitieres.example",
    )
    body: list[Flowable] = [
        heading("Attestation", SERIF),
        *paragraphs(
            SERIF,
            f"Nous attestons que la société {ATELIER.name} est titulaire du contrat n° MRP-55120, "
            "multirisque professionnelle, avec effet au 1er avril 2026.",
            "Cotisation annuelle : 742,60 € TTC. La garantie couvre l'incendie, le dégât des "
            "eaux et le vol des marchandises en atelier.",
            "Fait à Lyon, le 23 mars 2026.",
        ),
    ]
    info = (("Contrat", "MRP-55120"), ("Date", "23/03/2026"))
    footer = (insurer.address, (insurer.register,))
    subject = "Attestation d'assurance multirisque"
    return letter_pdf(Letter(insurer, ATELIER.address, subject, body, SERIF, info, footer))


def samples() -> list[Sample]:
    """Every PDF of this folder."""
    files = {
        "Facture_FA-2026-0217_Bruyères_Bleues.pdf": stationery_invoice(),
        "scan_facture_eau.pdf": grey_scan(water_bill(), dpi=200, angle=0.8, seed=774120),
        "Contrat_entretien_climatisation.pdf": maintenance_contract(),
        "Avis_CFE_2026.pdf": business_tax_notice(),
        "Bulletin_de_paie_2026-03_Fontenelle.pdf": french_payslip(),
        "Fattura_88_2026_Marmi_Valdisera.pdf": marble_invoice(),
        "Invoice_LARK-20931.pdf": software_invoice(),
    }
    return [Sample(f"{FOLDER}/{name}", data) for name, data in files.items()]

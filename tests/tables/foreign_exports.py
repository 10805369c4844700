"""Exports of banks as they look, with invented content: preambles, signs, states, charges."""

from __future__ import annotations

# ruff: noqa: E501 - lines of banks are as long as they are

EXPORTS: dict[str, tuple[str, str]] = {
    "sparkasse": (
        "cp1252",
        """\
"Auftragskonto";"Buchungstag";"Valutadatum";"Buchungstext";"Verwendungszweck";"Glaeubiger ID";"Mandatsreferenz";"Kundenreferenz (End-to-End)";"Sammlerreferenz";"Lastschrift Ursprungsbetrag";"Auslagenersatz Ruecklastschrift";"Beguenstigter/Zahlungspflichtiger";"Kontonummer/IBAN";"BIC (SWIFT-Code)";"Betrag";"Waehrung";"Info"
"DE89370400440532013000";"02.01.26";"02.01.26";"FOLGELASTSCHRIFT";"Strom Abschlag 01/26";"DE98ZZZ09999999999";"M-1";"NOTPROVIDED";"";"";"";"Stadtwerke";"DE02120300000000202051";"BYLADEM1001";"-89,00";"EUR";"Umsatz gebucht"
"DE89370400440532013000";"05.01.26";"05.01.26";"GUTSCHR. UEBERWEISUNG";"RE 4711";"";"";"";"";"";"";"Kunde GmbH";"DE02500105170137075030";"INGDDEFFXXX";"1.190,00";"EUR";"Umsatz gebucht"
"DE89370400440532013000";"06.01.26";"06.01.26";"KARTENZAHLUNG";"Tankstelle";"";"";"";"";"";"";"Aral";"";"";"-45,50";"EUR";"Umsatz vorgemerkt"
""",
    ),
    "dkb": (
        "utf-8",
        """\
"Girokonto";"DE89370400440532013000"
"Zeitraum:";"01.01.2026 - 31.01.2026"
"Kontostand vom 31.01.2026:";"1.234,56 €"
""
"Buchungsdatum";"Wertstellung";"Status";"Zahlungspflichtige*r";"Zahlungsempfänger*in";"Verwendungszweck";"Umsatztyp";"IBAN";"Betrag (€)";"Gläubiger-ID";"Mandatsreferenz";"Kundenreferenz"
"30.01.26";"30.01.26";"Gebucht";"Max Muster";"Vermieter";"Miete Januar";"Ausgang";"DE02120300000000202051";"-850";"";"";""
"28.01.26";"28.01.26";"Gebucht";"Firma AG";"Max Muster";"Gehalt";"Eingang";"DE02500105170137075030";"2.500,00";"";"";""
"27.01.26";"";"Vorgemerkt";"Max Muster";"Shop";"Einkauf";"Ausgang";"";"-12,3";"";"";""
""",
    ),
    "ing": (
        "cp1252",
        """\
Umsatzanzeige;Datei erstellt am: 31.01.2026 10:11

IBAN;DE89 3704 0044 0532 0130 00
Kontoname;Girokonto
Bank;ING
Kunde;Max Muster
Zeitraum;01.01.2026 - 31.01.2026
Saldo;1.500,00;EUR

Sortierung;Datum absteigend

In der CSV-Datei finden Sie alle bereits gebuchten Umsätze. Die vorgemerkten Umsätze werden nicht aufgenommen, auch wenn sie in Ihrem Internetbanking angezeigt werden.

Buchung;Wertstellungsdatum;Auftraggeber/Empfänger;Buchungstext;Verwendungszweck;Saldo;Währung;Betrag;Währung
30.01.2026;30.01.2026;Vermieter;Lastschrift;Miete;1.500,00;EUR;-850,00;EUR
28.01.2026;28.01.2026;Firma AG;Gutschrift;Gehalt;2.350,00;EUR;2.000,00;EUR
""",
    ),
    "n26": (
        "utf-8",
        """\
"Booking Date","Value Date","Partner Name","Partner Iban",Type,"Payment Reference","Account Name","Amount (EUR)","Original Amount","Original Currency","Exchange Rate"
2026-01-02,2026-01-02,"Stadtwerke","DE02120300000000202051","Direct Debit","Strom","Main Account",-89.0,,,
2026-01-05,2026-01-05,"Amazon, Inc.",,"MasterCard Payment",,"Main Account",-20.5,-22.1,USD,0.9276
""",
    ),
    "revolut": (
        "utf-8",
        """\
Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance
CARD_PAYMENT,Current,2026-01-02 10:11:12,2026-01-03 09:00:00,Coffee,-3.50,0.00,EUR,COMPLETED,96.50
TOPUP,Current,2026-01-04 10:11:12,2026-01-04 10:11:13,Top-Up,100.00,0.00,EUR,COMPLETED,196.50
ATM,Current,2026-01-05 10:11:12,2026-01-05 11:00:00,Cash,-50.00,1.00,EUR,COMPLETED,145.50
CARD_PAYMENT,Current,2026-01-06 10:11:12,,Shop,-10.00,0.00,EUR,PENDING,
CARD_PAYMENT,Current,2026-01-06 10:11:12,2026-01-06 10:12:12,Refused,-10.00,0.00,EUR,REVERTED,
""",
    ),
    "paypal": (
        "utf-8-sig",
        """\
"Datum","Uhrzeit","Zeitzone","Beschreibung","Währung","Brutto","Entgelt","Netto","Guthaben","Transaktionscode","Absender E-Mail-Adresse","Name","Name der Bank","Bankkonto","Versand- und Bearbeitungsgebühr","Umsatzsteuer","Rechnungsnummer","Zugehöriger Transaktionscode"
"02.01.2026","08:11:12","Europe/Berlin","Zahlung","EUR","119,00","-3,31","115,69","115,69","8AB12345CD678901E","k@x.example","Kunde","","","0,00","19,00","RE-1",""
"03.01.2026","08:11:12","Europe/Berlin","Zahlung","EUR","-20,00","0,00","-20,00","95,69","8AB12345CD678902E","","Shop","","","0,00","0,00","",""
""",
    ),
    "stripe": (
        "utf-8",
        """\
id,Type,Source,Amount,Fee,Net,Currency,Created (UTC),Available On (UTC),Description,Transfer
txn_1abc,charge,ch_1,119.00,3.70,115.30,eur,2026-01-02 08:11,2026-01-09 00:00,Invoice 1,po_1
txn_2abc,payout,po_1,-115.30,0.00,-115.30,eur,2026-01-09 08:11,2026-01-09 00:00,STRIPE PAYOUT,
""",
    ),
    "credit_agricole": (
        "cp1252",
        """\
Téléchargement du 31/01/2026;

M. MARTIN JEAN
Compte courant n° 12345678901;
Solde au 30/01/2026 : 1 234,56 €

Liste des opérations du compte entre le 01/01/2026 et le 31/01/2026;

Date;Libellé;Débit euros;Crédit euros;
30/01/2026;"PRELEVEMENT
EDF clients particuliers
numero client";89,00;;
28/01/2026;"VIREMENT EN VOTRE FAVEUR
SALAIRE";;2 500,00;
""",
    ),
    "qonto": (
        "utf-8",
        """\
Statut,"Date de la valeur (UTC)","Date de l'opération (UTC)","Montant total (TTC)","Devise","Nom de la contrepartie","Méthode de paiement","Référence","IBAN de la contrepartie","Solde"
Exécuté,03-01-2026 09:00:00,02-01-2026 10:11:12,"-89,00",EUR,EDF,Prélèvement,Facture 1,FR7630006000011234567890189,"911,00"
Exécuté,13-01-2026 09:00:00,12-01-2026 10:11:12,"1190,00",EUR,Client,Virement,RE 1,,"2101,00"
Refusé,13-01-2026 09:00:00,13-01-2026 10:11:12,"-10,00",EUR,Shop,Carte,X,,"2101,00"
""",
    ),
    "postbank": (
        "utf-8",
        """\
Umsätze
Konto;Filial-/Kontonummer;IBAN;Währung
Giro;123 4567890;DE89370400440532013000;EUR

1.1.2026 - 31.1.2026
Letzter Kontostand;;;;1.000,00;EUR
Vorgemerkte und noch nicht gebuchte Umsätze sind nicht Bestandteil dieser Übersicht.
Buchungstag;Wert;Umsatzart;Begünstigter / Auftraggeber;Verwendungszweck;IBAN / Kontonummer;BIC;Kundenreferenz;Mandatsreferenz;Gläubiger ID;Fremde Gebühren;Betrag;Abweichender Empfänger;Anzahl der Aufträge;Anzahl der Schecks;Soll;Haben;Währung
2.1.2026;2.1.2026;SEPA Lastschrift;Stadtwerke;Strom;DE02120300000000202051;;;;;;-89,00;;;;-89,00;;EUR
5.1.2026;5.1.2026;SEPA Überweisung;Kunde;RE1;;;;;;;1.190,00;;;;;1.190,00;EUR
Kontostand;31.1.2026;;;1.000,00;EUR
""",
    ),
    "wise": (
        "utf-8",
        """\
"TransferWise ID",Date,Amount,Currency,Description,"Payment Reference","Running Balance"
TRANSFER-1,02-01-2026,-89.00,EUR,"Sent money to EDF",X,911.00
TRANSFER-2,05-01-2026,1190.00,EUR,"Received from Kunde",Y,2101.00
""",
    ),
    "ubs": (
        "utf-8",
        """\
Abschlussdatum;Abschlusszeit;Buchungsdatum;Valutadatum;Währung;Belastung;Gutschrift;Einzelbetrag;Saldo;Transaktions-Nr.;Beschreibung1;Beschreibung2
2026-01-02;;2026-01-02;2026-01-02;CHF;-1'200.50;;;8799.50;9999001;Miete;Wohnung
2026-01-05;;2026-01-05;2026-01-05;CHF;;3'000.00;;11799.50;9999002;Lohn;Firma
""",
    ),
    "us_bank": (
        "utf-8",
        """\
Date,Description,Amount,Running Bal.
01/02/2026,Beginning balance,,1000.00
01/03/2026,COFFEE SHOP,-3.50,996.50
01/05/2026,"PAYROLL, INC","2,500.00","3,496.50"
""",
    ),
    "hvb": (
        "utf-16",
        """\
Kontonummer;Buchungsdatum;Valuta;Empfaenger 1;Verwendungszweck;Betrag;Waehrung
1234567;02.01.2026;02.01.2026;Stadtwerke;Strom;-89,00;EUR
""",
    ),
    "volksbank": (
        "utf-8",
        """\
Bezeichnung Auftragskonto;IBAN Auftragskonto;BIC Auftragskonto;Bankname Auftragskonto;Buchungstag;Valutadatum;Name Zahlungsbeteiligter;IBAN Zahlungsbeteiligter;BIC (SWIFT-Code) Zahlungsbeteiligter;Buchungstext;Verwendungszweck;Betrag;Waehrung;Saldo nach Buchung;Bemerkung;Gekennzeichneter Umsatz;Glaeubiger ID;Mandatsreferenz
Giro;DE89370400440532013000;GENODEF1XXX;Volksbank;30.01.2026;30.01.2026;Vermieter;DE02120300000000202051;BYLADEM1001;Lastschrift;Miete;-850,00;EUR;650,00;;;;
Giro;DE89370400440532013000;GENODEF1XXX;Volksbank;28.01.2026;28.01.2026;Firma;DE02500105170137075030;INGDDEFF;Gutschrift;Gehalt;1.000,00;EUR;1.500,00;;;;
""",
    ),
    "boursorama": (
        "utf-8",
        """\
dateOp;dateVal;label;category;categoryParent;supplierFound;amount;comment;accountNum;accountLabel;accountbalance
2026-01-02;2026-01-02;"PRLV EDF";"Energie";"Logement";"edf";-89,00;;00012345678;"BoursoBank";911.00
2026-01-05;2026-01-05;"VIR SALAIRE";"Salaire";"Revenus";"";2 500,00;;00012345678;"BoursoBank";3411.00
""",
    ),
    "societe_generale": (
        "cp1252",
        """\
="0123401234567890";01/01/2026;31/01/2026;2;30/01/2026;1234,56 EUR

Date de l'opération;Libellé;Détail de l'écriture;Montant de l'opération;Devise
30/01/2026;PRLV;PRELEVEMENT EDF;-89,00;EUR
28/01/2026;VIR;VIR RECU SALAIRE;2500,00;EUR
""",
    ),
    "kontist": (
        "utf-8",
        """\
Buchungstag|Valuta|Name|Zweck|Betrag|Währung
02.01.2026|02.01.2026|Stadtwerke|Strom|89,00-|EUR
05.01.2026|05.01.2026|Kunde|RE 1|1.190,00+|EUR
""",
    ),
}

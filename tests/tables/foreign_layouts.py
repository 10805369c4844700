"""Layouts of banks in nine countries with invented content, and the lines each of them means.

Pending lines have `P` for a day. None: nothing but a question, a stop or working material is right.
"""

from __future__ import annotations

# ruff: noqa: E501 - lines of banks are as long as they are, with the signs that banks write

LAYOUTS: dict[str, tuple[str, str, list[tuple[str, str]] | None]] = {}
LAYOUTS["comdirect"] = (
    "cp1252",
    """;
"Umsätze Girokonto";"Zeitraum: 30 Tage";
"Neuer Kontostand";"1.234,56 EUR";

"Buchungstag";"Wertstellung (Valuta)";"Vorgang";"Buchungstext";"Umsatz in EUR";
"offen";"--";"Visa-Umsatz";"Baeckerei";"-3,20";
"30.01.2026";"30.01.2026";"Lastschrift";"Auftraggeber: Stadtwerke Buchungstext: Strom";"-89,00";
"28.01.2026";"28.01.2026";"Übertrag";"Auftraggeber: Firma AG";"1.190,00";

"Alter Kontostand";"133,56 EUR";
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.00"), ("P", "-3.20")],
)
LAYOUTS["consorsbank"] = (
    "utf-8",
    """Buchung;Valuta;Sender / Empfänger;IBAN;BIC;Buchungstext;Verwendungszweck;Betrag in EUR
30.01.2026;30.01.2026;Stadtwerke;DE02120300000000202051;BYLADEM1001;LASTSCHRIFT;Strom;-89,00
28.01.2026;28.01.2026;Firma AG;DE02500105170137075030;INGDDEFFXXX;GUTSCHRIFT;Gehalt;1.190,00
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.00")],
)
LAYOUTS["targobank"] = (
    "cp1252",
    """02.01.2026;02.01.2026;-89,00;Stadtwerke;Strom
05.01.2026;05.01.2026;1.190,00;Firma AG;RE 1
""",
    None,
)
LAYOUTS["commerzbank"] = (
    "utf-8-sig",
    """Buchungstag;Wertstellung;Umsatzart;Buchungstext;Betrag;Währung;IBAN Kontoinhaber;Kategorie
30.01.2026;30.01.2026;Lastschrift;Stadtwerke Strom;-89,00;EUR;DE89370400440532013000;Wohnen
28.01.2026;28.01.2026;Gutschrift;Firma AG Gehalt;1190,00;EUR;DE89370400440532013000;Einkommen
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.00")],
)
LAYOUTS["fidor_deutsche"] = (
    "cp1252",
    """Umsätze Girokonto;;;Kundennummer: 100 1234567
01.01.2026 - 31.01.2026
Letzter Kontostand;;;;1.000,00;EUR
Vorgemerkte und noch nicht gebuchte Umsätze sind nicht Bestandteil dieser Übersicht.
Buchungstag;Wert;Umsatzart;Begünstigter / Auftraggeber;Verwendungszweck;IBAN;BIC;Kundenreferenz;Mandatsreferenz;Gläubiger ID;Fremde Gebühren;Betrag;Abweichender Empfänger;Anzahl der Aufträge;Anzahl der Schecks;Soll;Haben;Währung
05.01.2026;05.01.2026;SEPA-Gutschrift;Firma AG;RE 1;DE02500105170137075030;INGDDEFFXXX;NOTPROVIDED;;;;;;;;;1.190,00;EUR
06.01.2026;06.01.2026;SEPA-Lastschrift;Stadtwerke;Strom;DE02120300000000202051;BYLADEM1001;;M1;DE98ZZZ;;;;;;-89,00;;EUR
Kontostand;31.01.2026;;;2.101,00;EUR
""",
    [("2026-01-05", "1190.00"), ("2026-01-06", "-89.00")],
)
LAYOUTS["bnp"] = (
    "cp1252",
    """Compte de chèques;Compte de chèques;****1234;31/01/2026;;2 101,00
Date operation;Libelle court;Type operation;Libelle operation;Montant operation en euro
28/01/2026;VIR RECU;VIREMENT;VIR SEPA RECU SALAIRE;1 190,00
30/01/2026;PRLVT;PRELEVEMENT;PRLV SEPA EDF;-89,00
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.00")],
)
LAYOUTS["lcl"] = (
    "cp1252",
    """Date;Valeur;Libellé;Débit euros;Crédit euros
28/01/2026;28/01/2026;VIR SALAIRE;;1 190,00
30/01/2026;30/01/2026;PRLV EDF;89,00;
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.00")],
)
LAYOUTS["caisse_epargne"] = (
    "utf-8",
    """Date de comptabilisation;Libelle simplifie;Libelle operation;Reference;Informations complementaires;Type operation;Categorie;Sous categorie;Debit;Credit;Date operation;Date de valeur;Pointage operation
30/01/2026;EDF;PRLV EDF;123ABC;clients;Prelevement;Logement;Elec;-89,00;;30/01/2026;30/01/2026;0
28/01/2026;SALAIRE;VIR SALAIRE;456DEF;;Virement recu;Revenus;Salaire;;+1190,00;28/01/2026;28/01/2026;0
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.00")],
)
LAYOUTS["credit_mutuel"] = (
    "cp1252",
    """Date;Date de valeur;Montant;Libellé;Solde
28/01/2026;28/01/2026;1190,00;VIR SALAIRE;2190,00
30/01/2026;30/01/2026;-89,00;PRLV EDF;2101,00
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.00")],
)
LAYOUTS["erste_at"] = (
    "utf-16",
    """Buchungsdatum\tPartnername\tPartner IBAN\tBIC/SWIFT\tPartner Kontonummer\tBankleitzahl\tBetrag\tWährung\tBuchungs-Details\tBuchungsreferenz
28.01.2026\tFirma AG\tAT611904300234573201\tBKAUATWW\t\t\t1.190,00\tEUR\tGehalt\t202601280001234567
30.01.2026\tWien Energie\tAT483200000012345864\tRLNWATWW\t\t\t-89,00\tEUR\tStrom\t202601300001234568
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.00")],
)
LAYOUTS["raiffeisen_at"] = (
    "utf-8",
    """28.01.2026;Gehalt Firma AG;28.01.2026;1.190,00;EUR;28.01.2026 02:11:12:123
30.01.2026;Strom Wien Energie;30.01.2026;-89,00;EUR;30.01.2026 02:11:12:124
""",
    None,
)
LAYOUTS["bawag"] = (
    "cp1252",
    """AT611904300234573201;Gehalt Firma AG;28.01.2026;28.01.2026;+1.190,00;EUR
AT611904300234573201;Strom;30.01.2026;30.01.2026;-89,00;EUR
""",
    None,
)
LAYOUTS["postfinance"] = (
    "utf-8-sig",
    """Datum von:;="2026-01-01"
Datum bis:;="2026-01-31"
Buchungsart:;="Alle Buchungen"
Konto:;="CH9300762011623852957"
Währung:;="CHF"

Datum;Bewegungstyp;Avisierungstext;Gutschrift in CHF;Lastschrift in CHF;Label;Kategorie
28.01.2026;Gutschrift;Lohn;1190;;;Einkommen
30.01.2026;Lastschrift;Strom;;-89.05;;Wohnen

Disclaimer:
Der Dokumentinhalt wurde durch Filtereinstellungen der Kundin bzw. des Kunden generiert.
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["zkb"] = (
    "utf-8",
    """Datum;Buchungstext;Whg;Betrag Detail;ZKB-Referenz;Referenznummer;Belastung CHF;Gutschrift CHF;Valuta;Saldo CHF
30.01.2026;Belastung eBanking: Strom;;;L12345;;89.05;;30.01.2026;2'100.95
28.01.2026;Gutschrift: Lohn;;;L12344;;;1'190.00;28.01.2026;2'190.00
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["raiffeisen_ch"] = (
    "cp1252",
    """IBAN;Booked At;Text;Credit/Debit Amount;Balance;Valuta Date
CH9300762011623852957;2026-01-28 00:00:00.0;Gutschrift Lohn;1190;2190;2026-01-28 00:00:00.0
CH9300762011623852957;2026-01-30 00:00:00.0;Belastung Strom;-89.05;2100.95;2026-01-30 00:00:00.0
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["intesa"] = (
    "utf-8",
    """Data contabile;Data valuta;Descrizione;Accrediti;Addebiti;Descrizione estesa
28/01/2026;28/01/2026;Stipendio;1.190,00;;Accredito stipendio
30/01/2026;30/01/2026;Bolletta Enel;;-89,05;Addebito diretto
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["unicredit_it"] = (
    "utf-8",
    """Data Registrazione;Data valuta;Descrizione;Importo (EUR)
28/01/2026;28/01/2026;STIPENDIO;1.190,00
30/01/2026;30/01/2026;ENEL;-89,05
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["santander_es"] = (
    "cp1252",
    """FECHA OPERACIÓN;FECHA VALOR;CONCEPTO;IMPORTE EUR;SALDO
30/01/2026;30/01/2026;Recibo Luz;-89,05;2.100,95
28/01/2026;28/01/2026;Nómina;1.190,00;2.190,00
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["bbva"] = (
    "utf-8",
    """F. Valor;Fecha;Concepto;Movimiento;Importe;Divisa;Disponible;Divisa;Observaciones
30/01/2026;30/01/2026;Recibo;Luz;-89,05;EUR;2.100,95;EUR;
28/01/2026;28/01/2026;Nómina;Empresa;1.190,00;EUR;2.190,00;EUR;
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["rabobank"] = (
    "cp1252",
    """"IBAN/BBAN","Munt","BIC","Volgnr","Datum","Rentedatum","Bedrag","Saldo na trn","Tegenrekening IBAN/BBAN","Naam tegenpartij","Code","Omschrijving-1"
"NL91ABNA0417164300","EUR","RABONL2U","000000000000007213","2026-01-28","2026-01-28","+1190,00","+2190,00","NL20INGB0001234567","Werkgever","cb","Salaris"
"NL91ABNA0417164300","EUR","RABONL2U","000000000000007214","2026-01-30","2026-01-30","-89,05","+2100,95","NL02ABNA0123456789","Vattenfall","ei","Stroom"
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["ing_nl"] = (
    "utf-8",
    """"Datum","Naam / Omschrijving","Rekening","Tegenrekening","Code","Af Bij","Bedrag (EUR)","Mutatiesoort","Mededelingen"
"20260130","Vattenfall","NL91ABNA0417164300","NL02ABNA0123456789","IC","Af","89,05","Incasso","Stroom"
"20260128","Werkgever","NL91ABNA0417164300","NL20INGB0001234567","OV","Bij","1190,00","Overschrijving","Salaris"
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["abn"] = (
    "utf-8",
    """123456789\tEUR\t20260128\t1000,00\t2190,00\t20260128\t1190,00\tSEPA Salaris
123456789\tEUR\t20260130\t2190,00\t2100,95\t20260130\t-89,05\tSEPA Stroom
""",
    None,
)
LAYOUTS["barclays"] = (
    "utf-8",
    """Number,Date,Account,Amount,Subcategory,Memo
 ,28/01/2026,20-00-00 12345678,1190.00,Counter Credit,ACME SALARY
 ,30/01/2026,20-00-00 12345678,-89.05,Direct Debit,EDF ENERGY
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["lloyds"] = (
    "utf-8",
    """Transaction Date,Transaction Type,Sort Code,Account Number,Transaction Description,Debit Amount,Credit Amount,Balance
30/01/2026,DD,'30-00-00,12345678,EDF ENERGY,89.05,,2100.95
28/01/2026,BGC,'30-00-00,12345678,ACME SALARY,,1190.00,2190.00
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["monzo"] = (
    "utf-8",
    """Transaction ID,Date,Time,Type,Name,Emoji,Category,Amount,Currency,Local amount,Local currency,Notes and #tags,Address,Receipt,Description,Category split,Money Out,Money In
tx_0000A1,28/01/2026,09:00:00,Faster payment,ACME,,Income,1190.00,GBP,1190.00,GBP,,,,SALARY,,,1190.00
tx_0000A2,30/01/2026,10:11:12,Card payment,Cafe Paris,,Eating out,-8.90,GBP,-10.00,EUR,,,,CAFE PARIS,,-8.90,
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-8.90")],
)
LAYOUTS["starling"] = (
    "utf-8",
    """Date,Counter Party,Reference,Type,Amount (GBP),Balance (GBP),Spending Category,Notes
28/01/2026,ACME,SALARY,FASTER PAYMENT,1190.00,2190.00,INCOME,
30/01/2026,EDF,BILL,DIRECT DEBIT,-89.05,2100.95,BILLS,
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["chase"] = (
    "utf-8",
    """Details,Posting Date,Description,Amount,Type,Balance,Check or Slip #
DEBIT,01/30/2026,"CON EDISON",-89.05,ACH_DEBIT,2100.95,
CREDIT,01/28/2026,"ACME PAYROLL",1190.00,ACH_CREDIT,2190.00,
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["bofa"] = (
    "utf-8",
    """Description,,Summary Amt.
Beginning balance as of 01/01/2026,,"1,000.00"
Total credits,,"1,190.00"
Total debits,,"-89.05"
Ending balance as of 01/31/2026,,"2,100.95"

Date,Description,Amount,Running Bal.
01/01/2026,Beginning balance as of 01/01/2026,,"1,000.00"
01/28/2026,"ACME PAYROLL","1,190.00","2,190.00"
01/30/2026,"CON EDISON","-89.05","2,100.95"
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["capital_one"] = (
    "utf-8",
    """Transaction Date,Posted Date,Card No.,Description,Category,Debit,Credit
2026-01-30,2026-01-30,1234,CON EDISON,Bills,89.05,
2026-01-28,2026-01-28,1234,PAYMENT,Payment,,1190.00
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["amex_de"] = (
    "utf-8",
    """Datum,Beschreibung,Karteninhaber,Konto #,Betrag
30/01/2026,HOTEL,MAX,-11001,"89,05"
28/01/2026,ZAHLUNG ERHALTEN,MAX,-11001,"-1190,00"
27/01/2026,SHOP,MAX,-11001,"10,00"
""",
    None,
)
LAYOUTS["vivid"] = (
    "utf-8",
    """Booking Date,Value Date,Type,Description,Amount,Currency,Exchange Rate,Fee
2026-01-28,2026-01-28,SEPA,Salary,1190.00,EUR,,0
2026-01-30,2026-01-30,CARD,Shop,-89.05,EUR,,0
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["bunq"] = (
    "utf-8",
    """"Date","Interest Date","Amount","Account","Counterparty","Name","Description"
"2026-01-28","2026-01-28","1,190.00","NL91ABNA0417164300","NL20INGB0001234567","Werkgever","Salaris"
"2026-01-30","2026-01-30","-89.05","NL91ABNA0417164300","NL02ABNA0123456789","Vattenfall","Stroom"
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["paren_neg"] = (
    "utf-8",
    """Date,Description,Amount,Balance
2026-01-28,Salary,"1,190.00","2,190.00"
2026-01-30,Edison,"(89.05)","2,100.95"
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["trail_minus_sep"] = (
    "cp850",
    """sep=;
Datum;Text;Betrag EUR;Saldo EUR;
28.01.2026;Löhne;1.190,00;2.190,00;
30.01.2026;Überweisung;89,05-;2.100,95;
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["mac_roman"] = (
    "mac_roman",
    """Datum;Empfänger;Verwendungszweck;Betrag;Währung
28.01.2026;Müller;Löhne;1190,00;EUR
30.01.2026;Größe;Überweisung;-89,05;EUR
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["mixed_currency"] = (
    "utf-8",
    """Date,Description,Amount
2026-01-28,Salary,€1190.00
2026-01-30,Edison,-$89.05
2026-01-31,Edison,-£9.05
""",
    None,
)
LAYOUTS["narrow_nbsp"] = (
    "utf-8",
    "Date;Libellé;Montant;Solde\n28/01/2026;VIR;1\u202f190,00\u00a0€;2\u202f190,00\u00a0€\n30/01/2026;PRLV;\u221289,05\u00a0€;2\u202f100,95\u00a0€\n",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["totals_between"] = (
    "utf-8",
    """Buchungstag;Verwendungszweck;Betrag;Währung
02.01.2026;A;-10,00;EUR
03.01.2026;B;-20,00;EUR
;Summe Januar;-30,00;EUR
02.02.2026;C;-5,00;EUR
03.02.2026;D;-6,00;EUR
;Summe Februar;-11,00;EUR
;Gesamt;-41,00;EUR
""",
    [
        ("2026-01-02", "-10.00"),
        ("2026-01-03", "-20.00"),
        ("2026-02-02", "-5.00"),
        ("2026-02-03", "-6.00"),
    ],
)
LAYOUTS["mixed_dates"] = (
    "utf-8",
    """Buchungstag;Verwendungszweck;Betrag;Währung
02.01.2026;A;-10,00;EUR
2026-01-03;B;-20,00;EUR
04/01/2026;C;-5,00;EUR
""",
    None,
)
LAYOUTS["footer_text"] = (
    "utf-8",
    """Buchungstag;Verwendungszweck;Betrag;Währung
02.01.2026;A;-10,00;EUR
03.01.2026;B;-20,00;EUR

Erstellt am 31.01.2026 durch Online-Banking
* alle Angaben ohne Gewähr
""",
    [("2026-01-02", "-10.00"), ("2026-01-03", "-20.00")],
)
LAYOUTS["sold_two_sign"] = (
    "utf-8",
    """Datum;Text;Betrag;S/H;Saldo;S/H
28.01.2026;Lohn;1.190,00;H;2.190,00;H
30.01.2026;Strom;89,05;S;2.100,95;H
""",
    [("2026-01-28", "1190.00"), ("2026-01-30", "-89.05")],
)
LAYOUTS["balance_neg_sh"] = (
    "utf-8",
    """Datum;Text;Betrag;S/H;Saldo;S/H
28.01.2026;Lohn;1.000,00;H;500,00;S
30.01.2026;Strom;100,00;S;600,00;S
""",
    [("2026-01-28", "1000.00"), ("2026-01-30", "-100.00")],
)
LAYOUTS["iso_week"] = (
    "utf-8",
    """Datum;Text;Betrag;Währung
2026-W05-1;Lohn;1.190,00;EUR
2026-W05-3;Strom;-89,05;EUR
""",
    None,
)
LAYOUTS["reversal_col"] = (
    "utf-8",
    """Buchungstag;Verwendungszweck;Betrag;Währung;Storno
02.01.2026;A;-10,00;EUR;nein
03.01.2026;B;-20,00;EUR;ja
""",
    None,
)
LAYOUTS["orig_ccy"] = (
    "utf-8",
    """Buchungsdatum;Beschreibung;Originalbetrag;Originalwährung;Betrag;Währung
02.01.2026;Hotel;-100,00;USD;-92,00;EUR
03.01.2026;Shop;-20,00;EUR;-20,00;EUR
""",
    [("2026-01-02", "-92.00"), ("2026-01-03", "-20.00")],
)

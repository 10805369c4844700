-- The guard before an effect asks for each document whether the same invoice is there already.
CREATE INDEX documents_same_invoice ON documents (mandant_id, doc_type, amount_gross, invoice_date)
    WHERE doc_type IN ('invoice', 'credit_note') AND amount_gross IS NOT NULL;

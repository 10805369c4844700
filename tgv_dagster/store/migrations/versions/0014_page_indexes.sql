-- The list of documents in its first order, with as many rows read as are shown.
DROP INDEX documents_tenant_received;
CREATE INDEX documents_tenant_received ON documents (mandant_id, date_received DESC NULLS LAST, id DESC);
CREATE INDEX documents_due_date ON documents (due_date, id) WHERE due_date IS NOT NULL;

-- Mails and their replies; messages behind the wall of their case; receipts and their bookings.
CREATE INDEX documents_message ON documents (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX documents_in_reply_to ON documents (in_reply_to) WHERE in_reply_to IS NOT NULL;
CREATE INDEX cases_thread ON cases (thread_id);
CREATE INDEX txn_document_links_document ON txn_document_links (document_id);

-- The walls of a bank file hold for its bookings: when the level or the test mark of the document
-- changes, they follow at once, in locked months too, because a wall is no change of a booking.
CREATE INDEX txn_master_document ON txn_master (document_id) WHERE document_id IS NOT NULL;
CREATE INDEX bank_imports_document ON bank_imports (document_id) WHERE document_id IS NOT NULL;

CREATE FUNCTION only_walls_change(p_old txn_master, p_new txn_master) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT to_jsonb(p_old) - ARRAY['confidentiality_level', 'level_rank', 'is_test', 'changed_at']
         = to_jsonb(p_new) - ARRAY['confidentiality_level', 'level_rank', 'is_test', 'changed_at']
$$;

CREATE OR REPLACE FUNCTION txn_in_open_period() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND only_walls_change(OLD, NEW) THEN
        RETURN NEW;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        PERFORM refuse_locked_period(OLD.entity, OLD.booking_date, OLD.accounting_period);
        IF OLD.state = 'locked' THEN
            RAISE EXCEPTION 'booking % is locked', OLD.id USING ERRCODE = 'check_violation', CONSTRAINT = 'period_locked';
        END IF;
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    PERFORM refuse_locked_period(NEW.entity, NEW.booking_date, NEW.accounting_period);
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION txn_remembers_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.entity, NEW.project_code, NEW.booking_date, NEW.value_date, NEW.amount, NEW.currency, NEW.purpose, NEW.counterparty_name, NEW.counterparty_iban, NEW.state, NEW.check_status, NEW.reversal_of, NEW.accounting_period, NEW.contact_id)
       IS DISTINCT FROM
       (OLD.entity, OLD.project_code, OLD.booking_date, OLD.value_date, OLD.amount, OLD.currency, OLD.purpose, OLD.counterparty_name, OLD.counterparty_iban, OLD.state, OLD.check_status, OLD.reversal_of, OLD.accounting_period, OLD.contact_id) THEN
        NEW.changed_at := now();
    END IF;
    IF abs(NEW.amount) < (SELECT coalesce(sum(amount), 0) FROM txn_document_links WHERE txn_id = NEW.id) THEN
        RAISE EXCEPTION 'booking % would be smaller than its links', NEW.id USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION bookings_follow_document() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM bank_imports WHERE document_id = NEW.id) THEN
        RETURN NULL;
    END IF;
    UPDATE txn_master t SET confidentiality_level = NEW.confidentiality_level,
        is_test = NEW.is_test OR (SELECT a.is_test FROM md_accounts a WHERE a.id = t.account_id)
    WHERE t.document_id = NEW.id;
    UPDATE bank_statements s SET confidentiality_level = NEW.confidentiality_level,
        is_test = NEW.is_test OR (SELECT a.is_test FROM md_accounts a WHERE a.id = s.account_id)
    FROM bank_imports i WHERE i.id = s.import_id AND i.document_id = NEW.id;
    UPDATE bank_pending p SET confidentiality_level = NEW.confidentiality_level,
        is_test = NEW.is_test OR (SELECT a.is_test FROM md_accounts a WHERE a.id = p.account_id)
    FROM bank_imports i WHERE i.id = p.import_id AND i.document_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER documents_bookings AFTER INSERT OR UPDATE OF confidentiality_level, is_test ON documents FOR EACH ROW EXECUTE FUNCTION bookings_follow_document();

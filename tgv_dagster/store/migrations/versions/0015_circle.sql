-- UPL-17: a document that was given to a circle is seen by its persons and by who manages the
-- tenant, and by nobody else. NULL: no circle. In document_access, `in_circle` marks whom the circle
-- was drawn around, `before_release` who sees the document before its day.
ALTER TABLE document_access
    ADD COLUMN in_circle boolean NOT NULL DEFAULT false,
    ADD COLUMN before_release boolean NOT NULL DEFAULT true;
ALTER TABLE documents ADD COLUMN circle integer[];
ALTER TABLE rag_chunks ADD COLUMN circle integer[];
ALTER TABLE chunk_vectors ADD COLUMN circle integer[];
DROP INDEX chunk_vectors_tenant;
CREATE INDEX chunk_vectors_tenant ON chunk_vectors (mandant_id, chunk_id, window_no)
    INCLUDE (space_id, document_id, bits, active, entity, project_code, level_rank, visible_from,
             restricted_until, persons, circle, is_test, date_received, invoice_date);

-- UPL-15: what the uploader said about rights; every answer is a human value, these repeat it.
ALTER TABLE documents
    ADD COLUMN rights_model_release boolean,
    ADD COLUMN rights_post_mortem boolean;

CREATE FUNCTION access_of_document(touched bigint, OUT persons integer[], OUT circle integer[])
    LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(user_id ORDER BY user_id) FILTER (WHERE before_release), '{}'),
        CASE WHEN bool_or(in_circle) THEN array_agg(user_id ORDER BY user_id) END
    FROM document_access WHERE document_id = touched
$$;

CREATE OR REPLACE FUNCTION persons_follow_access() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE touched bigint := coalesce(NEW.document_id, OLD.document_id);
BEGIN
    UPDATE documents SET (persons, circle) = (SELECT a.persons, a.circle FROM access_of_document(touched) a)
    WHERE id = touched;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION walls_follow_document() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state <> 'active' OR NEW.mandant_id IS NULL OR NEW.entity IS NULL OR NEW.confidentiality_level IS NULL THEN
        DELETE FROM rag_chunks WHERE document_id = NEW.id;
        RETURN NEW;
    END IF;
    IF (NEW.mandant_id, NEW.entity, NEW.project_code, NEW.confidentiality_level, NEW.visible_from, NEW.restricted_until, NEW.persons, NEW.circle, NEW.is_test, NEW.date_received, NEW.invoice_date)
       IS DISTINCT FROM
       (OLD.mandant_id, OLD.entity, OLD.project_code, OLD.confidentiality_level, OLD.visible_from, OLD.restricted_until, OLD.persons, OLD.circle, OLD.is_test, OLD.date_received, OLD.invoice_date) THEN
        UPDATE rag_chunks SET mandant_id = NEW.mandant_id, entity = NEW.entity, project_code = NEW.project_code,
            confidentiality_level = NEW.confidentiality_level, visible_from = NEW.visible_from,
            restricted_until = NEW.restricted_until, persons = NEW.persons, circle = NEW.circle,
            is_test = NEW.is_test, date_received = NEW.date_received, invoice_date = NEW.invoice_date
        WHERE document_id = NEW.id;
        UPDATE chunk_vectors SET mandant_id = NEW.mandant_id, entity = NEW.entity, project_code = NEW.project_code,
            level_rank = NEW.level_rank, visible_from = NEW.visible_from,
            restricted_until = NEW.restricted_until, persons = NEW.persons, circle = NEW.circle,
            is_test = NEW.is_test, date_received = NEW.date_received, invoice_date = NEW.invoice_date
        WHERE document_id = NEW.id;
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION chunk_copies_document() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE d documents%ROWTYPE;
BEGIN
    SELECT * INTO d FROM documents WHERE id = NEW.document_id;
    IF NOT FOUND OR d.state <> 'active' THEN
        RAISE EXCEPTION 'chunk of a document that is not active: %', NEW.document_id USING ERRCODE = 'check_violation';
    END IF;
    IF (NEW.mandant_id, NEW.entity, NEW.confidentiality_level, NEW.is_test) IS DISTINCT FROM (d.mandant_id, d.entity, d.confidentiality_level, d.is_test)
       OR NEW.persons IS DISTINCT FROM d.persons OR NEW.circle IS DISTINCT FROM d.circle
       OR NEW.visible_from IS DISTINCT FROM d.visible_from
       OR NEW.restricted_until IS DISTINCT FROM d.restricted_until OR NEW.project_code IS DISTINCT FROM d.project_code THEN
        RAISE EXCEPTION 'chunk walls differ from document %', NEW.document_id USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

-- Who may come through the sign-on provider, and as whom there; `sso_identity` is issuer and subject.
ALTER TABLE users
    ADD COLUMN sso_since timestamptz,
    ADD COLUMN sso_identity text UNIQUE;

-- One row is one way to the provider and back; it is used once.
CREATE TABLE web_sign_ons (
    state_hash    text PRIMARY KEY,
    browser_hash  text NOT NULL,
    nonce         text NOT NULL,
    code_verifier text NOT NULL,
    next_page     text NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now()
);

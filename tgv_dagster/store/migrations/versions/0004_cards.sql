-- A card carries everything that its execution needs and that a person was shown: what it does in
-- words, what it stands on, between what one may choose, and the hash over all that is executed.
ALTER TABLE cards
    ADD COLUMN says jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN choices jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN basis jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN arguments_hash text,
    ADD COLUMN not_executable text,
    ADD COLUMN proposed_by text,
    ADD COLUMN expires_at timestamptz,
    ADD COLUMN choice text,
    ADD COLUMN replaces bigint REFERENCES cards (id),
    ADD COLUMN withdrawn_by text,
    ADD COLUMN withdrawn_at timestamptz,
    ADD CONSTRAINT card_carries_a_name CHECK (state = 'pending' OR executed_by IS NOT NULL);

-- Which card wrote a value: a withdrawal finds exactly its own rows.
ALTER TABLE document_values ADD COLUMN card_id bigint REFERENCES cards (id);
CREATE INDEX document_values_card ON document_values (card_id) WHERE card_id IS NOT NULL;
CREATE INDEX document_values_rule ON document_values (rule_id) WHERE origin = 'rule' AND active;

ALTER TABLE agent_decisions ADD COLUMN card_id bigint REFERENCES cards (id);

-- What a learned rule may look at, as triage read it; a simulation needs no second reading.
ALTER TABLE documents ADD COLUMN cues jsonb;

ALTER TABLE learning_events
    ADD COLUMN cues jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN case_id bigint REFERENCES cases (id),
    ADD COLUMN card_id bigint REFERENCES cards (id),
    ADD COLUMN withdrawn_at timestamptz;
CREATE INDEX learning_events_field ON learning_events (mandant_id, field) WHERE withdrawn_at IS NULL;

ALTER TABLE pattern_rules
    ADD COLUMN fingerprint text UNIQUE,
    ADD COLUMN simulation jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN case_id bigint REFERENCES cases (id),
    ADD COLUMN switched_off_by text,
    ADD COLUMN created_at timestamptz NOT NULL DEFAULT now();

ALTER TABLE cases DROP CONSTRAINT cases_subject_kind_check;
ALTER TABLE cases ADD CONSTRAINT cases_subject_kind_check CHECK (subject_kind IN
    ('arrival', 'document', 'mail', 'file', 'account', 'schema', 'vocabulary', 'run', 'rule'));
CREATE INDEX cases_open_of_document ON cases (document_id) WHERE state = 'open';

-- FILE-02: whatever writes a level, a filed document is never looser than its compartment.
CREATE FUNCTION never_looser_than_compartment() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    ladder text[] := ARRAY['oeffentlich', 'intern', 'vertraulich', 'streng_vertraulich'];
    floor text;
BEGIN
    IF NEW.compartment_id IS NULL OR NEW.confidentiality_level IS NULL THEN
        RETURN NEW;
    END IF;
    SELECT default_level INTO floor FROM compartments WHERE id = NEW.compartment_id;
    IF array_position(ladder, NEW.confidentiality_level) < array_position(ladder, floor) THEN
        NEW.confidentiality_level := floor;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER documents_never_looser BEFORE INSERT OR UPDATE OF confidentiality_level, compartment_id
    ON documents FOR EACH ROW EXECUTE FUNCTION never_looser_than_compartment();

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
COMMENT ON EXTENSION vector IS 'vector data type and ivfflat and hnsw access methods';
CREATE FUNCTION public.access_of_document(touched bigint, OUT persons integer[], OUT circle integer[]) RETURNS record
    LANGUAGE sql STABLE
    AS $$
    SELECT coalesce(array_agg(user_id ORDER BY user_id) FILTER (WHERE before_release), '{}'),
        CASE WHEN bool_or(in_circle) THEN array_agg(user_id ORDER BY user_id) END
    FROM document_access WHERE document_id = touched
$$;
CREATE FUNCTION public.append_event(p_kind text, p_author text, p_is_human boolean, p_object text, p_reason text, p_payload jsonb, p_entity text DEFAULT NULL::text, p_mandant integer DEFAULT NULL::integer) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    previous text;
    new_id bigint;
    new_hash text := encode(sha256(convert_to(p_payload::text, 'UTF8')), 'hex');
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('agent_events_chain'));
    SELECT chain_hash INTO previous FROM agent_events ORDER BY id DESC LIMIT 1;
    new_id := nextval(pg_get_serial_sequence('agent_events', 'id'));
    INSERT INTO agent_events (id, kind, entity, payload_hash, chain_hash, mandant_id, author, is_human, object, reason)
    OVERRIDING SYSTEM VALUE
    VALUES (new_id, p_kind, p_entity, new_hash,
            encode(sha256(convert_to(coalesce(previous, '') || '|' || new_id || '|' || p_kind || '|' || coalesce(p_entity, '') || '|' || new_hash, 'UTF8')), 'hex'),
            p_mandant, p_author, p_is_human, p_object, p_reason);
    INSERT INTO event_payloads (event_id, payload) VALUES (new_id, p_payload);
    RETURN new_id;
END $$;
CREATE FUNCTION public.bookings_follow_document() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION public.chunk_copies_document() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION public.clashing_trips(p_new bigint[]) RETURNS bigint[]
    LANGUAGE sql STABLE
    SET search_path TO 'public', 'pg_temp'
    AS $$
    WITH touched AS (
        SELECT DISTINCT entity, vehicle, segment, is_test FROM fahrtenbuch WHERE id = ANY (p_new)),
    ordered AS (
        SELECT f.id, f.km_start, f.id = ANY (p_new) AS is_new, max(f.km_end) OVER earlier AS reach,
            max(f.km_end) FILTER (WHERE f.id = ANY (p_new)) OVER earlier AS reach_of_new
        FROM fahrtenbuch f JOIN touched USING (entity, vehicle, segment, is_test)
        WHERE f.km_start < f.km_end
        WINDOW earlier AS (PARTITION BY entity, vehicle, segment, is_test
            ORDER BY f.km_start, f.km_end, f.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
    SELECT array_agg(id ORDER BY id) FROM ordered
    WHERE (is_new AND km_start < reach) OR km_start < reach_of_new
$$;
CREATE FUNCTION public.entity_slug_is_for_ever() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.slug <> OLD.slug THEN
        RAISE EXCEPTION 'the slug of an entity never changes (MOVE-01): % -> %', OLD.slug, NEW.slug;
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.events_are_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (NEW.id, NEW.kind, NEW.entity, NEW.payload_hash, NEW.chain_hash, NEW.author, NEW.object, NEW.reason, NEW.created_at)
       IS NOT DISTINCT FROM (OLD.id, OLD.kind, OLD.entity, OLD.payload_hash, OLD.chain_hash, OLD.author, OLD.object, OLD.reason, OLD.created_at) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'events are append only';
END $$;
CREATE FUNCTION public.link_within_tenant() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM txn_master t JOIN documents d ON d.id = NEW.document_id
        WHERE t.id = NEW.txn_id AND t.mandant_id = d.mandant_id AND t.is_test = d.is_test) THEN
        RAISE EXCEPTION 'booking % and document % do not belong together', NEW.txn_id, NEW.document_id USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.links_within_totals() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE txn_total numeric; document_total numeric; linked numeric;
BEGIN
    SELECT abs(amount) INTO txn_total FROM txn_master WHERE id = NEW.txn_id FOR UPDATE;
    SELECT coalesce(sum(amount), 0) INTO linked FROM txn_document_links WHERE txn_id = NEW.txn_id AND id <> NEW.id;
    IF linked + NEW.amount > txn_total THEN
        RAISE EXCEPTION 'links exceed the amount of booking %', NEW.txn_id USING ERRCODE = 'check_violation';
    END IF;
    SELECT abs(amount_gross) INTO document_total FROM documents WHERE id = NEW.document_id FOR UPDATE;
    SELECT coalesce(sum(amount), 0) INTO linked FROM txn_document_links WHERE document_id = NEW.document_id AND id <> NEW.id;
    IF document_total IS NULL OR linked + NEW.amount > document_total THEN
        RAISE EXCEPTION 'links exceed the total of document %', NEW.document_id USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.mandant_from_entity() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.entity IS NOT NULL THEN
        SELECT mandant_id INTO NEW.mandant_id FROM entities WHERE slug = NEW.entity;
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.never_looser_than_compartment() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION public.number_follows_document() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.mandant_id IS DISTINCT FROM OLD.mandant_id THEN
        UPDATE document_numbers SET mandant_id = NEW.mandant_id WHERE id = NEW.id;
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.number_key(value text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ('x'::text || "left"(regexp_replace(lower(value), '[^a-z0-9]'::text, ''::text, 'g'::text), 64));
CREATE FUNCTION public.odometer_exchange_acts() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    v_moved bigint[];
    v_clash bigint[];
BEGIN
    LOCK TABLE fahrtenbuch IN SHARE ROW EXCLUSIVE MODE;
    WITH moved AS (
        UPDATE fahrtenbuch f SET segment = s.segment
        FROM (SELECT id, odometer_segment(entity, vehicle, trip_date, km_start, km_end) AS segment
              FROM fahrtenbuch
              WHERE (entity, vehicle) IN ((OLD.entity, OLD.vehicle), (NEW.entity, NEW.vehicle))) s
        WHERE f.id = s.id AND f.segment <> s.segment
        RETURNING f.id)
    SELECT array_agg(id) INTO v_moved FROM moved;
    v_clash := clashing_trips(v_moved);
    IF v_clash IS NOT NULL THEN
        RAISE EXCEPTION 'trips would share kilometres with others of their vehicle'
            USING ERRCODE = 'exclusion_violation', DETAIL = array_to_string(v_clash[1:50], ',');
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.odometer_segment(p_entity text, p_vehicle text, p_day date, p_start numeric, p_end numeric) RETURNS integer
    LANGUAGE sql STABLE
    SET search_path TO 'public', 'pg_temp'
    AS $$
    SELECT count(*)::integer FROM odometer_exchanges x
    WHERE x.entity = p_entity AND x.vehicle = p_vehicle AND x.withdrawn_at IS NULL
      AND (x.exchanged_on < p_day OR (x.exchanged_on = p_day
          AND abs(p_start - x.km_first) < abs(p_end - x.km_last)))
$$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.txn_master (
    id bigint NOT NULL,
    mandant_id integer,
    entity text,
    project_code text,
    account_id integer NOT NULL,
    booking_date date NOT NULL,
    value_date date,
    amount numeric(18,2) NOT NULL,
    currency text NOT NULL,
    purpose text DEFAULT ''::text NOT NULL,
    counterparty_name text,
    counterparty_iban text,
    row_key text NOT NULL,
    occurrence integer DEFAULT 1 NOT NULL,
    state text DEFAULT 'draft'::text NOT NULL,
    check_status text DEFAULT 'needs_review'::text NOT NULL,
    reversal_of bigint,
    transfer_id bigint,
    accounting_period text,
    source text NOT NULL,
    document_id bigint,
    provenance jsonb DEFAULT '{}'::jsonb NOT NULL,
    contact_id bigint,
    confidentiality_level text,
    level_rank smallint GENERATED ALWAYS AS ((
CASE confidentiality_level
    WHEN 'oeffentlich'::text THEN 0
    WHEN 'intern'::text THEN 1
    WHEN 'vertraulich'::text THEN 2
    ELSE 3
END)::smallint) STORED,
    is_test boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    import_id bigint,
    bank_format text,
    end_to_end text,
    changed_at timestamp with time zone,
    CONSTRAINT txn_master_state_check CHECK ((state = ANY (ARRAY['draft'::text, 'booked'::text, 'locked'::text])))
);
CREATE FUNCTION public.only_walls_change(p_old public.txn_master, p_new public.txn_master) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT to_jsonb(p_old) - ARRAY['confidentiality_level', 'level_rank', 'is_test', 'changed_at']
         = to_jsonb(p_new) - ARRAY['confidentiality_level', 'level_rank', 'is_test', 'changed_at']
$$;
CREATE FUNCTION public.period_lock_key(p_entity text, p_period text) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT hashtextextended('period|' || coalesce(p_entity, '') || '|' || p_period, 0)
$$;
CREATE FUNCTION public.period_stays_locked() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.locked_at IS NOT NULL THEN
        RAISE EXCEPTION 'the period % of % is locked and stays locked', OLD.period, OLD.entity
            USING ERRCODE = 'check_violation', CONSTRAINT = 'period_locked';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    PERFORM pg_advisory_xact_lock(period_lock_key(NEW.entity, NEW.period));
    RETURN NEW;
END $$;
CREATE FUNCTION public.persons_follow_access() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE touched bigint := coalesce(NEW.document_id, OLD.document_id);
BEGIN
    UPDATE documents SET (persons, circle) = (SELECT a.persons, a.circle FROM access_of_document(touched) a)
    WHERE id = touched;
    RETURN NULL;
END $$;
CREATE FUNCTION public.refuse_locked_period(p_entity text, p_day date, p_period text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE month text;
BEGIN
    FOREACH month IN ARRAY ARRAY[to_char(p_day, 'YYYY-MM'), coalesce(p_period, to_char(p_day, 'YYYY-MM'))] LOOP
        PERFORM pg_advisory_xact_lock_shared(period_lock_key(p_entity, month));
        IF EXISTS (SELECT 1 FROM accounting_periods a WHERE a.entity = p_entity AND a.period = month AND a.locked_at IS NOT NULL) THEN
            RAISE EXCEPTION 'the period % of % is locked', month, p_entity
                USING ERRCODE = 'check_violation', CONSTRAINT = 'period_locked';
        END IF;
    END LOOP;
END $$;
CREATE FUNCTION public.transfer_joins_opposites() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM txn_master o JOIN txn_master i ON i.id = NEW.in_txn
        WHERE o.id = NEW.out_txn AND o.account_id <> i.account_id AND o.mandant_id = i.mandant_id
          AND o.currency = i.currency AND o.amount < 0 AND o.amount = -i.amount AND o.is_test = i.is_test) THEN
        RAISE EXCEPTION 'bookings % and % are no transfer', NEW.out_txn, NEW.in_txn USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (SELECT 1 FROM txn_transfers WHERE id <> NEW.id AND (in_txn = NEW.out_txn OR out_txn = NEW.in_txn)) THEN
        RAISE EXCEPTION 'a booking is part of one transfer only' USING ERRCODE = 'unique_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.txn_in_open_period() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION public.txn_remembers_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION public.txn_truncate_open() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM accounting_periods WHERE locked_at IS NOT NULL) THEN
        RAISE EXCEPTION 'bookings of locked periods cannot be emptied' USING ERRCODE = 'check_violation', CONSTRAINT = 'period_locked';
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.value_keys(field text, value text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $_$
BEGIN
    IF field = 'accounting_period' THEN
        RETURN ARRAY['m' || replace(left(value, 7), '-', '')];
    ELSIF right(field, 5) = '_date' OR field IN ('notice_deadline', 'date_received') THEN
        IF value ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}' THEN
            RETURN ARRAY['d' || replace(left(value, 10), '-', ''),
                'm' || replace(left(value, 7), '-', ''), 'a' || replace(substr(value, 6, 5), '-', '')];
        END IF;
    ELSIF left(field, 7) = 'amount_' THEN
        IF value ~ '^-?[0-9]{1,15}([.][0-9]{1,6})?$' THEN
            RETURN ARRAY['n' || trim_scale(abs(value::numeric))];
        END IF;
    ELSIF right(field, 7) = '_number' THEN
        RETURN ARRAY[public.number_key(value)];
    END IF;
    RETURN NULL;
END $_$;
CREATE FUNCTION public.walls_follow_document() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION public.write_time_entries(p_rows jsonb, p_replaced bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    v_new bigint[];
    v_clash bigint[];
BEGIN
    LOCK TABLE prf_timetrack IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM prf_timetrack WHERE id = ANY (p_replaced);
    WITH inserted AS (
        INSERT INTO prf_timetrack (id, mandant_id, entity, project_code, benutzername, datum,
            startzeit, endzeit, minutes, description, source, document_id, provenance, check_status,
            is_test)
        SELECT coalesce(r.id, nextval('prf_timetrack_id_seq')), r.mandant_id, r.entity,
            r.project_code, r.benutzername, r.datum, r.startzeit, r.endzeit, r.minutes,
            coalesce(r.description, ''), r.source, r.document_id, CASE jsonb_typeof(r.provenance) WHEN 'object' THEN r.provenance
                WHEN 'string' THEN (r.provenance #>> '{}')::jsonb ELSE '{}' END,
            coalesce(r.check_status, 'needs_review'), coalesce(r.is_test, false)
        FROM jsonb_populate_recordset(NULL::prf_timetrack, p_rows) r
        RETURNING id)
    SELECT coalesce(array_agg(id ORDER BY id), '{}') INTO v_new FROM inserted;
    WITH touched AS (
        SELECT DISTINCT mandant_id, benutzername, is_test FROM prf_timetrack
        WHERE id = ANY (v_new)),
    spaced AS (
        SELECT t.id, t.mandant_id, t.benutzername, t.is_test, t.datum + t.startzeit AS begins,
            CASE WHEN t.endzeit IS NULL THEN t.datum + t.startzeit + make_interval(mins => t.minutes)
                 WHEN t.endzeit < t.startzeit THEN t.datum + 1 + t.endzeit
                 ELSE t.datum + t.endzeit END AS ends
        FROM prf_timetrack t
        WHERE EXISTS (SELECT 1 FROM touched k WHERE k.benutzername = t.benutzername
            AND k.is_test = t.is_test AND k.mandant_id IS NOT DISTINCT FROM t.mandant_id)),
    ordered AS (
        SELECT id, begins, id = ANY (v_new) AS is_new, max(ends) OVER earlier AS reach,
            max(ends) FILTER (WHERE id = ANY (v_new)) OVER earlier AS reach_of_new
        FROM spaced WHERE begins < ends
        WINDOW earlier AS (PARTITION BY mandant_id, benutzername, is_test ORDER BY begins, ends, id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
    SELECT array_agg(id ORDER BY id) INTO v_clash FROM ordered
    WHERE (is_new AND begins < reach) OR begins < reach_of_new;
    IF v_clash IS NOT NULL THEN
        RAISE EXCEPTION 'time entries share time with others of their person'
            USING ERRCODE = 'exclusion_violation', DETAIL = array_to_string(v_clash[1:50], ',');
    END IF;
    RETURN v_new;
END $$;
CREATE FUNCTION public.write_trips(p_rows jsonb, p_replaced bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    v_new bigint[];
    v_clash bigint[];
BEGIN
    LOCK TABLE fahrtenbuch IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM fahrtenbuch WHERE id = ANY (p_replaced);
    WITH inserted AS (
        INSERT INTO fahrtenbuch (id, mandant_id, entity, project_code, vehicle, trip_date, km_start,
            km_end, purpose, source, document_id, provenance, check_status, is_test, segment)
        SELECT coalesce(r.id, nextval('fahrtenbuch_id_seq')), r.mandant_id, r.entity,
            r.project_code, r.vehicle, r.trip_date, r.km_start, r.km_end, coalesce(r.purpose, ''),
            r.source, r.document_id, CASE jsonb_typeof(r.provenance) WHEN 'object' THEN r.provenance
                WHEN 'string' THEN (r.provenance #>> '{}')::jsonb ELSE '{}' END,
            coalesce(r.check_status, 'needs_review'), coalesce(r.is_test, false), CASE
                WHEN x.vehicle IS NULL THEN 0
                ELSE odometer_segment(r.entity, r.vehicle, r.trip_date, r.km_start, r.km_end) END
        FROM jsonb_populate_recordset(NULL::fahrtenbuch, p_rows) r
        LEFT JOIN (SELECT DISTINCT entity, vehicle FROM odometer_exchanges) x
            ON x.entity = r.entity AND x.vehicle = r.vehicle
        RETURNING id)
    SELECT coalesce(array_agg(id ORDER BY id), '{}') INTO v_new FROM inserted;
    v_clash := clashing_trips(v_new);
    IF v_clash IS NOT NULL THEN
        RAISE EXCEPTION 'trips share kilometres with others of their vehicle'
            USING ERRCODE = 'exclusion_violation', DETAIL = array_to_string(v_clash[1:50], ',');
    END IF;
    RETURN v_new;
END $$;
CREATE TABLE public.accounting_periods (
    entity text NOT NULL,
    period text NOT NULL,
    locked_at timestamp with time zone,
    locked_by text,
    CONSTRAINT accounting_periods_period_check CHECK ((period ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'::text))
);
CREATE TABLE public.agent_decisions (
    id bigint NOT NULL,
    case_id bigint,
    document_id bigint,
    mandant_id integer,
    decision_type text NOT NULL,
    decision jsonb NOT NULL,
    decided_by text NOT NULL,
    decided_at timestamp with time zone DEFAULT now() NOT NULL,
    card_id bigint
);
ALTER TABLE public.agent_decisions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.agent_decisions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.agent_events (
    id bigint NOT NULL,
    kind text NOT NULL,
    entity text,
    payload_hash text NOT NULL,
    chain_hash text NOT NULL,
    mandant_id integer,
    author text NOT NULL,
    is_human boolean DEFAULT false NOT NULL,
    object text NOT NULL,
    reason text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.agent_events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.agent_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.api_tokens (
    id integer NOT NULL,
    user_id integer NOT NULL,
    mandant_slug text,
    name text NOT NULL,
    token_hash text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone
);
ALTER TABLE public.api_tokens ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.api_tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.arrivals (
    id bigint NOT NULL,
    uid uuid NOT NULL,
    arrival_key text NOT NULL,
    raw_item_id bigint NOT NULL,
    gate text NOT NULL,
    file_name text NOT NULL,
    received_at timestamp with time zone NOT NULL,
    uploader text,
    intent_text text,
    thread_id bigint,
    mandant_id integer,
    entity_hint text,
    parent_id bigint,
    part_path text,
    part_role text DEFAULT 'file'::text NOT NULL,
    origin jsonb NOT NULL,
    is_test boolean DEFAULT false NOT NULL,
    outcome text DEFAULT 'pending'::text NOT NULL,
    outcome_reason text,
    document_id bigint,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT arrivals_gate_check CHECK ((gate = ANY (ARRAY['mail'::text, 'upload'::text, 'drop'::text, 'folder'::text, 'photo'::text, 'connector'::text, 'batch'::text, 'chat'::text, 'output'::text]))),
    CONSTRAINT arrivals_outcome_check CHECK ((outcome = ANY (ARRAY['pending'::text, 'entered'::text, 'already_here'::text, 'parked'::text, 'blocked'::text, 'set_apart'::text, 'split'::text, 'erased'::text]))),
    CONSTRAINT arrivals_part_role_check CHECK ((part_role = ANY (ARRAY['file'::text, 'body'::text, 'mail'::text])))
);
ALTER TABLE public.arrivals ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.arrivals_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.artefact_sources (
    artefact_id bigint NOT NULL,
    document_id bigint NOT NULL
);
CREATE TABLE public.artefacts (
    id bigint NOT NULL,
    mandant_id integer NOT NULL,
    entity text,
    kind text NOT NULL,
    title text NOT NULL,
    raw_sha256 text,
    storage_bucket text,
    raw_key text,
    confidentiality_level text NOT NULL,
    level_rank smallint GENERATED ALWAYS AS ((
CASE confidentiality_level
    WHEN 'oeffentlich'::text THEN 0
    WHEN 'intern'::text THEN 1
    WHEN 'vertraulich'::text THEN 2
    ELSE 3
END)::smallint) STORED,
    basis jsonb DEFAULT '{}'::jsonb NOT NULL,
    is_test boolean DEFAULT false NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.artefacts ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.artefacts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.bank_imports (
    id bigint NOT NULL,
    mandant_id integer NOT NULL,
    document_id bigint,
    raw_sha256 text NOT NULL,
    generation integer DEFAULT 1 NOT NULL,
    variant text NOT NULL,
    parser_version text NOT NULL,
    state text NOT NULL,
    reason text,
    entries integer DEFAULT 0 NOT NULL,
    inserted integer DEFAULT 0 NOT NULL,
    known integer DEFAULT 0 NOT NULL,
    pending integer DEFAULT 0 NOT NULL,
    vanished integer DEFAULT 0 NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    undone_by text,
    undone_at timestamp with time zone,
    is_test boolean DEFAULT false NOT NULL,
    CONSTRAINT bank_imports_raw_sha256_check CHECK ((raw_sha256 ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT bank_imports_state_check CHECK ((state = ANY (ARRAY['imported'::text, 'waiting'::text, 'refused'::text, 'undone'::text]))),
    CONSTRAINT not_imported_has_reason CHECK (((state = 'imported'::text) OR (reason IS NOT NULL)))
);
ALTER TABLE public.bank_imports ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.bank_imports_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.bank_pending (
    id bigint NOT NULL,
    import_id bigint NOT NULL,
    account_id integer NOT NULL,
    mandant_id integer,
    entity text,
    booking_date date NOT NULL,
    amount numeric(18,2) NOT NULL,
    currency text NOT NULL,
    purpose text DEFAULT ''::text NOT NULL,
    counterparty_name text,
    confidentiality_level text,
    level_rank smallint GENERATED ALWAYS AS ((
CASE confidentiality_level
    WHEN 'oeffentlich'::text THEN 0
    WHEN 'intern'::text THEN 1
    WHEN 'vertraulich'::text THEN 2
    ELSE 3
END)::smallint) STORED,
    is_test boolean DEFAULT false NOT NULL
);
ALTER TABLE public.bank_pending ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.bank_pending_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.bank_statements (
    id bigint NOT NULL,
    import_id bigint NOT NULL,
    account_id integer NOT NULL,
    mandant_id integer,
    entity text,
    kind text NOT NULL,
    number text,
    first_day date,
    last_day date,
    opening numeric(18,2),
    opening_day date,
    closing numeric(18,2),
    closing_day date,
    currency text,
    lines integer NOT NULL,
    confidentiality_level text,
    level_rank smallint GENERATED ALWAYS AS ((
CASE confidentiality_level
    WHEN 'oeffentlich'::text THEN 0
    WHEN 'intern'::text THEN 1
    WHEN 'vertraulich'::text THEN 2
    ELSE 3
END)::smallint) STORED,
    is_test boolean DEFAULT false NOT NULL,
    CONSTRAINT bank_statements_kind_check CHECK ((kind = ANY (ARRAY['statement'::text, 'report'::text, 'notification'::text])))
);
ALTER TABLE public.bank_statements ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.bank_statements_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.cards (
    id bigint NOT NULL,
    case_id bigint NOT NULL,
    action text NOT NULL,
    arguments jsonb NOT NULL,
    executable boolean NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL,
    result jsonb,
    executed_by text,
    executed_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    says jsonb DEFAULT '{}'::jsonb NOT NULL,
    choices jsonb DEFAULT '[]'::jsonb NOT NULL,
    basis jsonb DEFAULT '{}'::jsonb NOT NULL,
    arguments_hash text,
    not_executable text,
    proposed_by text,
    expires_at timestamp with time zone,
    choice text,
    replaces bigint,
    withdrawn_by text,
    withdrawn_at timestamp with time zone,
    CONSTRAINT card_carries_a_name CHECK (((state = 'pending'::text) OR (executed_by IS NOT NULL))),
    CONSTRAINT cards_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'executed'::text, 'rejected'::text, 'not_executed'::text])))
);
ALTER TABLE public.cards ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.cards_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.cases (
    id bigint NOT NULL,
    kind text NOT NULL,
    subject_kind text NOT NULL,
    subject_key text NOT NULL,
    reason text NOT NULL,
    thread_id bigint NOT NULL,
    mandant_id integer,
    entity text,
    document_id bigint,
    arrival_id bigint,
    confidentiality_level text,
    level_rank smallint GENERATED ALWAYS AS ((
CASE confidentiality_level
    WHEN 'oeffentlich'::text THEN 0
    WHEN 'intern'::text THEN 1
    WHEN 'vertraulich'::text THEN 2
    ELSE 3
END)::smallint) STORED,
    evidence jsonb DEFAULT '{}'::jsonb NOT NULL,
    choices jsonb DEFAULT '[]'::jsonb NOT NULL,
    open_points jsonb DEFAULT '[]'::jsonb NOT NULL,
    state text DEFAULT 'open'::text NOT NULL,
    decision jsonb,
    decided_by text,
    decided_at timestamp with time zone,
    is_test boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT cases_state_check CHECK ((state = ANY (ARRAY['open'::text, 'executed'::text, 'rejected'::text, 'not_executed'::text, 'released'::text, 'dismissed'::text]))),
    CONSTRAINT cases_subject_kind_check CHECK ((subject_kind = ANY (ARRAY['arrival'::text, 'document'::text, 'mail'::text, 'file'::text, 'account'::text, 'schema'::text, 'vocabulary'::text, 'run'::text, 'rule'::text]))),
    CONSTRAINT decided_by_a_person CHECK (((state = 'open'::text) = (decided_by IS NULL)))
);
ALTER TABLE public.cases ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.cases_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.checkpoints (
    id text NOT NULL,
    station text NOT NULL,
    counted_since timestamp with time zone DEFAULT now() NOT NULL,
    code_version text NOT NULL
);
CREATE TABLE public.chunk_vectors (
    space_id text NOT NULL,
    chunk_id bigint NOT NULL,
    window_no integer NOT NULL,
    document_id bigint NOT NULL,
    active boolean DEFAULT true NOT NULL,
    mandant_id integer NOT NULL,
    entity text NOT NULL,
    project_code text,
    level_rank smallint NOT NULL,
    visible_from timestamp with time zone,
    restricted_until timestamp with time zone,
    persons integer[] NOT NULL,
    is_test boolean NOT NULL,
    date_received timestamp with time zone NOT NULL,
    invoice_date date,
    emb public.halfvec NOT NULL,
    bits bit varying GENERATED ALWAYS AS (public.binary_quantize(emb)) STORED,
    circle integer[]
)
PARTITION BY LIST (space_id);
CREATE TABLE public.chunk_vectors_m (
    space_id text CONSTRAINT chunk_vectors_space_id_not_null NOT NULL,
    chunk_id bigint CONSTRAINT chunk_vectors_chunk_id_not_null NOT NULL,
    window_no integer CONSTRAINT chunk_vectors_window_no_not_null NOT NULL,
    document_id bigint CONSTRAINT chunk_vectors_document_id_not_null NOT NULL,
    active boolean DEFAULT true CONSTRAINT chunk_vectors_active_not_null NOT NULL,
    mandant_id integer CONSTRAINT chunk_vectors_mandant_id_not_null NOT NULL,
    entity text CONSTRAINT chunk_vectors_entity_not_null NOT NULL,
    project_code text,
    level_rank smallint CONSTRAINT chunk_vectors_level_rank_not_null NOT NULL,
    visible_from timestamp with time zone,
    restricted_until timestamp with time zone,
    persons integer[] CONSTRAINT chunk_vectors_persons_not_null NOT NULL,
    is_test boolean CONSTRAINT chunk_vectors_is_test_not_null NOT NULL,
    date_received timestamp with time zone CONSTRAINT chunk_vectors_date_received_not_null NOT NULL,
    invoice_date date,
    emb public.halfvec CONSTRAINT chunk_vectors_emb_not_null NOT NULL,
    bits bit varying GENERATED ALWAYS AS (public.binary_quantize(emb)) STORED,
    circle integer[]
);
CREATE TABLE public.compartments (
    id integer NOT NULL,
    mandant_id integer NOT NULL,
    entity text,
    folder text NOT NULL,
    default_level text NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.compartments ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compartments_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.contact_mentions (
    id bigint NOT NULL,
    document_id bigint NOT NULL,
    role text NOT NULL,
    name_raw text,
    email text,
    iban text,
    vat_id text,
    country text,
    source_kind text NOT NULL,
    contact_id bigint,
    name_words text[] NOT NULL
);
ALTER TABLE public.contact_mentions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.contact_mentions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.contract_positions (
    id bigint NOT NULL,
    contract_id bigint NOT NULL,
    mandant_id integer,
    entity text,
    label text NOT NULL,
    amount numeric(18,2),
    currency text,
    period text
);
ALTER TABLE public.contract_positions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.contract_positions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.document_access (
    document_id bigint NOT NULL,
    user_id integer NOT NULL,
    granted_by text NOT NULL,
    granted_at timestamp with time zone DEFAULT now() NOT NULL,
    in_circle boolean DEFAULT false NOT NULL,
    before_release boolean DEFAULT true NOT NULL
);
CREATE TABLE public.document_numbers (
    id bigint NOT NULL,
    mandant_id integer,
    raw_sha256 text NOT NULL,
    part_role text NOT NULL,
    arrival_uid uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.document_numbers ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.document_numbers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.document_values (
    id bigint NOT NULL,
    document_id bigint NOT NULL,
    field text NOT NULL,
    value text,
    checked_none boolean DEFAULT false NOT NULL,
    origin text NOT NULL,
    confidence real,
    evidence jsonb,
    rule_id text,
    model_call_id bigint,
    set_by text NOT NULL,
    set_at timestamp with time zone DEFAULT now() NOT NULL,
    version text NOT NULL,
    generation integer DEFAULT 0 NOT NULL,
    active boolean DEFAULT true NOT NULL,
    card_id bigint,
    CONSTRAINT document_values_confidence_check CHECK (((confidence >= (0)::double precision) AND (confidence <= (1)::double precision))),
    CONSTRAINT document_values_origin_check CHECK ((origin = ANY (ARRAY['machine'::text, 'rule'::text, 'human'::text])))
);
ALTER TABLE public.document_values ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.document_values_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.documents (
    id bigint NOT NULL,
    mandant_id integer,
    entity text,
    entity_quelle text,
    project_code text,
    raw_sha256 text NOT NULL,
    raw_item_id bigint,
    storage_bucket text,
    raw_key text,
    part_role text DEFAULT 'file'::text NOT NULL,
    file_class text NOT NULL,
    file_name text NOT NULL,
    media_type text,
    title text,
    doc_type text,
    provider text,
    language text,
    direction text,
    confidentiality_level text,
    level_rank smallint GENERATED ALWAYS AS ((
CASE confidentiality_level
    WHEN 'oeffentlich'::text THEN 0
    WHEN 'intern'::text THEN 1
    WHEN 'vertraulich'::text THEN 2
    ELSE 3
END)::smallint) STORED,
    visible_from timestamp with time zone,
    restricted_until timestamp with time zone,
    persons integer[] DEFAULT '{}'::integer[] NOT NULL,
    is_test boolean DEFAULT false NOT NULL,
    retention_class text,
    retain_until date,
    flow_stage text DEFAULT 'understand'::text NOT NULL,
    finance_stage text,
    state text DEFAULT 'active'::text NOT NULL,
    held_gate text,
    held_reason text,
    date_received timestamp with time zone NOT NULL,
    invoice_date date,
    service_date date,
    due_date date,
    accounting_period text,
    amount_gross numeric(18,2),
    currency text,
    parent_message_id text,
    message_id text,
    in_reply_to text,
    mail_from text,
    mail_to text,
    mail_subject text,
    intake_text text,
    intent_text text,
    legacy_number text,
    legacy_url text,
    skill_plan jsonb DEFAULT '[]'::jsonb NOT NULL,
    rights_verbatim_ok boolean,
    rights_copyright_holder text,
    compartment_id integer,
    index_filter text,
    dispatch_state text DEFAULT 'pending'::text NOT NULL,
    dispatch_error text,
    dispatched_at timestamp with time zone,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    cues jsonb,
    circle integer[],
    rights_model_release boolean,
    rights_post_mortem boolean,
    CONSTRAINT documents_accounting_period_check CHECK ((accounting_period ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'::text)),
    CONSTRAINT documents_direction_check CHECK ((direction = ANY (ARRAY['in'::text, 'out'::text]))),
    CONSTRAINT documents_dispatch_state_check CHECK ((dispatch_state = ANY (ARRAY['pending'::text, 'done'::text, 'failed'::text]))),
    CONSTRAINT documents_entity_quelle_check CHECK ((entity_quelle = ANY (ARRAY['structural_rule'::text, 'content'::text, 'human'::text, 'hint'::text]))),
    CONSTRAINT documents_file_class_check CHECK ((file_class = ANY (ARRAY['file'::text, 'mail_body'::text, 'mail'::text]))),
    CONSTRAINT documents_finance_stage_check CHECK ((finance_stage = ANY (ARRAY['s0'::text, 's1'::text, 's2'::text, 's3'::text, 's4'::text]))),
    CONSTRAINT documents_flow_stage_check CHECK ((flow_stage = ANY (ARRAY['arrive'::text, 'understand'::text, 'deepen'::text, 'clarify'::text, 'file'::text, 'know'::text, 'effect'::text]))),
    CONSTRAINT documents_state_check CHECK ((state = ANY (ARRAY['active'::text, 'held'::text, 'trashed'::text]))),
    CONSTRAINT file_class_points_to_bytes CHECK (((file_class = 'mail_body'::text) OR (raw_item_id IS NOT NULL))),
    CONSTRAINT held_with_reason CHECK (((state <> 'held'::text) OR ((held_gate IS NOT NULL) AND (held_reason IS NOT NULL))))
);
CREATE TABLE public.embedding_cache (
    space_id text NOT NULL,
    mandant_id integer NOT NULL,
    content_sha256 text NOT NULL,
    emb public.halfvec NOT NULL,
    document_id bigint
);
CREATE TABLE public.embedding_spaces (
    space_id text NOT NULL,
    model text NOT NULL,
    version text NOT NULL,
    centring text DEFAULT 'none'::text NOT NULL,
    dimension integer NOT NULL,
    floor real,
    floor_note text NOT NULL,
    active boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.entities (
    id integer NOT NULL,
    slug text NOT NULL,
    mandant_id integer NOT NULL,
    kind text NOT NULL,
    legal_name text NOT NULL,
    aliases text[] DEFAULT '{}'::text[] NOT NULL,
    vat_ids text[] DEFAULT '{}'::text[] NOT NULL,
    ibans text[] DEFAULT '{}'::text[] NOT NULL,
    register_no text,
    siren text,
    address text,
    country text,
    email_domains text[] DEFAULT '{}'::text[] NOT NULL,
    intake_mail text,
    bucket text NOT NULL,
    default_level text,
    is_test boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT entities_kind_check CHECK ((kind = ANY (ARRAY['company'::text, 'person'::text, 'household'::text]))),
    CONSTRAINT entities_slug_check CHECK (((slug ~ '^[a-z0-9][a-z0-9_-]{0,62}$'::text) AND (slug <> 'alle'::text)))
);
ALTER TABLE public.entities ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.entities_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.erasure_ledger (
    id bigint NOT NULL,
    mandant_id integer NOT NULL,
    subject_kind text NOT NULL,
    subject_hash text NOT NULL,
    raw_sha256 text,
    reason text NOT NULL,
    requested_by text NOT NULL,
    erased_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.erasure_ledger ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.erasure_ledger_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.event_payloads (
    event_id bigint NOT NULL,
    payload jsonb
);
CREATE TABLE public.extractions (
    raw_sha256 text NOT NULL,
    part_role text DEFAULT 'file'::text NOT NULL,
    engine_version text NOT NULL,
    generation integer DEFAULT 0 NOT NULL,
    active boolean DEFAULT true NOT NULL,
    status text NOT NULL,
    reason text,
    media_type text,
    characters integer NOT NULL,
    pages integer NOT NULL,
    result text NOT NULL,
    seconds real,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.fahrtenbuch (
    id bigint NOT NULL,
    mandant_id integer,
    entity text NOT NULL,
    project_code text,
    vehicle text NOT NULL,
    trip_date date NOT NULL,
    km_start numeric(12,1) NOT NULL,
    km_end numeric(12,1) NOT NULL,
    purpose text DEFAULT ''::text NOT NULL,
    source text NOT NULL,
    document_id bigint,
    provenance jsonb DEFAULT '{}'::jsonb NOT NULL,
    check_status text DEFAULT 'needs_review'::text NOT NULL,
    is_test boolean DEFAULT false NOT NULL,
    segment integer DEFAULT 0 NOT NULL,
    CONSTRAINT fahrtenbuch_check CHECK ((km_end >= km_start))
);
ALTER TABLE public.fahrtenbuch ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.fahrtenbuch_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.flow_ledger (
    stage text NOT NULL,
    subject_id bigint NOT NULL,
    generation integer DEFAULT 0 NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    claimed_by text,
    lease_until timestamp with time zone,
    not_before timestamp with time zone DEFAULT now() NOT NULL,
    fingerprint text,
    reason text,
    gate text,
    enqueued_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT flow_ledger_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'claimed'::text, 'done'::text, 'held'::text, 'parked'::text])))
);
CREATE TABLE public.generations (
    id integer NOT NULL,
    step text NOT NULL,
    scope jsonb NOT NULL,
    code_version text NOT NULL,
    state text DEFAULT 'building'::text NOT NULL,
    comparison jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    switched_at timestamp with time zone,
    CONSTRAINT generations_state_check CHECK ((state = ANY (ARRAY['building'::text, 'ready'::text, 'active'::text, 'dropped'::text]))),
    CONSTRAINT generations_step_check CHECK ((step = ANY (ARRAY['extract'::text, 'triage'::text, 'chunk'::text, 'embed'::text])))
);
ALTER TABLE public.generations ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.generations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.import_schema (
    id bigint NOT NULL,
    mandant_id integer,
    signature text NOT NULL,
    target text NOT NULL,
    mapping jsonb NOT NULL,
    value_table jsonb DEFAULT '{}'::jsonb NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    confirmed_by text NOT NULL,
    confirmed_at timestamp with time zone DEFAULT now() NOT NULL,
    withdrawn_at timestamp with time zone
);
ALTER TABLE public.import_schema ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.import_schema_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.learning_events (
    id bigint NOT NULL,
    mandant_id integer,
    document_id bigint,
    scope jsonb NOT NULL,
    field text NOT NULL,
    old_value text,
    new_value text,
    origin text NOT NULL,
    author text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    cues jsonb DEFAULT '{}'::jsonb NOT NULL,
    case_id bigint,
    card_id bigint,
    withdrawn_at timestamp with time zone
);
ALTER TABLE public.learning_events ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.learning_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.legacy_links (
    legacy_url text NOT NULL,
    mandant_id integer NOT NULL,
    legacy_number text,
    document_id bigint,
    state text NOT NULL,
    copy_before timestamp with time zone,
    checked_at timestamp with time zone,
    CONSTRAINT legacy_links_state_check CHECK ((state = ANY (ARRAY['old_store'::text, 'recovered'::text, 'unrecoverable'::text, 'body_by_design'::text])))
);
CREATE TABLE public.mail_ledger (
    id bigint NOT NULL,
    account text NOT NULL,
    folder text NOT NULL,
    uidvalidity bigint,
    uid bigint,
    raw_sha256 text,
    raw_item_id bigint,
    message_id text,
    in_reply_to text,
    references_ids text[],
    thread_headers text DEFAULT 'not_recorded'::text NOT NULL,
    internal_date timestamp with time zone,
    header_date timestamp with time zone,
    size_announced bigint,
    size_received bigint,
    gate text DEFAULT 'poll'::text NOT NULL,
    outcome text NOT NULL,
    outcome_reason text,
    blocked_by text,
    attempt integer DEFAULT 0 NOT NULL,
    claimed_by text,
    lease_until timestamp with time zone,
    code_version text,
    stamped_at timestamp with time zone,
    stamp_error text,
    first_seen_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT mail_ledger_gate_check CHECK ((gate = ANY (ARRAY['poll'::text, 'backfill'::text, 'drop'::text]))),
    CONSTRAINT mail_ledger_outcome_check CHECK ((outcome = ANY (ARRAY['claimed'::text, 'secured'::text, 'entered'::text, 'blocked'::text, 'nothing_to_do'::text, 'parked'::text, 'failed'::text]))),
    CONSTRAINT mail_ledger_thread_headers_check CHECK ((thread_headers = ANY (ARRAY['not_recorded'::text, 'absent'::text, 'present'::text])))
);
ALTER TABLE public.mail_ledger ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.mail_ledger_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.mail_parts (
    eml_sha text NOT NULL,
    part_path text NOT NULL,
    part_sha text NOT NULL,
    role text NOT NULL,
    outcome text NOT NULL,
    reason text,
    arrival_id bigint,
    document_id bigint,
    mail_arrival_id bigint,
    sender text
);
CREATE TABLE public.mandanten (
    id integer NOT NULL,
    slug text NOT NULL,
    name text NOT NULL,
    languages text[] DEFAULT '{de,fr,en}'::text[] NOT NULL,
    timezone text DEFAULT 'Europe/Berlin'::text NOT NULL,
    is_test boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT mandanten_slug_check CHECK ((slug ~ '^[a-z0-9][a-z0-9_-]{0,62}$'::text))
);
ALTER TABLE public.mandanten ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.mandanten_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.md_accounts (
    id integer NOT NULL,
    mandant_id integer,
    entity text,
    iban text,
    account_key text NOT NULL,
    name text NOT NULL,
    bank text,
    currency text DEFAULT 'EUR'::text NOT NULL,
    active boolean DEFAULT false NOT NULL,
    confirmed_by text,
    is_test boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    proposed_at timestamp with time zone,
    proposed_document bigint,
    books_reports boolean
);
ALTER TABLE public.md_accounts ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.md_accounts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.messages (
    id bigint NOT NULL,
    thread_id bigint NOT NULL,
    author text NOT NULL,
    is_human boolean NOT NULL,
    blocks jsonb DEFAULT '[]'::jsonb NOT NULL,
    steps jsonb DEFAULT '[]'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.messages ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.messages_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.model_calls (
    id bigint NOT NULL,
    mandant_id integer,
    document_id bigint,
    purpose text NOT NULL,
    provider_host text NOT NULL,
    model text NOT NULL,
    input_hash text NOT NULL,
    input_units integer,
    output_units integer,
    cost_eur numeric(12,6),
    status text NOT NULL,
    error text,
    response jsonb,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    milliseconds integer,
    CONSTRAINT model_calls_status_check CHECK ((status = ANY (ARRAY['ok'::text, 'refused'::text, 'timeout'::text, 'malformed'::text, 'error'::text])))
);
ALTER TABLE public.model_calls ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.model_calls_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.odometer_exchanges (
    id bigint NOT NULL,
    mandant_id integer,
    entity text NOT NULL,
    vehicle text NOT NULL,
    exchanged_on date NOT NULL,
    km_last numeric(12,1) NOT NULL,
    km_first numeric(12,1) NOT NULL,
    reason text NOT NULL,
    set_by text NOT NULL,
    set_at timestamp with time zone DEFAULT now() NOT NULL,
    withdrawn_by text,
    withdrawn_at timestamp with time zone,
    CONSTRAINT odometer_exchanges_km_first_check CHECK ((km_first >= (0)::numeric)),
    CONSTRAINT odometer_exchanges_km_last_check CHECK ((km_last >= (0)::numeric)),
    CONSTRAINT odometer_exchanges_vehicle_check CHECK ((vehicle <> ''::text))
);
ALTER TABLE public.odometer_exchanges ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.odometer_exchanges_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.pattern_rules (
    id bigint NOT NULL,
    mandant_id integer,
    scope jsonb NOT NULL,
    origin jsonb NOT NULL,
    condition jsonb NOT NULL,
    effect jsonb NOT NULL,
    state text DEFAULT 'proposed'::text NOT NULL,
    approved_by text,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    fingerprint text,
    simulation jsonb DEFAULT '{}'::jsonb NOT NULL,
    case_id bigint,
    switched_off_by text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT pattern_rules_state_check CHECK ((state = ANY (ARRAY['proposed'::text, 'approved'::text, 'off'::text]))),
    CONSTRAINT rule_has_scope_and_origin CHECK (((scope <> '{}'::jsonb) AND (origin <> '{}'::jsonb)))
);
ALTER TABLE public.pattern_rules ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.pattern_rules_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.prf_contracts (
    id bigint NOT NULL,
    document_id bigint NOT NULL,
    mandant_id integer,
    entity text,
    contract_type text,
    partner text,
    contract_start_date date,
    contract_end_date date,
    notice_period_days integer,
    notice_deadline date,
    next_renewal_date date,
    auto_renewal boolean,
    derivation jsonb DEFAULT '{}'::jsonb NOT NULL,
    is_test boolean DEFAULT false NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.prf_contracts ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.prf_contracts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.prf_projects (
    id integer NOT NULL,
    project_code text NOT NULL,
    entity_key text NOT NULL,
    name text NOT NULL,
    aliases text[] DEFAULT '{}'::text[] NOT NULL,
    active boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.prf_projects ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.prf_projects_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.prf_timetrack (
    id bigint NOT NULL,
    mandant_id integer,
    entity text,
    project_code text,
    benutzername text NOT NULL,
    datum date NOT NULL,
    startzeit time without time zone NOT NULL,
    endzeit time without time zone,
    minutes integer NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    source text NOT NULL,
    document_id bigint,
    provenance jsonb DEFAULT '{}'::jsonb NOT NULL,
    check_status text DEFAULT 'needs_review'::text NOT NULL,
    is_test boolean DEFAULT false NOT NULL
);
ALTER TABLE public.prf_timetrack ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.prf_timetrack_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.rag_chunks (
    id bigint NOT NULL,
    document_id bigint NOT NULL,
    generation integer DEFAULT 0 NOT NULL,
    active boolean DEFAULT true NOT NULL,
    chunk_no integer NOT NULL,
    content text NOT NULL,
    content_sha256 text NOT NULL,
    span_start integer NOT NULL,
    span_end integer NOT NULL,
    core_start integer NOT NULL,
    core_end integer NOT NULL,
    page_from integer NOT NULL,
    page_to integer NOT NULL,
    windows int4range[] NOT NULL,
    mandant_id integer NOT NULL,
    entity text NOT NULL,
    project_code text,
    confidentiality_level text NOT NULL,
    level_rank smallint GENERATED ALWAYS AS ((
CASE confidentiality_level
    WHEN 'oeffentlich'::text THEN 0
    WHEN 'intern'::text THEN 1
    WHEN 'vertraulich'::text THEN 2
    ELSE 3
END)::smallint) STORED,
    visible_from timestamp with time zone,
    restricted_until timestamp with time zone,
    persons integer[] NOT NULL,
    is_test boolean NOT NULL,
    source_type text NOT NULL,
    source_key text NOT NULL,
    language text,
    date_received timestamp with time zone NOT NULL,
    invoice_date date,
    circle integer[],
    CONSTRAINT rag_chunks_check CHECK (((core_start >= span_start) AND (core_end <= span_end) AND (core_start <= core_end)))
);
ALTER TABLE public.rag_chunks ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.rag_chunks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.raw_items (
    id bigint NOT NULL,
    bucket text NOT NULL,
    sha256 text NOT NULL,
    size bigint NOT NULL,
    kind text NOT NULL,
    media_type text,
    storage_bucket text NOT NULL,
    raw_key text NOT NULL,
    state text DEFAULT 'stored'::text NOT NULL,
    verified_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT raw_items_kind_check CHECK ((kind = ANY (ARRAY['file'::text, 'eml'::text, 'part'::text, 'output'::text]))),
    CONSTRAINT raw_items_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT raw_items_size_check CHECK ((size >= 0)),
    CONSTRAINT raw_items_state_check CHECK ((state = ANY (ARRAY['stored'::text, 'missing'::text, 'damaged'::text, 'erased'::text])))
);
ALTER TABLE public.raw_items ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.raw_items_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.routing_rules (
    id integer NOT NULL,
    mandant_id integer,
    "position" integer NOT NULL,
    name text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    action text NOT NULL,
    conditions jsonb NOT NULL,
    assign jsonb DEFAULT '{}'::jsonb NOT NULL,
    continues boolean DEFAULT false NOT NULL,
    active boolean DEFAULT true NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT routing_rules_action_check CHECK ((action = ANY (ARRAY['allow'::text, 'block'::text, 'assign'::text])))
);
ALTER TABLE public.routing_rules ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.routing_rules_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.suppression_entries (
    mandant_id integer NOT NULL,
    hmac text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.system_config (
    key text NOT NULL,
    value text NOT NULL,
    set_by text NOT NULL,
    set_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.table_imports (
    id bigint NOT NULL,
    mandant_id integer NOT NULL,
    document_id bigint NOT NULL,
    raw_sha256 text NOT NULL,
    sheet text DEFAULT ''::text NOT NULL,
    generation integer DEFAULT 1 NOT NULL,
    state text NOT NULL,
    reason text,
    target text NOT NULL,
    signature text DEFAULT ''::text NOT NULL,
    match text DEFAULT 'new'::text NOT NULL,
    schema_id bigint,
    mapping jsonb DEFAULT '{}'::jsonb NOT NULL,
    shape jsonb DEFAULT '{}'::jsonb NOT NULL,
    rows integer DEFAULT 0 NOT NULL,
    inserted integer DEFAULT 0 NOT NULL,
    known integer DEFAULT 0 NOT NULL,
    aside integer DEFAULT 0 NOT NULL,
    aside_rows jsonb DEFAULT '[]'::jsonb NOT NULL,
    cells bytea,
    working bytea,
    settled jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    decided_by text,
    decided_at timestamp with time zone,
    undone_by text,
    undone_at timestamp with time zone,
    is_test boolean DEFAULT false NOT NULL,
    CONSTRAINT table_imports_match_check CHECK ((match = ANY (ARRAY['exact'::text, 'near'::text, 'new'::text]))),
    CONSTRAINT table_imports_raw_sha256_check CHECK ((raw_sha256 ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT table_imports_state_check CHECK ((state = ANY (ARRAY['asked'::text, 'imported'::text, 'working'::text, 'unreadable'::text, 'undone'::text]))),
    CONSTRAINT unreadable_has_reason CHECK (((state <> 'unreadable'::text) OR (reason IS NOT NULL)))
);
ALTER TABLE public.table_imports ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.table_imports_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.threads (
    id bigint NOT NULL,
    mandant_id integer,
    entity text,
    kind text NOT NULL,
    subject text NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.threads ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.threads_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tuning_values (
    key text NOT NULL,
    value text NOT NULL,
    place text NOT NULL,
    owner text NOT NULL,
    set_by text NOT NULL,
    set_at timestamp with time zone DEFAULT now() NOT NULL,
    measured_at timestamp with time zone,
    measured_note text,
    interim boolean DEFAULT false NOT NULL,
    expires_when text,
    CONSTRAINT tuning_values_check CHECK (((NOT interim) OR (expires_when IS NOT NULL)))
);
CREATE TABLE public.txn_document_links (
    id bigint NOT NULL,
    txn_id bigint NOT NULL,
    document_id bigint NOT NULL,
    amount numeric(18,2) NOT NULL,
    state text DEFAULT 'proposed'::text NOT NULL,
    evidence jsonb DEFAULT '{}'::jsonb NOT NULL,
    set_by text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT txn_document_links_amount_check CHECK ((amount > (0)::numeric)),
    CONSTRAINT txn_document_links_state_check CHECK ((state = ANY (ARRAY['proposed'::text, 'confirmed'::text])))
);
ALTER TABLE public.txn_document_links ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.txn_document_links_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE public.txn_master ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.txn_master_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.txn_sightings (
    txn_id bigint NOT NULL,
    import_id bigint NOT NULL
);
CREATE TABLE public.txn_transfers (
    id bigint NOT NULL,
    out_txn bigint NOT NULL,
    in_txn bigint NOT NULL,
    state text DEFAULT 'proposed'::text NOT NULL,
    evidence jsonb DEFAULT '{}'::jsonb NOT NULL,
    set_by text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT txn_transfers_state_check CHECK ((state = ANY (ARRAY['proposed'::text, 'confirmed'::text])))
);
ALTER TABLE public.txn_transfers ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.txn_transfers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.user_mandant_roles (
    user_id integer NOT NULL,
    mandant_id integer,
    role text NOT NULL,
    ceiling text,
    entities text[],
    valid_from timestamp with time zone DEFAULT now() NOT NULL,
    valid_to timestamp with time zone
);
CREATE TABLE public.users (
    id integer NOT NULL,
    login text NOT NULL,
    name text NOT NULL,
    email text,
    active boolean DEFAULT true NOT NULL,
    is_service boolean DEFAULT false NOT NULL,
    password_hash text,
    language text DEFAULT 'de'::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    sso_since timestamp with time zone,
    sso_identity text
);
ALTER TABLE public.users ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.users_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.verdicts (
    id bigint NOT NULL,
    checkpoint text NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    figures jsonb DEFAULT '{}'::jsonb NOT NULL,
    evidence text[] DEFAULT '{}'::text[] NOT NULL,
    systemic boolean DEFAULT false NOT NULL,
    measured_at timestamp with time zone DEFAULT now() NOT NULL,
    run_id text,
    CONSTRAINT verdicts_state_check CHECK ((state = ANY (ARRAY['green'::text, 'red'::text, 'unmeasured'::text])))
);
ALTER TABLE public.verdicts ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.verdicts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.web_sessions (
    id bigint NOT NULL,
    user_id integer NOT NULL,
    mandant_slug text,
    secret_hash text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_seen_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone
);
ALTER TABLE public.web_sessions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.web_sessions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.web_sign_ons (
    state_hash text NOT NULL,
    browser_hash text NOT NULL,
    nonce text NOT NULL,
    code_verifier text NOT NULL,
    next_page text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE ONLY public.chunk_vectors ATTACH PARTITION public.chunk_vectors_m FOR VALUES IN ('m@1/3/none');
INSERT INTO public.agent_events OVERRIDING SYSTEM VALUE VALUES (1, 'org.imported', NULL, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '140f638e1c2db99fd24a28647fad4ef750fbcdfe86d51067c1c1a587bd3915e9', NULL, 'anna', true, 'organisation', 'test', '2026-11-30 18:11:25.696097+00');
INSERT INTO public.alembic_version VALUES ('0016');
INSERT INTO public.arrivals VALUES (1, '0f0e0d0c-0b0a-4908-8706-050403020100', 'folder:1', 1, 'folder', 'Rechnung.pdf', '2026-01-02 00:00:00+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'file', '{}', false, 'entered', NULL, 1, '2026-11-30 18:11:25.696097+00');
INSERT INTO public.chunk_vectors_m VALUES ('m@1/3/none', 1, 0, 1, true, 1, 'nord-gmbh', NULL, 1, NULL, NULL, '{}', false, '2026-01-02 00:00:00+00', NULL, '[1,0,0]', DEFAULT, NULL);
INSERT INTO public.contact_mentions VALUES (1, 1, 'sender', 'Jörg Müller GmbH', NULL, NULL, NULL, NULL, 'text', NULL, '{jorg,muller}');
INSERT INTO public.document_numbers VALUES (1, 1, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'file', '0f0e0d0c-0b0a-4908-8706-050403020100', '2026-11-30 18:11:25.696097+00');
INSERT INTO public.document_values VALUES (1, 1, 'doc_type', 'invoice', false, 'human', NULL, NULL, NULL, NULL, 'anna', '2026-11-30 18:11:25.696097+00', 'human', 0, true, NULL);
INSERT INTO public.documents VALUES (1, 1, 'nord-gmbh', NULL, NULL, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 1, NULL, NULL, 'file', 'file', 'Rechnung.pdf', NULL, NULL, NULL, NULL, NULL, NULL, 'intern', DEFAULT, NULL, NULL, '{}', false, NULL, NULL, 'understand', NULL, 'active', NULL, NULL, '2026-01-02 00:00:00+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '[]', NULL, NULL, NULL, NULL, 'pending', NULL, NULL, 1, '2026-11-30 18:11:25.696097+00', '2026-11-30 18:11:25.696097+00', NULL, NULL, NULL, NULL);
INSERT INTO public.embedding_spaces VALUES ('m@1/3/none', 'm', '1', 'none', 3, NULL, 'none, unmeasured', true, '2026-11-30 18:11:25.696097+00');
INSERT INTO public.entities VALUES (1, 'nord-gmbh', 1, 'company', 'Nordlicht Tischlerei GmbH', '{}', '{}', '{}', NULL, NULL, NULL, NULL, '{}', NULL, 'nord-gmbh', NULL, false, '2026-11-30 18:11:25.696097+00');
INSERT INTO public.event_payloads VALUES (1, '{}');
INSERT INTO public.mandanten VALUES (1, 'nord', 'Nord', '{de,fr,en}', 'Europe/Berlin', false, '2026-11-30 18:11:25.696097+00');
INSERT INTO public.rag_chunks VALUES (1, 1, 0, true, 0, 'Rechnung', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', 0, 8, 0, 8, 1, 1, '{"[0,8)"}', 1, 'nord-gmbh', NULL, 'intern', DEFAULT, NULL, NULL, '{}', false, 'file', 'x', NULL, '2026-01-02 00:00:00+00', NULL, NULL);
INSERT INTO public.raw_items VALUES (1, 'nord-gmbh', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 3, 'file', NULL, 'nord-gmbh', 'k', 'stored', '2026-01-02 00:00:00+00', '2026-11-30 18:11:25.696097+00');
INSERT INTO public.system_config VALUES ('use_dispatch', 'true', 'schema', '2026-11-30 21:45:27.445477+00');
SELECT pg_catalog.setval('public.agent_decisions_id_seq', 1, false);
SELECT pg_catalog.setval('public.agent_events_id_seq', 1, true);
SELECT pg_catalog.setval('public.api_tokens_id_seq', 1, false);
SELECT pg_catalog.setval('public.arrivals_id_seq', 1, true);
SELECT pg_catalog.setval('public.artefacts_id_seq', 1, false);
SELECT pg_catalog.setval('public.bank_imports_id_seq', 1, false);
SELECT pg_catalog.setval('public.bank_pending_id_seq', 1, false);
SELECT pg_catalog.setval('public.bank_statements_id_seq', 1, false);
SELECT pg_catalog.setval('public.cards_id_seq', 1, false);
SELECT pg_catalog.setval('public.cases_id_seq', 1, false);
SELECT pg_catalog.setval('public.compartments_id_seq', 1, false);
SELECT pg_catalog.setval('public.contact_mentions_id_seq', 1, true);
SELECT pg_catalog.setval('public.contract_positions_id_seq', 1, false);
SELECT pg_catalog.setval('public.document_numbers_id_seq', 1, true);
SELECT pg_catalog.setval('public.document_values_id_seq', 1, true);
SELECT pg_catalog.setval('public.entities_id_seq', 1, true);
SELECT pg_catalog.setval('public.erasure_ledger_id_seq', 1, false);
SELECT pg_catalog.setval('public.fahrtenbuch_id_seq', 1, false);
SELECT pg_catalog.setval('public.generations_id_seq', 1, false);
SELECT pg_catalog.setval('public.import_schema_id_seq', 1, false);
SELECT pg_catalog.setval('public.learning_events_id_seq', 1, false);
SELECT pg_catalog.setval('public.mail_ledger_id_seq', 1, false);
SELECT pg_catalog.setval('public.mandanten_id_seq', 1, true);
SELECT pg_catalog.setval('public.md_accounts_id_seq', 1, false);
SELECT pg_catalog.setval('public.messages_id_seq', 1, false);
SELECT pg_catalog.setval('public.model_calls_id_seq', 1, false);
SELECT pg_catalog.setval('public.odometer_exchanges_id_seq', 1, false);
SELECT pg_catalog.setval('public.pattern_rules_id_seq', 1, false);
SELECT pg_catalog.setval('public.prf_contracts_id_seq', 1, false);
SELECT pg_catalog.setval('public.prf_projects_id_seq', 1, false);
SELECT pg_catalog.setval('public.prf_timetrack_id_seq', 1, false);
SELECT pg_catalog.setval('public.rag_chunks_id_seq', 1, true);
SELECT pg_catalog.setval('public.raw_items_id_seq', 1, true);
SELECT pg_catalog.setval('public.routing_rules_id_seq', 1, false);
SELECT pg_catalog.setval('public.table_imports_id_seq', 1, false);
SELECT pg_catalog.setval('public.threads_id_seq', 1, false);
SELECT pg_catalog.setval('public.txn_document_links_id_seq', 1, false);
SELECT pg_catalog.setval('public.txn_master_id_seq', 1, false);
SELECT pg_catalog.setval('public.txn_transfers_id_seq', 1, false);
SELECT pg_catalog.setval('public.users_id_seq', 1, false);
SELECT pg_catalog.setval('public.verdicts_id_seq', 1, false);
SELECT pg_catalog.setval('public.web_sessions_id_seq', 1, false);
ALTER TABLE ONLY public.accounting_periods
    ADD CONSTRAINT accounting_periods_pkey PRIMARY KEY (entity, period);
ALTER TABLE ONLY public.agent_decisions
    ADD CONSTRAINT agent_decisions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.agent_events
    ADD CONSTRAINT agent_events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_token_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.arrivals
    ADD CONSTRAINT arrivals_arrival_key_key UNIQUE (arrival_key);
ALTER TABLE ONLY public.arrivals
    ADD CONSTRAINT arrivals_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.arrivals
    ADD CONSTRAINT arrivals_uid_key UNIQUE (uid);
ALTER TABLE ONLY public.artefact_sources
    ADD CONSTRAINT artefact_sources_pkey PRIMARY KEY (artefact_id, document_id);
ALTER TABLE ONLY public.artefacts
    ADD CONSTRAINT artefacts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bank_imports
    ADD CONSTRAINT bank_imports_mandant_id_raw_sha256_generation_key UNIQUE (mandant_id, raw_sha256, generation);
ALTER TABLE ONLY public.bank_imports
    ADD CONSTRAINT bank_imports_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bank_pending
    ADD CONSTRAINT bank_pending_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bank_statements
    ADD CONSTRAINT bank_statements_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.cards
    ADD CONSTRAINT cards_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.cases
    ADD CONSTRAINT cases_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.checkpoints
    ADD CONSTRAINT checkpoints_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.chunk_vectors
    ADD CONSTRAINT chunk_vectors_pkey PRIMARY KEY (space_id, chunk_id, window_no);
ALTER TABLE ONLY public.chunk_vectors_m
    ADD CONSTRAINT chunk_vectors_m_pkey PRIMARY KEY (space_id, chunk_id, window_no);
ALTER TABLE ONLY public.compartments
    ADD CONSTRAINT compartments_mandant_id_entity_folder_key UNIQUE NULLS NOT DISTINCT (mandant_id, entity, folder);
ALTER TABLE ONLY public.compartments
    ADD CONSTRAINT compartments_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.contact_mentions
    ADD CONSTRAINT contact_mentions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.contract_positions
    ADD CONSTRAINT contract_positions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.document_access
    ADD CONSTRAINT document_access_pkey PRIMARY KEY (document_id, user_id);
ALTER TABLE ONLY public.document_numbers
    ADD CONSTRAINT document_numbers_mandant_id_raw_sha256_part_role_key UNIQUE NULLS NOT DISTINCT (mandant_id, raw_sha256, part_role);
ALTER TABLE ONLY public.document_numbers
    ADD CONSTRAINT document_numbers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.document_values
    ADD CONSTRAINT document_values_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.embedding_cache
    ADD CONSTRAINT embedding_cache_pkey PRIMARY KEY (space_id, mandant_id, content_sha256);
ALTER TABLE ONLY public.embedding_spaces
    ADD CONSTRAINT embedding_spaces_pkey PRIMARY KEY (space_id);
ALTER TABLE ONLY public.entities
    ADD CONSTRAINT entities_mandant_id_slug_key UNIQUE (mandant_id, slug);
ALTER TABLE ONLY public.entities
    ADD CONSTRAINT entities_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.entities
    ADD CONSTRAINT entities_slug_key UNIQUE (slug);
ALTER TABLE ONLY public.erasure_ledger
    ADD CONSTRAINT erasure_ledger_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.event_payloads
    ADD CONSTRAINT event_payloads_pkey PRIMARY KEY (event_id);
ALTER TABLE ONLY public.extractions
    ADD CONSTRAINT extractions_pkey PRIMARY KEY (raw_sha256, part_role, engine_version, generation);
ALTER TABLE ONLY public.fahrtenbuch
    ADD CONSTRAINT fahrtenbuch_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.flow_ledger
    ADD CONSTRAINT flow_ledger_pkey PRIMARY KEY (stage, generation, subject_id);
ALTER TABLE ONLY public.generations
    ADD CONSTRAINT generations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.import_schema
    ADD CONSTRAINT import_schema_mandant_id_signature_version_key UNIQUE NULLS NOT DISTINCT (mandant_id, signature, version);
ALTER TABLE ONLY public.import_schema
    ADD CONSTRAINT import_schema_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_events
    ADD CONSTRAINT learning_events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.legacy_links
    ADD CONSTRAINT legacy_links_pkey PRIMARY KEY (legacy_url);
ALTER TABLE ONLY public.mail_ledger
    ADD CONSTRAINT mail_ledger_account_folder_uidvalidity_uid_raw_sha256_key UNIQUE NULLS NOT DISTINCT (account, folder, uidvalidity, uid, raw_sha256);
ALTER TABLE ONLY public.mail_ledger
    ADD CONSTRAINT mail_ledger_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.mail_parts
    ADD CONSTRAINT mail_parts_once UNIQUE (mail_arrival_id, part_path);
ALTER TABLE ONLY public.mandanten
    ADD CONSTRAINT mandanten_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.mandanten
    ADD CONSTRAINT mandanten_slug_key UNIQUE (slug);
ALTER TABLE ONLY public.md_accounts
    ADD CONSTRAINT md_accounts_mandant_id_account_key_key UNIQUE NULLS NOT DISTINCT (mandant_id, account_key);
ALTER TABLE ONLY public.md_accounts
    ADD CONSTRAINT md_accounts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.model_calls
    ADD CONSTRAINT model_calls_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.odometer_exchanges
    ADD CONSTRAINT odometer_exchanges_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.pattern_rules
    ADD CONSTRAINT pattern_rules_fingerprint_key UNIQUE (fingerprint);
ALTER TABLE ONLY public.pattern_rules
    ADD CONSTRAINT pattern_rules_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.prf_contracts
    ADD CONSTRAINT prf_contracts_document_id_key UNIQUE (document_id);
ALTER TABLE ONLY public.prf_contracts
    ADD CONSTRAINT prf_contracts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.prf_projects
    ADD CONSTRAINT prf_projects_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.prf_projects
    ADD CONSTRAINT prf_projects_project_code_key UNIQUE (project_code);
ALTER TABLE ONLY public.prf_timetrack
    ADD CONSTRAINT prf_timetrack_mandant_id_benutzername_datum_startzeit_key UNIQUE NULLS NOT DISTINCT (mandant_id, benutzername, datum, startzeit);
ALTER TABLE ONLY public.prf_timetrack
    ADD CONSTRAINT prf_timetrack_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.rag_chunks
    ADD CONSTRAINT rag_chunks_document_id_generation_chunk_no_key UNIQUE (document_id, generation, chunk_no);
ALTER TABLE ONLY public.rag_chunks
    ADD CONSTRAINT rag_chunks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.raw_items
    ADD CONSTRAINT raw_items_bucket_sha256_key UNIQUE (bucket, sha256);
ALTER TABLE ONLY public.raw_items
    ADD CONSTRAINT raw_items_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.routing_rules
    ADD CONSTRAINT routing_rules_name_key UNIQUE (name);
ALTER TABLE ONLY public.routing_rules
    ADD CONSTRAINT routing_rules_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.suppression_entries
    ADD CONSTRAINT suppression_entries_pkey PRIMARY KEY (mandant_id, hmac);
ALTER TABLE ONLY public.system_config
    ADD CONSTRAINT system_config_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.table_imports
    ADD CONSTRAINT table_imports_document_id_sheet_generation_key UNIQUE (document_id, sheet, generation);
ALTER TABLE ONLY public.table_imports
    ADD CONSTRAINT table_imports_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.threads
    ADD CONSTRAINT threads_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tuning_values
    ADD CONSTRAINT tuning_values_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.txn_document_links
    ADD CONSTRAINT txn_document_links_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.txn_document_links
    ADD CONSTRAINT txn_document_links_txn_id_document_id_key UNIQUE (txn_id, document_id);
ALTER TABLE ONLY public.txn_master
    ADD CONSTRAINT txn_master_account_id_row_key_occurrence_key UNIQUE (account_id, row_key, occurrence);
ALTER TABLE ONLY public.txn_master
    ADD CONSTRAINT txn_master_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.txn_sightings
    ADD CONSTRAINT txn_sightings_pkey PRIMARY KEY (txn_id, import_id);
ALTER TABLE ONLY public.txn_transfers
    ADD CONSTRAINT txn_transfers_in_txn_key UNIQUE (in_txn);
ALTER TABLE ONLY public.txn_transfers
    ADD CONSTRAINT txn_transfers_out_txn_key UNIQUE (out_txn);
ALTER TABLE ONLY public.txn_transfers
    ADD CONSTRAINT txn_transfers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.documents
    ADD CONSTRAINT uq_documents_raw_sha256 UNIQUE NULLS NOT DISTINCT (mandant_id, raw_sha256, part_role);
ALTER TABLE ONLY public.user_mandant_roles
    ADD CONSTRAINT user_mandant_roles_user_id_mandant_id_valid_from_key UNIQUE NULLS NOT DISTINCT (user_id, mandant_id, valid_from);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_login_key UNIQUE (login);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_sso_identity_key UNIQUE (sso_identity);
ALTER TABLE ONLY public.verdicts
    ADD CONSTRAINT verdicts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.web_sessions
    ADD CONSTRAINT web_sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.web_sessions
    ADD CONSTRAINT web_sessions_secret_hash_key UNIQUE (secret_hash);
ALTER TABLE ONLY public.web_sign_ons
    ADD CONSTRAINT web_sign_ons_pkey PRIMARY KEY (state_hash);
CREATE INDEX agent_events_kind ON public.agent_events USING btree (kind, created_at);
CREATE INDEX agent_events_object ON public.agent_events USING btree (object);
CREATE INDEX arrivals_document ON public.arrivals USING btree (document_id) WHERE (document_id IS NOT NULL);
CREATE INDEX arrivals_parent ON public.arrivals USING btree (parent_id) WHERE (parent_id IS NOT NULL);
CREATE INDEX arrivals_raw_item ON public.arrivals USING btree (raw_item_id);
CREATE INDEX bank_imports_document ON public.bank_imports USING btree (document_id) WHERE (document_id IS NOT NULL);
CREATE UNIQUE INDEX bank_imports_in_force ON public.bank_imports USING btree (mandant_id, raw_sha256) WHERE (state <> 'undone'::text);
CREATE INDEX bank_pending_account ON public.bank_pending USING btree (account_id);
CREATE INDEX bank_statements_account ON public.bank_statements USING btree (account_id, closing_day);
CREATE INDEX bank_statements_import ON public.bank_statements USING btree (import_id);
CREATE INDEX cards_case ON public.cards USING btree (case_id);
CREATE INDEX cases_document ON public.cases USING btree (document_id) WHERE (document_id IS NOT NULL);
CREATE INDEX cases_open_of_document ON public.cases USING btree (document_id) WHERE (state = 'open'::text);
CREATE UNIQUE INDEX cases_open_once ON public.cases USING btree (kind, subject_kind, subject_key, reason) WHERE (state = 'open'::text);
CREATE INDEX cases_state ON public.cases USING btree (state, created_at);
CREATE INDEX cases_thread ON public.cases USING btree (thread_id);
CREATE INDEX chunk_vectors_chunk ON ONLY public.chunk_vectors USING btree (chunk_id);
CREATE INDEX chunk_vectors_document ON ONLY public.chunk_vectors USING btree (document_id);
CREATE INDEX chunk_vectors_m_chunk_id_idx ON public.chunk_vectors_m USING btree (chunk_id);
CREATE INDEX chunk_vectors_m_document_id_idx ON public.chunk_vectors_m USING btree (document_id);
CREATE INDEX chunk_vectors_tenant ON ONLY public.chunk_vectors USING btree (mandant_id, chunk_id, window_no) INCLUDE (space_id, document_id, bits, active, entity, project_code, level_rank, visible_from, restricted_until, persons, circle, is_test, date_received, invoice_date);
CREATE INDEX chunk_vectors_m_mandant_id_chunk_id_window_no_space_id_docu_idx ON public.chunk_vectors_m USING btree (mandant_id, chunk_id, window_no) INCLUDE (space_id, document_id, bits, active, entity, project_code, level_rank, visible_from, restricted_until, persons, circle, is_test, date_received, invoice_date);
CREATE INDEX contact_mentions_document ON public.contact_mentions USING btree (document_id);
CREATE INDEX contact_mentions_names ON public.contact_mentions USING gin (name_words) WITH (fastupdate=off);
CREATE INDEX contact_mentions_numbers ON public.contact_mentions USING gin ((ARRAY[public.number_key(iban), public.number_key(vat_id)])) WITH (fastupdate=off);
CREATE INDEX document_values_card ON public.document_values USING btree (card_id) WHERE (card_id IS NOT NULL);
CREATE INDEX document_values_document ON public.document_values USING btree (document_id, field) WHERE active;
CREATE INDEX document_values_generation ON public.document_values USING btree (generation) WHERE (NOT active);
CREATE INDEX document_values_keys ON public.document_values USING gin (public.value_keys(field, value)) WITH (fastupdate=off) WHERE (active AND (public.value_keys(field, value) IS NOT NULL));
CREATE INDEX document_values_rule ON public.document_values USING btree (rule_id) WHERE ((origin = 'rule'::text) AND active);
CREATE INDEX documents_due_date ON public.documents USING btree (due_date, id) WHERE (due_date IS NOT NULL);
CREATE INDEX documents_in_reply_to ON public.documents USING btree (in_reply_to) WHERE (in_reply_to IS NOT NULL);
CREATE INDEX documents_invoice_date ON public.documents USING btree (mandant_id, invoice_date);
CREATE UNIQUE INDEX documents_legacy_number ON public.documents USING btree (mandant_id, legacy_number) WHERE (legacy_number IS NOT NULL);
CREATE INDEX documents_message ON public.documents USING btree (message_id) WHERE (message_id IS NOT NULL);
CREATE INDEX documents_same_invoice ON public.documents USING btree (mandant_id, doc_type, amount_gross, invoice_date) WHERE ((doc_type = ANY (ARRAY['invoice'::text, 'credit_note'::text])) AND (amount_gross IS NOT NULL));
CREATE INDEX documents_stage ON public.documents USING btree (flow_stage, state);
CREATE INDEX documents_tenant_received ON public.documents USING btree (mandant_id, date_received DESC NULLS LAST, id DESC);
CREATE UNIQUE INDEX embedding_spaces_one_active ON public.embedding_spaces USING btree (active) WHERE active;
CREATE INDEX fahrtenbuch_document ON public.fahrtenbuch USING btree (document_id);
CREATE INDEX fahrtenbuch_key ON public.fahrtenbuch USING btree (entity, vehicle, km_start);
CREATE INDEX flow_ledger_open ON public.flow_ledger USING btree (stage, generation, not_before, subject_id) WHERE (state = ANY (ARRAY['pending'::text, 'claimed'::text]));
CREATE INDEX flow_ledger_state ON public.flow_ledger USING btree (state, stage);
CREATE UNIQUE INDEX idx_documents_dedup ON public.documents USING btree (mandant_id, message_id, part_role, raw_sha256) WHERE (message_id IS NOT NULL);
CREATE INDEX learning_events_field ON public.learning_events USING btree (mandant_id, field) WHERE (withdrawn_at IS NULL);
CREATE INDEX mail_ledger_message_id ON public.mail_ledger USING btree (message_id);
CREATE INDEX mail_ledger_raw ON public.mail_ledger USING btree (raw_sha256);
CREATE INDEX mail_parts_document ON public.mail_parts USING btree (document_id);
CREATE INDEX mail_parts_eml ON public.mail_parts USING btree (eml_sha);
CREATE INDEX mail_parts_part ON public.mail_parts USING btree (part_sha);
CREATE INDEX messages_thread ON public.messages USING btree (thread_id, id);
CREATE INDEX model_calls_input ON public.model_calls USING btree (mandant_id, document_id, purpose, model, input_hash);
CREATE UNIQUE INDEX odometer_exchanges_day ON public.odometer_exchanges USING btree (entity, vehicle, exchanged_on) WHERE (withdrawn_at IS NULL);
CREATE INDEX prf_timetrack_document ON public.prf_timetrack USING btree (document_id);
CREATE INDEX rag_chunks_document ON public.rag_chunks USING btree (document_id);
CREATE INDEX rag_chunks_tenant ON public.rag_chunks USING btree (mandant_id) WHERE active;
CREATE UNIQUE INDEX table_imports_in_force ON public.table_imports USING btree (document_id, sheet) WHERE (state <> 'undone'::text);
CREATE INDEX table_imports_schema ON public.table_imports USING btree (schema_id);
CREATE INDEX txn_document_links_document ON public.txn_document_links USING btree (document_id);
CREATE INDEX txn_master_days ON public.txn_master USING btree (account_id, booking_date);
CREATE INDEX txn_master_document ON public.txn_master USING btree (document_id) WHERE (document_id IS NOT NULL);
CREATE INDEX txn_master_entity_day ON public.txn_master USING btree (entity, booking_date);
CREATE INDEX txn_master_import ON public.txn_master USING btree (import_id);
CREATE INDEX txn_master_reversal ON public.txn_master USING btree (reversal_of) WHERE (reversal_of IS NOT NULL);
CREATE INDEX txn_sightings_import ON public.txn_sightings USING btree (import_id);
CREATE INDEX verdicts_latest ON public.verdicts USING btree (checkpoint, measured_at DESC);
CREATE INDEX web_sessions_user ON public.web_sessions USING btree (user_id) WHERE (ended_at IS NULL);
ALTER INDEX public.chunk_vectors_chunk ATTACH PARTITION public.chunk_vectors_m_chunk_id_idx;
ALTER INDEX public.chunk_vectors_document ATTACH PARTITION public.chunk_vectors_m_document_id_idx;
ALTER INDEX public.chunk_vectors_tenant ATTACH PARTITION public.chunk_vectors_m_mandant_id_chunk_id_window_no_space_id_docu_idx;
ALTER INDEX public.chunk_vectors_pkey ATTACH PARTITION public.chunk_vectors_m_pkey;
CREATE TRIGGER accounting_periods_locked BEFORE INSERT OR DELETE OR UPDATE ON public.accounting_periods FOR EACH ROW EXECUTE FUNCTION public.period_stays_locked();
CREATE TRIGGER agent_events_append_only BEFORE DELETE OR UPDATE ON public.agent_events FOR EACH ROW EXECUTE FUNCTION public.events_are_append_only();
CREATE TRIGGER contract_positions_mandant BEFORE INSERT OR UPDATE OF entity ON public.contract_positions FOR EACH ROW EXECUTE FUNCTION public.mandant_from_entity();
CREATE TRIGGER document_access_persons AFTER INSERT OR DELETE OR UPDATE ON public.document_access FOR EACH ROW EXECUTE FUNCTION public.persons_follow_access();
CREATE TRIGGER documents_bookings AFTER INSERT OR UPDATE OF confidentiality_level, is_test ON public.documents FOR EACH ROW EXECUTE FUNCTION public.bookings_follow_document();
CREATE TRIGGER documents_mandant BEFORE INSERT OR UPDATE OF entity ON public.documents FOR EACH ROW EXECUTE FUNCTION public.mandant_from_entity();
CREATE TRIGGER documents_never_looser BEFORE INSERT OR UPDATE OF confidentiality_level, compartment_id ON public.documents FOR EACH ROW EXECUTE FUNCTION public.never_looser_than_compartment();
CREATE TRIGGER documents_number AFTER UPDATE ON public.documents FOR EACH ROW EXECUTE FUNCTION public.number_follows_document();
CREATE TRIGGER documents_walls AFTER UPDATE ON public.documents FOR EACH ROW EXECUTE FUNCTION public.walls_follow_document();
CREATE TRIGGER entities_slug BEFORE UPDATE ON public.entities FOR EACH ROW EXECUTE FUNCTION public.entity_slug_is_for_ever();
CREATE TRIGGER fahrtenbuch_mandant BEFORE INSERT OR UPDATE OF entity ON public.fahrtenbuch FOR EACH ROW EXECUTE FUNCTION public.mandant_from_entity();
CREATE TRIGGER odometer_exchanges_act AFTER INSERT OR DELETE OR UPDATE ON public.odometer_exchanges FOR EACH ROW EXECUTE FUNCTION public.odometer_exchange_acts();
CREATE TRIGGER odometer_exchanges_mandant BEFORE INSERT OR UPDATE OF entity ON public.odometer_exchanges FOR EACH ROW EXECUTE FUNCTION public.mandant_from_entity();
CREATE TRIGGER prf_contracts_mandant BEFORE INSERT OR UPDATE OF entity ON public.prf_contracts FOR EACH ROW EXECUTE FUNCTION public.mandant_from_entity();
CREATE TRIGGER prf_timetrack_mandant BEFORE INSERT OR UPDATE OF entity ON public.prf_timetrack FOR EACH ROW EXECUTE FUNCTION public.mandant_from_entity();
CREATE TRIGGER rag_chunks_walls BEFORE INSERT ON public.rag_chunks FOR EACH ROW EXECUTE FUNCTION public.chunk_copies_document();
CREATE TRIGGER txn_document_links_tenant BEFORE INSERT OR UPDATE ON public.txn_document_links FOR EACH ROW EXECUTE FUNCTION public.link_within_tenant();
CREATE TRIGGER txn_document_links_totals BEFORE INSERT OR UPDATE ON public.txn_document_links FOR EACH ROW EXECUTE FUNCTION public.links_within_totals();
CREATE TRIGGER txn_master_change BEFORE UPDATE ON public.txn_master FOR EACH ROW EXECUTE FUNCTION public.txn_remembers_change();
CREATE TRIGGER txn_master_mandant BEFORE INSERT OR UPDATE OF entity ON public.txn_master FOR EACH ROW EXECUTE FUNCTION public.mandant_from_entity();
CREATE TRIGGER txn_master_truncate BEFORE TRUNCATE ON public.txn_master FOR EACH STATEMENT EXECUTE FUNCTION public.txn_truncate_open();
CREATE TRIGGER txn_master_zz_period BEFORE INSERT OR DELETE OR UPDATE ON public.txn_master FOR EACH ROW EXECUTE FUNCTION public.txn_in_open_period();
CREATE TRIGGER txn_transfers_pair BEFORE INSERT OR UPDATE ON public.txn_transfers FOR EACH ROW EXECUTE FUNCTION public.transfer_joins_opposites();
ALTER TABLE ONLY public.accounting_periods
    ADD CONSTRAINT accounting_periods_entity_fkey FOREIGN KEY (entity) REFERENCES public.entities(slug);
ALTER TABLE ONLY public.agent_decisions
    ADD CONSTRAINT agent_decisions_card_id_fkey FOREIGN KEY (card_id) REFERENCES public.cards(id);
ALTER TABLE ONLY public.agent_decisions
    ADD CONSTRAINT agent_decisions_case_id_fkey FOREIGN KEY (case_id) REFERENCES public.cases(id);
ALTER TABLE ONLY public.agent_decisions
    ADD CONSTRAINT agent_decisions_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.agent_decisions
    ADD CONSTRAINT agent_decisions_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.arrivals
    ADD CONSTRAINT arrivals_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.arrivals
    ADD CONSTRAINT arrivals_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES public.arrivals(id);
ALTER TABLE ONLY public.arrivals
    ADD CONSTRAINT arrivals_raw_item_id_fkey FOREIGN KEY (raw_item_id) REFERENCES public.raw_items(id);
ALTER TABLE ONLY public.artefact_sources
    ADD CONSTRAINT artefact_sources_artefact_id_fkey FOREIGN KEY (artefact_id) REFERENCES public.artefacts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.artefact_sources
    ADD CONSTRAINT artefact_sources_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.artefacts
    ADD CONSTRAINT artefacts_entity_fkey FOREIGN KEY (entity) REFERENCES public.entities(slug);
ALTER TABLE ONLY public.artefacts
    ADD CONSTRAINT artefacts_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.bank_imports
    ADD CONSTRAINT bank_imports_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.bank_imports
    ADD CONSTRAINT bank_imports_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.bank_pending
    ADD CONSTRAINT bank_pending_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.md_accounts(id);
ALTER TABLE ONLY public.bank_pending
    ADD CONSTRAINT bank_pending_entity_fkey FOREIGN KEY (entity) REFERENCES public.entities(slug);
ALTER TABLE ONLY public.bank_pending
    ADD CONSTRAINT bank_pending_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.bank_imports(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.bank_pending
    ADD CONSTRAINT bank_pending_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.bank_statements
    ADD CONSTRAINT bank_statements_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.md_accounts(id);
ALTER TABLE ONLY public.bank_statements
    ADD CONSTRAINT bank_statements_entity_fkey FOREIGN KEY (entity) REFERENCES public.entities(slug);
ALTER TABLE ONLY public.bank_statements
    ADD CONSTRAINT bank_statements_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.bank_imports(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.bank_statements
    ADD CONSTRAINT bank_statements_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.cards
    ADD CONSTRAINT cards_case_id_fkey FOREIGN KEY (case_id) REFERENCES public.cases(id);
ALTER TABLE ONLY public.cards
    ADD CONSTRAINT cards_replaces_fkey FOREIGN KEY (replaces) REFERENCES public.cards(id);
ALTER TABLE ONLY public.cases
    ADD CONSTRAINT cases_arrival_id_fkey FOREIGN KEY (arrival_id) REFERENCES public.arrivals(id);
ALTER TABLE ONLY public.cases
    ADD CONSTRAINT cases_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.cases
    ADD CONSTRAINT cases_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.cases
    ADD CONSTRAINT cases_thread_id_fkey FOREIGN KEY (thread_id) REFERENCES public.threads(id);
ALTER TABLE public.chunk_vectors
    ADD CONSTRAINT chunk_vectors_chunk_id_fkey FOREIGN KEY (chunk_id) REFERENCES public.rag_chunks(id) ON DELETE CASCADE;
ALTER TABLE public.chunk_vectors
    ADD CONSTRAINT chunk_vectors_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.embedding_spaces(space_id);
ALTER TABLE ONLY public.compartments
    ADD CONSTRAINT compartments_entity_fkey FOREIGN KEY (entity) REFERENCES public.entities(slug);
ALTER TABLE ONLY public.compartments
    ADD CONSTRAINT compartments_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.contact_mentions
    ADD CONSTRAINT contact_mentions_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.contract_positions
    ADD CONSTRAINT contract_positions_contract_id_fkey FOREIGN KEY (contract_id) REFERENCES public.prf_contracts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.contract_positions
    ADD CONSTRAINT contract_positions_entity_fkey FOREIGN KEY (entity) REFERENCES public.entities(slug);
ALTER TABLE ONLY public.contract_positions
    ADD CONSTRAINT contract_positions_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.document_access
    ADD CONSTRAINT document_access_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.document_access
    ADD CONSTRAINT document_access_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.document_numbers
    ADD CONSTRAINT document_numbers_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.document_values
    ADD CONSTRAINT document_values_card_id_fkey FOREIGN KEY (card_id) REFERENCES public.cards(id);
ALTER TABLE ONLY public.document_values
    ADD CONSTRAINT document_values_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_compartment_id_fkey FOREIGN KEY (compartment_id) REFERENCES public.compartments(id);
ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_entity_fkey FOREIGN KEY (entity) REFERENCES public.entities(slug);
ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_id_fkey FOREIGN KEY (id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_raw_item_id_fkey FOREIGN KEY (raw_item_id) REFERENCES public.raw_items(id);
ALTER TABLE ONLY public.entities
    ADD CONSTRAINT entities_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.erasure_ledger
    ADD CONSTRAINT erasure_ledger_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.event_payloads
    ADD CONSTRAINT event_payloads_event_id_fkey FOREIGN KEY (event_id) REFERENCES public.agent_events(id);
ALTER TABLE ONLY public.fahrtenbuch
    ADD CONSTRAINT fahrtenbuch_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.fahrtenbuch
    ADD CONSTRAINT fahrtenbuch_entity_fkey FOREIGN KEY (entity) REFERENCES public.entities(slug);
ALTER TABLE ONLY public.fahrtenbuch
    ADD CONSTRAINT fahrtenbuch_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.import_schema
    ADD CONSTRAINT import_schema_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.learning_events
    ADD CONSTRAINT learning_events_card_id_fkey FOREIGN KEY (card_id) REFERENCES public.cards(id);
ALTER TABLE ONLY public.learning_events
    ADD CONSTRAINT learning_events_case_id_fkey FOREIGN KEY (case_id) REFERENCES public.cases(id);
ALTER TABLE ONLY public.learning_events
    ADD CONSTRAINT learning_events_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.learning_events
    ADD CONSTRAINT learning_events_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.legacy_links
    ADD CONSTRAINT legacy_links_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.legacy_links
    ADD CONSTRAINT legacy_links_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.mail_ledger
    ADD CONSTRAINT mail_ledger_raw_item_id_fkey FOREIGN KEY (raw_item_id) REFERENCES public.raw_items(id);
ALTER TABLE ONLY public.mail_parts
    ADD CONSTRAINT mail_parts_arrival_id_fkey FOREIGN KEY (arrival_id) REFERENCES public.arrivals(id);
ALTER TABLE ONLY public.mail_parts
    ADD CONSTRAINT mail_parts_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.mail_parts
    ADD CONSTRAINT mail_parts_mail_arrival_id_fkey FOREIGN KEY (mail_arrival_id) REFERENCES public.arrivals(id);
ALTER TABLE ONLY public.md_accounts
    ADD CONSTRAINT md_accounts_entity_fkey FOREIGN KEY (entity) REFERENCES public.entities(slug);
ALTER TABLE ONLY public.md_accounts
    ADD CONSTRAINT md_accounts_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.md_accounts
    ADD CONSTRAINT md_accounts_proposed_document_fkey FOREIGN KEY (proposed_document) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_thread_id_fkey FOREIGN KEY (thread_id) REFERENCES public.threads(id);
ALTER TABLE ONLY public.model_calls
    ADD CONSTRAINT model_calls_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.model_calls
    ADD CONSTRAINT model_calls_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.odometer_exchanges
    ADD CONSTRAINT odometer_exchanges_entity_fkey FOREIGN KEY (entity) REFERENCES public.entities(slug);
ALTER TABLE ONLY public.odometer_exchanges
    ADD CONSTRAINT odometer_exchanges_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.pattern_rules
    ADD CONSTRAINT pattern_rules_case_id_fkey FOREIGN KEY (case_id) REFERENCES public.cases(id);
ALTER TABLE ONLY public.pattern_rules
    ADD CONSTRAINT pattern_rules_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.prf_contracts
    ADD CONSTRAINT prf_contracts_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.prf_contracts
    ADD CONSTRAINT prf_contracts_entity_fkey FOREIGN KEY (entity) REFERENCES public.entities(slug);
ALTER TABLE ONLY public.prf_contracts
    ADD CONSTRAINT prf_contracts_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.prf_timetrack
    ADD CONSTRAINT prf_timetrack_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.prf_timetrack
    ADD CONSTRAINT prf_timetrack_entity_fkey FOREIGN KEY (entity) REFERENCES public.entities(slug);
ALTER TABLE ONLY public.prf_timetrack
    ADD CONSTRAINT prf_timetrack_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.rag_chunks
    ADD CONSTRAINT rag_chunks_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.documents(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.routing_rules
    ADD CONSTRAINT routing_rules_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.suppression_entries
    ADD CONSTRAINT suppression_entries_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.table_imports
    ADD CONSTRAINT table_imports_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.table_imports
    ADD CONSTRAINT table_imports_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.table_imports
    ADD CONSTRAINT table_imports_schema_id_fkey FOREIGN KEY (schema_id) REFERENCES public.import_schema(id);
ALTER TABLE ONLY public.threads
    ADD CONSTRAINT threads_entity_fkey FOREIGN KEY (entity) REFERENCES public.entities(slug);
ALTER TABLE ONLY public.threads
    ADD CONSTRAINT threads_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.txn_document_links
    ADD CONSTRAINT txn_document_links_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.txn_document_links
    ADD CONSTRAINT txn_document_links_txn_id_fkey FOREIGN KEY (txn_id) REFERENCES public.txn_master(id);
ALTER TABLE ONLY public.txn_master
    ADD CONSTRAINT txn_master_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.md_accounts(id);
ALTER TABLE ONLY public.txn_master
    ADD CONSTRAINT txn_master_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.document_numbers(id);
ALTER TABLE ONLY public.txn_master
    ADD CONSTRAINT txn_master_entity_fkey FOREIGN KEY (entity) REFERENCES public.entities(slug);
ALTER TABLE ONLY public.txn_master
    ADD CONSTRAINT txn_master_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.bank_imports(id);
ALTER TABLE ONLY public.txn_master
    ADD CONSTRAINT txn_master_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.txn_master
    ADD CONSTRAINT txn_master_reversal_of_fkey FOREIGN KEY (reversal_of) REFERENCES public.txn_master(id);
ALTER TABLE ONLY public.txn_sightings
    ADD CONSTRAINT txn_sightings_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.bank_imports(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.txn_sightings
    ADD CONSTRAINT txn_sightings_txn_id_fkey FOREIGN KEY (txn_id) REFERENCES public.txn_master(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.txn_transfers
    ADD CONSTRAINT txn_transfers_in_txn_fkey FOREIGN KEY (in_txn) REFERENCES public.txn_master(id);
ALTER TABLE ONLY public.txn_transfers
    ADD CONSTRAINT txn_transfers_out_txn_fkey FOREIGN KEY (out_txn) REFERENCES public.txn_master(id);
ALTER TABLE ONLY public.user_mandant_roles
    ADD CONSTRAINT user_mandant_roles_mandant_id_fkey FOREIGN KEY (mandant_id) REFERENCES public.mandanten(id);
ALTER TABLE ONLY public.user_mandant_roles
    ADD CONSTRAINT user_mandant_roles_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.verdicts
    ADD CONSTRAINT verdicts_checkpoint_fkey FOREIGN KEY (checkpoint) REFERENCES public.checkpoints(id);
ALTER TABLE ONLY public.web_sessions
    ADD CONSTRAINT web_sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

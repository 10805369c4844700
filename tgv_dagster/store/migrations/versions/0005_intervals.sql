-- The one way to write interval tables (INTV-08). Rows of p_replaced leave first, so that a
-- correction and its old version never stand beside each other; then no two rows of one key may
-- share space, whoever wrote them. All or nothing: a violation raises and nothing is kept.
CREATE INDEX fahrtenbuch_key ON fahrtenbuch (entity, vehicle, km_start);

CREATE FUNCTION write_trips(p_rows jsonb, p_replaced bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_new bigint[];
    v_clash bigint[];
BEGIN
    LOCK TABLE fahrtenbuch IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM fahrtenbuch WHERE id = ANY (p_replaced);
    WITH inserted AS (
        INSERT INTO fahrtenbuch (id, mandant_id, entity, project_code, vehicle, trip_date, km_start,
            km_end, purpose, source, document_id, provenance, check_status, is_test)
        SELECT coalesce(r.id, nextval('fahrtenbuch_id_seq')), r.mandant_id, r.entity,
            r.project_code, r.vehicle, r.trip_date, r.km_start, r.km_end, coalesce(r.purpose, ''),
            r.source, r.document_id, CASE jsonb_typeof(r.provenance) WHEN 'object' THEN r.provenance
                WHEN 'string' THEN (r.provenance #>> '{}')::jsonb ELSE '{}' END,
            coalesce(r.check_status, 'needs_review'), coalesce(r.is_test, false)
        FROM jsonb_populate_recordset(NULL::fahrtenbuch, p_rows) r
        RETURNING id)
    SELECT coalesce(array_agg(id ORDER BY id), '{}') INTO v_new FROM inserted;
    WITH touched AS (
        SELECT DISTINCT entity, vehicle, is_test FROM fahrtenbuch WHERE id = ANY (v_new)),
    ordered AS (
        SELECT f.id, f.km_start, f.id = ANY (v_new) AS is_new, max(f.km_end) OVER earlier AS reach,
            max(f.km_end) FILTER (WHERE f.id = ANY (v_new)) OVER earlier AS reach_of_new
        FROM fahrtenbuch f JOIN touched USING (entity, vehicle, is_test)
        WHERE f.km_start < f.km_end
        WINDOW earlier AS (PARTITION BY entity, vehicle, is_test ORDER BY f.km_start, f.km_end, f.id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
    SELECT array_agg(id ORDER BY id) INTO v_clash FROM ordered
    WHERE (is_new AND km_start < reach) OR km_start < reach_of_new;
    IF v_clash IS NOT NULL THEN
        RAISE EXCEPTION 'trips share kilometres with others of their vehicle'
            USING ERRCODE = 'exclusion_violation', DETAIL = array_to_string(v_clash[1:50], ',');
    END IF;
    RETURN v_new;
END $$;

CREATE FUNCTION write_time_entries(p_rows jsonb, p_replaced bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
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

-- Nobody but the worker may call them; `store.migrate` hands them to the role that may write.
REVOKE EXECUTE ON FUNCTION write_trips(jsonb, bigint[]) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION write_time_entries(jsonb, bigint[]) FROM PUBLIC;

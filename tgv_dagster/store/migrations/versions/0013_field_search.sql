-- Dates, amounts, numbers and parties are asked for by value, over all documents of a tenant: each
-- of the three ways gets an index, and one definition of what is compared.
CREATE FUNCTION number_key(value text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN 'x' || left(regexp_replace(lower(value), '[^a-z0-9]', '', 'g'), 64);

-- In PL/pgSQL: a strict function of several branches is not inlined, and the language of statements
-- sets up an executor for each call of it.
CREATE FUNCTION value_keys(field text, value text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
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
END $$;

CREATE INDEX document_values_keys ON document_values USING gin (value_keys(field, value))
    WITH (fastupdate = off) WHERE active AND value_keys(field, value) IS NOT NULL;

CREATE INDEX contact_mentions_numbers ON contact_mentions
    USING gin ((ARRAY[number_key(iban), number_key(vat_id)])) WITH (fastupdate = off);

ALTER TABLE contact_mentions ADD COLUMN name_words text[];

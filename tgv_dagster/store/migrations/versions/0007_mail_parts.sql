-- Leaves of a mail belong to the arrival of their mail: the same mail in two tenants has rows for
-- both. The sender stands beside each leaf, so that a picture is known as this sender's.
ALTER TABLE mail_parts
    ADD COLUMN mail_arrival_id bigint REFERENCES arrivals (id),
    ADD COLUMN sender text;

UPDATE mail_parts p SET
    mail_arrival_id = coalesce(
        (SELECT a.parent_id FROM arrivals a WHERE a.id = p.arrival_id),
        (SELECT min(a.id) FROM arrivals a JOIN raw_items r ON r.id = a.raw_item_id
         WHERE r.sha256 = p.eml_sha AND a.part_role = 'mail' AND a.parent_id IS NULL)),
    sender = (SELECT lower(a.origin ->> 'mail_from') FROM arrivals a WHERE a.id = p.arrival_id);

ALTER TABLE mail_parts DROP CONSTRAINT mail_parts_pkey;
ALTER TABLE mail_parts ADD CONSTRAINT mail_parts_once UNIQUE (mail_arrival_id, part_path);
CREATE INDEX mail_parts_eml ON mail_parts (eml_sha);
CREATE INDEX mail_parts_part ON mail_parts (part_sha);

-- The case of a leaf that cannot be opened is named by the arrival of its mail, too.
UPDATE cases SET subject_key = arrival_id || substr(subject_key, 65)
WHERE subject_kind = 'mail' AND arrival_id IS NOT NULL AND subject_key ~ '^[0-9a-f]{64}:';

-- One bit per dimension stands for a vector in the first pass over a large tenant. The index holds
-- the bits together with every wall column, so that this pass reads it alone and not the vectors.
ALTER TABLE chunk_vectors
    ADD COLUMN bits bit varying GENERATED ALWAYS AS (binary_quantize(emb)) STORED;
DROP INDEX chunk_vectors_tenant;
CREATE INDEX chunk_vectors_tenant ON chunk_vectors (mandant_id, chunk_id, window_no)
    INCLUDE (space_id, document_id, bits, active, entity, project_code, level_rank, visible_from,
             restricted_until, persons, is_test, date_received, invoice_date);

-- An erasure finds the cached vectors of a document's texts.
ALTER TABLE embedding_cache ADD COLUMN document_id bigint;

-- Rows change in place: half of each page is kept for the next versions of its rows, and no index names what changes.
ALTER TABLE tollgate_state SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- Changes a row if it is still the one that was read: `was` is the transaction that wrote it, NULL where there was none.
-- Without `new_charged` the row goes. Gives back whether it was.
CREATE OR REPLACE FUNCTION tollgate_swap(
    ask_tag BIGINT, ask_name TEXT, was TEXT,
    new_shape BIGINT, new_charged TEXT, new_kept TEXT, new_fresh BIGINT
) RETURNS BOOLEAN LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    second CONSTANT BIGINT := extract(epoch FROM now())::BIGINT;
BEGIN
    IF was IS NULL THEN
        INSERT INTO tollgate_state (tag, name, shape, charged, kept, fresh_s, touched_s)
            VALUES (ask_tag, ask_name, new_shape, new_charged, new_kept, new_fresh, second)
            ON CONFLICT DO NOTHING;
    ELSIF new_charged IS NULL THEN
        DELETE FROM tollgate_state WHERE tag = ask_tag AND name = ask_name AND xmin::TEXT = was;
    ELSE
        UPDATE tollgate_state SET shape = new_shape, charged = new_charged, kept = new_kept,
                fresh_s = new_fresh, touched_s = second
            WHERE tag = ask_tag AND name = ask_name AND xmin::TEXT = was;
    END IF;
    RETURN FOUND;
END $$;

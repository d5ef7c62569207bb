-- Bytes of one key that whoever decides by them loads and swaps; the same for both databases.
CREATE TABLE tollgate_ledger (
    -- The contract, and the key in hexadecimal digits.
    tag BIGINT NOT NULL,
    name TEXT NOT NULL,
    -- Which state it is; no two of a key have one number.
    version BIGINT NOT NULL,
    bytes BYTEA NOT NULL,
    -- The second from which the row says no more than none would, and the one in which it was written, both by the clock of the
    -- database.
    fresh_s BIGINT NOT NULL,
    touched_s BIGINT NOT NULL,
    PRIMARY KEY (tag, name)
);

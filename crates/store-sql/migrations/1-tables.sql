-- What states were written by: a text for each number that a state may name.
CREATE TABLE tollgate_shape (
    id BIGINT PRIMARY KEY,
    text TEXT NOT NULL
);
-- One key of one contract.
CREATE TABLE tollgate_state (
    -- The contract, and the key in hexadecimal digits.
    tag BIGINT NOT NULL,
    name TEXT NOT NULL,
    shape BIGINT NOT NULL,
    -- The nanosecond of the newest charge; NULL in a row that was never charged. Text, since it outgrows 63 bits.
    charged TEXT,
    -- What each policy remembers, one after the other: how many numbers, and the numbers.
    kept TEXT NOT NULL,
    -- The second from which the row says no more than none would, by the clocks of the nodes.
    fresh_s BIGINT NOT NULL,
    -- The second in which it was written, by the clock of the database.
    touched_s BIGINT NOT NULL,
    PRIMARY KEY (tag, name)
);

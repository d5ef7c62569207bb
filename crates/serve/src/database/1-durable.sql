-- Whose rows may be written, and by whom: `fence` grows whenever somebody else may write, `holder` is the process that
-- may (nobody where NULL), `seen` when it last wrote.
CREATE TABLE tollgate.seat (
    name TEXT PRIMARY KEY,
    fence BIGINT NOT NULL,
    holder BIGINT,
    seen TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE tollgate.secret (
    seat TEXT NOT NULL,
    name TEXT NOT NULL,
    value BYTEA NOT NULL,
    PRIMARY KEY (seat, name)
);
-- Contracts whose cells are kept; `seen_ms` is when a server last had the contract.
CREATE TABLE tollgate.contract (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    seen_ms BIGINT NOT NULL
);
-- What a contract counted by, and its policies, when cells were written.
CREATE TABLE tollgate.shape (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    contract BIGINT NOT NULL,
    text TEXT NOT NULL
);
-- Texts may be longer than an index takes.
CREATE UNIQUE INDEX shape_text ON tollgate.shape (contract, md5(text));
-- One key of one contract: `print` is the key's print, `fresh_ns` when the row says no more than none would.
CREATE TABLE tollgate.cell (
    seat TEXT NOT NULL,
    contract BIGINT NOT NULL,
    print BIGINT NOT NULL,
    shape BIGINT NOT NULL,
    fresh_ns BIGINT NOT NULL,
    state BYTEA NOT NULL,
    PRIMARY KEY (seat, contract, print)
) WITH (fillfactor = 70);
-- What a node must not lose of a key that nodes count together: `tag` is what they call the policy.
CREATE TABLE tollgate.gossip (
    seat TEXT NOT NULL,
    tag BIGINT NOT NULL,
    print BIGINT NOT NULL,
    fresh_ns BIGINT NOT NULL,
    state BYTEA NOT NULL,
    PRIMARY KEY (seat, tag, print)
) WITH (fillfactor = 70);
-- Cells of owned keys on their way from the seat of a node that is gone to `seat`, which has not counted them yet.
CREATE TABLE tollgate.heir (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    seat TEXT NOT NULL,
    contract BIGINT NOT NULL,
    print BIGINT NOT NULL,
    shape BIGINT NOT NULL,
    fresh_ns BIGINT NOT NULL,
    state BYTEA NOT NULL
);
CREATE INDEX heir_seat ON tollgate.heir (seat, number);
-- What a node must not forget of divided rates, as JSON.
CREATE TABLE tollgate.supply (
    seat TEXT PRIMARY KEY,
    text TEXT NOT NULL
);

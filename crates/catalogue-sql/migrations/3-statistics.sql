-- What became of requests, by minute (step 60) and hour (step 3600); `at` is its number since the epoch. An empty identity is the sum
-- of a contract, an empty contract that of all.
CREATE TABLE statistics_row (
    step BIGINT NOT NULL,
    at BIGINT NOT NULL,
    contract {text} NOT NULL,
    identity {text} NOT NULL,
    node {text} NOT NULL,
    allowed BIGINT NOT NULL,
    delayed BIGINT NOT NULL,
    denied BIGINT NOT NULL,
    shadowed BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    returned BIGINT NOT NULL,
    refused BIGINT NOT NULL,
    PRIMARY KEY (step, at, contract, identity, node)
);

-- The last batch of every process that writes, so that none is added twice.
CREATE TABLE statistics_writer (
    writer {text} PRIMARY KEY,
    node {text} NOT NULL,
    sequence BIGINT NOT NULL,
    at_s BIGINT NOT NULL
);

-- All writers take turns at this row.
CREATE TABLE catalogue_head (one BIGINT PRIMARY KEY, revision BIGINT NOT NULL);
INSERT INTO catalogue_head (one, revision) VALUES (1, 0);

-- Contracts and plans: thousands.
CREATE TABLE catalogue_object (
    kind {text} NOT NULL,
    id {text} NOT NULL,
    version BIGINT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (kind, id)
);

-- Assignments: millions. Looked up by identity.
CREATE TABLE catalogue_assignment (
    id {text} PRIMARY KEY,
    identity {text} NOT NULL,
    shape {text} NOT NULL,
    then_shape {text},
    version BIGINT NOT NULL,
    document TEXT NOT NULL
);
CREATE INDEX catalogue_assignment_identity ON catalogue_assignment (identity);
CREATE INDEX catalogue_assignment_shape ON catalogue_assignment (shape, id);
CREATE INDEX catalogue_assignment_then ON catalogue_assignment (then_shape, id) WHERE then_shape IS NOT NULL;

-- What of assignments plans and contracts must go along with, and how many assignments have it. An empty plan or contract is none.
CREATE TABLE catalogue_shape (
    id {text} PRIMARY KEY,
    plan {text} NOT NULL,
    entry {text} NOT NULL,
    contract {text} NOT NULL,
    overrides TEXT,
    count BIGINT NOT NULL
);
CREATE INDEX catalogue_shape_plan ON catalogue_shape (plan);
CREATE INDEX catalogue_shape_contract ON catalogue_shape (contract, entry);

-- Every change, for ever.
CREATE TABLE catalogue_change (
    revision BIGINT PRIMARY KEY,
    kind {text} NOT NULL,
    id {text} NOT NULL,
    version BIGINT NOT NULL,
    author TEXT NOT NULL,
    at_ns BIGINT NOT NULL,
    reason TEXT NOT NULL,
    old_document TEXT,
    new_document TEXT
);
CREATE INDEX catalogue_change_object ON catalogue_change (kind, id, version);

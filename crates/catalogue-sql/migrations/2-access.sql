-- Who may do what. The secret itself is nowhere.
CREATE TABLE catalogue_token (
    id {text} PRIMARY KEY,
    name TEXT NOT NULL,
    role {text} NOT NULL,
    digest {text} NOT NULL UNIQUE,
    created_ns BIGINT NOT NULL,
    expires_ns BIGINT,
    revoked_ns BIGINT,
    used_ns BIGINT
);

-- What was tried, by whom, from where. Ids are in the order of time.
CREATE TABLE catalogue_audit (
    id {text} PRIMARY KEY,
    at_ns BIGINT NOT NULL,
    who TEXT NOT NULL,
    origin TEXT NOT NULL,
    what TEXT NOT NULL,
    object TEXT NOT NULL,
    outcome TEXT NOT NULL
);

-- What all nodes must know the same of.
CREATE TABLE catalogue_setting (name {text} PRIMARY KEY, value TEXT NOT NULL);

-- Sessions that were ended before their time, so that every node knows; gone when their time is up.
CREATE TABLE catalogue_ended (session {text} PRIMARY KEY, until_ns BIGINT NOT NULL);

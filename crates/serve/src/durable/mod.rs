//! Counts that survive a restart: cells of durable policies, written to `SQLite` once in a while.

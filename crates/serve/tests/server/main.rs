//! One server and its parts: from its settings to its counts, kept and told.

mod catalogue;
mod durable;
mod durable_flood;
mod durable_postgres;
mod engine;
mod meter;
mod meter_traces;
mod run;
mod settings;

//! Servers that count together: by exchange, by owners, by leases, by a store.

mod alerts;
mod cluster;
mod debts;
mod holders;
mod lease;
mod ledger;
mod modes;
mod owner;
mod owner_cluster;
mod owner_flood;
mod pipelines;
mod pipelines_grpc;
mod pipelines_http;
mod quota;
mod refusals;
mod sidecar;
mod sidecar_told;
mod store;
mod terms;
mod waits;

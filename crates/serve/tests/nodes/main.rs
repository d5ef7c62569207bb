//! Servers that count together: by exchange, by owners, by a store.

mod cluster;
mod owner;
mod owner_cluster;
mod store;
mod terms;

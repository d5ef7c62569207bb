//! Descriptors of every gRPC service here, for server reflection.
//!
//! They are built from tables, so that neither a compiler for protobuf files nor its output is
//! needed. The tables say what this crate's messages say; fields and values that it leaves out
//! are left out here too.

mod build;
mod envoy;
mod google;
mod others;
mod own;
mod quota;
mod shape;

use prost::Message;

use crate::{authz, gubernator, native, rlqs, rls, throttlecrab};

/// The full names of the services described.
pub const SERVICES: [&str; 7] = [
    native::SERVICE,
    rls::SERVICE,
    rls::KUADRANT_SERVICE,
    rlqs::SERVICE,
    authz::SERVICE,
    gubernator::SERVICE,
    throttlecrab::SERVICE,
];

/// A `google.protobuf.FileDescriptorSet`, each file after those it uses.
pub fn file_descriptor_set() -> Vec<u8> {
    let files = [
        google::FILES,
        envoy::FILES,
        quota::FILES,
        others::FILES,
        own::FILES,
    ];
    let file = files.into_iter().flatten().map(build::file).collect();
    build::FileDescriptorSet { file }.encode_to_vec()
}

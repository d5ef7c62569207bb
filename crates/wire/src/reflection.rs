//! Descriptors of every gRPC service here, for server reflection.
//!
//! They are made from the files in `proto/`, as the messages are; fields and values that those leave out are left out
//! here too.

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
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("generated/descriptors.bin");

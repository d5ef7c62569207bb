//! Handlers, a file for each resource.

pub(crate) mod document;
mod effective;
mod explained;
pub(crate) mod history;
pub(crate) mod identities;
pub(crate) mod import;
pub(crate) mod keys;
pub(crate) mod objects;
pub(crate) mod rollout;
mod source;
pub(crate) mod statistics;
pub(crate) mod status;
pub(crate) mod tail;
pub(crate) mod tokens;

//! The management API of a server: contracts, plans, assignments, keys, tokens and roles.
//!
//! [`Admin`] answers requests below `/admin` and `/console`. It has its own threads, so that
//! changes of contracts do not delay decisions. `route` is the table of routes; each
//! resource is a file of its own.
//!
//! Deliberately absent: deciding (`tollgate-serve`), what documents mean (`tollgate-catalogue`), their storage
//! (`tollgate-catalogue-sql`), and the command line (`tollgate`).

#![allow(missing_docs, reason = "internal: comments say why, not what")]

mod access;
mod admin;
mod answer;
mod body;
mod call;
mod condition;
mod console;
mod fault;
mod page;
mod query;
mod resource;
mod route;
mod time;
mod timing;

pub use access::{KeyError, SigningKey};
pub use admin::{Admin, AdminConfig};
pub use route::{Described, described};

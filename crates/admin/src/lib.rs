//! The management API of a server: contracts, plans, assignments, keys, tokens, and who may do what.
//!
//! [`Admin`] is the desk that a server asks below `/admin` and `/console`. It answers on threads of its own, so that
//! nobody who changes contracts keeps those waiting who are decided about. `route` is the table of what there is; each
//! resource is a file of its own.
//!
//! Deliberately absent: deciding (`tollgate-serve`), what documents mean (`tollgate-catalogue`), where they are kept
//! (`tollgate-catalogue-sql`), and the command line (`tollgate`).

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

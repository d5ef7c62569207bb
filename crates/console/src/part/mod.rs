//! Pieces that several pages share.

mod action;
mod change;
mod form;
mod list;
mod policy;

pub use action::{Action, action};
pub use change::{ChangeRow, Difference, differences, history};
pub use form::{FormError, messages};
pub use policy::{BindingMode, Chip, chips};

pub(crate) use change::{changes, object};
pub(crate) use form::{button, field, labelled, reason, search, select};
pub(crate) use list::{
    Column, cell, empty, facts, head, live, more, name, number_cell, panel, table, verdict,
};

//! Editing contracts, plans and assignments: from documents to forms and back, and the form itself.
//!
//! A form shows every field that a document can have. A document that it cannot represent in full, as one with a
//! field of
//! another version, is edited as text, so that nothing is lost.
//!
//! Deliberately absent: whether a document makes sense (`tollgate-contract`, `tollgate-catalogue`).

mod assignment;
mod draft;
mod fields;
mod policy;
mod sentence;
mod view;
mod yaml;

pub use assignment::{AssignmentDraft, assignment_form};
pub use draft::{Draft, DraftKind};
pub use fields::Fields;
pub use policy::{PolicyDraft, chip};
pub use view::{Editor, editor};
pub use yaml::yaml;

//! Planning: what a cut costs, where publishers should go, and which bucket a topic needs.
//!
//! Floats are allowed here and nowhere else: nothing of it decides about a message. Not here: measuring, which whoever
//! runs a fitting does.

pub mod fit;
pub mod md1;
pub mod place;
pub mod predict;
pub mod profile;

//! The judges of supply: one bucket for all that was admitted, and the sums of what the nodes hold.
//!
//! They share no code with what they judge. Not here: the books of a design, which its own rules define.

mod envelope;
mod sums;

pub(crate) use envelope::{Envelope, Excess};
pub(crate) use sums::Sums;

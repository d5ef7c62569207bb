//! One of each small thing that the other crates share.
//!
//! Everything here is pure and panics for no input. Not here: anything that knows a policy, a frame or a node; and
//! nothing that an attacker must not guess.

pub mod base64;
mod bytes;
mod dice;
mod fnv;
mod gcd;
mod sip;

pub use bytes::{Reader, put_varint};
pub use dice::{Dice, GOLDEN, mix, scramble, unmix};
pub use fnv::{FNV, fnv};
pub use gcd::gcd;
pub use sip::{Sip, siphash24};

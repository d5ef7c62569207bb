//! The empty loop: draws the key, touches it and lets it pass.

use std::hint::black_box;

use super::{SubjectEntry, SubjectRole, USUAL};
use crate::subject::{Limit, Subject, boxed};

/// Decides nothing.
struct Floor(Limit);

impl Subject<u64> for Floor {
    fn build(limit: Limit) -> Self {
        Self(limit)
    }

    fn decide(&mut self, key: &u64) -> bool {
        black_box(*key);
        self.0 == Limit::Open
    }

    fn handle(&self) -> Option<Self> {
        Some(Self(self.0))
    }
}

impl Subject<String> for Floor {
    fn build(limit: Limit) -> Self {
        Self(limit)
    }

    fn decide(&mut self, key: &String) -> bool {
        black_box(key.as_bytes().last().copied());
        self.0 == Limit::Open
    }
}

/// The loop without a limiter in it.
pub(super) fn entry() -> SubjectEntry {
    SubjectEntry {
        name: "empty-loop",
        decides: "nothing; reads the key",
        role: SubjectRole::Floor,
        instructions_about: 10,
        keeps_own_state: false,
        number: Some(boxed::<u64, Floor>),
        text: Some(boxed::<String, Floor>),
        ..USUAL
    }
}

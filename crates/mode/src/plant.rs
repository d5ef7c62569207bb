//! Known bugs on demand: which one is planted in this process.
//!
//! Compiled only with the feature `planted`, for `cargo xtask mutants`. The environment names the bug once for the
//! whole process, so a test plants nothing itself: any test of any crate that runs with `TOLLGATE_PLANTED=name` has it.
//! Not here: the bugs, which sit in the rules they break as `planted!("name", right, wrong)`.

use std::sync::OnceLock;

/// Names the bug; unset or empty for none.
const VARIABLE: &str = "TOLLGATE_PLANTED";

static PLANTED: OnceLock<String> = OnceLock::new();

/// Whether the bug of that name is planted.
pub fn is(name: &str) -> bool {
    PLANTED.get_or_init(named) == name
}

#[allow(
    clippy::disallowed_methods,
    reason = "no build that serves anybody has this module"
)]
fn named() -> String {
    std::env::var(VARIABLE).unwrap_or_default()
}

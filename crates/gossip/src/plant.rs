//! Known bugs on demand: which one is planted in this process.
//!
//! Compiled only with the feature `planted`, for `cargo xtask mutants`. Not here: the bugs, which sit in the rules they
//! break as `planted!("name", right, wrong)`.

use std::sync::OnceLock;

static PLANTED: OnceLock<String> = OnceLock::new();

/// Every bug that can be planted.
pub const NAMES: &[&str] = &[
    "counter-clamp",
    "counter-common",
    "counter-instant",
    "counter-max",
    "home-count",
    "home-half",
    "home-own-report",
    "home-refresh",
    "home-register",
    "home-share",
    "queue-birth",
    "queue-chain",
    "queue-frequency",
    "queue-level",
    "queue-lightest",
    "segments-drop-the-first",
    "segments-fade-as-one",
    "segments-fold-too-early",
    "segments-forget-early",
    "segments-merge-latest-heard",
    "segments-no-carry",
    "segments-no-flush",
    "segments-share-one-more",
];

/// Plants the bug of that name for the rest of the process; `false` if there is none such or one is planted already.
pub fn set(name: &str) -> bool {
    NAMES.contains(&name) && PLANTED.set(name.to_owned()).is_ok()
}

/// Whether the bug of that name is planted.
pub(crate) fn is(name: &str) -> bool {
    PLANTED.get().is_some_and(|planted| planted == name)
}

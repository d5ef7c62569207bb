//! Where `unsafe` is allowed: each place has a reason.
//!
//! A comment on each use is checked by clippy (`undocumented_unsafe_blocks`).

use super::Finding;
use super::files::File;
use super::scan::{mask, tokens};

/// Files and folders, each with a decision or a comment as the reason.
const PLACES: &[&str] = &[
    // A prefetch hint, which reads nothing.
    "crates/table/src/prefetch.rs",
    // Pointers of C: docs/decisions/038-c-abi.md.
    "crates/abi/src/",
    "crates/abi/tests/",
];

pub(crate) fn check(file: &File) -> Vec<Finding> {
    let Some(source) = file.rust() else {
        return Vec::new();
    };
    if PLACES.iter().any(|place| file.path.starts_with(place)) {
        return Vec::new();
    }
    let masked = mask(source);
    let found = tokens(&masked)
        .into_iter()
        .filter(|token| token.text == "unsafe");
    let what = "`unsafe` has no place here; write it safely, or record why not and add the place to xtask/src/tidy/trust.rs";
    found
        .map(|token| Finding::new(&file.path, token.line, what))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_code_is_found_outside_its_places() {
        let source = "//! unsafe\nfn a() {\n    unsafe { b() }\n}\n";
        let found = check(&File::of("crates/node/src/a.rs", source));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 3);
        assert!(check(&File::of("crates/abi/src/a.rs", source)).is_empty());
    }

    #[test]
    fn words_in_comments_and_texts_are_no_code() {
        let source =
            "//! unsafe\nconst A: &str = \"unsafe-inline\"; // unsafe\n#![deny(unsafe_code)]\n";
        assert!(check(&File::of("a.rs", source)).is_empty());
    }
}

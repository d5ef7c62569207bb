//! Names of public types: at most two types of the repository share a name, so that names are unambiguous.
//!
//! Counted are definitions with any `pub`, in tests too. Not here: associated types, re-exports, names of variants.

use std::collections::BTreeMap;

use super::Finding;
use super::files::File;
use super::scan::{Token, mask, tokens};

/// How many public types may have one name.
const TYPES_MAX: usize = 2;
/// Names here are those of the messages that the code is generated from: they count, and other types must be renamed.
const GENERATED: &str = "crates/wire/src/generated/";

/// Where a type is defined.
struct Place<'a> {
    path: &'a str,
    line: usize,
}

pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    let mut by_name: BTreeMap<String, Vec<Place<'_>>> = BTreeMap::new();
    for file in files {
        let masked = mask(file.rust().unwrap_or_default());
        let tokens = tokens(&masked);
        for token in (0..tokens.len()).filter_map(|at| public_type(&tokens[at..])) {
            let place = Place {
                path: &file.path,
                line: token.line,
            };
            by_name.entry(token.text.into()).or_default().push(place);
        }
    }
    let too_many = by_name.iter().filter(|(_, all)| all.len() > TYPES_MAX);
    too_many
        .filter_map(|(name, all)| finding(name, all))
        .collect()
}

/// The name of the public type whose `pub` comes first.
fn public_type<'a>(from: &[Token<'a>]) -> Option<Token<'a>> {
    if from.first()?.text != "pub" {
        return None;
    }
    let mut rest = from[1..].iter();
    let mut next = rest.next()?;
    if next.text == "(" {
        rest.find(|token| token.text == ")")?;
        next = rest.next()?;
    }
    while matches!(next.text, "unsafe" | "auto") {
        next = rest.next()?;
    }
    let is_type = matches!(next.text, "struct" | "enum" | "trait" | "type" | "union");
    let name = rest.next().filter(|_| is_type)?;
    let is_name = name.text.starts_with(char::is_alphabetic);
    is_name.then_some(*name)
}

/// One finding for all types of a name, at the first that is not generated.
fn finding(name: &str, all: &[Place<'_>]) -> Option<Finding> {
    let mut written = all
        .iter()
        .filter(|place| !place.path.starts_with(GENERATED));
    let first = written.next()?;
    let others = all.iter().filter(|place| !std::ptr::eq(*place, first));
    let others: Vec<String> = others
        .map(|place| format!("{}:{}", place.path, place.line))
        .collect();
    let what = format!(
        "`{name}` names {} public types, limit {TYPES_MAX} (also {}); name each after what it is in its domain",
        all.len(),
        others.join(", ")
    );
    Some(Finding::new(first.path, first.line, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings about files with these sources, called `a.rs`, `b.rs` and so on.
    fn found(sources: &[&str]) -> Vec<Finding> {
        let named = ('a'..).zip(sources);
        let files: Vec<File> = named
            .map(|(name, source)| File::of(&format!("{name}.rs"), source))
            .collect();
        check(&files)
    }

    #[test]
    fn a_name_stands_for_two_public_types_at_most() {
        let two = ["pub struct Line;", "\npub(crate) enum Line {}"];
        assert!(found(&two).is_empty());
        let findings = found(&[two[0], two[1], "pub(in crate::a) type Line<'a> = &'a str;"]);
        let [finding] = &findings[..] else {
            panic!("{findings:?}");
        };
        let told = finding.to_string();
        assert!(
            told.starts_with("a.rs:1: `Line` names 3 public types, limit 2 (also b.rs:2, c.rs:1)"),
            "{told}"
        );
    }

    #[test]
    fn every_kind_of_type_counts_whatever_its_visibility() {
        for source in [
            "pub struct A;",
            "pub enum A {}",
            "pub(super) union A { b: u8 }",
            "pub unsafe trait A {}",
            "pub(in crate::b) type A = u8;",
            "mod tests { pub(crate) struct A<'a>(&'a str); }",
        ] {
            assert_eq!(
                found(&["pub struct A; pub trait A {}", source]).len(),
                1,
                "{source}"
            );
        }
    }

    #[test]
    fn what_is_no_public_type_does_not_count() {
        for source in [
            "struct A;",
            "impl B for C { type A = u8; }",
            "pub use b::A;",
            "pub const A: u8 = 0;",
            "// pub struct A;",
            "enum B { A }",
            "macro_rules! b { () => { pub struct $A; } }",
        ] {
            let sources = ["pub struct A;", "pub struct A;", source];
            assert!(found(&sources).is_empty(), "{source}");
        }
    }

    #[test]
    fn generated_types_count_but_others_give_way() {
        let path = |name: &str| format!("{GENERATED}{name}.rs");
        let generated = ["x", "y", "z"].map(|name| File::of(&path(name), "pub struct A;"));
        assert!(check(&generated).is_empty());
        let [x, y, _] = generated;
        let ours = File::of("src/a.rs", "\n\npub struct A;");
        let findings = check(&[x, y, ours]);
        let [finding] = &findings[..] else {
            panic!("{findings:?}");
        };
        assert!(finding.to_string().starts_with("src/a.rs:3:"), "{finding}");
    }
}

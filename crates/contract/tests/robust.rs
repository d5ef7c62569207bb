//! No input makes the parser panic, hang, or accept what it cannot have understood.

use proptest::prelude::*;
use tollgate_contract::{Contracts, envoy};

const OWN: &str = include_str!("good.yaml");
const ENVOY: &str = include_str!("envoy.yaml");

/// Reads bytes as every kind of file and shows what is wrong with them.
fn read(bytes: &[u8]) {
    if let Err(errors) = Contracts::parse_bytes(bytes) {
        assert!(!errors.errors().is_empty());
        for error in errors.errors() {
            assert!(error.line() >= 1 && error.column() >= 1);
            let shown = error.render("f");
            assert!(shown.contains('^') && !shown.contains('\u{1b}'), "{shown}");
        }
    }
    if let Ok(text) = tollgate_contract::decode(bytes) {
        let _ = envoy::parse(text).map_err(|errors| errors.render("f"));
        let _ = Contracts::parse_any(text).map_err(|errors| errors.to_string());
    }
}

#[test]
fn the_seeds_are_good() {
    Contracts::parse(OWN).unwrap();
    envoy::parse(ENVOY).unwrap();
    assert!(Contracts::parse_any(OWN).unwrap().envoy().is_none());
    assert!(Contracts::parse_any(ENVOY).unwrap().envoy().is_some());
}

#[test]
fn every_beginning_of_a_good_file_is_an_answer() {
    for text in [OWN, ENVOY] {
        (0..text.len()).for_each(|end| read(&text.as_bytes()[..end]));
    }
}

#[test]
fn json_is_read_as_yaml() {
    let text = r#"{"contracts": [{"id": "a", "match": {"plan": "free"}, "key": ["user"],
        "policies": [{"name": "p", "limit": 20, "per": "1s", "durable": true}]}]}"#;
    let contracts = Contracts::parse(text).unwrap();
    assert!(contracts.as_slice()[0].policies[0].durable);
}

/// A good file with a few bytes changed, removed, doubled, or exchanged for words that mean something.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let words = vec![
        "*",
        "&a ",
        "*a ",
        "<<: *a",
        "---\n",
        "\t",
        "- ",
        ": ",
        "{",
        "}",
        "[",
        "]",
        "'",
        "\"",
        "|\n",
        "!!str ",
        "~",
        "-1",
        "1e9",
        "0",
        ".inf",
        "18446744073709551616",
        "\u{feff}",
        "č",
        "\r",
        "#",
        "? ",
        "month",
        "1.5h",
    ];
    let change = (
        any::<prop::sample::Index>(),
        0_usize..12,
        prop::sample::select(words),
    );
    let seed = prop::sample::select(vec![OWN, ENVOY]);
    (seed, prop::collection::vec(change, 1..6)).prop_map(|(seed, changes)| {
        let mut bytes = seed.as_bytes().to_vec();
        for (at, cut, word) in changes {
            let at = at.index(bytes.len().max(1)).min(bytes.len());
            let end = (at + cut).min(bytes.len());
            bytes.splice(at..end, word.bytes());
        }
        bytes
    })
}

proptest! {
    #[test]
    fn any_bytes_are_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read(&bytes);
    }

    #[test]
    fn any_text_is_an_answer(text in "\\PC{0,200}") {
        read(text.as_bytes());
    }

    #[test]
    fn any_yaml_punctuation_is_an_answer(text in "[-:{}\\[\\],&*!|>'\"%@`#?~ \na-c0-9]{0,120}") {
        read(text.as_bytes());
    }

    #[test]
    fn a_changed_file_is_an_answer(bytes in mutated()) {
        read(&bytes);
    }

    #[test]
    fn any_duration_is_an_answer(text in "[0-9.smhdwunyµ -]{1,12}") {
        read(format!("contracts: [{{ id: a, policies: [{{ name: p, limit: 1, per: '{text}' }}] }}]").as_bytes());
    }
}

//! How mistakes are shown: every case of `bad.txt` against the message written under it.
//!
//! `UPDATE_BAD=1 cargo test -p tollgate-contract --test errors` writes the messages anew; read the difference.

#![allow(
    clippy::expect_used,
    clippy::format_collect,
    clippy::format_push_string,
    clippy::unwrap_used,
    reason = "a test says what it expects"
)]

use std::path::Path;

use tollgate_contract::{Contracts, ErrorKind, envoy};

const CASE: &str = "=== ";
const SAYS: &str = ">>>\n";

#[test]
fn every_mistake_is_shown_at_its_place() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad.txt");
    let text = std::fs::read_to_string(&path).expect("the cases");
    let mut cases = text.split(CASE);
    let mut out = cases.next().expect("a heading").to_owned();
    let mut count = 0;
    for case in cases {
        let (name, rest) = case.split_once('\n').expect("a name");
        let (file, _) = rest.split_once(SAYS).unwrap_or((rest, ""));
        let file = file.strip_suffix('\n').unwrap_or(file);
        let shown = refusal(name, file);
        out += &format!("{CASE}{name}\n{file}\n{SAYS}{shown}\n");
        count += 1;
    }
    let out = out.trim_end().to_owned() + "\n";
    if is_update() {
        return std::fs::write(&path, &out).expect("written");
    }
    assert!(count >= 25, "{count} cases");
    for (is, was) in out.split(CASE).zip(text.split(CASE)) {
        assert_eq!(
            is, was,
            "run again with UPDATE_BAD=1 if the new message is better"
        );
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a switch for whoever runs the tests"
)]
fn is_update() -> bool {
    std::env::var_os("UPDATE_BAD").is_some()
}

fn refusal(name: &str, file: &str) -> String {
    let errors = if name.starts_with("envoy") {
        envoy::parse(file).expect_err(name)
    } else {
        Contracts::parse(file).expect_err(name)
    };
    errors.render("contracts.yaml")
}

#[track_caller]
fn refused(bytes: &[u8], kind: ErrorKind, at: (u32, u32), saying: &str) {
    let errors = Contracts::parse_bytes(bytes).expect_err(saying);
    let error = &errors.errors()[0];
    assert_eq!(
        (error.kind(), error.line(), error.column()),
        (kind, at.0, at.1),
        "{errors}"
    );
    assert!(error.what().contains(saying), "{errors}");
    let longest = errors
        .to_string()
        .lines()
        .map(|line| line.chars().count())
        .max();
    assert!(longest < Some(250), "{longest:?}");
}

const GOOD: &str = "contracts:\n  - id: a\n    policies:\n      - { name: p, limit: 1, per: 1s }\n";

#[test]
fn the_first_byte_that_is_not_utf8_is_named() {
    let mut bytes = b"contracts:\n  - id: \xC4\x8Da".to_vec();
    bytes.extend(b"\xFFb\n");
    refused(&bytes, ErrorKind::Encoding, (2, 11), "0xFF");
    refused(b"\xFF\xFE", ErrorKind::Encoding, (1, 1), "0xFF");
    refused(b"a\xC4", ErrorKind::Encoding, (1, 2), "0xC4");
}

#[test]
fn a_bomb_of_aliases_is_stopped() {
    let mut text = String::from("x0: &x0 { name: p, limit: 1, per: 1s }\n");
    for level in 1..12 {
        let below = format!("*x{}, ", level - 1).repeat(10);
        text += &format!("x{level}: &x{level} [{below}]\n");
    }
    // The unknown field is found first; under a known one the bomb goes off.
    refused(text.as_bytes(), ErrorKind::UnknownField, (1, 1), "x0");
    let inner = text
        .lines()
        .map(|line| format!("    {}", line.split_once(' ').unwrap().1));
    let list: Vec<String> = inner
        .map(|line| line.replacen("    ", "    - ", 1))
        .collect();
    let bomb = format!(
        "contracts:\n  - id: a\n    policies:\n{}\n",
        list.join("\n")
    );
    let errors = Contracts::parse(&bomb).expect_err("a bomb");
    assert!(errors.errors()[0].line() > 1, "{errors}");
    let ignored = format!(
        "domain: d\ndescriptors:\n  - key: a\n    metadata:\n{}\n",
        indented(&text)
    );
    let errors = envoy::parse(&ignored).expect_err("a bomb");
    assert_eq!(errors.errors()[0].kind(), ErrorKind::TooLarge, "{errors}");
    assert!(errors.errors()[0].what().contains("aliases"), "{errors}");
}

fn indented(text: &str) -> String {
    text.lines()
        .map(|line| format!("      {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn what_is_too_large_is_refused_at_once() {
    let key = "k".repeat(10 << 20);
    let text = format!("{GOOD}    key: [{key}]\n");
    refused(
        text.as_bytes(),
        ErrorKind::TooLarge,
        (5, 11),
        "10485760 bytes",
    );
    let text = format!("{GOOD}{key}: 1\n");
    let errors = Contracts::parse(&text).expect_err("a long key");
    assert!(
        errors.to_string().len() < 2_000,
        "{}",
        errors.to_string().len()
    );
    refused(
        " ".repeat((16 << 20) + 1).as_bytes(),
        ErrorKind::TooLarge,
        (1, 1),
        "16 MiB",
    );
    let text = format!("contracts: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(Contracts::parse(&text).is_err());
    let text = format!("contracts: [{}]", "{id: a},".repeat(100_001));
    refused(text.as_bytes(), ErrorKind::TooLarge, (1, 12), "100000");
    let policies = "{name: a},".repeat(65);
    let text = format!("contracts: [{{id: a, policies: [{policies}]}}]");
    let errors = Contracts::parse(&text).expect_err("too many policies");
    assert_eq!(errors.errors()[0].kind(), ErrorKind::TooLarge, "{errors}");
}

#[test]
fn many_mistakes_are_counted_beyond_the_bound() {
    let policies: String = (0..30)
        .map(|n| format!("      - {{ name: p{n}, limit: 0, per: 1s }}\n"))
        .collect();
    let text = format!("contracts:\n  - id: a\n    policies:\n{policies}");
    let errors = Contracts::parse(&text).expect_err("mistakes");
    assert_eq!((errors.errors().len(), errors.unreported()), (20, 10));
    assert!(errors.to_string().ends_with("\nand 10 more\n"));
    let lines: Vec<u32> = errors
        .errors()
        .iter()
        .map(tollgate_contract::ContractError::line)
        .collect();
    assert!(lines.is_sorted());
}

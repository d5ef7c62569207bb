//! The name of a counted identity: the entries of its key with their values, as one text.
//!
//! `user=42`, or `user=42,route=/tiles`. Commas, percent signs, control characters and invalid UTF-8 are
//! written as `%2C`, so that no two identities have one name and every database can store it.

use core::fmt::Write;

use tollgate_contract::Contract;
use tollgate_kit::{FNV, fnv};
use tollgate_node::Key;

/// Writes the identity that a contract counts for a key. Stays empty if the contract counts all keys together.
pub fn identity_of(contract: &Contract, key: Key<'_>, out: &mut String) {
    out.clear();
    match key {
        Key::Entries(entries) => {
            for name in &contract.key {
                if let Some((_, value)) = entries.iter().find(|(is, _)| is == name) {
                    entry(name, value.as_bytes(), out);
                }
            }
        }
        Key::Text(text) => bare(contract, text, out),
        Key::Word(word) => bare(contract, word.to_string().as_bytes(), out),
    }
    shorten(out);
}

/// Writes the name of a key that no contract counts: all its entries, or the bare key.
pub fn key_name(key: Key<'_>, out: &mut String) {
    out.clear();
    match key {
        Key::Entries(entries) => {
            for (name, value) in entries {
                entry(name, value.as_bytes(), out);
            }
        }
        Key::Text(text) => escaped(text, out),
        Key::Word(word) => escaped(word.to_string().as_bytes(), out),
    }
    shorten(out);
}

/// A bare key stands for the one entry that a contract counts by.
fn bare(contract: &Contract, value: &[u8], out: &mut String) {
    if let Some(name) = contract.key.first() {
        entry(name, value, out);
    }
}

fn entry(name: &str, value: &[u8], out: &mut String) {
    if !out.is_empty() {
        out.push(',');
    }
    escaped(name.as_bytes(), out);
    out.push('=');
    escaped(value, out);
}

fn escaped(bytes: &[u8], out: &mut String) {
    for part in bytes.utf8_chunks() {
        for letter in part.valid().chars() {
            if letter == ',' || letter == '%' || letter.is_control() {
                let mut bytes = [0; 4];
                let bytes = letter.encode_utf8(&mut bytes).as_bytes();
                for byte in bytes {
                    percent(*byte, out);
                }
            } else {
                out.push(letter);
            }
        }
        for byte in part.invalid() {
            percent(*byte, out);
        }
    }
}

fn percent(byte: u8, out: &mut String) {
    // Writing to a string does not fail.
    let _ = write!(out, "%{byte:02X}");
}

/// Cuts a long name, and keeps names distinct that begin alike.
fn shorten(out: &mut String) {
    if out.len() <= IDENTITY_BYTES_MAX {
        return;
    }
    let number = fnv(FNV, out.as_bytes());
    out.truncate(out.floor_char_boundary(IDENTITY_BYTES_MAX - MARK_BYTES));
    let _ = write!(out, "…{number:016x}");
}

/// The longest name of an identity, in bytes; longer ones are cut.
pub const IDENTITY_BYTES_MAX: usize = 256;
/// The mark of a cut name, and a hash of the whole.
const MARK_BYTES: usize = 19;

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_contract::Contracts;

    fn name(key: Key<'_>) -> String {
        let file = "contracts: [{ id: c, key: [user, route], policies: [{ name: p, limit: 1, per: 1s }] }]";
        let contracts = Contracts::parse(file).unwrap();
        let mut out = String::from("left over");
        identity_of(contracts.get(0).unwrap(), key, &mut out);
        out
    }

    #[test]
    fn no_two_identities_have_one_name() {
        let plain = [("route", "/a"), ("user", "4"), ("other", "x")];
        assert_eq!(name(Key::Entries(&plain)), "user=4,route=/a");
        let sly = [("user", "4,route=/a"), ("route", "")];
        assert_eq!(name(Key::Entries(&sly)), "user=4%2Croute=/a,route=");
        assert_eq!(name(Key::Text(b"a\0\xff%")), "user=a%00%FF%25");
        assert_eq!(name(Key::Word(7)), "user=7");
    }

    #[test]
    fn long_names_are_cut_and_told_apart() {
        let (one, other) = ("ü".repeat(4000) + "1", "ü".repeat(4000) + "2");
        let (one, other) = (name(Key::from(&one)), name(Key::from(&other)));
        assert!(one != other && one.len() <= IDENTITY_BYTES_MAX && one.starts_with("user=üü"));
    }
}

//! Heads of HTTP/1: what is read as a head is one whole head, every beginning of it is none, and its length is within
//! it.

#![no_main]
#![allow(
    dead_code,
    reason = "the sources are the server's, and not all of them are used here"
)]

#[path = "../../crates/serve/src/http/lean/head.rs"]
mod head;

use std::mem::MaybeUninit;

use head::{LINES_MAX, Length, ParsedHead, read};

fn check(bytes: &[u8]) {
    let mut slots = [const { MaybeUninit::uninit() }; LINES_MAX];
    let ParsedHead::Head(head) = read(bytes, &mut slots) else {
        return;
    };
    assert!(bytes[..head.length].ends_with(b"\r\n\r\n"));
    assert!(head.path.starts_with('/') && !head.path.contains('?'));
    let named = |name: &str| {
        let lines = head.lines.iter();
        let same = lines.filter(|line| line.name.eq_ignore_ascii_case(name));
        same.collect::<Vec<_>>()
    };
    assert!(named("transfer-encoding").len() <= 1 && named("host").len() <= 1);
    let lengths = named("content-length");
    assert!(lengths.len() <= 1);
    let told = lengths
        .first()
        .map(|line| std::str::from_utf8(line.value).unwrap());
    let expected = match named("transfer-encoding").is_empty() {
        true => Length::Known(told.map_or(0, |told| told.parse().unwrap())),
        false => Length::Chunked,
    };
    assert_eq!(head.length_of_body, expected);
    let length = head.length;
    for end in [length / 2, length - 1] {
        let mut slots = [const { MaybeUninit::uninit() }; LINES_MAX];
        let part = read(&bytes[..end], &mut slots);
        assert!(matches!(part, ParsedHead::Partial), "{part:?}");
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check(bytes));

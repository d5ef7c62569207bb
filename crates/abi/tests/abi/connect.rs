//! Limiters by leases where no node is: what is wrong with options, and what is answered when nobody answers.
//!
//! Not here: nodes that answer. The examples in other languages ask real ones.

#![allow(unsafe_code, reason = "calls what C calls")]

use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use tollgate::{
    Answer, ClientOptions, Code, Key, KeyEntry, Limiter, Path, TOLLGATE_NODES_MAX, Text,
    tollgate_charge, tollgate_check, tollgate_close, tollgate_connect, tollgate_peek,
    tollgate_refund, tollgate_release, tollgate_reserve, tollgate_reset, tollgate_try_check,
};

use crate::calls::{NOTHING, last_error, text};

fn options(nodes: &[Text]) -> ClientOptions {
    ClientOptions {
        nodes: nodes.as_ptr(),
        nodes_count: nodes.len(),
        token: NOTHING,
        zone: NOTHING,
        name: NOTHING,
        timeout_ns: 20_000_000,
        keys_max: 0,
        allow_when_away: false,
    }
}

fn connect(options: &ClientOptions) -> Result<*mut Limiter, Code> {
    let mut limiter = null_mut();
    // SAFETY: every pointer is good, or wrong in a way that is checked.
    let code = unsafe { tollgate_connect(options, &raw mut limiter) };
    assert_eq!(limiter.is_null(), code != Code::Ok);
    if code == Code::Ok {
        Ok(limiter)
    } else {
        Err(code)
    }
}

#[test]
fn options_that_cannot_be_are_told_apart() {
    let refusal = |nodes: &[Text]| connect(&options(nodes)).unwrap_err();
    assert_eq!(refusal(&[]), Code::BadOptions);
    assert!(last_error().contains("at least one"), "{}", last_error());
    assert_eq!(refusal(&[text(b"here")]), Code::BadOptions);
    assert!(last_error().contains("`here`"), "{}", last_error());
    assert_eq!(refusal(&[text(b"\xff:1")]), Code::Utf8);
    let many = [text(b"a:1"); TOLLGATE_NODES_MAX + 1];
    assert_eq!(refusal(&many), Code::TooLong);
    let hollow = ClientOptions {
        nodes: null(),
        ..options(&many[..1])
    };
    assert_eq!(connect(&hollow).unwrap_err(), Code::Null);
    let wordy = [b'a'; 5_000];
    let wordy = ClientOptions {
        token: text(&wordy),
        ..options(&many[..1])
    };
    assert_eq!(connect(&wordy).unwrap_err(), Code::TooLong);
    let mut limiter = null_mut();
    // SAFETY: null is checked.
    unsafe {
        assert_eq!(tollgate_connect(null(), &raw mut limiter), Code::Null);
        assert_eq!(tollgate_connect(&raw const wordy, null_mut()), Code::Null);
    }
}

/// What one of the functions that answer says.
fn answer(ask: impl FnOnce(*mut Answer) -> Code) -> Answer {
    let mut answer = MaybeUninit::uninit();
    assert_eq!(ask(answer.as_mut_ptr()), Code::Ok);
    // SAFETY: a call that is done has written the answer.
    unsafe { answer.assume_init() }
}

#[test]
fn when_nobody_answers_it_is_as_the_options_say() {
    // A port where nobody listens.
    let nodes = [text(b"127.0.0.1:1"), text(b"far=unix:/nowhere/at.all")];
    for allow_when_away in [false, true] {
        let options = ClientOptions {
            allow_when_away,
            ..options(&nodes)
        };
        let limiter = connect(&options).unwrap();
        let entries = [KeyEntry {
            name: text(b"user"),
            value: text(b"ada"),
        }];
        let key = Key {
            entries: entries.as_ptr(),
            count: 1,
        };
        let at = &raw const key;
        // SAFETY: every pointer is good.
        unsafe {
            let told = answer(|place| tollgate_check(limiter, at, 1, place));
            assert_eq!((told.allowed, told.path), (allow_when_away, Path::Failed));
            assert!(!answer(|place| tollgate_peek(limiter, at, place)).allowed);
            let _ = answer(|place| tollgate_try_check(limiter, at, 1, place));
            let mut receipt = null_mut();
            let told = answer(|place| tollgate_reserve(limiter, at, 1, place, &raw mut receipt));
            assert_eq!(told.allowed, allow_when_away);
            assert!(receipt.is_null(), "no lease paid");
            assert_eq!(tollgate_release(limiter, at), Code::Ok);
            let unsupported = [
                tollgate_charge(limiter, at, 1),
                tollgate_refund(limiter, at, 1),
                tollgate_reset(limiter, at),
            ];
            assert_eq!(unsupported, [Code::Unsupported; 3]);
            assert!(last_error().contains("ask a node"), "{}", last_error());
            tollgate_close(limiter);
        }
    }
}

//! Calls as C makes them, with everything wrong that can be, and many at once.

#![allow(unsafe_code, reason = "calls what C calls")]

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tollgate::{
    Answer, Code, Key, KeyEntry, Limiter, Options, Receipt, TOLLGATE_ABI_VERSION,
    TOLLGATE_ENTRIES_MAX, TOLLGATE_KEY_BYTES_MAX, TOLLGATE_NUL_TERMINATED, Text, Verdict,
    tollgate_abi_version, tollgate_charge, tollgate_check, tollgate_check_text, tollgate_close,
    tollgate_last_error, tollgate_open, tollgate_open_file, tollgate_peek, tollgate_receipt_free,
    tollgate_refund, tollgate_reserve, tollgate_reset, tollgate_settle,
};

const CONTRACT: &str = "contracts:
  - id: users
    key: [user]
    policies: [{ name: daily, limit: 10, per: 1d, algorithm: token-bucket }]
";

pub(crate) fn text(bytes: &[u8]) -> Text {
    Text {
        data: bytes.as_ptr().cast(),
        length: bytes.len(),
    }
}

pub(crate) const NOTHING: Text = Text {
    data: null(),
    length: 0,
};

fn entry(name: &[u8], value: &[u8]) -> KeyEntry {
    KeyEntry {
        name: text(name),
        value: text(value),
    }
}

fn key(entries: &[KeyEntry]) -> Key {
    Key {
        entries: entries.as_ptr(),
        count: entries.len(),
    }
}

pub(crate) fn last_error() -> String {
    // SAFETY: it is a text with a NUL, valid until the next failure on this thread.
    let text = unsafe { CStr::from_ptr(tollgate_last_error()) };
    text.to_str().unwrap().to_owned()
}

fn try_open(contract: &[u8], options: *const Options) -> Result<*mut Limiter, Code> {
    let mut limiter = null_mut();
    // SAFETY: every pointer is good for its length.
    let code = unsafe {
        tollgate_open(
            contract.as_ptr().cast(),
            contract.len(),
            options,
            &raw mut limiter,
        )
    };
    assert_eq!(limiter.is_null(), code != Code::Ok);
    if code == Code::Ok {
        Ok(limiter)
    } else {
        Err(code)
    }
}

fn open(contract: &str) -> *mut Limiter {
    try_open(contract.as_bytes(), null()).unwrap()
}

fn check(limiter: *const Limiter, key: &Key, cost: u64) -> Result<Answer, Code> {
    let mut answer = MaybeUninit::uninit();
    // SAFETY: every pointer is good, or wrong in a way that is checked.
    let code = unsafe { tollgate_check(limiter, key, cost, answer.as_mut_ptr()) };
    if code == Code::Ok {
        // SAFETY: a call that is done has written the answer.
        Ok(unsafe { answer.assume_init() })
    } else {
        Err(code)
    }
}

fn name(bytes: &[c_char]) -> String {
    let bytes = bytes.iter().take_while(|byte| **byte != 0);
    String::from_utf8(bytes.map(|byte| byte.to_ne_bytes()[0]).collect()).unwrap()
}

fn close(limiter: *mut Limiter) {
    // SAFETY: it came from `open`, and is not used again.
    unsafe { tollgate_close(limiter) };
}

#[test]
fn an_answer_says_what_the_limiter_says() {
    let limiter = open(CONTRACT);
    let ada = [entry(b"user", b"ada")];
    let answer = check(limiter, &key(&ada), 4).unwrap();
    assert_eq!(answer.verdict, Verdict::Allow);
    assert!(answer.allowed && answer.bound && !answer.shadowed);
    assert_eq!((answer.limit, answer.remaining), (10, 6));
    assert_eq!((answer.wait_ns, answer.retry_after_ns), (0, 0));
    assert!(answer.reset_after_ns > 0);
    assert_eq!(
        (name(&answer.contract), name(&answer.policy)),
        ("users".to_owned(), "daily".to_owned())
    );
    let answer = check(limiter, &key(&ada), 7).unwrap();
    assert_eq!(answer.verdict, Verdict::Deny);
    assert!(!answer.allowed && answer.retry_after_ns > 0);
    assert_eq!(
        check(limiter, &key(&ada), 11).unwrap().verdict,
        Verdict::Never
    );
    assert_eq!(
        check(limiter, &key(&ada), u64::MAX).unwrap().verdict,
        Verdict::Never
    );
    let answer = check(limiter, &key(&[entry(b"plan", b"x")]), 1_000).unwrap();
    assert!(answer.allowed && !answer.bound);
    assert_eq!(name(&answer.contract), "");
    close(limiter);
}

#[test]
fn a_bare_value_and_the_entry_it_stands_for_are_one_key() {
    let limiter = open(CONTRACT);
    let bare = [KeyEntry {
        name: NOTHING,
        value: text(b"ada"),
    }];
    let terminated = [KeyEntry {
        name: NOTHING,
        value: Text {
            data: c"ada".as_ptr(),
            length: TOLLGATE_NUL_TERMINATED,
        },
    }];
    assert_eq!(check(limiter, &key(&bare), 1).unwrap().remaining, 9);
    assert_eq!(check(limiter, &key(&terminated), 1).unwrap().remaining, 8);
    let named = [entry(b"user", b"ada")];
    assert_eq!(check(limiter, &key(&named), 1).unwrap().remaining, 7);
    let mut answer = MaybeUninit::uninit();
    // SAFETY: every pointer is good.
    let code = unsafe { tollgate_check_text(limiter, c"ada".as_ptr(), 1, answer.as_mut_ptr()) };
    assert_eq!(code, Code::Ok);
    // SAFETY: the call is done.
    assert_eq!(unsafe { answer.assume_init() }.remaining, 6);
    close(limiter);
}

#[test]
fn charges_refunds_resets_and_peeks_are_the_limiters() {
    let limiter = open(CONTRACT);
    let entries = [entry(b"user", b"ada")];
    let ada = key(&entries);
    let mut answer = MaybeUninit::<Answer>::uninit();
    // SAFETY: every pointer is good.
    unsafe {
        assert_eq!(tollgate_charge(limiter, &raw const ada, 12), Code::Ok);
        assert_eq!(
            tollgate_peek(limiter, &raw const ada, answer.as_mut_ptr()),
            Code::Ok
        );
        assert!(!answer.assume_init().allowed);
        assert_eq!(tollgate_refund(limiter, &raw const ada, 5), Code::Ok);
        assert_eq!(check(limiter, &ada, 0).unwrap().remaining, 3);
        assert_eq!(tollgate_reset(limiter, &raw const ada), Code::Ok);
        assert_eq!(check(limiter, &ada, 0).unwrap().remaining, 10);
    }
    close(limiter);
}

fn reserve(limiter: *const Limiter, key: &Key, cost: u64) -> *mut Receipt {
    let (mut answer, mut receipt) = (MaybeUninit::uninit(), null_mut());
    // SAFETY: every pointer is good.
    let code =
        unsafe { tollgate_reserve(limiter, key, cost, answer.as_mut_ptr(), &raw mut receipt) };
    assert_eq!(code, Code::Ok);
    receipt
}

#[test]
fn a_receipt_is_settled_once_and_where_it_was_given() {
    let (limiter, other) = (open(CONTRACT), open(CONTRACT));
    let entries = [entry(b"user", b"ada")];
    let ada = key(&entries);
    let receipt = reserve(limiter, &ada, 8);
    assert!(reserve(limiter, &ada, 8).is_null(), "refused");
    // SAFETY: every pointer is good.
    unsafe {
        assert_eq!(tollgate_settle(other, receipt, 1), Code::BadReceipt);
        assert!(last_error().contains("another limiter"), "{}", last_error());
        assert_eq!(tollgate_settle(limiter, receipt, 3), Code::Ok);
        assert_eq!(tollgate_settle(limiter, receipt, 3), Code::BadReceipt);
        assert!(last_error().contains("settled before"), "{}", last_error());
    }
    assert_eq!(check(limiter, &ada, 0).unwrap().remaining, 7);
    close(limiter);
    close(other);
    // SAFETY: it came from `reserve` and is not used again; null is nothing.
    unsafe {
        tollgate_receipt_free(receipt);
        tollgate_receipt_free(null_mut());
    }
}

#[test]
fn null_is_refused_wherever_it_may_not_be_and_charges_nothing() {
    let limiter = open(CONTRACT);
    let entries = [entry(b"user", b"ada")];
    let ada = key(&entries);
    let mut answer = MaybeUninit::<Answer>::uninit();
    let (place, mut receipt) = (answer.as_mut_ptr(), null_mut());
    let (at, ada_at) = (&raw mut receipt, &raw const ada);
    let mut limiters = null_mut();
    let hollow = [KeyEntry {
        name: text(b"user"),
        value: Text {
            data: null(),
            length: 3,
        },
    }];
    let hollow = key(&hollow);
    let nowhere = Key {
        entries: null(),
        count: 1,
    };
    // SAFETY: every pointer is good or null.
    let codes = unsafe {
        [
            tollgate_check(null(), ada_at, 1, place),
            tollgate_check(limiter, null(), 1, place),
            tollgate_check(limiter, ada_at, 1, null_mut()),
            tollgate_check(limiter, &raw const nowhere, 1, place),
            tollgate_check(limiter, &raw const hollow, 1, place),
            tollgate_check_text(null(), c"ada".as_ptr(), 1, place),
            tollgate_check_text(limiter, null(), 1, place),
            tollgate_check_text(limiter, c"ada".as_ptr(), 1, null_mut()),
            tollgate_peek(limiter, ada_at, null_mut()),
            tollgate_reserve(limiter, ada_at, 1, null_mut(), at),
            tollgate_reserve(limiter, ada_at, 1, place, null_mut()),
            tollgate_settle(limiter, null(), 1),
            tollgate_charge(limiter, null(), 1),
            tollgate_refund(null(), ada_at, 1),
            tollgate_reset(null(), ada_at),
            tollgate_open(null(), 5, null(), &raw mut limiters),
            tollgate_open(CONTRACT.as_ptr().cast(), CONTRACT.len(), null(), null_mut()),
            tollgate_open_file(null(), null(), &raw mut limiters),
        ]
    };
    assert!(codes.iter().all(|code| *code == Code::Null), "{codes:?}");
    assert!(last_error().contains("null pointer"), "{}", last_error());
    assert_eq!(check(limiter, &ada, 0).unwrap().remaining, 10);
    close(limiter);
    close(null_mut());
}

#[test]
fn keys_that_are_too_long_mixed_or_no_text_are_told_apart() {
    let limiter = open(CONTRACT);
    let refusal = |entries: &[KeyEntry]| check(limiter, &key(entries), 1).unwrap_err();
    let long = vec![b'a'; TOLLGATE_KEY_BYTES_MAX];
    assert!(check(limiter, &key(&[entry(b"", &long)]), 1).is_ok());
    assert_eq!(refusal(&[entry(b"u", &long)]), Code::TooLong);
    let endless = Text {
        data: long.as_ptr().cast(),
        length: usize::MAX - 1,
    };
    let endless = KeyEntry {
        name: text(b"u"),
        value: endless,
    };
    assert_eq!(refusal(&[endless]), Code::TooLong);
    assert!(check(limiter, &key(&[entry(b"a", b"b"); TOLLGATE_ENTRIES_MAX]), 1).is_ok());
    assert_eq!(
        refusal(&[entry(b"a", b"b"); TOLLGATE_ENTRIES_MAX + 1]),
        Code::TooLong
    );
    assert_eq!(refusal(&[entry(b"user", b"\xff")]), Code::Utf8);
    assert_eq!(refusal(&[entry(b"us\xc3", b"a")]), Code::Utf8);
    assert!(last_error().contains("from byte 2 on"), "{}", last_error());
    let bare = KeyEntry {
        name: NOTHING,
        value: text(b"\xff\x00"),
    };
    assert!(check(limiter, &key(&[bare]), 1).is_ok(), "any bytes");
    assert_eq!(refusal(&[entry(b"a", b"b"), bare]), Code::BadKey);
    let none = Key {
        entries: null(),
        count: 0,
    };
    assert!(!check(limiter, &none, 1).unwrap().bound);
    close(limiter);
}

#[test]
fn contracts_that_are_wrong_say_why() {
    let refusal = |text: &[u8]| try_open(text, null()).unwrap_err();
    assert_eq!(refusal(b"contracts: 7"), Code::BadContract);
    assert!(last_error().contains("line 1"), "{}", last_error());
    assert_eq!(refusal(b"\xff"), Code::Utf8);
    let shared = CONTRACT.replace("token-bucket", "token-bucket, durable: true");
    assert_eq!(refusal(shared.as_bytes()), Code::NeedsCompany);
    assert!(last_error().contains("`alone`"), "{}", last_error());
    let alone = Options {
        bytes_max: 1 << 20,
        alone: true,
        refuse_when_full: true,
    };
    close(try_open(shared.as_bytes(), &raw const alone).unwrap());
}

#[test]
fn a_contract_file_is_read_or_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.yaml");
    std::fs::write(&path, CONTRACT).unwrap();
    let open = |path: &str| {
        let (path, mut limiter) = (std::ffi::CString::new(path).unwrap(), null_mut());
        // SAFETY: every pointer is good.
        let code = unsafe { tollgate_open_file(path.as_ptr(), null(), &raw mut limiter) };
        (code, limiter)
    };
    let (code, limiter) = open(path.to_str().unwrap());
    assert_eq!(code, Code::Ok);
    close(limiter);
    let (code, limiter) = open("/nowhere/c.yaml");
    assert_eq!(code, Code::File);
    assert!(limiter.is_null());
    assert!(last_error().contains("`/nowhere/c.yaml`"));
}

/// A limiter that goes to other threads.
#[derive(Clone, Copy)]
struct Shared(*const Limiter);

// SAFETY: the header says that any number of threads may use one limiter, which `is_shared` checks.
unsafe impl Send for Shared {}

fn is_shared<T: Send + Sync>() {}

#[test]
fn threads_that_share_a_limiter_get_exactly_what_there_is() {
    is_shared::<Limiter>();
    is_shared::<Receipt>();
    let limiter = open(
        &CONTRACT
            .replace("limit: 10", "limit: 5000")
            .replace("1d", "30d"),
    );
    let passed = AtomicU64::new(0);
    let shared = Shared(limiter);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let passed = &passed;
            scope.spawn(move || {
                let shared = shared;
                let entries = [entry(b"user", b"all")];
                for _ in 0..1_000 {
                    let answer = check(shared.0, &key(&entries), 1).unwrap();
                    passed.fetch_add(u64::from(answer.allowed), Relaxed);
                }
            });
        }
    });
    assert_eq!(passed.into_inner(), 5_000);
    close(limiter);
}

#[test]
fn the_version_is_the_headers() {
    assert_eq!(tollgate_abi_version(), TOLLGATE_ABI_VERSION);
}

//! What became of a call, and where panics end.
//!
//! Not here: refusals, which are answers.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What became of a call. A request that is refused is no failure: the call is `TOLLGATE_CODE_OK` and the answer says
/// so.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// It is done.
    Ok = 0,
    /// A pointer is null that must not be.
    Null = 1,
    /// A text is not UTF-8.
    Utf8 = 2,
    /// A text, a key or a list is longer than it may be.
    TooLong = 3,
    /// A key mixes a bare value with other entries.
    BadKey = 4,
    /// The contract is wrong; the error shows where.
    BadContract = 5,
    /// A file cannot be read.
    File = 6,
    /// The contract asks for other nodes or a disk, which this limiter does not have.
    NeedsCompany = 7,
    /// A receipt is another limiter's, or was settled before.
    BadReceipt = 8,
    /// The machine gives no randomness, or no thread.
    Machine = 9,
    /// A limiter by leases of nodes cannot do this; ask a node to.
    Unsupported = 10,
    /// A bug in the library. The limiter can still be used and closed.
    Panicked = 11,
    /// Options name no node, or something that cannot be.
    BadOptions = 12,
}

/// A failure, and a sentence of what to do.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    text: String,
}

impl Fault {
    pub(crate) fn new(code: Code, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { code, text }
    }

    /// Keeps the text for the calling thread.
    fn keep(self) -> Code {
        let text: Vec<u8> = self.text.bytes().filter(|byte| *byte != 0).collect();
        let text = CString::new(text).unwrap_or_default();
        // A thread that is about to end has nobody left to ask for it.
        let _ = LAST.try_with(|last| last.replace(text));
        self.code
    }
}

/// Does what C asked for: no panic goes further than this.
pub(crate) fn guard(work: impl FnOnce() -> Result<(), Fault>) -> Code {
    // Nothing that was half changed is seen afterwards: a limiter's pages are whole whenever their locks are let go.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => Code::Ok,
        Ok(Err(fault)) => fault.keep(),
        Err(payload) => {
            let said = payload.downcast_ref::<&str>().map(ToString::to_string);
            let said = said.or_else(|| payload.downcast_ref::<String>().cloned());
            // What a panic carries may panic when it is dropped.
            std::mem::forget(payload);
            let said = said.unwrap_or_else(|| "it does not say".to_owned());
            Fault::new(
                Code::Panicked,
                format!("a bug in libtollgate, please report it: {said}"),
            )
            .keep()
        }
    }
}

/// What the last call that failed on this thread has to say, in UTF-8; empty before the first. It is valid until the
/// next call fails on this thread, and is not to be freed.
#[unsafe(no_mangle)]
#[allow(
    unsafe_code,
    reason = "C finds it by this name, which nothing else has"
)]
pub extern "C" fn tollgate_last_error() -> *const c_char {
    let last = LAST.try_with(|last| last.borrow().as_ptr());
    last.unwrap_or(c"".as_ptr())
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        LAST.with(|last| last.borrow().to_string_lossy().into_owned())
    }

    #[test]
    fn a_panic_becomes_a_code_and_a_text() {
        let said = ["plain", "formatted 7"];
        assert_eq!(guard(|| panic!("plain")), Code::Panicked);
        assert!(last().ends_with(said[0]), "{}", last());
        assert_eq!(guard(|| panic!("formatted {}", 7)), Code::Panicked);
        assert!(last().ends_with(said[1]), "{}", last());
    }

    #[test]
    fn a_panic_whose_payload_panics_when_dropped_stays_inside() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("again");
            }
        }
        let code = guard(|| std::panic::panic_any(Bomb));
        assert_eq!(code, Code::Panicked);
        assert!(last().ends_with("it does not say"));
    }

    #[test]
    fn what_was_said_is_each_threads_own() {
        let code = guard(|| Err(Fault::new(Code::Null, "mine\0, whole")));
        assert_eq!((code, last().as_str()), (Code::Null, "mine, whole"));
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(last(), ""));
        });
        assert_eq!(guard(|| Ok(())), Code::Ok);
        assert_eq!(last(), "mine, whole");
    }
}

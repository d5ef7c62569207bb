//! Functions that ask whether a request may pass.
//!
//! Not here: changing what a key has left without asking (`spend`).

#![allow(unsafe_code, reason = "C calls these by name, with pointers")]

use std::ffi::c_char;

use crate::answer::Answer;
use crate::code::{Code, Fault, guard};
use crate::key::{Checked, Key, TOLLGATE_KEY_BYTES_MAX};
use crate::limiter::{Limiter, Receipt};
use crate::pointer;

/// May this key spend `cost` now? It is charged where it may. A cost of zero only asks. A limiter by leases waits for a
/// node where no lease is at hand, at most for its timeout.
///
/// # Safety
///
/// The pointers are null or point at what their types say; `answer` at room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_check(
    limiter: *const Limiter,
    key: *const Key,
    cost: u64,
    answer: *mut Answer,
) -> Code {
    // SAFETY: the caller's word.
    guard(|| unsafe {
        answered(limiter, key, answer, |limiter, key| {
            limiter.check(key, cost)
        })
    })
}

/// The same without ever waiting: where no lease is at hand, a limiter by leases refuses and asks for one.
///
/// # Safety
///
/// The pointers are null or point at what their types say; `answer` at room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_try_check(
    limiter: *const Limiter,
    key: *const Key,
    cost: u64,
    answer: *mut Answer,
) -> Code {
    // SAFETY: the caller's word.
    guard(|| unsafe {
        answered(limiter, key, answer, |limiter, key| {
            limiter.try_check(key, cost)
        })
    })
}

/// As `tollgate_check`, for a bare key: a text with a NUL, at most `TOLLGATE_KEY_BYTES_MAX` bytes.
///
/// # Safety
///
/// The pointers are null or point at what their types say; `key` at a text with a NUL, `answer` at room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_check_text(
    limiter: *const Limiter,
    key: *const c_char,
    cost: u64,
    answer: *mut Answer,
) -> Code {
    guard(|| {
        // SAFETY: the caller's word.
        let limiter = unsafe { pointer::borrow(limiter, "the limiter") }?;
        // SAFETY: the caller's word.
        let key = unsafe { pointer::terminated(key, TOLLGATE_KEY_BYTES_MAX, "the key") }?;
        pointer::room(answer, "the place of the answer")?;
        let told = limiter.check(&Checked::Bare(key), cost);
        // SAFETY: the caller's word.
        unsafe { pointer::put(answer, told, "the place of the answer") }
    })
}

/// How does this key stand? Nothing is charged: the answer is the one that a cost of 1 would get. A limiter by leases
/// says what it holds, and asks nobody.
///
/// # Safety
///
/// The pointers are null or point at what their types say; `answer` at room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_peek(
    limiter: *const Limiter,
    key: *const Key,
    answer: *mut Answer,
) -> Code {
    // SAFETY: the caller's word, which is the same.
    unsafe { tollgate_check(limiter, key, 0, answer) }
}

/// Asks as `tollgate_check` does and, where the request passes, gives a receipt by which `tollgate_settle` charges the
/// real cost later. `*receipt` is null where it does not pass, cannot be settled (a node decided) or the call fails. A
/// receipt is freed by `tollgate_receipt_free`.
///
/// # Safety
///
/// The pointers are null or point at what their types say; `answer` and `receipt` at room for one each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_reserve(
    limiter: *const Limiter,
    key: *const Key,
    cost: u64,
    answer: *mut Answer,
    receipt: *mut *mut Receipt,
) -> Code {
    guard(|| {
        // SAFETY: the caller's word.
        unsafe { pointer::put(receipt, std::ptr::null_mut(), "the place of the receipt") }?;
        // SAFETY: the caller's word.
        let limiter = unsafe { pointer::borrow(limiter, "the limiter") }?;
        // SAFETY: the caller's word.
        let key = unsafe { Checked::read(key) }?;
        pointer::room(answer, "the place of the answer")?;
        let (told, given) = limiter.reserve(&key, cost);
        // SAFETY: the caller's word.
        unsafe { pointer::put(answer, told, "the place of the answer") }?;
        let given = given.map_or(std::ptr::null_mut(), |given| Box::into_raw(Box::new(given)));
        // SAFETY: the caller's word.
        unsafe { pointer::put(receipt, given, "the place of the receipt") }
    })
}

/// Writes the answer to a question, unless it could not be read.
///
/// # Safety
///
/// The pointers are null or point at what their types say; `answer` at room for one.
unsafe fn answered(
    limiter: *const Limiter,
    key: *const Key,
    answer: *mut Answer,
    ask: impl FnOnce(&Limiter, &Checked<'_>) -> Answer,
) -> Result<(), Fault> {
    // SAFETY: the caller's word.
    let limiter = unsafe { pointer::borrow(limiter, "the limiter") }?;
    // SAFETY: the caller's word.
    let key = unsafe { Checked::read(key) }?;
    pointer::room(answer, "the place of the answer")?;
    // SAFETY: the caller's word.
    unsafe { pointer::put(answer, ask(limiter, &key), "the place of the answer") }
}

//! Functions that change what a key has left without asking.
//!
//! Not here: asking (`ask`).

#![allow(unsafe_code, reason = "C calls these by name, with pointers")]

use crate::code::{Code, Fault, guard};
use crate::key::{Checked, Key};
use crate::limiter::{Limiter, Receipt};
use crate::pointer;

/// Charges the difference between what a request really cost and what it was charged. A receipt can be settled once, at
/// the limiter that gave it; it still has to be freed.
///
/// # Safety
///
/// The pointers are null or point at what their types say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_settle(
    limiter: *const Limiter,
    receipt: *const Receipt,
    actual: u64,
) -> Code {
    guard(|| {
        // SAFETY: the caller's word.
        let limiter = unsafe { pointer::borrow(limiter, "the limiter") }?;
        // SAFETY: the caller's word.
        let receipt = unsafe { pointer::borrow(receipt, "the receipt") }?;
        limiter.settle(receipt, actual)
    })
}

/// Frees a receipt; null is nothing. What it was charged stays charged.
///
/// # Safety
///
/// `receipt` is null, or came from `tollgate_reserve` and is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_receipt_free(receipt: *mut Receipt) {
    guard(|| {
        // SAFETY: the caller's word; `tollgate_reserve` gives boxes away.
        unsafe { pointer::free(receipt) };
        Ok(())
    });
}

/// Charges without asking, for what has happened already; the key may go into debt. A limiter by leases cannot.
///
/// # Safety
///
/// The pointers are null or point at what their types say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_charge(
    limiter: *const Limiter,
    key: *const Key,
    cost: u64,
) -> Code {
    // SAFETY: the caller's word.
    guard(|| unsafe { with(limiter, key, |limiter, key| limiter.charge(key, cost)) })
}

/// Gives tokens back. A limiter by leases cannot.
///
/// # Safety
///
/// The pointers are null or point at what their types say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_refund(
    limiter: *const Limiter,
    key: *const Key,
    cost: u64,
) -> Code {
    // SAFETY: the caller's word.
    guard(|| unsafe { with(limiter, key, |limiter, key| limiter.refund(key, cost)) })
}

/// Forgets everything about a key. A limiter by leases cannot.
///
/// # Safety
///
/// The pointers are null or point at what their types say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_reset(limiter: *const Limiter, key: *const Key) -> Code {
    // SAFETY: the caller's word.
    guard(|| unsafe { with(limiter, key, Limiter::reset) })
}

/// Gives back what a limiter by leases holds of a key, so that others can have it. Elsewhere it does nothing.
///
/// # Safety
///
/// The pointers are null or point at what their types say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_release(limiter: *const Limiter, key: *const Key) -> Code {
    let release = |limiter: &Limiter, key: &Checked<'_>| {
        limiter.release(key);
        Ok(())
    };
    // SAFETY: the caller's word.
    guard(|| unsafe { with(limiter, key, release) })
}

/// Does something with a limiter and a key.
///
/// # Safety
///
/// The pointers are null or point at what their types say.
unsafe fn with(
    limiter: *const Limiter,
    key: *const Key,
    work: impl FnOnce(&Limiter, &Checked<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    // SAFETY: the caller's word.
    let limiter = unsafe { pointer::borrow(limiter, "the limiter") }?;
    // SAFETY: the caller's word.
    let key = unsafe { Checked::read(key) }?;
    work(limiter, &key)
}

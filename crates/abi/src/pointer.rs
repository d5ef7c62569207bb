//! Where pointers from C become references, slices and boxes, and the other way round.
//!
//! Nothing else in this crate follows a pointer. Null is checked here; that a pointer which is not null points at what
//! the header says is the caller's word, given in the header and under `Safety`.

#![allow(
    unsafe_code,
    reason = "following pointers of C is what this file is for"
)]

use std::ffi::{CStr, c_char};

use crate::code::{Code, Fault};

/// What a pointer points at.
///
/// # Safety
///
/// The pointer is null, or points at a `T` that stays as it is for `'a`.
pub(crate) unsafe fn borrow<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Fault> {
    // SAFETY: by the caller's word it is null, which is checked, or points at a `T` for `'a`.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// A copy of what a pointer points at, or the default where it is null.
///
/// # Safety
///
/// The pointer is null, or points at a `T`.
pub(crate) unsafe fn copied<T: Copy + Default>(pointer: *const T) -> T {
    // SAFETY: by the caller's word it is null, which is checked, or points at a `T`.
    unsafe { pointer.as_ref() }.copied().unwrap_or_default()
}

/// Writes where a pointer points; what was there is not dropped.
///
/// # Safety
///
/// The pointer is null, or points at room for a `T` that nobody else uses meanwhile.
pub(crate) unsafe fn put<T>(pointer: *mut T, value: T, what: &str) -> Result<(), Fault> {
    if pointer.is_null() {
        return Err(null(what));
    }
    // SAFETY: it is not null, and by the caller's word there is room for a `T`, aligned.
    unsafe { pointer.write(value) };
    Ok(())
}

/// Refuses null before anything is charged for an answer that nobody could read.
pub(crate) fn room<T>(pointer: *const T, what: &str) -> Result<(), Fault> {
    if pointer.is_null() {
        return Err(null(what));
    }
    Ok(())
}

/// The items of a list; none where it is empty, whatever the pointer is.
///
/// # Safety
///
/// Where `count` is within `most`, the pointer is null or points at that many `T`s that stay as they are for `'a`.
pub(crate) unsafe fn items<'a, T>(
    pointer: *const T,
    count: usize,
    most: usize,
    what: &str,
) -> Result<&'a [T], Fault> {
    if count > most {
        let text = format!("{what}: {count} is more than {most}, the most there may be");
        return Err(Fault::new(Code::TooLong, text));
    }
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(null(what));
    }
    // SAFETY: it is not null and by the caller's word points at `count` values for `'a`. All bounds of this crate times
    // the sizes of its structs are far below `isize::MAX`.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// The bytes up to a NUL.
///
/// # Safety
///
/// The pointer is null, or points at bytes with a NUL behind them that stay as they are for `'a`.
pub(crate) unsafe fn terminated<'a>(
    pointer: *const c_char,
    most: usize,
    what: &str,
) -> Result<&'a [u8], Fault> {
    if pointer.is_null() {
        return Err(null(what));
    }
    // SAFETY: it is not null, and by the caller's word there is a NUL behind what it points at.
    let bytes = unsafe { CStr::from_ptr(pointer) }.to_bytes();
    if bytes.len() > most {
        let text = format!("{what}: {} bytes are more than {most}", bytes.len());
        return Err(Fault::new(Code::TooLong, text));
    }
    Ok(bytes)
}

/// Frees what a box was given away as; null is nothing.
///
/// # Safety
///
/// The pointer is null, or came from `Box::into_raw` and is used no more.
pub(crate) unsafe fn free<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: it is not null, and by the caller's word came from a box and is used by nobody else any more.
        drop(unsafe { Box::from_raw(pointer) });
    }
}

/// A text that must be UTF-8.
pub(crate) fn utf8<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str, Fault> {
    std::str::from_utf8(bytes).map_err(|error| {
        let text = format!("{what} is not UTF-8 from byte {} on", error.valid_up_to());
        Fault::new(Code::Utf8, text)
    })
}

fn null(what: &str) -> Fault {
    let text = format!("{what} is a null pointer; see tollgate.h for what it has to point at");
    Fault::new(Code::Null, text)
}

//! Functions that make limiters and end them.
//!
//! Not here: asking them (`ask`, `spend`).

#![allow(unsafe_code, reason = "C calls these by name, with pointers")]

use std::ffi::c_char;

use crate::code::{Code, Fault, guard};
use crate::limiter::{Limiter, Options};
use crate::pointer;

/// The version of this interface: the major one times 65536, plus the minor one. A program that was compiled against
/// one major version works with any later minor one.
pub const TOLLGATE_ABI_VERSION: u32 = 0x0001_0000;

/// The most bytes of a contract.
pub const TOLLGATE_CONTRACT_BYTES_MAX: usize = 67_108_864;

/// The version that the library has. Compare its upper half with that of `TOLLGATE_ABI_VERSION`.
#[unsafe(no_mangle)]
pub extern "C" fn tollgate_abi_version() -> u32 {
    TOLLGATE_ABI_VERSION
}

/// Makes a limiter by the text of a contract file, `length` bytes of UTF-8. `options` may be null. `*limiter` is null
/// where this fails.
///
/// # Safety
///
/// `text` points at `length` bytes, `options` is null or points at options, `limiter` points at room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_open(
    text: *const c_char,
    length: usize,
    options: *const Options,
    limiter: *mut *mut Limiter,
) -> Code {
    guard(|| {
        // SAFETY: the caller's word.
        let options = unsafe { read(options, limiter) }?;
        let (text, most) = (text.cast::<u8>(), TOLLGATE_CONTRACT_BYTES_MAX);
        // SAFETY: the caller's word; `c_char` and `u8` are one byte each.
        let text = unsafe { pointer::items(text, length, most, "the contract") }?;
        let opened = Limiter::from_text(pointer::utf8(text, "the contract")?, options)?;
        // SAFETY: the caller's word.
        unsafe { give(opened, limiter) }
    })
}

/// Makes a limiter by a contract file. `path` is UTF-8 with a NUL; `options` may be null. `*limiter` is null where this
/// fails.
///
/// # Safety
///
/// `path` points at a text with a NUL, `options` is null or points at options, `limiter` points at room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_open_file(
    path: *const c_char,
    options: *const Options,
    limiter: *mut *mut Limiter,
) -> Code {
    guard(|| {
        // SAFETY: the caller's word.
        let options = unsafe { read(options, limiter) }?;
        // SAFETY: the caller's word.
        let path = unsafe { pointer::terminated(path, PATH_BYTES_MAX, "the path") }?;
        let path = pointer::utf8(path, "the path")?;
        let text = std::fs::read_to_string(path).map_err(|error| {
            let text = format!("cannot read the contract file `{path}`: {error}");
            Fault::new(Code::File, text)
        })?;
        let opened = Limiter::from_text(&text, options)?;
        // SAFETY: the caller's word.
        unsafe { give(opened, limiter) }
    })
}

/// Ends a limiter; null is nothing. No other call may use it meanwhile or afterwards. Receipts of it can still be
/// freed.
///
/// # Safety
///
/// `limiter` is null, or came from a function that makes limiters and is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_close(limiter: *mut Limiter) {
    guard(|| {
        // SAFETY: the caller's word; whatever makes limiters gives boxes away.
        unsafe { pointer::free(limiter) };
        Ok(())
    });
}

/// The options, with no limiter given yet.
///
/// # Safety
///
/// As for the functions that make limiters.
unsafe fn read(options: *const Options, limiter: *mut *mut Limiter) -> Result<Options, Fault> {
    // SAFETY: the caller's word.
    unsafe { pointer::put(limiter, std::ptr::null_mut(), "the place of the limiter") }?;
    // SAFETY: the caller's word.
    Ok(unsafe { pointer::copied(options) })
}

/// Gives a limiter away.
///
/// # Safety
///
/// As for the functions that make limiters.
pub(crate) unsafe fn give(opened: Limiter, limiter: *mut *mut Limiter) -> Result<(), Fault> {
    let opened = Box::into_raw(Box::new(opened));
    // SAFETY: the caller's word.
    unsafe { pointer::put(limiter, opened, "the place of the limiter") }
}

/// The most bytes of a path.
const PATH_BYTES_MAX: usize = 65_536;

//! Keys as C brings them.
//!
//! Not here: what a contract makes of a key.

use std::ffi::c_char;

use smallvec::SmallVec;

use crate::code::{Code, Fault};
use crate::pointer;

/// The most entries of a key.
pub const TOLLGATE_ENTRIES_MAX: usize = 64;

/// The most bytes of a key: all names and values together.
pub const TOLLGATE_KEY_BYTES_MAX: usize = 65536;

/// The length of a text that ends with a NUL byte.
///
/// cbindgen:ignore
pub const TOLLGATE_NUL_TERMINATED: usize = usize::MAX;

/// Bytes of the caller: `length` of them, or up to a NUL where `length` is `TOLLGATE_NUL_TERMINATED`. The library only
/// reads them, and only during the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// The first byte.
    pub data: *const c_char,
    /// How many.
    pub length: usize,
}

impl Text {
    /// The text, at most so many bytes; `None` where it is null.
    ///
    /// # Safety
    ///
    /// The text points at what the header says, which stays as it is for `'a`.
    #[allow(unsafe_code, reason = "hands pointers of the caller on")]
    pub(crate) unsafe fn optional<'a>(
        &self,
        most: usize,
        what: &str,
    ) -> Result<Option<&'a str>, Fault> {
        if self.data.is_null() {
            return Ok(None);
        }
        let mut room = most;
        // SAFETY: the caller's word.
        let bytes = unsafe { bytes(self, &mut room, what) }?;
        pointer::utf8(bytes, what).map(Some)
    }
}

/// One entry of a key: a name such as `user` and a value such as `42`, both UTF-8. An entry whose `name.data` is null
/// is a bare value, any bytes at all; it is then the only entry, and stands for the one that a contract counts by.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KeyEntry {
    /// What the entry is called.
    pub name: Text,
    /// Whom it names.
    pub value: Text,
}

/// Who or what a request is counted for: entries in order, at most `TOLLGATE_ENTRIES_MAX`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The first entry; may be null where there are none.
    pub entries: *const KeyEntry,
    /// How many.
    pub count: usize,
}

/// A key whose pointers were followed and checked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Checked<'a> {
    Bare(&'a [u8]),
    Entries(SmallVec<[(&'a str, &'a str); 4]>),
}

impl Checked<'_> {
    pub(crate) fn as_key(&self) -> tollgate_client::Key<'_> {
        match self {
            Self::Bare(bytes) => tollgate_client::Key::Text(bytes),
            Self::Entries(entries) => tollgate_client::Key::Entries(entries),
        }
    }

    /// The key behind a pointer.
    ///
    /// # Safety
    ///
    /// The pointer is null or points at a key as the header says, which stays as it is for `'a`.
    #[allow(unsafe_code, reason = "hands pointers of the caller on")]
    pub(crate) unsafe fn read(key: *const Key) -> Result<Self, Fault> {
        // SAFETY: the caller's word.
        let key = unsafe { pointer::borrow(key, "the key") }?;
        let most = TOLLGATE_ENTRIES_MAX;
        // SAFETY: the caller's word for what the key points at.
        let entries = unsafe { pointer::items(key.entries, key.count, most, "a key's entries") }?;
        let mut room = TOLLGATE_KEY_BYTES_MAX;
        if let [entry] = entries
            && entry.name.data.is_null()
        {
            // SAFETY: the caller's word for what the entry points at.
            return Ok(Self::Bare(unsafe {
                bytes(&entry.value, &mut room, "a key's value")
            }?));
        }
        let mut checked = SmallVec::new();
        for entry in entries {
            if entry.name.data.is_null() {
                let text = "a bare value is the only entry of its key; give every entry a name";
                return Err(Fault::new(Code::BadKey, text));
            }
            // SAFETY: the caller's word for what the entry points at.
            let name = unsafe { bytes(&entry.name, &mut room, "a key's name") }?;
            // SAFETY: the same.
            let value = unsafe { bytes(&entry.value, &mut room, "a key's value") }?;
            checked.push((
                pointer::utf8(name, "a key's name")?,
                pointer::utf8(value, "a key's value")?,
            ));
        }
        Ok(Self::Entries(checked))
    }
}

/// The bytes of a text, taken out of the room there is for all texts of a key.
///
/// # Safety
///
/// The text points at what the header says, which stays as it is for `'a`.
#[allow(unsafe_code, reason = "hands pointers of the caller on")]
unsafe fn bytes<'a>(text: &Text, room: &mut usize, what: &str) -> Result<&'a [u8], Fault> {
    let bytes = if text.length == TOLLGATE_NUL_TERMINATED {
        // SAFETY: the caller's word, for a text with a NUL.
        unsafe { pointer::terminated(text.data, *room, what) }?
    } else {
        let data = text.data.cast::<u8>();
        // SAFETY: the caller's word, for a text with a length; `c_char` and `u8` are one byte each.
        unsafe { pointer::items(data, text.length, *room, what) }?
    };
    *room = room.saturating_sub(bytes.len());
    Ok(bytes)
}

//! `libtollgate`: the library for every language that can call C.
//!
//! What callers read is the header, `include/tollgate.h`, which is made from the comments here (`cargo xtask header`).
//! The rules: no panic crosses, every pointer is checked for null, every length for its bound and every text for UTF-8
//! before it is used, and each failure is a [`Code`] with a sentence of what to do.
//!
//! Only `pointer` follows pointers; the functions that C calls (`open`, `connect`, `ask`, `spend`) hand theirs to it
//! and do the rest in safe Rust. Not here: deciding, clocks, threads; all of it is `tollgate_client`'s.

mod answer;
mod ask;
mod code;
mod connect;
mod key;
mod limiter;
mod open;
mod pointer;
mod spend;

pub use answer::{Answer, Path, TOLLGATE_NAME_BYTES, Verdict};
pub use ask::{
    tollgate_check, tollgate_check_text, tollgate_peek, tollgate_reserve, tollgate_try_check,
};
pub use code::{Code, tollgate_last_error};
pub use connect::{ClientOptions, TOLLGATE_NODES_MAX, tollgate_connect};
pub use key::{
    Key, KeyEntry, TOLLGATE_ENTRIES_MAX, TOLLGATE_KEY_BYTES_MAX, TOLLGATE_NUL_TERMINATED, Text,
};
pub use limiter::{Limiter, Options, Receipt};
pub use open::{
    TOLLGATE_ABI_VERSION, TOLLGATE_CONTRACT_BYTES_MAX, tollgate_abi_version, tollgate_close,
    tollgate_open, tollgate_open_file,
};
pub use spend::{
    tollgate_charge, tollgate_receipt_free, tollgate_refund, tollgate_release, tollgate_reset,
    tollgate_settle,
};

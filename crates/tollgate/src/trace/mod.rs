//! Recorded traffic, read as a stream: JSON lines, a JSON array, CSV, and access logs.
//!
//! A [`TraceReader`] shows the trace block by block; the records of a block borrow their texts from it, so nothing is
//! allocated for a record and memory does not depend on the trace's length. Decompression is not here: a pipe does it.
//!
//! ```
//! use tollgate::trace::{TraceReader, TraceError};
//!
//! # fn main() -> Result<(), TraceError> {
//! let trace = "time,user,cost\n1700000000000,ana,2\n1700000000250,ben,1\n";
//! let mut reader = TraceReader::new(Box::new(trace.as_bytes()), None);
//! let mut cost = 0;
//! while let Some(mut block) = reader.block()? {
//!     while let Some(record) = block.next() {
//!         cost += record?.cost;
//!     }
//! }
//! assert_eq!(cost, 3);
//! # Ok(())
//! # }
//! ```

mod array;
mod block;
mod clf;
mod csv;
mod detect;
mod error;
mod field;
mod json;
mod jsonl;
mod reader;
mod source;
mod spare;
mod step;
#[cfg(test)]
mod tests;

pub use block::Block;
pub use detect::TraceFormat;
pub use error::{Class, TraceError};
pub use field::{COST_MAX, TIME_MS_MAX};
pub use reader::TraceReader;
pub use step::RECORD_BYTES_MAX;

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRecord<'a> {
    /// The line it starts on, from 1.
    pub line: u64,
    /// When it was made, in unix milliseconds.
    pub time_ms: u64,
    /// The tokens it asks for.
    pub cost: u64,
    /// Its descriptor entries, name and value, in the order of the trace; no name is there twice.
    pub entries: &'a [(&'a str, &'a str)],
}

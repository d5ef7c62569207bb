//! The buffers of a thread, shared by its connections.
//!
//! A connection reads, answers and writes without leaving its thread in between, so that one pair of buffers serves all
//! of them, and stays in the processor's cache. What must outlast the moment moves to the connection.

use std::cell::RefCell;

/// A thread's buffers.
pub(super) struct Scratch {
    /// Where bytes are read to.
    pub(super) input: Box<[u8]>,
    /// Where replies are written.
    pub(super) output: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new());
}

impl Scratch {
    fn new() -> Self {
        Self {
            input: vec![0; INPUT_BYTES].into_boxed_slice(),
            output: Vec::new(),
        }
    }

    /// Lends the buffers of this thread.
    pub(super) fn lend<T>(work: impl FnOnce(&mut Self) -> T) -> T {
        SCRATCH.with(|scratch| match scratch.try_borrow_mut() {
            Ok(mut scratch) => {
                let done = work(&mut scratch);
                scratch.output.clear();
                scratch.output.shrink_to(OUTPUT_BYTES_KEPT);
                done
            }
            // A stream that serves another connection while it is read from; none of ours does.
            Err(_) => work(&mut Self::new()),
        })
    }
}

/// The most that is read at once.
const INPUT_BYTES: usize = 64 << 10;
/// Room for replies that a thread keeps.
const OUTPUT_BYTES_KEPT: usize = 256 << 10;

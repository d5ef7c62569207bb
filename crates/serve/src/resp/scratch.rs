//! The buffers of a thread, shared by its connections.
//!
//! A connection reads, answers and writes without yielding in between, so one pair of buffers serves all of them, and
//! stays in the processor's cache. What must last longer moves to the connection.

use std::cell::RefCell;

pub(super) struct Scratch {
    pub(super) input: Box<[u8]>,
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
            // Only if a stream polled another connection while it is read; none of ours does.
            Err(_) => work(&mut Self::new()),
        })
    }
}

/// The most that is read at once.
const INPUT_BYTES: usize = 64 << 10;
/// Capacity for replies that a thread keeps.
const OUTPUT_BYTES_KEPT: usize = 256 << 10;

//! Throttle commands of one read, collected so that they can be decided together. Replies keep the order of the
//! commands.

use smallvec::SmallVec;
use tollgate_wire::resp::{Throttle, Version, Writer};

use super::refusal::Refusal;
use crate::engine::Turn;
use crate::throttle::{BATCH_MAX, throttle_many};

#[derive(Default)]
pub(super) struct ThrottleQueue<'b> {
    asks: SmallVec<[Throttle<'b>; BATCH_MAX]>,
}

impl<'b> ThrottleQueue<'b> {
    /// Takes a command whose key lies in `bytes`; returns whether it did.
    ///
    /// The parser reuses its own memory for the next command, so a command can stay only if its key is in the input. A
    /// key with escapes is not.
    #[inline]
    pub(super) fn takes(&mut self, ask: &Throttle<'_>, bytes: &'b [u8]) -> bool {
        let start = ask.key.as_ptr().addr().wrapping_sub(bytes.as_ptr().addr());
        let key = bytes
            .get(start..)
            .and_then(|rest| rest.get(..ask.key.len()));
        let Some(key) = key else {
            return false;
        };
        let Throttle {
            dialect,
            max_burst,
            count,
            period_secs,
            cost,
            ..
        } = *ask;
        self.asks.push(Throttle {
            dialect,
            key,
            max_burst,
            count,
            period_secs,
            cost,
        });
        true
    }

    pub(super) fn is_full(&self) -> bool {
        self.asks.len() >= BATCH_MAX
    }

    pub(super) fn answer(&mut self, turn: &Turn<'_>, version: Version, replies: &mut Vec<u8>) {
        if self.asks.is_empty() {
            return;
        }
        let mut writer = Writer::new(replies, version);
        throttle_many(turn, &self.asks, |ask, reply| match reply {
            Ok(reply) => reply.write(ask, &mut writer),
            Err(error) => writer.error(&Refusal::Engine(error)),
        });
        self.asks.clear();
    }
}

//! An endless answer: lines as they come, until the client leaves, the server stops, or a write times out.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::{Lean, READ_BYTES};
use crate::http::reply::{self, SendOptions};
use crate::http::tail::TailResponse;
use crate::shared::Stream;

impl<S: Stream> Lean<'_, S> {
    /// Sends the lines; the connection ends with them.
    pub(super) async fn follow(&mut self, mut watch: TailResponse, manner: SendOptions) {
        reply::write_open(&self.said.reply, manner, &mut self.said.output);
        if manner.is_head {
            let _ = self.flush().await;
            return;
        }
        let greeting = watch.greeting(self.shared);
        self.said.output.extend_from_slice(greeting.as_bytes());
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut tick = 0_u32;
        while self.flush().await.is_ok() {
            self.input.clear();
            self.input.reserve(READ_BYTES);
            tokio::select! {
                read = self.stream.read_buf(&mut self.input) => {
                    // Any input ends it: no further request is possible.
                    if !matches!(read, Ok(1..)) {
                        return;
                    }
                }
                line = watch.next() => {
                    let Some(line) = line else { return };
                    watch.lines(&line, &mut self.said.output);
                }
                () = self.stop.leaving() => {
                    return self.tell(&watch.beat(self.shared, true)).await;
                }
                _ = ticks.tick() => {
                    tick += 1;
                    let beat = watch.beat(self.shared, tick.is_multiple_of(TICKS));
                    if let Ok(Some(line)) = &beat {
                        self.said.output.extend_from_slice(line.as_bytes());
                    }
                    let is_old = self.old_at.is_some_and(|old_at| old_at <= Instant::now());
                    if beat.is_err() || is_old {
                        return self.tell(&beat).await;
                    }
                }
            }
        }
    }

    async fn tell(&mut self, last: &Result<Option<String>, String>) {
        if let Ok(Some(line)) | Err(line) = last {
            self.said.output.extend_from_slice(line.as_bytes());
        }
        // A client that is gone needs no last line.
        let _ = self.flush().await;
    }
}

/// How often the token is checked, and dropped lines are counted.
const TICK: Duration = Duration::from_secs(1);
/// Ticks between heartbeats, which show both sides that the other is alive.
const TICKS: u32 = 5;

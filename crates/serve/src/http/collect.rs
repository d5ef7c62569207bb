//! Reads bodies that arrive in parts, within limits of size, time and memory.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;
use tokio::time::timeout;

use crate::settings::RequestLimits;

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Uncollected {
    TooLarge,
    TooSlow,
    /// All bodies together take as much memory as they may.
    TooMuch,
    /// It ended early, or was malformed.
    Broken,
}

/// Reads a whole body; `told` is its length from the head, if known.
pub(super) async fn collect<B>(
    told: Option<usize>,
    body: B,
    limits: &RequestLimits,
) -> Result<Bytes, Uncollected>
where
    B: Body<Data = Bytes>,
{
    if told.is_some_and(|told| told > limits.body_bytes_max) {
        return Err(Uncollected::TooLarge);
    }
    let read = read(body, limits.body_bytes_max);
    timeout(limits.slow, read)
        .await
        .unwrap_or(Err(Uncollected::TooSlow))
}

async fn read<B: Body<Data = Bytes>>(body: B, max: usize) -> Result<Bytes, Uncollected> {
    let mut body = std::pin::pin!(body);
    let mut held = Held::default();
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Uncollected::Broken)?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if first.len() + all.len() + data.len() > max {
            return Err(Uncollected::TooLarge);
        }
        held.grow(data.len())?;
        if first.is_empty() && all.is_empty() {
            // Most bodies arrive whole, and need no copy.
            first = data;
            continue;
        }
        all.extend_from_slice(&std::mem::take(&mut first));
        all.extend_from_slice(&data);
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}

/// Bytes of one unfinished body, counted among those of all.
#[derive(Default)]
struct Held(usize);

impl Held {
    fn grow(&mut self, bytes: usize) -> Result<(), Uncollected> {
        self.0 += bytes;
        let before = HELD.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > HELD_MAX {
            return Err(Uncollected::TooMuch);
        }
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Bytes of all unfinished bodies of the process.
static HELD: AtomicUsize = AtomicUsize::new(0);
/// Limit on [`HELD`].
const HELD_MAX: usize = 128 << 20;

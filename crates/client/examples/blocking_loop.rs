//! `cargo run -p tollgate-client --example blocking_loop`
//!
//! A plain thread that keeps to a pace: twenty calls a second, the first five at once.

use std::error::Error;
use std::time::{Duration, Instant};

use tollgate_client::{Limiter, Period, PolicyConfig, WaitError, WaitLimits};

fn main() -> Result<(), Box<dyn Error>> {
    let mut pace = PolicyConfig::token_bucket(20, Period::SECOND);
    pace.burst = Some(5);
    let limiter = Limiter::new([pace])?;

    let start = Instant::now();
    for call in 1..=15 {
        let answer = limiter.until_ready_blocking("partner-api", 1)?;
        let at = start.elapsed().as_millis();
        println!("call {call:2} at {at:4} ms, {} left", answer.remaining);
    }

    // Five more would take a quarter of a second; who cannot wait that long hears so at once.
    let patience = WaitLimits {
        wait_max: Duration::from_millis(50),
        ..WaitLimits::default()
    };
    match limiter.until_ready_blocking_with(patience, "partner-api", 5) {
        Err(WaitError::TooLong { retry_after }) => {
            println!("five more: not before {retry_after:?}");
        }
        other => println!("five more: {other:?}"),
    }
    Ok(())
}

//! `cargo run -p tollgate-client --example settle`
//!
//! Tokens of a language model: reserve an estimate, then settle at what the answer really took.

use std::error::Error;
use std::time::Duration;

use tollgate_client::{Limiter, Period, PolicyConfig};

/// What a model might take for a prompt: nobody knows before it is done.
const ACTUAL: [u64; 4] = [320, 2_900, 750, 4_100];

fn main() -> Result<(), Box<dyn Error>> {
    let mut tokens = PolicyConfig::token_bucket(10_000, Period::HOUR);
    // An answer that takes more than was reserved may put the team into debt, but not without end.
    tokens.max_debt = Some(5_000);
    let limiter = Limiter::new([tokens])?;

    for (prompt, actual) in (1..).zip(ACTUAL) {
        let estimate = 3_000;
        match limiter.reserve("team-7", estimate, Duration::from_mins(2)) {
            Ok(reservation) => {
                let held = reservation.answer().remaining;
                reservation.commit(actual);
                let left = limiter.check("team-7", 0).remaining;
                println!(
                    "prompt {prompt}: held {estimate} ({held} left), took {actual} ({left} left)"
                );
            }
            Err(refusal) => {
                let after = refusal.verdict.retry_after().map(Duration::from);
                println!("prompt {prompt}: refused, try again in {after:?}");
            }
        }
    }

    // A call that failed costs nothing.
    if let Ok(reservation) = limiter.reserve("team-7", 500, Duration::from_mins(2)) {
        reservation.cancel();
    }
    println!("{} left in the end", limiter.check("team-7", 0).remaining);
    Ok(())
}

//! `cargo run -p tollgate-client --example worker_pool`
//!
//! Eight tasks share one limiter: each host is asked at most ten times a second, whoever asks.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_client::{Limiter, OnLimit, Period, PolicyConfig};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut policy = PolicyConfig::token_bucket(10, Period::SECOND);
    policy.burst = Some(1);
    // Turns are handed out in the order of asking, and nobody asks twice.
    policy.on_limit = OnLimit::Delay { max_wait_ns: None };
    let limiter = Arc::new(Limiter::new([policy])?);

    let start = Instant::now();
    let workers = (1..=8).map(|worker| {
        let limiter = Arc::clone(&limiter);
        tokio::spawn(async move {
            let host = if worker % 2 == 0 {
                "even.example"
            } else {
                "odd.example"
            };
            for _ in 0..3 {
                let answer = limiter.until_ready(host, 1).await?;
                let (at, wait) = (start.elapsed(), Duration::from(answer.verdict.wait()));
                println!("{at:>9.1?}: worker {worker} asks {host} after a wait of {wait:.1?}");
            }
            Ok::<_, tollgate_client::WaitError>(())
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await??;
    }
    println!("24 calls to 2 hosts in {} ms", start.elapsed().as_millis());
    Ok(())
}

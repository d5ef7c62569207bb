//! What reading a clock costs on this machine: the part of a decision no limiter can avoid.

use std::hint::black_box;
use std::time::{Instant, SystemTime};

use anyhow::Result;

use crate::measure::{BenchLane, MeasurePlan, Work, measure};
use crate::report::ClockPrice;
use crate::subject::Limit;

/// Measures the clocks that the subjects use.
pub(crate) fn prices(plan: MeasurePlan) -> Result<Vec<ClockPrice>> {
    let quanta_raw = quanta::Clock::new();
    let quanta_now = quanta::Clock::new();
    let mut lanes = [
        lane("empty loop", || ()),
        lane("std::time::Instant::now", Instant::now),
        lane("std::time::SystemTime::now", SystemTime::now),
        lane("quanta::Clock::raw", move || quanta_raw.raw()),
        lane("quanta::Clock::now", move || quanta_now.now()),
    ];
    let costs = measure(&mut lanes, plan)?;
    Ok(costs
        .iter()
        .map(|cost| ClockPrice {
            name: cost.name,
            cpu_ns: cost.cpu_ns,
        })
        .collect())
}

fn lane<T>(name: &'static str, read: impl Fn() -> T + Send + 'static) -> BenchLane {
    let work: Work = Box::new(move |count| {
        for _ in 0..count {
            black_box(read());
        }
        count
    });
    BenchLane {
        name,
        work,
        limit: Limit::Open,
    }
}

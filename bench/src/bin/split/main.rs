//! What a split bucket costs with real brokers: k Mosquittos, a gateway before each, one topic, one bucket.
//!
//! `split --binary target/release/tollgate [--seconds 30] [--rounds 2] [--publishers 200] [--each 10] [--brokers 4]`.
//! For every k, in turn and repeated: the topic with its bucket split without lending, and with lending gateways.
//! Prints the percentiles of the whole way next to the theoretical cost of the split, and replays everything
//! admitted through the one bucket. With `--shift 40` two fifths of the messages move to the first broker, under all
//! that can rebalance. Not here: planning.

#[path = "../admissions/judge.rs"]
#[allow(dead_code, reason = "a program of its own elsewhere")]
mod judge;
mod site;

use anyhow::{Context, Result, ensure};
use clap::Parser;

use site::{BrokerSite, SiteLatencies, Trial};

/// Measures what a cut bucket costs.
#[derive(Debug, Parser)]
struct Options {
    /// The program to measure
    #[arg(long, default_value = "target/release/tollgate")]
    binary: std::path::PathBuf,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 30)]
    seconds: u32,
    /// How often each is measured; medians are shown
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Publishers
    #[arg(long, default_value_t = 200)]
    publishers: u32,
    /// Messages a second of each
    #[arg(long, default_value_t = 10)]
    each: u32,
    /// The most brokers
    #[arg(long, default_value_t = 4)]
    brokers: u16,
    /// The burst of the bucket
    #[arg(long, default_value_t = 25)]
    burst: u32,
    /// Publishers that publish at the same time
    #[arg(long, default_value_t = 1)]
    group: u32,
    /// Which publisher goes where: `spread` keeps those of a group apart, `blind` looks at no group
    #[arg(long, default_value = "spread")]
    assign: String,
    /// So many hundredths of the messages move to the first broker; measured is what comes after that
    #[arg(long, value_name = "PERCENT")]
    shift: Option<u32>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    ensure!(
        options.rounds > 0 && options.brokers > 0 && options.burst > 0,
        "counts must be above zero"
    );
    let rate = options.publishers * options.each;
    let limit = rate + rate.div_ceil(10);
    println!(
        "{} publishers x {}/s, limit {limit}/s, burst {}, {} s, median of {}",
        options.publishers, options.each, options.burst, options.seconds, options.rounds
    );
    match options.shift {
        Some(percent) => shift(&options, limit, percent),
        None => cut(&options, limit),
    }
}

/// The cost of the split, by the number of brokers.
fn cut(options: &Options, limit: u32) -> Result<()> {
    println!(
        "{:>2} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>6}",
        "k", "lend", "p50 ms", "p95 ms", "p99 ms", "theory", "waited %", "frames/m", "over"
    );
    let mut trials = Vec::new();
    for brokers in 1..=options.brokers {
        for lends in [false, true] {
            if brokers > 1 || !lends {
                trials.push(options.trial(brokers, limit, lends, "off"));
            }
        }
    }
    let all = options.in_turn(&trials, BrokerSite::measure)?;
    for (trial, found) in trials.iter().zip(&all) {
        println!(
            "{:>2} {:>8} {:>8.2} {:>8.2} {:>8.2} {:>8.2} {:>9.2} {:>9.3} {:>6}",
            trial.brokers,
            if trial.lends { "on" } else { "off" },
            of(found, |found| found.p50_ms),
            of(found, |found| found.p95_ms),
            of(found, |found| found.p99_ms),
            theory(trial.brokers, limit, options.burst),
            of(found, |found| found.waited_percent),
            of(found, |found| found.frames_per_message),
            over(found),
        );
    }
    Ok(())
}

/// What happens after traffic has moved to one gateway, by what rebalances.
fn shift(options: &Options, limit: u32, percent: u32) -> Result<()> {
    ensure!(
        options.brokers > 1 && percent < 100,
        "traffic moves between brokers"
    );
    println!(
        "{} brokers; the first gets {percent} % after an even start",
        options.brokers
    );
    println!(
        "{:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>9} {:>6}",
        "lend", "adapt", "p50 ms", "p95 ms", "p99 ms", "max ms", "frames/m", "over"
    );
    let mut trials = Vec::new();
    for lends in [false, true] {
        for adapt in ["off", "printed", "on"] {
            trials.push(Trial {
                wait_max: SHIFT_WAIT_MAX,
                ..options.trial(options.brokers, limit, lends, adapt)
            });
        }
    }
    let all = options.in_turn(&trials, |site, trial| site.measure_shift(trial, percent))?;
    for (trial, found) in trials.iter().zip(&all) {
        println!(
            "{:>8} {:>8} {:>8.2} {:>8.2} {:>9.2} {:>9.2} {:>9.3} {:>6}",
            if trial.lends { "on" } else { "off" },
            trial.adapt,
            of(found, |found| found.p50_ms),
            of(found, |found| found.p95_ms),
            of(found, |found| found.p99_ms),
            of(found, |found| found.max_ms),
            of(found, |found| found.frames_per_message),
            over(found),
        );
    }
    Ok(())
}

impl Options {
    fn trial(&self, brokers: u16, limit: u32, lends: bool, adapt: &'static str) -> Trial {
        Trial {
            binary: self.binary.clone(),
            brokers,
            lends,
            adapt,
            wait_max: 1,
            limit,
            burst: self.burst,
            publishers: self.publishers,
            each: self.each,
            group: self.group,
            assign: self.assign.clone(),
            seconds: self.seconds,
            seed: 0,
        }
    }

    /// Runs all trials in turn, repeatedly; returns the results of each.
    fn in_turn(
        &self,
        trials: &[Trial],
        measure: impl Fn(&BrokerSite, &Trial) -> Result<SiteLatencies>,
    ) -> Result<Vec<Vec<SiteLatencies>>> {
        let mut all: Vec<Vec<SiteLatencies>> = vec![Vec::new(); trials.len()];
        for round in 0..self.rounds {
            for (trial, found) in trials.iter().zip(&mut all) {
                let trial = Trial {
                    seed: round as u64 + 1,
                    ..trial.clone()
                };
                let site = BrokerSite::start(&trial)?;
                found.push(measure(&site, &trial).context("measuring")?);
            }
        }
        Ok(all)
    }
}

fn of(found: &[SiteLatencies], pick: fn(&SiteLatencies) -> f64) -> f64 {
    median(found.iter().map(pick).collect())
}

fn over(found: &[SiteLatencies]) -> u64 {
    found.iter().map(|found| found.over).sum()
}

/// What random single messages at ten elevenths of the limit wait for tokens at the 99th percentile, in milliseconds:
/// they find 24.2 messages of unfinished work there, whatever the rate.
fn theory(brokers: u16, limit: u32, burst: u32) -> f64 {
    let (k, limit, burst) = (f64::from(brokers), f64::from(limit), f64::from(burst));
    (k * (25.2 - burst / k) / limit * 1e3).max(0.0)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Longer than any wait in a measurement.
const SHIFT_WAIT_MAX: u32 = 10;

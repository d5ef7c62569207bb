//! Draws small worlds and looks for findings; also replays the one that a test complained about.
//!
//! ```text
//! cargo run --release -p tollgate-lab --example worlds -- rough home 1 400
//! ```
//!
//! Weather (strict, calm, rough or all), design (or all), first seed, how many; a single world is described.

#![allow(clippy::disallowed_methods, reason = "a tool that reads its arguments")]

use tollgate_lab::{Contender, FaultLevel, check, random_world};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [weather, design, first, count] = args.as_slice() else {
        eprintln!("worlds WEATHER DESIGN FIRST COUNT");
        std::process::exit(2);
    };
    let first: u64 = first.parse().unwrap_or(1);
    let count: u64 = count.parse().unwrap_or(1);
    let weathers = FaultLevel::ALL
        .into_iter()
        .filter(|it| weather == "all" || it.name() == weather);
    let mut bad = 0_u64;
    for weather in weathers {
        for kind in Contender::DESIGNS
            .into_iter()
            .filter(|it| design == "all" || it.name() == design)
        {
            if count == 1 {
                println!("{:#?}", random_world(weather, first).0);
            }
            for seed in first..first.saturating_add(count) {
                bad += u64::from(look(weather, kind, seed));
            }
        }
    }
    println!("{bad} worlds with findings");
    std::process::exit(i32::from(bad > 0));
}

fn look(weather: FaultLevel, kind: Contender, seed: u64) -> bool {
    let (cluster, trace) = random_world(weather, seed);
    let found = match check(&cluster, kind, &trace, seed) {
        Ok(found) => found,
        Err(why) => {
            println!("{} {kind} {seed}: {why}", weather.name());
            return true;
        }
    };
    for finding in &found {
        println!("{} {kind} {seed}: {finding}", weather.name());
    }
    !found.is_empty()
}

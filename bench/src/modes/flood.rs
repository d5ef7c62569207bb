//! A flood of keys that no node knows, where counting may take little memory: whether new keys pass after it, whether
//! keys that were used up stay so, and how much memory the nodes have taken.
//!
//! Not here: what a key costs where there is room.

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use tollgate_load::{Arrivals, Distribution, LoadReport, Pace};

use super::cluster::ModeCluster;
use super::options::BenchMode;
use super::shape::Traffic;
use super::{check, number};
use crate::table::TextTable;

/// What a flood left behind.
#[derive(Debug, Serialize)]
pub(super) struct Flood {
    pub(super) mode: String,
    /// Keys that no node knew.
    keys: u64,
    /// Of keys that came five seconds later, those that passed.
    pub(super) new_pass_percent: f64,
    /// Of requests for keys that had nothing left before the flood, those that passed.
    used_up_pass_percent: f64,
    /// Of the node that takes most.
    resident_mib: f64,
}

impl Flood {
    /// Floods nodes that have just begun.
    pub(super) fn run(binary: &Path, mode: BenchMode, keys: u64) -> Result<Self> {
        let cluster = ModeCluster::start_with(binary, mode, Some(MEMORY))?;
        // A node that has just begun may have to wait for what a former start promised.
        thread::sleep(REST);
        ask(&cluster, "used", FEW, Pace::Closed, SLICE * 4)?;
        let mut come = 0;
        while come < keys {
            let (name, each) = (format!("flood{come}-"), 1_000_000);
            come += ask(&cluster, &name, each, Pace::Closed, SLICE)?
                .whole
                .total();
        }
        thread::sleep(REST);
        let once = Pace::Open {
            rate: number(FEW) / SLICE.as_secs_f64(),
            arrivals: Arrivals::Even,
        };
        let new = ask(&cluster, "new", FEW * 2, once, SLICE)?;
        let used = ask(&cluster, "used", FEW, once, SLICE)?;
        let part = |report: &LoadReport| {
            100.0 * number(report.whole.allowed) / number(report.whole.total()).max(1.0)
        };
        Ok(Self {
            mode: mode.name(),
            keys: come,
            new_pass_percent: part(&new),
            used_up_pass_percent: part(&used),
            resident_mib: cluster.taken()?.resident / f64::from(1 << 20),
        })
    }
}

/// Asks for one key after the other.
fn ask(
    cluster: &ModeCluster,
    name: &str,
    keys: u64,
    pace: Pace,
    duration: Duration,
) -> Result<LoadReport> {
    let traffic = Traffic {
        template: format!("slow={name}{{}}"),
        keys,
        distribution: Distribution::Sequence,
        pace,
        depth: if pace == Pace::Closed { 16 } else { 1 },
    };
    let report = traffic.run(&cluster.sockets, duration)?;
    check(&report)?;
    Ok(report)
}

/// All floods.
pub(super) fn table(floods: &[Flood]) -> TextTable {
    let head = ["mode", "keys", "new pass %", "used up pass %", "MiB"];
    let mut table = TextTable::new("floods: nodes with `memory.max: 8MiB`", &head);
    for flood in floods {
        table.push(vec![
            flood.mode.clone(),
            flood.keys.to_string(),
            format!("{:.1}", flood.new_pass_percent),
            format!("{:.1}", flood.used_up_pass_percent),
            format!("{:.0}", flood.resident_mib),
        ]);
    }
    table
}

const MEMORY: &str = "8MiB";
/// Keys that are used up before the flood, and half of those that come after it.
const FEW: u64 = 1_000;
const SLICE: Duration = Duration::from_secs(1);
const REST: Duration = Duration::from_secs(5);

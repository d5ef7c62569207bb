//! A divided rate on five real processes: twice as much asked as there is, moving from node to node, while nodes are killed,
//! cut off, stopped and restarted. What all of them wrote down that they admitted is replayed through one bucket.
//!
//! A node writes an admission down before it answers, with the time by which it decided, on a clock that all processes of a
//! machine share; so the log is whole whenever a process dies, and the order in it is the order of deciding. Beside the use
//! of the limit stands that of the same phases simulated. Not here: what the protocol may do (`crates/supply`).

mod load;
#[path = "../../../../../bench/src/bin/admissions/judge.rs"]
#[allow(unreachable_pub, reason = "a program of its own elsewhere")]
mod replay;
mod simulated;

use std::time::{Duration, Instant};

use tollgate::cluster::fleet::{Fleet, Plan};
use tollgate_fault::Process;
use tollgate_serve::supply::steady_now;

use load::Load;
use replay::{Bucket, Found, Log, judge};

pub(super) const NODES: u16 = 5;
const RATE: u64 = 10_000;
const BURST: u64 = 1_000;
const BUCKET: Bucket = Bucket {
    limit: RATE,
    per_ns: 1_000_000_000,
    burst: BURST,
};
const CONTRACTS: &str = "contracts: [{ id: api, policies: [{ name: all, limit: 10000, per: 1s, burst: 1000, coordination: supply }] }]";
const TWO: [u16; 2] = [0, 1];
const THREE: [u16; 3] = [2, 3, 4];

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Nothing,
    Kill(u16),
    Start(u16),
    Replace(u16),
    Cut,
    Heal,
    Pause(u16),
    Resume(u16),
    Roll,
}

type Phase = (&'static str, u64, Event);

const SHORT: &[Phase] = &[
    ("calm", 3, Event::Nothing),
    ("kill -9 n3", 3, Event::Kill(3)),
    ("n3 again", 3, Event::Start(3)),
    ("cut 0,1 | 2,3,4", 3, Event::Cut),
    ("healed", 3, Event::Heal),
];

const LONG: &[Phase] = &[
    ("calm", 10, Event::Nothing),
    ("kill -9 n3", 10, Event::Kill(3)),
    ("n3 again", 10, Event::Start(3)),
    ("cut 0,1 | 2,3,4", 10, Event::Cut),
    ("healed", 10, Event::Heal),
    ("n1 stands still", 5, Event::Pause(1)),
    ("n1 goes on", 5, Event::Resume(1)),
    ("n2 loses its disk", 10, Event::Replace(2)),
    ("rolling restart", 5, Event::Roll),
    ("calm again", 5, Event::Nothing),
];

#[test]
fn not_one_token_over_whatever_befalls_the_nodes() {
    let found = Proof::new(5).run(SHORT);
    assert_eq!(found.violations, 0, "{found:?}");
}

#[test]
#[ignore = "two minutes, and a machine that does nothing else"]
fn not_one_token_over_for_two_minutes_and_little_is_wasted() {
    let found = Proof::new(1).run(LONG);
    assert_eq!(found.violations, 0, "{found:?}");
    assert!(found.used(BUCKET) > 0.8, "{found:?}");
}

/// The cluster, and where it writes.
struct Proof {
    fleet: Fleet,
    folder: tempfile::TempDir,
    cost: u64,
}

impl Proof {
    fn new(cost: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let contracts = folder.path().join("contracts.yaml");
        std::fs::write(&contracts, CONTRACTS).unwrap();
        let logs = folder.path().join("admitted").display().to_string();
        let flags = ["--threads", "1", "--admission-log", &logs];
        let fleet = Fleet::start(Plan {
            binary: env!("CARGO_BIN_EXE_tollgate").into(),
            nodes: NODES,
            contracts,
            flags: flags.map(str::to_owned).to_vec(),
            faults: Some(7),
            spots: std::collections::BTreeMap::new(),
        });
        let proof = Self {
            fleet: fleet.unwrap(),
            folder,
            cost,
        };
        proof.wait_for_all();
        proof
    }

    /// Waits until everything there is may be used by somebody.
    fn wait_for_all(&self) {
        let begun = Instant::now();
        let mut usable = 0.0;
        while begun.elapsed() < Duration::from_mins(1) {
            let views = (0..NODES).filter_map(|node| self.fleet.supply(node).ok());
            usable = views.map(|view| view.policies[0].stands.usable).sum();
            // They are asked one after the other, while supply moves.
            if (usable - 10_000.0).abs() < 100.0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("only {usable} of 10,000 may be used");
    }

    fn run(mut self, phases: &'static [Phase]) -> Found {
        let load = Load::start(&self.fleet, 2 * RATE, self.cost);
        let mut begins = Vec::new();
        for (_, seconds, event) in phases {
            begins.push(steady_now().as_nanos());
            self.happen(*event, &load);
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(*seconds) {
                load.turn();
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        begins.push(steady_now().as_nanos());
        let offered = load.stop();
        self.wait_for_all();
        let log = self.log();
        let found = judge(BUCKET, &log);
        self.print(phases, &begins, &log);
        println!(
            "{} admissions of {} tokens, {offered} tokens offered, {} beyond the bucket (worst by {})",
            found.admissions, found.tokens, found.violations, found.worst
        );
        found
    }

    fn happen(&mut self, event: Event, load: &Load) {
        let start = |node, is_empty| Process::Start { node, is_empty };
        match event {
            Event::Nothing => {}
            Event::Kill(node) => self.suffer(Process::Kill(node)),
            Event::Start(node) => self.suffer(start(node, false)),
            Event::Pause(node) => self.suffer(Process::Pause(node)),
            Event::Resume(node) => self.suffer(Process::Resume(node)),
            Event::Replace(node) => {
                self.suffer(Process::Kill(node));
                self.suffer(start(node, true));
            }
            Event::Roll => {
                for node in 0..NODES {
                    self.suffer(Process::Stop(node));
                    load.follow(&self.fleet);
                    self.suffer(start(node, false));
                    load.follow(&self.fleet);
                    self.fleet.gather().unwrap();
                    load.turn();
                }
            }
            Event::Cut => self.fleet.mesh().unwrap().split(&TWO, &THREE),
            Event::Heal => self.fleet.mesh().unwrap().mend(),
        }
        load.follow(&self.fleet);
    }

    fn suffer(&mut self, process: Process) {
        self.fleet.suffer(process).unwrap();
    }

    fn log(&self) -> Log {
        let mut log = Log::default();
        let folder = self.folder.path().join("admitted");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            log.read(&path.display().to_string(), &text).unwrap();
        }
        log
    }

    fn print(&self, phases: &[Phase], begins: &[u64], log: &Log) {
        let spans: Vec<_> = begins.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let lengths: Vec<u64> = spans.iter().map(|(begin, end)| end - begin).collect();
        let events: Vec<Event> = phases.iter().map(|(_, _, event)| *event).collect();
        let simulated = simulated::run(&events, &lengths, self.cost);
        println!("use of the limit           live   simulated");
        for (((name, ..), span), simulated) in phases.iter().zip(&spans).zip(simulated) {
            let live = share(log.tokens(*span), span.1 - span.0);
            println!("{name:<22} {live:>6.2} %  {simulated:>6.2} %");
        }
    }
}

/// Tokens of what the limit allows in that time, in percent.
#[allow(clippy::cast_precision_loss)]
fn share(tokens: u64, nanos: u64) -> f64 {
    100.0 * tokens as f64 / (RATE as f64 * nanos as f64 / 1e9)
}

/// What part of what is asked goes to a node: most of it to one, which is another every second.
pub(super) fn part(node: u16, turn: u64) -> f64 {
    if u64::from(node) == turn % u64::from(NODES) {
        0.6
    } else {
        0.1
    }
}

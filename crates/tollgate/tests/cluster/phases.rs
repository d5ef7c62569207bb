//! Five nodes under load while one is killed, the network is cut and healed, one stands still, one loses its disk, and
//! all are restarted one by one: what each mode admitted too much and too little, beside the bound.
//!
//! All modes run at once, each under a contract of its own. Bounds of gossip are what the lab says of the
//! very same run (`foretell`), those of `owner` follow from its rules (`owned`); docs/rolling-restart.md has the table.
//! For the figures: `cargo test -p tollgate --test cluster phases -- --nocapture`, and with `--ignored` for phases four
//! times as long.

use std::fmt::Write;
use std::time::{Duration, Instant};

use tollgate::cluster::fleet::{ClusterPlan, Fleet};
use tollgate_fault::ProcessFault;

use crate::foretell::{Diary, PhaseBound, foretell};
use crate::judge::{NodeVerdict, PhaseSummary, RecordedAnswer, TestBucket, judge};
use crate::kit::plan;
use crate::load::ClusterLoad;
use crate::owned::{DEADLINE, Hurt, Spans, bound_of_owner};

pub(crate) const NODES: u16 = 5;
/// Requests a second for each mode, all nodes together.
pub(crate) const RATE: u32 = 60;
pub(crate) const BURST: u64 = 60;
pub(crate) const PER_SECOND: u64 = 12;
pub(crate) const BUCKET: TestBucket = TestBucket {
    burst: 60.0,
    per_second: 12.0,
};
const LANES: &[&str] = &["gossip", OWNER];
const OWNER: &str = "owner";
/// The sides of the cut.
const TWO: [u16; 2] = [0, 1];
const THREE: [u16; 3] = [2, 3, 4];

/// Something that happens, and for how long it is watched.
struct Phase {
    name: &'static str,
    seconds: u64,
    begin: fn(&mut Stage),
    hurt: Hurt,
}

const PHASES: &[Phase] = &[
    Phase {
        name: "calm",
        seconds: 4,
        begin: |_| {},
        hurt: Hurt::Nobody,
    },
    Phase {
        name: "kill -9 n4",
        seconds: 4,
        begin: |stage| stage.kill(4),
        hurt: Hurt::Killed,
    },
    Phase {
        name: "n4 again",
        seconds: 3,
        begin: |stage| stage.start(4, false),
        hurt: Hurt::Returned,
    },
    Phase {
        name: "cut 0,1 | 2,3,4",
        seconds: 5,
        begin: Stage::cut,
        hurt: Hurt::Cut,
    },
    Phase {
        name: "healed",
        seconds: 5,
        begin: Stage::heal,
        hurt: Hurt::Healed,
    },
    Phase {
        name: "n3 stands still",
        seconds: 3,
        begin: |stage| stage.pause(3),
        hurt: Hurt::Paused,
    },
    Phase {
        name: "n3 goes on",
        seconds: 3,
        begin: |stage| stage.resume(3),
        hurt: Hurt::Resumed,
    },
    Phase {
        name: "n2 loses its disk",
        seconds: 4,
        begin: |stage| {
            stage.kill(2);
            stage.start(2, true);
        },
        hurt: Hurt::Replaced,
    },
    Phase {
        name: "rolling restart",
        seconds: 2,
        begin: |stage| {
            for node in 0..NODES {
                stage.stop(node);
                stage.start(node, false);
            }
        },
        hurt: Hurt::Rolled,
    },
];

/// The cluster, its traffic, and what was done to it when.
struct Stage {
    fleet: Fleet,
    load: ClusterLoad,
    diary: Diary,
}

impl Stage {
    fn kill(&mut self, node: u16) {
        self.diary.down(node, false);
        self.fleet.suffer(ProcessFault::Kill(node)).unwrap();
        self.load.follow(&self.fleet, &[]);
    }

    fn stop(&mut self, node: u16) {
        self.diary.down(node, false);
        self.fleet.suffer(ProcessFault::Stop(node)).unwrap();
        self.load.follow(&self.fleet, &[]);
    }

    fn start(&mut self, node: u16, is_empty: bool) {
        let process = ProcessFault::Start { node, is_empty };
        self.fleet.suffer(process).unwrap();
        self.fleet.gather().unwrap();
        self.diary.up(node);
        self.load.follow(&self.fleet, &[]);
    }

    fn pause(&mut self, node: u16) {
        self.diary.down(node, true);
        self.fleet.suffer(ProcessFault::Pause(node)).unwrap();
        self.load.follow(&self.fleet, &[node]);
    }

    fn resume(&mut self, node: u16) {
        self.fleet.suffer(ProcessFault::Resume(node)).unwrap();
        self.diary.up(node);
        self.load.follow(&self.fleet, &[]);
    }

    fn cut(&mut self) {
        self.diary.cut(&TWO, &THREE);
        self.fleet.mesh().unwrap().split(&TWO, &THREE);
    }

    /// Mended when all have found each other again.
    fn heal(&mut self) {
        self.fleet.mesh().unwrap().mend();
        self.diary.mending();
        self.fleet.gather().unwrap();
        self.diary.mend();
    }
}

/// A contract for each lane.
pub(crate) fn contracts(lanes: &[&str]) -> String {
    let mut text = "contracts:\n".to_owned();
    for lane in lanes {
        writeln!(
            text,
            "  - id: {lane}\n    match: {{ lane: {lane} }}\n    key: [user]\n    coordination: {lane}\n    policies:\n      - {{ name: bucket, \
             limit: {}, per: 1s, burst: {} }}",
            BUCKET.per_second, BUCKET.burst
        )
        .unwrap();
    }
    text
}

/// What was measured.
struct Run {
    answers: Vec<RecordedAnswer>,
    begins: Vec<Instant>,
    seconds: Vec<f64>,
    diary: Diary,
}

/// Runs all phases, each `times` as long as it says.
fn run(times: u32) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("contracts.yaml");
    std::fs::write(&path, contracts(LANES)).unwrap();
    let fleet = Fleet::start(ClusterPlan {
        faults: Some(1),
        ..plan(NODES, path)
    })
    .unwrap();
    let load = ClusterLoad::start(&fleet, LANES, RATE);
    let diary = Diary::default();
    let mut stage = Stage { fleet, load, diary };
    let mut begins = Vec::new();
    for phase in PHASES {
        begins.push(Instant::now());
        (phase.begin)(&mut stage);
        std::thread::sleep(Duration::from_secs(phase.seconds) * times);
    }
    let end = Instant::now();
    let ends = begins.iter().skip(1).chain([&end]);
    let spans = begins.iter().zip(ends).map(|(begin, end)| *end - *begin);
    Run {
        answers: stage.load.stop(),
        seconds: spans.map(|span| span.as_secs_f64()).collect(),
        begins,
        diary: stage.diary,
    }
}

impl Run {
    fn of_lane(&self, lane: usize) -> Vec<RecordedAnswer> {
        let own = self.answers.iter().filter(|answer| answer.lane == lane);
        own.copied().collect()
    }

    /// What a lane did in each phase, beside what it may do.
    fn judged(&self, lane: usize) -> Vec<(PhaseSummary, PhaseBound)> {
        let answers = self.of_lane(lane);
        let is_owner = LANES[lane] == OWNER;
        // Whoever waits no longer decides by itself, and the owner may have charged.
        let doubtful = |answer: &RecordedAnswer| is_owner && answer.took() >= DEADLINE;
        let found = judge(BUCKET, &answers, &self.begins, doubtful);
        let bounds = if is_owner {
            self.bounds_of_owner(&answers)
        } else {
            foretell(&answers, &self.begins, &self.diary)
        };
        found.into_iter().zip(bounds).collect()
    }

    fn bounds_of_owner(&self, answers: &[RecordedAnswer]) -> Vec<PhaseBound> {
        let slow = |phase: usize, side: &[u16]| {
            let (begin, end) = (self.begins[phase], self.begins.get(phase + 1));
            let within = |answer: &&RecordedAnswer| {
                answer.at >= begin && end.is_none_or(|end| answer.at < *end)
            };
            let here = answers
                .iter()
                .filter(within)
                .filter(|it| side.contains(&it.node));
            let slow = here.filter(|it| it.said == NodeVerdict::Admitted && it.took() >= DEADLINE);
            f64::from(u32::try_from(slow.count()).unwrap())
        };
        let bounds = PHASES.iter().enumerate().map(|(number, phase)| {
            let spans = Spans {
                now: self.seconds[number],
                before: self.seconds[number.saturating_sub(1)],
                healing: self.diary.healing(),
                slow: [slow(number, &TWO), slow(number, &THREE)],
            };
            bound_of_owner(phase.hurt, spans)
        });
        bounds.collect()
    }

    /// The table, and what is beyond its bound.
    fn table(&self) -> (String, Vec<String>) {
        let mut text = format!(
            "\n{NODES} nodes, {RATE} requests a second and mode, bucket of {} that regains {} a second\n\n{:<20} {:>5} ",
            BUCKET.burst, BUCKET.per_second, "over / bound, under", "s"
        );
        let lanes: Vec<_> = (0..LANES.len()).map(|lane| self.judged(lane)).collect();
        let mut beyond = Vec::new();
        for lane in LANES {
            write!(text, " {lane:>16}").unwrap();
        }
        write!(text, " {:>8} {:>5}", "slowest", "lost").unwrap();
        for (number, phase) in PHASES.iter().enumerate() {
            write!(text, "\n{:<20} {:>5.1} ", phase.name, self.seconds[number]).unwrap();
            let here = lanes.iter().map(|judged| judged[number].0);
            let slowest = here.clone().map(|found| found.slowest).max().unwrap();
            let lost: u64 = here.map(|found| found.unanswered).sum();
            for (lane, judged) in LANES.iter().zip(&lanes) {
                let (now, bound) = judged[number];
                let bound = bound.later_by(slowest);
                let shown = format!(
                    "{:.0} / {:.0}, {}",
                    now.over.max(0.0),
                    bound.over,
                    now.under
                );
                write!(text, " {shown:>16}").unwrap();
                if now.over > bound.over {
                    beyond.push(format!("{lane}, {}: {now:?}, {bound:?}", phase.name));
                }
                if f64::from(u32::try_from(now.under).unwrap()) > bound.under {
                    beyond.push(format!("{lane}, {}: {now:?}, {bound:?}", phase.name));
                }
            }
            write!(text, " {:>6} ms {lost:>5}", slowest.as_millis()).unwrap();
        }
        text.push('\n');
        (text, beyond)
    }
}

fn check(times: u32) {
    let run = run(times);
    let (table, beyond) = run.table();
    println!("{table}");
    assert!(beyond.is_empty(), "{table}\n{}", beyond.join("\n"));
}

#[test]
fn every_phase_stays_within_its_bound() {
    check(1);
}

#[test]
#[ignore = "some minutes"]
fn every_long_phase_stays_within_its_bound() {
    check(4);
}

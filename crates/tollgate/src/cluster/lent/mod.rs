//! `tollgate cluster prove-lease`: one limit lent by two real nodes to three real clients, judged by what they
//! admitted.
//!
//! Clients write down what they admit by themselves, nodes what they admit for those who wait, all by a clock that the
//! processes of a machine share. All logs together are replayed through one bucket. Not here: the protocol
//! (`tollgate-lease`).

mod lessee;
mod show;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tollgate_fault::ProcessFault;
use tollgate_lab::{LeaseEvent, LeaseStory, LeaseTold};
use tollgate_serve::supply::steady_now;

use super::dev::{binary, threads};
use super::fleet::{ClusterPlan, Fleet};
use super::options::ProveLeaseOptions;
use super::prove::judge::{AdmissionLog, JudgedBucket, judge};
use super::prove::phases::{PhaseRow, Proof, mean};
use crate::failure::Failure;
use lessee::LesseeCounts;
pub(super) use lessee::run as lessee;
use show::LentReport;

/// A name, for how many seconds it goes on, in short too, and what happens.
type Phase = (&'static str, (u64, u64), Event);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Nothing,
    KillClient(usize),
    StartClient(usize),
    /// The one that lends.
    KillNode,
    StopClient(usize),
    GoOn(usize),
}

const PHASES: [Phase; 7] = [
    ("calm", (15, 5), Event::Nothing),
    ("kill -9 c2", (8, 4), Event::KillClient(2)),
    ("c2 again", (8, 3), Event::StartClient(2)),
    ("kill -9 the node that lends", (10, 6), Event::KillNode),
    ("c1 stands still", (5, 3), Event::StopClient(1)),
    ("c1 goes on", (6, 3), Event::GoOn(1)),
    ("calm again", (8, 3), Event::Nothing),
];

struct Stage {
    fleet: Fleet,
    clients: Vec<Option<Child>>,
    folder: PathBuf,
    rate: u64,
    /// How often a client was started.
    starts: usize,
}

/// Hurts clients and nodes, and says what they admitted.
pub(super) fn run(options: &ProveLeaseOptions) -> Result<(), Failure> {
    let own = tempfile::tempdir().map_err(|error| Failure::system("make a folder", &error))?;
    let folder = options.keep.as_deref().unwrap_or(own.path());
    fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
    let mut stage = Stage::set(folder, options.rate)?;
    let report = stage.play(options.quick)?;
    drop(stage);
    report.conclude(options.format)
}

impl Stage {
    /// Starts the nodes, and waits until they may lend all.
    fn set(folder: &Path, rate: u64) -> Result<Self, Failure> {
        let contracts = folder.join("contracts.yaml");
        let text = format!(
            "contracts: [{{ id: {CONTRACT}, key: [user], coordination: lease, policies: [{{ name: all, limit: {rate}, \
             per: 1s, term: {TERM_MS}ms }}] }}]"
        );
        fs::write(&contracts, text).map_err(|error| Failure::file(&contracts, &error))?;
        let mut flags = threads(NODES);
        let logs = folder.join("admitted");
        flags.extend(["--admission-log".to_owned(), logs.display().to_string()]);
        let fleet = Fleet::start(ClusterPlan {
            binary: binary()?,
            nodes: NODES,
            contracts,
            flags,
            faults: None,
            spots: std::collections::BTreeMap::default(),
        })?;
        let stage = Self {
            fleet,
            clients: (0..CLIENTS).map(|_| None).collect(),
            folder: folder.to_owned(),
            rate,
            starts: 0,
        };
        let begun = Instant::now();
        while !(0..NODES).all(|node| {
            stage
                .fleet
                .pool(node, CONTRACT, KEY)
                .is_some_and(|pool| pool >= rate)
        }) {
            if begun.elapsed() > PATIENCE {
                return Err(Failure::unavailable("error: the nodes do not come to lend"));
            }
            thread::sleep(TICK);
        }
        Ok(stage)
    }

    fn start_client(&mut self, number: usize) -> Result<(), Failure> {
        self.starts += 1;
        let logs = self.folder.join("admitted");
        fs::create_dir_all(&logs).map_err(|error| Failure::file(&logs, &error))?;
        let mut command = Command::new(binary()?);
        command.args(["cluster", "lessee"]);
        let nodes = self.fleet.nodes();
        let mut nodes: Vec<String> = nodes.iter().map(|node| node.resp.to_string()).collect();
        let count = nodes.len().max(1);
        nodes.rotate_left(number % count);
        for node in nodes {
            command.args(["--node", &node]);
        }
        let rate = 2 * self.rate / CLIENTS as u64;
        let log = logs.join(format!("c{number}.{}.log", self.starts));
        let counts = self.folder.join(format!("c{number}.{}.json", self.starts));
        command
            .args(["--rate", &rate.to_string(), "--log"])
            .arg(log)
            .arg("--counts")
            .arg(counts);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let child = child.map_err(|error| Failure::system("start a client", &error))?;
        if let Some(place) = self.clients.get_mut(number) {
            *place = Some(child);
        }
        Ok(())
    }

    fn play(&mut self, is_quick: bool) -> Result<LentReport, Failure> {
        for number in 0..CLIENTS {
            self.start_client(number)?;
        }
        let mut spans = Vec::new();
        let mut events = Vec::new();
        let mut calm = LesseeCounts::default();
        for (name, (long, short), event) in PHASES {
            // Nobody is left to tell when standard error is gone.
            let _ = writeln!(std::io::stderr(), "  {name}");
            let begin = steady_now().as_nanos();
            events.push(self.happen(event)?);
            let seconds = if is_quick { short } else { long };
            thread::sleep(Duration::from_secs(seconds));
            spans.push((begin, steady_now().as_nanos()));
            if spans.len() == 1 {
                calm = self.counts();
            }
        }
        self.clients.clear();
        let log = self.log()?;
        let mut found = judge(self.bucket(), &log);
        found.keys = 1;
        let lengths: Vec<u64> = spans.iter().map(|(begin, end)| end - begin).collect();
        let simulated = self.simulated(&events, &lengths);
        let alone = self.simulated(&events[..1], &lengths[..1]);
        let rows = PHASES.iter().zip(&spans).enumerate();
        let rows = rows.map(|(place, ((name, ..), span))| PhaseRow {
            name,
            nanos: span.1 - span.0,
            live: share(log.tokens(span.0, span.1), self.rate, span.1 - span.0),
            simulated: simulated
                .iter()
                .filter_map(|told| Some(100.0 * told.used.get(place)?))
                .collect(),
        });
        Ok(LentReport {
            rate: self.rate,
            rows: rows.collect(),
            found,
            calm,
            messages: mean(alone.iter().map(|told| told.messages)),
        })
    }

    /// The same simulated, once for each seed: what a client holds when it dies is luck.
    fn simulated(&self, events: &[LeaseEvent], lengths: &[u64]) -> Vec<LeaseTold> {
        let phases = events.iter().copied().zip(lengths.iter().copied());
        let story = LeaseStory {
            per_second: self.rate,
            burst: self.rate,
            clients: u16::try_from(CLIENTS).unwrap_or(u16::MAX),
            term_ms: TERM_MS,
            one_way_us: ONE_WAY_US,
            phases: phases.collect(),
        };
        (0..SEEDS).map(|seed| story.run(seed)).collect()
    }

    /// Lets something happen; what that is in the simulation.
    fn happen(&mut self, event: Event) -> Result<LeaseEvent, Failure> {
        let number = |client: usize| u16::try_from(client).unwrap_or(u16::MAX);
        Ok(match event {
            Event::Nothing => LeaseEvent::Nothing,
            Event::KillClient(client) => {
                if let Some(Some(mut child)) = self.clients.get_mut(client).map(Option::take) {
                    let _ = child.kill();
                    let _ = child.wait();
                }
                LeaseEvent::Crash(number(client))
            }
            Event::StartClient(client) => {
                self.start_client(client)?;
                LeaseEvent::Restart(number(client))
            }
            Event::KillNode => {
                let lends = |node: &u16| {
                    self.fleet
                        .lessees(*node, CONTRACT)
                        .is_some_and(|count| count > 0)
                };
                let node = (0..NODES).find(lends);
                let node = node.ok_or_else(|| Failure::unavailable("error: no node lends"))?;
                self.fleet.suffer(ProcessFault::Kill(node))?;
                LeaseEvent::Fall(FOUND_MS)
            }
            Event::StopClient(client) => {
                self.signal(client, Signal::STOP);
                LeaseEvent::Pause(number(client))
            }
            Event::GoOn(client) => {
                self.signal(client, Signal::CONT);
                LeaseEvent::Resume(number(client))
            }
        })
    }

    fn signal(&self, client: usize, signal: Signal) {
        let child = self.clients.get(client).and_then(Option::as_ref);
        let pid = child.and_then(|child| Pid::from_raw(i32::try_from(child.id()).ok()?));
        if let Some(pid) = pid {
            // One that is gone has ended.
            let _ = kill_process(pid, signal);
        }
    }

    fn counts(&self) -> LesseeCounts {
        let mut sum = LesseeCounts::default();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let text = fs::read_to_string(&path).unwrap_or_default();
            let is_counts = path.extension().is_some_and(|kind| kind == "json");
            if let Some(counts) = is_counts
                .then(|| serde_json::from_str::<LesseeCounts>(&text).ok())
                .flatten()
            {
                sum.decided += counts.decided;
                sum.messages += counts.messages;
                sum.waited += counts.waited;
                sum.failed += counts.failed;
            }
        }
        sum
    }

    /// Everything that all processes wrote down, those that were killed included, as of one key.
    fn log(&self) -> Result<AdmissionLog, Failure> {
        let folder = self.folder.join("admitted");
        let mut log = AdmissionLog::default();
        let unreadable = |error| Failure::unreadable(&folder, &error);
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let text = fs::read_to_string(&path);
            let text = text.map_err(|error| Failure::unreadable(&path, &error))?;
            log.read(&path.display().to_string(), &text)
                .map_err(Failure::protocol)?;
        }
        let all = std::mem::take(&mut log.keys)
            .into_values()
            .flatten()
            .collect();
        log.keys.insert(KEY.to_owned(), all);
        Ok(log)
    }

    const fn bucket(&self) -> JudgedBucket {
        JudgedBucket {
            limit: self.rate,
            per_ns: 1_000_000_000,
            burst: self.rate,
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for mut child in self.clients.drain(..).flatten() {
            // One that has ended already is only collected.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Tokens of what the limit allows in that time, in percent.
#[allow(clippy::cast_precision_loss, reason = "shown, not decided by")]
fn share(tokens: u64, rate: u64, nanos: u64) -> f64 {
    100.0 * tokens as f64 / (rate as f64 * nanos as f64 / 1e9).max(1.0)
}

const NODES: u16 = 2;
const CLIENTS: usize = 3;
const CONTRACT: &str = "api";
/// The one key that is asked for.
const KEY: &str = "ada";
const TERM_MS: u64 = 2_000;
/// What a message takes on one machine, for the simulation.
const ONE_WAY_US: u64 = 200;
/// How soon clients find that the node that lent is gone, for the simulation.
const FOUND_MS: u64 = 50;
const SEEDS: u64 = 9;
const PATIENCE: Duration = Duration::from_mins(1);
const TICK: Duration = Duration::from_millis(50);

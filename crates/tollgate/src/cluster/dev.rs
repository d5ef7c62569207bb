//! `tollgate cluster dev`: a cluster on this machine, for as long as the command runs.
//!
//! Not here: starting and ending the processes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tollgate_fault::Script;

use super::fleet::{ClusterPlan, Fleet};
use super::options::DevOptions;
use crate::cli::Format;
use crate::failure::Failure;
use crate::report::{Ink, TerminalStyle};

/// Starts a cluster, says where it is, and keeps it until a signal comes.
pub(super) fn run(options: &DevOptions) -> Result<(), Failure> {
    let script = options.faults.as_deref().map(read_script).transpose()?;
    let stop = StopSignal::catch()?;
    let own = tempfile::tempdir().map_err(|error| Failure::system("make a folder", &error))?;
    let contracts = contracts(options.contracts.as_deref(), own.path())?;
    let plan = ClusterPlan {
        binary: binary()?,
        nodes: options.nodes,
        contracts,
        flags: threads(options.nodes),
        faults: script.is_some().then_some(options.seed),
        spots: BTreeMap::new(),
    };
    let is_sample = options.contracts.is_none();
    // Whoever gives up while it comes together must not wait for it.
    let Some(fleet) = stop.unless_stopped(move || Fleet::start(plan))? else {
        return Ok(());
    };
    let text = match options.format {
        Format::Json => format!("{}\n", nodes(&fleet)),
        Format::Human => screen(&fleet, is_sample, TerminalStyle::of_stdout()),
    };
    let mut out = io::stdout();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(Failure::output)?;
    let fleet = Arc::new(Mutex::new(fleet));
    if let Some(script) = script {
        play(script, &fleet)?;
    }
    stop.wait();
    // A step of a script that is under way ends first; its thread dies with this process.
    let mut fleet = fleet.lock().unwrap_or_else(PoisonError::into_inner);
    fleet.end_all();
    Ok(())
}

pub(crate) fn binary() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::system("find this program", &error))
}

/// One thread each where there are more nodes than cores.
pub(crate) fn threads(nodes: u16) -> Vec<String> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let each = (cores / usize::from(nodes.max(1))).max(1);
    vec!["--threads".to_owned(), each.to_string()]
}

/// The contract file to use, checked before anything starts; processes have another folder than people.
fn contracts(given: Option<&Path>, own: &Path) -> Result<PathBuf, Failure> {
    let Some(path) = given else {
        let path = own.join("contracts.yaml");
        fs::write(&path, SAMPLE).map_err(|error| Failure::file(&path, &error))?;
        return Ok(path);
    };
    let _ = crate::config::read(path)?;
    path.canonicalize()
        .map_err(|error| Failure::unreadable(path, &error))
}

pub(crate) fn read_script(path: &Path) -> Result<Script, Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::unreadable(path, &error))?;
    text.parse()
        .map_err(|error| Failure::usage(format!("error: {}: {error}", path.display())))
}

/// Lets a script happen beside everything else.
fn play(script: Script, fleet: &Arc<Mutex<Fleet>>) -> Result<(), Failure> {
    let fleet = Arc::clone(fleet);
    let begun = Instant::now();
    let work = move || {
        script.play(begun, |step| {
            let mut fleet = fleet.lock().unwrap_or_else(PoisonError::into_inner);
            let process = fleet.mesh().and_then(|mesh| mesh.apply(&step.change));
            let done = process.map_or(Ok(()), |process| fleet.suffer(process));
            let word = match done {
                Ok(()) => format!("{:>6.1} s  {:?}", step.at.as_secs_f64(), step.change),
                Err(failure) => failure.to_string(),
            };
            // Nobody is left to tell when standard error is gone.
            let _ = writeln!(io::stderr(), "{word}");
        });
    };
    let spawned = thread::Builder::new().name("faults".to_owned()).spawn(work);
    spawned
        .map(|_| ())
        .map_err(|error| Failure::system("start a thread", &error))
}

/// What programs are told.
fn nodes(fleet: &Fleet) -> Value {
    let nodes = fleet.nodes().iter().map(|node| {
        json!({
            "name": node.name,
            "http": node.http.to_string(),
            "resp": node.resp.to_string(),
            "pid": node.pid(),
        })
    });
    json!({ "nodes": nodes.collect::<Vec<_>>() })
}

fn screen(fleet: &Fleet, is_sample: bool, look: TerminalStyle) -> String {
    let bold = |text: &str| look.paint(Ink::Bold, text);
    let count = fleet.nodes().len();
    let mut lines = vec![
        String::new(),
        format!("  {}", bold(&format!("{count} nodes count as one"))),
        String::new(),
    ];
    for node in fleet.nodes() {
        let pid = node.pid().unwrap_or_default();
        lines.push(format!(
            "  {:<4} http://{:<21} resp {:<21} pid {pid}",
            node.name, node.http, node.resp
        ));
    }
    lines.push(format!("  logs and data: {}", fleet.folder().display()));
    if let (Some(first), Some(last)) = (fleet.nodes().first(), fleet.nodes().last()) {
        lines.extend([String::new(), format!("  {}", bold("Try"))]);
        if is_sample {
            lines.extend([
                format!(
                    "  curl http://{}/v1/check --json '{{\"key\": {{\"user\": \"42\"}}, \"cost\": 60}}'   # 60 of 100 are gone",
                    first.http
                ),
                format!(
                    "  curl http://{}/v1/check --json '{{\"key\": {{\"user\": \"42\"}}, \"cost\": 60}}'   # so another node refuses",
                    last.http
                ),
                format!("  tollgate check tenant=acme --server http://{}", last.http),
                format!(
                    "  tollgate bench resp --command check --key user={{}} --keys 1 --warm-up 0 --duration 3 -c 10{}",
                    servers(fleet)
                ),
            ]);
        }
        lines.push(format!(
            "  tollgate cluster status --server http://{}",
            first.http
        ));
    }
    lines.extend([
        String::new(),
        "  Ctrl-C ends all of them.".to_owned(),
        String::new(),
    ]);
    lines.join("\n") + "\n"
}

/// Every node, for a command that asks all.
fn servers(fleet: &Fleet) -> String {
    let mut flags = String::new();
    for node in fleet.nodes() {
        flags.push_str(" --server ");
        flags.push_str(&node.resp.to_string());
    }
    flags
}

/// Signals to stop, caught from the moment this exists.
struct StopSignal {
    heard: std::sync::mpsc::Receiver<()>,
}

impl StopSignal {
    fn catch() -> Result<Self, Failure> {
        let failed = |error| Failure::system("cannot catch signals", &error);
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(failed)?;
        let caught = {
            let _context = runtime.enter();
            let kinds = [
                SignalKind::interrupt(),
                SignalKind::terminate(),
                SignalKind::hangup(),
            ];
            kinds.map(signal)
        };
        let [interrupt, terminate, hang_up] = caught;
        let mut interrupt = interrupt.map_err(failed)?;
        let mut terminate = terminate.map_err(failed)?;
        let mut hang_up = hang_up.map_err(failed)?;
        let (sender, heard) = std::sync::mpsc::channel();
        let listen = move || {
            runtime.block_on(async {
                loop {
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = terminate.recv() => {}
                        _ = hang_up.recv() => {}
                    }
                    if sender.send(()).is_err() {
                        return;
                    }
                }
            });
        };
        let spawned = thread::Builder::new()
            .name("signals".to_owned())
            .spawn(listen);
        spawned.map_err(failed)?;
        Ok(Self { heard })
    }

    fn wait(&self) {
        // An error means that nobody listens any more, and that is a reason to stop as well.
        let _ = self.heard.recv();
    }

    /// Does something that takes long; nothing if a signal came first.
    fn unless_stopped<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<Option<T>, Failure> {
        let worker = thread::spawn(work);
        while !worker.is_finished() {
            if self.heard.try_recv().is_ok() {
                // What was started until now ends with this process, which holds its leash.
                return Ok(None);
            }
            thread::sleep(TICK);
        }
        let done = worker.join();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            .map(Some)
    }
}

const TICK: std::time::Duration = std::time::Duration::from_millis(20);

/// Contracts that answer the examples.
pub(super) const SAMPLE: &str = include_str!("sample.yaml");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_good() {
        tollgate_contract::Contracts::parse(SAMPLE).unwrap();
    }
}

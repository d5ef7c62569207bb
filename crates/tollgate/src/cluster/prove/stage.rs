//! The processes, the network between them, and faults in both.
//!
//! If network namespaces are available, nodes are partitioned by moving their links to another switch of the kernel's;
//! otherwise a proxy between them drops everything. Not here: the schedule (`story`), and the load (`load`).

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_fault::ProcessFault;

use super::judge::AdmissionLog;
use super::load::ProveLoad;
use super::story::{ISLAND, NODES, ProveEvent, RATE};
use crate::cluster::dev::{binary, threads};
use crate::cluster::fleet::{ClusterPlan, Fleet};
use crate::cluster::nets::Nets;
use crate::failure::Failure;

/// Timeout until everything is usable again; reached only on failure.
const PATIENCE: Duration = Duration::from_mins(1);
/// Polling interval.
const TICK: Duration = Duration::from_millis(20);

/// A cluster, and the folder of its admission logs.
pub(super) struct Stage {
    fleet: Fleet,
    nets: Option<Nets>,
    logs: PathBuf,
}

impl Stage {
    /// Starts the processes, and waits until all of the limit may be used.
    pub(super) fn set(nets: Option<Nets>, contracts: &str, folder: &Path) -> Result<Self, Failure> {
        let file = folder.join("contracts.yaml");
        fs::write(&file, contracts).map_err(|error| Failure::file(&file, &error))?;
        let logs = folder.join("admitted");
        let mut flags = threads(NODES);
        flags.extend(["--admission-log".to_owned(), logs.display().to_string()]);
        let fleet = Fleet::start(ClusterPlan {
            binary: binary()?,
            nodes: NODES,
            contracts: file,
            flags,
            faults: nets.is_none().then_some(SEED),
            spots: nets.as_ref().map(Nets::spots).unwrap_or_default(),
        })?;
        let stage = Self { fleet, nets, logs };
        stage.wait_for_all()?;
        Ok(stage)
    }

    pub(super) const fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// Waits until all of the limit may be used by some node; returns how long that took.
    #[allow(clippy::cast_precision_loss, reason = "a rate of 10,000")]
    pub(super) fn wait_for_all(&self) -> Result<Duration, Failure> {
        let begun = Instant::now();
        let mut usable = 0.0;
        while begun.elapsed() < PATIENCE {
            let views = (0..NODES).filter_map(|node| self.fleet.supply(node).ok());
            let policies = views.flat_map(|view| view.policies);
            usable = policies.map(|policy| policy.number("usable")).sum();
            // They are asked one after the other, while supply moves.
            if (usable / RATE as f64 - 1.0).abs() < 0.01 {
                return Ok(begun.elapsed());
            }
            thread::sleep(TICK);
        }
        Err(Failure::found(format!(
            "error: only {usable:.0} of {RATE}/s may be used {} s later",
            PATIENCE.as_secs()
        )))
    }

    /// Applies an event; returns for how long a process was away.
    pub(super) fn happen(
        &mut self,
        event: ProveEvent,
        load: &ProveLoad,
    ) -> Result<Duration, Failure> {
        let begun = Instant::now();
        match event {
            ProveEvent::Nothing => {}
            ProveEvent::Kill(node) => self.fleet.suffer(ProcessFault::Kill(node))?,
            ProveEvent::Pause(node) => self.fleet.suffer(ProcessFault::Pause(node))?,
            ProveEvent::Resume(node) => self.fleet.suffer(ProcessFault::Resume(node))?,
            ProveEvent::Start(node) => return self.start(node, false, load, begun),
            ProveEvent::Replace(node) => {
                self.fleet.suffer(ProcessFault::Kill(node))?;
                load.follow(&self.fleet);
                return self.start(node, true, load, begun);
            }
            ProveEvent::Restart(node) => {
                self.fleet.suffer(ProcessFault::Stop(node))?;
                load.follow(&self.fleet);
                let away = self.start(node, false, load, begun)?;
                self.fleet.gather()?;
                self.wait_for_all()?;
                return Ok(away);
            }
            ProveEvent::Cut | ProveEvent::Heal => self.cut(event == ProveEvent::Cut)?,
        }
        load.follow(&self.fleet);
        Ok(Duration::ZERO)
    }

    fn start(
        &mut self,
        node: u16,
        is_empty: bool,
        load: &ProveLoad,
        begun: Instant,
    ) -> Result<Duration, Failure> {
        self.fleet.suffer(ProcessFault::Start { node, is_empty })?;
        load.follow(&self.fleet);
        Ok(begun.elapsed())
    }

    fn cut(&self, is_cut: bool) -> Result<(), Failure> {
        if let Some(nets) = &self.nets {
            let island = if is_cut { &ISLAND[..] } else { &[] };
            let moved = nets.set_island(island);
            return moved.map_err(|error| Failure::system("move links", &error));
        }
        if let Some(mesh) = self.fleet.mesh() {
            if is_cut {
                let others: Vec<u16> = (0..NODES).filter(|node| !ISLAND.contains(node)).collect();
                mesh.split(&ISLAND, &others);
            } else {
                mesh.mend();
            }
        }
        Ok(())
    }

    /// The logs of all processes, including killed ones.
    pub(super) fn log(&self) -> Result<AdmissionLog, Failure> {
        let mut log = AdmissionLog::default();
        let unreadable = |error| Failure::unreadable(&self.logs, &error);
        for entry in fs::read_dir(&self.logs).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let text = fs::read_to_string(&path);
            let text = text.map_err(|error| Failure::unreadable(&path, &error))?;
            let read = log.read(&path.display().to_string(), &text);
            read.map_err(Failure::protocol)?;
        }
        Ok(log)
    }
}

/// Of the proxy, which delays nothing here.
const SEED: u64 = 7;

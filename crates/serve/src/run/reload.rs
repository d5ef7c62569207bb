//! Reloading contracts and certificates in a running server.
//!
//! What cannot be used changes nothing, and is reported until a reload succeeds.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use tollgate_contract::Contracts;
use tollgate_node::Roster;

use super::changed::Changed;
use super::load;
use crate::catalogue::{Imported, Origin};
use crate::cluster::Daemon;
use crate::listen::Certificates;
use crate::meter::Event;
use crate::settings::{ContractSource, Settings, Tokens};
use crate::shared::Shared;
use crate::source;
use crate::state::one_sentence;

pub(super) struct Loader {
    shared: Arc<Shared>,
    certificates: Vec<Arc<Certificates>>,
    cluster: Option<Arc<Daemon>>,
    /// The server's file as it was at the start; only contracts in it may change.
    as_started: Option<Settings>,
    /// Held during a reload, so that the last one read is the one that stays.
    turn: Mutex<()>,
}

impl Loader {
    pub(super) fn new(
        shared: &Arc<Shared>,
        certificates: Vec<Arc<Certificates>>,
        cluster: Option<Arc<Daemon>>,
    ) -> Self {
        let file = shared.settings.file.as_deref();
        Self {
            as_started: file.and_then(|path| Settings::read(path).ok()),
            shared: Arc::clone(shared),
            certificates,
            cluster,
            turn: Mutex::new(()),
        }
    }

    /// Reads everything again, after a signal.
    pub(super) fn reload(&self) -> Result<(), String> {
        let _turn = self.turn.lock();
        let keys = self.cluster.as_deref().map_or(Ok(()), Daemon::reload);
        let annex = self.shared.annex.get();
        let annex = annex.map_or(Ok(()), |annex| annex.reload());
        let outcomes = [
            self.contracts("SIGHUP"),
            self.tokens(),
            self.certificates(),
            keys,
            annex,
        ];
        self.tell_what_needs_a_restart();
        let errors: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
        self.remember(&errors)
    }

    /// Reads contracts and tokens again, after their file changed.
    pub(super) fn reload_watched(&self) -> Result<(), String> {
        let _turn = self.turn.lock();
        let outcomes = [self.contracts("a file that changed"), self.tokens()];
        self.tell_what_needs_a_restart();
        let errors: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
        self.remember(&errors)
    }

    /// Reads tokens again if their file changed, or was wrong before. The first check follows directly after a read.
    pub(super) fn reload_tokens(&self) {
        let is_known = self.shared.state.reload_error().is_none();
        let same = || self.read_tokens() == Ok(self.shared.callers.tokens());
        if !(is_known && same()) {
            let _ = self.reload_watched();
        }
    }

    /// Call when the contract file changed. With a catalogue it is not read for its contracts.
    pub(super) fn look_at_file(&self) {
        if self.shared.catalogue().database().is_some() {
            self.tell_of_file();
        } else {
            // The outcome is logged, counted and remembered.
            let _ = self.reload_watched();
        }
    }

    /// Warns of a contract file that was edited since the catalogue was initialized from it, and is not in force.
    pub(super) fn tell_of_file(&self) {
        let source = &self.shared.settings.contracts;
        let live = self.shared.catalogue();
        let (Some(file), Some(imported)) = (source.file(), live.imported()) else {
            return;
        };
        if let Some(trouble) = self.shared.settings.unmatched_note() {
            tracing::warn!("{trouble}");
            return self.shared.state.set_source_error(Some(trouble));
        }
        let name = file.display();
        if !file.exists() || Imported::read(source).is_ok_and(|is| is == imported) {
            tracing::info!(file = %name, "contracts are in the catalogue, and this file is not read for them again; change them there");
            return self.shared.state.set_source_error(None);
        }
        let what = match source.read().map_err(|error| error.to_string()) {
            Err(error) => format!("it is wrong: {}", one_sentence(&error)),
            Ok(contracts) => {
                let divided = load::as_counted(&self.shared.settings, contracts.clone());
                let contracts = divided.map_or(contracts, |(divided, _)| divided);
                let node = self.shared.engine.node();
                match Changed::between(node.contracts(), &contracts).sentence() {
                    None => return self.shared.state.set_source_error(None),
                    Some(what) => format!("it has {what}"),
                }
            }
        };
        let trouble = format!(
            "{name} was edited and is not in force, as contracts are in the catalogue: {what}; put it there with \
             `tollgate contract put {name}` or the console"
        );
        tracing::warn!("{trouble}");
        self.shared.state.set_source_error(Some(trouble));
    }

    /// Reports to the annex that its file has changed.
    pub(super) fn reload_annex(&self) {
        let _turn = self.turn.lock();
        if let Some(Err(error)) = self.shared.annex.get().map(|annex| annex.changed()) {
            tracing::error!(%error, "what was read cannot be used; the old stays in force");
        }
    }

    /// Puts these contracts in force.
    pub(super) fn adopt(&self, contracts: Contracts, origin: &Origin) -> Result<(), String> {
        let _turn = self.turn.lock();
        let outcome = self.load(contracts, origin);
        if self.shared.state.has_source_error() {
            // The catalogue may now have what the file has.
            self.tell_of_file();
        }
        self.remember(outcome.err().as_slice())
    }

    /// Puts the contracts of a management server in force, or remembers their error.
    pub(super) fn follow(&self, contracts: Result<Contracts, String>) -> Result<(), String> {
        let _turn = self.turn.lock();
        let outcome = contracts.and_then(|contracts| {
            let contracts = load::imported(&self.shared.settings, contracts);
            self.load(contracts.clone(), &Origin::of("the management server"))?;
            self.shared.catalogue().set_file(&contracts);
            Ok(())
        });
        self.remember(outcome.err().as_slice())
    }

    /// The tokens of the server's file, unless overridden, and those of the token file.
    fn read_tokens(&self) -> Result<Tokens, String> {
        let set_up = &self.shared.settings.tokens;
        let started = self.as_started.as_ref();
        let started = started.filter(|started| started.tokens == *set_up);
        let Some(path) = started.and_then(|started| started.file.as_deref()) else {
            return self.shared.callers.tokens().again();
        };
        let file = Settings::read(path).map_err(|error| error.to_string())?;
        Ok(file.tokens)
    }

    fn tokens(&self) -> Result<(), String> {
        if self.shared.callers.adopt(self.read_tokens()?)? {
            self.shared
                .engine
                .set_callers(self.shared.callers.numbers());
            tracing::info!(
                "other tokens of callers are in force; those that are set no more open nothing"
            );
        }
        Ok(())
    }

    fn contracts(&self, by: &str) -> Result<(), String> {
        let live = self.shared.catalogue();
        let mut origin = Origin::of(by);
        if live.database().is_some() {
            let snapshot = live.snapshot();
            origin.revision = Some(snapshot.revision);
            return self.load(snapshot.catalogue.compiled(), &origin);
        }
        let source = &self.shared.settings.contracts;
        if matches!(source, ContractSource::Xds(_)) {
            // The newest is in force already.
            return Ok(());
        }
        let contracts = source.read().map_err(|error| error.to_string())?;
        let contracts = load::imported(&self.shared.settings, contracts);
        live.set_file(&contracts);
        self.load(contracts, &origin)
    }

    /// Contracts depend on the roster: the number of nodes decides which of them are divided.
    fn load(&self, contracts: Contracts, origin: &Origin) -> Result<(), String> {
        if let Some(annex) = self.shared.annex.get() {
            annex.check(&contracts)?;
        }
        load::check_ledgers(&self.shared.settings, &contracts)?;
        let roster = self.roster()?;
        let before = self.shared.engine.node().roster();
        let counted = roster.as_ref().or(before.as_deref());
        let is_alone = self.cluster.is_none();
        let (contracts, small) = load::divided(contracts, counted, is_alone)?;
        let (node, now) = (self.shared.engine.node(), self.shared.engine.now());
        let countable = node.countable(&contracts, roster.as_ref(), now);
        countable.map_err(|error| error.to_string())?;
        if let Some(roster) = roster {
            tracing::info!(nodes = roster.len(), "the roster is another");
            node.set_roster(roster, now);
        }
        self.shared.supply.set_small(small);
        Changed::between(node.contracts(), &contracts).log(origin);
        self.shared.engine.load(contracts);
        Ok(())
    }

    /// The roster of the file, if it differs from the one in force and is not overridden.
    fn roster(&self) -> Result<Option<Roster>, String> {
        let in_force = self.shared.engine.node().roster();
        let (Some(in_force), Some(started)) = (in_force, &self.as_started) else {
            return Ok(None);
        };
        let of = |settings: &Settings| settings.cluster.as_ref().and_then(|c| c.roster.clone());
        let is_beaten = of(&self.shared.settings) != of(started);
        let Some(path) = started.file.as_deref().filter(|_| !is_beaten) else {
            return Ok(None);
        };
        let file = Settings::read(path).map_err(|error| error.to_string())?;
        match of(&file) {
            None => Err("a roster can be changed while the server runs, but not taken away".into()),
            Some(roster) => Ok((roster != *in_force).then_some(roster)),
        }
    }

    fn certificates(&self) -> Result<(), String> {
        let reload = |certificates: &Arc<Certificates>| certificates.reload();
        self.certificates
            .iter()
            .try_for_each(reload)
            .map_err(|error| error.to_string())
    }

    fn remember(&self, errors: &[String]) -> Result<(), String> {
        let outcome = match errors {
            [] => Ok(()),
            errors => Err(errors.join("\n")),
        };
        let event = match &outcome {
            Ok(()) => Event::Reloaded,
            Err(_) => Event::ReloadFailed,
        };
        self.shared.engine.meter().count(event);
        self.shared.state.reloaded(outcome.clone());
        if let Err(error) = &outcome {
            tracing::error!(%error, "what was read cannot be used; the old stays in force");
        }
        outcome
    }

    fn tell_what_needs_a_restart(&self) {
        let Some(started) = &self.as_started else {
            return;
        };
        let Some(Ok(now)) = started.file.as_deref().map(Settings::read) else {
            return;
        };
        let changed = started.differences(&now);
        if !changed.is_empty() {
            let fields = changed.join(", ");
            tracing::warn!(
                fields,
                "changed in the file, but only a restart applies them"
            );
        }
    }
}

/// Identifies a version of a file: editors replace files, deployments switch links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStamp {
    modified: SystemTime,
    bytes: u64,
    inode: u64,
    device: u64,
}

impl FileStamp {
    /// The stamp of a file, or of a folder with its descriptor files; `None` if it cannot be read.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let own = Self::alone(path)?;
        let files = source::files_of(path).unwrap_or_default();
        let files = files.iter().filter_map(|path| Self::alone(path));
        Some(files.fold(own, |sum, file| Self {
            modified: sum.modified.max(file.modified),
            bytes: sum.bytes.wrapping_add(file.bytes),
            inode: sum.inode.wrapping_add(file.inode),
            ..sum
        }))
    }

    fn alone(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self {
            modified: metadata.modified().ok()?,
            bytes: metadata.len(),
            inode: metadata.ino(),
            device: metadata.dev(),
        })
    }
}

/// Detects that a file changed, once it has stopped changing.
pub(super) struct FileWatch {
    /// The version that was read.
    read: Option<FileStamp>,
    /// The version last seen.
    seen: Option<FileStamp>,
}

impl FileWatch {
    /// `stamp` is the version that was read.
    pub(super) const fn new(stamp: Option<FileStamp>) -> Self {
        Self {
            read: stamp,
            seen: stamp,
        }
    }

    /// Whether to read the file again: it differs from what was read, and did not change since the last check.
    pub(super) fn is_due(&mut self, stamp: Option<FileStamp>) -> bool {
        let is_settled = stamp == self.seen;
        self.seen = stamp;
        let is_due = is_settled && stamp != self.read;
        if is_due {
            self.read = stamp;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(
        clippy::unnecessary_wraps,
        reason = "a file that is not there has none"
    )]
    fn stamp(bytes: u64) -> Option<FileStamp> {
        Some(FileStamp {
            modified: SystemTime::UNIX_EPOCH,
            bytes,
            inode: 1,
            device: 1,
        })
    }

    #[test]
    fn a_file_is_read_again_once_it_has_settled() {
        let mut watch = FileWatch::new(stamp(1));
        let looks = [
            stamp(1),
            stamp(2),
            stamp(3),
            stamp(3),
            stamp(3),
            None,
            stamp(4),
            stamp(4),
        ];
        let due: Vec<bool> = looks.into_iter().map(|look| watch.is_due(look)).collect();
        assert_eq!(due, [false, false, false, true, false, false, false, true]);
    }

    #[test]
    fn a_file_that_stays_away_is_noticed_once() {
        let mut watch = FileWatch::new(stamp(1));
        let due: Vec<bool> = (0..4).map(|_| watch.is_due(None)).collect();
        assert_eq!(due, [false, true, false, false]);
    }
}

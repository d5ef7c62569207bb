//! State of divided rates that a node must not forget: `supply.json` in the data directory, or the same text under its
//! lease in a database; replaced as a whole.
//!
//! What was kept under a lease counts only if its last holder has surely ended, as that one may still use its home
//! share. What cannot be read, or was kept under another name, is treated as a lost disk, which is safe: the node has
//! no home share until every other vouches for it. What cannot be written is tried again; until then others rely on
//! what is written. Not here: what it means.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tollgate_node::ModeRecord;
use tollgate_sqlite::private;

use super::clock;
use crate::durable::DatabaseLease;
use crate::shared::Shared;
use tollgate_kit::base64;

pub(crate) struct SupplyWriter {
    to: To,
    stored: Stored,
    /// What the node handed out and is not written yet.
    unwritten: BTreeMap<u64, ModeRecord>,
    /// Whether the disk is older than `stored` though the node waits for nothing: the number of this start.
    is_behind: bool,
}

enum To {
    Folder(PathBuf),
    Seat(DatabaseLease),
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Stored {
    version: u32,
    /// The node's name: a home share belongs to a name, and a folder may be copied.
    #[serde(default)]
    name: String,
    /// The number of the last start.
    boot: u64,
    /// By the tags of policies in hexadecimal, what each mode wrote in base64.
    policies: BTreeMap<String, String>,
}

impl SupplyWriter {
    /// The state of former starts under that name in this folder.
    pub(crate) fn open(folder: &Path, name: &str) -> Self {
        Self::found(
            To::Folder(folder.to_owned()),
            name,
            read(&folder.join(FILE)),
        )
    }

    /// The state of former starts under that name in the database.
    pub(crate) fn at(seat: &DatabaseLease, name: &str) -> Self {
        let text = seat.supply().map_err(io::Error::other);
        let mut found = text.and_then(|text| {
            text.map_or_else(|| Ok(Stored::default()), |text| parse(text.as_bytes()))
        });
        if let Ok(stored) = &mut found
            && !seat.is_sure()
            && !stored.policies.is_empty()
        {
            tracing::warn!(
                name,
                "another process had this seat a moment ago and did not say that it ends: what was kept of divided rates is as \
                 if never kept"
            );
            stored.policies.clear();
        }
        Self::found(To::Seat(seat.clone()), name, found)
    }

    fn found(to: To, name: &str, found: io::Result<Stored>) -> Self {
        let mut stored = found.unwrap_or_else(|error| {
            tracing::error!(%error, "what was kept of divided rates cannot be read: as if never kept");
            Stored::default()
        });
        if stored.name != name {
            if !stored.policies.is_empty() {
                let kept_by = &stored.name;
                tracing::warn!(
                    name,
                    kept_by,
                    "what was kept of divided rates is another node's: as if never kept"
                );
            }
            stored.policies.clear();
            name.clone_into(&mut stored.name);
        }
        Self {
            to,
            stored,
            unwritten: BTreeMap::new(),
            is_behind: false,
        }
    }

    /// The number of this start, which is written before any node learns it.
    pub(crate) fn begin(&mut self) -> u64 {
        let boot = clock::boot().max(self.stored.boot.saturating_add(BOOTS_APART));
        self.stored.boot = boot;
        if let Err(error) = self.write() {
            tracing::error!(%error, "the number of this start cannot be kept; it is tried again");
            self.is_behind = true;
        }
        boot
    }

    /// The stored state, by the tags of policies.
    pub(crate) fn kept(&self) -> BTreeMap<u64, ModeRecord> {
        let each = self.stored.policies.iter();
        each.filter_map(|(tag, kept)| {
            let kept = base64::decode(kept, KEPT_BYTES_MAX)?;
            Some((u64::from_str_radix(tag, 16).ok()?, kept.into()))
        })
        .collect()
    }

    /// Writes what the node hands out, and confirms it once that is on disk.
    pub(crate) fn flush(&mut self, shared: &Shared) {
        let node = shared.engine.node();
        self.unwritten.extend(node.take_kept());
        if self.unwritten.is_empty() && !self.is_behind {
            return;
        }
        for (tag, kept) in &self.unwritten {
            let tag = format!("{tag:016x}");
            self.stored.policies.insert(tag, base64::encode(kept));
        }
        while self.stored.policies.len() > POLICIES_MAX {
            // A forgotten policy waits until others vouch for this node.
            self.stored.policies.pop_first();
        }
        match self.write() {
            Ok(()) => {
                self.is_behind = false;
                shared.state.databases.supply.set(None);
                if shared.supply.note_kept(true) {
                    tracing::info!("what must be kept of divided rates is written again");
                }
                let now = shared.engine.now();
                for (tag, kept) in std::mem::take(&mut self.unwritten) {
                    node.handle_kept(tag, &kept, now);
                }
            }
            Err(error) => {
                shared.state.databases.supply.set(Some(error.to_string()));
                // It is tried again several times a second, and logged once.
                if shared.supply.note_kept(false) {
                    tracing::error!(%error, "what must be kept of divided rates cannot be written");
                }
            }
        }
    }

    fn write(&mut self) -> io::Result<()> {
        self.stored.version = VERSION;
        let text = serde_json::to_string(&self.stored)?;
        match &self.to {
            To::Folder(folder) => private::replace(&folder.join(FILE), text.as_bytes()),
            To::Seat(seat) => seat.keep_supply(text).map_err(io::Error::other),
        }
    }
}

fn read(path: &Path) -> io::Result<Stored> {
    let bytes = match std::fs::metadata(path) {
        Ok(metadata) if metadata.len() > BYTES_MAX => {
            return Err(io::Error::other("the file is too long"));
        }
        Ok(_) => std::fs::read(path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Stored::default()),
        Err(error) => return Err(error),
    };
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> io::Result<Stored> {
    let stored: Stored = serde_json::from_slice(bytes)?;
    if stored.version != VERSION {
        return Err(io::Error::other(format!(
            "version {} is not known",
            stored.version
        )));
    }
    Ok(stored)
}

const FILE: &str = "supply.json";
const VERSION: u32 = 2;
/// Each start has its own range of numbers, for state machines that start over.
const BOOTS_APART: u64 = 1 << 20;
/// Policies that are remembered, whether contracts have them or not.
const POLICIES_MAX: usize = 4096;
const BYTES_MAX: u64 = 64 << 20;
const KEPT_BYTES_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use tollgate_contract::Contracts;
    use tollgate_node::NodeConfig;

    use super::*;
    use crate::engine::{Engine, Secrets};
    use crate::settings::Settings;

    fn kept() -> ModeRecord {
        [0_u8, 7, 255].as_slice().into()
    }

    #[test]
    fn what_is_written_is_read_again_and_boots_grow() {
        let folder = tempfile::tempdir().unwrap();
        let mut keep = SupplyWriter::open(folder.path(), "a");
        let first = keep.begin();
        keep.stored
            .policies
            .insert(format!("{:016x}", 11), base64::encode(&kept()));
        keep.write().unwrap();
        let mut again = SupplyWriter::open(folder.path(), "a");
        assert_eq!(again.kept(), BTreeMap::from([(11, kept())]));
        assert!(again.begin() > first);
        // A folder that was copied, or whose node was renamed.
        let mut copy = SupplyWriter::open(folder.path(), "b");
        assert!(copy.kept().is_empty());
        copy.begin();
        assert!(SupplyWriter::open(folder.path(), "a").kept().is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_as_never_kept() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["", "{", "{\"version\":9,\"boot\":1,\"policies\":{}}"] {
            std::fs::write(folder.path().join(FILE), text).unwrap();
            assert!(
                SupplyWriter::open(folder.path(), "a").kept().is_empty(),
                "{text}"
            );
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_does_not_keep_a_start() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("supply.json.new")).unwrap();
        assert!(SupplyWriter::open(folder.path(), "a").begin() > 0);
    }

    #[test]
    fn what_is_not_written_is_told_of_until_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let blocked = folder.path().join("supply.json.new");
        std::fs::create_dir(&blocked).unwrap();
        let text =
            "contracts: [{ id: c, key: [user], policies: [{ name: p, limit: 9, per: 1s }] }]";
        let (contracts, secrets) = (Contracts::parse(text), Secrets::draw());
        let engine = Engine::new(contracts.unwrap(), NodeConfig::default(), &secrets.unwrap());
        let shared = Shared::new(engine, Settings::default());
        let mut keep = SupplyWriter::open(folder.path(), "a");
        keep.begin();
        keep.flush(&shared);
        let told = shared.troubles().join("\n");
        let words = "what must be kept of divided rates is not written since ";
        assert!(told.starts_with(words), "{told}");
        std::fs::remove_dir(&blocked).unwrap();
        keep.flush(&shared);
        assert_eq!(shared.troubles(), [""; 0]);
        assert!(folder.path().join(FILE).exists());
    }
}

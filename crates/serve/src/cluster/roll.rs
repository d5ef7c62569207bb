//! Who came, who went and who is missing: said in the log, and kept in the data directory, so that a restart of all
//! nodes misses the one that does not come.
//!
//! The file is replaced as a whole, at most once a second. Not here: who is missing (`tollgate-cluster`).

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tollgate_cluster::{Event, Member, MissingNode};
use tollgate_limit::Instant;
use tollgate_sqlite::private;

use super::handle::{Company, Hub};
use crate::troubles::Lasting;

/// The file, and when it is to be written next.
pub(super) struct Roll {
    path: Option<PathBuf>,
    due: Option<Instant>,
}

/// A node as the file has it.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    name: String,
    /// 32 hexadecimal digits.
    id: String,
    address: SocketAddr,
    /// Since when it was missing, where it was.
    missing_since_ms: Option<u64>,
}

impl Roll {
    pub(super) fn new(folder: Option<&Path>) -> Self {
        Self {
            path: folder.map(|folder| folder.join(FILE)),
            due: None,
        }
    }

    /// Says what changed, and that the file is to be written.
    pub(super) fn note(&mut self, event: &Event, company: &Company, now: Instant) {
        tell(event, company, now);
        self.due.get_or_insert(now.saturating_add(EVERY));
    }

    /// Writes the file where that is due. What cannot be written is tried again.
    pub(super) fn keep(&mut self, hub: &Hub, unwritten: &Lasting, now: Instant) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        self.due = None;
        let Some(path) = &self.path else {
            return;
        };
        let kept = kept(hub, now);
        let text = serde_json::to_vec(&kept).unwrap_or_default();
        match private::replace(path, &text) {
            Ok(()) => drop(unwritten.set(None)),
            Err(error) => {
                if !unwritten.set(Some(error.to_string())) {
                    let path = path.display();
                    tracing::error!(
                        %path, %error,
                        "the list of members cannot be written: after a restart this node does not know who is missing. \
                         It is tried again every ten seconds"
                    );
                }
                self.due = Some(now.saturating_add(AGAIN));
            }
        }
    }
}

fn kept(hub: &Hub, now: Instant) -> Vec<Kept> {
    let status = hub.cluster.lock().status(now);
    let there = status.peers.iter().map(|peer| Kept {
        name: peer.member.about.name.clone(),
        id: format!("{:032x}", peer.member.id),
        address: peer.member.address,
        missing_since_ms: None,
    });
    let missing = status.missing.iter().map(|one| Kept {
        name: one.name.clone(),
        id: format!("{:032x}", one.id),
        address: one.address,
        missing_since_ms: Some(one.since_ms),
    });
    there.chain(missing).collect()
}

/// Who was a member when this node last ran, or was missing then. A file that makes no sense is said and left out.
pub(super) fn read(folder: Option<&Path>, now: Instant) -> Vec<MissingNode> {
    let Some(path) = folder.map(|folder| folder.join(FILE)) else {
        return Vec::new();
    };
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => return unread(&path, &error.to_string()),
    };
    let kept: Vec<Kept> = match serde_json::from_slice(&text) {
        Ok(kept) => kept,
        Err(error) => return unread(&path, &error.to_string()),
    };
    let missing = kept.into_iter().filter_map(|one| {
        Some(MissingNode {
            id: u128::from_str_radix(&one.id, 16).ok()?,
            name: one.name,
            address: one.address,
            since_ms: one.missing_since_ms.unwrap_or(now.as_nanos() / 1_000_000),
        })
    });
    missing.collect()
}

fn unread(path: &Path, error: &str) -> Vec<MissingNode> {
    let path = path.display();
    tracing::warn!(%path, error, "the list of members cannot be read: this node does not know who is missing; it is written again");
    Vec::new()
}

/// Says who came and who went, and warns where something is lost.
fn tell(event: &Event, company: &Company, now: Instant) {
    let nodes = company.members.len();
    match event {
        Event::Came {
            node,
            since_ms,
            is_restart,
        } => {
            let came = company.members.iter().find(|member| member.node == *node);
            if let Some(came) = came {
                tell_came(came, *since_ms, *is_restart, nodes, now);
            }
        }
        Event::Gone {
            who,
            is_goodbye: true,
        } => {
            let (node, address) = (&who.name, who.address);
            tracing::info!(node, %address, nodes, "a node left the cluster in good order");
        }
        Event::Gone { who, .. } => {
            let (node, address, since) = (&who.name, who.address, date(who.since_ms));
            tracing::warn!(
                node, %address, since, nodes,
                "a node is dead: it answers nobody, and did not say that it goes. What it counted and had not told is lost. It is \
                 named as missing until it is back, or until `tollgate cluster forget` with its name"
            );
        }
        Event::Missing(who) => {
            let (node, address, since) = (&who.name, who.address, date(who.since_ms));
            tracing::warn!(node, %address, since, "other nodes miss a node that died before this one started");
        }
        Event::Forgotten(node) => {
            tracing::info!(node, "a missing node is forgotten, as was asked for");
        }
        _ => {}
    }
}

fn tell_came(came: &Member, since_ms: Option<u64>, is_restart: bool, nodes: usize, now: Instant) {
    let (node, address, version) = (&came.about.name, came.address, &came.about.version);
    if is_restart {
        tracing::warn!(
            node, %address, version, nodes,
            "a node was started again without having said that it goes: what it had counted and not told is lost"
        );
    } else if let Some(since_ms) = since_ms {
        let away_ms = (now.as_nanos() / 1_000_000).saturating_sub(since_ms);
        tracing::info!(node, %address, version, nodes, away_ms, "a node that was missing is back");
    } else {
        tracing::info!(node, %address, version, nodes, "a node joined the cluster");
    }
}

/// A time, as people read it.
pub(super) fn date(since_ms: u64) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::from_millis(since_ms));
    httpdate::fmt_http_date(time.unwrap_or_else(SystemTime::now))
}

const FILE: &str = "members.json";
/// How long changes are collected.
const EVERY: tollgate_limit::Span = tollgate_limit::Span::from_nanos(1_000_000_000);
/// How long until it is tried again.
const AGAIN: tollgate_limit::Span = tollgate_limit::Span::from_nanos(10_000_000_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_makes_no_sense_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let now = Instant::from_nanos(5_000_000_000);
        assert!(read(Some(folder.path()), now).is_empty() && read(None, now).is_empty());
        let path = folder.path().join(FILE);
        std::fs::write(&path, "[{").unwrap();
        assert!(read(Some(folder.path()), now).is_empty());
        let kept = r#"[{"name":"a","id":"0f","address":"127.0.0.1:1","missing_since_ms":null},
            {"name":"b","id":"10","address":"127.0.0.1:2","missing_since_ms":7}]"#;
        std::fs::write(&path, kept).unwrap();
        let known = read(Some(folder.path()), now);
        let known = known.iter().map(|one| (&*one.name, one.id, one.since_ms));
        assert_eq!(known.collect::<Vec<_>>(), [("a", 15, 5000), ("b", 16, 7)]);
    }
}

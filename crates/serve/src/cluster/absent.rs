//! Who is expected and not there, in figures and in words; and how a name is forgotten.
//!
//! Expected are members, those of them that died, and the names of the roster. Not here: who died (`tollgate-cluster`).

use std::fmt;

use serde::{Deserialize, Serialize};
use tollgate_cluster::ClusterStatus;
use tollgate_limit::Instant;

use super::roll::date;
use crate::shared::Shared;

/// How many nodes are expected, how many of them are there, and which are not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollView {
    /// Nodes that should be there: this one, members, those that died, and the names of the roster.
    #[serde(default)]
    pub expected: u64,
    /// Those of them that are there; one that is suspected is.
    #[serde(default)]
    pub present: u64,
    /// The others, by name.
    #[serde(default)]
    pub missing: Vec<MissingView>,
}

/// A node that should be there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingView {
    /// What people call it.
    pub name: String,
    /// `dead`: it was a member; `unseen`: the roster names it, and no member that this node knew had the name.
    pub state: String,
    /// Its id, 32 hexadecimal digits, where it was a member.
    pub id: Option<String>,
    /// Where it was reached.
    pub address: Option<String>,
    /// When something last came from it, in milliseconds since the epoch.
    pub since_ms: Option<u64>,
}

impl RollView {
    /// Who is missing and what that means, in words; nothing where everybody is there.
    pub fn sentence(&self) -> Option<String> {
        let Self {
            expected,
            present,
            missing,
        } = self;
        let named = missing.iter().take(NAMED_MAX).map(ToString::to_string);
        let named: Vec<String> = named.collect();
        let rest = match missing.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            rest => format!(", and {rest} more"),
        };
        (!missing.is_empty()).then(|| {
            format!(
                "{present} of {expected} nodes of the cluster are there: {}{rest}. What a dead node counted and had not told is lost; \
                 start it again, or run `tollgate cluster forget NAME` where it is gone for good",
                named.join(", ")
            )
        })
    }
}

impl fmt::Display for MissingView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match self.since_ms {
            Some(since) => write!(f, "{name} is dead since {}", date(since)),
            None => write!(f, "{name} of the roster was not seen"),
        }
    }
}

/// Why a name is not forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unforgettable {
    /// This server is in no cluster.
    NoCluster,
    /// A member has it.
    Alive,
    /// The roster names it.
    Roster,
    /// Nobody of that name is missing here.
    Unknown,
}

impl fmt::Display for Unforgettable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoCluster => "This server is in no cluster.",
            Self::Alive => "A node of that name is a member: stop it first, then it says by itself that it goes.",
            Self::Roster => "The roster names that node: take it out of `cluster.roster` in the file of every server.",
            Self::Unknown => "This node misses nobody of that name; `GET /v1/cluster` lists whom it misses.",
        })
    }
}

/// Who is expected and who is not there.
pub(super) fn roll(shared: &Shared, status: &ClusterStatus, me: Option<&str>) -> RollView {
    let dead = status.missing.iter().map(|one| MissingView {
        name: one.name.clone(),
        state: DEAD.to_owned(),
        id: Some(format!("{:032x}", one.id)),
        address: Some(one.address.to_string()),
        since_ms: Some(one.since_ms),
    });
    let mut missing: Vec<MissingView> = dead.collect();
    let peers = status.peers.iter();
    let names: Vec<&str> = peers.map(|peer| &*peer.member.about.name).collect();
    let roster = shared.engine.node().roster();
    for (name, _) in roster.iter().flat_map(|roster| roster.nodes()) {
        let is_there = me == Some(name) || names.contains(&&**name);
        if !is_there && !missing.iter().any(|one| one.name == *name) {
            missing.push(MissingView {
                name: name.clone(),
                state: UNSEEN.to_owned(),
                ..MissingView::default()
            });
        }
    }
    missing.sort_by(|one, other| one.name.cmp(&other.name));
    let present = status.peers.len() as u64 + 1;
    RollView {
        expected: present + missing.len() as u64,
        present,
        missing,
    }
}

/// Who is missing, in one sentence; nothing where everybody is there.
pub(crate) fn trouble(shared: &Shared) -> Option<String> {
    let handle = shared.cluster.get()?;
    let now = shared.engine.now();
    let cluster = handle.hub().cluster.lock();
    let status = cluster.status(now);
    let me = cluster.members().iter().find(|one| one.node == status.node);
    let me = me.map(|me| me.about.name.clone());
    drop(cluster);
    roll(shared, &status, me.as_deref()).sentence()
}

/// Forgets a dead node by its name, here and at all members. Says how many members are told.
pub(crate) fn forget(shared: &Shared, name: &str, now: Instant) -> Result<usize, Unforgettable> {
    let handle = shared.cluster.get().ok_or(Unforgettable::NoCluster)?;
    if handle.names_alive().iter().any(|alive| alive == name) {
        return Err(Unforgettable::Alive);
    }
    let roster = shared.engine.node().roster();
    if roster.is_some_and(|roster| roster.has(name)) {
        return Err(Unforgettable::Roster);
    }
    let hub = handle.hub();
    if !hub.cluster.lock().forget(name, now) {
        return Err(Unforgettable::Unknown);
    }
    hub.wake.notify_one();
    Ok(handle.members().members.len().saturating_sub(1))
}

pub(super) const DEAD: &str = "dead";
pub(super) const UNSEEN: &str = "unseen";
/// Nodes that a sentence names.
const NAMED_MAX: usize = 8;

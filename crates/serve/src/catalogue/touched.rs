//! Which terms a change may have affected.

use std::collections::BTreeSet;
use std::net::IpAddr;

use tollgate_catalogue::{Assignment, Change, Document, Identity, Kind};
use tollgate_catalogue_sql::{Database, Error, PAGE_MAX, Snapshot};
use tollgate_node::Node;

/// What changed since a revision.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// Contracts or plans changed and must be compiled again.
    pub(super) has_objects: bool,
    pub(super) has_bans: bool,
    /// All keys are affected, as the single changes are unknown.
    is_everybody: bool,
    identities: Vec<Identity>,
    /// Authors of changes to contracts or plans.
    authors: BTreeSet<String>,
}

impl Touched {
    fn everything() -> Self {
        Self {
            has_objects: true,
            has_bans: true,
            is_everybody: true,
            ..Self::default()
        }
    }

    /// What changed between a revision and that of the snapshot.
    pub(super) async fn since(
        database: &Database,
        revision: u64,
        snapshot: &Snapshot,
    ) -> Result<Self, Error> {
        let behind = snapshot.revision.checked_sub(revision);
        let Some(behind) = behind.filter(|behind| *behind <= PAGE_MAX) else {
            // Too far behind, or the database was restored.
            return Ok(Self::everything());
        };
        let changes = database.changes(revision, behind).await?;
        Ok(Self::of(&changes, behind))
    }

    fn of(changes: &[Change], behind: u64) -> Self {
        if u64::try_from(changes.len()) != Ok(behind) {
            return Self::everything();
        }
        let mut touched = Self::default();
        for change in changes {
            match change.kind {
                Kind::Contract | Kind::Plan => {
                    touched.has_objects = true;
                    touched.is_everybody = true;
                    touched.authors.insert(change.author.clone());
                }
                Kind::Import => touched.is_everybody = true,
                Kind::Assignment => touched.add(change),
                Kind::Ban => touched.has_bans = true,
            }
        }
        touched
    }

    /// The authors for one log line.
    pub(super) fn authors(&self) -> String {
        match self.authors.len() {
            0 => "changes that are not known one by one".to_owned(),
            1..=AUTHORS_MAX => {
                let names: Vec<&str> = self.authors.iter().map(String::as_str).collect();
                names.join(", ")
            }
            count => format!("{count} authors"),
        }
    }

    fn add(&mut self, change: &Change) {
        let read = |document: &Document| Assignment::read(&document.to_string());
        for document in change.before.iter().chain(&change.after) {
            match read(document) {
                Ok(assignment) => self.identities.push(assignment.identity),
                Err(_) => self.is_everybody = true,
            }
        }
    }

    /// Drops terms and bans that may be outdated.
    pub(super) fn forget(&self, node: &Node) {
        let contracts = node.contracts().as_slice().iter().enumerate();
        for (place, contract) in contracts {
            let about = |is: &&Identity| contract.key.iter().any(|entry| entry == is.entry());
            let about: Vec<&Identity> = self.identities.iter().filter(about).collect();
            let is_one_by_one = contract.key.len() == 1 && about.iter().all(|is| is_plain(is));
            if self.is_everybody || (!about.is_empty() && !is_one_by_one) {
                node.unlearn_all(place);
                continue;
            }
            for identity in about {
                node.unlearn_value(place, identity.value());
            }
        }
    }
}

/// Authors named in one line.
const AUTHORS_MAX: usize = 5;

/// Whether the identity has one spelling only: addresses have several, and ranges match many.
fn is_plain(identity: &Identity) -> bool {
    let value = identity.value();
    let address = value.split('/').next().unwrap_or_default();
    address.parse::<IpAddr>().is_err()
}

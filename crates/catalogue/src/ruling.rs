//! What binds one key of one contract at one time.
//!
//! Not here: finding the assignments of a key; the storage looks them up by [`Catalogue::identities`].

use std::sync::Arc;

use tollgate_contract::file::Problems;
use tollgate_contract::{Contract, Deal, Terms};
use tollgate_limit::Instant;

use crate::assignment::Assignment;
use crate::catalogue::Catalogue;
use crate::deal::{check_changes, is_about};
use crate::identity::candidates;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRuling {
    /// The key's own terms; `None` is the plain contract.
    pub terms: Option<Arc<Terms>>,
    /// When this expires even if nothing changes; `None` is never.
    pub until: Option<Instant>,
    /// The id of the assignment that applies.
    pub by: Option<String>,
    /// Why that assignment is ignored: it was valid when created, and is not any more.
    pub failed: Option<String>,
}

impl Catalogue {
    /// The identities whose assignments may apply to a key, as [`crate::Identity`] displays them; most specific first.
    pub fn identities(contract: &Contract, values: &[&str]) -> Vec<String> {
        let entries = contract.key.iter().zip(values);
        entries
            .flat_map(|(entry, value)| candidates(entry, value))
            .collect()
    }

    /// What binds the key with these values of the contract's entries at `now`, given the
    /// assignments of its identities.
    ///
    /// Of the contract's entries the first with an assignment in force wins; an address itself before its
    /// ranges, the longest first; and an assignment to this contract alone before one to any.
    pub fn ruling(
        &self,
        contract: &Contract,
        values: &[&str],
        assignments: &[Assignment],
        now: Instant,
    ) -> KeyRuling {
        let about = |is: &&Assignment| is_about(contract, is.contract.as_deref());
        let about: Vec<&Assignment> = assignments.iter().filter(about).collect();
        let identities = Self::identities(contract, values);
        let place = |identity: &str| identities.iter().position(|is| is == identity);
        let mut live: Vec<(usize, bool, &Assignment, &Deal)> = Vec::new();
        let mut until: Option<Instant> = None;
        for assignment in about {
            let Some(place) = place(&assignment.identity.to_string()) else {
                continue;
            };
            let next = assignment.changes_after(now);
            until = until.into_iter().chain(next).min();
            if let Some(deal) = assignment.live_at(now) {
                live.push((place, assignment.contract.is_none(), assignment, deal));
            }
        }
        let first = live
            .into_iter()
            .min_by_key(|(place, any, of, _)| (*place, *any, &of.id));
        let mut ruling = KeyRuling {
            until,
            ..KeyRuling::default()
        };
        if let Some((_, _, assignment, deal)) = first {
            ruling.by = Some(assignment.id.clone());
            let mut problems = Problems::default();
            let terms = contract.terms(self.plans(), deal, &mut problems);
            if let Some(terms) = &terms {
                check_changes(contract, terms, deal, &mut problems);
            }
            match terms.filter(|_| problems.is_empty()) {
                Some(terms) => ruling.terms = Some(Arc::new(terms)),
                None => ruling.failed = Some(problems.messages().collect::<Vec<_>>().join("; ")),
            }
        }
        ruling
    }
}

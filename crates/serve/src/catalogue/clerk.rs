//! Looks up the terms of keys on their first request.
//!
//! Many keys on one plan share their terms. A key whose look-up misses the deadline keeps its last terms, or else the
//! policies of the contract; the look-up continues and the next request uses its result. Not here: which requests wait
//! (`engine::later`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant as Moment};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tollgate_catalogue::{Assignment, Catalogue};
use tollgate_catalogue_sql::{Database, Error, Snapshot};
use tollgate_contract::{Contract, Terms};
use tollgate_limit::{Instant, Span};
use tollgate_node::{Knowledge, Node};

use super::Live;
use crate::engine::{Learning, Registrar, Unknown};
use crate::logs::Rarely;

pub(crate) struct Clerk(Arc<Desk>);

struct Desk {
    live: Arc<Live>,
    handle: Handle,
    /// How long a request waits.
    deadline: Duration,
    /// Shared terms by contract and version, for as long as a key uses them.
    terms: Mutex<BTreeMap<(String, u64), Weak<Terms>>>,
    permits: Semaphore,
    since: Moment,
    /// Milliseconds after `since` until which the database is not asked, because the last query failed.
    rest_until: AtomicU64,
    said: Rarely,
}

impl Clerk {
    pub(crate) fn new(live: &Arc<Live>, handle: &Handle, deadline: Duration) -> Self {
        Self(Arc::new(Desk {
            live: Arc::clone(live),
            handle: handle.clone(),
            deadline,
            terms: Mutex::default(),
            permits: Semaphore::new(LOOKUPS_MAX),
            since: Moment::now(),
            rest_until: AtomicU64::new(0),
            said: Rarely::new(SAY_EVERY),
        }))
    }
}

impl Registrar for Clerk {
    fn learn<'a>(
        &'a self,
        node: &'a Arc<Node>,
        unknown: Vec<Unknown>,
        now: Instant,
    ) -> Learning<'a> {
        let desk = Arc::clone(&self.0);
        let unknown: Arc<[Unknown]> = unknown.into();
        let asked = (Arc::clone(node), Arc::clone(&unknown));
        let looking = self.0.handle.spawn(async move {
            let (node, unknown) = asked;
            desk.learn(&node, &unknown, now).await;
        });
        Box::pin(async move {
            let looked = tokio::time::timeout(self.0.deadline, looking).await;
            // The panic was logged already; the key is limited by its contract.
            if looked.is_err() {
                self.0.do_without(node, &unknown, now);
            }
        })
    }
}

impl Desk {
    async fn learn(&self, node: &Node, unknown: &[Unknown], now: Instant) {
        let mut tries = 0..TRIES;
        loop {
            let (seen, snapshot) = self.live.in_force();
            let each = unknown.iter();
            let asked: Vec<Option<Asked<'_>>> = each
                .map(|unknown| Asked::of(&snapshot, node.newest(), unknown))
                .collect();
            let identities = asked.iter().flatten();
            let identities = identities.flat_map(|asked| asked.identities.iter().cloned());
            let found = self.find(identities.collect()).await;
            // Keeps the state in force until all results are reported.
            let turn = self.live.turn();
            let is_old = *turn != seen;
            if is_old && tries.next().is_some() {
                continue;
            }
            for (unknown, asked) in unknown.iter().zip(&asked) {
                let known = asked.as_ref().zip(found.as_ref());
                let known = known.map(|(asked, found)| Knowledge {
                    revision: seen,
                    ..self.ruling(&snapshot, asked, found, now)
                });
                let mut known = known.unwrap_or_else(|| Knowledge::none(soon(now)));
                if is_old {
                    known.until = soon(now);
                }
                node.learn_of(&unknown.contract, unknown.stranger.print, known, now);
            }
            return;
        }
    }

    /// Limits keys by what is known while their look-up continues, so that other requests for them do not wait.
    fn do_without(&self, node: &Node, unknown: &[Unknown], now: Instant) {
        self.live.counts.late.add(1);
        self.rest();
        for unknown in unknown {
            let nothing = Knowledge::none(soon(now));
            node.learn_of(&unknown.contract, unknown.stranger.print, nothing, now);
        }
    }

    fn rest(&self) {
        self.rest_until.store(self.millis() + REST_MS, Relaxed);
    }

    /// Assignments by identity; `None` if the database could not be asked.
    async fn find(&self, mut identities: Vec<String>) -> Option<Found> {
        let database = self.live.database()?;
        let counts = &self.live.counts;
        identities.sort_unstable();
        identities.dedup();
        let Ok(_permit) = self.permits.try_acquire() else {
            counts.shed.add(1);
            return None;
        };
        if self.millis() < self.rest_until.load(Relaxed) {
            counts.unasked.add(1);
            return None;
        }
        let mut found = Found::new();
        for part in identities.chunks(IDENTITIES_MAX) {
            let began = Moment::now();
            match look_up(database, part.to_vec()).await {
                Ok(assignments) => {
                    counts.looked_up(began.elapsed());
                    self.rest_until.store(0, Relaxed);
                    for assignment in assignments {
                        let identity = assignment.identity.to_string();
                        found.entry(identity).or_default().push(assignment);
                    }
                }
                Err(error) => {
                    self.failed(&error);
                    return None;
                }
            }
        }
        Some(found)
    }

    fn failed(&self, error: &Error) {
        self.live.counts.failed.add(1);
        self.rest();
        if let Some(before) = self.said.now() {
            tracing::warn!(%error, before, "terms cannot be looked up; keys keep those they have, or their contract's");
        }
    }

    fn ruling(
        &self,
        snapshot: &Snapshot,
        asked: &Asked<'_>,
        found: &Found,
        now: Instant,
    ) -> Knowledge {
        let own = asked.identities.iter().filter_map(|is| found.get(is));
        let own: Vec<Assignment> = own.flatten().cloned().collect();
        let values: Vec<&str> = asked.unknown.values.iter().map(String::as_str).collect();
        let ruling = snapshot
            .catalogue
            .ruling(asked.contract, &values, &own, now);
        if let Some(why) = &ruling.failed {
            self.live.counts.rulings_failed.add(1);
            if let Some(before) = self.said.now() {
                let by = ruling.by.as_deref().unwrap_or_default();
                tracing::warn!(by, why, before, "an assignment makes no sense any more");
            }
        }
        let terms = ruling.terms.map(|terms| self.shared(asked, terms));
        let is_shared = terms.as_ref().is_none_or(|(_, is_shared)| *is_shared);
        Knowledge {
            terms: terms.map(|(terms, _)| terms),
            is_shared,
            revision: 0,
            until: ruling.until.unwrap_or(NEVER),
        }
    }

    /// Replaces terms by equal ones that other keys use already.
    fn shared(&self, asked: &Asked<'_>, terms: Arc<Terms>) -> (Arc<Terms>, bool) {
        let mut all = self.terms.lock();
        if all.len() >= TERMS_MAX {
            all.retain(|_, terms| terms.strong_count() > 0);
        }
        let key = (asked.contract.id.clone(), terms.version);
        let known = all.get(&key).and_then(Weak::upgrade);
        if let Some(known) = known.filter(|known| **known == *terms) {
            return (known, true);
        }
        if all.len() < TERMS_MAX {
            all.insert(key, Arc::downgrade(&terms));
        }
        (terms, false)
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

type Found = BTreeMap<String, Vec<Assignment>>;

/// A key to be looked up, and its contract in the catalogue.
struct Asked<'a> {
    unknown: &'a Unknown,
    contract: &'a Contract,
    identities: Vec<String>,
}

impl<'a> Asked<'a> {
    /// `None` while the catalogue and the node disagree about the contract, which is short.
    fn of(snapshot: &'a Snapshot, node: &Node, unknown: &'a Unknown) -> Option<Self> {
        let contract = snapshot.catalogue.contract(&unknown.contract)?;
        let place = node.contracts().position(&unknown.contract)?;
        let is_same = node.contracts().get(place)?.key == contract.key;
        let values: Vec<&str> = unknown.values.iter().map(String::as_str).collect();
        is_same.then(|| Self {
            unknown,
            contract,
            identities: Catalogue::identities(contract, &values),
        })
    }
}

async fn look_up(database: &Database, identities: Vec<String>) -> Result<Vec<Assignment>, Error> {
    let looking = database.lookup(identities);
    let found = tokio::time::timeout(LOOKUP_WITHIN, looking).await;
    found.unwrap_or(Err(Error::Late))
}

/// When to look up again after an uncertain result.
fn soon(now: Instant) -> Instant {
    now.saturating_add(Span::from_nanos(SOON_NS))
}

/// How long a query may take, whether or not a request still waits for it.
const LOOKUP_WITHIN: Duration = Duration::from_secs(1);
/// Concurrent look-ups; requests beyond are limited by what is known.
const LOOKUPS_MAX: usize = 1024;
/// Identities in one statement.
const IDENTITIES_MAX: usize = 2000;
/// How long the database is not asked after a query failed.
const REST_MS: u64 = 200;
/// Terms that keys can share; beyond, each key has its own copy.
const TERMS_MAX: usize = 1 << 16;
/// Attempts if the state in force changes during a look-up.
const TRIES: usize = 3;
const SOON_NS: u128 = 500_000_000;
const NEVER: Instant = Instant::from_nanos(u64::MAX);
const SAY_EVERY: Duration = Duration::from_secs(10);

//! One stream of a data plane: reports arrive, assignments leave, and due work is done in between.
//!
//! The task that sends answers polls the stream, so a client that does not read its answers is not read either. While
//! owners of keys are asked, no report is read. Not here: what is assigned.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant as Timer, Sleep, sleep_until};
use tollgate_limit::Instant;
use tollgate_node::{Node, PlaneId, QuotaReport, QuotaTold, Spot};
use tollgate_wire::rlqs::{
    BlanketRule, BucketAction, BucketId, BucketQuotaUsage, RateLimitQuotaResponse,
    RateLimitQuotaUsageReports,
};
use tonic::codegen::tokio_stream::Stream;
use tonic::{Code, Status, Streaming};

use super::away::{self, PendingQuotas, QuotaQueue};
use super::bind::{BucketBinding, BucketPlace, Unserved, bind};
use super::say::{blanket, elapsed_ns, response, said, wrong};
use crate::access::{Operation, Pass};
use crate::engine::{QuotaAsk, QuotaHeard, Turn};
use crate::meter::{Door, Event};
use crate::rls::LIST_MAX;
use crate::shared::Shared;
use crate::supply::steady_now;

pub(super) struct QuotaSession {
    shared: Arc<Shared>,
    reports: Streaming<RateLimitQuotaUsageReports>,
    /// The caller's authorization; the stream ends with its token.
    pass: Option<Pass>,
    domain: Option<String>,
    held: BTreeMap<Arc<BucketId>, Held>,
    /// When to revisit which bucket, on the monotonic clock.
    dues: BTreeSet<(Instant, Arc<BucketId>)>,
    alarm: Pin<Box<Sleep>>,
    /// Questions to owners of keys, waiting and in flight.
    line: QuotaQueue,
    asking: Option<PendingQuotas>,
    /// Restarted by every message of the data plane.
    heard: Timer,
    is_over: bool,
}

/// A bucket that the data plane is subscribed to.
struct Held {
    place: BucketPlace,
    number: PlaneId,
    due: Option<Instant>,
}

impl QuotaSession {
    /// Starts a session; refused if there are too many, or nothing to assign from.
    pub(super) fn open(
        shared: Arc<Shared>,
        reports: Streaming<RateLimitQuotaUsageReports>,
        pass: Option<Pass>,
    ) -> Result<Self, Status> {
        if shared.settings.limits.quota.ttl_s == 0 {
            return Err(Status::failed_precondition(
                "this server assigns no quotas; set `limits.quota_ttl`, for instance to 20",
            ));
        }
        if shared.engine.assigns_nothing() {
            return Err(Status::failed_precondition(
                "this server decides nothing itself; open the stream at one of the nodes it asks",
            ));
        }
        if !shared.quota.enter() {
            shared.engine.meter().count(Event::Shed(Door::Grpc));
            return Err(Status::resource_exhausted(
                "too many streams of data planes",
            ));
        }
        let heard = Timer::now();
        Ok(Self {
            shared,
            reports,
            pass,
            domain: None,
            held: BTreeMap::new(),
            dues: BTreeSet::new(),
            alarm: Box::pin(sleep_until(heard + LOOK_EVERY)),
            line: QuotaQueue::default(),
            asking: None,
            heard,
            is_over: false,
        })
    }

    /// Handles a message; returns the response, if any.
    fn handle(
        &mut self,
        reports: &RateLimitQuotaUsageReports,
    ) -> Result<Option<RateLimitQuotaResponse>, Status> {
        self.heard = Timer::now();
        self.check_domain(&reports.domain)?;
        let shared = Arc::clone(&self.shared);
        let turn = shared.engine.turn().by(Door::Grpc);
        let mut actions = Vec::with_capacity(reports.bucket_quota_usages.len().min(64));
        for usage in &reports.bucket_quota_usages {
            actions.extend(self.judge(&turn, usage));
        }
        self.ask();
        self.wind();
        Ok(response(actions))
    }

    /// Sends the queued questions to owners of keys.
    fn ask(&mut self) {
        self.asking = std::mem::take(&mut self.line).ask(&self.shared);
    }

    /// Handles the owners' answers. An owner that did not answer is asked again under a new subscription: the lost
    /// answer did not reach the data plane.
    fn hear(&mut self, asking: PendingQuotas) -> Option<RateLimitQuotaResponse> {
        let mut actions = Vec::new();
        for (id, number, heard) in asking.heard() {
            if self.held.get(&id).is_none_or(|held| held.number != number) {
                continue;
            }
            let told = match heard {
                QuotaHeard::Told(told) => told,
                QuotaHeard::NoRoom => {
                    actions.extend(self.refuse(&id, &no_room()));
                    continue;
                }
                QuotaHeard::Silence => {
                    self.shared.quota.miss();
                    self.drop_held(&id);
                    continue;
                }
            };
            self.look(&id, told);
            actions.extend(told.action.map(|action| said(&id, action)));
        }
        self.wind();
        response(actions)
    }

    /// The first message names the domain; later ones may repeat it.
    fn check_domain(&mut self, named: &str) -> Result<(), Status> {
        match &self.domain {
            None if named.is_empty() => Err(wrong("the first report needs a domain")),
            None if named.len() > self.shared.settings.limits.key_bytes_max => {
                Err(wrong("the domain is too long"))
            }
            None => {
                self.domain = Some(named.to_owned());
                Ok(())
            }
            Some(domain) if named.is_empty() || named == domain => Ok(()),
            Some(_) => Err(wrong(
                "the domain cannot change within a stream; open another one",
            )),
        }
    }

    /// The action for one bucket. One that cannot be served gets its own action, so that other buckets are unaffected.
    fn judge(&mut self, turn: &Turn<'_>, usage: &BucketQuotaUsage) -> Option<BucketAction> {
        let nothing = BucketId::default();
        let bucket = usage.bucket_id.as_ref().unwrap_or(&nothing);
        let report = self.checked(usage, bucket);
        let told = report.and_then(|report| self.report(turn, bucket, &report));
        told.unwrap_or_else(|why| self.refuse(bucket, &why))
    }

    /// The configured action for a bucket that cannot be served; logs it.
    fn refuse(&mut self, bucket: &BucketId, why: &Unserved) -> Option<BucketAction> {
        self.forget(bucket);
        let quota = self.shared.settings.limits.quota;
        let (rule, answer) = if quota.allows_unserved {
            (BlanketRule::AllowAll, "allow")
        } else {
            (BlanketRule::DenyAll, "deny")
        };
        let is_text = is_text(bucket);
        let answer = if is_text { answer } else { "none" };
        self.shared.quota.unserved(bucket, why, answer);
        is_text.then(|| blanket(bucket, rule, quota.ttl_s))
    }

    fn checked(
        &self,
        usage: &BucketQuotaUsage,
        bucket: &BucketId,
    ) -> Result<QuotaReport, Unserved> {
        if bucket.bucket.is_empty() {
            let what = "a report needs a `bucket_id` with a name in it; give `bucket_id_builder` a value that every request has";
            return Err(Unserved(what.to_owned()));
        }
        if !is_text(bucket) {
            let what = "a value is no UTF-8; Envoy takes no answer about it, and does what `no_assignment_behavior` says";
            return Err(Unserved(what.to_owned()));
        }
        let most = self.shared.settings.limits.key_bytes_max;
        let bytes = bucket.bucket.iter();
        let bytes: usize = bytes.map(|(name, value)| name.len() + value.len()).sum();
        if bytes > most || bucket.bucket.len() > LIST_MAX {
            return Err(Unserved(format!(
                "a `bucket_id` has at most {LIST_MAX} names and {most} bytes (`limits.key`)"
            )));
        }
        Ok(QuotaReport {
            elapsed_ns: elapsed_ns(usage.time_elapsed)?,
            allowed: usage.num_requests_allowed,
            denied: usage.num_requests_denied,
        })
    }

    fn report(
        &mut self,
        turn: &Turn<'_>,
        bucket: &BucketId,
        report: &QuotaReport,
    ) -> Result<Option<BucketAction>, Unserved> {
        let domain = self.domain.as_deref().unwrap_or_default();
        let ttl_s = self.shared.settings.limits.quota.ttl_s;
        let place = match bind(turn, domain, bucket)? {
            BucketBinding::Free => {
                self.forget(bucket);
                return Ok(Some(blanket(bucket, BlanketRule::AllowAll, ttl_s)));
            }
            BucketBinding::Barred => {
                self.forget(bucket);
                return Ok(Some(blanket(bucket, BlanketRule::DenyAll, ttl_s)));
            }
            BucketBinding::Lent(place) => place,
        };
        let (id, number) = self.subscribed(bucket, &place)?;
        let node = turn.node();
        let spot = place.spot(node);
        if let Some(spot) = self.elsewhere(spot.as_ref(), node) {
            self.line
                .add(&id, (spot, number, QuotaAsk::Report(*report)));
            return Ok(None);
        }
        let told = spot.and_then(|spot| node.quota_report(&spot, number, report, turn.now()));
        let told = told.ok_or_else(no_room)?;
        self.look(&id, told);
        Ok(told.action.map(|action| said(bucket, action)))
    }

    /// The subscription to a bucket; a first report creates it.
    fn subscribed(
        &mut self,
        bucket: &BucketId,
        place: &BucketPlace,
    ) -> Result<(Arc<BucketId>, PlaneId), Unserved> {
        if let Some((id, held)) = self.held.get_key_value(bucket) {
            if held.place == *place {
                return Ok((Arc::clone(id), held.number));
            }
            self.forget(bucket);
        }
        if self.held.len() >= BUCKETS_MAX {
            return Err(Unserved(format!(
                "a stream has at most {BUCKETS_MAX} buckets"
            )));
        }
        let (id, number) = (Arc::new(bucket.clone()), self.shared.quota.number());
        let held = Held {
            place: place.clone(),
            number,
            due: None,
        };
        self.held.insert(Arc::clone(&id), held);
        Ok((id, number))
    }

    /// Schedules the next visit of a bucket; ignores one without a subscription.
    fn look(&mut self, id: &Arc<BucketId>, told: QuotaTold) {
        let Some(held) = self.held.get_mut(id) else {
            return;
        };
        if let Some(before) = held.due.take() {
            self.dues.remove(&(before, Arc::clone(id)));
        }
        match told.due_ns {
            Some(wait) => {
                let due = Instant::from_nanos(steady_now().as_nanos().saturating_add(wait));
                held.due = Some(due);
                self.dues.insert((due, Arc::clone(id)));
            }
            None => {
                self.held.remove(id);
            }
        }
    }

    /// The spot, if another node owns the key.
    fn elsewhere(&self, spot: Option<&Spot>, node: &Node) -> Option<Spot> {
        let engine = &self.shared.engine;
        spot.copied().filter(|spot| !engine.assigns(node, spot))
    }

    /// Ends a subscription. Assignments stay in the ledger as long as they may be in use.
    fn forget(&mut self, bucket: &BucketId) {
        let held = self.drop_held(bucket);
        leave(&self.shared, held.iter());
    }

    fn drop_held(&mut self, bucket: &BucketId) -> Option<Held> {
        let (id, held) = self.held.remove_entry(bucket)?;
        if let Some(due) = held.due {
            self.dues.remove(&(due, id));
        }
        Some(held)
    }

    /// Does the due work.
    fn look_after(&mut self) -> Option<RateLimitQuotaResponse> {
        let now = self.shared.engine.now();
        let mut actions = Vec::new();
        for _ in 0..LOOKS_MAX {
            let Some((due, id)) = self.dues.first().cloned() else {
                break;
            };
            if due > steady_now() {
                break;
            }
            let Some(held) = self.held.get(&id) else {
                self.dues.remove(&(due, id));
                continue;
            };
            let node = self.shared.engine.node();
            let spot = held.place.spot(&node);
            if let Some(spot) = self.elsewhere(spot.as_ref(), &node) {
                self.line.add(&id, (spot, held.number, QuotaAsk::Due));
                self.dues.remove(&(due, id));
                continue;
            }
            let told = spot.map(|spot| node.quota_due(&spot, held.number, now));
            let told = told.unwrap_or_default();
            self.look(&id, told);
            actions.extend(told.action.map(|action| said(&id, action)));
        }
        self.ask();
        response(actions)
    }

    /// Sets the timer for the next due work, and soon enough to notice a stopping server.
    fn wind(&mut self) {
        let now = steady_now();
        let due = self.dues.first().map(|(due, _)| due.nanos_since(now));
        let due = due.map_or(LOOK_EVERY, Duration::from_nanos);
        let next = Timer::now() + due.clamp(LOOK_SOON, LOOK_EVERY);
        self.alarm.as_mut().reset(next);
    }

    /// The status to end the stream with, if it is over.
    fn ends(&mut self) -> Option<Status> {
        if !self.shared.state.is_ready() {
            return Some(Status::unavailable("the server stops"));
        }
        if !self.may_go_on() {
            return Some(Status::unauthenticated(
                "the token's time is up, or it was replaced; open the stream again with another",
            ));
        }
        let limits = &self.shared.settings.limits;
        let most = if self.domain.is_none() {
            limits.slow
        } else {
            limits.idle
        };
        let is_silent = self.heard.elapsed() > most;
        is_silent.then(|| Status::deadline_exceeded("nothing was reported for long"))
    }

    /// Whether the stream's token is still valid.
    fn may_go_on(&mut self) -> bool {
        let callers = &self.shared.callers;
        let scopes = self.pass.as_mut().and_then(|pass| pass.scopes(callers));
        scopes.is_some_and(|scopes| Operation::Quota.is_within(scopes).is_ok())
    }

    fn end(&mut self, status: Status) -> Poll<Option<Result<RateLimitQuotaResponse, Status>>> {
        self.is_over = true;
        let event = match status.code() {
            Code::InvalidArgument => Some(Event::Malformed(Door::Grpc)),
            Code::DeadlineExceeded => Some(Event::TimedOut(Door::Grpc)),
            Code::ResourceExhausted => Some(Event::Shed(Door::Grpc)),
            Code::Unauthenticated => Some(Event::Unauthorized(Door::Grpc)),
            _ => None,
        };
        if let Some(event) = event {
            self.shared.engine.meter().count(event);
        }
        Poll::Ready(Some(Err(status)))
    }
}

impl Stream for QuotaSession {
    type Item = Result<RateLimitQuotaResponse, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let session = self.get_mut();
        if session.is_over {
            return Poll::Ready(None);
        }
        loop {
            if let Some(asking) = &mut session.asking {
                if asking.poll(context).is_pending() {
                    return Poll::Pending;
                }
                let heard = session.asking.take();
                let heard = heard.and_then(|asking| session.hear(asking));
                if let Some(response) = heard {
                    return Poll::Ready(Some(Ok(response)));
                }
            }
            match Pin::new(&mut session.reports).poll_next(context) {
                Poll::Ready(Some(Ok(reports))) => match session.handle(&reports) {
                    Ok(Some(response)) => return Poll::Ready(Some(Ok(response))),
                    Ok(None) => continue,
                    Err(status) => return session.end(status),
                },
                Poll::Ready(Some(Err(status))) => return session.end(status),
                Poll::Ready(None) => {
                    session.is_over = true;
                    return Poll::Ready(None);
                }
                Poll::Pending => {}
            }
            if let Some(status) = session.ends() {
                return session.end(status);
            }
            if session.alarm.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            let said = session.look_after();
            session.wind();
            if let Some(response) = said {
                return Poll::Ready(Some(Ok(response)));
            }
        }
    }
}

impl Drop for QuotaSession {
    fn drop(&mut self) {
        leave(&self.shared, self.held.values());
        self.shared.quota.leave();
    }
}

/// Reports to the owners of the keys that a data plane is gone; delivery to other nodes is best effort.
fn leave<'h>(shared: &Arc<Shared>, all: impl Iterator<Item = &'h Held>) {
    let node = shared.engine.node();
    let mut away = Vec::new();
    for held in all {
        match held.place.spot(&node) {
            Some(spot) if shared.engine.assigns(&node, &spot) => {
                node.quota_leave(&spot, held.number, shared.engine.now());
            }
            Some(spot) => away.push((spot, held.number, QuotaAsk::Leave)),
            None => {}
        }
    }
    away::tell(shared, away);
}

/// Whether a bucket is valid in an answer. An invalid one ends the whole stream at Envoy.
fn is_text(bucket: &BucketId) -> bool {
    let mut values = bucket.bucket.values();
    values.all(|value| std::str::from_utf8(value).is_ok())
}

fn no_room() -> Unserved {
    let what = "no room for another key, or whoever owns it assigns no quotas: `limits.quota_ttl` is for all nodes";
    Unserved(what.to_owned())
}

/// Buckets of one stream.
const BUCKETS_MAX: usize = 10_000;
/// Buckets visited in one go.
const LOOKS_MAX: usize = 1_000;
/// The longest and the shortest time between two visits.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const LOOK_SOON: Duration = Duration::from_millis(10);

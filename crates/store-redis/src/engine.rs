//! The engine: requests in, answers out, everything within the deadline.

use core::time::Duration;
use std::sync::Arc;

use parking_lot::Mutex;
use redis::{Cmd, ErrorKind, RedisResult, ServerErrorKind, Value};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tollgate_store::{
    Book, ClockComparison, Engine, EngineAnswer, Failure, LedgerId, LoadedLedger, StoreRequest,
    Swap, Swapped,
};

use crate::clock;
use crate::config::Config;
use crate::decide::{Answers, decide};
use crate::dial::Dialer;
use crate::exact::PackedPolicies;
use crate::figures::RedisFigures;
use crate::lanes::{Entered, Group, Lanes, WaitingAsk};
use crate::ledger;
use crate::link::{Error, RedisLink};
use crate::name::{self, RedisKey};
use crate::reply::ScriptReply;
use crate::scripts::{Script, Scripts};
use crate::shapes::Shapes;
use crate::together::{TOGETHER_MAX, Together};

/// Redis, as an engine that decides.
pub struct Redis {
    inner: Arc<EngineInner>,
}

pub(crate) struct EngineInner {
    links: Vec<Arc<RedisLink>>,
    follows_primary: bool,
    /// Whether one server has all keys.
    has_all: bool,
    lanes: Lanes,
    pub(crate) scripts: Scripts,
    shapes: Shapes,
    pub(crate) figures: RedisFigures,
    pub(crate) linger_ms: u64,
    clock: Mutex<Option<ClockComparison>>,
}

impl Redis {
    /// Connects in the background; requests fail until then, for which [`Self::tried`] waits. Must be called within a
    /// runtime.
    pub fn open(config: &Config) -> RedisResult<Self> {
        let dialer = Arc::new(Dialer::new(config)?);
        let count = if matches!(*dialer, Dialer::Cluster(_)) {
            1
        } else {
            config.connections.max(1)
        };
        let linger_ms = u64::try_from(config.linger.as_millis()).unwrap_or(u64::from(u32::MAX));
        let inner = Arc::new(EngineInner {
            has_all: !matches!(*dialer, Dialer::Cluster(_)),
            links: (0..count)
                .map(|_| RedisLink::open(Arc::clone(&dialer)))
                .collect(),
            follows_primary: dialer.follows_primary(),
            lanes: Lanes::new(config.in_flight_max, linger_ms),
            scripts: Scripts::new(),
            shapes: Shapes::default(),
            figures: RedisFigures::default(),
            linger_ms,
            clock: Mutex::new(None),
        });
        tokio::spawn(clock::keep(Arc::downgrade(&inner)));
        Ok(Self { inner })
    }

    pub fn is_up(&self) -> bool {
        self.inner.links.iter().all(|link| link.is_up())
    }

    /// Waits at most `time` until every connection is up or has failed once. Returns whether all are up.
    pub async fn tried(&self, time: Duration) -> bool {
        let tried = async {
            while !self.inner.links.iter().all(|link| link.is_tried()) {
                sleep(LOOK).await;
            }
        };
        // Connections in progress count as not up.
        let _ = timeout(time, tried).await;
        self.is_up()
    }

    pub fn figures(&self) -> &RedisFigures {
        &self.inner.figures
    }

    /// Keys in flight.
    pub fn in_flight(&self) -> usize {
        self.inner.lanes.flights()
    }

    /// Counts attempts to connect.
    pub fn dials(&self) -> u64 {
        self.inner.links.iter().map(|link| link.dials()).sum()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        for link in &self.inner.links {
            link.close();
        }
    }
}

impl Engine for Redis {
    async fn ask(
        &self,
        batch: Vec<StoreRequest>,
        time: Duration,
    ) -> Vec<Result<EngineAnswer, Failure>> {
        let deadline = Instant::now() + time;
        let mut firsts = Vec::new();
        let mut answers = Vec::with_capacity(batch.len());
        for ask in batch {
            let key = RedisKey::of(&ask);
            let (answer, receiver) = oneshot::channel();
            let waiting = WaitingAsk {
                ask,
                deadline,
                answer,
            };
            match self.inner.lanes.enter(key, waiting) {
                Entered::First => firsts.push(key),
                Entered::Queued => {}
                Entered::Busy => {
                    answers.push(None);
                    continue;
                }
            }
            answers.push(Some(receiver));
        }
        // Only now, so that requests of this batch for one key share a call.
        for keys in firsts.chunks(if self.inner.has_all { TOGETHER_MAX } else { 1 }) {
            tokio::spawn(fly_together(Arc::clone(&self.inner), keys.to_vec()));
        }
        let mut all = Vec::with_capacity(answers.len());
        for receiver in answers {
            all.push(match receiver {
                None => Err(Failure::Busy),
                Some(receiver) => match timeout_at(deadline, receiver).await {
                    Ok(Ok(said)) => said,
                    Ok(Err(_)) | Err(_) => Err(Failure::Late),
                },
            });
        }
        all
    }

    async fn load(&self, id: LedgerId, time: Duration) -> Result<LoadedLedger, Failure> {
        let key = RedisKey::of_ledger(id);
        self.inner
            .within(key, time, ledger::load(&self.inner, key))
            .await
    }

    async fn swap(&self, id: LedgerId, swap: Swap, time: Duration) -> Result<Swapped, Failure> {
        let key = RedisKey::of_ledger(id);
        self.inner
            .within(key, time, ledger::swap(&self.inner, key, &swap))
            .await
    }

    fn name(&self) -> &'static str {
        "redis"
    }

    fn clock(&self) -> Option<ClockComparison> {
        *self.inner.clock.lock()
    }
}

/// Calls for one key until no request waits for it; this group is the first.
async fn fly(inner: Arc<EngineInner>, key: RedisKey, group: Group) {
    let mut next = Some(group);
    while let Some(mut group) = next {
        inner.figures.called(group.waiting.len());
        let answers: Vec<_> = group.waiting.iter_mut().map(answer_of).collect();
        let deadline = until([&group]);
        let said = timeout_at(deadline, decide(&inner, key, group)).await;
        let said = said.unwrap_or_else(|_| {
            inner.link(key).timed_out();
            Err(Failure::Late)
        });
        deliver(answers, said);
        next = inner.lanes.next(key);
    }
}

/// Calls for keys that are not in flight yet: one call for all that can be combined, and one for each other.
async fn fly_together(inner: Arc<EngineInner>, keys: Vec<RedisKey>) {
    let alone = |key, group| drop(tokio::spawn(fly(Arc::clone(&inner), key, group)));
    let mut together = Together::default();
    for key in keys {
        let group = inner.lanes.next(key);
        if let Some(group) = group.and_then(|group| together.take(key, group)) {
            alone(key, group);
        }
    }
    if together.len() <= 1 {
        for (key, group) in together.apart() {
            fly(Arc::clone(&inner), key, group).await;
        }
        return;
    }
    inner
        .figures
        .called(together.each().map(|group| group.waiting.len()).sum());
    let said = timeout_at(until(together.each()), together.decide(&inner)).await;
    let said = said.unwrap_or(Err(Failure::Late));
    let groups = together.apart();
    if let (Err(Failure::Late), Some((key, _))) = (&said, groups.first()) {
        inner.link(*key).timed_out();
    }
    let failed = said.as_ref().err().cloned();
    let mut said = said.unwrap_or_default().into_iter();
    for (key, mut group) in groups {
        let said = match &failed {
            Some(failure) => Some(Err(failure.clone())),
            None => said.next().flatten(),
        };
        // What the script cannot decide is repeated alone.
        let Some(said) = said else {
            alone(key, group);
            continue;
        };
        deliver(group.waiting.iter_mut().map(answer_of).collect(), said);
        if let Some(group) = inner.lanes.next(key) {
            alone(key, group);
        }
    }
}

/// The latest deadline of the groups.
fn until<'g>(groups: impl IntoIterator<Item = &'g Group>) -> Instant {
    let waiting = groups.into_iter().flat_map(|group| &group.waiting);
    let deadline = waiting.map(|waiting| waiting.deadline).max();
    deadline.unwrap_or_else(Instant::now)
}

fn deliver(
    answers: Vec<oneshot::Sender<Result<EngineAnswer, Failure>>>,
    said: Result<Answers, Failure>,
) {
    match said {
        Ok(said) => {
            for (to, said) in answers.into_iter().zip(said) {
                // The caller may have stopped waiting.
                let _ = to.send(said);
            }
        }
        Err(failure) => {
            for to in answers {
                let _ = to.send(Err(failure.clone()));
            }
        }
    }
}

/// Takes the sender out of a waiting request, leaving a closed one.
fn answer_of(waiting: &mut WaitingAsk) -> oneshot::Sender<Result<EngineAnswer, Failure>> {
    core::mem::replace(&mut waiting.answer, oneshot::channel().0)
}

impl EngineInner {
    pub(crate) fn link(&self, key: RedisKey) -> &RedisLink {
        &self.links[key.spread() % self.links.len()]
    }

    async fn within<T>(
        &self,
        key: RedisKey,
        time: Duration,
        call: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        timeout(time, call).await.unwrap_or_else(|_| {
            self.link(key).timed_out();
            Err(Failure::Late)
        })
    }

    pub(crate) fn told(
        &self,
        ask: &StoreRequest,
        not_before: tollgate_limit::Instant,
    ) -> PackedPolicies {
        PackedPolicies::to_ask(ask, not_before, self.linger_ms)
    }

    pub(crate) async fn decide(
        &self,
        key: RedisKey,
        lists: &[usize],
        arguments: &[&[u8]],
    ) -> Result<ScriptReply, Failure> {
        let value = self
            .run(key, &self.scripts.decide, lists, arguments)
            .await?;
        ScriptReply::read(value)
    }

    /// `key` is one of the keys, for routing.
    pub(crate) async fn decide_many(
        &self,
        key: RedisKey,
        names: &[String],
        arguments: [&[u8]; 2],
    ) -> Result<Vec<u8>, Failure> {
        let script = &self.scripts.decide_many;
        match self.eval(key, script, names, &arguments).await? {
            Value::BulkString(answers) => Ok(answers),
            _ => Err(Failure::Broken("a script's answer makes no sense".into())),
        }
    }

    pub(crate) async fn load(
        &self,
        key: RedisKey,
        lists: &[usize],
    ) -> Result<ScriptReply, Failure> {
        ScriptReply::read(self.run(key, &self.scripts.load, lists, &[]).await?)
    }

    pub(crate) async fn swap(
        &self,
        key: RedisKey,
        lists: &[usize],
        arguments: &[&[u8]],
    ) -> Result<bool, Failure> {
        let value = self.run(key, &self.scripts.swap, lists, arguments).await?;
        Ok(value == Value::Int(1))
    }

    /// Stores the shape of a book for other nodes.
    pub(crate) async fn know_shape(&self, book: &Book) -> Result<(), Failure> {
        if !self.shapes.is_due(book.shape_id()) {
            return Ok(());
        }
        let mut command = redis::cmd("SET");
        command.arg(name::shape(book.shape_id())).arg(book.shape());
        self.call(&self.links[0], &command).await?;
        self.shapes.written(book.shape_id());
        Ok(())
    }

    /// `None` if the shape is not stored.
    pub(crate) async fn shape(&self, id: u64) -> Result<Option<String>, Failure> {
        let mut command = redis::cmd("GET");
        command.arg(name::shape(id));
        match self.call(&self.links[0], &command).await? {
            Value::BulkString(text) => Ok(String::from_utf8(text).ok()),
            _ => Ok(None),
        }
    }

    pub(crate) async fn measure_clock(&self, time: Duration) {
        let link = &self.links[0];
        let measured = tokio::time::timeout(
            time,
            clock::measure(|command| async move { link.call(&command).await.ok() }),
        );
        if let Ok(Some(clock)) = measured.await {
            *self.clock.lock() = Some(clock);
        }
    }

    async fn run(
        &self,
        key: RedisKey,
        script: &Script,
        lists: &[usize],
        arguments: &[&[u8]],
    ) -> Result<Value, Failure> {
        let lists = lists.iter().map(|place| key.list(*place));
        let names: Vec<String> = core::iter::once(key.head()).chain(lists).collect();
        self.eval(key, script, &names, arguments).await
    }

    /// Runs a script over these key names.
    pub(crate) async fn eval(
        &self,
        key: RedisKey,
        script: &Script,
        names: &[String],
        arguments: &[&[u8]],
    ) -> Result<Value, Failure> {
        let command = |name: &str, script: &str| {
            let mut command = redis::cmd(name);
            command.arg(script).arg(names.len()).arg(names);
            for argument in arguments {
                command.arg(*argument);
            }
            command
        };
        let link = self.link(key);
        match link.call(&command("EVALSHA", &script.sha)).await {
            Err(Error::Redis(error))
                if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) =>
            {
                self.figures.script_lost();
                self.call(link, &command("EVAL", &script.text)).await
            }
            result => self.judged(link, result),
        }
    }

    async fn call(&self, link: &RedisLink, command: &Cmd) -> Result<Value, Failure> {
        self.judged(link, link.call(command).await)
    }

    fn judged(&self, link: &RedisLink, result: Result<Value, Error>) -> Result<Value, Failure> {
        result.map_err(|error| {
            let failure = error.failure();
            if self.follows_primary && failure == Failure::ReadOnly {
                link.renew(Failure::Starting);
            }
            failure
        })
    }
}

/// Poll interval of [`Redis::tried`].
const LOOK: Duration = Duration::from_millis(1);

//! Executes the requests of one key: by the script if possible, else read, decided here, and written if unchanged.

use tollgate_limit::{CellError, Instant, KeptState};
use tollgate_store::{Book, EngineAnswer, Failure, StoreRequest, StoredKey, Verb, Write};

use crate::engine::EngineInner;
use crate::exact::{PackedPolicies, kind, told_change};
use crate::head::{self, LOG, StoredHead};
use crate::lanes::Group;
use crate::name::RedisKey;
use crate::pack::Packer;
use crate::reply::{ScriptReply, ScriptStatus};

/// How often terms are recomputed, before the key's time counts as running away.
const TERMS_MAX: usize = 8;

pub(crate) type Answers = Vec<Result<EngineAnswer, Failure>>;

/// Answers a group.
pub(crate) async fn decide(
    inner: &EngineInner,
    key: RedisKey,
    group: Group,
) -> Result<Answers, Failure> {
    let asks: Vec<&StoreRequest> = group.waiting.iter().map(|waiting| &waiting.ask).collect();
    let Some(first) = asks.first() else {
        return Ok(Vec::new());
    };
    inner.know_shape(&first.book).await?;
    match group.told {
        Some(told) => by_script(inner, key, &asks, told).await,
        None => by_hand(inner, key, &asks, None).await,
    }
}

async fn by_script(
    inner: &EngineInner,
    key: RedisKey,
    asks: &[&StoreRequest],
    mut told: PackedPolicies,
) -> Result<Answers, Failure> {
    let mut not_before = Instant::default();
    let lists = lists_of(&asks[0].book);
    // Unconditional changes go alone.
    let change = asks[0].verb.change(asks[0].now);
    let changes = change.map(|change| told_change(&asks[0].book, &change));
    for _ in 0..TERMS_MAX {
        let requests = asks.iter().map(|ask| {
            let (now, cost) =
                change.map_or((ask.now, cost(ask)), |change| (change.now, change.tokens));
            (now.max(not_before), cost)
        });
        let argument = told.argument(requests);
        let arguments: Vec<&[u8]> = [&argument]
            .into_iter()
            .chain(&changes)
            .map(|bytes| &**bytes)
            .collect();
        let reply = inner.decide(key, &lists, &arguments).await?;
        match reply.status {
            ScriptStatus::Decided if change.is_some() => return Ok(vec![Ok(EngineAnswer::Done)]),
            ScriptStatus::Decided => return checked(inner, asks, &reply, not_before),
            ScriptStatus::Wide => return by_hand(inner, key, asks, Some(reply)).await,
            ScriptStatus::Late => {
                // As if requested at the key's own time.
                not_before = reply.head()?.map_or(not_before, |head| head.at);
                told = inner.told(asks[0], not_before);
            }
        }
    }
    Err(Failure::Late)
}

/// Evaluates the script's answer, and compares it with this code's decision.
pub(crate) fn checked(
    inner: &EngineInner,
    asks: &[&StoreRequest],
    reply: &ScriptReply,
    not_before: Instant,
) -> Result<Answers, Failure> {
    let mut found = reply.head()?.map(|head| head.found(&reply.lists, false));
    let mut answers = Vec::with_capacity(asks.len());
    for (place, ask) in asks.iter().enumerate() {
        let next = ask
            .book
            .apply(found.as_ref(), ask.verb, ask.now.max(not_before))
            .map_err(broken)?;
        let ours = match &next.said {
            EngineAnswer::Outcome { outcome, .. } => outcome.decision.verdict.is_allowed(),
            EngineAnswer::Done | EngineAnswer::Found(_) => false,
        };
        if reply.admitted.get(place) != Some(&ours) {
            inner.figures.disagreed();
            return Err(Failure::Broken(
                "the script decided otherwise than we".into(),
            ));
        }
        if let Some(Write::Keep { found: next, .. }) = next.write {
            found = Some(next);
        }
        answers.push(Ok(next.said));
    }
    Ok(answers)
}

/// Reads, decides here, and writes if unchanged; otherwise repeats. `reply` is the first read.
async fn by_hand(
    inner: &EngineInner,
    key: RedisKey,
    asks: &[&StoreRequest],
    mut reply: Option<ScriptReply>,
) -> Result<Answers, Failure> {
    let book = &asks[0].book;
    loop {
        let read = match reply.take() {
            Some(reply) => reply,
            None => inner.load(key, &lists_of(book)).await?,
        };
        let Some(state) = State::of(inner, key, book, read, asks[0].now).await? else {
            continue;
        };
        let (answers, write) = applied(asks, &state)?;
        let Some(write) = write else {
            return Ok(answers);
        };
        inner.figures.by_hand();
        if state.swap(inner, key, asks, write).await? {
            return Ok(answers);
        }
        inner.figures.swap_lost();
    }
}

/// The full state of a key, converted to the policies of a book.
struct State {
    raw: Vec<u8>,
    version: u64,
    found: Option<StoredKey>,
    /// Set if it is stored in the same format.
    stored: Option<StoredKey>,
    /// Indexes of possible lists.
    lists: Vec<usize>,
    is_readable: bool,
}

impl State {
    /// `None` if the key changed while the rest was read.
    async fn of(
        inner: &EngineInner,
        key: RedisKey,
        book: &Book,
        reply: ScriptReply,
        now: Instant,
    ) -> Result<Option<Self>, Failure> {
        let lists = lists_of(book);
        let mut state = Self {
            raw: reply.raw.clone().unwrap_or_default(),
            version: 0,
            found: None,
            stored: None,
            lists,
            is_readable: true,
        };
        let head = match reply.head() {
            Ok(None) => return Ok(Some(state)),
            Ok(Some(head)) => head,
            Err(_) => {
                state.is_readable = false;
                return Ok(Some(state));
            }
        };
        state.version = head.version;
        if head.shape == book.shape_id() {
            state.found = Some(head.found(&reply.lists, true));
            state.stored.clone_from(&state.found);
            return Ok(Some(state));
        }
        let Some(old) = other_lists(inner, key, &head, &state.raw).await? else {
            return Ok(None);
        };
        let old = head.found(&old, true);
        state.lists.extend(head.lists());
        state.lists.sort_unstable();
        state.lists.dedup();
        let shape = inner.shape(head.shape).await?;
        state.found = shape.and_then(|shape| book.inherit(&shape, &old, now));
        Ok(Some(state))
    }

    /// The lists of the next state in the script's format: each in full, or zero if unchanged.
    fn lists_of(&self, next: &StoredKey) -> Vec<u8> {
        let mut to = Packer::default();
        to.array(self.lists.len());
        for place in &self.lists {
            let entries = entries_at(next, *place);
            let stored = self
                .stored
                .as_ref()
                .map(|stored| entries_at(stored, *place));
            if stored == Some(entries) {
                to.number(0);
                continue;
            }
            to.array(entries.len());
            for (time, cost) in entries {
                to.string(&head::write_entry(*time, *cost));
            }
        }
        to.into_bytes()
    }

    /// Writes the change if this state is still current.
    async fn swap(
        &self,
        inner: &EngineInner,
        key: RedisKey,
        asks: &[&StoreRequest],
        write: Write,
    ) -> Result<bool, Failure> {
        let (found, fresh_at) = match write {
            Write::Forget => {
                let forget = [&self.raw[..], b"", b"0", b""];
                return inner.swap(key, &self.lists, &forget).await;
            }
            Write::Keep { found, fresh_at } => (found, fresh_at),
        };
        let book = &asks[0].book;
        let kinds: Vec<u64> = book.set().policies().iter().map(kind).collect();
        let next = head::write(self.version + 1, book.shape_id(), &found, &kinds);
        let asked = asks.iter().map(|ask| ask.now).min().unwrap_or_default();
        let ms = fresh_at.nanos_since(asked).div_ceil(1_000_000) + 1 + inner.linger_ms;
        let (ms, lists) = (ms.to_string(), self.lists_of(&found));
        let arguments = [&self.raw[..], &next, ms.as_bytes(), &lists];
        inner.swap(key, &self.lists, &arguments).await
    }
}

/// The lists of a head of another shape; `None` if the head changed.
async fn other_lists(
    inner: &EngineInner,
    key: RedisKey,
    head: &StoredHead,
    raw: &[u8],
) -> Result<Option<Vec<Vec<(u64, u64)>>>, Failure> {
    let lists: Vec<usize> = head.lists().collect();
    if lists.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let reply = inner.load(key, &lists).await?;
    let is_same = reply.raw.as_deref() == Some(raw);
    Ok(is_same.then_some(reply.lists))
}

/// The answers to all asks in order, and the final state to write.
fn applied(asks: &[&StoreRequest], state: &State) -> Result<(Answers, Option<Write>), Failure> {
    let mut found = state.found.clone();
    let mut is_readable = state.is_readable;
    let (mut answers, mut write) = (Vec::with_capacity(asks.len()), None);
    for ask in asks {
        if ask.verb == Verb::Reset {
            // A state that cannot be read can still be deleted.
            (found, is_readable) = (None, true);
            write = Some(Write::Forget);
            answers.push(Ok(EngineAnswer::Done));
            continue;
        }
        if !is_readable {
            answers.push(Err(Failure::Broken(
                "what is kept for a key makes no sense".into(),
            )));
            continue;
        }
        let next = ask.book.apply(found.as_ref(), ask.verb, ask.now);
        let next = next.map_err(broken)?;
        match &next.write {
            None => {}
            Some(Write::Forget) => found = None,
            Some(Write::Keep { found: next, .. }) => found = Some(next.clone()),
        }
        write = next.write.or(write);
        answers.push(Ok(next.said));
    }
    let is_nothing = matches!(write, Some(Write::Forget)) && state.raw.is_empty();
    Ok((answers, write.filter(|_| !is_nothing)))
}

/// The entries of the policy at `place`; empty without a list.
fn entries_at(found: &StoredKey, place: usize) -> &[(u64, u64)] {
    match found.kept.get(place) {
        Some(KeptState::Entries(entries)) => entries,
        Some(KeptState::Spent(_) | KeptState::Count(_) | KeptState::Pair { .. }) | None => &[],
    }
}

/// Indexes of the policies with a list.
pub(crate) fn lists_of(book: &Book) -> Vec<usize> {
    let policies = book.set().policies().iter().enumerate();
    let listed = policies.filter(|(_, policy)| kind(policy) >= LOG);
    listed.map(|(place, _)| place).collect()
}

pub(crate) const fn cost(ask: &StoreRequest) -> u64 {
    match ask.verb {
        Verb::Check { cost, .. } => cost.tokens(),
        // Not executed by the script.
        Verb::Charge(_) | Verb::Refund(_) | Verb::Settle { .. } | Verb::Reset | Verb::Show => 0,
    }
}

fn broken(error: CellError) -> Failure {
    Failure::Broken(error.to_string())
}

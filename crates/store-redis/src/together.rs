//! Keys that are decided in one call: policies are sent once, with the requests of each key.
//!
//! Only if one server has all keys and policies have no lists. Not here: other keys (`decide`).

use tollgate_limit::Instant;
use tollgate_store::{Failure, StoreRequest};

use crate::decide::{Answers, checked, cost, lists_of};
use crate::engine::EngineInner;
use crate::exact::PackedPolicies;
use crate::lanes::Group;
use crate::name::RedisKey;
use crate::pack::{Packed, Packer, Unpacker};
use crate::reply::{ScriptReply, ScriptStatus};

/// The most keys of one call: the server serves no other client meanwhile.
pub(crate) const TOGETHER_MAX: usize = 64;

/// Groups of different keys that can share a call.
#[derive(Default)]
pub(crate) struct Together(Vec<(RedisKey, Group)>);

impl Together {
    /// Adds a group; returns it if it cannot be combined.
    pub(crate) fn take(&mut self, key: RedisKey, group: Group) -> Option<Group> {
        let fits = match (self.0.first(), &group.told) {
            (None, Some(_)) => group.asks().next().is_some_and(decides_alone),
            (Some((_, first)), Some(told)) => {
                first.told.as_ref() == Some(told) && group.asks().next().is_some_and(decides_alone)
            }
            (_, None) => false,
        };
        if !fits {
            return Some(group);
        }
        self.0.push((key, group));
        None
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn each(&self) -> impl Iterator<Item = &Group> {
        self.0.iter().map(|(_, group)| group)
    }

    /// Separates them again.
    pub(crate) fn apart(self) -> Vec<(RedisKey, Group)> {
        self.0
    }

    /// The answers for each key; `None` for a key that must be repeated alone.
    pub(crate) async fn decide(
        &self,
        inner: &EngineInner,
    ) -> Result<Vec<Option<Result<Answers, Failure>>>, Failure> {
        let Some((key, first)) = self.0.first() else {
            return Ok(Vec::new());
        };
        if let Some(ask) = first.asks().next() {
            inner.know_shape(&ask.book).await?;
        }
        let terms = first
            .told
            .as_ref()
            .map_or_else(Vec::new, PackedPolicies::terms);
        let requests = self.requests();
        let names: Vec<String> = self.0.iter().map(|(key, _)| key.head()).collect();
        let value = inner.decide_many(*key, &names, [&terms, &requests]).await?;
        let broken = || Failure::Broken("a script's answer makes no sense".into());
        let replies = replies(&value, self.0.len()).ok_or_else(broken)?;
        let answers = self.each().zip(replies).map(|(group, reply)| {
            let asks: Vec<&StoreRequest> = group.asks().collect();
            let is_decided = reply.status == ScriptStatus::Decided;
            is_decided.then(|| checked(inner, &asks, &reply, Instant::default()))
        });
        Ok(answers.collect())
    }

    /// Counts and requests by key.
    fn requests(&self) -> Vec<u8> {
        let count: usize = self.each().map(|group| 1 + 3 * group.waiting.len()).sum();
        let mut packed = Packer::default();
        packed.array(count);
        for group in self.each() {
            packed.number(group.waiting.len() as u64);
            for ask in group.asks() {
                packed.request(ask.now, cost(ask));
            }
        }
        packed.into_bytes()
    }
}

fn decides_alone(ask: &StoreRequest) -> bool {
    ask.verb.change(ask.now).is_none() && lists_of(&ask.book).is_empty()
}

fn replies(bytes: &[u8], count: usize) -> Option<Vec<ScriptReply>> {
    let mut from = Unpacker(bytes);
    if from.value()? != Packed::Array(count) {
        return None;
    }
    let replies = (0..count).map(|_| {
        let (Packed::Array(3), status) = (from.value()?, from.number()?) else {
            return None;
        };
        let (Packed::String(raw), Packed::String(verdicts)) = (from.value()?, from.value()?) else {
            return None;
        };
        let raw = Some(raw).filter(|raw| !raw.is_empty());
        ScriptReply::of(status, raw.map(<[u8]>::to_vec), verdicts)
    });
    replies.collect()
}

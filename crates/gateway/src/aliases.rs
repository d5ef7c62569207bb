//! Topic aliases of MQTT 5 on one connection: what the client means by each, and whether the broker was told.
//!
//! A PUBLISH that is refused may be the one that set an alias. The broker has then not heard of it, and a later PUBLISH
//! by that alias must tell it.

use std::collections::BTreeMap;

use tollgate_mqtt::Malformed;

/// The most bytes all topics with an alias may have on one connection.
pub(crate) const BYTES_MAX: usize = 1 << 18;

/// What a client's aliases stand for.
#[derive(Debug, Default)]
pub(crate) struct Aliases {
    topics: BTreeMap<u16, Meaning>,
    bytes: usize,
}

#[derive(Debug)]
struct Meaning {
    topic: Box<str>,
    is_told: bool,
}

impl Aliases {
    /// The topic that an alias stands for.
    pub(crate) fn topic(&self, alias: u16) -> Result<&str, Malformed> {
        let meaning = self.topics.get(&alias);
        meaning.map_or(Err(Malformed::TopicAlias), |meaning| Ok(&meaning.topic))
    }

    /// From now on the alias stands for this topic, and the broker was told so or not.
    pub(crate) fn set(&mut self, alias: u16, topic: &str, is_told: bool) -> Result<(), Malformed> {
        let before = self
            .topics
            .get(&alias)
            .map_or(0, |meaning| meaning.topic.len());
        let bytes = self.bytes - before + topic.len();
        if bytes > BYTES_MAX {
            return Err(Malformed::TopicAlias);
        }
        self.bytes = bytes;
        let topic = topic.into();
        self.topics.insert(alias, Meaning { topic, is_told });
        Ok(())
    }

    /// The topic, where the broker must be told what the alias stands for. It counts as told then.
    pub(crate) fn tell(&mut self, alias: u16) -> Option<&str> {
        let meaning = self.topics.get_mut(&alias)?;
        let was_told = std::mem::replace(&mut meaning.is_told, true);
        (!was_told).then_some(&*meaning.topic)
    }
}

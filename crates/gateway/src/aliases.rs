//! Topic aliases of MQTT 5 on one connection: the topic of each, and whether the broker knows it.
//!
//! A PUBLISH that is refused may be the one that set an alias. The broker then does not know it, and a later PUBLISH
//! by that alias must send the topic.

use std::collections::BTreeMap;

use tollgate_mqtt::Malformed;

/// The most bytes all topics with an alias may have on one connection.
pub(crate) const BYTES_MAX: usize = 1 << 18;

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
    pub(crate) fn topic(&self, alias: u16) -> Result<&str, Malformed> {
        let meaning = self.topics.get(&alias);
        meaning.map_or(Err(Malformed::TopicAlias), |meaning| Ok(&meaning.topic))
    }

    /// `is_told`: whether the broker knows the alias.
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

    /// The topic, if the broker does not know the alias. It counts as known after this call.
    pub(crate) fn tell(&mut self, alias: u16) -> Option<&str> {
        let meaning = self.topics.get_mut(&alias)?;
        let was_told = std::mem::replace(&mut meaning.is_told, true);
        (!was_told).then_some(&*meaning.topic)
    }
}

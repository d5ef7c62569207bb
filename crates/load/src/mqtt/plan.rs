//! MQTT plans: what to publish where, how fast and for how long.

use std::fmt;
use std::time::Duration;

use tollgate_mqtt::{Qos, Version, is_topic};

use crate::address::ServerAddress;
use crate::plan::Arrivals;

#[derive(Clone, Debug)]
pub struct MqttPlan {
    /// Brokers of the publishers, one or more.
    pub targets: Vec<ServerAddress>,
    pub assign: Assign,
    /// Brokers of the subscribers.
    pub watch: SubscriberPlan,
    /// How many publish.
    pub publishers: u32,
    /// How many more connect and stay silent.
    pub idle: u32,
    pub pace: MqttPace,
    /// Who publishes at the same time, and how much.
    pub groups: Groups,
    pub messages: Messages,
    /// The clients' credentials and settings.
    pub login: Login,
    /// Messages that a publisher sends before the first of them is acknowledged; a broker may permit fewer.
    pub in_flight: u16,
    /// Threads that publish. Arrivals have one of their own.
    pub threads: usize,
    pub timing: Timing,
    /// Arrival times follow from it.
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assign {
    /// Publishers in turn: those of a group at different targets.
    Spread,
    /// By their numbers and the seed, regardless of groups.
    Blind,
    /// Groups in turn: all of a group at one target.
    Groups,
}

/// Where messages are received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriberPlan {
    /// The brokers; empty without subscribers.
    pub at: Vec<ServerAddress>,
    /// Subscribers at each; more than one share the messages.
    pub subscribers: u16,
    pub qos: Qos,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MqttPace {
    /// As soon as another message is acknowledged.
    Closed,
    /// At times fixed beforehand.
    Open {
        /// Messages a second of each publisher.
        rate: f64,
        /// The gaps between its batches.
        arrivals: Arrivals,
    },
}

/// Who publishes at the same time, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// Publishers of a group; with one, each publishes alone.
    pub size: u32,
    /// Messages at once.
    pub batch: u32,
    /// Over how long the messages of a group are spread.
    pub spread: Duration,
}

#[derive(Clone, Debug)]
pub struct Messages {
    pub qos: Qos,
    /// Bytes of a payload, at least [`SIZE_MIN`].
    pub size: usize,
    /// The topics.
    pub topic: TopicTemplate,
    /// A user property that names the group (MQTT 5).
    pub group_property: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Login {
    pub version: Version,
    /// The user's name.
    pub user: Option<String>,
    pub password: Option<String>,
    /// The prefix of client identifiers.
    pub prefix: String,
    /// Keep-alive in seconds.
    pub keep_alive: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long to publish before anything is recorded.
    pub warm_up: Duration,
    /// How long to record.
    pub duration: Duration,
    /// How long to wait at the end for what is under way.
    pub patience: Duration,
}

/// The fewest bytes of a payload: sender, sequence number, and time.
pub const SIZE_MIN: usize = 32;

/// A topic with placeholders for numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicTemplate(String);

/// Why a text is no topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicError;

impl fmt::Display for TopicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a topic has 1 to 60000 bytes and neither + nor #; %p in it is the publisher's number, %g its group's",
        )
    }
}

impl std::error::Error for TopicError {}

impl TopicTemplate {
    /// `%p` is the publisher's number, `%g` its group's.
    pub fn new(text: &str) -> Result<Self, TopicError> {
        if !is_topic(text) || text.len() > TOPIC_MAX {
            return Err(TopicError);
        }
        Ok(Self(text.to_owned()))
    }

    pub(crate) fn topic(&self, publisher: u32, group: u32) -> String {
        self.0
            .replace("%p", &publisher.to_string())
            .replace("%g", &group.to_string())
    }

    /// A filter that matches the topics of all publishers.
    pub(crate) fn filter(&self) -> String {
        let level = |level: &str| {
            if level.contains("%p") || level.contains("%g") {
                "+".to_owned()
            } else {
                level.to_owned()
            }
        };
        let levels: Vec<String> = self.0.split('/').map(level).collect();
        levels.join("/")
    }
}

impl fmt::Display for TopicTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl MqttPlan {
    pub(crate) fn group(&self, publisher: u32) -> u32 {
        publisher / self.groups.size.max(1)
    }

    /// The target of a publisher, as an index.
    pub(crate) fn target(&self, publisher: u32) -> usize {
        let number = match self.assign {
            Assign::Spread => publisher,
            Assign::Blind => scattered(publisher, self.publishers, self.seed),
            Assign::Groups => self.group(publisher),
        };
        number as usize % self.targets.len().max(1)
    }

    /// The target of a silent client.
    pub(crate) fn idle_target(&self, number: u32) -> usize {
        number as usize % self.targets.len().max(1)
    }
}

/// A pseudo-random permutation of `count` numbers by the seed.
fn scattered(number: u32, count: u32, seed: u64) -> u32 {
    let bits = u64::BITS - u64::from(count.saturating_sub(1)).leading_zeros();
    let mask = (1_u64 << bits) - 1;
    let mut place = u64::from(number);
    // Every step is one to one below the power of two, so it eventually falls below the count.
    loop {
        for round in 0..4 {
            place = place.wrapping_add(seed.rotate_left(round * 16)) & mask;
            place = place.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask;
            place ^= place >> (bits / 2).max(1);
        }
        if let Ok(place) = u32::try_from(place)
            && place < count.max(1)
        {
            return place;
        }
    }
}

const TOPIC_MAX: usize = 60_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_carry_numbers_and_are_all_matched_by_the_filter() {
        let topic = TopicTemplate::new("plant/%g/sensor-%p/x").unwrap();
        assert_eq!(topic.topic(12, 3), "plant/3/sensor-12/x");
        assert_eq!(topic.filter(), "plant/+/+/x");
        assert_eq!(TopicTemplate::new("plain").unwrap().filter(), "plain");
        assert_eq!(TopicTemplate::new("a/#"), Err(TopicError));
        assert_eq!(TopicTemplate::new(""), Err(TopicError));
    }
}

//! The results of a run against brokers.

use serde::Serialize;

use super::plan::MqttPlan;
use super::record::{PublishCounts, PublisherRecord};
use super::tally::{ArrivalTally, Arrived};
use crate::errors::ErrorCount;
use crate::report::{Latency, histogram};

/// Counts and times are of messages that were due in the part of the run that counts.
#[derive(Clone, Debug, Serialize)]
pub struct MqttReport {
    /// How long was recorded, in seconds.
    pub seconds: f64,
    /// Publishers and silent clients that were connected when publishing ended.
    pub connected: u64,
    pub counts: MessageCounts,
    /// From when a message was due to its arrival at a subscriber.
    pub latency: Latency,
    /// From when it was sent to its arrival.
    pub service: Latency,
    /// From when it was sent to its acknowledgement, under `QoS` 1 and 2.
    pub acknowledged: Latency,
    /// How late the generator handled messages that were due.
    pub lateness: Latency,
    /// Messages that waited because the limit was under way, or the connection was down; warm-up included.
    pub held: u64,
    /// Messages under the same topics that do not belong to this run.
    pub strange: u64,
    /// The same by target of the publishers.
    pub targets: Vec<TargetReport>,
    /// Errors, warm-up included.
    pub errors: Vec<ErrorCount>,
}

#[derive(Clone, Debug, Serialize)]
pub struct TargetReport {
    pub address: String,
    /// How many publish there.
    pub publishers: u64,
    pub counts: MessageCounts,
    /// From when a message was due to its arrival at a subscriber.
    pub latency: Latency,
}

/// Messages by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MessageCounts {
    /// Messages that were due.
    pub due: u64,
    /// Of those, sent.
    pub sent: u64,
    /// Acknowledged as accepted, under `QoS` 1 and 2.
    pub acknowledged: u64,
    /// Refused because a limit was reached (0x97).
    pub refused: u64,
    /// Refused for another reason.
    pub failed: u64,
    /// Arrived at a subscriber, each counted once.
    pub arrived: u64,
    /// Sent, not refused, and not arrived when the run ended; zero without subscribers.
    pub lost: u64,
    /// Arrived again.
    pub duplicated: u64,
    /// Arrived after a later one of the same publisher.
    pub out_of_order: u64,
}

impl MessageCounts {
    fn of(sent: PublishCounts, arrived: Option<&Arrived>) -> Self {
        let (count, duplicated, out_of_order) = arrived.map_or((0, 0, 0), |arrived| {
            (arrived.count, arrived.duplicated, arrived.out_of_order)
        });
        let expected = sent.sent.saturating_sub(sent.refused + sent.failed);
        Self {
            due: sent.due,
            sent: sent.sent,
            acknowledged: sent.acknowledged,
            refused: sent.refused,
            failed: sent.failed,
            arrived: count,
            lost: arrived.map_or(0, |_| expected.saturating_sub(count)),
            duplicated,
            out_of_order,
        }
    }

    fn add(&mut self, other: &Self) {
        self.due += other.due;
        self.sent += other.sent;
        self.acknowledged += other.acknowledged;
        self.refused += other.refused;
        self.failed += other.failed;
        self.arrived += other.arrived;
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.out_of_order += other.out_of_order;
    }
}

impl MqttReport {
    /// Messages a second: of those due in the time that counts, how many arrived, or without subscribers were sent.
    #[allow(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
    pub fn messages_per_second(&self) -> f64 {
        let count = match (self.counts.arrived, self.counts.acknowledged) {
            (0, 0) => self.counts.sent,
            (0, acknowledged) => acknowledged,
            (arrived, _) => arrived,
        };
        count as f64 / self.seconds.max(f64::MIN_POSITIVE)
    }

    pub(crate) fn new(
        plan: &MqttPlan,
        record: PublisherRecord,
        tally: Option<ArrivalTally>,
        connected: u64,
    ) -> Self {
        let (mut latency, mut service) = (histogram(), histogram());
        let mut counts = MessageCounts::default();
        let mut targets = Vec::new();
        for (at, (address, sent)) in plan.targets.iter().zip(&record.sent).enumerate() {
            let arrived = tally.as_ref().and_then(|tally| tally.targets.get(at));
            if let Some(arrived) = arrived {
                // All have the same bounds.
                let _ = latency.add(&arrived.latency);
                let _ = service.add(&arrived.service);
            }
            let there = (0..plan.publishers).filter(|number| plan.target(*number) == at);
            let part = MessageCounts::of(*sent, arrived);
            counts.add(&part);
            targets.push(TargetReport {
                address: address.to_string(),
                publishers: there.count() as u64,
                counts: part,
                latency: arrived.map_or_else(Latency::default, |a| Latency::of(&a.latency)),
            });
        }
        Self {
            seconds: plan.timing.duration.as_secs_f64(),
            connected,
            counts,
            latency: Latency::of(&latency),
            service: Latency::of(&service),
            acknowledged: Latency::of(&record.acknowledged),
            lateness: Latency::of(&record.lateness),
            held: record.held,
            strange: tally.map_or(0, |tally| tally.strange),
            targets,
            errors: record.errors.into_list(),
        }
    }
}

//! The terms of the control plane, in nanoseconds of a node's own steady clock.
//!
//! Not here: who waits for them.

/// How long things take. Every node of a cluster has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlConfig {
    /// The leader sends to every node this often.
    pub beat: u64,
    /// A leader that a majority answered is sure of its lead for so long from when it asked.
    pub lease: u64,
    /// Voters vote for no other node for so long after a leader's message. More than the lease, drift included.
    pub election_min: u64,
    /// How much later each voter in rank tries to lead, so that they do not all try at once.
    pub election_step: u64,
    /// A node that has not answered the leader for so long is dead, once it cannot be sure any more.
    pub silence: u64,
    /// By how many millionths two steady clocks may differ in speed.
    pub drift_ppm: u64,
    /// Another node takes the place of a voter that was dead for so long.
    pub voter_term: u64,
    /// The share by right of a node that was dead for so long goes to the others.
    pub share_term: u64,
    /// A zone that sends most requests of a slot for so long gets the slot.
    pub use_term: u64,
    /// A planned hand-over that takes longer is called off.
    pub hand_term: u64,
    /// Fresh nodes found a cluster when they have met each other, and no cluster, for so long.
    pub found_term: u64,
    /// Slots that change hands at once.
    pub hand_batch: usize,
    /// Entries of the log after which a snapshot takes their place.
    pub log_max: u64,
}

/// One millisecond.
pub(crate) const MS: u64 = 1_000_000;

impl Default for ControlConfig {
    fn default() -> Self {
        Self {
            beat: 300 * MS,
            lease: 1_200 * MS,
            election_min: 1_300 * MS,
            election_step: 150 * MS,
            silence: 900 * MS,
            drift_ppm: 10_000,
            voter_term: 60_000 * MS,
            share_term: 60_000 * MS,
            use_term: 60_000 * MS,
            hand_term: 10_000 * MS,
            found_term: 1_000 * MS,
            hand_batch: 64,
            log_max: 512,
        }
    }
}

impl ControlConfig {
    /// What of a span by another node's clock has surely not passed, when so much has passed by the own one.
    pub fn shrink(&self, span: u64) -> u64 {
        let kept = MILLION.saturating_sub(2 * self.drift_ppm);
        let span = u128::from(span) * u128::from(kept) / u128::from(MILLION);
        u64::try_from(span).unwrap_or(u64::MAX)
    }
}

const MILLION: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_over_before_voters_vote_again_whatever_the_drift() {
        let config = ControlConfig::default();
        let lease = config.lease * (MILLION + config.drift_ppm);
        let refusal = config.election_min * (MILLION - config.drift_ppm);
        assert!(lease < refusal);
        assert_eq!(config.shrink(1_000), 980);
        assert_eq!(config.shrink(u64::MAX) / MS, u64::MAX / 50 * 49 / MS);
    }
}

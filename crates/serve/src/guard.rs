//! Limits guesses of credentials with Tollgate itself: 20 wrong ones from an address, then one every 15 seconds.
//!
//! A right credential always passes, so that a client is not locked out by others behind the same address: attackers
//! are kept out by secrets too long to guess, and this bounds the work and log lines of guesses. All addresses together
//! have a limit of their own, which excludes those on the machine itself. Not here: what is a guess.

use std::net::IpAddr;

use tollgate_client::{Limiter, LimiterConfig, WhenFull};
use tollgate_clock::SystemClock;
use tollgate_contract::Contracts;
use tollgate_limit::Verdict;
use tollgate_node::{Key, Receipt};

pub struct Guard(Limiter<SystemClock>);

impl core::fmt::Debug for Guard {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Guard")
    }
}

impl Guard {
    pub fn new() -> Result<Self, String> {
        let contracts = Contracts::parse(CONTRACTS).map_err(|error| error.to_string())?;
        let config = LimiterConfig {
            bytes_max: BYTES_MAX,
            when_full: WhenFull::Evict,
            alone: true,
        };
        let limiter = Limiter::with(contracts, config, SystemClock::new());
        limiter.map(Self).map_err(|error| error.to_string())
    }

    /// Counts a guess from an address, `None` for a Unix socket. The error is the seconds until the next is allowed.
    pub fn begin(&self, address: impl Into<Option<IpAddr>>) -> Result<Receipt, u64> {
        let from = From::of(address.into());
        let answer = self.0.check(Key::Entries(&from.entries()), 1);
        waits(answer.verdict).map(|()| answer.receipt)
    }

    /// Uncounts an attempt that was right.
    pub fn forgive(&self, attempt: &Receipt) {
        self.0.settle(attempt, 0);
    }
}

/// The keys that a guess is counted under.
struct From {
    address: String,
    is_far: &'static str,
}

impl From {
    fn of(address: Option<IpAddr>) -> Self {
        let address = address.map(|address| address.to_canonical());
        let is_near = address.is_none_or(|address| address.is_loopback());
        Self {
            address: address.map_or_else(|| "unix".to_owned(), network),
            is_far: if is_near { "no" } else { "yes" },
        }
    }

    fn entries(&self) -> [(&str, &str); 2] {
        [("address", &self.address), ("far", self.is_far)]
    }
}

/// The error is the seconds until the next attempt is allowed.
fn waits(verdict: Verdict) -> Result<(), u64> {
    match verdict {
        Verdict::Allow | Verdict::Delay { .. } => Ok(()),
        Verdict::Deny { retry_after } => {
            let seconds = retry_after.as_nanos().div_ceil(1_000_000_000);
            Err(u64::try_from(seconds).unwrap_or(u64::MAX).max(1))
        }
        Verdict::Never => Err(1),
    }
}

/// The key of an address: for IPv6 its network, as one customer has a whole one.
fn network(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

const CONTRACTS: &str = "
contracts:
  - id: one
    key: [address]
    policies: [{ name: guesses, limit: 20, per: 5m, algorithm: token-bucket, burst: 20 }]
  - id: all
    match: { far: 'yes' }
    key: [far]
    policies: [{ name: guesses, limit: 1000, per: 5m, algorithm: token-bucket, burst: 1000 }]
";
/// Memory for addresses; beyond it those that guessed least are forgotten.
const BYTES_MAX: u64 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> IpAddr {
        address.parse().unwrap()
    }

    #[test]
    fn twenty_wrong_ones_are_enough_and_right_ones_do_not_count() {
        let guard = Guard::new().unwrap();
        let one = at("192.0.2.1");
        for _ in 0..100 {
            let attempt = guard.begin(one).unwrap();
            guard.forgive(&attempt);
        }
        for _ in 0..20 {
            guard.begin(one).unwrap();
        }
        let seconds = guard.begin(one).unwrap_err();
        assert!((1..=15).contains(&seconds), "{seconds}");
        guard.begin(at("192.0.2.2")).unwrap();
    }

    #[test]
    fn all_together_have_a_limit_that_does_not_bind_the_machine_itself() {
        let guard = Guard::new().unwrap();
        let far = |n: u32| at(&format!("2001:db8:0:{n:x}::1"));
        let passed = (0..1500).filter(|n| guard.begin(far(*n)).is_ok()).count();
        assert!((1000..=1010).contains(&passed), "{passed}");
        guard.begin(at("127.0.0.1")).unwrap();
        guard.begin(None::<IpAddr>).unwrap();
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one() {
        let guard = Guard::new().unwrap();
        let passed = (0..50).filter(|n| guard.begin(at(&format!("2001:db8::{n:x}"))).is_ok());
        assert_eq!(passed.count(), 20);
    }
}

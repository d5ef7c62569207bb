//! The dialects in which header fields tell clients of their quota.
//!
//! Not here: the fields themselves (`tollgate-client`).

/// Which header fields tell clients of their quota. `Retry-After` comes with a refusal in each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// `RateLimit-Policy` and `RateLimit`, one item for each policy.
    ///
    /// `t` is when a policy with nothing left has a token again, and otherwise when all of its quota is back.
    #[default]
    Ietf,
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` of the policy with the least left.
    XRateLimit {
        /// What the reset is counted from; clients cannot tell, so it must be the one they expect.
        reset: Reset,
    },
    /// Like `XRateLimit` in seconds, with all policies behind the limit, as Envoy writes it:
    /// `X-RateLimit-Limit: 10, 10;w=1;name="burst", 1000;w=3600;name="hourly"`.
    Envoy,
    /// `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` of the policy with the least left, and
    /// `X-RateLimit-Limit-Minute` and `X-RateLimit-Remaining-Minute` for every policy of a second, a minute, an hour, a
    /// day, a month or a year.
    Kong,
    /// `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` of the policy with the least left, in seconds.
    RateLimit,
    /// None.
    None,
}

/// The forms of `X-RateLimit-Reset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// Seconds left.
    Seconds,
    /// Seconds since the UNIX epoch.
    Epoch,
}

impl Dialect {
    /// Every dialect, in the order of the documentation.
    pub const ALL: [Self; 7] = [
        Self::Ietf,
        Self::XRateLimit {
            reset: Reset::Seconds,
        },
        Self::XRateLimit {
            reset: Reset::Epoch,
        },
        Self::Envoy,
        Self::Kong,
        Self::RateLimit,
        Self::None,
    ];

    /// The names, in the order of [`Self::ALL`].
    pub const NAMES: [&'static str; 7] = [
        "ietf",
        "x-ratelimit",
        "x-ratelimit-epoch",
        "envoy",
        "kong",
        "ratelimit",
        "none",
    ];

    /// The name used in files.
    pub const fn name(self) -> &'static str {
        let [ietf, seconds, epoch, envoy, kong, ratelimit, none] = Self::NAMES;
        match self {
            Self::Ietf => ietf,
            Self::XRateLimit {
                reset: Reset::Seconds,
            } => seconds,
            Self::XRateLimit {
                reset: Reset::Epoch,
            } => epoch,
            Self::Envoy => envoy,
            Self::Kong => kong,
            Self::RateLimit => ratelimit,
            Self::None => none,
        }
    }

    /// The dialect with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_is_found_by_its_name() {
        assert_eq!(Dialect::ALL.map(Dialect::name), Dialect::NAMES);
        for dialect in Dialect::ALL {
            assert_eq!(Dialect::from_name(dialect.name()), Some(dialect));
        }
        assert_eq!(Dialect::from_name("IETF"), None);
    }
}

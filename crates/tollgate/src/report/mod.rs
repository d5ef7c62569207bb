//! The result of a replay: a [`Summary`] in constant memory, and its outputs.
//!
//! The loop reports every decision as a [`ReplayOutcome`]. [`human`] is for a terminal, [`json`] and [`lines`] are for
//! programs, [`html`] is one self-contained page. Nothing here reads a clock, decides, or touches the trace.

mod atomic;
pub(crate) mod html;
pub(crate) mod human;
pub(crate) mod json;
mod least;
pub(crate) mod lines;
mod look;
mod sketch;
mod story;
mod summary;
pub(crate) mod table;
pub(crate) mod text;
mod timeline;
pub(crate) mod units;
mod waits;

use std::fmt;

pub(crate) use atomic::write_whole;
pub(crate) use look::Ink;
pub(crate) use look::TerminalStyle;
pub(crate) use summary::{PolicyCount, RequestCount, Summary};
pub(crate) use waits::Waits;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplayVerdict {
    Allowed,
    /// It passed after a wait.
    Delayed {
        /// How long it had to wait.
        wait_ns: u128,
    },
    Denied {
        /// After how long the same request could pass; `None` if waiting does not help.
        retry_after_ns: Option<u128>,
    },
    /// No contract applies to it, so it passed uncounted.
    Unmatched,
}

#[derive(Clone, Copy)]
pub(crate) struct ReplayOutcome<'a> {
    /// Unix milliseconds of the request.
    pub time_ms: u64,
    pub cost: u64,
    pub verdict: ReplayVerdict,
    /// The policy that refused or delayed it, as an index into the labels.
    pub policy: Option<usize>,
    /// The tokens left to the key; `None` if nothing counts them.
    pub remaining: Option<u64>,
    /// Formatted only when it is needed.
    pub key: &'a dyn fmt::Display,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyLabel {
    pub contract: String,
    pub name: String,
}

impl fmt::Display for PolicyLabel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.contract, self.name)
    }
}

/// The outcomes of a request, in the order they are stacked and listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Passed because no contract applies.
    Unmatched,
    Allowed,
    /// Passed after a wait.
    Delayed,
    Denied,
}

impl Meaning {
    /// From the bottom of a stack to its top.
    pub(crate) const ALL: [Self; 4] = [Self::Unmatched, Self::Allowed, Self::Delayed, Self::Denied];

    /// Its name, everywhere.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Unmatched => "unmatched",
            Self::Allowed => "allowed",
            Self::Delayed => "delayed",
            Self::Denied => "denied",
        }
    }
}

impl ReplayVerdict {
    pub(crate) fn meaning(self) -> Meaning {
        match self {
            Self::Allowed => Meaning::Allowed,
            Self::Delayed { .. } => Meaning::Delayed,
            Self::Denied { .. } => Meaning::Denied,
            Self::Unmatched => Meaning::Unmatched,
        }
    }
}

/// What was replayed, for the head of a report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caption<'a> {
    pub trace: &'a str,
    pub contracts: &'a str,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A summary with every kind of outcome: three hours in which a burst is refused in the second one.
    pub(crate) fn sample() -> Summary {
        let label = |name: &str| PolicyLabel {
            contract: "free-users".into(),
            name: name.into(),
        };
        let mut summary = Summary::new(vec![label("burst"), label("hourly"), label("<quiet>")]);
        for n in 0..10_800u64 {
            let second_hour = (3600..7200).contains(&n);
            let key = format!("user=<u{}>", n * n % 40);
            let (verdict, policy) = match n % 10 {
                0 | 1 if second_hour => (
                    ReplayVerdict::Denied {
                        retry_after_ns: Some(u128::from(n) * 1000),
                    },
                    Some(0),
                ),
                2 if second_hour => (ReplayVerdict::Delayed { wait_ns: 3_100_000 }, Some(1)),
                3 if n % 500 == 3 => (
                    ReplayVerdict::Denied {
                        retry_after_ns: None,
                    },
                    Some(1),
                ),
                4 => (ReplayVerdict::Unmatched, None),
                _ => (ReplayVerdict::Allowed, None),
            };
            summary.add(&ReplayOutcome {
                time_ms: 1_700_000_000_000 + n * 1000,
                cost: 1 + n % 2,
                verdict,
                policy,
                remaining: Some(5),
                key: &key,
            });
        }
        summary
    }
}

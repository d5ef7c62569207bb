//! A fault plan: a list of steps, as a value and as text.
//!
//! Not here: execution.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// A change of the network, or of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Sets the delay of everything.
    Delay {
        /// The least delay.
        base: Duration,
        /// The most extra delay.
        jitter: Duration,
    },
    /// Per million datagrams.
    Loss(u32),
    /// Per million datagrams.
    Duplication(u32),
    Reordering {
        odds: u32,
        hold: Duration,
    },
    /// Blocks one direction.
    Cut {
        from: Vec<u16>,
        to: Vec<u16>,
    },
    /// Ends one such partition.
    Mend {
        from: Vec<u16>,
        to: Vec<u16>,
    },
    /// Ends all partitions.
    MendAll,
    Process(ProcessFault),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessFault {
    /// SIGKILL: without a goodbye.
    Kill(u16),
    /// A clean stop.
    Stop(u16),
    /// It is started again.
    Start {
        node: u16,
        /// Whether its disk is wiped.
        is_empty: bool,
    },
    /// Stopped, still in memory.
    Pause(u16),
    Resume(u16),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptStep {
    /// Since the start.
    pub at: Duration,
    pub change: Change,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    steps: Vec<ScriptStep>,
}

/// A line of a script that does not parse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadScript {
    /// Counted from 1.
    pub line: usize,
    pub why: String,
}

impl fmt::Display for BadScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for BadScript {}

/// The most steps of a script.
const STEPS_MAX: usize = 10_000;

impl Script {
    /// Sorts by time; the sort is stable.
    pub fn new(mut steps: Vec<ScriptStep>) -> Self {
        steps.sort_by_key(|step| step.at);
        Self { steps }
    }

    pub fn steps(&self) -> &[ScriptStep] {
        &self.steps
    }

    /// Waits for the time of each step from `begun` on, and calls `apply`.
    pub fn play(&self, begun: Instant, mut apply: impl FnMut(&ScriptStep)) {
        for step in &self.steps {
            let wait = (begun + step.at).saturating_duration_since(Instant::now());
            std::thread::sleep(wait);
            apply(step);
        }
    }
}

impl FromStr for Script {
    type Err = BadScript;

    /// Reads lines such as `at 10s cut 0,1 | 2,3 for 5s`; `#` begins a comment.
    fn from_str(text: &str) -> Result<Self, BadScript> {
        let mut steps = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let bad = |why| BadScript {
                line: number + 1,
                why,
            };
            if !words.is_empty() {
                parse(&words, &mut steps).map_err(bad)?;
            }
            if steps.len() > STEPS_MAX {
                return Err(bad(format!("more than {STEPS_MAX} steps")));
            }
        }
        Ok(Self::new(steps))
    }
}

fn parse(words: &[&str], steps: &mut Vec<ScriptStep>) -> Result<(), String> {
    let ["at", at, what @ ..] = words else {
        return Err("a line begins with `at TIME`".to_owned());
    };
    let at = time(at)?;
    let mut add = |after: Duration, change| {
        steps.push(ScriptStep {
            at: at + after,
            change,
        });
    };
    match what {
        ["cut", from, way @ ("|" | ">"), to, rest @ ..] => {
            let links = ways(from, way, to)?;
            let lasting = match rest {
                [] => None,
                ["for", lasting] => Some(time(lasting)?),
                _ => return Err("after a cut comes nothing, or `for TIME`".to_owned()),
            };
            for (from, to) in links {
                if let Some(lasting) = lasting {
                    let (from, to) = (from.clone(), to.clone());
                    add(lasting, Change::Mend { from, to });
                }
                add(Duration::ZERO, Change::Cut { from, to });
            }
        }
        ["mend", from, way @ ("|" | ">"), to] => {
            for (from, to) in ways(from, way, to)? {
                add(Duration::ZERO, Change::Mend { from, to });
            }
        }
        _ => add(Duration::ZERO, simple(what)?),
    }
    Ok(())
}

type Way = (Vec<u16>, Vec<u16>);

/// Both directions of `|`, the one of `>`.
fn ways(from: &str, way: &str, to: &str) -> Result<Vec<Way>, String> {
    let (from, to) = (nodes(from)?, nodes(to)?);
    Ok(if way == "|" {
        vec![(from.clone(), to.clone()), (to, from)]
    } else {
        vec![(from, to)]
    })
}

fn simple(words: &[&str]) -> Result<Change, String> {
    Ok(match words {
        ["delay", base] => Change::Delay {
            base: time(base)?,
            jitter: Duration::ZERO,
        },
        ["delay", base, "jitter", jitter] => Change::Delay {
            base: time(base)?,
            jitter: time(jitter)?,
        },
        ["loss", share] => Change::Loss(odds(share)?),
        ["duplicate", share] => Change::Duplication(odds(share)?),
        ["reorder", share, "hold", hold] => Change::Reordering {
            odds: odds(share)?,
            hold: time(hold)?,
        },
        ["mend"] => Change::MendAll,
        ["kill", which] => Change::Process(ProcessFault::Kill(node(which)?)),
        ["stop", which] => Change::Process(ProcessFault::Stop(node(which)?)),
        ["pause", which] => Change::Process(ProcessFault::Pause(node(which)?)),
        ["resume", which] => Change::Process(ProcessFault::Resume(node(which)?)),
        ["start", which, rest @ ..] if rest.is_empty() || rest == ["empty"] => {
            Change::Process(ProcessFault::Start {
                node: node(which)?,
                is_empty: !rest.is_empty(),
            })
        }
        _ => {
            return Err(format!(
                "{:?} is none of: delay TIME [jitter TIME], loss SHARE, duplicate SHARE, reorder SHARE hold TIME, \
                 cut NODES | NODES [for TIME], cut NODES > NODES [for TIME], mend [NODES | NODES], kill NODE, \
                 stop NODE, start NODE [empty], pause NODE, resume NODE",
                words.join(" ")
            ));
        }
    })
}

fn node(text: &str) -> Result<u16, String> {
    text.parse()
        .map_err(|_| format!("{text:?} is not the number of a node"))
}

fn nodes(text: &str) -> Result<Vec<u16>, String> {
    text.split(',').map(node).collect()
}

/// `250ms`, `1.5s`, `2m`; zero needs no unit.
fn time(text: &str) -> Result<Duration, String> {
    let bad = || format!("{text:?} is not a time such as 250ms or 1.5s");
    let end = text.find(|c: char| c.is_ascii_alphabetic());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number.parse().map_err(|_| bad())?;
    let seconds = match unit {
        "us" => number / 1e6,
        "ms" => number / 1e3,
        "s" => number,
        "m" | "min" => number * 60.0,
        "" if number == 0.0 => 0.0,
        _ => return Err(bad()),
    };
    if seconds > TIME_S_MAX {
        return Err(bad());
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| bad())
}

/// A week.
const TIME_S_MAX: f64 = 604_800.0;

/// `5%` or `0.05`, in millionths.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between zero and a million"
)]
fn odds(text: &str) -> Result<u32, String> {
    let bad = || format!("{text:?} is not a share such as 5% or 0.05");
    let (number, whole) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let share = number.parse::<f64>().map_err(|_| bad())? / whole;
    if !(0.0..=1.0).contains(&share) {
        return Err(bad());
    }
    Ok((share * 1e6).round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> Script {
        text.parse().unwrap()
    }

    #[test]
    fn lines_are_steps_in_order_of_time() {
        let script = script(
            "# first the weather\nat 0 delay 5ms jitter 1.5ms\nat 10s kill 4\n\nat 2s cut 0,1 > 2 for 3s # one way\nat 3s loss 5%",
        );
        let at: Vec<u64> = script
            .steps()
            .iter()
            .map(|step| step.at.as_secs())
            .collect();
        assert_eq!(at, [0, 2, 3, 5, 10]);
        let changes: Vec<&Change> = script.steps().iter().map(|step| &step.change).collect();
        let (from, to) = (vec![0, 1], vec![2]);
        assert_eq!(
            changes,
            [
                &Change::Delay {
                    base: Duration::from_millis(5),
                    jitter: Duration::from_micros(1_500)
                },
                &Change::Cut {
                    from: from.clone(),
                    to: to.clone()
                },
                &Change::Loss(50_000),
                &Change::Mend { from, to },
                &Change::Process(ProcessFault::Kill(4)),
            ]
        );
    }

    #[test]
    fn a_bar_cuts_both_ways() {
        let script = script("at 1s cut 0 | 1\nat 2s mend 0 | 1\nat 3s start 1 empty\nat 4s mend");
        assert_eq!(script.steps().len(), 6);
        let both = |a: &Change, b: &Change| matches!((a, b), (Change::Cut { from, .. }, Change::Cut { to, .. }) if from == to);
        assert!(both(&script.steps()[0].change, &script.steps()[1].change));
        let start = Change::Process(ProcessFault::Start {
            node: 1,
            is_empty: true,
        });
        assert_eq!(script.steps()[4].change, start);
        assert_eq!(script.steps()[5].change, Change::MendAll);
    }

    #[test]
    fn bad_lines_are_named() {
        for (text, line) in [
            ("delay 5ms", 1),
            ("at 0 delay 5ms\nat 1s explode", 2),
            ("at -1s mend", 1),
            ("at 1e99s mend", 1),
            ("at 5 mend", 1),
            ("at 1s loss 101%", 1),
            ("at 1s loss x", 1),
            ("at 1s cut 0,x | 1", 1),
            ("at 1s cut 0 | 1 until 3s", 1),
            ("at 1s kill 70000", 1),
            ("at NaNs mend", 1),
            ("at 1s start 1 full", 1),
        ] {
            let error = text.parse::<Script>().unwrap_err();
            assert_eq!(error.line, line, "{text}: {error}");
        }
    }
}

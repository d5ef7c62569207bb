//! What goes wrong when: a list of steps, as a value and as text.
//!
//! Not here: carrying it out.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Something that changes between the nodes, or about one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Everything takes that long, and up to `jitter` longer.
    Delay {
        /// At least.
        base: Duration,
        /// At most that much more.
        jitter: Duration,
    },
    /// That many of a million datagrams are lost.
    Loss(u32),
    /// That many of a million datagrams come twice.
    Duplication(u32),
    /// That many of a million datagrams are held back.
    Reordering {
        /// How many.
        odds: u32,
        /// For how long.
        hold: Duration,
    },
    /// What some nodes send some others is lost from now on.
    Cut {
        /// Senders.
        from: Vec<u16>,
        /// Receivers.
        to: Vec<u16>,
    },
    /// The end of such a cut.
    Mend {
        /// Senders.
        from: Vec<u16>,
        /// Receivers.
        to: Vec<u16>,
    },
    /// The end of all cuts.
    MendAll,
    /// Something happens to a process.
    Process(ProcessFault),
}

/// Something that happens to a node's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessFault {
    /// It is killed, and can say nothing.
    Kill(u16),
    /// It is asked to end.
    Stop(u16),
    /// It is started again.
    Start {
        /// Which.
        node: u16,
        /// Whether what it had on disk is gone.
        is_empty: bool,
    },
    /// It stands still.
    Pause(u16),
    /// It goes on.
    Resume(u16),
}

/// A change and when it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptStep {
    /// When, since the start.
    pub at: Duration,
    /// What.
    pub change: Change,
}

/// Steps in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    steps: Vec<ScriptStep>,
}

/// A line of a script that says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadScript {
    /// Which line, from 1.
    pub line: usize,
    /// What is wrong with it.
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
    /// The same steps in order of time; those of one time stay as they were.
    pub fn new(mut steps: Vec<ScriptStep>) -> Self {
        steps.sort_by_key(|step| step.at);
        Self { steps }
    }

    /// The steps, in order.
    pub fn steps(&self) -> &[ScriptStep] {
        &self.steps
    }

    /// Waits for each step from `begun` on, and hands it over.
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

    /// Reads lines such as `at 10s cut 0,1 | 2,3 for 5s`; what follows a `#` is a remark.
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

/// Reads one line; a cut with an end is two steps.
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

/// Senders and receivers.
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

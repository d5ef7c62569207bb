//! Faults of the lab as scripts for processes, and back.
//!
//! Not here: clocks that are off. The lab can turn them; processes share the clock of this machine.

use std::time::Duration;

use tollgate_fault::{Change, ProcessFault, Script, ScriptStep};
use tollgate_lab::WorldFault;
use tollgate_limit::Span;

/// Why faults of the lab cannot happen to processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoClock;

/// The same faults for processes.
///
/// A crash that keeps its memory is a process that stands still; one that does not is a kill and a start on an empty
/// disk.
pub(crate) fn of_faults(faults: &[WorldFault]) -> Result<Script, NoClock> {
    let mut steps = Vec::new();
    let mut add = |at: Span, change| {
        steps.push(ScriptStep {
            at: duration(at),
            change,
        });
    };
    for fault in faults {
        match fault {
            WorldFault::Delay { base, jitter } => {
                let change = Change::Delay {
                    base: duration(*base),
                    jitter: duration(*jitter),
                };
                add(Span::ZERO, change);
            }
            WorldFault::Loss(odds) => add(Span::ZERO, Change::Loss(*odds)),
            WorldFault::Duplication(odds) => add(Span::ZERO, Change::Duplication(*odds)),
            WorldFault::Skew(_) | WorldFault::Jump { .. } => return Err(NoClock),
            WorldFault::Crash {
                node,
                at,
                outage,
                keeps_state,
            } => {
                let (node, is_empty) = (*node, true);
                let (down, up) = if *keeps_state {
                    (ProcessFault::Pause(node), ProcessFault::Resume(node))
                } else {
                    (
                        ProcessFault::Kill(node),
                        ProcessFault::Start { node, is_empty },
                    )
                };
                add(*at, Change::Process(down));
                add(later(*at, *outage), Change::Process(up));
            }
            WorldFault::Cut {
                from,
                to,
                at,
                lasting,
            } => {
                let (from, to) = (from.clone(), to.clone());
                let mend = Change::Mend {
                    from: from.clone(),
                    to: to.clone(),
                };
                add(*at, Change::Cut { from, to });
                add(later(*at, *lasting), mend);
            }
            WorldFault::Join { node, at } => {
                let (node, is_empty) = (*node, true);
                add(*at, Change::Process(ProcessFault::Start { node, is_empty }));
            }
            WorldFault::Leave { node, at } => add(*at, Change::Process(ProcessFault::Stop(*node))),
        }
    }
    Ok(Script::new(steps))
}

/// A script as the lab has it, as far as it has the words: weather from the start on, cuts, pauses, crashes.
///
/// What the lab has no word for is left out: reordering other than by jitter, and weather that changes later.
pub(crate) fn to_faults(script: &Script) -> Vec<WorldFault> {
    let steps = script.steps();
    let mut faults = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let rest = steps.get(number + 1..).unwrap_or_default();
        let is_start = step.at.is_zero();
        match &step.change {
            Change::Delay { base, jitter } if is_start => faults.push(WorldFault::Delay {
                base: span(*base),
                jitter: span(*jitter),
            }),
            Change::Loss(odds) if is_start => faults.push(WorldFault::Loss(*odds)),
            Change::Duplication(odds) if is_start => faults.push(WorldFault::Duplication(*odds)),
            Change::Cut { from, to } => {
                let mended = |later: &&ScriptStep| match &later.change {
                    Change::MendAll => true,
                    Change::Mend { from: f, to: t } => f == from && t == to,
                    _ => false,
                };
                let end = rest.iter().find(mended).map_or(FOR_EVER, |end| end.at);
                faults.push(WorldFault::Cut {
                    from: from.clone(),
                    to: to.clone(),
                    at: span(step.at),
                    lasting: span(end.saturating_sub(step.at)),
                });
            }
            Change::Process(process) => faults.extend(crash(*process, step.at, rest)),
            Change::Delay { .. }
            | Change::Loss(_)
            | Change::Duplication(_)
            | Change::Reordering { .. }
            | Change::Mend { .. }
            | Change::MendAll => {}
        }
    }
    faults
}

/// What a process suffers, until it comes back.
fn crash(process: ProcessFault, at: Duration, rest: &[ScriptStep]) -> Option<WorldFault> {
    let (node, keeps_state) = match process {
        ProcessFault::Kill(node) | ProcessFault::Stop(node) => (node, false),
        ProcessFault::Pause(node) => (node, true),
        ProcessFault::Start { .. } | ProcessFault::Resume(_) => return None,
    };
    let comes_back = |step: &&ScriptStep| match step.change {
        Change::Process(ProcessFault::Start { node: who, .. } | ProcessFault::Resume(who)) => {
            who == node
        }
        _ => false,
    };
    Some(match rest.iter().find(comes_back) {
        Some(back) => WorldFault::Crash {
            node,
            at: span(at),
            outage: span(back.at.saturating_sub(at)),
            keeps_state,
        },
        None => WorldFault::Leave { node, at: span(at) },
    })
}

const FOR_EVER: Duration = Duration::from_hours(24 * 365);

fn duration(span: Span) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

const fn span(duration: Duration) -> Span {
    Span::from_nanos(duration.as_nanos())
}

fn later(at: Span, by: Span) -> Span {
    Span::from_nanos(at.as_nanos().saturating_add(by.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u128) -> Span {
        Span::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn what_the_lab_knows_goes_to_processes_and_back() {
        let faults = vec![
            WorldFault::Delay {
                base: ms(5),
                jitter: ms(2),
            },
            WorldFault::Loss(50_000),
            WorldFault::Cut {
                from: vec![0, 1],
                to: vec![2],
                at: ms(1000),
                lasting: ms(500),
            },
            WorldFault::Crash {
                node: 3,
                at: ms(2000),
                outage: ms(100),
                keeps_state: false,
            },
            WorldFault::Crash {
                node: 1,
                at: ms(3000),
                outage: ms(100),
                keeps_state: true,
            },
            WorldFault::Leave {
                node: 4,
                at: ms(4000),
            },
        ];
        let script = of_faults(&faults).unwrap();
        assert_eq!(script.steps().len(), 9);
        assert_eq!(to_faults(&script), faults);
    }

    #[test]
    fn clocks_of_processes_are_one() {
        assert_eq!(of_faults(&[WorldFault::Skew(ms(50))]), Err(NoClock));
    }

    #[test]
    fn a_cut_that_nobody_mends_stays() {
        let script: Script = "at 1s cut 0 > 1\nat 2s kill 1\nat 3s loss 5%"
            .parse()
            .unwrap();
        let faults = to_faults(&script);
        assert_eq!(faults.len(), 2);
        let is_long = |fault: &WorldFault| matches!(fault, WorldFault::Cut { lasting, .. } if *lasting > ms(1_000_000));
        assert!(is_long(&faults[0]), "{faults:?}");
        assert_eq!(
            faults[1],
            WorldFault::Leave {
                node: 1,
                at: ms(2000)
            }
        );
    }
}

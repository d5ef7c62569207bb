//! Faults of the lab as scripts for processes, and back.
//!
//! Not here: clocks that are off. The lab can turn them; processes share the clock of this machine.

use std::time::Duration;

use tollgate_fault::{Change, Process, Script, Step};
use tollgate_lab::Fault;
use tollgate_limit::Span;

/// Why faults of the lab cannot happen to processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoClock;

/// The same faults for processes.
///
/// A crash that keeps its memory is a process that stands still; one that does not is a kill and a start on an empty
/// disk.
pub fn of_faults(faults: &[Fault]) -> Result<Script, NoClock> {
    let mut steps = Vec::new();
    let mut add = |at: Span, change| {
        steps.push(Step {
            at: duration(at),
            change,
        });
    };
    for fault in faults {
        match fault {
            Fault::Delay { base, jitter } => {
                let change = Change::Delay {
                    base: duration(*base),
                    jitter: duration(*jitter),
                };
                add(Span::ZERO, change);
            }
            Fault::Loss(odds) => add(Span::ZERO, Change::Loss(*odds)),
            Fault::Duplication(odds) => add(Span::ZERO, Change::Duplication(*odds)),
            Fault::Skew(_) | Fault::Jump { .. } => return Err(NoClock),
            Fault::Crash {
                node,
                at,
                outage,
                keeps_state,
            } => {
                let (node, is_empty) = (*node, true);
                let (down, up) = if *keeps_state {
                    (Process::Pause(node), Process::Resume(node))
                } else {
                    (Process::Kill(node), Process::Start { node, is_empty })
                };
                add(*at, Change::Process(down));
                add(later(*at, *outage), Change::Process(up));
            }
            Fault::Cut {
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
            Fault::Join { node, at } => {
                let (node, is_empty) = (*node, true);
                add(*at, Change::Process(Process::Start { node, is_empty }));
            }
            Fault::Leave { node, at } => add(*at, Change::Process(Process::Stop(*node))),
        }
    }
    Ok(Script::new(steps))
}

/// A script as the lab has it, as far as it has the words: weather from the start on, cuts, pauses, crashes.
///
/// What the lab has no word for is left out: reordering other than by jitter, and weather that changes later.
pub fn to_faults(script: &Script) -> Vec<Fault> {
    let steps = script.steps();
    let mut faults = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let rest = steps.get(number + 1..).unwrap_or_default();
        let is_start = step.at.is_zero();
        match &step.change {
            Change::Delay { base, jitter } if is_start => faults.push(Fault::Delay {
                base: span(*base),
                jitter: span(*jitter),
            }),
            Change::Loss(odds) if is_start => faults.push(Fault::Loss(*odds)),
            Change::Duplication(odds) if is_start => faults.push(Fault::Duplication(*odds)),
            Change::Cut { from, to } => {
                let mended = |later: &&Step| match &later.change {
                    Change::MendAll => true,
                    Change::Mend { from: f, to: t } => f == from && t == to,
                    _ => false,
                };
                let end = rest.iter().find(mended).map_or(FOR_EVER, |end| end.at);
                faults.push(Fault::Cut {
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
fn crash(process: Process, at: Duration, rest: &[Step]) -> Option<Fault> {
    let (node, keeps_state) = match process {
        Process::Kill(node) | Process::Stop(node) => (node, false),
        Process::Pause(node) => (node, true),
        Process::Start { .. } | Process::Resume(_) => return None,
    };
    let comes_back = |step: &&Step| match step.change {
        Change::Process(Process::Start { node: who, .. } | Process::Resume(who)) => who == node,
        _ => false,
    };
    Some(match rest.iter().find(comes_back) {
        Some(back) => Fault::Crash {
            node,
            at: span(at),
            outage: span(back.at.saturating_sub(at)),
            keeps_state,
        },
        None => Fault::Leave { node, at: span(at) },
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
            Fault::Delay {
                base: ms(5),
                jitter: ms(2),
            },
            Fault::Loss(50_000),
            Fault::Cut {
                from: vec![0, 1],
                to: vec![2],
                at: ms(1000),
                lasting: ms(500),
            },
            Fault::Crash {
                node: 3,
                at: ms(2000),
                outage: ms(100),
                keeps_state: false,
            },
            Fault::Crash {
                node: 1,
                at: ms(3000),
                outage: ms(100),
                keeps_state: true,
            },
            Fault::Leave {
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
        assert_eq!(of_faults(&[Fault::Skew(ms(50))]), Err(NoClock));
    }

    #[test]
    fn a_cut_that_nobody_mends_stays() {
        let script: Script = "at 1s cut 0 > 1\nat 2s kill 1\nat 3s loss 5%"
            .parse()
            .unwrap();
        let faults = to_faults(&script);
        assert_eq!(faults.len(), 2);
        let is_long =
            |fault: &Fault| matches!(fault, Fault::Cut { lasting, .. } if *lasting > ms(1_000_000));
        assert!(is_long(&faults[0]), "{faults:?}");
        assert_eq!(
            faults[1],
            Fault::Leave {
                node: 1,
                at: ms(2000)
            }
        );
    }
}

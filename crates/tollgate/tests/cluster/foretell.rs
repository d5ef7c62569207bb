//! What the lab says of a run: the same requests at the same nodes and instants, the same faults, messages as late as
//! answers were. Its nodes draw other phases and neighbours, so that it gives a spread, and the spread gives the bound.
//!
//! Let m be the median of what the seeds give and w the worst. If the odds of more fall exponentially, w of n seeds is
//! where they are 1/n, and m + 3 (w - m) where they are about 1/n^3: for 40 seeds one phase in 64,000. Odds that
//! fall faster, with w near m, are further from it. Not here: what a bucket that
//! saw everything says, which `judge` has for the lab's answers and the processes' alike.

use std::time::{Duration, Instant};

use tollgate_gossip::{Bucket, ModeKey};
use tollgate_lab::{Cluster, Contender, Request, WorldFault, answers_of};
use tollgate_limit::{Instant as LabTime, Span};

use crate::judge::{NodeVerdict, PhaseSummary, RecordedAnswer, judge};
use crate::phases::{BUCKET, BURST, NODES, PER_SECOND, RATE};

/// What a phase may cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseBound {
    pub(crate) over: f64,
    pub(crate) under: f64,
}

impl PhaseBound {
    /// The same where news and answers may be that late.
    ///
    /// Each of the other nodes may be asked once more than its rate says in any time, and all of it may be admitted by
    /// nodes that do not know of each other yet; and the judge takes a decision for as late as its answer, so that the
    /// bucket seems to have refilled for as long.
    pub(crate) fn later_by(self, late: Duration) -> Self {
        let others = f64::from(NODES - 1);
        let client = f64::from(RATE) / f64::from(NODES);
        let late = late.as_secs_f64();
        Self {
            over: self.over + others * (1.0 + client * late) + BUCKET.per_second * late,
            under: self.under,
        }
    }
}

/// What was done to the cluster, and when.
#[derive(Debug, Default)]
pub(crate) struct Diary {
    outages: Vec<Outage>,
    cuts: Vec<Cut>,
    mended: Option<Instant>,
}

#[derive(Debug)]
struct Outage {
    node: u16,
    keeps_state: bool,
    from: Instant,
    to: Option<Instant>,
}

#[derive(Debug)]
struct Cut {
    one: Vec<u16>,
    other: Vec<u16>,
    from: Instant,
    to: Option<Instant>,
}

impl Diary {
    pub(crate) fn down(&mut self, node: u16, keeps_state: bool) {
        self.outages.push(Outage {
            node,
            keeps_state,
            from: Instant::now(),
            to: None,
        });
    }

    pub(crate) fn up(&mut self, node: u16) {
        let open = self.outages.iter_mut().rev().find(|it| it.node == node);
        open.unwrap().to = Some(Instant::now());
    }

    pub(crate) fn cut(&mut self, one: &[u16], other: &[u16]) {
        self.cuts.push(Cut {
            one: one.to_vec(),
            other: other.to_vec(),
            from: Instant::now(),
            to: None,
        });
    }

    /// The network was mended a while ago.
    pub(crate) fn mending(&mut self) {
        self.mended = Some(Instant::now());
    }

    /// All have found each other.
    pub(crate) fn mend(&mut self) {
        for cut in &mut self.cuts {
            cut.to.get_or_insert_with(Instant::now);
        }
    }

    /// Seconds from the end of the cut until all had found each other.
    pub(crate) fn healing(&self) -> f64 {
        let known = self.cuts.iter().filter_map(|cut| cut.to).max();
        let healing = self.mended.zip(known).map(|(mended, known)| known - mended);
        healing.unwrap_or_default().as_secs_f64()
    }

    fn faults(&self, begun: Instant) -> Vec<WorldFault> {
        let since = |at: Instant| span(at.saturating_duration_since(begun));
        let mut faults = Vec::new();
        for outage in &self.outages {
            let end = outage.to.unwrap();
            faults.push(WorldFault::Crash {
                node: outage.node,
                at: since(outage.from),
                outage: span(end - outage.from),
                keeps_state: outage.keeps_state,
            });
        }
        for cut in &self.cuts {
            for (from, to) in [(&cut.one, &cut.other), (&cut.other, &cut.one)] {
                faults.push(WorldFault::Cut {
                    from: from.clone(),
                    to: to.clone(),
                    at: since(cut.from),
                    lasting: span(cut.to.unwrap() - cut.from),
                });
            }
        }
        faults
    }
}

/// The bound of each phase for gossip.
pub(crate) fn foretell(
    answers: &[RecordedAnswer],
    phases: &[Instant],
    diary: &Diary,
) -> Vec<PhaseBound> {
    let begun = answers.iter().map(|answer| answer.at).min().unwrap();
    let seen: Vec<&RecordedAnswer> = answers
        .iter()
        .filter(|it| it.said != NodeVerdict::Nothing)
        .collect();
    let trace: Vec<Request> = seen.iter().map(|answer| request(answer, begun)).collect();
    let mut faults = diary.faults(begun);
    faults.push(delay(&seen));
    let cluster = Cluster {
        nodes: NODES,
        faults,
        ..Cluster::new(Bucket::new(BURST, PER_SECOND, SECOND_NS).unwrap())
    };
    let runs: Vec<Vec<PhaseSummary>> = (1..=SEEDS)
        .map(|seed| {
            let said = answers_of(&cluster, Contender::Links, &trace, seed).unwrap();
            let back: Vec<RecordedAnswer> = said
                .iter()
                .map(|(request, did)| answer(request, *did, begun))
                .collect();
            judge(BUCKET, &back, phases, |_| false)
        })
        .collect();
    let spread = |phase: usize, value: fn(&PhaseSummary) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(|run| value(&run[phase]).max(0.0)).collect();
        values.sort_by(f64::total_cmp);
        let (median, worst) = (values[values.len() / 2], values[values.len() - 1]);
        median + 3.0 * (worst - median)
    };
    (0..phases.len())
        .map(|phase| PhaseBound {
            over: spread(phase, |found| found.over),
            under: spread(phase, |found| {
                f64::from(u32::try_from(found.under).unwrap())
            }),
        })
        .collect()
}

/// Messages take as long as the usual answer, and up to as long as one in a hundred.
fn delay(answers: &[&RecordedAnswer]) -> WorldFault {
    let mut took: Vec<Duration> = answers.iter().map(|answer| answer.took()).collect();
    took.sort_unstable();
    WorldFault::Delay {
        base: span(took[took.len() / 2]),
        jitter: span(took[took.len() - 1 - took.len() / 100]),
    }
}

fn request(answer: &RecordedAnswer, begun: Instant) -> Request {
    Request {
        at: LabTime::from_nanos(EPOCH_NS + nanos(answer.at - begun)),
        key: ModeKey(1),
        cost: 1,
        node: Some(answer.node),
    }
}

fn answer(request: &Request, admitted: bool, begun: Instant) -> RecordedAnswer {
    let at = begun + Duration::from_nanos(request.at.as_nanos() - EPOCH_NS);
    RecordedAnswer {
        lane: 0,
        node: request.node.unwrap(),
        begun: at,
        at,
        said: if admitted {
            NodeVerdict::Admitted
        } else {
            NodeVerdict::Refused
        },
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap()
}

fn span(span: Duration) -> Span {
    Span::from_nanos(span.as_nanos())
}

const SEEDS: u64 = 40;
const SECOND_NS: u64 = 1_000_000_000;
/// When the lab's run begins: some day in 2026.
const EPOCH_NS: u64 = 1_790_000_000 * SECOND_NS;

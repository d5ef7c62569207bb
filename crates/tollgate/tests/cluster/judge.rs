//! What a bucket that saw everything would say of what was admitted.
//!
//! An answer was decided at some instant between the question and its arrival. Where that matters the judge gives the
//! benefit of the doubt, so that a slow machine looks no worse than a fast one. Not here: anything that decides. This
//! bucket is written anew, so that it can judge.

use std::time::{Duration, Instant};

/// Tokens a bucket holds, and regains in a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TestBucket {
    pub(crate) burst: f64,
    pub(crate) per_second: f64,
}

/// What a node said to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeVerdict {
    Admitted,
    Refused,
    /// No answer came. The request may have been charged.
    Nothing,
}

/// A request and its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedAnswer {
    pub(crate) lane: usize,
    pub(crate) node: u16,
    pub(crate) begun: Instant,
    /// When the answer came, or was waited for no longer.
    pub(crate) at: Instant,
    pub(crate) said: NodeVerdict,
}

impl RecordedAnswer {
    /// How long the node took.
    pub(crate) fn took(&self) -> Duration {
        self.at - self.begun
    }
}

/// What happened in a phase.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PhaseSummary {
    pub(crate) asked: u64,
    pub(crate) admitted: u64,
    /// Tokens admitted beyond what the bucket had at its worst, counted from the debt the phase began with.
    pub(crate) over: f64,
    /// Requests refused although the bucket had a token, whatever the order of what overlapped.
    pub(crate) under: u64,
    /// The longest that an answer took: news between nodes may be as late on this machine.
    pub(crate) slowest: Duration,
    /// Requests that got no answer.
    pub(crate) unanswered: u64,
}

/// A bucket without a bottom.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    tokens: f64,
    at: Option<Instant>,
    /// What may have drained since then although it is counted, as the first charge may have come later than it is
    /// taken for.
    doubt: f64,
}

impl Level {
    fn leak(&mut self, bucket: TestBucket, now: Instant) {
        let passed = self
            .at
            .map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.tokens = (self.tokens - passed.as_secs_f64() * bucket.per_second).max(0.0);
        self.at = Some(self.at.map_or(now, |at| at.max(now)));
    }
}

/// Judges the answers of one lane, which are in the order in which they came; phases begin at these instants.
///
/// `doubtful` answers took so long that the request may have been charged once more than it was answered.
pub(crate) fn judge(
    bucket: TestBucket,
    answers: &[RecordedAnswer],
    phases: &[Instant],
    doubtful: impl Fn(&RecordedAnswer) -> bool,
) -> Vec<PhaseSummary> {
    let mut found = vec![PhaseSummary::default(); phases.len()];
    overs(bucket, answers, phases, &mut found);
    unders(bucket, answers, phases, &doubtful, &mut found);
    found
}

fn phase_at(phases: &[Instant], at: Instant) -> usize {
    phases
        .partition_point(|begin| *begin <= at)
        .saturating_sub(1)
}

/// What was admitted, as late as it may have been: only what was answered counts.
fn overs(
    bucket: TestBucket,
    answers: &[RecordedAnswer],
    phases: &[Instant],
    found: &mut [PhaseSummary],
) {
    let mut level = Level::default();
    let (mut phase, mut debt_before) = (0, 0.0_f64);
    for answer in answers {
        level.leak(bucket, answer.at);
        let begins = phase_at(phases, answer.at);
        if begins != phase {
            (phase, debt_before) = (begins, (level.tokens - bucket.burst).max(0.0));
        }
        let now = &mut found[phase];
        match answer.said {
            NodeVerdict::Nothing => {
                now.unanswered += 1;
                continue;
            }
            NodeVerdict::Refused => {}
            NodeVerdict::Admitted => {
                level.tokens += 1.0;
                now.admitted += 1;
                now.over = now.over.max(level.tokens - bucket.burst - debt_before);
            }
        }
        now.asked += 1;
        now.slowest = now.slowest.max(answer.took());
    }
}

/// What was charged, as early as it may have been: what was not answered counts, what was in doubt twice.
fn unders(
    bucket: TestBucket,
    answers: &[RecordedAnswer],
    phases: &[Instant],
    doubtful: &impl Fn(&RecordedAnswer) -> bool,
    found: &mut [PhaseSummary],
) {
    // A charge was there from the moment it was asked for, and is drained from when it was answered on; a refusal is
    // judged by what the bucket had when it was asked.
    let mut charges: Vec<&RecordedAnswer> = answers
        .iter()
        .filter(|it| it.said != NodeVerdict::Refused)
        .collect();
    charges.sort_by_key(|answer| answer.begun);
    let mut refusals: Vec<&RecordedAnswer> = answers
        .iter()
        .filter(|it| it.said == NodeVerdict::Refused)
        .collect();
    refusals.sort_by_key(|answer| answer.begun);
    let mut level = Level::default();
    let mut charges = charges.into_iter().peekable();
    let mut take = |level: &mut Level, until: Instant| {
        while let Some(charge) = charges.next_if(|charge| charge.begun <= until) {
            level.leak(bucket, charge.begun);
            if level.tokens <= 0.0 {
                level.doubt = charge.took().as_secs_f64() * bucket.per_second;
            }
            level.tokens += 1.0 + f64::from(u8::from(doubtful(charge)));
        }
    };
    for refusal in refusals {
        take(&mut level, refusal.begun);
        let mut then = level;
        then.leak(bucket, refusal.begun);
        let overlaps = answers_between(answers, refusal);
        if then.tokens + then.doubt + overlaps + 1.0 <= bucket.burst - ROUNDING {
            found[phase_at(phases, refusal.at)].under += 1;
        }
    }
}

/// Charges that were asked for while that one was decided.
fn answers_between(answers: &[RecordedAnswer], refusal: &RecordedAnswer) -> f64 {
    let first = answers.partition_point(|it| it.at < refusal.begun);
    let rest = answers[first..]
        .iter()
        .take_while(|it| it.at <= refusal.at + LATEST);
    let count = rest.filter(|it| {
        it.said != NodeVerdict::Refused && it.begun > refusal.begun && it.begun <= refusal.at
    });
    f64::from(u32::try_from(count.count()).unwrap())
}

/// Of a level.
const ROUNDING: f64 = 1e-6;
/// Longer than any answer is waited for.
const LATEST: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    const BUCKET: TestBucket = TestBucket {
        burst: 10.0,
        per_second: 1.0,
    };

    fn answers(begun: Instant, said: fn(u64) -> NodeVerdict) -> Vec<RecordedAnswer> {
        (0..40)
            .map(|number| RecordedAnswer {
                lane: 0,
                node: 0,
                begun: begun + Duration::from_millis(10 * number),
                at: begun + Duration::from_millis(10 * number + 1),
                said: said(number),
            })
            .collect()
    }

    fn first(count: u64, number: u64) -> NodeVerdict {
        if number < count {
            NodeVerdict::Admitted
        } else {
            NodeVerdict::Refused
        }
    }

    #[test]
    fn the_judge_knows_an_exact_bucket_from_others() {
        let begun = Instant::now();
        let phases = [begun, begun + Duration::from_millis(200)];
        let judged = |said| judge(BUCKET, &answers(begun, said), &phases, |_| false);
        let exact = judged(|number| first(10, number));
        assert!(exact.iter().all(|found| found.under == 0), "{exact:?}");
        assert!(exact[0].over <= 0.1 && exact[1].over <= 0.0);
        let generous = judged(|number| first(15, number));
        assert!((4.5..5.0).contains(&generous[0].over), "{generous:?}");
        assert!(generous[1].over <= 0.0);
        let mean = judged(|number| first(5, number));
        assert_eq!((mean[0].under, mean[1].under), (15, 20));
    }

    #[test]
    fn what_was_not_answered_may_have_been_charged() {
        let begun = Instant::now();
        let lost = |number| match number {
            0..5 => NodeVerdict::Nothing,
            _ => first(10, number),
        };
        let found = judge(BUCKET, &answers(begun, lost), &[begun], |_| false);
        assert_eq!((found[0].under, found[0].unanswered), (0, 5));
        assert!(found[0].over <= 0.0);
        let slow = judge(
            BUCKET,
            &answers(begun, |number| first(5, number)),
            &[begun],
            |_| true,
        );
        assert_eq!(
            slow[0].under, 0,
            "five were in doubt, and may have been charged twice"
        );
    }
}

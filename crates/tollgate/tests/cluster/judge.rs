//! What a bucket that saw everything would say of what was admitted.
//!
//! Not here: anything that decides. This bucket is written anew, so that it can judge.

use std::time::{Duration, Instant};

/// Tokens a bucket holds, and regains in a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    pub(crate) burst: f64,
    pub(crate) per_second: f64,
}

/// A request that was answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) lane: usize,
    pub(crate) at: Instant,
    /// How long the node took to give it.
    pub(crate) took: Duration,
    pub(crate) admitted: bool,
}

/// What happened in a phase.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    pub(crate) asked: u64,
    pub(crate) admitted: u64,
    /// Tokens admitted beyond what the bucket had at its worst, counted from the debt the phase began with.
    pub(crate) over: f64,
    /// Requests refused although the bucket had a token.
    pub(crate) under: u64,
    /// The longest that an answer took: news between nodes may be as late on this machine.
    pub(crate) slowest: Duration,
}

/// Judges the answers of one lane, which are in order of time; phases begin at these instants.
pub(crate) fn judge(bucket: Bucket, answers: &[Answer], phases: &[Instant]) -> Vec<Found> {
    let mut found = vec![Found::default(); phases.len()];
    let mut level: f64 = 0.0;
    let mut last = answers.first().map(|answer| answer.at);
    let (mut phase, mut debt_before) = (0, 0.0_f64);
    for answer in answers {
        let passed = last.map_or(Duration::ZERO, |last| {
            answer.at.saturating_duration_since(last)
        });
        last = Some(answer.at);
        level = (level - passed.as_secs_f64() * bucket.per_second).max(0.0);
        while phases.get(phase + 1).is_some_and(|next| *next <= answer.at) {
            phase += 1;
            debt_before = (level - bucket.burst).max(0.0);
        }
        let now = &mut found[phase];
        now.asked += 1;
        now.slowest = now.slowest.max(answer.took);
        if answer.admitted {
            level += 1.0;
            now.admitted += 1;
            now.over = now.over.max(level - bucket.burst - debt_before);
        } else if level + 1.0 <= bucket.burst {
            now.under += 1;
        }
    }
    found
}

#[test]
fn the_judge_knows_an_exact_bucket_from_others() {
    let begun = Instant::now();
    let bucket = Bucket {
        burst: 10.0,
        per_second: 1.0,
    };
    let answers = |admitted: fn(u64) -> bool| -> Vec<Answer> {
        (0..40)
            .map(|number| Answer {
                lane: 0,
                at: begun + Duration::from_millis(10 * number),
                took: Duration::from_millis(1),
                admitted: admitted(number),
            })
            .collect()
    };
    let phases = [begun, begun + Duration::from_millis(200)];
    let exact = judge(bucket, &answers(|number| number < 10), &phases);
    assert!(exact.iter().all(|found| found.under == 0), "{exact:?}");
    assert!(exact[0].over <= 0.1 && exact[1].over <= 0.0);
    let generous = judge(bucket, &answers(|number| number < 15), &phases);
    assert!((4.5..5.0).contains(&generous[0].over), "{generous:?}");
    assert!(generous[1].over <= 0.0);
    let mean = judge(bucket, &answers(|number| number < 5), &phases);
    assert_eq!((mean[0].under, mean[1].under), (15, 20));
}

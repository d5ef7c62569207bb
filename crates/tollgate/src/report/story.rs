//! The sentences that a report opens and closes with.

use super::text::put;
use super::units;
use super::{Meaning, Summary};

/// The main fact in one line: `Denied 4.1 % of 1.2 M requests over 3 h`.
pub(super) fn title(summary: &Summary) -> String {
    let total = summary.total().requests;
    let share = |meaning| units::share(summary.count(meaning).requests, total);
    let (denied, delayed) = (
        summary.count(Meaning::Denied).requests,
        summary.count(Meaning::Delayed).requests,
    );
    let (first, last) = summary.span().unwrap_or((0, 0));
    let requests = format!(
        "{} {}",
        units::count(total),
        if total == 1 { "request" } else { "requests" }
    );
    let over = if last > first {
        format!(" over {}", units::span(last - first))
    } else {
        String::new()
    };
    match (total, denied, delayed) {
        (0, ..) => "No requests in the trace".to_owned(),
        (1, 0, 0) => "Allowed the only request".to_owned(),
        (_, 0, 0) => format!("Allowed all of {requests}{over}"),
        (_, 0, _) => format!(
            "Delayed {} of {requests}{over}, denied none",
            share(Meaning::Delayed)
        ),
        _ => format!("Denied {} of {requests}{over}", share(Meaning::Denied)),
    }
}

/// Conclusions: which policy refused most, which keys, and what to do if nothing was limited.
pub(super) fn conclusion(summary: &Summary) -> String {
    let total = summary.total().requests;
    if total == 0 {
        return "There was nothing to decide: check that the trace is the right file and format."
            .to_owned();
    }
    if summary.count(Meaning::Unmatched).requests == total {
        return "No contract matches any request: compare the contracts' match entries with the trace's fields."
            .to_owned();
    }
    let bitten = |count: &super::PolicyCount| count.denied.requests + count.delayed.requests;
    let Some((label, most)) = summary.policies().max_by_key(|(_, count)| bitten(count)) else {
        return "There are no policies, so nothing was limited.".to_owned();
    };
    if bitten(most) == 0 {
        return "No policy was reached: this traffic fits the contracts with room to spare."
            .to_owned();
    }
    let denied = summary.count(Meaning::Denied).requests;
    let told = |count: u64, word| (count > 0).then(|| format!("{word} {}", units::count(count)));
    let deeds: Vec<String> = [
        told(most.denied.requests, "denied"),
        told(most.delayed.requests, "delayed"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut text = format!(
        "The policy {label} decided most: it {} requests",
        deeds.join(" and ")
    );
    if let Some(first) = summary
        .top()
        .list(1)
        .first()
        .filter(|first| denied > 0 && first.over_max == 0)
    {
        let share = units::share(first.count, denied);
        put(
            &mut text,
            format_args!("; {share} of all denials hit one key, {}", first.key),
        );
    }
    text.push('.');
    text
}

/// A note about the precision of the top keys' counts.
pub(super) fn precision(summary: &Summary) -> Option<String> {
    let worst = summary
        .top()
        .list(10)
        .iter()
        .map(|key| key.over_max)
        .max()?;
    (worst > 0).then(|| {
        format!(
            "More than {} keys were denied, so these counts are upper bounds, too high by at most {}.",
            units::exact(summary.top().len() as u64),
            units::exact(worst)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::super::{ReplayOutcome, ReplayVerdict};
    use super::*;

    fn told(verdicts: &[ReplayVerdict]) -> Summary {
        let mut summary = Summary::new(vec![]);
        for (time_ms, verdict) in (0..).step_by(60_000).zip(verdicts) {
            summary.add(&ReplayOutcome {
                time_ms,
                cost: 1,
                verdict: *verdict,
                policy: None,
                remaining: None,
                key: &"",
            });
        }
        summary
    }

    #[test]
    fn the_title_states_the_fact() {
        let delayed = ReplayVerdict::Delayed { wait_ns: 1 };
        assert_eq!(
            title(&sample()),
            "Denied 6.9 % of 10.8 k requests over 2 h 59 min"
        );
        assert_eq!(title(&told(&[])), "No requests in the trace");
        assert_eq!(
            title(&told(&[ReplayVerdict::Allowed])),
            "Allowed the only request"
        );
        assert_eq!(
            title(&told(&[ReplayVerdict::Allowed; 3])),
            "Allowed all of 3 requests over 2 min"
        );
        assert_eq!(
            title(&told(&[ReplayVerdict::Allowed, delayed])),
            "Delayed 50 % of 2 requests over 1 min, denied none"
        );
    }

    #[test]
    fn the_conclusion_names_the_policy_or_what_to_do() {
        assert!(
            conclusion(&sample())
                .starts_with("The policy free-users/burst decided most: it denied 720")
        );
        assert!(conclusion(&told(&[])).contains("right file"));
        assert!(conclusion(&told(&[ReplayVerdict::Unmatched])).contains("No contract matches"));
    }
}

//! The older scheme: how much it admits too much, beside what it says of itself.

use tollgate_limit::Instant;

use crate::{Centre, Limits, Overdraft, Replica, SyncConfig};

const MS: u64 = 1_000_000;

/// Every client wants 1.5 times the limit; tokens admitted beyond burst and refill, at worst and after ten seconds.
fn run(clients: usize, interval_ns: u64, keep: Overdraft) -> (u64, u64) {
    let (per_second, burst, trip) = (1_000_u64, 100_u64, 2 * MS);
    let limits = Limits::new(per_second, 1_000 * MS, burst).unwrap();
    let config = SyncConfig {
        limits,
        interval_ns,
        keep,
    };
    let start = Instant::from_nanos(0);
    let mut centre = Centre::new(config, start);
    let mut replicas = vec![Replica::new(config, start); clients];
    let mut answers = std::collections::BTreeMap::new();
    let (mut admitted, mut worst) = (0_u64, 0_u64);
    let step = 1_000 * MS / (per_second * 3 / 2);
    for time in (0..10_000 * MS).step_by(usize::try_from(step).unwrap()) {
        let now = Instant::from_nanos(time);
        for (number, replica) in replicas.iter_mut().enumerate() {
            if answers
                .first_key_value()
                .is_some_and(|((due, _), _)| *due <= time)
            {
                let Some(((_, to), level)) = answers.pop_first() else {
                    break;
                };
                if to == number {
                    replica.handle_level(level, now);
                } else {
                    answers.insert((time, to), level);
                }
            }
            admitted += u64::from(replica.check(1, now));
            if let Some(spent) = replica.poll_spent(now) {
                answers.insert((time + trip, number), centre.handle_spent(spent, now));
            }
        }
        let allowed = burst + per_second * time / (1_000 * MS);
        worst = worst.max(admitted.saturating_sub(allowed));
    }
    (worst, admitted)
}

#[test]
fn overshoot_stays_within_what_it_says_while_debts_are_kept() {
    for (clients, interval) in [(3, 10), (3, 100), (10, 10), (10, 100), (30, 100)] {
        let (worst, _) = run(clients, interval * MS, Overdraft::Debt);
        let limits = Limits::new(1_000, 1_000 * MS, 100).unwrap();
        let config = SyncConfig {
            limits,
            interval_ns: interval * MS,
            keep: Overdraft::Debt,
        };
        let most = config.over_max(clients as u64, 2 * MS) + 100;
        println!("{clients} clients, {interval} ms: {worst} of {most}");
        assert!(
            worst > 0 && worst <= most,
            "{clients}, {interval}: {worst} of {most}"
        );
    }
}

#[test]
fn as_printed_it_admits_many_times_the_limit_for_ever() {
    let (_, kept) = run(10, 100 * MS, Overdraft::Debt);
    let (_, forgotten) = run(10, 100 * MS, Overdraft::Nothing);
    println!("kept {kept}, forgotten {forgotten}");
    assert!(forgotten > 5 * kept);
}

//! Small versions of the experiments, and a cut that is no cut seen by the judge.

use tollgate_split::Borrow;
use tollgate_split::plan::place::{Broker, Principles, distribute};
use tollgate_split::plan::profile::{BucketTarget, profile};

use super::fitting::Fitted;
use super::measure::{Figures, Placed};
use super::topic::{Cut, TopicBucket, config, run_apart, run_near};
use super::traffic::{MICRO, Pattern, PublisherTraffic, SECOND, arrivals};
use super::world::Near;
use crate::catalogue::{RunRequest, experiments};

/// A thousand publishers over some brokers, and their trace.
fn cut(traffic: &PublisherTraffic, bucket: TopicBucket, brokers: usize) -> Cut {
    let publishers = traffic.publishers();
    let idle = Broker {
        capacity: 1 << 40,
        load: 0,
    };
    let places = distribute(&publishers, &vec![idle; brokers], Principles::NONE, 1, 1).unwrap();
    Placed::new(bucket, &publishers, &places).cut()
}

#[test]
fn borrowing_leaves_little_of_the_penalty_and_breaks_nothing() {
    let traffic = PublisherTraffic::alone(1_000, 1, Pattern::Poisson, 4);
    let bursts = traffic.bursts(1);
    let bucket = TopicBucket::per_second(11_000, 25);
    let cut = cut(&traffic, bucket, 6);
    let near = Near {
        one_way_ns: 200 * MICRO,
        config: tollgate_split::SplitConfig {
            borrow: Borrow::Always,
            ..config()
        },
        adaptor: None,
    };
    let (apart, near) = (
        run_apart(bucket, &cut, &bursts),
        run_near(bucket, &cut, &bursts, &near),
    );
    for ran in [&apart, &near] {
        assert_eq!(ran.violations, 0);
        assert_eq!(ran.count(), bursts.len());
    }
    assert_eq!(apart.frames, 0);
    let p99 = |ran| Figures::of_waits(ran, 0, 4 * SECOND).p99;
    assert!(p99(&apart) > 8.0, "{}", p99(&apart));
    assert!(p99(&near) < 2.5, "{}", p99(&near));
    // The same twice.
    let again = run_apart(bucket, &cut, &bursts);
    assert_eq!(again.lefts, apart.lefts);
}

#[test]
fn equal_pieces_of_groups_wait_as_the_whole_does() {
    let traffic = PublisherTraffic::groups(20, Pattern::Poisson, 10);
    let bursts = traffic.bursts(3);
    let found = profile(&arrivals(&bursts), BucketTarget::default()).unwrap();
    let bucket = TopicBucket {
        rate_milli: found.rate_milli,
        burst: found.burst,
    };
    let fitted = Fitted::new(&traffic, bursts, bucket, 3);
    let (one, four) = (fitted.at(Principles::ALL, 1), fitted.at(Principles::ALL, 4));
    assert!(one.p_wait <= 0.01, "{}", one.p_wait);
    assert!((one.p_wait - four.p_wait).abs() < 1e-3, "{}", four.p_wait);
    let blind = Principles {
        correlation: false,
        ..Principles::ALL
    };
    assert!(fitted.at(blind, 4).p_wait > 2.0 * four.p_wait);
    assert_eq!((one.violations, four.violations), (0, 0));
    assert_eq!((one.k, four.k), (1, 4));
}

#[test]
fn two_whole_buckets_are_no_cut_and_the_judge_sees_it() {
    let traffic = PublisherTraffic::alone(1_000, 1, Pattern::Poisson, 1);
    let bucket = TopicBucket::per_second(5_000, 5);
    let whole = bucket.limits().whole();
    let both = Cut {
        places: (0..1_000).map(|at| Some(at % 2)).collect(),
        shares: vec![whole; 2],
    };
    assert!(run_apart(bucket, &both, &traffic.bursts(1)).violations > 1_000);
}

#[test]
fn one_bucket_never_has_more_waiting_than_its_parts() {
    let experiment = experiments().find(|own| own.name == "split-prop1");
    let report = experiment
        .unwrap()
        .run(&RunRequest {
            first: 1,
            seeds: Some(1),
            threads: 2,
            designs: None,
            curves: false,
            progress: &|_, _| {},
        })
        .unwrap();
    assert_eq!(report.failure, None);
    assert!(report.bars.iter().all(|bar| bar.met == Some(true)));
    let count = |series: &str| {
        let row = report.split.iter().find(|row| row.series.contains(series));
        row.unwrap().more.ours.unwrap()
    };
    assert!(count("points") > 100_000.0);
    assert!(count("one bucket has more").abs() < 0.5);
}

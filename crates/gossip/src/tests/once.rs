//! A link applies each report exactly once, whatever its frames meet, catch-up frames included.

use std::collections::BTreeMap;

use super::*;
use crate::law::{LinkEntry, Seg, What};
use crate::post::LinkSet;
use crate::stream::{Stream, StreamArrival};
use crate::wire::{LinkMessage, LinkReport, decode};

fn report(number: u64, lo: Option<u64>, entries: u64) -> LinkReport {
    let entry = |key| LinkEntry {
        key: ModeKey(u128::from(key)),
        what: What::Report(Vec::new()),
    };
    LinkReport {
        number,
        lo,
        time: Instant::default(),
        entries: (0..entries).map(entry).collect(),
    }
}

#[test]
fn a_stream_takes_each_number_once_in_any_order() {
    for seed in 0..2_000 {
        let mut dice = Dice::new(seed);
        let mut stream = Stream::new(Writer(1));
        let mut taken = std::collections::BTreeSet::new();
        for _ in 0..300 {
            let number = 1 + dice.below(120);
            let (arrival, _) = stream.take(report(number, None, 1));
            let ack = stream.ack();
            match arrival {
                StreamArrival::New => assert!(taken.insert(number), "seed {seed}: {number} twice"),
                StreamArrival::Repeat => assert!(taken.contains(&number), "seed {seed}: {number}"),
                StreamArrival::Beyond => assert!(number > ack.cum + 64, "seed {seed}: {number}"),
            }
            for number in 1..=120_u64 {
                let is_acked = match number.checked_sub(ack.cum + 1) {
                    None => true,
                    Some(ahead) => ahead < 64 && ack.window & (1 << ahead) > 0,
                };
                assert_eq!(is_acked, taken.contains(&number), "seed {seed}");
            }
        }
    }
}

#[test]
fn a_range_is_taken_only_where_it_begins() {
    let mut stream = Stream::new(Writer(1));
    assert_eq!(stream.take(report(9, Some(3), 1)).0, StreamArrival::Beyond);
    for number in 1..=3 {
        assert_eq!(stream.take(report(number, None, 1)).0, StreamArrival::New);
    }
    assert_eq!(stream.take(report(12, None, 1)).0, StreamArrival::New);
    assert_eq!(stream.take(report(9, Some(2), 1)).0, StreamArrival::Beyond);
    assert_eq!(stream.take(report(9, Some(3), 1)).0, StreamArrival::New);
    assert_eq!(stream.take(report(9, Some(3), 1)).0, StreamArrival::Repeat);
    assert_eq!(stream.take(report(12, Some(9), 1)).0, StreamArrival::Beyond);
    // Nothing will come for these numbers, wherever that begins.
    assert_eq!(stream.take(report(30, Some(20), 0)).0, StreamArrival::New);
    assert_eq!(stream.ack().cum, 30);
}

#[test]
fn refunds_wait_for_their_place_in_the_stream() {
    let mut stream = Stream::new(Writer(1));
    let refund = |number| {
        let mut report = report(number, None, 1);
        let (at, n) = (Instant::default(), number);
        report.entries[0].what = What::Refund(Seg::new(at, n));
        report
    };
    assert_eq!(stream.take(refund(3)).1.len(), 0);
    assert_eq!(stream.take(refund(2)).1.len(), 0);
    let (_, now) = stream.take(report(1, None, 1));
    let now: Vec<_> = now.into_iter().map(|entry| entry.what).collect();
    assert!(matches!(&now[..], [What::Report(_), What::Refund(a), What::Refund(b)] if a.n < b.n));
}

/// Two nodes, one of which reports; what arrived is counted by key.
struct Pair {
    sender: LinkSet,
    receiver: LinkSet,
    got: BTreeMap<ModeKey, u64>,
    skipped: bool,
}

impl Pair {
    fn new() -> Self {
        let mut sender = LinkSet::new(NodeId(0), Writer(1), span(5));
        let mut receiver = LinkSet::new(NodeId(1), Writer(2), span(5));
        let members = [NodeId(0), NodeId(1)];
        sender.set_members(&members, Instant::from_nanos(START));
        receiver.set_members(&members, Instant::from_nanos(START));
        Self {
            sender,
            receiver,
            got: BTreeMap::new(),
            skipped: false,
        }
    }

    fn deliver(&mut self, to: u16, frame: &[u8], now: Instant) {
        let frame = decode(frame, now).unwrap();
        let (post, from) = match to {
            0 => (&mut self.sender, NodeId(1)),
            _ => (&mut self.receiver, NodeId(0)),
        };
        if post.meet(from, &frame, now).unwrap().is_none() {
            return;
        }
        let LinkMessage::Report(report) = frame.message else {
            return;
        };
        let is_empty = report.entries.is_empty();
        let taken = post.arrive(from, report, frame.is_resent, now);
        self.skipped |= is_empty && taken.is_some();
        for entry in taken.into_iter().flatten() {
            if let What::Report(segs) = entry.what {
                *self.got.entry(entry.key).or_default() +=
                    segs.iter().map(|seg| seg.n).sum::<u64>();
            }
        }
        post.flush_acks(now);
    }
}

fn add(waiting: &mut Vec<Seg>, more: &[Seg]) {
    waiting.extend_from_slice(more);
}

#[test]
fn every_report_counts_once_through_loss_copies_disorder_and_partitions() {
    for seed in 0..300 {
        let mut dice = Dice::new(seed);
        let weather = Conditions {
            loss: [0, 50_000, 300_000][dice.place(3)],
            copies: [0, 200_000][dice.place(2)],
            ..Conditions::between(MS, [2, 40, 150][dice.place(3)] * MS)
        };
        let streams = [1, 2, 3].map(|stream| Dice::new(seed ^ stream << 50));
        let mut sim: Sim<Arc<[u8]>, (), Dice> = Sim::new(START, Links::new(weather, streams));
        for _ in 0..dice.below(4) {
            let from = START + dice.below(20_000) * MS;
            let until = from + dice.below(8_000) * MS;
            sim.links.cut(&[0], &[1], from..until);
            if dice.chance(2, 3) {
                sim.links.cut(&[1], &[0], from..until);
            }
        }
        let (mut pair, mut told) = (Pair::new(), BTreeMap::new());
        let end = START + 25_000 * MS;
        let mut next_report = START;
        let gap = [3, 40, 400][dice.place(3)] * MS;
        while sim.now() < end + 30_000 * MS {
            let now = Instant::from_nanos(sim.now());
            if sim.now() >= next_report && sim.now() < end {
                next_report = sim.now() + dice.below(2 * gap) + 1;
                let key = ModeKey(u128::from(dice.below(50)));
                let n = 1 + dice.below(3);
                *told.entry(key).or_default() += n;
                let what = What::Report(vec![Seg::new(now, n)]);
                pair.sender.report(&[LinkEntry { key, what }], &add, now);
            }
            pair.sender.handle_timeout(now);
            pair.receiver.handle_timeout(now);
            for (from, post) in [(0, &mut pair.sender), (1, &mut pair.receiver)] {
                while let Some(send) = post.poll_send() {
                    sim.post(from, send.to.0, send.frame);
                }
            }
            let until = sim.now() + MS;
            while let Some(event) = sim.next(until) {
                if let SimEvent::Message { to, message, .. } = event {
                    pair.deliver(to, &message, Instant::from_nanos(sim.now()));
                }
            }
            sim.pass(until);
        }
        assert!(!pair.skipped, "seed {seed}: nothing need be lost");
        assert_eq!(pair.got, told, "seed {seed}");
        assert!(
            pair.sender.is_quiet() && pair.receiver.is_quiet(),
            "seed {seed}"
        );
    }
}

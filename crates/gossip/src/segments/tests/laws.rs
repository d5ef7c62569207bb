//! The level is that of one bucket that saw everything; news may come in any order.

use std::sync::Arc;

use super::super::cell::Cell;
use super::*;
use crate::list::{Segment, backlog};
use crate::talk::{Entry, Frame, Known};

const HISTORIES: u64 = 400;
const ARRIVALS: u64 = 300;

/// A writer that hears of the others now and then, and only in part.
struct Author {
    cell: Cell,
    known: Known,
}

#[test]
fn the_union_of_all_segments_is_the_central_level_whatever_each_writer_knew() {
    for seed in 0..HISTORIES {
        let mut dice = Dice::new(seed);
        let numbers = Numbers {
            burst: 50,
            tokens: 1 + dice.below(5),
            per_ns: 7 * SECOND,
        };
        let bucket = numbers.bucket();
        let mut authors: Vec<_> = (0..2 + dice.below(6)).map(|_| author()).collect();
        let mut central = Central::new(numbers);
        let mut now = SECOND;
        // Sparse, dense and mixed histories.
        let gap_max = [SECOND / 10, 3 * SECOND, 12 * SECOND][dice.below(3) as usize];
        for step in 0..ARRIVALS {
            now += dice.below(gap_max);
            let count = authors.len() as u64;
            let (who, cost) = (dice.below(count) as usize, 1 + dice.below(3));
            hear(&mut authors, &mut dice, who, step, bucket);
            let author = &mut authors[who];
            let added = author.cell.count(bucket, cost, at(now));
            assert!(added.start <= at(now));
            author.cell.recompute(bucket, &author.known);
            central.take(Key(0), cost, now);

            let lists = authors.iter().flat_map(|author| author.cell.whole());
            let mut union: Vec<Segment> = lists.collect();
            let end = backlog(bucket, &mut union).unwrap().end;
            let level = end.since(bucket.mark(at(now)));
            // Both in whole parts of a token.
            let unit = u128::from(numbers.per_ns);
            let level = level * unit / bucket.grains(1);
            assert_eq!(
                level,
                central.level(Key(0), now),
                "seed {seed}, step {step}"
            );
        }
    }
}

fn author() -> Author {
    Author {
        cell: Cell::new(at(0)),
        known: Known::default(),
    }
}

/// Lets one author hear the lists of some others as they are.
fn hear(authors: &mut [Author], dice: &mut Dice, who: usize, step: u64, bucket: Bucket) {
    for other in 0..authors.len() {
        if other == who || dice.below(4) > 0 {
            continue;
        }
        let list = authors[other].cell.whole();
        if list.is_empty() {
            continue;
        }
        authors[who].known.merge(Entry {
            writer: Writer(other as u16),
            version: step + 1,
            list,
        });
    }
    let author = &mut authors[who];
    author.cell.recompute(bucket, &author.known);
}

/// Publications of a busy cluster, as single frames and as records of larger ones.
fn publications(seed: u64) -> (Numbers, Vec<Arc<[u8]>>, u64) {
    let numbers = Numbers {
        burst: 20,
        tokens: 1,
        per_ns: SECOND,
    };
    let mut cluster = Cluster::new(6, numbers, Knobs::default(), Net::default());
    let mut dice = Dice::new(seed);
    for _ in 0..60 {
        let next = cluster.now + dice.below(SECOND);
        cluster.run_until(next);
        let node = dice.below(6) as u16;
        let key = Key(u128::from(dice.below(3)));
        cluster.request(node, key, 1 + dice.below(2));
    }
    let is_publication = |frame: &Frame| matches!(frame, Frame::Publish { .. });
    let sent = cluster.sent.iter().filter(|(_, to, frame)| {
        *to == 5
            && Frame::decode(frame, Instant::LAST).is_ok_and(|(_, frame)| is_publication(&frame))
    });
    let frames = sent.map(|(_, _, frame)| Arc::clone(frame)).collect();
    (numbers, frames, cluster.now)
}

/// What a newcomer that hears these frames at once ends up with.
fn state(numbers: Numbers, frames: &[Arc<[u8]>], now: u64) -> Vec<String> {
    let mut cluster = Cluster::new(9, numbers, Knobs::default(), Net::default());
    cluster.now = now;
    for frame in frames {
        cluster.deliver(0, 8, frame);
    }
    let cells = cluster.nodes[8].cells();
    cells
        .map(|(cell, known)| format!("{:?} {:?} {known:?}", cell.all, cell.public))
        .collect()
}

/// The same news as answers to a pull, several entries to a frame.
fn grouped(frames: &[Arc<[u8]>], dice: &mut Dice) -> Vec<Arc<[u8]>> {
    let mut groups = Vec::new();
    for chunk in frames.chunks(1 + dice.below(4) as usize) {
        let mut records = Vec::new();
        let mut first = None;
        for frame in chunk {
            let (header, content) = Frame::decode(frame, Instant::LAST).unwrap();
            first.get_or_insert(header);
            if let Frame::Publish { key, list, .. } = content {
                let entry = Entry {
                    writer: header.writer,
                    version: header.sequence,
                    list,
                };
                records.push((key, vec![entry]));
            }
        }
        let header = first.unwrap();
        groups.push(if dice.below(2) == 0 {
            Frame::Full(records).encode(header)
        } else {
            Frame::Fill(records).encode(header)
        });
    }
    groups
}

#[test]
fn order_repetition_and_grouping_of_news_do_not_matter() {
    for seed in 0..60 {
        let (numbers, frames, now) = publications(seed);
        assert!(frames.len() > 10);
        let expected = state(numbers, &frames, now);
        let mut dice = Dice::new(seed);
        for _ in 0..4 {
            let mut mixed = frames.clone();
            for _ in 0..dice.below(20) {
                let again = dice.below(frames.len() as u64) as usize;
                mixed.push(Arc::clone(&frames[again]));
            }
            dice.shuffle(&mut mixed);
            assert_eq!(state(numbers, &mixed, now), expected);
            let grouped = grouped(&mixed, &mut dice);
            assert_eq!(state(numbers, &grouped, now), expected);
        }
    }
}

//! The bars of the thesis' designs and of segments.
//!
//! Not here: those of home, and how bars are judged.

use super::delay::HOME_DELAY;
use super::home::{HOME, HOME_FAULTS};
use super::test::Figure::{Beyond, Mean, Times, Worst, Wrong};
use super::test::Test::{AtLeast, AtMost, Between};
use super::test::{Check, Figure, Test};
use crate::report::Column::{Area, Bytes, Messages, Over, Quiet, State, Total, Under};

/// A set, a design, what is looked at, and what is asked of it.
pub(super) type Line = (&'static str, &'static str, Figure, Test);

pub(super) const E: &str = "B-extreme";
pub(super) const S: &str = "B-substantial";
pub(super) const B: &str = "B-barely";

pub(super) fn checks() -> Vec<Check> {
    let lists = [
        THESIS,
        SEGMENTS,
        SEGMENTS_FAULTS,
        HOME,
        HOME_DELAY,
        HOME_FAULTS,
    ];
    let check = |(set, design, figure, test): &Line| Check {
        set,
        design,
        figure: *figure,
        test: *test,
    };
    lists
        .iter()
        .flat_map(|list| list.iter())
        .map(check)
        .collect()
}

const THESIS: &[Line] = &[
    ("A, one node", "counter+fixed", Wrong, AtMost(0.0)),
    ("A, one node", "queue", Wrong, AtMost(0.0)),
    (E, "counter", Mean(Area), Between(96.2, 97.4)),
    (S, "counter", Mean(Area), Between(95.7, 97.7)),
    (E, "counter", Mean(Over), Between(91.4, 123.6)),
    (S, "counter", Mean(Over), Between(13.6, 18.4)),
    (B, "counter", Mean(Over), Between(4.7, 6.3)),
    ("idle", "counter+fixed", Mean(Over), AtMost(360.0)),
    (
        E,
        "queue",
        Beyond(Total, "counter+fixed"),
        Between(-0.1, 0.1),
    ),
    (
        S,
        "queue",
        Beyond(Total, "counter+fixed"),
        Between(-0.1, 0.1),
    ),
    (
        B,
        "queue",
        Beyond(Total, "counter+fixed"),
        Between(-0.1, 0.1),
    ),
    (E, "queue", Worst(Quiet), AtMost(90.0)),
    (S, "queue", Worst(Quiet), AtMost(90.0)),
    (B, "queue", Worst(Quiet), AtMost(90.0)),
    ("D, gossip 900 ms", "queue", Mean(Total), AtMost(12.5)),
    (
        "D, gossip 300 ms",
        "queue",
        Mean(Total),
        Between(87.5, 100.0),
    ),
    (E, "queue+freq", Mean(Area), AtLeast(99.6)),
    (S, "queue+freq", Mean(Area), AtLeast(98.8)),
    (B, "queue+freq", Mean(Area), AtLeast(75.0)),
    (B, "queue+freq", Mean(Total), AtLeast(85.0)),
    (E, "queue+freq", Mean(Over), AtMost(25.0)),
    (S, "queue+freq", Mean(Over), AtMost(12.0)),
    (B, "queue+freq", Mean(Over), AtMost(2.0)),
    (E, "queue+freq", Times(Messages, "counter"), AtMost(6.5)),
    (S, "queue+freq", Times(Messages, "counter"), AtMost(3.8)),
    (B, "queue+freq", Times(Messages, "counter"), AtMost(2.0)),
    ("D, gossip 300 ms", "queue+freq", Wrong, AtMost(0.0)),
    ("D, gossip 450 ms", "queue+freq", Wrong, AtMost(0.0)),
    ("D, gossip 900 ms", "queue+freq", Wrong, AtMost(0.0)),
    (E, "queue+linf", Beyond(Area, "queue"), Between(-0.5, 0.5)),
    (S, "queue+linf", Beyond(Area, "queue"), Between(-0.5, 0.5)),
    (
        E,
        "queue+freq+linf",
        Beyond(Area, "queue+freq"),
        Between(-0.5, 0.5),
    ),
    (
        S,
        "queue+freq+linf",
        Beyond(Area, "queue+freq"),
        Between(-0.5, 0.5),
    ),
    (B, "queue+linf", Beyond(Area, "queue"), Between(-0.5, 0.5)),
    (
        B,
        "queue+freq+linf",
        Beyond(Area, "queue+freq"),
        Between(-0.5, 0.5),
    ),
    (E, "queue+linf", Mean(Quiet), AtMost(10.0)),
    (S, "queue+linf", Mean(Quiet), AtMost(10.0)),
    (B, "queue+linf", Mean(Quiet), AtMost(10.0)),
    (E, "queue+linf", Times(State, "queue"), AtMost(0.85)),
    (S, "queue+linf", Times(State, "queue"), AtMost(0.85)),
    ("C", "queue", Times(State, "counter"), AtMost(0.22)),
    (
        "C",
        "queue",
        Times(Messages, "counter"),
        Between(0.999, 1.001),
    ),
    ("C", "queue", Times(Bytes, "counter"), AtMost(0.5)),
];

const SEGMENTS: &[Line] = &[
    (E, "segments", Wrong, AtMost(0.0)),
    (S, "segments", Wrong, AtMost(0.0)),
    (B, "segments", Wrong, AtMost(0.0)),
    ("B-calm", "segments", Wrong, AtMost(0.0)),
    ("A", "segments", Wrong, AtMost(0.0)),
    ("D, gossip 300 ms", "segments", Wrong, AtMost(0.0)),
    ("D, gossip 450 ms", "segments", Wrong, AtMost(0.0)),
    ("D, gossip 900 ms", "segments", Wrong, AtMost(0.0)),
    (E, "segments", Times(Bytes, "counter"), AtMost(1.05)),
    (S, "segments", Times(Bytes, "counter"), AtMost(1.0)),
    (B, "segments", Times(Bytes, "counter"), AtMost(0.25)),
    ("B-calm", "segments", Times(Bytes, "counter"), AtMost(0.01)),
    ("A", "segments", Times(Bytes, "counter"), AtMost(1.0)),
    ("C", "segments", Times(Bytes, "counter"), AtMost(0.01)),
    (
        "D, gossip 300 ms",
        "segments",
        Times(Bytes, "counter"),
        AtMost(1.0),
    ),
    (
        "B-extreme, c = 900",
        "segments",
        Times(Bytes, "counter"),
        AtMost(1.5),
    ),
    ("C", "segments", Times(State, "counter"), AtMost(0.136)),
];

const SEGMENTS_FAULTS: &[Line] = &[
    ("B-extreme, 5 ms", "segments", Mean(Over), AtMost(3.0)),
    ("B-substantial, 5 ms", "segments", Mean(Over), AtMost(1.0)),
    (
        "B-extreme, 5 % loss",
        "segments",
        Mean(Total),
        AtLeast(99.9),
    ),
    (
        "B-substantial, 5 % loss",
        "segments",
        Mean(Total),
        AtLeast(99.7),
    ),
    ("B-barely, 5 % loss", "segments", Mean(Total), AtLeast(91.0)),
    (
        "B-extreme, 20 % twice, 40 ms reordering",
        "segments",
        Mean(Total),
        AtLeast(99.9),
    ),
    (
        "B-substantial, 20 % twice, 40 ms reordering",
        "segments",
        Mean(Total),
        AtLeast(99.8),
    ),
    (
        "B-barely, 20 % twice, 40 ms reordering",
        "segments",
        Mean(Total),
        AtLeast(95.0),
    ),
    (
        "B-extreme, clocks off by 50 ms",
        "segments",
        Mean(Total),
        AtLeast(99.9),
    ),
    (
        "B-substantial, clocks off by 50 ms",
        "segments",
        Mean(Total),
        AtLeast(99.8),
    ),
    (
        "B-barely, clocks off by 50 ms",
        "segments",
        Mean(Total),
        AtLeast(97.0),
    ),
    (
        "B-extreme, clocks off by 50 ms",
        "segments",
        Mean(Under),
        AtMost(1.0),
    ),
    (
        "B-extreme, one crash",
        "segments",
        Mean(Total),
        AtLeast(99.9),
    ),
    (
        "B-substantial, one crash",
        "segments",
        Mean(Total),
        AtLeast(99.8),
    ),
    (
        "B-barely, one crash",
        "segments",
        Mean(Total),
        AtLeast(96.0),
    ),
    (
        "B-extreme, all together",
        "segments",
        Mean(Total),
        AtLeast(99.9),
    ),
    (
        "B-substantial, all together",
        "segments",
        Mean(Total),
        AtLeast(99.7),
    ),
    (
        "B-barely, all together",
        "segments",
        Mean(Total),
        AtLeast(80.0),
    ),
    ("drip at 1.11", "segments", Mean(Total), AtLeast(98.0)),
];

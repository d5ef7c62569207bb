//! The bars.
//!
//! Not here: how they are judged.

use super::test::Figure::{Beyond, Mean, Sender, Times, Worst, Wrong};
use super::test::Test::{AtLeast, AtMost, Between};
use super::test::{Check, Figure, Test};
use crate::report::Column::{
    Area, Busiest, Bytes, False, Messages, Over, Quiet, State, Total, Under,
};

type Line = (&'static str, &'static str, Figure, Test);

const E: &str = "B-extreme";
const S: &str = "B-substantial";
const B: &str = "B-barely";

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

const HOME: &[Line] = &[
    (E, "home", Wrong, AtMost(0.0)),
    (S, "home", Wrong, AtMost(0.0)),
    (B, "home", Wrong, AtMost(0.0)),
    ("A", "home", Wrong, AtMost(0.0)),
    ("C", "home", Wrong, AtMost(0.0)),
    ("D, gossip 300 ms", "home", Wrong, AtMost(0.0)),
    ("D, gossip 900 ms", "home", Wrong, AtMost(0.0)),
    ("mob", "home", Wrong, AtMost(0.0)),
    ("two", "home", Wrong, AtMost(0.0)),
    ("drip", "home", Wrong, AtMost(0.0)),
    (E, "home", Mean(Bytes), AtMost(80_000.0)),
    (S, "home", Mean(Bytes), AtMost(84_000.0)),
    (B, "home", Mean(Bytes), AtMost(77_000.0)),
    (E, "home", Times(Bytes, "segments"), AtMost(0.45)),
    (S, "home", Times(Bytes, "segments"), AtMost(0.45)),
    (B, "home", Times(Bytes, "segments"), AtMost(0.45)),
    ("A", "home", Times(Bytes, "segments"), AtMost(0.65)),
    (
        "D, gossip 300 ms",
        "home",
        Times(Bytes, "segments"),
        AtMost(1.35),
    ),
    (
        "D, gossip 900 ms",
        "home",
        Times(Bytes, "segments"),
        AtMost(1.35),
    ),
    ("mob", "home", Mean(Bytes), AtMost(93_000.0)),
    ("two", "home", Mean(Bytes), AtMost(187_000.0)),
    ("drip", "home", Mean(Bytes), AtMost(265_000.0)),
    (E, "home bare", Mean(Bytes), AtMost(69_000.0)),
    (S, "home bare", Mean(Bytes), AtMost(69_000.0)),
    (B, "home bare", Mean(Bytes), AtMost(52_000.0)),
    (E, "home", Mean(State), AtMost(225.0)),
    (S, "home", Mean(State), AtMost(205.0)),
    (B, "home", Mean(State), AtMost(190.0)),
    (E, "home", Mean(Busiest), AtMost(31_000.0)),
    (S, "home", Mean(Busiest), AtMost(39_000.0)),
    (B, "home", Mean(Busiest), AtMost(49_000.0)),
    ("A", "home", Times(Busiest, "segments"), AtMost(1.1)),
    ("C", "home", Times(Busiest, "segments"), AtMost(1.2)),
    ("drip at 1.11", "home", Mean(Total), AtLeast(98.0)),
    ("drip at 1.5", "home", Mean(Total), AtLeast(97.0)),
    ("100 nodes", "home", Mean(Bytes), AtMost(540_000.0)),
    ("300 nodes", "home", Mean(Bytes), AtMost(3_500_000.0)),
    ("1000 nodes", "home", Mean(Bytes), AtMost(35_000_000.0)),
    ("1000 nodes", "home", Mean(State), AtMost(800.0)),
    ("1000 nodes", "home tree 16", Sender("home"), AtMost(0.65)),
];

const HOME_DELAY: &[Line] = &[
    ("B-extreme, 5 ms", "home", Mean(Over), AtMost(3.0)),
    ("B-extreme, 20 ms", "home", Mean(Over), AtMost(7.0)),
    ("B-extreme, 50 ms", "home", Mean(Over), AtMost(17.0)),
    ("B-extreme, 100 ms", "home", Mean(Over), AtMost(36.0)),
    ("B-extreme, 200 ms", "home", Mean(Over), AtMost(78.0)),
    ("B-extreme, 5 ms", "home", Worst(False), AtMost(0.0)),
    ("B-extreme, 50 ms", "home", Worst(False), AtMost(0.0)),
    ("B-extreme, 200 ms", "home", Worst(False), AtMost(0.0)),
    ("B-barely, 200 ms", "home k auto", Worst(False), AtMost(0.0)),
    (
        "B-substantial, 20 ms",
        "home k auto",
        Times(Over, "segments"),
        AtMost(1.1),
    ),
    (
        "B-substantial, 50 ms",
        "home k auto",
        Times(Over, "segments"),
        AtMost(1.1),
    ),
    (
        "B-substantial, 100 ms",
        "home k auto",
        Times(Over, "segments"),
        AtMost(1.1),
    ),
    (
        "B-substantial, 200 ms",
        "home k auto",
        Times(Over, "segments"),
        AtMost(1.1),
    ),
    (
        "B-barely, 50 ms",
        "home k auto",
        Beyond(Total, "segments"),
        AtLeast(-1.0),
    ),
    (
        "B-barely, 100 ms",
        "home k auto",
        Beyond(Total, "segments"),
        AtLeast(-1.0),
    ),
    (
        "B-barely, 200 ms",
        "home k auto",
        Beyond(Total, "segments"),
        AtLeast(-1.0),
    ),
    (
        "B-substantial, 50 ms",
        "home k auto",
        Times(Bytes, "segments"),
        AtMost(0.8),
    ),
    (
        "B-substantial, 200 ms",
        "home k auto",
        Times(Bytes, "segments"),
        AtMost(0.8),
    ),
    (
        "B-barely, 200 ms",
        "home k auto",
        Times(Bytes, "segments"),
        AtMost(0.8),
    ),
];

const HOME_FAULTS: &[Line] = &[
    ("B-extreme, 5 % loss", "home", Mean(Total), AtLeast(99.9)),
    (
        "B-substantial, 5 % loss",
        "home",
        Mean(Total),
        AtLeast(99.7),
    ),
    ("B-barely, 5 % loss", "home", Mean(Total), AtLeast(90.0)),
    (
        "B-extreme, 20 % twice, 40 ms reordering",
        "home",
        Mean(Total),
        AtLeast(99.9),
    ),
    (
        "B-substantial, 20 % twice, 40 ms reordering",
        "home",
        Mean(Total),
        AtLeast(99.9),
    ),
    (
        "B-barely, 20 % twice, 40 ms reordering",
        "home",
        Mean(Total),
        AtLeast(95.0),
    ),
    ("B-extreme, one crash", "home", Mean(Total), AtLeast(99.9)),
    (
        "B-substantial, one crash",
        "home",
        Mean(Total),
        AtLeast(99.9),
    ),
    ("B-barely, one crash", "home", Mean(Total), AtLeast(96.0)),
    (
        "B-extreme, five crashes",
        "home",
        Mean(Total),
        AtLeast(99.9),
    ),
    (
        "B-substantial, five crashes",
        "home",
        Mean(Total),
        AtLeast(99.9),
    ),
    ("B-barely, five crashes", "home", Mean(Total), AtLeast(96.0)),
    (
        "B-extreme, home loses its memory",
        "home",
        Mean(Total),
        AtLeast(99.9),
    ),
    (
        "B-substantial, home loses its memory",
        "home",
        Mean(Total),
        AtLeast(99.9),
    ),
    (
        "B-barely, home loses its memory",
        "home",
        Mean(Total),
        AtLeast(96.0),
    ),
    (
        "B-extreme, home down 20 s",
        "home",
        Mean(Total),
        AtLeast(99.9),
    ),
    (
        "B-substantial, home down 20 s",
        "home",
        Mean(Total),
        AtLeast(99.9),
    ),
    (
        "B-barely, home down 20 s",
        "home",
        Mean(Total),
        AtLeast(96.0),
    ),
    (
        "B-extreme, home and standby down 20 s",
        "home",
        Mean(Total),
        AtLeast(99.9),
    ),
    (
        "B-substantial, home and standby down 20 s",
        "home",
        Mean(Total),
        AtLeast(99.9),
    ),
    (
        "B-barely, home and standby down 20 s",
        "home",
        Mean(Total),
        AtLeast(96.0),
    ),
    (
        "B-extreme, home dies at exhaustion",
        "home",
        Mean(Over),
        AtMost(12.0),
    ),
    (
        "B-substantial, home dies at exhaustion",
        "home",
        Mean(Over),
        AtMost(5.0),
    ),
    (
        "B-barely, home dies at exhaustion",
        "home",
        Mean(Over),
        AtMost(2.0),
    ),
    (
        "B-extreme, all together",
        "home",
        Mean(Total),
        AtLeast(99.9),
    ),
    (
        "B-substantial, all together",
        "home",
        Mean(Total),
        AtLeast(99.6),
    ),
    ("B-barely, all together", "home", Mean(Total), AtLeast(80.0)),
];

//! The bars of the thesis' designs and of links.
//!
//! Not here: how bars are judged.

use super::test::BarFigure::{Beyond, Mean, Times, Worst, Wrong};
use super::test::Test::{AtLeast, AtMost, Between};
use super::test::{BarCheck, BarFigure, Test};
use crate::report::Column::{Area, Bytes, Messages, Over, Quiet, State, Total, Under};

/// A set, a design, what is looked at, and what is asked of it.
type Line = (&'static str, &'static str, BarFigure, Test);

const E: &str = "B-extreme";
const S: &str = "B-substantial";
const B: &str = "B-barely";

pub(super) fn checks() -> Vec<BarCheck> {
    let lists = [THESIS, LINKS, LINKS_FAULTS];
    let check = |(set, design, figure, test): &Line| BarCheck {
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

#[rustfmt::skip]
const THESIS: &[Line] = &[
    ("A, one node", "counter+fixed", Wrong, AtMost(0.0)),
    ("A, one node", "queue", Wrong, AtMost(0.0)),
    (E, "counter", Mean(Area), Between(96.2, 97.4)),
    (S, "counter", Mean(Area), Between(95.7, 97.7)),
    (E, "counter", Mean(Over), Between(91.4, 123.6)),
    (S, "counter", Mean(Over), Between(13.6, 18.4)),
    (B, "counter", Mean(Over), Between(4.7, 6.3)),
    ("idle", "counter+fixed", Mean(Over), AtMost(360.0)),
    (E, "queue", Beyond(Total, "counter+fixed"), Between(-0.1, 0.1)),
    (S, "queue", Beyond(Total, "counter+fixed"), Between(-0.1, 0.1)),
    (B, "queue", Beyond(Total, "counter+fixed"), Between(-0.1, 0.1)),
    (E, "queue", Worst(Quiet), AtMost(90.0)),
    (S, "queue", Worst(Quiet), AtMost(90.0)),
    (B, "queue", Worst(Quiet), AtMost(90.0)),
    ("D, gossip 900 ms", "queue", Mean(Total), AtMost(12.5)),
    ("D, gossip 300 ms", "queue", Mean(Total), Between(87.5, 100.0)),
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
    (E, "queue+freq+linf", Beyond(Area, "queue+freq"), Between(-0.5, 0.5)),
    (S, "queue+freq+linf", Beyond(Area, "queue+freq"), Between(-0.5, 0.5)),
    (B, "queue+linf", Beyond(Area, "queue"), Between(-0.5, 0.5)),
    (B, "queue+freq+linf", Beyond(Area, "queue+freq"), Between(-0.5, 0.5)),
    (E, "queue+linf", Mean(Quiet), AtMost(10.0)),
    (S, "queue+linf", Mean(Quiet), AtMost(10.0)),
    (B, "queue+linf", Mean(Quiet), AtMost(10.0)),
    (E, "queue+linf", Times(State, "queue"), AtMost(0.85)),
    (S, "queue+linf", Times(State, "queue"), AtMost(0.85)),
    ("C", "queue", Times(State, "counter"), AtMost(0.22)),
    ("C", "queue", Times(Messages, "counter"), Between(0.999, 1.001)),
    ("C", "queue", Times(Bytes, "counter"), AtMost(0.5)),
];

#[rustfmt::skip]
const LINKS: &[Line] = &[
    (E, "links", Wrong, AtMost(0.0)),
    (S, "links", Wrong, AtMost(0.0)),
    (B, "links", Wrong, AtMost(0.0)),
    ("B-calm", "links", Wrong, AtMost(0.0)),
    ("A", "links", Wrong, AtMost(0.0)),
    ("C", "links", Wrong, AtMost(0.0)),
    ("D, gossip 300 ms", "links", Wrong, AtMost(0.0)),
    ("D, gossip 450 ms", "links", Wrong, AtMost(0.0)),
    ("D, gossip 900 ms", "links", Wrong, AtMost(0.0)),
    ("mob", "links", Wrong, AtMost(0.0)),
    ("two", "links", Wrong, AtMost(0.0)),
    ("drip", "links", Wrong, AtMost(0.0)),
    (E, "links", Mean(Bytes), AtMost(345_000.0)),
    (S, "links", Mean(Bytes), AtMost(375_000.0)),
    (B, "links", Mean(Bytes), AtMost(345_000.0)),
    ("A", "links", Mean(Bytes), AtMost(5_450_000.0)),
    ("C", "links", Mean(Bytes), AtMost(18_000_000.0)),
    ("D, gossip 300 ms", "links", Mean(Bytes), AtMost(355_000.0)),
    (E, "links", Mean(State), AtMost(65.0)),
    (S, "links", Mean(State), AtMost(65.0)),
    (B, "links", Mean(State), AtMost(65.0)),
    ("C", "links", Mean(State), AtMost(34_000.0)),
    ("3 nodes", "links", Mean(Bytes), AtMost(2_400.0)),
    ("10 nodes", "links", Mean(Bytes), AtMost(34_500.0)),
    ("100 nodes", "links", Mean(Bytes), AtMost(4_420_000.0)),
    ("300 nodes", "links", Mean(Bytes), AtMost(41_350_000.0)),
    ("drip at 1.11", "links", Mean(Total), AtLeast(99.0)),
    ("drip at 1.5", "links", Mean(Total), AtLeast(100.0)),
];

#[rustfmt::skip]
const LINKS_FAULTS: &[Line] = &[
    ("B-extreme, 5 ms", "links", Mean(Over), AtMost(3.0)),
    ("B-extreme, 50 ms", "links", Mean(Over), AtMost(12.0)),
    ("B-extreme, 150 ms", "links", Mean(Over), AtMost(34.0)),
    ("B-barely, 5 % loss", "links", Mean(Total), AtLeast(97.0)),
    ("B-barely, 20 % loss", "links", Mean(Total), AtLeast(90.0)),
    ("B-extreme, one crash", "links", Mean(Total), AtLeast(99.9)),
    ("B-substantial, one crash", "links", Mean(Total), AtLeast(99.8)),
    ("B-barely, one crash", "links", Mean(Total), AtLeast(96.0)),
    ("B-extreme, five crashes", "links", Mean(Total), AtLeast(99.9)),
    ("B-substantial, five crashes", "links", Mean(Total), AtLeast(99.9)),
    ("B-barely, five crashes", "links", Mean(Total), AtLeast(97.0)),
    ("B-extreme, one down 20 s", "links", Mean(Total), AtLeast(99.9)),
    ("B-substantial, one down 20 s", "links", Mean(Total), AtLeast(99.9)),
    ("B-barely, one down 20 s", "links", Mean(Total), AtLeast(96.0)),
    ("B-extreme, neighbours down 20 s", "links", Mean(Total), AtLeast(99.9)),
    ("B-substantial, neighbours down 20 s", "links", Mean(Total), AtLeast(99.9)),
    ("B-barely, neighbours down 20 s", "links", Mean(Total), AtLeast(96.0)),
    ("B-extreme, one dies at exhaustion", "links", Mean(Over), AtMost(12.0)),
    ("B-substantial, one dies at exhaustion", "links", Mean(Over), AtMost(5.0)),
    ("B-barely, one dies at exhaustion", "links", Mean(Over), AtMost(2.0)),
    ("B-extreme, 20 % twice, 40 ms reordering", "links", Mean(Total), AtLeast(99.9)),
    ("B-substantial, 20 % twice, 40 ms reordering", "links", Mean(Total), AtLeast(99.8)),
    ("B-barely, 20 % twice, 40 ms reordering", "links", Mean(Total), AtLeast(95.0)),
    ("B-extreme, clocks off by 50 ms", "links", Mean(Total), AtLeast(99.9)),
    ("B-substantial, clocks off by 50 ms", "links", Mean(Total), AtLeast(99.8)),
    ("B-barely, clocks off by 50 ms", "links", Mean(Total), AtLeast(97.0)),
    ("B-extreme, clocks off by 50 ms", "links", Mean(Under), AtMost(1.0)),
    ("B-extreme, all together", "links", Mean(Total), AtLeast(99.9)),
    ("B-substantial, all together", "links", Mean(Total), AtLeast(99.7)),
    ("B-barely, all together", "links", Mean(Total), AtLeast(88.0)),
];

//! The figures of the thesis' fifth chapter, each with what it shows there.
//!
//! Its "queue" has both extensions, and on B-calm only frequency analysis. Our designs are drawn beside.

use super::cells::{LIMITED, Making, ms};
use super::figures::View::{
    self, BandwidthShare, Difference, MemoryShare, Refusals, Rejections, Users,
};
use super::plan::{ExperimentPlan, Variant};
use super::thesis::{EVERY, usual};
use crate::contender::Contender::{
    self, Central, Counter, CounterFixed, Links, Queue, QueueFreq, QueueFreqLinf, QueueLinf,
};

const EXTENSIONS: [Contender; 5] = [Counter, Queue, QueueLinf, QueueFreq, QueueFreqLinf];
const PAIR: [Contender; 3] = [Counter, QueueFreqLinf, Links];
const CALM: [Contender; 3] = [Counter, QueueFreq, Links];
const COST: [View; 2] = [MemoryShare, BandwidthShare];
const SIGHT: [View; 2] = [Rejections, Difference];

type PictureSet = (&'static str, &'static str);
const A: PictureSet = ("a", "A");
const C: PictureSet = ("c", "C");
const EXTREME: PictureSet = LIMITED[0];
const SUBSTANTIAL: PictureSet = LIMITED[1];
const BARELY: PictureSet = LIMITED[2];
const B_CALM: PictureSet = ("b-calm", "B-calm");

/// What a figure is made of: its number, the set, designs and views, and what it shows.
struct Picture(
    u8,
    PictureSet,
    &'static [Contender],
    &'static [View],
    &'static str,
);

#[rustfmt::skip]
const PICTURES: [Picture; 13] = [
    Picture(1, A, &[Counter], &SIGHT, "the counter beside the central bucket"),
    Picture(3, A, &EVERY, &[Difference], "rejections short of the central bucket"),
    Picture(4, A, &EXTENSIONS, &COST, "memory and bandwidth of every extension"),
    Picture(5, EXTREME, &PAIR, &SIGHT, "rejections of counter and queue over time"),
    Picture(6, EXTREME, &PAIR, &COST, "memory and bandwidth of counter and queue"),
    Picture(7, SUBSTANTIAL, &PAIR, &SIGHT, "rejections of counter and queue over time"),
    Picture(8, SUBSTANTIAL, &PAIR, &COST, "memory and bandwidth of counter and queue"),
    Picture(9, BARELY, &PAIR, &SIGHT, "rejections of counter and queue over time"),
    Picture(10, BARELY, &PAIR, &COST, "memory and bandwidth of counter and queue"),
    Picture(11, B_CALM, &CALM, &[Rejections], "requests and rejections of a calm user"),
    Picture(12, B_CALM, &CALM, &COST, "memory and bandwidth for a calm user"),
    Picture(13, C, &PAIR, &COST, "memory and bandwidth for 5000 users"),
    Picture(14, C, &[Central], &[Users], "users over time"),
];

pub(super) fn plan(number: u8) -> ExperimentPlan {
    match PICTURES.iter().find(|picture| picture.0 == number) {
        Some(picture) => draw(picture),
        None if number == 2 => alone(),
        None => intervals(),
    }
}

fn draw(&Picture(number, (name, label), designs, views, about): &Picture) -> ExperimentPlan {
    let cells = Making::of(name, label).map(|making| making.plain(designs));
    ExperimentPlan {
        title: format!("Figure 5.{number}: {about}"),
        about: format!("{label} under the parameters of the thesis' figure 5.{number}."),
        ..usual(cells.into_iter().collect(), views)
    }
}

fn alone() -> ExperimentPlan {
    let cell = Making::of("a", "A").map(|making| {
        let alone = making.labelled("A, one node".to_owned(), "");
        alone
            .cluster(|cluster| cluster.nodes = 1)
            .plain(&[CounterFixed, Queue])
    });
    ExperimentPlan {
        title: "Figure 5.2: counter and queue on one node".to_owned(),
        about: "A cluster of one node is a central system: both forms of the bucket should reject the same requests."
            .to_owned(),
        ..usual(cell.into_iter().collect(), &[Rejections])
    }
}

fn intervals() -> ExperimentPlan {
    let cell = Making::of("d", "D").map(|making| {
        let every = |design: Contender| {
            [300, 450, 900].map(|millis| {
                let name = format!("{} {millis} ms", design.name());
                making.tuned(&name, design, |knobs| knobs.interval = ms(millis))
            })
        };
        let mut variants = every(Queue).to_vec();
        variants.extend(every(QueueFreq));
        variants.push(Variant::plain(Links));
        making.clone().variants(variants)
    });
    ExperimentPlan {
        title: "Figure 5.15: the queue under three gossip intervals".to_owned(),
        about: "The longer the interval, the later the queue notices a user slightly above the \
                refill, if at all. Links speak when they must, whatever the interval."
            .to_owned(),
        ..usual(cell.into_iter().collect(), &[Refusals])
    }
}

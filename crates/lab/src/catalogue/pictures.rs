//! The figures of the thesis' fifth chapter, each with what it shows there.
//!
//! Its "queue" has both extensions, and on B-calm only frequency analysis. Our designs are drawn beside.

use super::cells::{Making, ms};
use super::figures::View;
use super::plan::{ExperimentPlan, Variant};
use super::thesis::usual;
use crate::contender::Contender::{
    self, Counter, CounterFixed, Links, Queue, QueueFreq, QueueFreqLinf, QueueLinf,
};

const EXTENSIONS: [Contender; 5] = [Counter, Queue, QueueLinf, QueueFreq, QueueFreqLinf];
const PAIR: [Contender; 3] = [Counter, QueueFreqLinf, Links];
const CALM: [Contender; 3] = [Counter, QueueFreq, Links];
const COST: [View; 2] = [View::MemoryShare, View::BandwidthShare];
const SIGHT: [View; 2] = [View::Rejections, View::Difference];

/// What a figure is made of.
struct Picture<'a> {
    number: u8,
    set: (&'a str, &'a str),
    designs: &'a [Contender],
    views: &'a [View],
    about: &'a str,
}

fn draw(picture: &Picture<'_>) -> ExperimentPlan {
    let (name, label) = picture.set;
    let cells = Making::of(name, label).map(|making| making.plain(picture.designs));
    ExperimentPlan {
        title: format!("Figure 5.{}: {}", picture.number, picture.about),
        about: format!(
            "{label} under the parameters of the thesis' figure 5.{}.",
            picture.number
        ),
        ..usual(cells.into_iter().collect(), picture.views)
    }
}

pub(super) fn f1() -> ExperimentPlan {
    draw(&Picture {
        number: 1,
        set: ("a", "A"),
        designs: &[Counter],
        views: &SIGHT,
        about: "the counter beside the central bucket",
    })
}

pub(super) fn f2() -> ExperimentPlan {
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
        ..usual(cell.into_iter().collect(), &[View::Rejections])
    }
}

pub(super) fn f3() -> ExperimentPlan {
    draw(&Picture {
        number: 3,
        set: ("a", "A"),
        designs: &[Counter, Queue, QueueLinf, QueueFreq, QueueFreqLinf, Links],
        views: &[View::Difference],
        about: "rejections short of the central bucket",
    })
}

pub(super) fn f4() -> ExperimentPlan {
    draw(&Picture {
        number: 4,
        set: ("a", "A"),
        designs: &EXTENSIONS,
        views: &COST,
        about: "memory and bandwidth of every extension",
    })
}

pub(super) fn f5() -> ExperimentPlan {
    precision(5, ("b-extreme", "B-extreme"))
}

pub(super) fn f6() -> ExperimentPlan {
    cost(6, ("b-extreme", "B-extreme"))
}

pub(super) fn f7() -> ExperimentPlan {
    precision(7, ("b-substantial", "B-substantial"))
}

pub(super) fn f8() -> ExperimentPlan {
    cost(8, ("b-substantial", "B-substantial"))
}

pub(super) fn f9() -> ExperimentPlan {
    precision(9, ("b-barely", "B-barely"))
}

pub(super) fn f10() -> ExperimentPlan {
    cost(10, ("b-barely", "B-barely"))
}

pub(super) fn f11() -> ExperimentPlan {
    draw(&Picture {
        number: 11,
        set: ("b-calm", "B-calm"),
        designs: &CALM,
        views: &[View::Rejections],
        about: "requests and rejections of a calm user",
    })
}

pub(super) fn f12() -> ExperimentPlan {
    draw(&Picture {
        number: 12,
        set: ("b-calm", "B-calm"),
        designs: &CALM,
        views: &COST,
        about: "memory and bandwidth for a calm user",
    })
}

pub(super) fn f13() -> ExperimentPlan {
    draw(&Picture {
        number: 13,
        set: ("c", "C"),
        designs: &PAIR,
        views: &COST,
        about: "memory and bandwidth for 5000 users",
    })
}

pub(super) fn f14() -> ExperimentPlan {
    draw(&Picture {
        number: 14,
        set: ("c", "C"),
        designs: &[Contender::Central],
        views: &[View::Users],
        about: "users over time",
    })
}

pub(super) fn f15() -> ExperimentPlan {
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
        ..usual(cell.into_iter().collect(), &[View::Refusals])
    }
}

fn precision(number: u8, set: (&str, &str)) -> ExperimentPlan {
    draw(&Picture {
        number,
        set,
        designs: &PAIR,
        views: &SIGHT,
        about: "rejections of counter and queue over time",
    })
}

fn cost(number: u8, set: (&str, &str)) -> ExperimentPlan {
    draw(&Picture {
        number,
        set,
        designs: &PAIR,
        views: &COST,
        about: "memory and bandwidth of counter and queue",
    })
}

//! What an experiment found, ready to be printed or drawn.
//!
//! Not here: how it is printed or drawn.

use crate::world::Outcome;

/// What one experiment found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The name it is run by.
    pub experiment: String,
    /// What it shows, as a headline.
    pub title: String,
    /// What it asks and how, in a few plain sentences.
    pub about: String,
    /// What it was run with, in the order to print.
    pub parameters: Vec<(String, String)>,
    /// One row per set and design.
    pub rows: Vec<Row>,
    /// What is drawn.
    pub figures: Vec<Figure>,
    /// What is found, in one or two plain sentences.
    pub conclusion: String,
}

/// One design on one set, over all seeds.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The traffic.
    pub set: String,
    /// The design.
    pub design: String,
    /// Runs.
    pub seeds: u64,
    /// Rejections at the end, in percent of the central bucket's; `None` if that rejects nothing.
    pub total: Option<Spread>,
    /// Cumulative rejections summed over a grid of 0.1 s, in percent of the central bucket's.
    pub area: Option<Spread>,
    /// The most that was admitted beyond the central bucket at any instant.
    pub over: Spread,
    /// The most that was rejected beyond the central bucket at any instant.
    pub under: Spread,
    /// Requests rejected although the bucket that saw everything this cluster admitted had tokens left.
    pub false_rejections: Spread,
    /// Bytes sent by all nodes until quiet, 28 bytes of IP and UDP per frame included.
    pub bytes: Spread,
    /// Frames sent by all nodes until quiet.
    pub messages: Spread,
    /// Bytes of state of a node, mean over the run.
    pub state_bytes: Spread,
    /// Of these, bytes that decisions are made from.
    pub local_bytes: Spread,
    /// Bytes sent and received by the busiest node.
    pub busiest_bytes: Spread,
    /// Seconds from the last request until nothing was left to say; `None` for runs that were cut off.
    pub quiet_s: Option<Spread>,
    /// What the thesis or the reference reports for the same cell, by column name.
    pub reported: Vec<(&'static str, f64)>,
    /// The single runs.
    pub runs: Vec<Outcome>,
}

/// A figure over several seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of the sample; zero for one run.
    pub sd: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// The spread of some values; `None` of none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let first = *values.first()?;
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let fold = |pick: fn(f64, f64) -> f64| values.iter().copied().fold(first, pick);
        Some(Self {
            mean,
            sd: (squares / (count - 1.0).max(1.0)).sqrt(),
            min: fold(f64::min),
            max: fold(f64::max),
        })
    }
}

/// A plot.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// A short name for links and files.
    pub name: String,
    /// The fact it shows.
    pub title: String,
    /// What goes to the right, with its unit.
    pub x_label: String,
    /// What goes up, with its unit.
    pub y_label: String,
    /// What is drawn.
    pub lines: Vec<Line>,
}

/// One line of a plot.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// What the legend says.
    pub name: String,
    /// Drawn dashed: what others report, or the central bucket.
    pub is_reference: bool,
    /// Where it goes.
    pub points: Vec<(f64, f64)>,
}

//! What an experiment found, ready to be printed or drawn.
//!
//! Not here: how it is printed or drawn.

#![allow(
    clippy::cast_precision_loss,
    reason = "figures to read, three digits of them"
)]

use crate::lease::LeaseRow;
use crate::split::SplitRow;
use crate::supply::SupplyRow;
use crate::world::RunOutcome;

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
    /// What must hold, and whether it does; empty for most experiments.
    pub bars: Vec<Bar>,
    /// Rows of experiments about passing supply, which have columns of their own.
    pub supply: Vec<SupplyRow>,
    /// Rows of experiments about cut buckets.
    pub split: Vec<SplitRow>,
    /// Rows of experiments about leases.
    pub lease: Vec<LeaseRow>,
    /// What is drawn.
    pub figures: Vec<PlotFigure>,
    /// What is found, in a few plain sentences.
    pub conclusion: String,
    /// What is to be read last, if anything is.
    pub closing: String,
    /// What must never be found and was; `None` is well.
    pub failure: Option<String>,
}

/// Something that must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bar {
    /// What is judged.
    pub name: String,
    /// What is asked of it.
    pub bar: String,
    /// What was found.
    pub measured: String,
    /// Whether it holds; `None` if it could not be measured.
    pub met: Option<bool>,
}

/// One design on one set, over all seeds.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The traffic.
    pub set: String,
    /// The design.
    pub design: String,
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
    /// What others report for the same row.
    pub reported: Vec<Reported>,
    /// The single runs.
    pub runs: Vec<RunOutcome>,
}

impl Row {
    /// The spread of some runs; the caller names the set and the design.
    pub fn of(runs: Vec<RunOutcome>) -> Self {
        let spread = |pick: &dyn Fn(&RunOutcome) -> f64| {
            let values: Vec<f64> = runs.iter().map(pick).collect();
            Spread::of(&values).unwrap_or_default()
        };
        let known = |pick: &dyn Fn(&RunOutcome) -> Option<f64>| {
            let values: Vec<f64> = runs.iter().filter_map(pick).collect();
            Spread::of(&values)
        };
        // One run that never fell quiet makes any mean over the others a lie.
        let ends = runs.iter().all(|run| run.quiet_s.is_some());
        Self {
            total: known(&|run| run.judged.total),
            area: known(&|run| run.judged.area),
            over: spread(&|run| run.judged.over as f64),
            under: spread(&|run| run.judged.under as f64),
            false_rejections: spread(&|run| run.judged.false_rejections as f64),
            bytes: spread(&|run| run.traffic.bytes as f64),
            messages: spread(&|run| run.traffic.messages as f64),
            state_bytes: spread(&|run| run.state_bytes),
            local_bytes: spread(&|run| run.local_bytes),
            busiest_bytes: spread(&|run| run.traffic.busiest_bytes as f64),
            quiet_s: known(&|run| run.quiet_s.filter(|_| ends)),
            runs,
            ..Self::default()
        }
    }

    /// How many runs.
    pub fn seeds(&self) -> u64 {
        self.runs.len() as u64
    }

    /// What stands in a column.
    pub fn column(&self, column: Column) -> Option<Spread> {
        match column {
            Column::Total => self.total,
            Column::Area => self.area,
            Column::Over => Some(self.over),
            Column::Under => Some(self.under),
            Column::False => Some(self.false_rejections),
            Column::Bytes => Some(self.bytes),
            Column::Messages => Some(self.messages),
            Column::State => Some(self.state_bytes),
            Column::Local => Some(self.local_bytes),
            Column::Busiest => Some(self.busiest_bytes),
            Column::Quiet => self.quiet_s,
        }
    }
}

/// A column of a report's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Column {
    /// [`Row::total`].
    Total,
    /// [`Row::area`].
    Area,
    /// [`Row::over`].
    Over,
    /// [`Row::under`].
    Under,
    /// [`Row::false_rejections`].
    False,
    /// [`Row::bytes`].
    Bytes,
    /// [`Row::messages`].
    Messages,
    /// [`Row::state_bytes`].
    State,
    /// [`Row::local_bytes`].
    Local,
    /// [`Row::busiest_bytes`].
    Busiest,
    /// [`Row::quiet_s`].
    Quiet,
}

impl Column {
    /// The column's name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Area => "area",
            Self::Over => "over",
            Self::Under => "under",
            Self::False => "false",
            Self::Bytes => "bytes",
            Self::Messages => "messages",
            Self::State => "state_bytes",
            Self::Local => "local_bytes",
            Self::Busiest => "busiest_bytes",
            Self::Quiet => "quiet_s",
        }
    }
}

/// A figure that others report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reported {
    /// The column it belongs to.
    pub column: Column,
    /// Whether it is a multiple of the counter's on the same set.
    pub is_ratio: bool,
    /// The figure.
    pub value: f64,
    /// Who reports it.
    pub source: FigureSource,
}

/// Who reports a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureSource {
    /// Henriksson and Bennhage, Trading performance for precision in a CRDT-based rate-limiting system (2021).
    Thesis,
    /// An independent simulator of the same designs, written before this one.
    Reference,
}

impl FigureSource {
    /// Who reports, in a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Thesis => "thesis",
            Self::Reference => "reference",
        }
    }
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
pub struct PlotFigure {
    /// A short name for links and files.
    pub name: String,
    /// The fact it shows.
    pub title: String,
    /// What goes to the right, with its unit.
    pub x_label: String,
    /// What goes up, with its unit.
    pub y_label: String,
    /// Whether the x axis is logarithmic.
    pub x_log: bool,
    /// Whether the y axis is logarithmic.
    pub y_log: bool,
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

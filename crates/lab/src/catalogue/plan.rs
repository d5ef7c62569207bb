//! What an experiment runs: cells of traffic and cluster, and the designs that are put into each.
//!
//! Not here: what the experiments are, and how their results are shown.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_gossip::Knobs;

use super::RunRequest;
use super::figures::{View, draw};
use super::words;
use crate::contender::Contender;
use crate::report::{PlotFigure, Report, Reported, Row};
use crate::run::{Job, RunBatch, run_batch};
use crate::world::{BadWorld, Cluster, Request};

/// Makes the traffic of a seed.
pub type ArrivalSource = Arc<dyn Fn(u64) -> Arc<[Request]> + Send + Sync>;

/// What an experiment runs, and how its result is shown.
pub struct ExperimentPlan {
    /// The name in reports.
    pub name: String,
    /// What it shows, as a headline.
    pub title: String,
    /// What it asks and how, in a few plain sentences.
    pub about: String,
    /// What it is run with, in the order to print.
    pub parameters: Vec<(String, String)>,
    /// What is run.
    pub cells: Vec<ExperimentCell>,
    /// What is drawn.
    pub views: Vec<View>,
}

/// Some traffic in some cluster, and the designs that are put to the test there.
#[derive(Clone)]
pub struct ExperimentCell {
    /// The name of the row.
    pub set: String,
    /// The line in plots over a parameter, and the place on it.
    pub place: Option<(String, f64)>,
    /// The traffic.
    pub arrivals: ArrivalSource,
    /// The nodes and what is between them.
    pub cluster: Cluster,
    /// What is put to the test.
    pub variants: Vec<Variant>,
    /// What others report, by the name of the variant.
    pub told: Vec<(String, Reported)>,
    /// Seeds at most, where a run takes long.
    pub seeds_max: Option<u64>,
}

impl ExperimentCell {
    /// The same for so many seeds at most.
    #[must_use]
    pub fn at_most(self, seeds: u64) -> Self {
        Self {
            seeds_max: Some(seeds),
            ..self
        }
    }

    fn seeds(&self, asked: u64) -> u64 {
        asked.min(self.seeds_max.unwrap_or(asked))
    }
}

/// A design, perhaps with other knobs than the cluster's.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The name in tables.
    pub name: String,
    /// What is run.
    pub contender: Contender,
    /// Its own knobs.
    pub knobs: Option<Knobs>,
}

impl Variant {
    /// A design with the cluster's knobs.
    pub fn plain(contender: Contender) -> Self {
        Self {
            name: contender.name().to_owned(),
            contender,
            knobs: None,
        }
    }

    fn cluster(&self, cell: &ExperimentCell) -> Cluster {
        let mut cluster = cell.cluster.clone();
        if let Some(knobs) = &self.knobs {
            cluster.knobs = knobs.clone();
        }
        cluster
    }
}

impl ExperimentPlan {
    /// Runs everything and reports.
    pub fn run(mut self, seeds: u64, ask: &RunRequest<'_>) -> Result<Report, BadWorld> {
        if let Some(designs) = ask.designs {
            for cell in &mut self.cells {
                cell.variants = chosen(&cell.variants, designs);
            }
        }
        let is_over_time = self
            .views
            .iter()
            .any(|view| !matches!(view, View::Over(..)));
        for cell in &mut self.cells {
            cell.cluster.watch.curves = ask.curves && is_over_time;
        }
        let rows = self.rows(seeds, ask)?;
        Ok(self.report(rows, ask.first, seeds))
    }

    fn runs(&self, seeds: u64) -> u64 {
        let of_cell =
            |cell: &ExperimentCell| (cell.variants.len() as u64).saturating_mul(cell.seeds(seeds));
        self.cells.iter().map(of_cell).sum()
    }

    fn rows(&self, seeds: u64, ask: &RunRequest<'_>) -> Result<Vec<Row>, BadWorld> {
        let (done, of) = (AtomicU64::new(0), self.runs(seeds));
        (ask.progress)(0, of);
        let progress = |count: u64| {
            let before = done.fetch_add(count, Ordering::Relaxed);
            (ask.progress)(before + count, of);
        };
        let pairs = self.pairs();
        let mut rows = Vec::with_capacity(pairs.len());
        // Cells for fewer seeds than their neighbours are a batch of their own.
        for alike in pairs.chunk_by(|a, b| a.0.seeds(seeds) == b.0.seeds(seeds)) {
            let batch = RunBatch {
                jobs: alike
                    .iter()
                    .map(|(cell, variant)| job(cell, variant))
                    .collect(),
                first: ask.first,
                seeds: alike.first().map_or(seeds, |(cell, _)| cell.seeds(seeds)),
                threads: ask.threads.max(1),
            };
            rows.extend(run_batch(&batch, &progress)?);
        }
        for (row, (cell, variant)) in rows.iter_mut().zip(&pairs) {
            row.design.clone_from(&variant.name);
            let mine = cell.told.iter().filter(|(name, _)| *name == variant.name);
            row.reported = mine.map(|(_, told)| *told).collect();
        }
        Ok(rows)
    }

    /// Every cell with every variant in it, in the order of the rows.
    fn pairs(&self) -> Vec<(&ExperimentCell, &Variant)> {
        let of_cell = |cell| -> Vec<_> { variants_of(cell).collect() };
        self.cells.iter().flat_map(of_cell).collect()
    }

    fn report(self, rows: Vec<Row>, first: u64, seeds: u64) -> Report {
        let places: Vec<_> = self
            .pairs()
            .iter()
            .map(|(cell, _)| cell.place.clone())
            .collect();
        let draw_view = |view: &View| draw(*view, &rows, &places);
        let mut figures: Vec<PlotFigure> = self.views.iter().flat_map(draw_view).collect();
        by_set(&mut figures);
        let conclusion = words::conclude(&rows);
        let mut parameters = vec![
            ("seeds".to_owned(), seeds.to_string()),
            ("first seed".to_owned(), first.to_string()),
        ];
        parameters.extend(self.parameters);
        Report {
            experiment: self.name,
            title: self.title,
            about: self.about,
            parameters,
            rows,
            figures,
            conclusion,
            ..Report::default()
        }
    }
}

/// What is about one set stands together.
fn by_set(figures: &mut [PlotFigure]) {
    let set = |figure: &PlotFigure| figure.title.split(':').next().unwrap_or("").to_owned();
    let mut order: Vec<String> = Vec::new();
    for name in figures.iter().map(set) {
        if !order.contains(&name) {
            order.push(name);
        }
    }
    figures.sort_by_key(|figure| order.iter().position(|name| *name == set(figure)));
}

fn job<'a>(cell: &'a ExperimentCell, variant: &Variant) -> Job<'a> {
    Job {
        set: cell.set.clone(),
        contender: variant.contender,
        cluster: variant.cluster(cell),
        trace: &*cell.arrivals,
    }
}

fn variants_of(cell: &ExperimentCell) -> impl Iterator<Item = (&ExperimentCell, &Variant)> {
    cell.variants.iter().map(move |variant| (cell, variant))
}

/// The variants of the designs that were asked for, and these designs as they are where there is no variant.
fn chosen(variants: &[Variant], designs: &[Contender]) -> Vec<Variant> {
    let mut chosen = Vec::new();
    for design in designs {
        let before = chosen.len();
        chosen.extend(
            variants
                .iter()
                .filter(|own| own.contender == *design)
                .cloned(),
        );
        if chosen.len() == before {
            chosen.push(Variant::plain(*design));
        }
    }
    chosen
}

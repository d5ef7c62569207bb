//! What an experiment runs: cells of traffic and cluster, and the designs that are put into each.
//!
//! Not here: what the experiments are, and how their results are shown.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_gossip::Knobs;

use super::Ask;
use super::figures::{View, draw};
use super::words;
use crate::report::{Report, Reported, Row};
use crate::run::{Batch, Job, run_batch};
use crate::world::{BadWorld, Cluster, Contender, Request};

/// Makes the traffic of a seed.
pub type Arrivals = Arc<dyn Fn(u64) -> Arc<[Request]> + Send + Sync>;

/// What an experiment runs, and how its result is shown.
pub struct Plan {
    /// The name in reports.
    pub name: String,
    /// What it shows, as a headline.
    pub title: String,
    /// What it asks and how, in a few plain sentences.
    pub about: String,
    /// What it is run with, in the order to print.
    pub parameters: Vec<(String, String)>,
    /// What is run.
    pub cells: Vec<Cell>,
    /// What is drawn.
    pub views: Vec<View>,
}

/// Some traffic in some cluster, and the designs that are put to the test there.
#[derive(Clone)]
pub struct Cell {
    /// The name of the row.
    pub set: String,
    /// The line in plots over a parameter, and the place on it.
    pub place: Option<(String, f64)>,
    /// The traffic.
    pub arrivals: Arrivals,
    /// The nodes and what is between them.
    pub cluster: Cluster,
    /// What is put to the test.
    pub variants: Vec<Variant>,
    /// What others report, by the name of the variant.
    pub told: Vec<(String, Reported)>,
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

    fn cluster(&self, cell: &Cell) -> Cluster {
        let mut cluster = cell.cluster.clone();
        if let Some(knobs) = &self.knobs {
            cluster.knobs = knobs.clone();
        }
        cluster
    }
}

impl Plan {
    /// Runs everything and reports.
    pub fn run(mut self, seeds: u64, ask: &Ask<'_>) -> Result<Report, BadWorld> {
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
        Ok(self.report(rows, (ask.first, seeds)))
    }

    /// How many runs that are.
    fn runs(&self, seeds: u64) -> u64 {
        let variants: usize = self.cells.iter().map(|cell| cell.variants.len()).sum();
        (variants as u64).saturating_mul(seeds)
    }

    fn rows(&self, seeds: u64, ask: &Ask<'_>) -> Result<Vec<Row>, BadWorld> {
        let (done, of) = (AtomicU64::new(0), self.runs(seeds));
        (ask.progress)(0, of);
        let progress = |count: u64| {
            let before = done.fetch_add(count, Ordering::Relaxed);
            (ask.progress)(before + count, of);
        };
        let pairs = self.pairs();
        let batch = Batch {
            jobs: pairs
                .iter()
                .map(|(cell, variant)| job(cell, variant))
                .collect(),
            first: ask.first,
            seeds,
            threads: ask.threads.max(1),
        };
        let mut rows = run_batch(&batch, &progress)?;
        for (row, (cell, variant)) in rows.iter_mut().zip(&pairs) {
            row.design.clone_from(&variant.name);
            let mine = cell.told.iter().filter(|(name, _)| *name == variant.name);
            row.reported = mine.map(|(_, told)| *told).collect();
        }
        Ok(rows)
    }

    /// Every cell with every variant in it, in the order of the rows.
    fn pairs(&self) -> Vec<(&Cell, &Variant)> {
        let of_cell = |cell| -> Vec<_> { variants_of(cell).collect() };
        self.cells.iter().flat_map(of_cell).collect()
    }

    fn report(self, rows: Vec<Row>, (first, seeds): (u64, u64)) -> Report {
        let places: Vec<_> = self
            .pairs()
            .iter()
            .map(|(cell, _)| cell.place.clone())
            .collect();
        let figures = self
            .views
            .iter()
            .flat_map(|view| draw(*view, &rows, &places))
            .collect();
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

fn job<'a>(cell: &'a Cell, variant: &Variant) -> Job<'a> {
    Job {
        set: cell.set.clone(),
        contender: variant.contender,
        cluster: variant.cluster(cell),
        trace: &*cell.arrivals,
    }
}

fn variants_of(cell: &Cell) -> impl Iterator<Item = (&Cell, &Variant)> {
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

//! Many runs on all cores.
//!
//! Rows are the same whatever the number of threads. Not here: which runs make an experiment.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::contender::Contender;
use crate::report::Row;
use crate::world::{BadWorld, Cluster, Curves, Request, RunOutcome, simulate};

/// Curves are kept of that many seeds per job; memory would grow with the seeds otherwise.
const CURVES_KEPT: u64 = 20;

/// One contender on one set, over some seeds.
pub struct Job<'a> {
    /// The name of the traffic.
    pub set: String,
    /// What is put to the test.
    pub contender: Contender,
    /// Where.
    pub cluster: Cluster,
    /// Makes the traffic of a seed.
    pub trace: &'a (dyn Fn(u64) -> Arc<[Request]> + Sync),
}

/// Some jobs, each over the same seeds.
pub struct RunBatch<'a> {
    /// What to run.
    pub jobs: Vec<Job<'a>>,
    /// Seeds, from `first` on.
    pub first: u64,
    /// How many.
    pub seeds: u64,
    /// Threads.
    pub threads: usize,
}

/// Runs every job over every seed; one row per job, in order. `progress` hears of each finished run.
///
/// The first bad world, in order of jobs and seeds, is the error.
pub fn run_batch(
    batch: &RunBatch<'_>,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Vec<Row>, BadWorld> {
    let mut done = run_all(batch, progress).into_iter();
    let mut rows = Vec::with_capacity(batch.jobs.len());
    for job in &batch.jobs {
        let mine = done
            .by_ref()
            .take(usize::try_from(batch.seeds).unwrap_or(usize::MAX));
        let outcomes: Result<Vec<RunOutcome>, BadWorld> = mine.flatten().collect();
        rows.push(Row {
            set: job.set.clone(),
            design: job.contender.to_string(),
            ..Row::of(outcomes?)
        });
    }
    Ok(rows)
}

/// Every outcome: all seeds of the first job, then of the second, and so on.
fn run_all(
    batch: &RunBatch<'_>,
    progress: &(dyn Fn(u64) + Sync),
) -> Vec<Option<Result<RunOutcome, BadWorld>>> {
    let tasks: Vec<(&Job<'_>, u64)> = batch
        .jobs
        .iter()
        .flat_map(|job| (0..batch.seeds).map(move |seed| (job, seed)))
        .collect();
    let run = |&(job, number): &(&Job<'_>, u64)| {
        let outcome = run_one(job, batch.first, number);
        progress(1);
        outcome
    };
    each(&tasks, batch.threads, run)
}

/// Does every task on so many threads; results are in the order of the tasks. `None` where a thread died.
pub(crate) fn each<T: Sync, R: Send>(
    tasks: &[T],
    threads: usize,
    run: impl Fn(&T) -> R + Sync,
) -> Vec<Option<R>> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<R>>> = tasks.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some((task, slot)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            tasks.get(index).zip(done.get(index))
        } {
            let result = run(task);
            if let Ok(mut slot) = slot.lock() {
                *slot = Some(result);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.clamp(1, tasks.len().max(1)) {
            scope.spawn(work);
        }
        work();
    });
    done.into_iter()
        .map(|slot| slot.into_inner().ok().flatten())
        .collect()
}

fn run_one(job: &Job<'_>, first: u64, number: u64) -> Result<RunOutcome, BadWorld> {
    let seed = first.wrapping_add(number);
    let mut outcome = simulate(&job.cluster, job.contender, &(job.trace)(seed), seed)?;
    if number >= CURVES_KEPT {
        outcome.curves = Curves::default();
    }
    Ok(outcome)
}

//! `tollgate lab run`: experiments by name.
//!
//! Not here: what they are, and how their reports are shown.

use tollgate_contract::nearest;
use tollgate_lab::{Experiment, RunRequest, experiments};

use super::options::RunOptions;
use super::show::{ProgressMeter, Show, threads};
use crate::failure::Failure;

pub(super) fn run(options: &RunOptions) -> Result<(), Failure> {
    let chosen = chosen(&options.names)?;
    if options.designs.is_some()
        && let Some(own) = chosen.iter().find(|own| !own.is_gossip())
    {
        return Err(Failure::usage(format!(
            "error: --designs names designs of gossip; {} has its own",
            own.name
        )));
    }
    let mut show = Show::new(&options.output, chosen.len() > 1)?;
    let mut failures = Vec::new();
    for experiment in chosen {
        let meter = ProgressMeter::new(experiment.name);
        let usual = experiment.seeds;
        let quick = options.quick.then(|| usual.div_ceil(5));
        let report = experiment.run(&RunRequest {
            first: options.output.first,
            seeds: options.seeds.or(quick),
            threads: threads(&options.output),
            designs: options.designs.as_ref().map(|designs| designs.0.as_slice()),
            curves: options.output.html.is_some(),
            progress: &|done, of| meter.tick(done, of),
        });
        drop(meter);
        let report = report.map_err(|error| Failure::usage(format!("error: {error}")))?;
        show.add(&report)?;
        failures.extend(
            report
                .failure
                .map(|what| format!("{}: {what}", report.experiment)),
        );
    }
    show.finish()?;
    if failures.is_empty() {
        Ok(())
    } else {
        Err(Failure::found(format!("error: {}", failures.join("; "))))
    }
}

/// The experiments of those names, each once, in the order given.
fn chosen(names: &[String]) -> Result<Vec<&'static Experiment>, Failure> {
    let mut chosen: Vec<&Experiment> = Vec::new();
    for name in names {
        let these: Vec<&Experiment> = match name.as_str() {
            "all" => experiments().filter(|own| own.is_in_all()).collect(),
            name => vec![experiment(name)?],
        };
        for experiment in these {
            if !chosen.iter().any(|own| own.name == experiment.name) {
                chosen.push(experiment);
            }
        }
    }
    Ok(chosen)
}

fn experiment(name: &str) -> Result<&'static Experiment, Failure> {
    let found = experiments().find(|experiment| experiment.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = experiments().map(|experiment| experiment.name).collect();
        let hint = match nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None => "`tollgate lab list` names them all".to_owned(),
        };
        Failure::usage(format!("error: no experiment is called {name:?}; {hint}"))
    })
}

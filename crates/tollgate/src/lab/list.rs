//! `tollgate lab list`: the experiments by name.
//!
//! Not here: what they do.

use std::io::{Write, stdout};

use serde_json::json;
use tollgate_lab::{Experiment, experiments};

use super::options::{ListFormat, ListOptions};
use crate::failure::Failure;
use crate::report::{Ink, TerminalStyle};

pub(super) fn run(options: &ListOptions) -> Result<(), Failure> {
    let text = match options.format {
        ListFormat::Human => human(experiments(), TerminalStyle::of_stdout()),
        ListFormat::Json => json(experiments()),
    };
    stdout().write_all(text.as_bytes()).map_err(Failure::output)
}

fn human(experiments: &[Experiment], look: TerminalStyle) -> String {
    let width = |pick: fn(&Experiment) -> &str| {
        experiments
            .iter()
            .map(|experiment| pick(experiment).chars().count())
            .max()
            .unwrap_or(0)
    };
    let (names, takes) = (
        width(|experiment| experiment.name),
        width(|experiment| experiment.takes),
    );
    let mut lines = Vec::new();
    let mut group = "";
    for experiment in experiments {
        if experiment.group != group {
            group = experiment.group;
            lines.push(format!("\n{}", look.paint(Ink::Bold, group)));
        }
        lines.push(format!(
            "  {:<names$}  {}  {}",
            experiment.name,
            look.paint(Ink::Dim, &format!("{:>takes$}", experiment.takes)),
            experiment.about
        ));
    }
    let hint = "Times are for two cores and the usual seeds. Run one with: tollgate lab run NAME [--html DIR]";
    lines.push(format!("\n{}", look.paint(Ink::Dim, hint)));
    lines.join("\n").trim_start().to_owned() + "\n"
}

fn json(experiments: &[Experiment]) -> String {
    let one = |experiment: &Experiment| {
        json!({
            "name": experiment.name,
            "group": experiment.group,
            "about": experiment.about,
            "seeds": experiment.seeds,
            "takes": experiment.takes,
        })
    };
    let all: Vec<_> = experiments.iter().map(one).collect();
    format!("{}\n", json!(all))
}

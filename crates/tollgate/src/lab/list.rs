//! `tollgate lab list`: the experiments by name.
//!
//! Not here: what they do.

use std::io::{Write, stdout};

use serde_json::json;
use tollgate_lab::{Experiment, ExperimentGroup, experiment_groups};

use super::options::ListOptions;
use crate::cli::Format;
use crate::failure::Failure;
use crate::report::{Ink, TerminalStyle};

pub(super) fn run(options: &ListOptions) -> Result<(), Failure> {
    let text = match options.format {
        Format::Human => human(experiment_groups(), TerminalStyle::of_stdout()),
        Format::Json => json(experiment_groups()),
    };
    stdout().write_all(text.as_bytes()).map_err(Failure::output)
}

fn human(groups: &[ExperimentGroup], look: TerminalStyle) -> String {
    let width = |pick: fn(&Experiment) -> &str| {
        let texts = groups.iter().flat_map(|group| group.experiments).map(pick);
        texts.map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let names = width(|experiment| experiment.name);
    let takes = width(|experiment| experiment.takes);
    let mut lines = Vec::new();
    for group in groups {
        lines.push(format!("\n{}", look.paint(Ink::Bold, group.name)));
        lines.extend(group.experiments.iter().map(|experiment| {
            format!(
                "  {:<names$}  {}  {}",
                experiment.name,
                look.paint(Ink::Dim, &format!("{:>takes$}", experiment.takes)),
                experiment.about
            )
        }));
    }
    let hint = "Times are for two cores and the usual seeds. Run one with: tollgate lab run NAME [--html DIR]";
    lines.push(format!("\n{}", look.paint(Ink::Dim, hint)));
    lines.join("\n").trim_start().to_owned() + "\n"
}

fn json(groups: &[ExperimentGroup]) -> String {
    let of_group = |group: &ExperimentGroup| {
        let one = |experiment: &Experiment| {
            json!({
                "name": experiment.name,
                "group": group.name,
                "about": experiment.about,
                "seeds": experiment.seeds,
                "takes": experiment.takes,
            })
        };
        group.experiments.iter().map(one).collect::<Vec<_>>()
    };
    let all: Vec<_> = groups.iter().flat_map(of_group).collect();
    format!("{}\n", json!(all))
}

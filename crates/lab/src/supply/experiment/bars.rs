//! What must hold of supply, and whether it does.
//!
//! Not here: the experiments that show it at length.

use super::{convergence, parameters};
use crate::catalogue::Ask;
use crate::report::{Bar, Report};
use crate::supply::rounds::{Load, Rule};

/// Runs it.
pub(crate) fn run(seeds: u64, ask: &Ask<'_>) -> Report {
    let rows = convergence::rules(seeds, ask, &[Rule::Group]);
    let bars = vec![Bar {
        name: "G4 rounds to 5 %, spread, N = 10/30/100/300".to_owned(),
        bar: "≤ 6/8/10/10".to_owned(),
        measured: convergence::rounds_of(&rows, Rule::Group, Load::Spread),
        met: None,
    }];
    Report {
        title: "What must hold of supply".to_owned(),
        about: "The bars of passing supply.".to_owned(),
        parameters: parameters(seeds, ask, &[]),
        supply: rows,
        bars,
        ..Report::default()
    }
}

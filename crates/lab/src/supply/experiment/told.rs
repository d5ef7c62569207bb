//! What the reference simulator found for the same rows.
//!
//! Not here: our own figures.

use crate::supply::design::Design;
use crate::supply::rounds::{Load, Rule};
use crate::supply::scenario::Scenario;

/// Lost percent of a design in a scenario; N = 10: three seeds, N = 30 and 100: one.
pub(super) fn lost(nodes: u16, design: Design, scenario: Scenario) -> Option<f64> {
    let at = Scenario::ALL.iter().position(|own| *own == scenario)?;
    let row: [f64; 8] = match (nodes, design) {
        (10, Design::Static) => [29.2, 25.5, 29.1, 39.6, 46.9, 24.4, 29.2, 39.1],
        (10, Design::Document { .. }) => [0.13, 0.21, 1.27, 2.17, 2.33, 0.88, 0.13, 0.80],
        (10, Design::Ledger { .. }) => [0.01, 0.06, 0.10, 0.10, 0.80, 2.11, 12.9, 0.04],
        (30, Design::Static) => [39.1, 35.2, 39.0, 44.1, 47.0, 33.8, 39.1, 44.9],
        (30, Design::Document { .. }) => [2.21, 2.38, 11.4, 19.6, 3.37, 4.72, 2.13, 6.93],
        (30, Design::Ledger { .. }) => [0.13, 0.16, 0.46, 0.30, 1.67, 1.41, 11.6, 0.19],
        (100, Design::Document { .. }) => [25.9, 25.3, 43.4, 36.9, 7.5, 23.3, 15.9, 24.5],
        (100, Design::Ledger { .. }) => [3.15, 2.38, 3.95, 3.36, 5.20, 3.72, 13.2, 3.26],
        _ => return None,
    };
    row.get(at).copied()
}

/// Sizes of the convergence table.
pub(super) const SIZES: [u16; 5] = [3, 10, 30, 100, 300];

/// Median rounds of a rule.
pub(super) fn rounds(rule: Rule, load: Load, nodes: u16) -> Option<f64> {
    let at = SIZES.iter().position(|own| *own == nodes)?;
    let row: [u32; 5] = match (load, rule) {
        (Load::Spread, Rule::Ring) => [4, 75, 768, 5_492, 27_288],
        (Load::Spread, Rule::TwoEach) => [4, 48, 157, 133, 233],
        (Load::Spread, Rule::Four) => [4, 28, 60, 79, 97],
        (Load::Spread, Rule::Log) => [4, 28, 29, 35, 35],
        (Load::Spread, Rule::RingMomentum) => [3, 25, 50, 194, 282],
        (Load::Spread, Rule::FourMomentum) => [3, 11, 17, 19, 22],
        (Load::Spread, Rule::PairRing) => [3, 42, 356, 2_563, 12_243],
        (Load::Spread, Rule::PairAny) => [2, 6, 11, 12, 13],
        (Load::Spread, Rule::BestOf2) => [2, 5, 7, 8, 9],
        (Load::Spread, Rule::BestOf4) => [2, 4, 5, 5, 6],
        (Load::Spread, Rule::RichestOf4) => [3, 8, 10, 11, 11],
        (Load::Spread, Rule::Group) => [1, 3, 4, 5, 5],
        (Load::Spread, Rule::PushSum) => [6, 15, 23, 48, 128],
        (Load::Spread | Load::Hot, Rule::FullView) => [2, 4, 6, 8, 9],
        (Load::Hot, Rule::Ring) => [2, 63, 679, 8_019, 73_431],
        (Load::Hot, Rule::Four) => [2, 27, 98, 299, 914],
        (Load::Hot, Rule::FourMomentum) => [1, 7, 14, 27, 58],
        (Load::Hot, Rule::PairAny) => [2, 10, 26, 81, 225],
        (Load::Hot, Rule::BestOf4) => [2, 4, 11, 31, 88],
        (Load::Hot, Rule::PushSum) => [5, 14, 27, 66, 165],
        (Load::Hot, Rule::Group) => [1, 4, 5, 8, 19],
        (Load::Hot, _) => return None,
    };
    row.get(at).map(|rounds| f64::from(*rounds))
}

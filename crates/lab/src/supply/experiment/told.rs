//! What the reference simulator found for the same rows.
//!
//! Not here: our own figures.

use crate::supply::design::SupplyDesign;
use crate::supply::loans::Tuning;
use crate::supply::rounds::{DemandSpread, ExchangeRule};
use crate::supply::scenario::Scenario;

/// Lost percent of a design in a scenario; N = 10: three seeds, N = 30 and 100: one.
pub(super) fn lost(nodes: u16, design: SupplyDesign, scenario: Scenario) -> Option<f64> {
    let at = Scenario::ALL.iter().position(|own| *own == scenario)?;
    let row: [f64; 8] = match (nodes, design) {
        (10, SupplyDesign::Loans(Tuning { rounds_only, .. })) => {
            if rounds_only {
                [0.03, 0.10, 0.68, 1.93, 1.91, 0.71, 2.09, 0.28]
            } else {
                [0.01, 0.08, 0.19, 0.09, 1.42, 0.46, 2.05, 0.17]
            }
        }
        (30, SupplyDesign::Loans(Tuning { rounds_only, .. })) => {
            if rounds_only {
                [0.44, 0.42, 2.19, 9.53, 2.91, 0.83, 3.26, 0.69]
            } else {
                [0.10, 0.25, 0.52, 0.39, 2.14, 0.26, 2.82, 0.23]
            }
        }
        (100, SupplyDesign::Loans(_)) => [2.56, 2.79, 3.67, 3.33, 5.73, 2.57, 4.13, 3.24],
        (10, SupplyDesign::Static) => [29.2, 25.5, 29.1, 39.6, 46.9, 24.4, 29.2, 39.1],
        (10, SupplyDesign::Document { .. }) => [0.13, 0.21, 1.27, 2.17, 2.33, 0.88, 0.13, 0.80],
        (10, SupplyDesign::Ledger { .. }) => [0.01, 0.06, 0.10, 0.10, 0.80, 2.11, 12.9, 0.04],
        (30, SupplyDesign::Static) => [39.1, 35.2, 39.0, 44.1, 47.0, 33.8, 39.1, 44.9],
        (30, SupplyDesign::Document { .. }) => [2.21, 2.38, 11.4, 19.6, 3.37, 4.72, 2.13, 6.93],
        (30, SupplyDesign::Ledger { .. }) => [0.13, 0.16, 0.46, 0.30, 1.67, 1.41, 11.6, 0.19],
        (100, SupplyDesign::Document { .. }) => [25.9, 25.3, 43.4, 36.9, 7.5, 23.3, 15.9, 24.5],
        (100, SupplyDesign::Ledger { .. }) => [3.15, 2.38, 3.95, 3.36, 5.20, 3.72, 13.2, 3.26],
        _ => return None,
    };
    row.get(at).copied()
}

/// Lost percent of loans with 100 nodes and a bucket of a second.
pub(super) fn deep(scenario: Scenario) -> Option<f64> {
    let at = Scenario::ALL.iter().position(|own| *own == scenario)?;
    let row = [0.02, 0.88, 0.39, 1.63, 2.17, 0.05, 1.25, 0.26];
    row.get(at).copied()
}

pub(super) const SIZES: [u16; 5] = [3, 10, 30, 100, 300];

pub(super) fn rounds(rule: ExchangeRule, load: DemandSpread, nodes: u16) -> Option<f64> {
    let at = SIZES.iter().position(|own| *own == nodes)?;
    let row: [u32; 5] = match (load, rule) {
        (DemandSpread::Spread, ExchangeRule::Ring) => [4, 75, 768, 5_492, 27_288],
        (DemandSpread::Spread, ExchangeRule::TwoEach) => [4, 48, 157, 133, 233],
        (DemandSpread::Spread, ExchangeRule::Four) => [4, 28, 60, 79, 97],
        (DemandSpread::Spread, ExchangeRule::Log) => [4, 28, 29, 35, 35],
        (DemandSpread::Spread, ExchangeRule::RingMomentum) => [3, 25, 50, 194, 282],
        (DemandSpread::Spread, ExchangeRule::FourMomentum) => [3, 11, 17, 19, 22],
        (DemandSpread::Spread, ExchangeRule::PairRing) => [3, 42, 356, 2_563, 12_243],
        (DemandSpread::Spread, ExchangeRule::PairAny) => [2, 6, 11, 12, 13],
        (DemandSpread::Spread, ExchangeRule::BestOf2) => [2, 5, 7, 8, 9],
        (DemandSpread::Spread, ExchangeRule::BestOf4) => [2, 4, 5, 5, 6],
        (DemandSpread::Spread, ExchangeRule::RichestOf4) => [3, 8, 10, 11, 11],
        (DemandSpread::Spread, ExchangeRule::Group) => [1, 3, 4, 5, 5],
        (DemandSpread::Spread, ExchangeRule::PushSum) => [6, 15, 23, 48, 128],
        (DemandSpread::Spread | DemandSpread::Hot, ExchangeRule::FullView) => [2, 4, 6, 8, 9],
        (DemandSpread::Hot, ExchangeRule::Ring) => [2, 63, 679, 8_019, 73_431],
        (DemandSpread::Hot, ExchangeRule::Four) => [2, 27, 98, 299, 914],
        (DemandSpread::Hot, ExchangeRule::FourMomentum) => [1, 7, 14, 27, 58],
        (DemandSpread::Hot, ExchangeRule::PairAny) => [2, 10, 26, 81, 225],
        (DemandSpread::Hot, ExchangeRule::BestOf4) => [2, 4, 11, 31, 88],
        (DemandSpread::Hot, ExchangeRule::PushSum) => [5, 14, 27, 66, 165],
        (DemandSpread::Hot, ExchangeRule::Group) => [1, 4, 5, 8, 19],
        (DemandSpread::Hot, _) => return None,
    };
    row.get(at).map(|rounds| f64::from(*rounds))
}

/// Lost percent in flash crowds and in steps, by the gap between asks.
pub(super) const GAPS: [(f64, f64); 5] = [
    (0.41, 0.52),
    (0.37, 0.53),
    (0.40, 0.61),
    (0.50, 0.65),
    (0.81, 0.82),
];
/// The same by peers asked per round.
pub(super) const PROBES: [(f64, f64); 5] = [
    (0.89, 0.67),
    (0.61, 0.59),
    (0.40, 0.61),
    (0.53, 0.60),
    (0.41, 0.61),
];
/// The same by delay, then by loss.
pub(super) const WEATHERS: [(f64, f64); 7] = [
    (0.40, 0.61),
    (0.48, 0.63),
    (2.1, 1.3),
    (17.0, 18.0),
    (0.70, 0.69),
    (4.0, 1.6),
    (12.7, 8.1),
];
/// The same by the length of a round.
pub(super) const ROUNDS: [(f64, f64); 6] = [
    (1.2, 0.37),
    (0.27, 0.52),
    (0.40, 0.61),
    (0.86, 0.98),
    (0.86, 2.1),
    (1.4, 4.0),
];
/// The same by the term of a loan.
pub(super) const TERMS: [(f64, f64); 5] = [
    (0.44, 0.49),
    (0.31, 0.62),
    (0.40, 0.61),
    (0.88, 0.61),
    (5.4, 0.79),
];
/// The same by the depth of the bucket.
pub(super) const DEPTHS: [(f64, f64); 6] = [
    (10.9, 14.0),
    (4.4, 5.1),
    (1.3, 1.3),
    (0.40, 0.61),
    (0.26, 0.26),
    (0.02, 0.08),
];

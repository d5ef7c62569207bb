//! Small versions of every experiment, and designs that must fail seen to fail.

#![allow(clippy::cast_precision_loss, reason = "figures of three digits")]

use super::design::SupplyDesign;
use super::loans::Tuning;
use super::rounds::{DemandSpread, ExchangeRule};
use super::scenario::Scenario;
use super::stage::{ClusterChange, MILLI, Phase, Plot, SECOND, SupplyOutcome, SupplySetting};

/// Twelve seconds of a scenario with few nodes and a small limit.
fn small(scenario: Scenario, nodes: u16) -> Plot {
    let setting = SupplySetting {
        rate: SupplySetting::rack(nodes).rate / 5,
        ..SupplySetting::rack(nodes)
    };
    let mut plot = scenario.plot(&setting, 1);
    // The same at a fifth of the time.
    plot.setting.until /= 5;
    for phase in &mut plot.phases {
        phase.at /= 5;
    }
    for change in &mut plot.changes {
        change.0 /= 5;
    }
    plot
}

fn lost(outcome: &SupplyOutcome) -> f64 {
    100.0 * (1.0 - outcome.admitted as f64 / outcome.central as f64)
}

const OURS: SupplyDesign = SupplyDesign::Loans(Tuning::USUAL);
/// A lease shortened as the scenarios are.
const LEDGER: SupplyDesign = SupplyDesign::Ledger { lease_us: SECOND };

#[test]
fn supply_follows_demand_and_nothing_is_over_in_every_scenario() {
    for scenario in Scenario::ALL {
        let plot = small(scenario, 6);
        let even = lost(&SupplyDesign::Static.run(&plot));
        for design in [OURS, LEDGER] {
            let outcome = design.run(&plot);
            let name = format!("{} {scenario:?}", design.name());
            assert_eq!(outcome.excess.over, 0, "{name}");
            assert_eq!(outcome.sums.violations(), 0, "{name}");
            assert!(outcome.sums.checks > 1_000, "{name}");
            if scenario != Scenario::Netsplit {
                assert!(lost(&outcome) < even / 2.0, "{name} {}", lost(&outcome));
            }
        }
    }
}

#[test]
fn a_netsplit_makes_supply_where_the_buddy_inherits() {
    let mut plot = small(Scenario::Netsplit, 6);
    for phase in &mut plot.phases {
        for rate in &mut phase.rates {
            *rate *= 3;
        }
    }
    let document = SupplyDesign::Document { inherits: true }.run(&plot);
    assert!(document.sums.above > 0 && document.excess.over > 0);
    let ours = OURS.run(&plot);
    assert_eq!((ours.sums.above, ours.excess.over), (0, 0));
}

#[test]
fn as_printed_the_document_loses_more_than_even_shares() {
    let plot = Scenario::Steady90.plot(
        &SupplySetting {
            until: 30 * SECOND,
            ..SupplySetting::rack(10)
        },
        1,
    );
    let (printed, even) = (
        SupplyDesign::Printed.run(&plot),
        SupplyDesign::Static.run(&plot),
    );
    assert!(printed.admitted < even.admitted);
}

#[test]
fn rules_take_the_rounds_they_are_known_to_take() {
    let rounds = |rule: ExchangeRule, nodes, load| rule.run(nodes, load, 1).rounds.unwrap();
    assert_eq!(rounds(ExchangeRule::Ring, 10, DemandSpread::Hot), 63);
    assert_eq!(rounds(ExchangeRule::Ring, 30, DemandSpread::Hot), 679);
    for rule in ExchangeRule::ALL {
        for load in [DemandSpread::Spread, DemandSpread::Hot] {
            let tally = rule.run(10, load, 3);
            assert!(
                tally.rounds.is_some_and(|rounds| rounds < 1_000),
                "{rule:?}"
            );
            assert!(tally.messages > 0.0, "{rule:?}");
        }
    }
    for nodes in [10, 30, 100, 300] {
        assert!(rounds(ExchangeRule::Group, nodes, DemandSpread::Spread) <= 10);
        assert!(rounds(ExchangeRule::Group, nodes, DemandSpread::Hot) <= 38);
    }
}

#[test]
fn a_sample_shows_who_is_there_and_what_is_asked() {
    let plot = Plot {
        setting: SupplySetting {
            until: 4 * SECOND,
            sample_us: 500 * MILLI,
            ..SupplySetting::rack(3)
        },
        phases: vec![Phase {
            at: 0,
            rates: vec![1_000_000; 3],
        }],
        changes: vec![
            (SECOND, ClusterChange::Crash(1)),
            (3 * SECOND, ClusterChange::Restart(1)),
        ],
        seed: 1,
    };
    let outcome = OURS.run(&plot);
    let there: Vec<bool> = outcome
        .samples
        .iter()
        .map(|sample| sample.usable[1].is_some())
        .collect();
    assert_eq!(
        there,
        [true, true, true, false, false, false, false, true, true]
    );
}

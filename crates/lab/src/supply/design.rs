//! What is put to the test, by name.
//!
//! Not here: how it works.

use super::loans::{Loans, Tuning};
use super::rival::{DocumentDesign, LedgerDesign, Plant, Static};
use super::stage::{Plot, SECOND, SupplyOutcome, simulate};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SupplyDesign {
    /// The protocol that the server runs.
    Loans(Tuning),
    /// Even shares for good.
    Static,
    /// The document's, sign and units made sound; whether a buddy inherits.
    Document { inherits: bool },
    /// The document's as it is printed.
    Printed,
    /// Permanent transfers with a ledger, and a lease of so many microseconds.
    Ledger { lease_us: u64 },
    /// The same with a bug.
    Planted { lease_us: u64, plant: Plant },
}

impl SupplyDesign {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Loans(tuning) => loans_name(tuning),
            Self::Static => "static".to_owned(),
            Self::Document { inherits: true } => "document".to_owned(),
            Self::Document { inherits: false } => "document, no action".to_owned(),
            Self::Printed => "document as printed".to_owned(),
            Self::Ledger { lease_us } => format!("ledger, lease {}", seconds(lease_us)),
            Self::Planted { plant, .. } => format!("mutant: {}", plant.name()),
        }
    }

    pub(crate) fn run(self, plot: &Plot) -> SupplyOutcome {
        let setting = plot.setting.clone();
        let document = |as_printed, inherits| DocumentDesign {
            setting: setting.clone(),
            as_printed,
            inherits,
        };
        let ledger = |lease_us, plant| LedgerDesign {
            setting: setting.clone(),
            lease_us,
            plant,
        };
        match self {
            Self::Loans(tuning) => match Loans::new(&setting, &tuning) {
                Some(loans) => simulate(&loans, plot),
                None => SupplyOutcome::default(),
            },
            Self::Static => simulate(&Static(setting), plot),
            Self::Document { inherits } => simulate(&document(false, inherits), plot),
            Self::Printed => simulate(&document(true, true), plot),
            Self::Ledger { lease_us } => simulate(&ledger(lease_us, None), plot),
            Self::Planted { lease_us, plant } => simulate(&ledger(lease_us, Some(plant)), plot),
        }
    }

    /// Whether it is here to be seen to fail.
    pub(crate) fn may_break(self) -> bool {
        match self {
            Self::Loans(tuning) => tuning.is_hasty,
            Self::Static | Self::Ledger { .. } => false,
            Self::Document { .. } | Self::Printed | Self::Planted { .. } => true,
        }
    }
}

fn loans_name(tuning: Tuning) -> String {
    if tuning.is_hasty {
        return "mutant: no quarantine after boot".to_owned();
    }
    if tuning.rounds_only {
        return "loans, rounds only".to_owned();
    }
    tuning.lease_us.map_or_else(
        || "loans".to_owned(),
        |lease| format!("loans+lease {}", seconds(lease)),
    )
}

fn seconds(micros: u64) -> String {
    if micros.is_multiple_of(SECOND) {
        format!("{} s", micros / SECOND)
    } else {
        format!("{} ms", micros / 1_000)
    }
}

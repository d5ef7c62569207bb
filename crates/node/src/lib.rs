//! One node's whole brain: contracts and the cells of every contract, behind one type.
//!
//! [`Node`] takes keys, costs and the time, and answers at once. The library, the daemon and the lab drive this same
//! type. Deliberately absent: clocks, sockets, threads, randomness, and who the other nodes are.

mod adhoc;
mod answer;
mod apart;
mod batch;
mod beside;
mod cells;
mod company;
mod decide;
mod dirty;
mod durable;
mod edits;
mod gubernator;
mod heirs;
mod ids;
mod key;
mod known;
mod node;
mod remembered;
mod scope;
mod set_clock;
mod short;
mod succession;
mod sure;
mod terms;
mod worth;

pub use adhoc::{Adhoc, AdhocAsk, AdhocError, Space};
pub use answer::{
    Answer, Booking, KeyTerms, OnceReceipt, OwnTerms, OwnTermsList, Receipt, RefusedBy, Violation,
};
pub use apart::{Due, Lifted, Remembered, Spot, Spots};
pub use company::{
    BadRoster, Closed, CompanyGossip, DividedAdmission, DivisionJournal, FrameCounts,
    GossipRefused, HeldAnswer, HeldDecision, HeldInquiry, HeldName, KeyLedger, Lend, LendAnswer,
    Membership, ModeRecord, Outgoing, PolicyGossip, PolicyStatus, RateDivision, Roster, RosterPeer,
    Steady, Uncountable, Waker, countable, shared_key,
};
pub use durable::{DurableRow, RestoreError, WrittenBy, WrittenCell};
pub use gubernator::{
    CREATED_AT_SKEW_MS_MAX, Gubernator, GubernatorAlgorithm, GubernatorAnswer, GubernatorAsk,
    GubernatorError,
};
pub use ids::{IdError, ReceiptNumber};
pub use key::{Debit, Key};
pub use known::Stranger;
pub use node::{Node, NodeConfig};
pub use tollgate_mode::{Figure, FigureValue, Metric, MetricKind, ModeKind};
pub use tollgate_split::{Adapt, Split as SplitSettings};
pub use tollgate_supply::{BadLimits, SupplyConfig, limits as supply_limits};

/// What is said of leases, and of quotas.
pub use tollgate_lease::{
    Action as QuotaAction, LEDGER_BYTES_MAX, Nudge, PlaneId, QuotaBucket, QuotaFigures,
    QuotaReport, QuotaRules, QuotaStand, QuotaTold, client_of, encode_nudge,
};

pub use scope::{PolicyReadings, Scope, UnknownContract, Within};
pub use terms::Knowledge;

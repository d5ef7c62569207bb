//! One node's whole brain: contracts and the cells of every contract, behind one type.
//!
//! [`Node`] takes keys, costs and the time, and answers at once. The library, the daemon and the lab drive this same
//! type. Deliberately absent: clocks, sockets, threads, randomness, and who the other nodes are.

mod adhoc;
mod answer;
mod apart;
mod batch;
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
mod succession;
mod sure;
mod terms;
mod worth;

pub use adhoc::{Adhoc, AdhocAsk, AdhocError, Space};
pub use answer::{Answer, Booking, KeyTerms, OwnTerms, Receipt, RefusedBy, Violation};
pub use apart::{Due, Lifted, Remembered, Spot, Spots};
pub use company::{
    Adapt, Admitted, BadRoster, Closed, CompanyGossip, GossipRefused, Journal, Ledger, Lend, Lent,
    Membership, Outgoing, Peer, PolicyGossip, PolicyLease, PolicySplit, PolicySupply, PolicySync,
    Roster, Said, Share, SplitSettings, Steady, SupplyKey, Uncountable, Waker, countable,
    supply_limits,
};
pub use durable::{RestoreError, Row, WrittenBy};
pub use gubernator::{
    CREATED_AT_SKEW_MS_MAX, Gubernator, GubernatorAlgorithm, GubernatorAnswer, GubernatorAsk,
    GubernatorError,
};
pub use ids::IdError;
pub use key::Key;
pub use known::Stranger;
pub use node::{Node, NodeConfig};
/// What divides rates, for whoever keeps and shows it.
pub use tollgate_supply::{
    BadLimits, Figures as SupplyFigures, Inspection, Kept, Limits, SupplyConfig,
};

/// What is said of leases, and of quotas.
pub use tollgate_lease::{
    Action as QuotaAction, Bucket as QuotaBucket, Keep as SyncKeep, LEDGER_BYTES_MAX, Nudge,
    PlaneId, QuotaFigures, QuotaRules, QuotaStand, QuotaTold, Report as QuotaReport, client_of,
    encode_nudge,
};

pub use scope::{Read, Scope, UnknownContract, Within};
pub use terms::Knowledge;

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
mod succession;
mod sure;
mod terms;
mod worth;

pub use adhoc::{Adhoc, AdhocAsk, AdhocError, Space};
pub use answer::{Answer, Booking, KeyTerms, OwnTerms, Receipt, RefusedBy, Violation};
pub use apart::{Due, Lifted, Remembered, Spot, Spots};
pub use company::{
    Admitted, BadRoster, Closed, CompanyGossip, GossipRefused, Journal, Kept, Ledger, Lend, Lent,
    Membership, Outgoing, Peer, PolicyGossip, PolicyStatus, Roster, Said, Share, Steady,
    Uncountable, Waker, countable, shared_key,
};
pub use durable::{RestoreError, Row, WrittenBy, WrittenCell};
pub use gubernator::{
    CREATED_AT_SKEW_MS_MAX, Gubernator, GubernatorAlgorithm, GubernatorAnswer, GubernatorAsk,
    GubernatorError,
};
pub use ids::{IdError, ReceiptNumber};
pub use key::{Debit, Key};
pub use known::Stranger;
pub use node::{Node, NodeConfig};
pub use tollgate_mode::{Figure, Metric, MetricKind, ModeKind, Value};
pub use tollgate_split::{Adapt, Split as SplitSettings};
pub use tollgate_supply::{BadLimits, SupplyConfig, limits as supply_limits};

/// What is said of leases, and of quotas.
pub use tollgate_lease::{
    Action as QuotaAction, Bucket as QuotaBucket, LEDGER_BYTES_MAX, Nudge, PlaneId, QuotaFigures,
    QuotaRules, QuotaStand, QuotaTold, Report as QuotaReport, client_of, encode_nudge,
};

pub use scope::{Read, Scope, UnknownContract, Within};
pub use terms::Knowledge;

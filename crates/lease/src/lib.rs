//! Small buckets lent out of one bucket or window: clients decide by themselves, and never admit a token too many.
//!
//! A [`Pool`] is the grantor's side of one key, a [`Lessee`] the client's. A lease is a small bucket: tokens at once, a
//! rate, a depth, a term. What is lent counts as spent until it is reported, returned or its term has ended, and its
//! depth and rate are reserved: the pool's level and all reserved depths stay within the burst, its refill and all
//! reserved rates within the limit. [`Centre`] and [`Replica`] are the older scheme, which synchronises now and then
//! and admits too much; [`Syncing`] is it among nodes.
//!
//! `docs/lease.md` has the rules by the names used here (G1 to G9, C1 to C9) and why they suffice.
//!
//! Deliberately absent: clocks, sockets, which node grants, the stores that keep ledgers, contracts of several
//! policies.
//!
//! ```
//! use tollgate_lease::{LesseeAnswer, ModeKey, Lessee, Limits, Pool, Rules, Setup};
//! use tollgate_limit::Instant;
//!
//! let now = Instant::from_nanos(0);
//! let mut pool = Pool::new(Limits::new(100, 1_000_000_000, 50)?, Rules::default(), 1, now);
//! let mut lessee = Lessee::new(Setup::new(7, 1, ModeKey(9)), now);
//!
//! assert!(matches!(lessee.check(1, now), LesseeAnswer::Wait(_)), "nothing is lent yet, so it asks");
//! let question = lessee.poll_send().ok_or("no question")?;
//! let grant = pool.handle_question(&question, now).ok_or("no answer")?;
//! lessee.handle_grant(&grant, now);
//! assert!(lessee.poll_decided().is_some_and(|decided| decided.is_allowed));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod amount;
mod bundle;
mod config;
mod demand;
mod holder;
mod holding;
mod lender;
mod lessee;
mod message;
mod part;
mod pool;
mod promise;
mod quota;
mod share;
mod sync;
mod window;
mod wire;

#[cfg(test)]
mod tests;

pub use amount::{BadLimits, Limits, TOKEN};
pub use bundle::{
    BundleReply, Inquiry, LeaseTerms, client_of, decode_inquiry, decode_reply, encode_inquiry,
    encode_nudge, encode_reply,
};
pub use config::{bucket_limits, rules, terms};
pub use holder::{HeldKey, Holder, Sightings, client_node, node_client};
pub use holding::{Holding, JoinAnswer, JoinReceipt, Joined};
pub use lender::{Lender, LenderCounts, LenderSetup, LenderStand, QuotaStand, QuotaTold};
pub use lessee::{
    Decided, DecidedBy, HeldLease, LeaseReceipt, Lessee, LesseeAnswer, LesseeFigures, OnFailure,
    Outlook, Setup, WAITING_MAX,
};
pub use message::{Grant, LeaseMessage, Need, Nudge, Question, Stamp, Waits};
pub use part::Lease;
pub use pool::{
    Booked, LEDGER_BYTES_MAX, LEDGER_LESSEES_MAX, Lend, Pool, PoolFigures, Rules, decode_ledger,
    encode_ledger,
};
pub use quota::{Action, KeyQuota, PlaneId, QuotaBucket, QuotaFigures, QuotaReport, QuotaRules};
pub use share::SharingRule;
pub use sync::{
    Centre, Overdraft, Replica, Sync, SyncConfig, SyncCounts, SyncKey, SyncStand, Syncing,
    SyncingSetup,
};
pub use tollgate_gossip::{Malformed, ModeKey};
pub use window::LeaseWindow;
pub use wire::{decode, encode};

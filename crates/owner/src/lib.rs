//! Keys that are decided elsewhere: by the node that owns them, by a store, or over ledgers that a store keeps.
//!
//! [`Owners`] is one node's view of who decides about which key. Questions of its own become an [`Asking`], which says
//! what is to be sent to which node and to the store, takes what comes back, and decides what follows: a second
//! attempt, what policies say instead, giving back what was charged in vain. Questions of other nodes are answered by
//! [`Owners::answer`], keys that are another's leave in a [`Pass`], and come by [`Owners::take_over`]. The bytes of all
//! these are those of docs/owner.md. Lab and daemon drive the same types. Not here: streams, batches under way,
//! deadlines, threads, engines, who is a member.

mod arrival;
mod ask;
mod asking;
mod books;
mod denied;
mod here;
mod introduce;
mod ledger;
mod map;
mod next;
mod owners;
mod page;
mod pass;
mod proof;
mod question;
mod quota;
mod recent;
mod said;
mod stored;
mod work;

pub use arrival::Arrival;
pub use ask::{Parcel, batch};
pub use asking::{
    AskTally, Asking, LedgerAsk, Letter, NoReply, StepPlace, StoreAsks, Wanted, Without,
};
pub use introduce::{INTRODUCED, Introductions};
pub use ledger::decide_ledger;
pub use map::TagHash;
pub use owners::{AnsweredBatch, Crew, Owners, StoreUse};
pub use pass::{Pass, PassEnd};
pub use proof::ProofAsk;
pub use question::{Question, QuestionReply, QuotaAsk, RemoteAnswer, Unknown, UnknownPart, Verb};
pub use said::parcels;
pub use tollgate_cluster::OwnerKey;

//! What is asked of those who decide, what they answer, and what may have to be looked up first: values only.

use std::sync::Arc;

use tollgate_contract::OnFailure;
use tollgate_limit::{Cost, Forecast, KeyStatus};
use tollgate_node::{Answer, Due, LendAnswer, PlaneId, QuotaReport, QuotaTold, Spots, Stranger};

/// Something to be asked elsewhere, of some contracts and places in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What is to be done.
    pub verb: Verb,
    /// Where.
    pub spots: Spots,
    /// For how much.
    pub cost: Cost,
    /// The values that identify the key at each spot, for whoever has to look up its terms; empty where nobody has to.
    /// For somebody who decides about all contracts, the key as the request brought it: one value, or names and values
    /// by turns.
    pub names: Vec<Vec<String>>,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Decide and charge, all or nothing.
    Check,
    /// Charge without asking.
    Charge,
    /// Give tokens back.
    Refund,
    /// Forget the key.
    Reset,
    /// Settle what was charged at each spot; the cost is the actual one.
    Settle(Vec<Due>),
    /// Say how policies stand.
    Status,
    /// Say what policies would say.
    Foresee,
    /// Take what a client holds of the key, and say what it is lent: bytes of theirs.
    Lend(Arc<[u8]>),
    /// Assign a quota of the key to a data plane.
    Quota(PlaneId, QuotaAsk),
}

/// What is said of a data plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaAsk {
    /// It reports.
    Report(QuotaReport),
    /// Something is due for it.
    Due,
    /// It is gone.
    Leave,
}

impl Verb {
    /// Whether it is asked of one owner only: that one takes its answer for heard.
    pub const fn is_once(&self) -> bool {
        matches!(self, Self::Quota(..))
    }

    /// Whether nobody can do it in the owner's place.
    pub const fn is_write(&self) -> bool {
        match self {
            Self::Charge | Self::Refund | Self::Reset | Self::Settle(_) => true,
            Self::Check | Self::Status | Self::Foresee | Self::Lend(_) | Self::Quota(..) => false,
        }
    }
}

/// What a question was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteAnswer {
    /// A decision.
    Answer(Answer),
    /// It was done; whether there was room for the key everywhere.
    Done(bool),
    /// How the policies of each spot stand.
    Statuses(Vec<Vec<KeyStatus>>),
    /// What the policies of each spot would say.
    Forecasts(Vec<Vec<Forecast>>),
    /// What a client is lent; no bytes where what it said makes no sense.
    Lent(LendAnswer),
    /// What a data plane is assigned; `None` where nothing is, or there is no room for the key.
    Quota(Option<QuotaTold>),
}

/// The answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuestionReply {
    /// What was said; `None` where nobody was there to say it, and no policy says what to do then.
    pub said: Option<RemoteAnswer>,
    /// What policies told this node to do, where nobody else was there.
    pub fell_back: Option<OnFailure>,
}

/// What is missed of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownPart {
    /// Its terms.
    Terms,
    /// What was counted for it, which is on disk or nowhere.
    Counts,
}

/// A key of which something is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// What.
    pub what: UnknownPart,
    /// Where it is counted.
    pub stranger: Stranger,
    /// The id of the contract.
    pub contract: String,
    /// The values that identify it, in the order of the contract's key.
    pub values: Vec<String>,
}

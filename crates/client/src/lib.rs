//! The library applications link.
//!
//! [`Limiter`] decides in process, by a contract file or by policies given in code, at memory speed.
//!
//! ```
//! use tollgate_client::{Limiter, Period, PolicyConfig};
//!
//! // 20 a second for every user, in bursts of up to 40.
//! let mut policy = PolicyConfig::token_bucket(20, Period::SECOND);
//! policy.burst = Some(40);
//! let limiter = Limiter::new([policy])?;
//!
//! let answer = limiter.check("user-42", 1);
//! assert!(answer.is_allowed());
//! assert_eq!(answer.remaining, 39);
//! # Ok::<(), tollgate_client::LimiterError>(())
//! ```
//!
//! Who would rather wait than be refused asks `Limiter::until_ready` or [`Limiter::until_ready_blocking`]. Who does not
//! know the cost before the work is done asks [`Limiter::reserve`], or [`Limiter::settle`]s afterwards. HTTP services
//! take a `RateLimitLayer`, which counts by an address that clients cannot forge (`ClientAddress`), answers 429 and
//! tells clients what is left. Who was refused by a limiter elsewhere comes back by a [`Backoff`]. Tests take a
//! [`FakeClock`].
//!
//! Features, both on by default: `tokio` for `until_ready`, `tower` for everything about HTTP.
//!
//! Deliberately absent: asking other nodes. A contract that asks for it is refused here unless the limiter is told to
//! decide alone.

mod backoff;
mod error;
#[cfg(feature = "tower")]
mod gate;
#[cfg(feature = "tower")]
mod judge;
#[cfg(feature = "tower")]
mod layer;
mod limiter;
#[cfg(feature = "remote")]
mod remote;
#[cfg(all(feature = "remote", feature = "tower"))]
mod remote_judge;
#[cfg(all(feature = "remote", feature = "tokio"))]
mod remote_task;
#[cfg(feature = "tower")]
mod request_key;
mod reservation;
#[cfg(feature = "tower")]
mod response_future;
mod retry_after;
#[cfg(feature = "tower")]
mod ruling;
mod turns;
mod wait;

pub use backoff::{Backoff, BackoffConfig, Draws, GiveUp};
pub use error::LimiterError;
#[cfg(feature = "tower")]
pub use gate::Gate;
#[cfg(feature = "tower")]
pub use layer::{LayerConfig, NoKey, RateLimit, RateLimitLayer};
pub use limiter::{Limiter, LimiterConfig};
#[cfg(feature = "tls")]
pub use remote::ClientTls;
#[cfg(feature = "remote")]
pub use remote::{
    Admission, AdmissionJournal, Client, ClientConfig, ClientCounts, ClientError, Inspected,
    NodeAnswer, NodeAsk, NodeStand, NodeWrite, Outcome, Path as DecisionPath, RemoteReceipt,
    WhenAway,
};
#[cfg(feature = "tower")]
pub use request_key::{RequestKey, by_address, by_entries, by_header};
pub use reservation::Reservation;
#[cfg(feature = "tower")]
pub use response_future::ResponseFuture;
pub use retry_after::RetryAfter;
#[cfg(feature = "remote")]
pub use tollgate_clock::SteadyClock;
pub use tollgate_clock::{Clock, ClockStanding, ClockStep, FakeClock, SystemClock};
pub use tollgate_contract::{Contracts, Dialect, Reset};
#[cfg(feature = "tower")]
pub use tollgate_http::{
    ClientAddress, ForwardingHeader, LimitReport, Network, NetworkError, Trust,
};
pub use tollgate_limit::{
    Algorithm, Calendar, Cost, Inherit, Instant, KeyStatus, OnLimit, Period, PolicyConfig, Span,
    Verdict,
};
pub use tollgate_node::{Answer, Key, Receipt, RefusedBy};
pub use tollgate_table::{Counters, WhenFull};
pub use wait::{WaitError, WaitLimits};

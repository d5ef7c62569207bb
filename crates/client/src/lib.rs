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

#[cfg(feature = "tower")]
mod address;
mod backoff;
mod clock;
mod course;
mod error;
#[cfg(feature = "tower")]
mod gate;
#[cfg(feature = "tower")]
mod headers;
#[cfg(feature = "tower")]
mod judge;
#[cfg(feature = "tower")]
mod label;
#[cfg(feature = "tower")]
mod layer;
mod limiter;
#[cfg(feature = "tower")]
mod network;
#[cfg(feature = "tower")]
mod problem;
#[cfg(feature = "remote")]
mod remote;
#[cfg(all(feature = "remote", feature = "tower"))]
mod remote_judge;
#[cfg(all(feature = "remote", feature = "tokio"))]
mod remote_task;
#[cfg(feature = "tower")]
mod report;
#[cfg(feature = "tower")]
mod request_key;
mod reservation;
#[cfg(feature = "tower")]
mod response_future;
mod retry_after;
#[cfg(feature = "tower")]
mod ruling;
mod turns;
#[cfg(feature = "tower")]
mod value;
mod wait;

#[cfg(feature = "tower")]
pub use address::{ClientAddress, ForwardingHeader, Trust};
pub use backoff::{Backoff, BackoffConfig, Draws, GiveUp};
pub use clock::{Clock, FakeClock, SystemClock};
pub use course::{ClockStanding, ClockStep};
pub use error::LimiterError;
#[cfg(feature = "tower")]
pub use gate::Gate;
#[cfg(feature = "tower")]
pub use layer::{LayerConfig, NoKey, RateLimit, RateLimitLayer};
pub use limiter::{Limiter, LimiterConfig};
#[cfg(feature = "tower")]
pub use network::{Network, NetworkError};
#[cfg(feature = "tls")]
pub use remote::ClientTls;
#[cfg(feature = "remote")]
pub use remote::{
    Admission, Client, ClientConfig, ClientCounts, ClientError, Inspected, Journal, NodeAnswer,
    NodeAsk, NodeStand, NodeWrite, Outcome, Path as DecisionPath, RemoteReceipt, SteadyClock,
    WhenAway,
};
#[cfg(feature = "tower")]
pub use report::Report;
#[cfg(feature = "tower")]
pub use request_key::{RequestKey, by_address, by_entries, by_header};
pub use reservation::Reservation;
#[cfg(feature = "tower")]
pub use response_future::ResponseFuture;
pub use retry_after::RetryAfter;
pub use tollgate_contract::{Contracts, Dialect, Reset};
pub use tollgate_limit::{
    Algorithm, Calendar, Cost, Inherit, Instant, OnLimit, Period, PolicyConfig, Span, Status,
    Verdict,
};
pub use tollgate_node::{Answer, Key, Receipt, RefusedBy};
pub use tollgate_table::{Counters, WhenFull};
pub use wait::{Patience, WaitError};

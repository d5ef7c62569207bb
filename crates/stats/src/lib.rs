//! Request statistics: counts by identity and outcome.
//!
//! Each deciding thread counts on its own [`Sheet`]. A [`Ledger`] folds sheets into minutes and hours and hands
//! out increments to store as [`Line`]s. Both are bounded: an identity without a row is
//! counted in the sum of its contract alone, so that sums are always exact. [`Recorder`] has the last
//! requests in full, within a bound, and [`try_change`] runs them through two sets of contracts.
//!
//! Deliberately absent: clocks, threads, databases (`tollgate-stats-sql`), listeners.

#![allow(missing_docs, reason = "internal: comments say why, not what")]

mod counts;
mod csv;
mod ledger;
mod name;
mod offline;
mod pulse;
mod record;
mod report;
mod sheet;
mod time;
mod trial;

pub use counts::Counts;
pub use csv::{CSV_HEAD, csv_line};
pub use ledger::{Ledger, LedgerLimits, Line, Losses};
pub use name::{IDENTITY_BYTES_MAX, identity_of, key_name};
pub use offline::Offline;
pub use pulse::RecentCounts;
pub use record::{RecentRequests, Recorded, RecordedVerdict, Recorder};
pub use report::{By, LoadOf, NodeLoad, Point, Ranking, TopRow, Usage, UsagePage, UsageRow};
pub use sheet::{Sheet, Who};
pub use time::{DAY_S, HOUR_S, MINUTE_S, Step, date, day_of_date, moment};
pub use trial::{Changed, TrialBucket, Tried, TriedSums, try_change};

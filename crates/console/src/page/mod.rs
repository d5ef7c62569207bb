//! The pages, each a view and a function.

mod acts;
mod assignments;
mod audit;
mod bans;
mod cluster;
mod customer;
mod gateways;
mod identities;
mod login;
mod overview;
mod problem;
mod settings;
mod spent;
mod tail;
mod thing;
mod things;
mod top;
mod usage;
mod why;

pub use assignments::AssignmentRow;
pub use audit::{Audit, AuditRow, audit};
pub use bans::{BanRow, Bans, bans};
pub use cluster::{ClusterPage, CountedPolicy, Freshness, NodeRow, cluster};
pub use customer::{Closed, Customer, closed, customer};
pub use gateways::{Delays, GatewayRow};
pub use identities::{Identities, IdentityRow, identities};
pub use login::{Login, login};
pub use overview::{ContractLoad, Health, HealthLevel, Overview, overview};
pub use problem::{Conflict, ProblemPage, problem};
pub use settings::{NewSecret, SettingsPage, TokenRow, settings};
pub use spent::{KeyState, Spent};
pub use tail::{Tail, TailRow, tail};
pub use thing::{Reach, RolloutStep, Thing, thing};
pub use things::{Binding, Followers, More, ThingRow, Things, things};
pub use top::{By, Top, TopRow, TopWindow, top};
pub use usage::{Usage, UsageRow, usage};
pub use why::{
    Assigned, DecisionRow, Missed, PredictedAnswer, RecentKey, Unfollowed, UsedRow, Way, Why,
    as_part, why,
};

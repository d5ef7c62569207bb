//! The pages, each a view and a function.

mod assignments;
mod audit;
mod cluster;
mod contract;
mod contracts;
mod customer;
mod identities;
mod identity;
mod login;
mod overview;
mod plan;
mod plans;
mod problem;
mod settings;
mod top;
mod usage;

pub use assignments::AssignmentRow;
pub use audit::{Audit, AuditRow, audit};
pub use cluster::{Cluster, Freshness, NodeRow, Share, Supply, cluster};
pub use contract::{ContractPage, RolloutStep, contract};
pub use contracts::{ContractRow, Contracts, contracts};
pub use customer::{Customer, customer};
pub use identities::{Identities, IdentityRow, identities};
pub use identity::{Blocked, DecisionRow, Identity, KeyState, Spent, identity};
pub use login::{Login, login};
pub use overview::{Health, Load, Overview, State, overview};
pub use plan::{PlanPage, plan};
pub use plans::{PlanRow, Plans, plans};
pub use problem::{Conflict, Problem, problem};
pub use settings::{NewSecret, Settings, TokenRow, settings};
pub use top::{By, Top, TopRow, Window, top};
pub use usage::{Usage, UsageRow, usage};

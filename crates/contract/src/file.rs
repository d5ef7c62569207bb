//! What else reads files that people type: values with the places they were typed at, and complaints that show them.
//!
//! A file is read into raw types whose leaves are [`Text`]; each value is then checked by itself, and what is wrong is
//! kept as a [`Problem`] until all of it can be shown at once.

pub use crate::duration::{PATTERN as DURATION_PATTERN, shown as shown_nanos};
pub use crate::nearest::hint;
pub use crate::problems::{Problem, Problems};
pub use crate::raw::{RawContract, RawPlan, RawPolicies, RawPolicy};
pub use crate::scalar::{choice, name, nanos, nanos_of, switch, whole};
pub use crate::snippet::{Place, quote};
pub use crate::text::{Few, Pairs, Text, YamlNode, given};
pub use crate::yaml::read;

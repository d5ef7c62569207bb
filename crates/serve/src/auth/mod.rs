//! Forward authorization: a proxy asks whether a request of its client may pass.

mod settings;

pub use settings::{AuthSettings, EntrySource};

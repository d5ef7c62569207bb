//! Logs: for people on a terminal, one JSON object a line elsewhere.

/// How the server logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// What a line looks like.
    pub format: LogFormat,
    /// What is logged: a level (`info`), or levels by part (`info,tollgate_serve::resp=debug`).
    pub filter: String,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            format: LogFormat::Auto,
            filter: "info".into(),
        }
    }
}

/// What a line of the log looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people where errors go to a terminal, JSON elsewhere.
    #[default]
    Auto,
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

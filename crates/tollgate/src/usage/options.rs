//! Flags of `usage`.

use clap::{Args, Subcommand, ValueEnum};
use tollgate_load::ServerAddress;

/// Commands about what was used.
#[derive(Debug, Subcommand)]
pub(crate) enum UsageCommand {
    /// Write what each identity used on each day, for bills
    Export(ExportOptions),
}

/// Options of `usage export`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct ExportOptions {
    /// The first day, in UTC: 2026-11-01; today where absent
    #[arg(long, value_name = "DAY")]
    pub from: Option<String>,

    /// The first day no longer wanted; tomorrow where absent
    #[arg(long, value_name = "DAY")]
    pub until: Option<String>,

    /// One contract alone
    #[arg(long, value_name = "ID")]
    pub contract: Option<String>,

    /// One identity alone: user=42
    #[arg(long, value_name = "IDENTITY")]
    pub identity: Option<String>,

    /// What to write
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    pub format: ExportFormat,

    /// Where the server is: `http://host:port`, `unix:/path`
    #[arg(
        long,
        value_name = "URL",
        env = "TOLLGATE_SERVER",
        default_value = "http://127.0.0.1:8080"
    )]
    pub server: ServerAddress,

    /// A token of the management interface
    #[arg(
        long,
        value_name = "TOKEN",
        env = "TOLLGATE_ADMIN_TOKEN",
        hide_env_values = true
    )]
    pub token: Option<String>,
}

/// What `usage export` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Comma-separated values, safe to open in a spreadsheet
    Csv,
    /// A JSON array
    Json,
}

const EXAMPLES: &str = "\
Examples:
  tollgate usage export --from 2026-11-01 --until 2026-12-01 > november.csv
  tollgate usage export --identity user=42 --format json

A row without an identity is what those used who had no row of their own: all rows together are all that was counted.";

//! Flags of `tail`.

use clap::{Args, ValueEnum};

use crate::check::options::ServerOptions;

/// Options of `tail`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct TailOptions {
    /// Only decisions of this contract; `(described)` for those by policies that requests describe
    #[arg(long, value_name = "ID")]
    pub contract: Option<String>,

    /// Only decisions of keys with this entry; all that are given must be there
    #[arg(long = "key", value_name = "FIELD=VALUE")]
    pub keys: Vec<String>,

    /// Only decisions with this verdict: `admitted`, `refused`, `allow`, `delay`, `deny`, `shadow_deny` or `error`
    #[arg(long, value_name = "VERDICT")]
    pub verdict: Option<String>,

    /// The server.
    #[command(flatten)]
    pub at: ServerOptions,

    /// What to print
    #[arg(long, value_enum, default_value_t = TailFormat::Human)]
    pub format: TailFormat,
}

/// What `tail` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TailFormat {
    /// A line in words for each decision
    Human,
    /// One JSON object per line, as the server gave it
    Jsonl,
}

const EXAMPLES: &str = "\
Examples:
  tollgate tail
  tollgate tail --verdict refused --contract free-users
  tollgate tail --key user=42 --format jsonl | jq -c '[.verdict, .policy]'

It shows what the server that is asked decides, and no other node of its cluster; at most 1000 decisions a second. What is left out is
counted. Ctrl-C ends it.
Exit codes: 0 the server ended it, 64 bad usage, 69 no server, 76 not a Tollgate, 77 not let in.";

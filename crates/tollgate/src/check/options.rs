//! Flags of `check`.

use clap::Args;

use tollgate_load::ServerAddress;

use crate::cli::Format;

/// Options of `check`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct AskOptions {
    /// Who asks: user=42,plan=free, or a bare value
    #[arg(value_name = "KEY")]
    pub key: String,

    /// Tokens to take; 0 only looks
    #[arg(long, value_name = "TOKENS", default_value_t = 1)]
    pub cost: u64,

    /// The only contract to ask, instead of all that bind the key
    #[arg(long, value_name = "ID")]
    pub contract: Option<String>,

    /// The server.
    #[command(flatten)]
    pub at: ServerOptions,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// A server to ask, and the secret that it wants to see.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServerOptions {
    /// Where the server is: `http://host:port`, `unix:/path`
    #[arg(
        long,
        value_name = "URL",
        env = "TOLLGATE_SERVER",
        default_value = "http://127.0.0.1:8080"
    )]
    pub server: ServerAddress,

    /// A secret to show to the server
    #[arg(
        long,
        value_name = "TOKEN",
        env = "TOLLGATE_TOKEN",
        hide_env_values = true
    )]
    pub token: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  tollgate check user=42,plan=free
  tollgate check user=42,plan=free --cost 0                          # look, and take nothing
  tollgate check 203.0.113.9 --server unix:/run/tollgate.sock
  if tollgate check job=nightly > /dev/null; then ./nightly; fi

Exit codes: 0 allowed, 1 denied, 64 bad usage, 69 no server, 76 not a Tollgate, 77 not let in.";

//! Words of the commands that manage a running server.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tollgate_load::ServerAddress;

use crate::cli::Format;
use crate::trace::TraceFormat;

/// A command, and the server it is for.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct Managed<C: Subcommand> {
    /// The server.
    #[command(flatten)]
    pub node: NodeOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: C,
}

/// Which server, and how to talk to it.
#[derive(Args, Debug)]
pub(crate) struct NodeOptions {
    /// Where the server is: `http://host:port`, `unix:/path`
    #[arg(
        long,
        alias = "url",
        global = true,
        value_name = "URL",
        env = "TOLLGATE_SERVER",
        default_value = "http://127.0.0.1:8080"
    )]
    pub server: ServerAddress,

    /// A file with a management token; `TOLLGATE_ADMIN_TOKEN` has it otherwise
    #[arg(long, global = true, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// What to print
    #[arg(long, global = true, value_enum, default_value_t)]
    pub format: Format,
}

/// What can be done with contracts, plans and assignments alike.
#[derive(Debug, Subcommand)]
pub(crate) enum ThingCommand {
    /// List all
    List {
        /// Those whose id begins so
        #[arg(long, default_value = "")]
        prefix: String,
        /// Those on this plan
        #[arg(long)]
        plan: Option<String>,
    },
    /// Show one
    Get {
        /// Its id
        id: String,
    },
    /// Make or change those of a file, in YAML or JSON: one, or all of a contract file
    Put {
        /// The file; `-` is standard input
        file: PathBuf,
        /// Only check, and show what would change
        #[arg(long)]
        dry_run: bool,
        /// Change it only if this is its version; 0 is if it is not there
        #[arg(long, value_name = "N")]
        seen: Option<u64>,
        /// Why, for the history
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Show what that of a file would have done, to the last requests or to recorded ones: contracts and plans
    Try(TryOptions),
    /// Delete one
    Delete {
        /// Its id
        id: String,
        /// Why, for the history
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Show its versions, the newest first
    History {
        /// Its id
        id: String,
    },
    /// Show what is different between two versions
    Diff {
        /// Its id
        id: String,
        /// The version before
        #[arg(long)]
        from: Option<u64>,
        /// The version since
        #[arg(long)]
        to: Option<u64>,
    },
    /// Make it what it was at a version
    Rollback {
        /// Its id
        id: String,
        /// The version
        #[arg(long)]
        to: u64,
        /// Why, for the history
        #[arg(long, default_value = "")]
        reason: String,
    },
}

/// What is tried, and on which requests.
#[derive(Args, Debug)]
pub(crate) struct TryOptions {
    /// The file with the document, in YAML or JSON; `-` is standard input
    pub file: PathBuf,
    /// How many of the last minutes, at most 1440
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub minutes: u64,
    /// Recorded traffic instead, as `tollgate replay` reads it; at most what fits into a request of 1 MB
    #[arg(long, value_name = "FILE", conflicts_with = "minutes")]
    pub trace: Option<PathBuf>,
    /// Format of the trace; judged by its name and first bytes unless given
    #[arg(long, value_name = "FORMAT", value_enum, requires = "trace")]
    pub input_format: Option<TraceFormat>,
}

/// What can be done with contracts.
#[derive(Debug, Subcommand)]
pub(crate) enum ContractCommand {
    /// As with everything else.
    #[command(flatten)]
    Thing(ThingCommand),
    /// Let policies watch, bind a share of keys, or bind all
    Rollout {
        /// Its id
        id: String,
        /// `shadow`, a share of keys from 0 to 100, or `all`
        to: String,
        /// The only policy that is meant
        #[arg(long)]
        policy: Option<String>,
        /// Why, for the history
        #[arg(long, default_value = "")]
        reason: String,
    },
}

/// What can be done with assignments.
#[derive(Debug, Subcommand)]
pub(crate) enum AssignCommand {
    /// As with everything else.
    #[command(flatten)]
    Thing(ThingCommand),
    /// Make many at once, one to a line in JSON
    Import {
        /// The file; `-` is standard input
        file: PathBuf,
        /// Why, for the history
        #[arg(long, default_value = "")]
        reason: String,
    },
}

/// What can be done with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Say why it would pass or not, and until when
    Explain(KeyOptions),
    /// Forget what was counted
    Reset(KeyOptions),
    /// Take tokens without asking
    Charge(KeyOptions),
    /// Give tokens back
    Refund(KeyOptions),
    /// Deny an identity, whatever is left of its limits
    Ban {
        /// Who: user=42, or a range of addresses as ip=10.0.0.0/8
        identity: String,
        /// Until when, as 2026-12-31T23:00:00Z; for ever unless given
        #[arg(long)]
        until: Option<String>,
        /// Why
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Take a ban back
    Unban {
        /// Who
        identity: String,
        /// Why
        #[arg(long, default_value = "")]
        reason: String,
    },
}

/// A key, and what for.
#[derive(Args, Debug)]
pub(crate) struct KeyOptions {
    /// Whose: user=42,plan=free, or a bare value
    pub key: String,
    /// Tokens
    #[arg(long, default_value_t = 1)]
    pub cost: u64,
    /// The only contract that is meant
    #[arg(long)]
    pub contract: Option<String>,
    /// Why
    #[arg(long, default_value = "")]
    pub reason: String,
}

/// What can be done with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// List all, without their secrets
    List,
    /// Make one; its secret is shown now and never again
    Create {
        /// Its name; changes are made in it
        name: String,
        /// viewer, operator or admin
        #[arg(long)]
        role: String,
        /// When it ends, as 2026-12-31T23:00:00Z
        #[arg(long)]
        expires: Option<String>,
    },
    /// End one
    Revoke {
        /// Its id
        id: String,
    },
}

const EXAMPLES: &str = "\
Examples:
  export TOLLGATE_ADMIN_TOKEN=tg_...
  tollgate contract put users.yaml --dry-run
  tollgate contract put users.yaml --reason 'more for all'
  tollgate contract try users.yaml --minutes 60
  tollgate contract try users.yaml --trace traffic.csv
  tollgate contract rollout users 10 --policy burst
  tollgate contract history users
  tollgate assign list --plan pro --format json
  tollgate key explain user=42,plan=free
  tollgate key ban user=42 --until 2026-12-31T23:00:00Z --reason abuse
  tollgate token create ci --role operator

Exit codes: 0 done, 1 somebody else was first, 64 bad usage, 66 no such file, 69 no server or no database,
76 not a Tollgate, 77 not let in.";

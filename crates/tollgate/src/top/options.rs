//! Flags of `top`.

use std::time::Duration;

use clap::Args;

use crate::check::options::ServerOptions;
use crate::cli::Format;

/// Options of `top`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct TopOptions {
    /// The server.
    #[command(flatten)]
    pub at: ServerOptions,

    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = every)]
    pub every: Duration,

    /// Print one frame and exit
    #[arg(long)]
    pub once: bool,

    /// What to print; JSON is one frame as the server gave it
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

fn every(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "write a number of seconds".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(every) if every >= EVERY_MIN => Ok(every),
        _ => Err("at least 0.1 seconds".to_owned()),
    }
}

const EVERY_MIN: Duration = Duration::from_millis(100);

const EXAMPLES: &str = "\
Examples:
  tollgate top
  tollgate top --server http://10.0.0.7:8080 --every 5
  tollgate top --once
  tollgate top --format json | jq '.denied[0]'

Keys: q leaves, p pauses, s sorts by another column, / filters keys, Esc forgets the filter.";

//! `tollgate gateway place`: to which gateways clients belong, for clients that cannot be redirected by their protocol.
//!
//! Not here: how that is decided (`tollgate-gateway`).

use std::fmt::Write as _;
use std::io::{BufRead as _, Read as _, Write as _};
use std::path::PathBuf;

use clap::Args;
use tollgate_gateway::Placement;

use crate::failure::Failure;

/// Options of `gateway place`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct PlaceOptions {
    /// The list that gateways have
    #[arg(value_name = "FILE")]
    list: PathBuf,

    /// Identifiers of clients; lines of the standard input where there is none
    #[arg(value_name = "CLIENT")]
    clients: Vec<String>,
}

/// Prints a line for each client: its identifier, the gateway, its address.
pub(super) fn run(options: &PlaceOptions) -> Result<(), Failure> {
    let list = Placement::read(&options.list);
    let list = list.map_err(|error| Failure::config(format!("error: {error}")))?;
    let mut text = String::new();
    if options.clients.is_empty() {
        let lines = std::io::stdin().lock().take(INPUT_MAX).lines();
        for line in lines {
            let line = line.map_err(|error| Failure::system("read the standard input", &error))?;
            tell(&list, line.trim(), &mut text);
        }
    } else {
        options
            .clients
            .iter()
            .for_each(|client| tell(&list, client, &mut text));
    }
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes()).map_err(Failure::output)
}

fn tell(list: &Placement, client: &str, text: &mut String) {
    let place = list
        .place(client, |_| None)
        .and_then(|place| list.at(place));
    // Writing to a string cannot fail.
    let _ = match place {
        Some((name, address)) => writeln!(text, "{client}\t{name}\t{address}"),
        None => writeln!(text, "{client}\t-\t-"),
    };
}

/// Limit on bytes read from the standard input.
const INPUT_MAX: u64 = 64 << 20;

const EXAMPLES: &str = "\
Examples:
  tollgate gateway place placement.txt plant-3-17 boiler-7
  tollgate gateway place placement.txt < clients.txt > assigned.tsv

One line for each client: identifier, gateway and address, with tabs between; `-` where nothing is said of it. A list has lines such as
  gateway g1 10.0.0.7:1884            # and a weight where gateways differ
  client boiler-7 g1                  # this client belongs there
  member pump-1 cooling               # this client publishes together with its group, which is spread over the gateways
  groups client plant-{group}-{member}
  groups property line                # a user property of CONNECT says the group (MQTT 5); not known here";

//! `tollgate gateway fit`: finds out at running gateways how few of them keep an objective, and leaves clients placed
//! so.
//!
//! A round is a placement list with other weights, clients that move accordingly, and the counts of a while. On any
//! error the old list is restored. Not here: which number is next (`search`), and the model (`tollgate-split`).

mod list;
mod live;
mod search;
mod show;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use tollgate_gateway::Placement;
use tollgate_load::ServerAddress;

use super::plan::{TrafficOptions, planned};
use crate::cli::Format;
use crate::failure::Failure;
use crate::report::write_whole;
use live::{Gateways, TrialTimer};
use search::{SearchStep, Trial, TrialSearch};
use show::{Round, Screen};

/// Options of `gateway fit`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct FitOptions {
    /// The list of who belongs where that all gateways read; its weights are changed
    #[arg(long, value_name = "FILE")]
    placement: PathBuf,

    /// Where a gateway says how it stands, its --metrics or --http: `http://host:port`; give it again for every gateway
    /// of the list
    #[arg(long = "server", value_name = "URL", required = true)]
    at: Vec<ServerAddress>,

    /// A secret to show to the gateways
    #[arg(
        long,
        value_name = "TOKEN",
        env = "TOLLGATE_TOKEN",
        hide_env_values = true
    )]
    token: Option<String>,

    /// How the number of gateways is found
    #[arg(long, value_name = "HOW", value_enum, default_value_t = How::Model)]
    search: How,

    /// How long is measured at a time
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    round: Duration,

    /// How long gateways and clients may take to follow a list
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    settle: Duration,

    /// Only say what would be tried first
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    traffic: TrafficOptions,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// How the number of gateways is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum How {
    /// Begin where the model of `plan` says, verify, and step
    Model,
    /// Halve, taking for granted that more gateways are never slower
    Binary,
}

struct Ended {
    rounds: Vec<Round>,
    kept: Option<Trial>,
}

pub(super) fn run(options: &FitOptions) -> Result<(), Failure> {
    let file = &options.placement;
    let old = std::fs::read_to_string(file).map_err(|error| Failure::file(file, &error))?;
    let list = Placement::parse(&old);
    let list = list.map_err(|error| Failure::config(format!("error: {error}")))?;
    let gateways = Gateways::find(&list, &options.at, options.token.as_deref())?;
    let (search, first) = begin(options, gateways.count())?;
    if options.dry_run {
        let SearchStep::Measure(trial) = first else {
            return Ok(());
        };
        return show::dry(options.format, &trial, &text_of(&old, &trial));
    }
    let screen = Screen::new(options.round);
    let mut restore = Restore {
        file,
        old: Some(&old),
    };
    let ended = fit(options, Begun { search, first }, &gateways, &old, &screen)?;
    drop(screen);
    if ended.kept.is_some() {
        restore.old = None;
    }
    drop(restore);
    show::end(options, &ended)?;
    match ended.kept {
        Some(_) => Ok(()),
        None => Err(Failure::found(
            "no number of gateways that was tried keeps the objective; the old list is back",
        )),
    }
}

fn begin(options: &FitOptions, count: usize) -> Result<(TrialSearch, SearchStep), Failure> {
    match options.search {
        How::Binary => Ok(TrialSearch::binary(count, options.traffic.slo.bound_ns)),
        How::Model => {
            let brokers = u16::try_from(count).unwrap_or(u16::MAX);
            let planned = planned(&options.traffic, brokers)?;
            let search = TrialSearch::model(planned.task, planned.topic);
            search.map_err(|error| Failure::usage(format!("error: {error}")))
        }
    }
}

struct Begun {
    search: TrialSearch,
    first: SearchStep,
}

fn fit(
    options: &FitOptions,
    begun: Begun,
    gateways: &Gateways<'_>,
    old: &str,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let watch = TrialTimer::begin(screen)?;
    let Begun {
        mut search,
        first: mut next,
    } = begun;
    let mut rounds: Vec<Round> = Vec::new();
    loop {
        let trial = match next {
            SearchStep::Measure(trial) => trial,
            SearchStep::Kept(trial) => {
                // The last one measured may be another.
                if rounds
                    .last()
                    .is_none_or(|last| last.trial.parts != trial.parts)
                {
                    screen.moving(rounds.len(), &trial);
                    let text = text_of(old, &trial);
                    gateways.place(&options.placement, &text, options.settle, &watch)?;
                }
                let kept = Some(trial);
                return Ok(Ended { rounds, kept });
            }
            SearchStep::NotKept => return Ok(Ended { rounds, kept: None }),
        };
        screen.moving(rounds.len() + 1, &trial);
        let text = text_of(old, &trial);
        let settled = gateways.place(&options.placement, &text, options.settle, &watch)?;
        screen.measuring(rounds.len() + 1, &trial);
        let measured = gateways.measure(options.round, &watch)?;
        if measured.iter().all(|one| one.access.count == 0) {
            return Err(Failure::unavailable(
                "error: no message passed any gateway in the round\nLet clients publish while it runs, or say a longer --round.",
            ));
        }
        let round = Round::new(trial, settled, measured, options.traffic.slo);
        screen.measured(rounds.len() + 1, &round);
        next = search.handle_measured(&round.percentiles());
        rounds.push(round);
    }
}

fn text_of(old: &str, trial: &Trial) -> String {
    list::with_weights(old, &list::weights(&trial.parts))
}

/// Restores the old list on drop unless a better one was found.
struct Restore<'a> {
    file: &'a Path,
    old: Option<&'a str>,
}

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        let Some(old) = self.old else {
            return;
        };
        if let Err(error) = write_whole(self.file, old.as_bytes()) {
            let file = self.file.display();
            eprintln!("error: the old list could not be written back to {file}: {error}\n{old}");
        }
    }
}

fn time(text: &str) -> Result<Duration, String> {
    let span = crate::lab::values::span(text)?;
    let nanos = u64::try_from(span.as_nanos()).ok();
    let time = nanos.map(Duration::from_nanos);
    let most = Duration::from_hours(1);
    time.filter(|time| !time.is_zero() && *time <= most)
        .ok_or_else(|| "a time above zero and up to an hour, such as 10s".to_owned())
}

const EXAMPLES: &str = "\
Examples:
  tollgate gateway fit --placement placement.txt --rate 10000 --batch 10 --groups 20 --slo p99=1ms \\
    --server http://10.0.0.7:9884 --server http://10.0.0.8:9884
  tollgate gateway fit --placement placement.txt --rate 10000 --server http://127.0.0.1:9884 --server http://127.0.0.1:9885 --dry-run
  tollgate gateway fit --placement placement.txt --rate 10000 --search binary --round 60s --server http://127.0.0.1:9884 --format json

Gateways run with the same --placement file, and read it again when it changes. A round gives gateways that take no part the weight 0, waits until
clients have moved, and measures what passes: a gateway keeps the objective where the percentile of its waits for tokens and that of its
broker's answers (QoS 1 and 2) are together within the bound. All that take part must. Clients of MQTT 5 that the list speaks of move
(`others` in it speaks of everybody); those of MQTT 3.1.1 stay and are told of. Delays are of all messages of a gateway.
The list keeps the weights that keep the objective; where none do, or on an interrupt or a failure, the old list is put back.
Exit codes: 0 kept, 1 not kept or interrupted, 64 bad usage, 66 no such file, 69 a gateway does not answer or follow.";

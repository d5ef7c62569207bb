//! Flags of `serve`.
//!
//! Not here: flags that give settings, whose rows are in `tollgate_serve::settings`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use tollgate_serve::settings::{OverrideError, Overrides, Setting, flags};

use crate::failure::Failure;

/// Options of every server.
#[derive(Args, Debug, Default)]
pub(crate) struct ServeOptions {
    /// Flags that give settings
    #[command(flatten)]
    pub settings: SettingFlags,

    /// Serve neither HTTP nor gRPC
    #[arg(long, conflicts_with = "http")]
    pub no_http: bool,

    /// Do not serve RESP
    #[arg(long, conflicts_with = "resp")]
    pub no_resp: bool,

    /// What to print once it serves
    #[arg(long, value_enum, default_value_t)]
    pub format: ServeFormat,

    /// End when standard input does, so that no server outlives whoever started it
    #[arg(long, hide = true)]
    pub ends_with_stdin: bool,
}

/// Options of `serve`: those of every server, and what only it can be.
#[derive(Args, Debug, Default)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct ServeCommand {
    /// Those of every server
    #[command(flatten)]
    pub server: ServeOptions,

    /// Whether it is a sidecar
    #[command(flatten)]
    pub beside: SidecarFlags,
}

/// Flags that give settings: what was typed behind them, by the names of the settings.
#[derive(Debug, Default)]
pub(crate) struct SettingFlags {
    typed: BTreeMap<&'static str, String>,
}

impl SettingFlags {
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.typed.get(path).map(String::as_str)
    }
}

impl Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        command.args(flags().filter_map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn argument(setting: &'static Setting) -> Option<Arg> {
    let name = setting.flag_name()?;
    let mut help = setting.help();
    if let Some(first) = help.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let section = setting.path().split('.').next().unwrap_or_default();
    let is_of_cluster = ["cluster", "store", "database", "catalogue"].contains(&section);
    let arg = Arg::new(name)
        .long(name)
        .value_name(setting.value_name())
        .help(help)
        .hide(!setting.is_shown())
        .help_heading(is_of_cluster.then_some("Cluster"))
        .action(if setting.takes_many() {
            ArgAction::Append
        } else {
            ArgAction::Set
        });
    let names = setting.names();
    if !names.is_empty() {
        return Some(arg.value_parser(PossibleValuesParser::new(names)));
    }
    // A file of secrets is read once all settings are known.
    let is_read_later = name == "token-file";
    let check = move |text: &str| {
        let checked = if is_read_later {
            Ok(())
        } else {
            setting.check(text)
        };
        checked.map(|()| text.to_owned())
    };
    Some(arg.value_parser(check))
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = flags().filter_map(|setting| {
            let values = matches.get_many::<String>(setting.flag_name()?)?;
            let values: Vec<&str> = values.map(String::as_str).collect();
            Some((setting.path(), values.join(",")))
        });
        let typed = typed.collect();
        Ok(Self { typed })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// How a server stands beside a program and lets nodes elsewhere decide.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Sidecar")]
pub(crate) struct SidecarFlags {
    /// Decide by leases of the nodes of --upstream, on Unix sockets unless told otherwise: ./tollgate.sock and
    /// ./tollgate-resp.sock
    #[arg(long, requires = "upstream")]
    pub sidecar: bool,

    /// The RESP door of a node, `10.0.0.7:6380`, `tls://node.example:6380`, `unix:/run/node.sock`, or
    /// `zone=10.0.0.7:6380`; may be given again. Contracts must be those of the nodes
    #[arg(long, value_name = "ADDR", requires = "sidecar", conflicts_with_all = ["cluster", "store"])]
    pub upstream: Vec<String>,

    /// Certificates of those who sign for nodes of `tls://`, in PEM
    #[arg(long, value_name = "FILE", requires = "sidecar")]
    pub upstream_ca: Option<PathBuf>,

    /// The certificate that is shown to them
    #[arg(long, value_name = "FILE", requires_all = ["upstream_ca", "upstream_key"])]
    pub upstream_cert: Option<PathBuf>,

    /// Its key
    #[arg(long, value_name = "FILE", requires = "upstream_cert")]
    pub upstream_key: Option<PathBuf>,
}

impl SidecarFlags {
    /// Adds their values. The token of the nodes comes from the environment, where fewer people see it.
    pub(super) fn put(&self, below: Overrides) -> Result<Overrides, OverrideError> {
        if !self.sidecar {
            return Ok(below);
        }
        let mut said = Overrides::default();
        for (path, socket) in [("http", "tollgate.sock"), ("resp", "tollgate-resp.sock")] {
            if below.text(path).is_none() {
                said.say(path, path, format!("unix:{socket}"))?;
            }
        }
        said.say("upstream", "--upstream", self.upstream.join(","))?;
        if let Some(zone) = below.text("cluster.zone") {
            said.say("upstream.zone", "--zone", zone)?;
        }
        let files = [
            ("upstream.ca_file", &self.upstream_ca),
            ("upstream.cert_file", &self.upstream_cert),
            ("upstream.key_file", &self.upstream_key),
        ];
        for (path, file) in files {
            if let Some(file) = file {
                said.say(path, path, file.display().to_string())?;
            }
        }
        Ok(said.over(below))
    }
}

/// What `serve` prints once it serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServeFormat {
    /// One screen for people
    #[default]
    Human,
    /// The addresses as one JSON object on one line
    Json,
}

impl ServeOptions {
    pub(crate) fn overrides(&self) -> Result<Overrides, Failure> {
        let off = [("http", self.no_http), ("resp", self.no_resp)];
        let off = off.into_iter().filter(|(_, is_off)| *is_off);
        let off = off.map(|(path, _)| (path, "off"));
        let typed = self.settings.typed.iter();
        let mut said = Overrides::default();
        for (path, text) in typed.map(|(path, text)| (*path, text.as_str())).chain(off) {
            let flag = flags().find(|setting| setting.path() == path);
            let flag = flag.and_then(Setting::flag_name).unwrap_or(path);
            said.say(path, &format!("--{flag}"), text)
                .map_err(super::wrong)?;
        }
        Ok(said)
    }
}

const EXAMPLES: &str = "\
Examples:
  tollgate serve
  tollgate serve --contracts contracts.yaml --http 127.0.0.1:0 --no-resp --format json
  tollgate serve --config tollgate.yaml
  tollgate serve --contracts xds://control.internal:18000?node=edge-1
  tollgate serve --http unix:/run/tollgate.sock,mode=660 --no-resp
  tollgate serve --sidecar --upstream 10.0.0.7:6380 --upstream 10.0.0.8:6380 --contracts contracts.yaml
  tollgate serve --cluster 10.0.0.7:7380 --join 10.0.0.8 --cluster-key cluster.key --contracts contracts.yaml

Flags win over the environment (TOLLGATE_HTTP, TOLLGATE_RESP, TOLLGATE_CONTRACTS, TOLLGATE_DATA_DIR, TOLLGATE_TOKEN, …),
that over the file. SIGHUP reads contracts and certificates again; SIGTERM sends clients elsewhere for 5 s
(TOLLGATE_SHUTDOWN_DELAY) and stops once connections are done, SIGINT stops without the 5 s; a second one ends at once.";

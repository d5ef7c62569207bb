//! The output of `serve` once it serves: one screen for people, one line for programs.

use std::io::IsTerminal;

use serde_json::json;
use tollgate_serve::listen::Speech;
use tollgate_serve::run::{Open, Running};
use tollgate_serve::settings::{ListenAddress, Settings};

use super::options::ServeFormat;
use crate::report::{Ink, TerminalStyle};

pub(super) struct Screen<'a> {
    settings: &'a Settings,
    listeners: &'a [Open],
    contracts: usize,
    /// Whether anyone can sign in.
    is_console_open: bool,
}

impl<'a> Screen<'a> {
    pub(super) fn of(running: &'a Running) -> Self {
        let shared = running.shared();
        Self {
            settings: &shared.settings,
            listeners: running.listeners(),
            contracts: shared.engine.node().contracts().len(),
            is_console_open: shared.desk.get().is_some_and(|desk| desk.lets_in()),
        }
    }

    pub(super) fn show(&self, format: ServeFormat) -> String {
        let is_terminal = std::io::stdout().is_terminal();
        match format {
            ServeFormat::Json => self.json(),
            ServeFormat::Human if is_terminal => self.screen(TerminalStyle::of_stdout()),
            ServeFormat::Human => self.plain(),
        }
    }

    /// One fact a line, easy to find in a log.
    fn plain(&self) -> String {
        let facts = self.facts().into_iter();
        let lines = facts.map(|(name, value)| format!("{name} {value}\n"));
        lines.collect::<String>() + "ready\n"
    }

    fn screen(&self, look: TerminalStyle) -> String {
        let bold = |text: &str| look.paint(Ink::Bold, text);
        let mut lines = vec![
            String::new(),
            format!("  {}", bold("Tollgate serves")),
            String::new(),
        ];
        for (name, value) in self.facts() {
            lines.push(format!("  {name:<10} {value}"));
        }
        let tries = self.tries();
        if !tries.is_empty() {
            lines.extend([String::new(), format!("  {}", bold("Try"))]);
            lines.extend(tries.into_iter().map(|line| format!("  {line}")));
        }
        lines.extend([
            String::new(),
            "  Ctrl-C stops once requests are done; a second one at once.".to_owned(),
            String::new(),
        ]);
        lines.join("\n") + "\n"
    }

    /// Names and values, in the order of the screen.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        for open in self.listeners {
            let value = match open.speech {
                Speech::Http => format!("{}  (and gRPC)", web(open)),
                Speech::Admin => web(open),
                Speech::Resp => address(open),
            };
            let name = match open.speech {
                Speech::Http => "http",
                Speech::Admin => "admin",
                Speech::Resp => "resp",
            };
            facts.push((name, value));
        }
        let file = self.settings.contracts.file();
        let file = file.map(|file| file.display().to_string());
        let from = self.catalogue().or(file);
        let from = from.unwrap_or_else(|| "nowhere".to_owned());
        facts.push(("contracts", format!("{} from {from}", self.contracts)));
        let database = self.settings.keeping.database.as_ref();
        let data = match (database, &self.settings.data_dir) {
            (Some(database), _) => database.url.to_string(),
            (None, Some(folder)) => folder.display().to_string(),
            (None, None) => "nothing is durable".to_owned(),
        };
        facts.push(("data", data));
        if let Some(upstream) = &self.settings.keeping.upstream {
            facts.push(("upstream", upstream.nodes.join(", ")));
        } else if let Some(open) = self.first(Speech::Admin).or(self.first(Speech::Http)) {
            facts.push(("console", self.console(open)));
        }
        facts
    }

    /// The console's address, or how to get a token for it.
    fn console(&self, open: &Open) -> String {
        if self.is_console_open {
            return format!("{}/console/", web(open));
        }
        "off, as there is no token: set TOLLGATE_ADMIN_TOKEN, or keep contracts in a catalogue"
            .to_owned()
    }

    /// The catalogue, if there is one.
    fn catalogue(&self) -> Option<String> {
        let catalogue = self.settings.keeping.catalogue.as_ref();
        catalogue.map(|catalogue| catalogue.at.to_string())
    }

    /// Commands that work against this server.
    fn tries(&self) -> Vec<String> {
        let secret = if self.settings.tokens.is_empty() {
            ""
        } else {
            " -H \"Authorization: Bearer $TOKEN\""
        };
        let curl = self.first(Speech::Http).map(|open| {
            let (at, url) = match &open.at {
                ListenAddress::Tcp(_) => (String::new(), web(open)),
                ListenAddress::Unix { path, .. } => {
                    (format!(" --unix-socket {}", path.display()), "http://localhost".to_owned())
                }
            };
            format!("curl{at}{secret} {url}/v1/check --json '{{\"key\": {{\"user\": \"42\", \"plan\": \"free\"}}, \"cost\": 1}}'")
        });
        let redis = self.first(Speech::Resp).map(|open| {
            let at = match &open.at {
                ListenAddress::Tcp(address) => format!("-h {} -p {}", address.ip(), address.port()),
                ListenAddress::Unix { path, .. } => format!("-s {}", path.display()),
            };
            let tls = if open.tls { " --tls" } else { "" };
            format!("redis-cli {at}{tls} CL.THROTTLE user:1 15 30 60 1")
        });
        curl.into_iter().chain(redis).collect()
    }

    fn first(&self, speech: Speech) -> Option<&Open> {
        self.listeners.iter().find(|open| open.speech == speech)
    }

    fn json(&self) -> String {
        let of = |speech: Speech| -> Vec<String> {
            let spoken = |open: &&Open| open.speech == speech;
            let listeners = self.listeners.iter().filter(spoken);
            listeners.map(|open| open.at.to_string()).collect()
        };
        let path = |path: Option<&std::path::Path>| path.map(|path| path.display().to_string());
        let line = json!({
            "http": of(Speech::Http),
            "admin": of(Speech::Admin),
            "resp": of(Speech::Resp),
            "contracts": path(self.settings.contracts.file()),
            "catalogue": self.catalogue(),
            "data_dir": path(self.settings.data_dir.as_deref()),
            "pid": std::process::id(),
        });
        format!("{line}\n")
    }
}

/// A listener as an address for browsers and `curl`.
fn web(open: &Open) -> String {
    match &open.at {
        ListenAddress::Tcp(address) => {
            format!("{}://{address}", if open.tls { "https" } else { "http" })
        }
        ListenAddress::Unix { .. } => address(open),
    }
}

fn address(open: &Open) -> String {
    let tls = if open.tls { "  (TLS)" } else { "" };
    format!("{}{tls}", open.at)
}

//! Output of a fitting: a progress line on a terminal, plain lines otherwise, and a table or JSON at the end.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use terminal_size::{Width, terminal_size_of};
use tollgate_serve::annex::DelaysView;

use super::super::plan::{Objective, objective_text};
use super::live::{Measured, Settled};
use super::search::{Trial, worst};
use super::{Ended, FitOptions};
use crate::cli::Format;
use crate::failure::Failure;
use crate::report::table::{TableCell, cell, tame, write_table};
use crate::report::{Ink, Meaning, TerminalStyle, units};

pub(super) struct Round {
    pub(super) trial: Trial,
    settled: Settled,
    measured: Vec<Measured>,
    slo: Objective,
}

impl Round {
    pub(super) fn new(
        trial: Trial,
        settled: Settled,
        measured: Vec<Measured>,
        slo: Objective,
    ) -> Self {
        Self {
            trial,
            settled,
            measured,
            slo,
        }
    }

    pub(super) fn percentiles(&self) -> Vec<(usize, u64)> {
        let some = self.measured.iter().filter(|one| one.access.count > 0);
        some.map(|one| (one.place, one.total_ns(1.0 - self.slo.late)))
            .collect()
    }

    fn worst(&self) -> u64 {
        worst(&self.trial, &self.percentiles())
    }

    fn is_kept(&self) -> bool {
        self.worst() <= self.slo.bound_ns
    }

    /// The sum over all gateways.
    fn whole(&self, of: fn(&Measured) -> &DelaysView) -> DelaysView {
        let all = self.measured.iter().map(of);
        all.fold(DelaysView::default(), |sum, one| sum.with(one))
    }

    fn json(&self) -> Value {
        let part = 1.0 - self.slo.late;
        let gateways = self.measured.iter().map(|one| {
            json!({
                "name": one.name,
                "messages": one.access.count,
                "answered": one.service.count,
                "access_ms": millis(one.access.percentile(part)),
                "service_ms": millis(one.service.percentile(part)),
                "total_ms": millis(one.total_ns(part)),
            })
        });
        let worst = self.worst();
        json!({
            "k": self.trial.count(),
            "weights": super::list::weights(&self.trial.parts),
            "clients": self.settled.clients,
            "strays": self.settled.strays,
            "gateways": gateways.collect::<Vec<_>>(),
            "worst_ms": (worst < u64::MAX).then(|| millis(worst)),
            "predicted_ms": self.trial.predicted_ns.map(millis),
            "kept": self.is_kept(),
        })
    }

    fn line(&self) -> String {
        let strays = match self.settled.strays {
            0 => String::new(),
            strays => format!("; {strays} clients cannot be told where they belong"),
        };
        let said = if self.is_kept() { "kept" } else { "not kept" };
        let predicted = self.trial.predicted_ns;
        let predicted =
            predicted.map_or_else(String::new, |ns| format!(", the model said {}", shown(ns)));
        format!(
            "{}: {} at the slowest{predicted}: {said}{strays}",
            gateways(self.trial.count()),
            shown(self.worst())
        )
    }
}

/// The progress line.
pub(super) struct Screen {
    is_terminal: bool,
    round: Duration,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    line: String,
    /// When the current wait of a round's length began.
    since: Option<Instant>,
    last: String,
}

impl Screen {
    pub(super) fn new(round: Duration) -> Self {
        Self {
            is_terminal: std::io::stderr().is_terminal(),
            round,
            state: RefCell::default(),
        }
    }

    pub(super) fn moving(&self, number: usize, trial: &Trial) {
        self.set(number, trial, "clients move", None);
    }

    pub(super) fn measuring(&self, number: usize, trial: &Trial) {
        self.set(number, trial, "measuring", Some(Instant::now()));
    }

    pub(super) fn measured(&self, number: usize, round: &Round) {
        let line = format!("round {number}, {}", round.line());
        if !self.is_terminal {
            say(&format!("{line}\n"));
        }
        self.state.borrow_mut().last = line;
    }

    fn set(&self, number: usize, trial: &Trial, what: &str, since: Option<Instant>) {
        let line = format!("round {number} · {} · {what}", gateways(trial.count()));
        if !self.is_terminal {
            say(&format!("{}\n", line.replace(" · ", ", ")));
        }
        let mut state = self.state.borrow_mut();
        (state.line, state.since) = (line, since);
    }

    pub(super) fn draw(&self) {
        if !self.is_terminal {
            return;
        }
        let state = self.state.borrow();
        let mut line = format!("\r{}", state.line);
        if let Some(since) = state.since {
            line.push_str(&bar(since.elapsed(), self.round));
        }
        if !state.last.is_empty() {
            let _ = write!(line, " · {}", state.last);
        }
        // A line that does not fit could not be drawn over.
        let width = terminal_size_of(std::io::stderr())
            .map_or(80, |(Width(columns), _)| usize::from(columns));
        let line: String = line.chars().take(width).collect();
        say(&format!("{line}\x1b[K"));
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if self.is_terminal {
            say("\r\x1b[K");
        }
    }
}

/// Failed progress output must not stop the run.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn bar(done: Duration, whole: Duration) -> String {
    const BAR: u128 = 20;
    let done = done.min(whole);
    let full = done.as_millis() * BAR / whole.as_millis().max(1);
    let full = usize::try_from(full).unwrap_or(0);
    let left = u64::try_from(whole.saturating_sub(done).as_millis()).unwrap_or(u64::MAX);
    let left = units::span(left.div_ceil(1000).saturating_mul(1000));
    format!(" {}{} {left} left", "█".repeat(full), "░".repeat(20 - full))
}

/// The first trial.
pub(super) fn dry(format: Format, trial: &Trial, text: &str) -> Result<(), Failure> {
    let said = match format {
        Format::Json => {
            let weights = super::list::weights(&trial.parts);
            let predicted = trial.predicted_ns.map(millis);
            let facts = json!({ "k": trial.count(), "weights": weights, "predicted_ms": predicted, "placement": text });
            format!("{facts}\n")
        }
        Format::Human => {
            let predicted = trial
                .predicted_ns
                .map_or_else(String::new, |ns| format!("; the model says {}", shown(ns)));
            format!(
                "would begin with {}{predicted}, by this list:\n\n{text}",
                gateways(trial.count())
            )
        }
    };
    print(&said)
}

pub(super) fn end(options: &FitOptions, ended: &Ended) -> Result<(), Failure> {
    let text = match options.format {
        Format::Json => format!("{}\n", machine(options, ended)),
        Format::Human => human(options, ended, TerminalStyle::of_stdout()),
    };
    print(&text)
}

fn machine(options: &FitOptions, ended: &Ended) -> Value {
    let rounds = ended.rounds.iter().map(Round::json);
    json!({
        "topic": options.traffic.topic,
        "objective": objective_text(options.traffic.slo),
        "kept": ended.kept.is_some(),
        "k": ended.kept.as_ref().map(Trial::count),
        "weights": ended.kept.as_ref().map(|kept| super::list::weights(&kept.parts)),
        "rounds": rounds.collect::<Vec<_>>(),
    })
}

fn human(options: &FitOptions, ended: &Ended, look: TerminalStyle) -> String {
    let mut text = String::new();
    let objective = objective_text(options.traffic.slo);
    let percentile = objective.split(' ').next().unwrap_or_default();
    let [access, service] = ["access", "service"].map(|of| format!(">{of} {percentile}"));
    let header = [
        ">round",
        ">gateways",
        ">messages",
        &access,
        &service,
        ">slowest gateway",
        ">model",
        "",
    ];
    let rows = (1..).zip(&ended.rounds);
    let rows = rows.map(|(number, round)| row(number, round));
    write_table(&header, rows, look, &mut text);
    let (meaning, _) = verdict(ended.kept.is_some());
    let said = conclusion(options, ended, &objective);
    let _ = writeln!(text, "\n{}", look.paint(Ink::Meaning(meaning), &said));
    text
}

/// Percentiles of all gateways together, and of the slowest.
fn row(number: usize, round: &Round) -> Vec<TableCell> {
    let part = 1.0 - round.slo.late;
    let access = round.whole(|one| &one.access);
    let service = round.whole(|one| &one.service);
    let (meaning, said) = verdict(round.is_kept());
    let strays = match round.settled.strays {
        0 => String::new(),
        strays => format!(", {strays} clients not at theirs"),
    };
    #[allow(clippy::cast_precision_loss)] // Shown, not decided by.
    let messages = access.count as f64;
    let none = || "-".to_owned();
    let answered = (service.count > 0).then(|| shown(service.percentile(part)));
    vec![
        cell(number.to_string()),
        cell(round.trial.count().to_string()).ink(Ink::Bold),
        cell(units::number(messages)),
        cell(shown(access.percentile(part))),
        cell(answered.unwrap_or_else(none)),
        cell(shown(round.worst())),
        cell(round.trial.predicted_ns.map_or_else(none, shown)),
        cell(format!("{said}{strays}")).ink(Ink::Meaning(meaning)),
    ]
}

fn conclusion(options: &FitOptions, ended: &Ended, objective: &str) -> String {
    let topic = tame(&options.traffic.topic, NAME_MAX);
    if let Some(kept) = &ended.kept {
        let (some, file) = (gateways(kept.count()), options.placement.display());
        return format!("{topic}: {objective} is kept by {some}; {file} is written so");
    }
    let best = ended.rounds.iter().min_by_key(|round| round.worst());
    let best = best.map_or_else(String::new, |best| {
        let (some, worst) = (gateways(best.trial.count()), shown(best.worst()));
        format!("; closest came {some} with {worst}")
    });
    format!("{topic}: none of these keeps {objective}{best}")
}

const fn verdict(is_kept: bool) -> (Meaning, &'static str) {
    if is_kept {
        (Meaning::Allowed, "kept")
    } else {
        (Meaning::Denied, "not kept")
    }
}

fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes()).map_err(Failure::output)
}

#[allow(clippy::cast_precision_loss)] // Shown, not decided by.
fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

fn shown(nanos: u64) -> String {
    if nanos == u64::MAX {
        return "nothing".to_owned();
    }
    format!("{:.2} ms", millis(nanos))
}

fn gateways(count: usize) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} gateway{s}")
}

const NAME_MAX: usize = 120;

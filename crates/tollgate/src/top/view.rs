//! Draws a frame: what passes and what is refused, how fast, and for whom.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, Paragraph, Row, Sparkline, Table};

use super::snapshot::{Rates, TopKey};
use super::state::ScreenState;
use crate::report::table::tame;
use crate::report::units;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Theme {
    colour: bool,
}

impl Theme {
    pub(super) const PLAIN: Self = Self { colour: false };

    /// Coloured, unless `NO_COLOR` is set or `TERM` is `dumb`.
    pub(super) fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let no_color = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = variable("TERM").is_some_and(|value| value == "dumb");
        Self {
            colour: !no_color && !dumb,
        }
    }

    fn ink(self, code: u8) -> Style {
        if self.colour {
            Style::new().fg(Color::Indexed(code))
        } else {
            Style::new()
        }
    }

    fn dim(self) -> Style {
        self.ink(245)
    }

    fn accent(self) -> Style {
        self.ink(214).add_modifier(Modifier::BOLD)
    }
}

const ALLOWED: u8 = 37;
const DELAYED: u8 = 135;
const DENIED: u8 = 202;

pub(super) fn draw(frame: &mut Frame<'_>, state: &ScreenState, theme: Theme) {
    let [head, traffic, keys, foot] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(9),
        Constraint::Min(4),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_head(frame, head, state, theme);
    let [rates, chart] =
        Layout::horizontal([Constraint::Length(46), Constraint::Min(10)]).areas(traffic);
    draw_rates(frame, rates, state, theme);
    draw_chart(frame, chart, state, theme);
    let [busy, refused] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(keys);
    let talkers = KeyTable {
        title: "Top keys",
        empty: "no key was asked about in the last seconds",
        keys: &state.now.keys,
    };
    let denied = KeyTable {
        title: "Top denied",
        empty: "nobody was refused in the last seconds",
        keys: &state.now.denied,
    };
    draw_keys(frame, busy, state, theme, &talkers);
    draw_keys(frame, refused, state, theme, &denied);
    draw_foot(frame, foot, state, theme);
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, state: &ScreenState, theme: Theme) {
    let now = &state.now;
    let title = Line::from(vec![
        Span::styled("tollgate ", theme.accent()),
        Span::raw(state.server.clone()),
        Span::styled(
            format!(" · up {}", units::span(now.uptime_s.saturating_mul(1000))),
            theme.dim(),
        ),
        Span::styled(
            format!(" · {} connections", units::count(now.connections)),
            theme.dim(),
        ),
    ]);
    let table = format!(
        "table {} of {} ({}) · {} keys",
        units::bytes(now.bytes),
        units::bytes(now.bytes_max),
        units::share(now.bytes, now.bytes_max.max(1)),
        units::count(now.cells)
    );
    let second = match &state.trouble {
        Some(trouble) => Line::styled(format!("no news: {trouble}"), theme.ink(DENIED)),
        None => Line::styled(table, theme.dim()),
    };
    frame.render_widget(Paragraph::new(vec![title, second]), area);
}

fn draw_rates(frame: &mut Frame<'_>, area: Rect, state: &ScreenState, theme: Theme) {
    let now = &state.now;
    let rows = [
        (
            "░ allowed",
            theme.ink(ALLOWED),
            (|rates| rates.allowed) as fn(&Rates) -> f64,
        ),
        ("▒ delayed", theme.ink(DELAYED), |rates| rates.delayed),
        ("█ denied", theme.ink(DENIED), |rates| rates.denied),
        ("· shadow", theme.dim(), |rates| rates.shadow_denied),
        ("! failed", theme.dim(), |rates| rates.failed),
    ];
    let rate = |value: f64| Cell::from(right(&units::number(value), 9));
    let rows = rows.map(|(name, ink, of)| {
        Row::new([
            Cell::from(name).style(ink),
            rate(of(&now.last_1s)),
            rate(of(&now.last_10s)),
            rate(of(&now.last_60s)),
        ])
    });
    let widths = [12, 9, 9, 9].map(Constraint::Length);
    let head = ["per second", "     1 s", "    10 s", "    60 s"];
    let latency = &now.latency;
    let time = |us: f64| units::wait(nanoseconds(us));
    let [table, below] = Layout::vertical([Constraint::Min(6), Constraint::Length(1)])
        .areas(area.inner(ratatui::layout::Margin::new(1, 1)));
    let title = format!(" {}/s ", units::number(now.last_1s.all));
    frame.render_widget(
        Block::new()
            .borders(Borders::ALL)
            .title(title)
            .border_style(theme.dim()),
        area,
    );
    frame.render_widget(
        Table::new(rows, widths).header(Row::new(head).style(theme.dim())),
        table,
    );
    let text = format!(
        "latency p50 {} p99 {} p99.9 {}",
        time(latency.p50_us),
        time(latency.p99_us),
        time(latency.p999_us)
    );
    frame.render_widget(Paragraph::new(text), below);
}

fn draw_chart(frame: &mut Frame<'_>, area: Rect, state: &ScreenState, theme: Theme) {
    let inner = area.inner(ratatui::layout::Margin::new(1, 1));
    let (allowed, denied): (Vec<_>, Vec<_>) = state.past.iter().copied().unzip();
    let last = &state.now.last_60s;
    let title = match last.all {
        all if all > 0.0 => format!(
            " Denied {:.1} % in the last minute ",
            last.denied * 100.0 / all
        ),
        _ => " No requests in the last minute ".to_owned(),
    };
    let block = Block::new()
        .borders(Borders::ALL)
        .title(title)
        .border_style(theme.dim());
    frame.render_widget(block, area);
    let [above, below] = Layout::vertical([Constraint::Fill(2), Constraint::Fill(1)]).areas(inner);
    let width = usize::from(inner.width);
    let newest = |values: Vec<u64>| {
        let skip = values.len().saturating_sub(width);
        values.into_iter().skip(skip).collect::<Vec<_>>()
    };
    frame.render_widget(
        Sparkline::default()
            .data(newest(allowed))
            .style(theme.ink(ALLOWED)),
        above,
    );
    frame.render_widget(
        Sparkline::default()
            .data(newest(denied))
            .style(theme.ink(DENIED)),
        below,
    );
}

struct KeyTable<'a> {
    title: &'a str,
    /// The text for an empty list.
    empty: &'a str,
    keys: &'a [TopKey],
}

fn draw_keys(
    frame: &mut Frame<'_>,
    area: Rect,
    state: &ScreenState,
    theme: Theme,
    table: &KeyTable<'_>,
) {
    let block = Block::new()
        .borders(Borders::ALL)
        .title(format!(" {} ", table.title))
        .border_style(theme.dim());
    let shown = state.shown(table.keys);
    if shown.is_empty() {
        let why = if state.filter.is_empty() {
            table.empty
        } else {
            "no key contains the filter"
        };
        frame.render_widget(
            Paragraph::new(Span::styled(why, theme.dim())).block(block),
            area,
        );
        return;
    }
    let rows = shown.into_iter().map(|key| {
        let denied = format!("{:.0} %", (key.denied * 100.0).clamp(0.0, 100.0));
        let ink = if key.denied > 0.0 {
            theme.ink(DENIED)
        } else {
            theme.dim()
        };
        Row::new([
            Cell::from(tame(&key.key, usize::from(area.width))),
            Cell::from(right(&units::number(key.rate), 8)),
            Cell::from(right(&format!("± {}", units::number(key.error)), 8)).style(theme.dim()),
            Cell::from(right(&denied, 7)).style(ink),
        ])
    });
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Length(7),
    ];
    let head = Row::new(["key", "per s", "", "denied"].map(|name| match name {
        "key" => Cell::from(name),
        name => Cell::from(right(name, 7)),
    }));
    frame.render_widget(
        Table::new(rows, widths)
            .header(head.style(theme.dim()))
            .block(block),
        area,
    );
}

fn draw_foot(frame: &mut Frame<'_>, area: Rect, state: &ScreenState, theme: Theme) {
    let text = if state.typing {
        format!("filter: {}▏ (Enter keeps it, Esc forgets it)", state.filter)
    } else {
        let filter = match state.filter.as_str() {
            "" => "/ filter".to_owned(),
            filter => format!("/ filter: {filter}"),
        };
        let pause = if state.paused {
            "p go on (paused)"
        } else {
            "p pause"
        };
        format!(
            "q leave · {pause} · s sort: {} · {filter}",
            state.sort.name()
        )
    };
    frame.render_widget(Paragraph::new(Span::styled(text, theme.dim())), area);
}

fn right(text: &str, width: usize) -> String {
    format!("{text:>width$}")
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a latency is positive and small"
)]
fn nanoseconds(us: f64) -> u128 {
    (us.max(0.0) * 1000.0) as u128
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::top::plain;
    use crate::top::snapshot::Snapshot;

    fn state() -> ScreenState {
        let body = r#"{
            "uptime_s": 3725, "connections": 12,
            "last_1s": {"all": 1500.0, "allowed": 1400.0, "denied": 100.0},
            "last_60s": {"all": 1000.0, "denied": 41.0},
            "latency": {"p50_us": 3.1, "p99_us": 220.0, "p999_us": 4100.0},
            "cells": 120000, "bytes": 4194304, "bytes_max": 1073741824,
            "keys": [{"key": "user=42", "rate": 12.6, "error": 0.5, "denied": 0.25}],
            "unheard_of": [1, 2, 3]
        }"#;
        let snapshot: Snapshot = serde_json::from_str(body).unwrap();
        let mut state = ScreenState::new("127.0.0.1:8080".to_owned());
        state.take(snapshot);
        state
    }

    #[test]
    fn a_frame_shows_what_the_server_says() {
        let text = plain::text(&state());
        for part in [
            "tollgate 127.0.0.1:8080 · up 1 h 2 min · 12 connections",
            "table 4 MiB of 1 GiB (0.39 %) · 120 k keys",
            "1.5 k/s",
            "Denied 4.1 % in the last minute",
            "latency p50 3.1 µs p99 220 µs p99.9 4.1 ms",
            "nobody was refused in the last seconds",
            "q leave · p pause · s sort: rate · / filter",
        ] {
            assert!(text.contains(part), "no {part:?} in\n{text}");
        }
        let row = text.lines().find(|line| line.contains("user=42")).unwrap();
        assert!(row.contains("13") && row.contains("25 %"), "{row}");
        let denied = text.lines().find(|line| line.contains("█ denied")).unwrap();
        assert!(denied.contains("100"), "{denied}");
    }

    #[test]
    fn an_empty_server_and_a_small_terminal_are_no_trouble() {
        let empty = ScreenState::new("unix:/run/x".to_owned());
        let text = plain::text(&empty);
        assert!(text.contains("No requests in the last minute"), "{text}");
        for (width, height) in [(1, 1), (20, 5), (40, 12), (200, 60)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal
                .draw(|frame| draw(frame, &state(), Theme { colour: true }))
                .unwrap();
        }
    }

    #[test]
    fn colours_are_left_out_when_asked() {
        let theme = |name: &'static str, value: &'static str| {
            Theme::of_environment(move |asked| (asked == name).then(|| value.to_owned()))
        };
        assert!(!theme("NO_COLOR", "1").colour);
        assert!(theme("NO_COLOR", "").colour);
        assert!(!theme("TERM", "dumb").colour);
        let mut terminal = Terminal::new(TestBackend::new(100, 30)).unwrap();
        terminal
            .draw(|frame| draw(frame, &state(), Theme::PLAIN))
            .unwrap();
        let cells = terminal.backend().buffer().content();
        assert!(cells.iter().all(|cell| cell.fg == Color::Reset));
    }

    #[test]
    fn trouble_is_told_in_place_of_the_table() {
        let mut state = state();
        let failure =
            crate::failure::Failure::unavailable("error: nothing answers at x: refused\nhint");
        state.trouble(&failure);
        let text = plain::text(&state);
        assert!(
            text.contains("no news: nothing answers at x: refused"),
            "{text}"
        );
    }
}

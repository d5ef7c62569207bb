//! `tollgate top`: what a server does right now, in a terminal.
//!
//! It shows `GET /v1/top`, and remembers the last minutes itself. Not here: counting, which the server does.

pub(crate) mod options;
mod plain;
mod snapshot;
mod source;
mod state;
mod view;

use std::io::{IsTerminal, Write};
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use crate::cli::Format;
use crate::failure::Failure;
use options::TopOptions;
use source::SnapshotSource;
use state::{ScreenAction, ScreenState};
use view::Theme;

/// Shows frames until the user quits, or one frame.
pub(crate) fn run(options: &TopOptions) -> Result<(), Failure> {
    if options.once || options.format == Format::Json {
        return once(options);
    }
    if !std::io::stdout().is_terminal() {
        return Err(Failure::usage(
            "error: standard output is no terminal; print one frame with `tollgate top --once`",
        ));
    }
    let first = source::fetch(options)?;
    let mut state = ScreenState::new(options.at.server.to_string());
    state.take(first.snapshot);
    let mut terminal = ratatui::try_init().map_err(Failure::output)?;
    let shown = show(&mut terminal, state, options);
    ratatui::restore();
    shown
}

/// One frame as text, or the server's JSON.
fn once(options: &TopOptions) -> Result<(), Failure> {
    let fetched = source::fetch(options)?;
    let text = match options.format {
        Format::Json => format!("{}\n", fetched.text.trim_end()),
        Format::Human => {
            let mut state = ScreenState::new(options.at.server.to_string());
            state.take(fetched.snapshot);
            plain::text(&state)
        }
    };
    write!(std::io::stdout(), "{text}").map_err(Failure::output)
}

fn show(
    terminal: &mut DefaultTerminal,
    mut state: ScreenState,
    options: &TopOptions,
) -> Result<(), Failure> {
    let theme = Theme::of_environment(|name| std::env::var(name).ok());
    let source = SnapshotSource::start(options)?;
    loop {
        while let Some(news) = source.news() {
            match news {
                Ok(fetched) => state.take(fetched.snapshot),
                Err(failure) => state.trouble(&failure),
            }
        }
        terminal
            .draw(|frame| view::draw(frame, &state, theme))
            .map_err(Failure::output)?;
        if !event::poll(WAIT).map_err(Failure::output)? {
            continue;
        }
        if let Event::Key(key) = event::read().map_err(Failure::output)?
            && key.kind == KeyEventKind::Press
            && state.handle_key(key) == ScreenAction::Leave
        {
            return Ok(());
        }
    }
}

/// How long a frame may be out of date.
const WAIT: Duration = Duration::from_millis(100);

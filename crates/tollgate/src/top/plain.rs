//! One frame as text, for a file, a test or a ticket.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;

use super::state::ScreenState;
use super::view::{self, Theme};

/// The frame as on a terminal of the usual size, without colours.
pub(super) fn text(state: &ScreenState) -> String {
    let backend = TestBackend::new(WIDTH, HEIGHT);
    // A backend in memory cannot fail.
    let Ok(mut terminal) = Terminal::new(backend);
    let Ok(_) = terminal.draw(|frame| view::draw(frame, state, Theme::PLAIN));
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for y in 0..HEIGHT {
        let line: String = (0..WIDTH)
            .filter_map(|x| buffer.cell((x, y)))
            .map(Cell::symbol)
            .collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

const WIDTH: u16 = 100;
const HEIGHT: u16 = 32;

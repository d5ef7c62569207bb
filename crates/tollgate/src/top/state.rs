//! The state of the screen: the newest snapshot, the minutes before it, and typed input.
//!
//! Not here: drawing, and polling.

use std::collections::VecDeque;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::snapshot::{Snapshot, TopKey};
use crate::failure::Failure;

pub(super) struct ScreenState {
    pub(super) server: String,
    pub(super) now: Snapshot,
    /// Allowed (delayed ones among them) and denied per second, the newest last.
    pub(super) past: VecDeque<(u64, u64)>,
    pub(super) paused: bool,
    pub(super) sort: Sort,
    pub(super) filter: String,
    /// Whether the filter is being typed.
    pub(super) typing: bool,
    /// Why the newest poll failed.
    pub(super) trouble: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Rate,
    Denied,
    Key,
}

impl Sort {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Denied => "denied",
            Self::Key => "key",
        }
    }

    const fn next(self) -> Self {
        match self {
            Self::Rate => Self::Denied,
            Self::Denied => Self::Key,
            Self::Key => Self::Rate,
        }
    }
}

/// What a key press asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScreenAction {
    Stay,
    Leave,
}

impl ScreenState {
    pub(super) fn new(server: String) -> Self {
        Self {
            server,
            now: Snapshot::default(),
            past: VecDeque::new(),
            paused: false,
            sort: Sort::Rate,
            filter: String::new(),
            typing: false,
            trouble: None,
        }
    }

    /// A poll succeeded. While paused nothing moves.
    pub(super) fn take(&mut self, snapshot: Snapshot) {
        self.trouble = None;
        if self.paused {
            return;
        }
        let rates = snapshot.last_1s;
        self.past
            .push_back((whole(rates.allowed + rates.delayed), whole(rates.denied)));
        if self.past.len() > PAST_MAX {
            self.past.pop_front();
        }
        self.now = snapshot;
    }

    pub(super) fn trouble(&mut self, failure: &Failure) {
        let text = failure.to_string();
        let line = text.lines().next().unwrap_or_default();
        self.trouble = Some(line.trim_start_matches("error: ").to_owned());
    }

    /// Keys as they are shown: filtered, then sorted.
    pub(super) fn shown<'a>(&self, keys: &'a [TopKey]) -> Vec<&'a TopKey> {
        let mut shown: Vec<_> = keys
            .iter()
            .filter(|key| key.key.contains(&self.filter))
            .collect();
        match self.sort {
            Sort::Rate => shown.sort_by(|a, b| b.rate.total_cmp(&a.rate)),
            Sort::Denied => shown.sort_by(|a, b| b.denied.total_cmp(&a.denied)),
            Sort::Key => shown.sort_by(|a, b| a.key.cmp(&b.key)),
        }
        shown
    }

    pub(super) fn handle_key(&mut self, key: KeyEvent) -> ScreenAction {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return ScreenAction::Leave;
        }
        match (self.typing, key.code) {
            (true, KeyCode::Enter) => self.typing = false,
            (true, KeyCode::Backspace) => drop(self.filter.pop()),
            (true, KeyCode::Char(letter)) if self.filter.len() < FILTER_MAX => {
                self.filter.push(letter);
            }
            (_, KeyCode::Esc) => {
                self.typing = false;
                self.filter.clear();
            }
            (false, KeyCode::Char('q')) => return ScreenAction::Leave,
            (false, KeyCode::Char('p')) => self.paused = !self.paused,
            (false, KeyCode::Char('s')) => self.sort = self.sort.next(),
            (false, KeyCode::Char('/')) => self.typing = true,
            _ => {}
        }
        ScreenAction::Stay
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is positive and small"
)]
fn whole(rate: f64) -> u64 {
    rate.max(0.0).round() as u64
}

const PAST_MAX: usize = 300;
const FILTER_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::snapshot::Rates;

    fn press(state: &mut ScreenState, keys: &str) -> ScreenAction {
        let mut wish = ScreenAction::Stay;
        for letter in keys.chars() {
            let code = match letter {
                '\n' => KeyCode::Enter,
                '\x1b' => KeyCode::Esc,
                '\x08' => KeyCode::Backspace,
                letter => KeyCode::Char(letter),
            };
            wish = state.handle_key(KeyEvent::new(code, KeyModifiers::NONE));
        }
        wish
    }

    fn key(key: &str, rate: f64, denied: f64) -> TopKey {
        TopKey {
            key: key.to_owned(),
            rate,
            error: 0.0,
            denied,
        }
    }

    #[test]
    fn keys_are_filtered_and_sorted_as_typed() {
        let keys = [
            key("user=b", 5.0, 0.1),
            key("user=a", 9.0, 0.0),
            key("ip=1", 7.0, 0.9),
        ];
        let mut state = ScreenState::new(String::new());
        let shown = |state: &ScreenState| -> Vec<String> {
            state
                .shown(&keys)
                .into_iter()
                .map(|key| key.key.clone())
                .collect()
        };
        assert_eq!(shown(&state), ["user=a", "ip=1", "user=b"]);
        press(&mut state, "s");
        assert_eq!(shown(&state), ["ip=1", "user=b", "user=a"]);
        press(&mut state, "s/userx\x08\n");
        assert_eq!(shown(&state), ["user=a", "user=b"]);
        press(&mut state, "\x1b");
        assert_eq!(shown(&state).len(), 3);
    }

    #[test]
    fn letters_mean_something_else_while_the_filter_is_typed() {
        let mut state = ScreenState::new(String::new());
        assert_eq!(press(&mut state, "/qps"), ScreenAction::Stay);
        assert_eq!((state.filter.as_str(), state.paused), ("qps", false));
        assert_eq!(press(&mut state, "\nq"), ScreenAction::Leave);
    }

    #[test]
    fn nothing_moves_while_paused() {
        let mut state = ScreenState::new(String::new());
        let snapshot = Snapshot {
            last_1s: Rates {
                allowed: 10.4,
                denied: 2.0,
                ..Rates::default()
            },
            ..Snapshot::default()
        };
        press(&mut state, "p");
        state.take(snapshot.clone());
        assert!(state.past.is_empty());
        press(&mut state, "p");
        for _ in 0..PAST_MAX + 5 {
            state.take(snapshot.clone());
        }
        assert_eq!(
            (state.past.len(), state.past.back()),
            (PAST_MAX, Some(&(10, 2)))
        );
    }
}

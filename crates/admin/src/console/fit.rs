//! Pages that stay small whatever things are called: rows that have no room are on the next page, or are left out and
//! counted.
//!
//! Not here: what a row shows. A document that is edited is shown whole, so that its page is as large as it is.

use tollgate_console::{PAGE_BYTES_MAX, PageFrame};

use super::desk::html;
use crate::answer::Reply;

/// How many rows of each list a page has room for.
pub(super) struct Fit {
    rows: usize,
    left_out: u64,
}

impl Fit {
    /// At most so many.
    pub(super) const fn of(rows: usize) -> Self {
        Self { rows, left_out: 0 }
    }

    /// How many rows are to be asked for.
    pub(super) const fn rows(&self) -> usize {
        self.rows
    }

    /// Whether there is room for next to nothing.
    pub(super) const fn is_least(&self) -> bool {
        self.rows <= 1
    }

    /// Leaves out what a list has too much.
    pub(super) fn cut<T>(&mut self, list: &mut Vec<T>) {
        self.cut_to(self.rows, list);
    }

    /// Leaves out what a list has more than so many.
    pub(super) fn cut_to<T>(&mut self, rows: usize, list: &mut Vec<T>) {
        let more = list.len().saturating_sub(rows);
        self.left_out = self.left_out.saturating_add(more as u64);
        list.truncate(rows);
    }

    /// The page as an answer, where it is small enough. Otherwise it is to be made again, with the fewer rows that
    /// there are from here on.
    pub(super) fn take(&mut self, page: String) -> Option<Reply> {
        if page.len() < PAGE_BYTES_MAX || self.is_least() {
            return Some(html(page));
        }
        // As many as are sure to fit if all are alike; twice as many might.
        let rows = self.rows.saturating_mul(PAGE_BYTES_MAX / 2) / page.len();
        *self = Self::of(rows.max(1));
        None
    }
}

/// A page of lists that have no next page: `cut` leaves out of each what has no room.
pub(super) fn fitted<V: Clone>(
    frame: &PageFrame,
    view: &V,
    cut: impl Fn(&mut V, &mut Fit),
    show: impl Fn(&PageFrame, &V) -> String,
) -> Reply {
    let whole = show(frame, view);
    if whole.len() < PAGE_BYTES_MAX {
        return html(whole);
    }
    let mut fit = Fit::of(ROWS_MAX);
    loop {
        let mut view = view.clone();
        cut(&mut view, &mut fit);
        let frame = PageFrame {
            left_out: fit.left_out,
            ..frame.clone()
        };
        if let Some(answer) = fit.take(show(&frame, &view)) {
            return answer;
        }
    }
}

/// Rows of each list that are tried first.
const ROWS_MAX: usize = 200;

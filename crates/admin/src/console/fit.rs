//! Keeps pages small for names of any length: rows that do not fit are on the next page, or are left out and
//! counted.
//!
//! Not here: what a row shows. A document that is edited is shown whole, whatever its size.

use tollgate_console::{PAGE_BYTES_MAX, PageFrame};

use super::desk::html;
use crate::answer::Reply;

/// The number of rows of each list that fit on a page.
pub(super) struct Fit {
    rows: usize,
    left_out: u64,
}

impl Fit {
    pub(super) const fn of(rows: usize) -> Self {
        Self { rows, left_out: 0 }
    }

    /// Rows to query.
    pub(super) const fn rows(&self) -> usize {
        self.rows
    }

    /// Whether almost nothing fits.
    pub(super) const fn is_least(&self) -> bool {
        self.rows <= 1
    }

    /// Shortens a list to the rows that fit.
    pub(super) fn cut<T>(&mut self, list: &mut Vec<T>) {
        self.cut_to(self.rows, list);
    }

    /// Shortens a list to `rows`.
    pub(super) fn cut_to<T>(&mut self, rows: usize, list: &mut Vec<T>) {
        let more = list.len().saturating_sub(rows);
        self.left_out = self.left_out.saturating_add(more as u64);
        list.truncate(rows);
    }

    /// The page as an answer if it is small enough. Otherwise render it again: fewer rows
    /// fit from now on.
    pub(super) fn take(&mut self, page: String) -> Option<Reply> {
        if page.len() < PAGE_BYTES_MAX || self.is_least() {
            return Some(html(page));
        }
        // Half of what fits if all rows are alike, to be safe.
        let rows = self.rows.saturating_mul(PAGE_BYTES_MAX / 2) / page.len();
        *self = Self::of(rows.max(1));
        None
    }
}

/// For lists without a next page: `cut` shortens each to what fits.
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

/// Rows of each list of the first attempt.
const ROWS_MAX: usize = 200;

//! A stretch of a trace, and the records in it.

use memchr::{memchr, memrchr};

use super::array::{self, ArrayPosition};
use super::csv::CsvColumn;
use super::error::{Class, Details, ParseFault, TraceError};
use super::field::RecordLayout;
use super::source::TextWindow;
use super::step::{RECORD_BYTES_MAX, Step, Took};
use super::{TraceRecord, clf, csv, jsonl};

/// The reader's position in the trace; outlives the blocks.
#[derive(Default)]
pub(super) struct Stand {
    /// Bytes of the current window that were read.
    pub(super) taken: usize,
    /// Lines that ended before the current place.
    pub(super) lines: u64,
    /// Bytes of the current line before the window.
    pub(super) column: u64,
    pub(super) place: ArrayPosition,
    /// Whether the rest of the current line belongs to a record that was given up.
    skipping: bool,
    /// Whether nothing more can be read.
    pub(super) finished: bool,
}

impl Stand {
    #[inline]
    fn advance(&mut self, took: Took) {
        self.taken += took.bytes;
        self.lines += took.lines;
    }

    /// Moves the window's front to the current place.
    pub(super) fn leave(&mut self, text: &[u8]) -> usize {
        let taken = std::mem::take(&mut self.taken);
        self.column = match memrchr(b'\n', &text[..taken]) {
            Some(end) => (taken - end - 1) as u64,
            None => self.column + taken as u64,
        };
        taken
    }

    /// The line and column of a byte of the window, at or after the current place.
    pub(super) fn locate(&self, text: &[u8], at: usize) -> (u64, u64) {
        let at = at.min(text.len());
        let lines = memchr::memchr_iter(b'\n', &text[self.taken.min(at)..at]).count() as u64;
        let column = match memrchr(b'\n', &text[..at]) {
            Some(end) => (at - end) as u64,
            None => self.column + at as u64 + 1,
        };
        (self.lines + lines + 1, column)
    }

    /// Adds the place in the trace to a parser's fault.
    pub(super) fn tell(&self, text: &[u8], fault: ParseFault) -> TraceError {
        let (line, column) = self.locate(text, self.taken + fault.at);
        let Details {
            class, what, hint, ..
        } = fault.details();
        TraceError {
            class,
            line,
            column: Some(column),
            what,
            hint,
        }
    }
}

/// How to parse the text.
pub(super) enum BlockLayout<'b> {
    JsonLines,
    JsonArray,
    Csv {
        columns: &'b [CsvColumn],
        quotes: bool,
    },
    Clf,
}

/// A stretch of a trace. Read it to its end, then ask the reader for the next one.
pub struct Block<'b> {
    window: TextWindow<'b>,
    shape: BlockLayout<'b>,
    desk: RecordLayout<'b>,
    stand: &'b mut Stand,
}

impl<'b> Block<'b> {
    pub(super) fn new(
        window: TextWindow<'b>,
        shape: BlockLayout<'b>,
        spare: &'b mut Vec<u8>,
        stand: &'b mut Stand,
    ) -> Self {
        let escapes = match shape {
            BlockLayout::JsonLines | BlockLayout::JsonArray => {
                memchr(b'\\', window.text.as_bytes()).is_some()
            }
            BlockLayout::Csv { quotes, .. } => quotes,
            BlockLayout::Clf => false,
        };
        if escapes && spare.len() < window.text.len() {
            spare.resize(window.text.len(), 0);
        }
        Self {
            window,
            shape,
            desk: RecordLayout::new(spare),
            stand,
        }
    }

    /// The next record of the block, or a fault in its place; `None` at the block's end.
    #[allow(
        clippy::should_implement_trait,
        reason = "a record borrows from the block"
    )]
    pub fn next(&mut self) -> Option<Result<TraceRecord<'_>, TraceError>> {
        if self.stand.skipping {
            self.skip_line();
        }
        loop {
            self.desk.clear();
            match self.step()? {
                Step::Record { took, .. } | Step::Bad { took, .. }
                    if took.bytes > RECORD_BYTES_MAX =>
                {
                    return Some(Err(self.give_up()));
                }
                Step::Record {
                    time_ms,
                    cost,
                    took,
                } => {
                    if let Some(fault) = self.not_text(took) {
                        return Some(Err(self.refuse(fault, took)));
                    }
                    let line = self.stand.lines + 1;
                    self.stand.advance(took);
                    return Some(Ok(TraceRecord {
                        line,
                        time_ms,
                        cost,
                        entries: &self.desk.entries,
                    }));
                }
                Step::Blank(took) => self.stand.advance(took),
                Step::Bad { fault, took } => {
                    let fault = match fault.class {
                        Class::Record => self.not_text(took).unwrap_or(fault),
                        Class::File | Class::Io => fault,
                    };
                    return Some(Err(self.refuse(fault, took)));
                }
                Step::Short if self.rest().len() > RECORD_BYTES_MAX => {
                    return Some(Err(self.give_up()));
                }
                Step::Short if self.window.at_end => {
                    self.stand.finished = true;
                    return None;
                }
                Step::Short | Step::Full => return None,
            }
        }
    }

    fn rest(&self) -> &'b str {
        self.window.text.get(self.stand.taken..).unwrap_or("")
    }

    /// Takes one step from the current place; `None` at the end of the text.
    #[inline]
    fn step(&mut self) -> Option<Step> {
        let Self {
            window,
            shape,
            desk,
            stand,
            ..
        } = self;
        let at_end = window.at_end;
        let rest = window.text.get(stand.taken..)?;
        let unfinished_array = at_end && matches!(shape, BlockLayout::JsonArray) && !stand.finished;
        if rest.is_empty() && !(unfinished_array && stand.place != ArrayPosition::Closed) {
            return None;
        }
        Some(match shape {
            BlockLayout::Csv { columns, quotes } => csv::step(rest, columns, desk, *quotes, at_end),
            BlockLayout::JsonLines => jsonl::step(rest, desk, at_end),
            BlockLayout::JsonArray => array::step(rest, &mut stand.place, desk, at_end),
            BlockLayout::Clf => clf::step(rest, desk, at_end),
        })
    }

    /// Returns a fault and goes on behind it.
    #[cold]
    fn refuse(&mut self, fault: ParseFault, took: Took) -> TraceError {
        let error = self.stand.tell(self.window.text.as_bytes(), fault);
        self.stand.finished |= !error.can_skip();
        self.stand.advance(took);
        error
    }

    /// Refuses the record that is too long to be read; the next one is searched on the next line.
    #[cold]
    fn give_up(&mut self) -> TraceError {
        let fault = match self.shape {
            BlockLayout::JsonArray => ParseFault::too_long().fatal(),
            BlockLayout::JsonLines | BlockLayout::Csv { .. } | BlockLayout::Clf => {
                ParseFault::too_long()
            }
        };
        let error = self.refuse(fault, Took { bytes: 0, lines: 0 });
        self.stand.skipping = true;
        self.skip_line();
        error
    }

    /// Skips the rest of a line, or all of the text if the line goes on beyond it.
    #[cold]
    fn skip_line(&mut self) {
        let rest = self.rest();
        let end = memchr(b'\n', rest.as_bytes());
        self.stand.skipping = end.is_none();
        self.stand
            .advance(Took::all(end.map_or(rest, |end| &rest[..=end])));
    }

    /// The fault of a record that has bytes which are not text.
    #[inline]
    fn not_text(&self, took: Took) -> Option<ParseFault> {
        if self.window.bad.is_empty() {
            return None;
        }
        let from = self.stand.taken;
        let at = self.window.bad.within(from, from + took.bytes)?;
        Some(ParseFault::not_text(at - from))
    }
}

//! One thread's counters: the sheet of its minute, sheets of past minutes, and recorded requests.

use tollgate_stats::{Recorded, Recorder, Sheet};

pub(crate) struct Tray {
    pub(crate) sheet: Sheet,
    pub(crate) recorder: Recorder,
    done: Vec<Sheet>,
}

/// What was counted until now.
pub(super) struct CountedBatch {
    pub(super) done: Vec<Sheet>,
    pub(super) sheet: Sheet,
    pub(super) recorded: Vec<Recorded>,
}

impl Tray {
    pub(super) fn new(sheet: Sheet) -> Self {
        Self {
            sheet,
            recorder: Recorder::default(),
            done: Vec::new(),
        }
    }

    /// Starts another minute. A late request, as after waiting for another node, is counted in the current minute; so
    /// are requests while the clock jumps more often than sheets are taken.
    #[cold]
    pub(super) fn turn_to(&mut self, minute: u64, rows_max: usize) {
        let is_late = minute + 1 == self.sheet.minute();
        if is_late || self.done.len() >= DONE_MAX {
            return;
        }
        let next = Sheet::new(minute, rows_max);
        self.done.push(std::mem::replace(&mut self.sheet, next));
    }

    /// Takes the counts, and leaves an empty sheet of the same minute.
    pub(super) fn take(&mut self, mut fresh: Sheet) -> CountedBatch {
        if fresh.minute() != self.sheet.minute() {
            fresh.clear(self.sheet.minute());
        }
        CountedBatch {
            done: std::mem::take(&mut self.done),
            sheet: std::mem::replace(&mut self.sheet, fresh),
            recorded: self.recorder.take(),
        }
    }
}

/// Sheets of past minutes.
const DONE_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_stats::{Ledger, LedgerLimits, Step};

    #[test]
    fn a_clock_that_jumps_loses_nothing_and_keeps_little() {
        let mut tray = Tray::new(Sheet::new(100, 10));
        let mut ledger = Ledger::new(LedgerLimits::of(10));
        let mut spare = None;
        // Forth by a day, back, and to and fro at every request; folded now and then.
        let minutes = [100, 99, 100, 1540, 100, 1540, 101, 102, 5, 102, 5, 102, 103];
        for (each, minute) in minutes.into_iter().enumerate() {
            if tray.sheet.minute() != minute {
                tray.turn_to(minute, 10);
            }
            tray.sheet.count_all(1, "c", |counts| counts.allowed += 1);
            assert!(tray.done.len() <= DONE_MAX);
            if each % 8 == 7 {
                let fresh = spare.take().unwrap_or_else(|| Sheet::new(0, 10));
                let taken = tray.take(fresh);
                for mut sheet in taken.done {
                    ledger.fold(&mut sheet);
                }
                let mut sheet = taken.sheet;
                ledger.fold(&mut sheet);
                spare = Some(sheet);
            }
        }
        let taken = tray.take(Sheet::new(0, 10));
        for mut sheet in taken.done.into_iter().chain([taken.sheet]) {
            ledger.fold(&mut sheet);
        }
        let lines = ledger.take(0, usize::MAX);
        let sums = lines
            .iter()
            .filter(|line| line.step == Step::Minute && &*line.contract == "c");
        assert_eq!(
            sums.clone().map(|line| line.counts.allowed).sum::<u64>(),
            13
        );
        let late = sums.clone().find(|line| line.at == 100).unwrap();
        assert!(
            late.counts.allowed >= 3,
            "who is late is in the minute there is"
        );
    }
}

//! Request statistics: counted by every thread for itself, folded once a second, kept in the catalogue's database.
//!
//! Decisions never wait: a thread writes on its own sheet, whose lock another thread holds only while two sheets are
//! swapped. Not here: what is counted and how much of it (`tollgate-stats`), tables (`tollgate-stats-sql`).

mod keep;
mod show;
mod tray;
mod view;

use std::sync::OnceLock;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tollgate_limit::Instant;
use tollgate_stats::{Ledger, LedgerLimits, RecentRequests, Sheet};

use crate::meter::slot::{self, SLOTS};
use crate::settings::StatisticsSettings;

pub use keep::{Scribe, place, start};
pub use show::StatisticsFigures;
use show::WriterFigures;
pub(crate) use tray::Tray;
pub use view::{ReadError, StatisticsReader};

pub struct Statistics {
    trays: Box<[OnceLock<Box<Mutex<Tray>>>]>,
    rows_max: usize,
    ledger: Mutex<Ledger>,
    kept: Mutex<RecentRequests>,
    figures: WriterFigures,
    /// Wakes the writer when a reader wants everything counted until now.
    wanted: Notify,
}

impl Statistics {
    /// Without `shows_keys`, identities are not counted by name.
    pub fn new(settings: &StatisticsSettings, shows_keys: bool) -> Self {
        let (identities, bytes) = if shows_keys {
            (settings.identities, settings.record_bytes)
        } else {
            (0, 0)
        };
        let trays = std::iter::repeat_with(OnceLock::new).take(SLOTS);
        Self {
            trays: trays.collect(),
            rows_max: identities,
            ledger: Mutex::new(Ledger::new(LedgerLimits::of(identities))),
            kept: Mutex::new(RecentRequests::new(bytes)),
            figures: WriterFigures::default(),
            wanted: Notify::new(),
        }
    }

    /// This thread's counters at a time.
    #[inline]
    pub(crate) fn tray(&self, now: Instant) -> MutexGuard<'_, Tray> {
        let minute = now.as_nanos() / MINUTE_NS;
        let tray = self.trays[slot::mine()].get_or_init(|| self.new_tray(minute));
        let mut tray = tray.lock();
        if tray.sheet.minute() != minute {
            tray.turn_to(minute, self.rows_max);
        }
        tray
    }

    #[cold]
    fn new_tray(&self, minute: u64) -> Box<Mutex<Tray>> {
        Box::new(Mutex::new(Tray::new(Sheet::new(minute, self.rows_max))))
    }

    /// Folds what all threads counted until now. `spares` are emptied sheets, by tray.
    pub(crate) fn fold(&self, spares: &mut Vec<Option<Sheet>>, now: Instant) {
        spares.resize_with(self.trays.len(), || None);
        let mut ledger = self.ledger.lock();
        for (tray, spare) in self.trays.iter().zip(spares) {
            let Some(tray) = tray.get() else { continue };
            let fresh = spare.take().unwrap_or_else(|| Sheet::new(0, self.rows_max));
            let taken = tray.lock().take(fresh);
            for mut done in taken.done {
                ledger.fold(&mut done);
            }
            let mut sheet = taken.sheet;
            ledger.fold(&mut sheet);
            *spare = Some(sheet);
            self.kept.lock().add(taken.recorded);
        }
        ledger.beat(now.as_nanos() / 1_000_000);
        self.figures.folded(now);
    }

    /// Bytes of the threads' sheets.
    pub fn sheet_bytes(&self) -> usize {
        let trays = self.trays.iter().filter_map(OnceLock::get);
        trays.map(|tray| tray.lock().sheet.bytes()).sum()
    }
}

const MINUTE_NS: u64 = 60_000_000_000;

//! Who signed in, and who was refused: written into the audit, so that a flood of guesses does not fill the disk.
//!
//! Of an address the first refusal of a minute is a line at once, and the others of that minute are one more, with
//! their number. Of more addresses than are told apart there is one line for all. At the end of the process what was
//! not written yet is lost.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tollgate_catalogue_sql::AuditEntry;

use super::ClientOrigin;
use crate::admin::{Books, Office};

/// Refusals of this minute.
pub(crate) struct SignIns(Mutex<Minute>);

struct Minute {
    began: Instant,
    /// How many were refused after the first, by address.
    again: BTreeMap<String, u64>,
    /// How many came from elsewhere.
    elsewhere: u64,
}

/// What is to be written: from where, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line(String, String);

impl Default for SignIns {
    fn default() -> Self {
        Self(Mutex::new(Minute::new(Instant::now())))
    }
}

impl Minute {
    const fn new(began: Instant) -> Self {
        Self {
            began,
            again: BTreeMap::new(),
            elsewhere: 0,
        }
    }

    /// Counts a refusal; whether it is the first of an address.
    fn refuse(&mut self, origin: &str) -> bool {
        if let Some(again) = self.again.get_mut(origin) {
            *again += 1;
        } else if self.again.len() < ORIGINS_MAX {
            self.again.insert(origin.to_owned(), 0);
            return true;
        } else {
            self.elsewhere += 1;
        }
        false
    }

    /// Begins the next minute where this one is over: what is to be written of it.
    fn end(&mut self, now: Instant) -> Vec<Line> {
        if now.duration_since(self.began) < MINUTE {
            return Vec::new();
        }
        let Self {
            again, elsewhere, ..
        } = std::mem::replace(self, Self::new(now));
        let again = again.into_iter().filter(|(_, count)| *count > 0);
        let lines =
            again.map(|(origin, count)| Line(origin, format!("refused {count} more times")));
        let elsewhere = (elsewhere > 0).then(|| {
            let what = format!("refused {elsewhere} times");
            Line("other addresses".to_owned(), what)
        });
        lines.chain(elsewhere).collect()
    }
}

/// Writes down that a token let somebody in.
pub(crate) async fn admitted(office: &Office, who: &str, client: ClientOrigin) {
    tracing::info!(who, %client, "signed in to the console");
    keep(office, who, Line(client.to_string(), "done".to_owned())).await;
}

/// Writes down that a token was refused, or counts it.
pub(super) async fn refused(office: &Office, client: ClientOrigin) {
    let origin = client.to_string();
    let (lines, is_first) = {
        let mut minute = office.access.sign_ins.0.lock();
        (minute.end(Instant::now()), minute.refuse(&origin))
    };
    let first = is_first.then(|| Line(origin, REFUSED.to_owned()));
    for line in lines.into_iter().chain(first) {
        keep_refusal(office, line).await;
    }
}

/// Writes what was counted, for as long as the office is there.
pub(crate) async fn keep_refusals(office: Weak<Office>) {
    let mut tick = tokio::time::interval(MINUTE);
    loop {
        tick.tick().await;
        let Some(office): Option<Arc<Office>> = office.upgrade() else {
            return;
        };
        let lines = office.access.sign_ins.0.lock().end(Instant::now());
        for line in lines {
            keep_refusal(&office, line).await;
        }
    }
}

async fn keep_refusal(office: &Office, line: Line) {
    let Line(origin, outcome) = &line;
    tracing::warn!(%origin, %outcome, "a wrong token for the management API or the console");
    keep(office, UNKNOWN, line).await;
}

async fn keep(office: &Office, who: &str, Line(origin, outcome): Line) {
    let Books::Database(database) = &office.books else {
        return;
    };
    let entry = AuditEntry {
        who: who.to_owned(),
        origin,
        what: "sign in".to_owned(),
        outcome,
        ..AuditEntry::default()
    };
    if let Err(error) = database.audit(&entry).await {
        tracing::warn!(%error, "the audit could not be written");
    }
}

/// How an outcome begins that let nobody in.
pub(crate) const REFUSED: &str = "refused";
/// Who showed a token that nobody has.
const UNKNOWN: &str = "unknown";
const MINUTE: Duration = Duration::from_mins(1);
/// The most addresses that are told apart in a minute.
const ORIGINS_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refusals_is_a_few_lines_with_numbers() {
        let begin = Instant::now();
        let mut minute = Minute::new(begin);
        let origins = (0..1000).map(|n| format!("192.0.2.{}", n % 100));
        let first = origins.filter(|origin| minute.refuse(origin)).count();
        assert_eq!(first, ORIGINS_MAX);
        assert_eq!(minute.end(begin), []);
        let lines = minute.end(begin + MINUTE);
        assert_eq!(lines.len(), ORIGINS_MAX + 1);
        let line = |origin: &str, outcome: &str| Line(origin.into(), outcome.into());
        assert_eq!(lines[0], line("192.0.2.0", "refused 9 more times"));
        assert_eq!(
            lines[ORIGINS_MAX],
            line("other addresses", "refused 800 times")
        );
        assert!(minute.refuse("192.0.2.0"));
        assert_eq!(minute.end(begin + 2 * MINUTE), []);
    }
}

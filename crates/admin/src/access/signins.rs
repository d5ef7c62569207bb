//! Audits sign-ins and refusals, so that a flood of guesses does not fill the disk.
//!
//! The first refusal of an address in a minute is a line at once; the others of that minute share one more, with
//! their number. Addresses beyond the bound share one line. Lines that are pending when the process ends
//! are lost.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tollgate_catalogue_sql::AuditEntry;

use super::ClientOrigin;
use crate::admin::{Books, Office};

pub(crate) struct SignIns(Mutex<Minute>);

struct Minute {
    began: Instant,
    /// Refusals after the first, by address.
    again: BTreeMap<String, u64>,
    /// Refusals of other addresses.
    elsewhere: u64,
}

/// Origin and outcome.
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

    /// Returns whether it is the first of the address.
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

    /// Begins the next minute if this one is over. Returns the lines of the last one.
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

pub(crate) async fn admitted(office: &Office, who: &str, client: ClientOrigin) {
    tracing::info!(who, %client, "signed in to the console");
    keep(office, who, Line(client.to_string(), "done".to_owned())).await;
}

/// Audits the refusal, or counts it.
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

/// Writes the counted refusals while `office` lives.
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

/// Prefix of outcomes that are refusals.
pub(crate) const REFUSED: &str = "refused";
/// The author of a sign-in with an unknown token.
const UNKNOWN: &str = "unknown";
const MINUTE: Duration = Duration::from_mins(1);
/// The most addresses counted separately in a minute.
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

//! Decisions as gubernator takes them.
//!
//! Not here: its messages (`gubernator`), nor how it counts (`tollgate_node::Gubernator`).

use tollgate_limit::Verdict;
use tollgate_node::{GubernatorAnswer, GubernatorAsk, GubernatorError, Key};

use super::Turn;
use crate::meter::{Decided, Judgement};

impl Turn<'_> {
    /// Decides one request by the bucket that it describes, and charges it.
    pub(crate) fn gubernate(
        &self,
        ask: &GubernatorAsk<'_>,
    ) -> Result<GubernatorAnswer, GubernatorError> {
        let answer = self.engine.gubernator.check(ask, self.now);
        if let (Ok(answer), Some(_)) = (&answer, self.engine.statistics()) {
            let key = [("name", ask.name), ("key", ask.key)];
            let key = Key::Entries(&key);
            let verdict = if answer.is_over {
                Verdict::Never
            } else {
                Verdict::Allow
            };
            let cost = u64::try_from(ask.cost).unwrap_or(0);
            self.count_described(self.engine.meter().hash(key), key, cost, verdict);
        }
        let judgement = match &answer {
            Ok(answer) if answer.is_over => Judgement::Denied,
            Ok(_) => Judgement::Allowed,
            Err(GubernatorError::Full) => Judgement::Denied,
            Err(GubernatorError::UnknownInterval) => Judgement::Failed,
        };
        self.engine.meter().decided(&Decided {
            door: self.door,
            key: Key::Text(ask.key.as_bytes()),
            judgement,
            contract: None,
            now: self.now,
        });
        if self.engine.tail().is_watched() {
            let key = [("name", ask.name), ("key", ask.key)];
            let cost = u64::try_from(ask.cost).unwrap_or(0);
            self.show_described(Key::Entries(&key), cost, judgement, None);
        }
        answer
    }
}

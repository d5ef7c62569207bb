//! `MULTI … EXEC`: commands that are kept as they were sent, until they are carried out together.
//!
//! Only commands with small replies are kept, up to a limit, and their bytes count as unread replies do. Not here:
//! carrying them out (`connection`), which command ends a transaction (`session`).

use std::sync::Arc;

use tollgate_wire::resp::{Command, Transaction};

use super::refusal::Refusal;
use crate::shared::Shared;
use crate::unsent::HeldBytes;

/// Commands since `MULTI`.
#[derive(Debug)]
pub(super) struct Queued {
    /// Their bytes, concatenated.
    pub(super) commands: Vec<u8>,
    pub(super) count: usize,
    /// Counts the bytes; `None` once a command was refused, after which nothing is kept.
    held: Option<HeldBytes>,
}

impl Queued {
    pub(super) fn new(shared: &Shared) -> Self {
        Self {
            commands: Vec::new(),
            count: 0,
            held: shared.state.unsent().hold(&Arc::default(), 0),
        }
    }

    pub(super) fn keep(&mut self, command: &Command<'_>, said: &[u8]) -> Result<(), Refusal> {
        let refusal = match (&mut self.held, command) {
            (_, Command::Hello(_) | Command::Auth(_) | Command::List(_) | Command::Info(_)) => {
                Refusal::NotQueued
            }
            (None, _) => return Ok(()),
            (Some(_), _) if self.count == COMMANDS_MAX => Refusal::QueueTooLong(COMMANDS_MAX),
            (Some(held), _) => {
                if held.grow(said.len()) {
                    self.commands.extend_from_slice(said);
                    self.count += 1;
                    return Ok(());
                }
                Refusal::QueueFull
            }
        };
        self.spoil();
        Err(refusal)
    }

    /// Call when a command was refused: `EXEC` will then carry out none.
    pub(super) fn spoil(&mut self) {
        (self.commands, self.held) = (Vec::new(), None);
    }

    pub(super) const fn is_spoilt(&self) -> bool {
        self.held.is_none()
    }
}

/// Whether a command is carried out at once within a transaction too.
pub(super) const fn is_for_now(command: &Command<'_>) -> bool {
    matches!(
        command,
        Command::Quit
            | Command::Reset
            | Command::Transaction(
                Transaction::Multi | Transaction::Exec | Transaction::Discard | Transaction::Watch
            )
    )
}

/// Limit on commands of a transaction.
const COMMANDS_MAX: usize = 10_000;

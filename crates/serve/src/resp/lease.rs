//! `TOLLGATE.LEASE`: what a client holds of a key, and what it is lent; and hints that are pushed to it.

use std::sync::Arc;

use tollgate_node::{Key, Nudge};
use tollgate_wire::resp::{Entries, Lease, Version, Writer};

use super::check::entries;
use super::refusal::Refusal;
use crate::engine::Turn;
use crate::lend::{Hub, Mailbox};
use crate::shared::Shared;

/// Takes what a client holds, and writes what it is lent.
pub(super) fn lease(
    (shared, turn): (&Shared, &Turn<'_>),
    asked: &Lease<'_>,
    mailbox: Option<&Arc<Mailbox>>,
    writer: &mut Writer<'_>,
) -> Result<(), Refusal> {
    let entries = entries(asked.key, shared.settings.limits.key_bytes_max)?;
    let key = match asked.key {
        Entries::Bare(value) => Key::Text(value),
        Entries::Pairs(_) => Key::Entries(&entries),
    };
    // Of this command, whatever others of the turn wait for: one without an answer leaves a gap, any other a reply.
    let Some((lent, is_here)) = turn.lend(key, asked.inquiry)? else {
        return Ok(());
    };
    note_client(&shared.lend, asked.inquiry, mailbox);
    if is_here {
        shared.lend.tell(&lent.nudges);
    } else {
        shared.lend.pass_on(&lent.nudges);
    }
    writer.bulk(&lent.reply);
    Ok(())
}

/// A client that says what it holds is reached through this connection from here on.
fn note_client(hub: &Hub, inquiry: &[u8], mailbox: Option<&Arc<Mailbox>>) {
    let Some(mailbox) = mailbox else {
        return;
    };
    if let Some(client) = tollgate_node::client_of(inquiry) {
        hub.heard(client, mailbox);
    }
}

/// Writes a hint.
pub(super) fn push(nudge: Nudge, version: Version, out: &mut Vec<u8>) {
    if version != Version::Resp3 {
        return;
    }
    let mut writer = Writer::new(out, version);
    writer.push(2);
    writer.bulk(b"tollgate.nudge");
    writer.bulk(&tollgate_node::encode_nudge(nudge));
}

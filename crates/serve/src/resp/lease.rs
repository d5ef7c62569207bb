//! `TOLLGATE.LEASE`: leases of a client; and hints pushed to it.

use std::sync::Arc;

use tollgate_node::{LendAnswer, Nudge};
use tollgate_wire::resp::{Version, Writer};

use super::session::CommandContext;
use crate::lend::Mailbox;

/// Writes the grants for a client's report, and forwards what other nodes need of it.
pub(super) fn write_lent(
    room: CommandContext<'_, '_>,
    inquiry: &[u8],
    outcome: &(LendAnswer, bool),
    mailbox: Option<&Arc<Mailbox>>,
    writer: &mut Writer<'_>,
) {
    let ((lent, is_here), hub) = (outcome, &room.shared.lend);
    // From now on this client is reached through this connection.
    if let (Some(mailbox), Some(client)) = (mailbox, tollgate_node::client_of(inquiry)) {
        hub.heard(client, mailbox);
    }
    if *is_here {
        hub.tell(&lent.nudges);
    } else {
        hub.pass_on(&lent.nudges);
    }
    writer.bulk(&lent.reply);
}

pub(super) fn push(nudge: Nudge, version: Version, out: &mut Vec<u8>) {
    if version != Version::Resp3 {
        return;
    }
    let mut writer = Writer::new(out, version);
    writer.push(2);
    writer.bulk(b"tollgate.nudge");
    writer.bulk(&tollgate_node::encode_nudge(nudge));
}

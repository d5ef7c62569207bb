//! Who is on the network: places of leases and nodes, and those who synchronise as it is printed.
//!
//! Not here: what they are asked, and when they fail.

use tollgate_lease::{Centre, Replica};
use tollgate_limit::Instant;

use crate::nodes::Member;
use crate::nodes::site::{Site, SiteParcel};

#[derive(Debug)]
pub(super) enum Party {
    Site(Box<Site>),
    /// The bucket of all.
    Centre {
        centre: Centre,
        is_up: bool,
        /// Answers: to whom, and what is left.
        out: Vec<(u16, i128)>,
    },
    /// The bucket as a client knows it, unless it is down; and what it spent, to be told.
    Replica(Option<Replica>, Option<u64>),
}

#[derive(Clone, Debug)]
pub(super) enum PartyMessage {
    Parcel(SiteParcel),
    /// What a replica spent.
    Spent(u64),
    /// What the centre has left.
    Level(i128),
}

impl Party {
    pub(super) fn site(&self) -> Option<&Site> {
        match self {
            Self::Site(site) => Some(site),
            _ => None,
        }
    }

    pub(super) fn site_mut(&mut self) -> Option<&mut Site> {
        match self {
            Self::Site(site) => Some(site),
            _ => None,
        }
    }
}

/// Where the grantor, the store or the centre is.
pub(super) const GRANTOR: u16 = 0;

impl Member for Party {
    type Message = PartyMessage;

    fn is_up(&self) -> bool {
        match self {
            Self::Site(site) => site.is_up,
            Self::Centre { is_up, .. } => *is_up,
            Self::Replica(replica, _) => replica.is_some(),
        }
    }

    fn handle_message(&mut self, from: u16, message: &PartyMessage, now: u64) {
        let at = Instant::from_nanos(now);
        match (self, message) {
            (Self::Site(site), PartyMessage::Parcel(parcel)) => {
                site.handle_message(from, parcel, now);
            }
            (Self::Centre { centre, out, .. }, PartyMessage::Spent(spent)) => {
                out.push((from, centre.handle_spent(*spent, at)));
            }
            (Self::Replica(Some(replica), _), PartyMessage::Level(level)) => {
                replica.handle_level(*level, at);
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: u64) {
        match self {
            Self::Site(site) => site.handle_timeout(now),
            Self::Replica(Some(replica), spent) => {
                *spent = replica.poll_spent(Instant::from_nanos(now));
            }
            Self::Centre { .. } | Self::Replica(None, _) => {}
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        match self {
            Self::Site(site) => site.poll_timeout(),
            Self::Replica(Some(replica), _) => Some(replica.poll_timeout().as_nanos()),
            Self::Centre { .. } | Self::Replica(None, _) => None,
        }
    }

    fn poll_send(&mut self) -> Option<(u16, PartyMessage)> {
        match self {
            Self::Site(site) => {
                let (to, parcel) = site.poll_send()?;
                Some((to, PartyMessage::Parcel(parcel)))
            }
            Self::Centre { out, .. } => {
                let (to, level) = out.pop()?;
                Some((to, PartyMessage::Level(level)))
            }
            Self::Replica(_, spent) => Some((GRANTOR, PartyMessage::Spent(spent.take()?))),
        }
    }

    fn bytes(message: &PartyMessage) -> &[u8] {
        match message {
            PartyMessage::Parcel(parcel) => Site::bytes(parcel),
            PartyMessage::Spent(_) | PartyMessage::Level(_) => &[],
        }
    }
}

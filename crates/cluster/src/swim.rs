//! The membership protocol, driven: `foca` with its timers, and its effects as values.
//!
//! Every timer it sets is delivered, late if need be, in the order in which they fall due. Not here: what the members
//! are called and which of them others see.

use std::collections::BTreeMap;
use std::num::{NonZeroU8, NonZeroUsize};
use std::time::Duration;

use foca::{Config, Foca, NoCustomBroadcast, Notification, PeriodicParams, Runtime, State, Timer};
use tollgate_kit::Dice;

use crate::config::FailureTiming;
use crate::dice::Rng;
use crate::event::Refused;
use crate::frame::PROBE_BYTES_MAX;
use crate::member::MemberState;
use crate::peer::ClusterPeer;
use crate::probe::{self, ProbeCodec};

pub(crate) struct Swim {
    foca: Foca<ClusterPeer, ProbeCodec, Rng, NoCustomBroadcast>,
    pace: FailureTiming,
    /// By due time, by rank, then in the order they were set.
    timers: BTreeMap<(u64, u8, u64), Timer<ClusterPeer>>,
    set: u64,
    wants: Wants,
    /// Set by any event since it was last read.
    is_touched: bool,
    /// When suspects are notified next.
    warn_at: Option<u64>,
}

#[derive(Default)]
pub(crate) struct Wants {
    pub(crate) sends: Vec<(ClusterPeer, Vec<u8>)>,
    pub(crate) news: Vec<News>,
    timers: Vec<(Duration, Timer<ClusterPeer>)>,
}

/// Events of the protocol besides members that join and leave.
#[derive(Debug)]
pub(crate) enum News {
    /// One boot of a node replaced another.
    Replaced { old: ClusterPeer, new: ClusterPeer },
    /// This node was declared gone, and returned under a new renewal.
    Rejoined,
}

impl Runtime<ClusterPeer> for &mut Wants {
    fn notify(&mut self, notification: Notification<'_, ClusterPeer>) {
        match notification {
            Notification::Rename(old, new) => self.news.push(News::Replaced {
                old: old.clone(),
                new: new.clone(),
            }),
            Notification::Rejoin(_) => self.news.push(News::Rejoined),
            Notification::MemberUp(_)
            | Notification::MemberDown(_)
            | Notification::Active
            | Notification::Idle
            | Notification::Defunct => {}
        }
    }

    fn send_to(&mut self, to: ClusterPeer, data: &[u8]) {
        self.sends.push((to, data.to_vec()));
    }

    fn submit_after(&mut self, event: Timer<ClusterPeer>, after: Duration) {
        self.timers.push((after, event));
    }
}

impl Swim {
    pub(crate) fn new(me: ClusterPeer, pace: FailureTiming, seed: u64) -> Self {
        Self {
            foca: Foca::new(me, config(pace, 1), Rng(Dice::new(seed)), ProbeCodec),
            pace,
            timers: BTreeMap::new(),
            set: 0,
            wants: Wants::default(),
            is_touched: false,
            warn_at: None,
        }
    }

    pub(crate) const fn me(&self) -> &ClusterPeer {
        self.foca.identity()
    }

    pub(crate) fn active(&self) -> impl Iterator<Item = (&ClusterPeer, MemberState)> {
        self.foca.iter_members().map(|member| {
            let state = match member.state() {
                State::Alive => MemberState::Alive,
                State::Suspect | State::Down => MemberState::Suspect,
            };
            (member.id(), state)
        })
    }

    /// Includes nodes that are gone.
    pub(crate) fn remembered(&self) -> impl Iterator<Item = &ClusterPeer> {
        self.foca.iter_membership_state().map(foca::Member::id)
    }

    pub(crate) fn active_of(&self, id: u128) -> Option<&ClusterPeer> {
        self.foca
            .iter_members()
            .map(foca::Member::id)
            .find(|peer| peer.id == id)
    }

    pub(crate) fn remembered_of(&self, id: u128) -> Option<&ClusterPeer> {
        self.remembered().find(|peer| peer.id == id)
    }

    pub(crate) fn handle_packet(&mut self, packet: &[u8], mono: u64) -> Result<(), Refused> {
        let result = self.foca.handle_data(packet, &mut self.wants);
        self.schedule(mono);
        match result {
            Err(
                foca::Error::Decode(_)
                | foca::Error::MalformedPacket
                | foca::Error::DataTooBig
                | foca::Error::CustomBroadcast(_),
            ) => Err(Refused::Malformed),
            // The rest is about our own state and resolves itself.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Asks a node to admit this one.
    pub(crate) fn announce(&mut self, to: ClusterPeer, mono: u64) {
        let _ = self.foca.announce(to, &mut self.wants);
        self.schedule(mono);
    }

    /// The new identity must replace the previous one.
    pub(crate) fn become_peer(&mut self, me: ClusterPeer, mono: u64) {
        let _ = self.foca.change_identity(me, &mut self.wants);
        self.schedule(mono);
    }

    /// Accepts a node's own goodbye.
    pub(crate) fn drop_peer(&mut self, peer: ClusterPeer, mono: u64) {
        let gone = std::iter::once(foca::Member::down(peer));
        let _ = self.foca.apply_many(gone, true, &mut self.wants);
        self.schedule(mono);
    }

    pub(crate) fn leave(&mut self, mono: u64) {
        let _ = self.foca.leave_cluster(&mut self.wants);
        self.schedule(mono);
        self.timers.clear();
        self.warn_at = None;
    }

    pub(crate) fn handle_timeout(&mut self, mono: u64) -> bool {
        let mut is_due = false;
        while let Some(entry) = self.timers.first_entry()
            && entry.key().0 <= mono
        {
            let timer = entry.remove();
            let _ = self.foca.handle_timer(timer, &mut self.wants);
            self.schedule(mono);
            is_due = true;
        }
        is_due | self.warn(mono)
    }

    /// Notifies suspects. A suspicion is only gossiped a few times, and a partition may lose all of these;
    /// after it no node would notify the suspect, which alone can refute.
    fn warn(&mut self, mono: u64) -> bool {
        if self.warn_at.is_none_or(|at| at > mono) {
            return false;
        }
        let suspects = self.foca.iter_members();
        let suspects = suspects.filter(|member| member.state() == State::Suspect);
        let warnings: Vec<_> = suspects
            .filter_map(|member| {
                let packet = probe::suspicion(self.foca.identity(), member)?;
                Some((member.id().clone(), packet))
            })
            .collect();
        self.warn_at = (!warnings.is_empty()).then(|| self.next_warning(mono));
        for (suspect, packet) in warnings {
            self.wants.sends.push((suspect.clone(), packet));
            // Its answer refutes the suspicion.
            let _ = self.foca.announce(suspect, &mut self.wants);
        }
        self.schedule(mono);
        true
    }

    fn next_warning(&self, mono: u64) -> u64 {
        let half = self.pace.probe.as_nanos() / 2;
        mono.saturating_add(u64::try_from(half).unwrap_or(u64::MAX))
    }

    pub(crate) fn timeout(&self) -> Option<u64> {
        let timer = self.timers.first_key_value().map(|((at, _, _), _)| *at);
        [timer, self.warn_at].into_iter().flatten().min()
    }

    /// Effects since the last call.
    pub(crate) fn take_wants(&mut self) -> (Vec<(ClusterPeer, Vec<u8>)>, Vec<News>) {
        let Wants { sends, news, .. } = &mut self.wants;
        (std::mem::take(sends), std::mem::take(news))
    }

    /// Suspects for longer and repeats more often in larger clusters.
    pub(crate) fn fit(&mut self, members: usize) {
        let _ = self.foca.set_config(config(self.pace, members));
    }

    pub(crate) fn take_touched(&mut self) -> bool {
        std::mem::take(&mut self.is_touched)
    }

    fn schedule(&mut self, mono: u64) {
        self.is_touched = true;
        for (after, timer) in self.wants.timers.drain(..) {
            let after = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
            let at = mono.saturating_add(after);
            self.set += 1;
            self.timers.insert((at, rank(&timer), self.set), timer);
        }
        let is_suspect = |member: &foca::Member<ClusterPeer>| member.state() == State::Suspect;
        if self.warn_at.is_none() && self.foca.iter_members().any(is_suspect) {
            self.warn_at = Some(self.next_warning(mono));
        }
    }
}

/// Of timers that fall due together, asking other nodes comes before the next probe.
const fn rank(timer: &Timer<ClusterPeer>) -> u8 {
    match timer {
        Timer::SendIndirectProbe { .. } => 0,
        Timer::ProbeRandomMember(_) => 1,
        Timer::ChangeSuspectToDown { .. } => 2,
        Timer::PeriodicAnnounce(_)
        | Timer::PeriodicAnnounceDown(_)
        | Timer::PeriodicGossip(_)
        | Timer::RemoveDown(_) => 3,
    }
}

fn config(pace: FailureTiming, members: usize) -> Config {
    let bits = usize::BITS - members.leading_zeros();
    let repeats = u8::try_from(bits)
        .unwrap_or(u8::MAX)
        .saturating_add(1)
        .max(4);
    // Half as long again from 11 members, twice from 101, and so on: gossip needs more hops.
    let size = [10, 100, 1000, 10_000]
        .iter()
        .filter(|size| members > **size)
        .count();
    let halves = 2 + u32::try_from(size).unwrap_or(0);
    let probe = Duration::from(pace.probe);
    Config {
        probe_period: probe,
        probe_rtt: Duration::from(pace.answer),
        num_indirect_probes: count(3),
        max_transmissions: NonZeroU8::new(repeats).unwrap_or(NonZeroU8::MIN),
        suspect_to_down_after: Duration::from(pace.suspect) * halves / 2,
        remove_down_after: Some(REMEMBER),
        max_packet_size: count(PROBE_BYTES_MAX),
        notify_down_members: true,
        periodic_announce: Some(PeriodicParams {
            frequency: probe * 15,
            num_members: count(1),
        }),
        periodic_announce_to_down_members: Some(PeriodicParams {
            frequency: probe * 5,
            num_members: count(2),
        }),
        periodic_gossip: Some(PeriodicParams {
            frequency: probe / 5,
            num_members: count(3),
        }),
    }
}

fn count(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN)
}

/// How long a node that is gone is remembered: bounds the entries that nodes without a disk leave behind.
const REMEMBER: Duration = Duration::from_hours(1);

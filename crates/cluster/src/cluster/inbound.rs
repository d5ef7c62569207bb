//! What arrives: payloads of datagrams, messages of streams.
//!
//! Refusals happen before anything is allocated. Unknown frames are skipped, so that a
//! later version may add some. Not here: how nodes meet, and what membership makes of its packets.

use tollgate_gossip::NodeId;
use tollgate_kit::Reader;
use tollgate_limit::Span;

use super::Cluster;
use crate::event::{Event, Refused};
use crate::frame::{
    DATAGRAM_OVERHEAD, FrameKind, Frames, MESSAGE_BYTES_MAX, PayloadHead, fold, frame,
};
use crate::peer::ClusterPeer;
use crate::probe;
use crate::replay::ReplayCheck;
use crate::roll;
use crate::swim::Swim;

impl Cluster {
    pub(super) fn take_payload(
        &mut self,
        boot: u64,
        counter: u64,
        payload: &[u8],
    ) -> Result<(), Refused> {
        let me = self.swim.me().boot;
        if self.is_silent {
            return Err(Refused::Silent);
        }
        if boot == me {
            return Err(Refused::Echo);
        }
        let (head, frames) = PayloadHead::read(payload).ok_or(Refused::Malformed)?;
        self.check_clock(boot, head.sent_ms)?;
        match self.replays.mark(boot, counter, self.clock.mono()) {
            ReplayCheck::New => {}
            ReplayCheck::Before => return Err(Refused::Replayed),
            ReplayCheck::Crowded => return Err(Refused::Crowded),
        }
        if head.to != 0 && head.to != fold(me) {
            return Err(Refused::Misdirected);
        }
        self.count_datagram(boot, payload.len());
        let is_addressed = head.to != 0;
        let mut worst = Ok(());
        for frame in Frames::new(frames) {
            let (number, body) = frame?;
            let Some(kind) = FrameKind::of(number) else {
                self.tally.unknown += 1;
                continue;
            };
            self.count_frame(boot);
            let taken = self.take_frame(boot, kind, body, is_addressed);
            worst = worst.and(taken);
            if self.is_silent {
                break;
            }
        }
        worst
    }

    /// Refuses datagrams that were sealed long ago, or by a clock that is too far off.
    fn check_clock(&mut self, boot: u64, sent_ms: u64) -> Result<(), Refused> {
        let now_ms = self.clock.day_ms();
        let by = sent_ms.abs_diff(now_ms);
        if by <= CLOCK_MS_MAX {
            return Ok(());
        }
        // A replayed capture looks the same, so that this is reported rarely.
        if self.tally.is_clock_told(boot, self.clock.mono()) {
            let from = self.links.get(&boot).map(|link| link.node);
            self.tell(Event::ClockOff {
                boot,
                from,
                by: Span::from_nanos(u128::from(by) * 1_000_000),
                is_ahead: sent_ms > now_ms,
            });
        }
        Err(Refused::Clock)
    }

    fn count_datagram(&mut self, boot: u64, length: usize) {
        let bytes = (length + DATAGRAM_OVERHEAD + IP_UDP_BYTES) as u64;
        let mono = self.clock.mono();
        let total = &mut self.tally.traffic;
        total.datagrams_in += 1;
        total.bytes_in += bytes;
        if let Some(link) = self.links.get_mut(&boot) {
            link.traffic.datagrams_in += 1;
            link.traffic.bytes_in += bytes;
            link.gaps.hear(mono);
        }
    }

    fn count_frame(&mut self, boot: u64) {
        self.tally.traffic.frames_in += 1;
        if let Some(link) = self.links.get_mut(&boot) {
            link.traffic.frames_in += 1;
        }
    }

    fn take_frame(
        &mut self,
        boot: u64,
        kind: FrameKind,
        body: &[u8],
        is_addressed: bool,
    ) -> Result<(), Refused> {
        // A datagram without an addressee may be a capture meant for another node: only kinds for any node are
        // accepted.
        if !is_addressed && !matches!(kind, FrameKind::Hello | FrameKind::Probe) {
            return Err(Refused::Misdirected);
        }
        match kind {
            FrameKind::Probe => self.take_probe(boot, body),
            FrameKind::Gossip => {
                let from = self.visible(boot)?;
                self.take_gossip(from, body)
            }
            FrameKind::Ping => self.take_ping(boot, body),
            FrameKind::Pong => self.take_pong(boot, body),
            FrameKind::Hello => self.take_hello(boot, body),
            FrameKind::Welcome => self.take_welcome(boot, body),
            FrameKind::Rival => self.take_rival(body),
            FrameKind::Taken => self.take_taken(boot, body),
            FrameKind::Bye => self.take_bye(boot, body),
            FrameKind::Forward
            | FrameKind::Answer
            | FrameKind::Snapshot
            | FrameKind::HandOver
            | FrameKind::Ask
            | FrameKind::Introduce
            | FrameKind::Missing
            | FrameKind::Forget
            | FrameKind::Prove => Err(Refused::Malformed),
        }
    }

    pub(super) fn visible(&self, boot: u64) -> Result<NodeId, Refused> {
        let link = self.links.get(&boot).filter(|link| link.is_visible);
        link.map(|link| link.node).ok_or(Refused::Stranger)
    }

    fn take_probe(&mut self, boot: u64, packet: &[u8]) -> Result<(), Refused> {
        let sender = probe::sender(packet).ok_or(Refused::Malformed)?;
        if sender.boot != boot {
            return Err(Refused::Liar);
        }
        if sender.id == self.swim.me().id {
            self.note_rival(&sender);
            return Ok(());
        }
        if self.swim.remembered_of(sender.id).is_none()
            && self.swim.remembered().count() >= REMEMBERED_MAX
        {
            return Err(Refused::Crowded);
        }
        let is_there = |swim: &Swim| swim.active_of(sender.id).is_some_and(|is| is.boot == boot);
        let was_there = is_there(&self.swim);
        let taken = self.swim.handle_packet(packet, self.clock.mono());
        // Only a node that leaves declares itself gone.
        if was_there && !is_there(&self.swim) {
            self.roll.leaves(boot);
        }
        taken
    }

    fn take_gossip(&mut self, from: NodeId, body: &[u8]) -> Result<(), Refused> {
        let mut reader = Reader(body);
        let tag = reader.u64().ok_or(Refused::Malformed)?;
        let frame = reader.0.to_vec();
        self.tell(Event::Gossip { from, tag, frame });
        Ok(())
    }

    fn take_ping(&mut self, boot: u64, body: &[u8]) -> Result<(), Refused> {
        let token: [u8; 8] = body.try_into().map_err(|_| Refused::Malformed)?;
        let link = self.links.get_mut(&boot).ok_or(Refused::Stranger)?;
        link.push_control(frame(FrameKind::Pong, &[&token]));
        self.post.mark(boot);
        Ok(())
    }

    fn take_pong(&mut self, boot: u64, body: &[u8]) -> Result<(), Refused> {
        let token = body.try_into().map_err(|_| Refused::Malformed)?;
        let mono = self.clock.mono();
        let link = self.links.get_mut(&boot).ok_or(Refused::Stranger)?;
        link.delay.answer(u64::from_le_bytes(token), mono);
        Ok(())
    }

    fn take_bye(&mut self, boot: u64, body: &[u8]) -> Result<(), Refused> {
        let peer = ClusterPeer::read_short(&mut Reader(body)).ok_or(Refused::Malformed)?;
        if peer.boot != boot {
            return Err(Refused::Liar);
        }
        let known = self
            .swim
            .active_of(peer.id)
            .filter(|known| known.boot == boot);
        let Some(known) = known.cloned() else {
            // Other nodes received it first and reported that it is gone.
            let who = self.roll.left(peer.id).ok_or(Refused::Stranger)?;
            self.tell(Event::Gone {
                who,
                is_goodbye: true,
            });
            return Ok(());
        };
        self.roll.leaves(boot);
        self.swim.drop_peer(known, self.clock.mono());
        Ok(())
    }

    fn take_missing(&mut self, body: &[u8]) -> Result<(), Refused> {
        let told = roll::read(body).ok_or(Refused::Malformed)?;
        for news in self.roll.hear(self.swim.me(), told) {
            self.tell(news);
        }
        Ok(())
    }

    pub(super) fn take_message(&mut self, from: NodeId, message: &[u8]) -> Result<(), Refused> {
        if self.is_silent {
            return Err(Refused::Silent);
        }
        if message.len() > MESSAGE_BYTES_MAX {
            return Err(Refused::Malformed);
        }
        let boot = self.by_node.get(&from).copied().ok_or(Refused::Stranger)?;
        let mono = self.clock.mono();
        let bytes = message.len() as u64;
        self.tally.traffic.stream_bytes_in += bytes;
        if let Some(link) = self.links.get_mut(&boot) {
            link.traffic.stream_bytes_in += bytes;
            link.gaps.hear(mono);
        }
        for frame in Frames::new(message) {
            let (number, body) = frame?;
            match FrameKind::of(number) {
                Some(FrameKind::Gossip) => self.take_gossip(from, body)?,
                Some(FrameKind::Missing) => self.take_missing(body)?,
                Some(FrameKind::Forget) => {
                    let name = std::str::from_utf8(body).map_err(|_| Refused::Malformed)?;
                    self.strike(name);
                }
                Some(
                    kind @ (FrameKind::Forward
                    | FrameKind::Answer
                    | FrameKind::Snapshot
                    | FrameKind::HandOver
                    | FrameKind::Ask
                    | FrameKind::Introduce
                    | FrameKind::Prove),
                ) => {
                    let body = body.to_vec();
                    self.tell(Event::Message { from, kind, body });
                }
                Some(
                    FrameKind::Probe
                    | FrameKind::Ping
                    | FrameKind::Pong
                    | FrameKind::Hello
                    | FrameKind::Welcome
                    | FrameKind::Rival
                    | FrameKind::Taken
                    | FrameKind::Bye,
                )
                | None => self.tally.unknown += 1,
            }
        }
        Ok(())
    }
}

/// Bound on remembered nodes, departed ones included; beyond it, new nodes are refused.
const REMEMBERED_MAX: usize = 4096;
/// How far clocks may differ.
pub(super) const CLOCK_MS_MAX: u64 = 60_000;
/// What IP and UDP add to a datagram.
pub(super) const IP_UDP_BYTES: usize = 28;

//! One node's part in the control plane.
//!
//! The grammar: call `handle_*` with what comes; then, until all give nothing, `poll_write` (write and sync the bytes,
//! then `handle_written`), `poll_send`, `poll_event`; then wait for a frame or `poll_timeout`. Frames that arrive while
//! bytes wait to be written are dropped. Not here: the state that is agreed on, frames as bytes, files as bytes.

mod charge;
mod disk;
mod duties;
mod election;
mod lead;
mod meet;
mod raft;
mod request;
mod snapshots;
mod voters;

use std::collections::VecDeque;
use std::sync::Arc;

use tollgate_kit::Dice;
use tollgate_mode::Malformed;

use crate::config::ControlConfig;
use crate::event::ControlEvent;
use crate::file::{ControlDisk, Meta, StateSnapshot};
use crate::frame::{ControlFrame, FrameBody};
use crate::log::ControlLog;
use crate::roster::NodeInfo;
use crate::state::ControlState;
use crate::view::ControlView;

pub use disk::ControlWrite;

use charge::Tenure;
use disk::DiskQueue;
use election::Election;
use lead::Lead;
use meet::Meet;
use request::Requests;

/// The time, in two ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlTime {
    /// A clock that takes no steps, in nanoseconds: everything is decided by it.
    pub steady: u64,
    /// The time of day, in milliseconds since 1970: for people.
    pub wall_ms: u64,
}

/// What a node starts with.
#[derive(Clone, Debug)]
pub struct ControlStart {
    /// Its name.
    pub name: String,
    /// Where it is reached.
    pub address: String,
    /// Its zone; empty where zones are not used.
    pub zone: String,
    /// A number by chance, which no other start of any node has.
    pub seed: u64,
    /// The terms.
    pub config: ControlConfig,
    /// What its disk holds.
    pub disk: Option<ControlDisk>,
}

/// A frame to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlSend {
    /// The name of the node it is for.
    pub to: String,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
}

/// One node's part in the control plane.
#[derive(Clone, Debug)]
pub struct Control {
    config: ControlConfig,
    me: NodeInfo,
    meta: Meta,
    log: ControlLog,
    snapshot: StateSnapshot,
    state: Arc<ControlState>,
    applied: u64,
    election: Election,
    lead: Option<Lead>,
    tenure: Tenure,
    meet: Meet,
    requests: Requests,
    disk: DiskQueue,
    out: Outbox,
    dice: Dice,
}

/// What goes out.
#[derive(Clone, Debug, Default)]
struct Outbox {
    /// Frames that rest on what is written.
    sends: VecDeque<ControlSend>,
    /// Frames that do not.
    loose: VecDeque<ControlSend>,
    events: VecDeque<ControlEvent>,
}

/// Frames and events that wait; more are dropped, as a network might.
const OUT_MAX: usize = 16_384;

impl Control {
    /// A node that starts, with or without what an earlier start has written.
    pub fn new(start: ControlStart, now: ControlTime) -> Self {
        let mut dice = Dice::new(start.seed);
        let disk = start.disk.unwrap_or_default();
        let is_fresh = disk.meta.id == 0;
        let me = NodeInfo {
            name: start.name,
            id: if is_fresh {
                fresh_id(&mut dice)
            } else {
                disk.meta.id
            },
            boot: next_boot(disk.meta.boot, &mut dice),
            address: start.address,
            zone: start.zone,
        };
        let log = if is_fresh {
            ControlLog::fresh(me.id)
        } else {
            disk.log()
        };
        let meta = Meta {
            cluster: disk.meta.cluster,
            id: me.id,
            boot: me.boot,
            name: me.name.clone(),
            founders: disk.meta.founders,
        };
        let mut it = Self {
            election: Election::new(&start.config, is_fresh, now),
            config: start.config,
            me,
            meta,
            applied: disk.snapshot.position.index.get(),
            snapshot: disk.snapshot,
            state: Arc::new(disk.state),
            lead: None,
            tenure: Tenure::new(now),
            meet: Meet::new(log.last(), now),
            log,
            requests: Requests::default(),
            disk: DiskQueue::new(),
            out: Outbox::default(),
            dice,
        };
        it.drain(now);
        it
    }

    /// Takes a frame of the node of a name.
    pub fn handle_frame(
        &mut self,
        from: &str,
        bytes: &[u8],
        now: ControlTime,
    ) -> Result<(), Malformed> {
        let frame = ControlFrame::decode(bytes)?;
        self.meet.note_name(frame.from, from);
        if self.disk.is_failed() {
            self.renew_without_disk(frame, now);
        } else if !self.disk.is_waiting() && self.is_for_me(&frame, now) {
            self.take(frame, now);
        }
        Ok(())
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: ControlTime) {
        self.disk.retry(now);
        self.expire_requests(now);
        if self.disk.is_waiting() || self.disk.is_failed() {
            return;
        }
        self.count_uses(now);
        self.elect(now);
        self.beat(now);
        self.introduce(now);
    }

    /// When it wants to be called next.
    pub fn poll_timeout(&self) -> Option<u64> {
        if self.disk.is_failed() {
            return self.disk.retry_at();
        }
        let lead = self.lead.as_ref().map(|lead| lead.next_beat);
        let election = Some(self.election.deadline).filter(|_| self.may_lead());
        let times = [
            lead.or(election),
            Some(self.meet.hello_at),
            Some(self.tenure.count_at),
            self.requests.next_at(),
        ];
        times.into_iter().flatten().min()
    }

    /// The next frame to send.
    pub fn poll_send(&mut self) -> Option<ControlSend> {
        if let Some(send) = self.out.loose.pop_front() {
            return Some(send);
        }
        if self.disk.is_waiting() || self.disk.is_failed() {
            return None;
        }
        self.out.sends.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<ControlEvent> {
        self.out.events.pop_front()
    }

    /// What is known now, for other threads.
    pub fn view(&self) -> ControlView {
        let config = self.log.config();
        let leader = self.election.leader.and_then(|id| self.name_of(id));
        let lead_until = self.lead.as_ref().map(|lead| lead.until);
        ControlView {
            cluster: self.meta.cluster,
            me: self.me.id,
            term: self.log.term(),
            leader: if self.lead.is_some() {
                Some(self.me.name.clone())
            } else {
                leader
            },
            lead_until: lead_until.filter(|until| *until > 0),
            voters: config.voters.iter().map(|id| id.get()).collect(),
            applied: self.applied,
            is_disk_failed: self.disk.is_failed(),
            place: self.state.by_id(self.me.id).map(|(place, _)| place),
            state: Arc::clone(&self.state),
            until: self.sure_until(),
            stopped: Arc::clone(&self.tenure.stopped),
        }
    }

    /// Whether a frame is one to look at: of this cluster, for this node, and not of an earlier start of its sender.
    fn is_for_me(&mut self, frame: &ControlFrame, now: ControlTime) -> bool {
        if frame.from == self.me.id {
            if frame.boot > self.me.boot {
                self.become_new(now);
            }
            return false;
        }
        let (theirs, ours) = (frame.cluster, self.meta.cluster);
        let is_meeting = matches!(frame.body, FrameBody::Hello(_) | FrameBody::Welcome(_));
        if theirs != ours && theirs > 0 && ours > 0 {
            self.event(ControlEvent::OtherCluster { cluster: theirs });
            return false;
        }
        let is_apart = theirs != ours && !is_meeting;
        if is_apart && !self.takes_in(frame) {
            return false;
        }
        (frame.to == 0 || frame.to == self.me.id) && self.is_newest(frame)
    }

    fn take(&mut self, frame: ControlFrame, now: ControlTime) {
        let from = frame.from;
        match frame.body {
            FrameBody::Hello(hello) => self.handle_hello(hello, frame.cluster, now),
            FrameBody::Welcome(welcome) => self.handle_welcome(welcome, frame.cluster, now),
            FrameBody::Found(nodes) => self.handle_found(frame.cluster, nodes),
            FrameBody::Raft(raft) => {
                if self.meta.cluster == 0 {
                    self.bind(frame.cluster, Vec::new());
                }
                self.handle_raft(from, &raft, now);
            }
            FrameBody::Reply(reply) => self.handle_reply(from, reply, now),
            FrameBody::PreVote(last) => self.handle_pre_vote(from, last, now),
            FrameBody::PreVoteReply(is_granted) => {
                self.handle_pre_vote_reply(from, is_granted, now);
            }
            FrameBody::Snapshot(part) => self.handle_part(from, &part, now),
            FrameBody::SnapshotReply { index, next } => self.handle_part_reply(from, index, next),
            FrameBody::Request { ticket, command } => {
                self.handle_request((from, ticket).into(), &command, now);
            }
            FrameBody::Outcome { ticket, error } => self.finish(ticket, error),
            FrameBody::Refused(error) => self.event(ControlEvent::Refused(error)),
        }
    }

    fn frame(&self, to: u64, body: FrameBody) -> Arc<[u8]> {
        let frame = ControlFrame {
            cluster: self.meta.cluster,
            from: self.me.id,
            to,
            boot: self.me.boot,
            body,
        };
        frame.encode().into()
    }

    /// Sends a frame to a node by its number.
    fn send(&mut self, to: u64, body: FrameBody) {
        if let Some(name) = self.name_of(to) {
            let bytes = self.frame(to, body);
            push(&mut self.out.sends, ControlSend { to: name, bytes });
        }
    }

    /// Sends a frame to a node by its name, whatever its number.
    fn send_to(&mut self, name: String, body: FrameBody) {
        let bytes = self.frame(0, body);
        push(&mut self.out.sends, ControlSend { to: name, bytes });
    }

    fn event(&mut self, event: ControlEvent) {
        push(&mut self.out.events, event);
    }

    fn name_of(&self, id: u64) -> Option<String> {
        let known = self.state.by_id(id).map(|(_, node)| &node.info);
        let founder = || self.meta.founders.iter().find(|founder| founder.id == id);
        let info = known.or_else(founder).map(|info| &info.name);
        info.or_else(|| self.meet.names.get(&id)).cloned()
    }

    /// Forgets everything and joins again under another number: the disk is an old one or a copy.
    fn become_new(&mut self, now: ControlTime) {
        self.me.id = fresh_id(&mut self.dice);
        self.me.boot = next_boot(0, &mut self.dice);
        self.meta = Meta {
            id: self.me.id,
            boot: self.me.boot,
            name: self.me.name.clone(),
            ..Meta::default()
        };
        self.log = ControlLog::fresh(self.me.id);
        (self.snapshot, self.state) = (StateSnapshot::default(), Arc::default());
        (self.applied, self.lead) = (0, None);
        self.election = Election::new(&self.config, true, now);
        self.tenure = Tenure::new(now);
        self.meet.restart(self.log.last(), now);
        self.out.sends.clear();
        self.disk.rewrite();
        self.event(ControlEvent::NewIdentity);
        self.event(ControlEvent::Changed);
    }
}

fn push<T>(queue: &mut VecDeque<T>, one: T) {
    if queue.len() < OUT_MAX {
        queue.push_back(one);
    }
}

/// A number that no node has, but for one in 2^63.
fn fresh_id(dice: &mut Dice) -> u64 {
    dice.roll() | 1
}

/// Grows with each start; its lower bits are by chance, so that two copies of a folder do not have the same.
fn next_boot(last: u64, dice: &mut Dice) -> u64 {
    ((last >> 16) + 1) << 16 | dice.below(1 << 16)
}

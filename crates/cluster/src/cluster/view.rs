//! The members as the shell sees them: numbers are unique, and an address belongs to one node.
//!
//! Not here: the protocol that finds them.

use std::collections::{BTreeMap, BTreeSet};

use super::Cluster;
use crate::event::Event;
use crate::frame::FrameKind;
use crate::link::PeerLink;
use crate::member::{Member, MemberState};
use crate::number::next_free;
use crate::peer::ClusterPeer;
use crate::swim::News;

use tollgate_gossip::{NodeId, Writer};

impl Cluster {
    /// Executes the requests of the membership protocol, and refreshes the members.
    pub(super) fn settle(&mut self) {
        if self.is_silent {
            return;
        }
        // Renumbering creates more requests; it settles at once, since only the greater id moves.
        for _ in 0..3 {
            if !self.swim.take_touched() {
                return;
            }
            let (sends, news) = self.swim.take_wants();
            if sends.is_empty() && news.is_empty() && !self.is_stale() {
                return;
            }
            self.refresh();
            for (to, packet) in sends {
                self.queue_probe(&to, &packet);
            }
            for news in news {
                self.hear_news(news);
            }
            self.renumber();
        }
    }

    fn is_stale(&self) -> bool {
        let mut count = 0;
        let is_same = self.swim.active().all(|(peer, state)| {
            count += 1;
            let link = self.links.get(&peer.boot);
            link.is_some_and(|link| link.is_same(peer, state))
        });
        !is_same || count != self.links.len()
    }

    fn hear_news(&mut self, news: News) {
        match news {
            News::Replaced { old, new } => {
                // If the old process still runs it must learn of this; after a plain restart the old address is dead.
                if old.boot != new.boot && old.address != new.address {
                    self.tell_rival(&old, &new);
                }
            }
            News::Rejoined => self.tally.rejoins += 1,
        }
    }

    /// Takes other numbers if a live member with a smaller id has ours.
    fn renumber(&mut self) {
        let me = self.swim.me();
        let elders = self.swim.active().filter(|(peer, _)| peer.id < me.id);
        let (mut is_node, mut is_writer) = (false, false);
        for (elder, _) in elders {
            is_node |= elder.node == me.node;
            is_writer |= elder.writer == me.writer;
        }
        if is_node || is_writer {
            self.take_numbers(is_node, is_writer);
        }
    }

    /// Changes the node number, the writer number, or both.
    pub(super) fn take_numbers(&mut self, is_node: bool, is_writer: bool) {
        let me = self.swim.me();
        let mut next = me.bumped();
        if is_node {
            let taken: BTreeSet<u16> = self.swim.remembered().map(|peer| peer.node.0).collect();
            next.node = NodeId(next_free(me.node.0, &taken));
        }
        if is_writer {
            let mut taken: BTreeSet<u16> =
                self.swim.remembered().map(|peer| peer.writer.0).collect();
            taken.insert(me.writer.0);
            next.writer = Writer(next_free(me.writer.0, &taken));
        }
        let (node, writer) = (next.node, next.writer);
        self.swim.become_peer(next, self.clock.mono());
        self.tell(Event::Renumbered { node, writer });
    }

    /// Updates members and links from the membership protocol.
    fn refresh(&mut self) {
        let me = self.swim.me().clone();
        let mut active: Vec<(ClusterPeer, MemberState)> = self
            .swim
            .active()
            .map(|(peer, state)| (peer.clone(), state))
            .collect();
        active.sort_by_key(|(peer, _)| peer.id);
        let changes = self.call_roll(&me, &active);
        self.fit_links(&active);
        let members = visible(&me, &active);
        self.by_node = members
            .iter()
            .filter(|member| member.boot != me.boot)
            .map(|member| (member.node, member.boot))
            .collect();
        for (boot, link) in &mut self.links {
            link.is_visible = self.by_node.get(&link.node) == Some(boot);
        }
        let is_same = members.len() == self.members.len()
            && members
                .iter()
                .zip(&self.members)
                .all(|(new, old)| is_same(new, old));
        let had = self.members.len();
        self.members = members;
        if !is_same {
            self.swim.fit(self.members.len());
            self.tell(Event::Members);
        }
        match (had > 1, self.members.len() > 1) {
            (false, true) => {
                self.search.join(self.clock.mono());
                self.tell(Event::Joined);
            }
            (true, false) => {
                self.search.hurry(self.clock.mono());
                self.tell(Event::Alone);
            }
            (false, false) | (true, true) => {}
        }
        self.tell_changes(changes);
    }

    /// Members that joined or left since the last call.
    fn call_roll(&mut self, me: &ClusterPeer, active: &[(ClusterPeer, MemberState)]) -> Vec<Event> {
        let (links, clock) = (&self.links, &self.clock);
        let heard = |boot| {
            let heard = links.get(&boot).and_then(|link| link.gaps.heard());
            let heard = heard.map(|mono| clock.day_ms_at(mono));
            heard.unwrap_or_else(|| clock.day_ms())
        };
        self.roll.update(me, active, heard)
    }

    /// Emits the changes, and sends the missing nodes to those that joined.
    fn tell_changes(&mut self, changes: Vec<Event>) {
        for change in changes {
            if let Event::Came { node, .. } = &change {
                let came = self.members.iter().find(|member| member.node == *node);
                let news = came.and_then(|came| self.roll.news_for(came.started));
                if let Some(news) = news {
                    // If its queue is full the newcomer misses this; other nodes send it too.
                    let _ = self.queue_message(*node, FrameKind::Missing, &news);
                }
            }
            self.tell(change);
        }
    }

    fn fit_links(&mut self, active: &[(ClusterPeer, MemberState)]) {
        let boots: BTreeSet<u64> = active.iter().map(|(peer, _)| peer.boot).collect();
        self.links.retain(|boot, _| boots.contains(boot));
        for (peer, state) in active {
            let link = self.links.entry(peer.boot);
            let link = link.or_insert_with(|| PeerLink::new(peer.node, peer.address));
            link.node = peer.node;
            link.address = peer.address;
            link.version = (peer.generation, peer.bump);
            link.state = *state;
        }
    }
}

/// Every member once, by number. Two with one number: the smaller id keeps it. Two with one address: the later
/// boot keeps it.
fn visible(me: &ClusterPeer, active: &[(ClusterPeer, MemberState)]) -> Vec<Member> {
    let mut latest = BTreeMap::from([(me.address, (u64::MAX, me.boot))]);
    for (peer, _) in active {
        let start = (peer.started, peer.boot);
        let held = latest.entry(peer.address).or_insert(start);
        *held = start.max(*held);
    }
    let mut nodes = BTreeMap::from([(me.node, me.member(MemberState::Alive))]);
    let mut writers = BTreeSet::from([me.writer]);
    for (peer, state) in active {
        let holds_address = latest.get(&peer.address) == Some(&(peer.started, peer.boot));
        if !holds_address || nodes.contains_key(&peer.node) || !writers.insert(peer.writer) {
            continue;
        }
        nodes.insert(peer.node, peer.member(*state));
    }
    nodes.into_values().collect()
}

/// Whether nothing changed that others act on.
fn is_same(one: &Member, other: &Member) -> bool {
    Member {
        state: other.state,
        ..one.clone()
    } == *other
}

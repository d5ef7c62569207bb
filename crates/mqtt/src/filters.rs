//! Many filters at once: a tree of levels, so that a topic is not compared with each of them.

use std::collections::BTreeMap;

use crate::filter::{TopicFilter, is_hidden};

/// Filters, each identified by its index.
#[derive(Clone, Debug)]
pub struct Filters {
    nodes: Vec<Node>,
    count: usize,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// Children by the name of the level.
    names: BTreeMap<Box<str>, usize>,
    /// The child for `+`.
    plus: Option<usize>,
    /// Filters that end here.
    here: Vec<usize>,
    /// Filters whose next level is `#`.
    rest: Vec<usize>,
}

impl Default for Filters {
    fn default() -> Self {
        Self {
            nodes: vec![Node::default()],
            count: 0,
        }
    }
}

impl Filters {
    /// Returns the index: zero for the first, then one more for each.
    pub fn add(&mut self, filter: &TopicFilter) -> usize {
        let place = self.count;
        self.count += 1;
        let mut at = 0;
        for level in filter.levels() {
            if level == "#" {
                self.nodes[at].rest.push(place);
                return place;
            }
            at = self.below(at, level);
        }
        self.nodes[at].here.push(place);
        place
    }

    pub const fn len(&self) -> usize {
        self.count
    }

    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Calls `found` with the index of each matching filter, in no order. Recursion is bounded by the filters'
    /// levels.
    pub fn matching(&self, topic: &str, mut found: impl FnMut(usize)) {
        self.walk(0, Some(topic), is_hidden(topic), &mut found);
    }

    /// `rest` is the rest of the topic; the depth is at most `LEVELS_MAX`.
    fn walk(&self, at: usize, rest: Option<&str>, hidden: bool, found: &mut impl FnMut(usize)) {
        let node = &self.nodes[at];
        if !hidden {
            node.rest.iter().for_each(|place| found(*place));
        }
        let Some(rest) = rest else {
            node.here.iter().for_each(|place| found(*place));
            return;
        };
        let (name, rest) = match rest.split_once('/') {
            Some((name, rest)) => (name, Some(rest)),
            None => (rest, None),
        };
        if let Some(&below) = node.names.get(name) {
            self.walk(below, rest, false, found);
        }
        if let (Some(below), false) = (node.plus, hidden) {
            self.walk(below, rest, false, found);
        }
    }

    fn below(&mut self, at: usize, level: &str) -> usize {
        let next = self.nodes.len();
        let node = &mut self.nodes[at];
        let below = if level == "+" {
            *node.plus.get_or_insert(next)
        } else {
            *node.names.entry(level.into()).or_insert(next)
        };
        if below == next {
            self.nodes.push(Node::default());
        }
        below
    }
}

//! A few values by node, in ascending order: as small as they are.
//!
//! Not here: what they mean. A tree takes room for eleven, whose like a busy key has four of.

use tollgate_gossip::NodeId;

/// Values by node.
#[derive(Clone, Debug)]
pub(crate) struct ByNode<T>(Vec<Entry<T>>);

#[derive(Clone, Debug)]
struct Entry<T> {
    node: NodeId,
    value: T,
}

impl<T> Default for ByNode<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> ByNode<T> {
    fn place(&self, node: NodeId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&node, |entry| entry.node)
    }

    pub(crate) fn get(&self, node: NodeId) -> Option<&T> {
        let place = self.place(node).ok()?;
        self.0.get(place).map(|entry| &entry.value)
    }

    pub(crate) fn get_mut(&mut self, node: NodeId) -> Option<&mut T> {
        let place = self.place(node).ok()?;
        self.0.get_mut(place).map(|entry| &mut entry.value)
    }

    pub(crate) fn insert(&mut self, node: NodeId, value: T) {
        match self.place(node) {
            Ok(place) => {
                if let Some(entry) = self.0.get_mut(place) {
                    entry.value = value;
                }
            }
            Err(place) => {
                self.0.reserve_exact(1);
                self.0.insert(place, Entry { node, value });
            }
        }
    }

    pub(crate) fn remove(&mut self, node: NodeId) {
        if let Ok(place) = self.place(node) {
            self.0.remove(place);
        }
        self.give_back();
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(NodeId, &mut T) -> bool) {
        self.0
            .retain_mut(|entry| keep(entry.node, &mut entry.value));
        self.give_back();
    }

    fn give_back(&mut self) {
        if self.0.is_empty() {
            self.0 = Vec::new();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (NodeId, &T)> {
        self.0.iter().map(|entry| (entry.node, &entry.value))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|entry| &entry.value)
    }
}

impl<T: Default> ByNode<T> {
    pub(crate) fn get_or_default(&mut self, node: NodeId) -> Option<&mut T> {
        if self.place(node).is_err() {
            self.insert(node, T::default());
        }
        self.get_mut(node)
    }
}

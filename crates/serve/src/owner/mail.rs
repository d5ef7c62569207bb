//! Questions sorted by whom they go to. Not here: how they get there (`lane`).

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use tollgate_gossip::NodeId;

use super::ask::Parcel;
use super::map::Map;
use super::work::OwnerStep;

/// Questions of one asker, by the node they go to.
#[derive(Default)]
pub(super) struct Mail(pub(super) Vec<Letter>);

/// What goes to one node.
pub(super) struct Letter {
    pub(super) to: NodeId,
    pub(super) parcel: Parcel,
    /// The work and the step of each question.
    pub(super) steps: Vec<(usize, usize)>,
}

impl Mail {
    /// Adds a question.
    pub(super) fn put(&mut self, to: NodeId, at: (usize, usize), map: &Map, step: &OwnerStep) {
        let known = self.0.iter().position(|letter| letter.to == to);
        let known = known.unwrap_or_else(|| {
            self.0.push(Letter {
                to,
                parcel: Parcel::default(),
                steps: Vec::new(),
            });
            self.0.len() - 1
        });
        if let Some(letter) = self.0.get_mut(known) {
            letter
                .parcel
                .put(map, &step.question, step.is_told, step.is_last);
            letter.steps.push(at);
        }
    }
}

/// Waits for all, in any order.
pub(crate) async fn join_all<T>(
    futures: impl Iterator<Item = impl Future<Output = T> + Send>,
) -> Vec<T> {
    let mut futures: Vec<Pin<Box<_>>> = futures.map(Box::pin).collect();
    let mut done = Vec::with_capacity(futures.len());
    poll_fn(|context| {
        futures.retain_mut(|future| match future.as_mut().poll(context) {
            Poll::Ready(output) => {
                done.push(output);
                false
            }
            Poll::Pending => true,
        });
        if futures.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    done
}

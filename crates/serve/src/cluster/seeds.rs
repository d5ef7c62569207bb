//! Nodes to join: addresses as they are, names looked up at the start and again now and then.
//!
//! A name that cannot be looked up keeps what it stood for. Not here: joining.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::settings::Join;

/// Those that are addresses.
pub(super) fn literal(joins: &[Join]) -> Vec<SocketAddr> {
    joins.iter().filter_map(address).collect()
}

fn address(join: &Join) -> Option<SocketAddr> {
    let ip = join.host.parse::<IpAddr>().ok()?;
    Some(SocketAddr::new(ip, join.port))
}

/// Looks names up until nobody wants to know, more often while the node is alone; tells all addresses when they
/// changed.
pub(super) async fn look(
    joins: Vec<Join>,
    mut alone: watch::Receiver<bool>,
    found: mpsc::Sender<Vec<SocketAddr>>,
) {
    let (addresses, names): (Vec<_>, Vec<_>) =
        joins.into_iter().partition(|join| address(join).is_some());
    if names.is_empty() {
        return;
    }
    let mut known: BTreeMap<usize, Vec<SocketAddr>> = BTreeMap::new();
    let mut told = Vec::new();
    loop {
        for (place, join) in names.iter().enumerate() {
            if let Some(list) = resolve(join).await {
                known.insert(place, list);
            }
        }
        let mut all = literal(&addresses);
        all.extend(known.values().flatten());
        all.sort_unstable();
        all.dedup();
        all.truncate(SEEDS_MAX);
        if all != told {
            told.clone_from(&all);
            if found.send(all).await.is_err() {
                return;
            }
        }
        let is_alone = *alone.borrow_and_update();
        let rest = if is_alone { EVERY_ALONE } else { EVERY };
        tokio::select! {
            () = tokio::time::sleep(rest) => {}
            // At once when the last of the others goes.
            changed = alone.wait_for(|now| *now && !is_alone) => if changed.is_err() { return },
        }
    }
}

async fn resolve(join: &Join) -> Option<Vec<SocketAddr>> {
    let looked = timeout(PATIENCE, tokio::net::lookup_host((&*join.host, join.port))).await;
    match looked {
        Ok(Ok(found)) => Some(found.take(SEEDS_MAX).collect()),
        Ok(Err(error)) => {
            tracing::debug!(%join, %error, "the name of a node to join is not known");
            None
        }
        Err(_) => {
            tracing::debug!(%join, "the name of a node to join was not looked up in time");
            None
        }
    }
}

/// The most addresses that are tried.
const SEEDS_MAX: usize = 256;
const EVERY: Duration = Duration::from_secs(30);
const EVERY_ALONE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn names_are_looked_up_and_addresses_stay() {
        let joins = ["127.0.0.9:1", "localhost:2", "no-such-host.invalid:3"];
        let joins: Vec<Join> = joins.iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(literal(&joins), ["127.0.0.9:1".parse().unwrap()]);
        let (_alone, is_alone) = watch::channel(true);
        let (sender, mut found) = mpsc::channel(1);
        let task = tokio::spawn(look(joins, is_alone, sender));
        let seeds = found.recv().await.unwrap();
        assert!(seeds.contains(&"127.0.0.9:1".parse().unwrap()));
        assert!(
            seeds
                .iter()
                .any(|seed| seed.port() == 2 && seed.ip().is_loopback())
        );
        task.abort();
    }
}

//! Redirects clients that belong to another gateway: when they connect, and when the list changes.
//!
//! Not here: which clients those are (`placement`), and how a connection ends (`connection`).

use std::future::pending;
use std::path::Path;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::sync::watch;
use tokio::time::sleep;
use tollgate_mqtt::{Connect, Version, write};

use crate::meter::{Count, GatewayMeter};
use crate::placement::{BadPlacement, Placement, Recent, hash};
use crate::settings::PlacementList;

/// The list in force, if any.
#[derive(Debug)]
pub(crate) struct CurrentPlacement {
    told: Option<PlacementList>,
    list: ArcSwap<Placement>,
    recent: Recent,
    /// Counts reloads.
    lists: watch::Sender<u64>,
}

/// The properties of a client that decide its gateway.
#[derive(Debug)]
pub(crate) struct Guest {
    client: String,
    version: Version,
    /// Name and value of the user property that had its group, by the list at that time.
    group: Option<(String, String)>,
    /// Changes when the list changes after it connected.
    lists: watch::Receiver<u64>,
}

impl CurrentPlacement {
    pub(crate) fn read(told: Option<PlacementList>) -> Result<Self, BadPlacement> {
        let places = Self {
            told,
            list: ArcSwap::default(),
            recent: Recent::default(),
            lists: watch::Sender::new(0),
        };
        places.reload()?;
        Ok(places)
    }

    /// Reads the list again; an invalid one changes nothing.
    pub(crate) fn reload(&self) -> Result<(), BadPlacement> {
        let Some(told) = &self.told else {
            return Ok(());
        };
        let list = Placement::read(&told.file)?;
        if list.find(&told.me).is_none() {
            return Err(BadPlacement::NotMe(told.me.clone()));
        }
        if list != **self.list.load() {
            self.list.store(list.into());
            self.recent.forget();
            self.lists.send_modify(|count| *count += 1);
        }
        Ok(())
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        self.told.as_ref().map(|told| &*told.file)
    }

    /// This gateway's name, and the mark of the list in force.
    pub(crate) fn in_force(&self) -> Option<(String, String)> {
        let told = self.told.as_ref()?;
        Some((told.me.clone(), self.list.load().mark()))
    }

    pub(crate) fn guest(&self, connect: &Connect<'_>) -> Guest {
        // Subscribe before reading the list, so that a change in between is seen.
        let lists = self.lists.subscribe();
        let list = self.list.load();
        let group = list.property().and_then(|name| {
            let mut all = connect.properties.user();
            let found = all.find(|(is, _)| *is == name);
            found.map(|(name, value)| (name.to_owned(), value.to_owned()))
        });
        Guest {
            client: connect.client.to_owned(),
            version: connect.version,
            group,
            lists,
        }
    }

    fn elsewhere(&self, guest: &Guest) -> Option<String> {
        let told = self.told.as_ref()?;
        let list = self.list.load();
        let group = guest.group.as_ref();
        let property = |name: &str| {
            let group = group.filter(|(is, _)| is == name);
            group.map(|(_, value)| &**value)
        };
        let place = list.place(&guest.client, property)?;
        let (name, address) = list.at(place)?;
        (name != told.me).then(|| address.to_owned())
    }

    /// The gateway to redirect a client to; `None` if it stays: it belongs here or nowhere, cannot be redirected
    /// (MQTT 3.1.1), or was redirected by this list recently and came back.
    fn sends(&self, guest: &Guest, meter: &GatewayMeter) -> Option<String> {
        let address = self.elsewhere(guest)?;
        let is_sent =
            guest.version == Version::V5 && self.recent.sends(&guest.client, Instant::now());
        if !is_sent {
            meter.one(Count::Misplaced);
        }
        is_sent.then_some(address)
    }

    /// The packet that redirects a connecting client; `None` if it stays.
    pub(crate) fn refer(&self, guest: &Guest, meter: &GatewayMeter) -> Option<Vec<u8>> {
        let words = write::refer(&self.sends(guest, meter)?);
        meter.one(Count::Referred);
        words
    }

    /// Waits until a new list assigns a connected client to another gateway. Returns the packet that redirects it.
    pub(crate) async fn moved(&self, guest: &Guest, meter: &GatewayMeter) -> Vec<u8> {
        if self.told.is_none() {
            return pending().await;
        }
        let mut lists = guest.lists.clone();
        let mut stray = meter.stray();
        loop {
            stray.set(self.elsewhere(guest).is_some());
            if lists.changed().await.is_err() {
                return pending().await;
            }
            stray.set(self.elsewhere(guest).is_some());
            // The other gateways must have the list too, or they would send it back; and all clients would reach
            // them at once.
            let part = hash(&guest.client) % SPREAD_MS;
            sleep(GRACE + Duration::from_millis(part)).await;
            let address = self.sends(guest, meter);
            if let Some(words) = address.and_then(|address| write::use_another(&address)) {
                meter.one(Count::Moved);
                return words;
            }
        }
    }
}

/// Until all gateways have read a changed list: servers poll four times a second, and need two polls.
const GRACE: Duration = Duration::from_secs(1);
/// Redirects of connected clients are spread over this time.
const SPREAD_MS: u64 = 1_000;

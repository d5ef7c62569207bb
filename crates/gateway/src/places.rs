//! Tells clients that belong to another gateway where that is: when they connect, and when another list is in force.
//!
//! Not here: which those are (`placement`), and how a connection ends (`connection`).

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

/// The list in force, where there is one.
#[derive(Debug)]
pub(crate) struct CurrentPlacement {
    told: Option<PlacementList>,
    list: ArcSwap<Placement>,
    recent: Recent,
    /// How many lists there were.
    lists: watch::Sender<u64>,
}

/// A client, as far as it matters where it belongs.
#[derive(Debug)]
pub(crate) struct Guest {
    client: String,
    version: Version,
    /// The user property of its CONNECT that said its group by the list of then, and what it says.
    group: Option<(String, String)>,
    /// Tells when another list is in force than it came by.
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

    /// Reads the list again; one that cannot be used changes nothing.
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

    /// The file of the list.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.told.as_ref().map(|told| &*told.file)
    }

    /// What this gateway is called, and which list is in force.
    pub(crate) fn in_force(&self) -> Option<(String, String)> {
        let told = self.told.as_ref()?;
        Some((told.me.clone(), self.list.load().mark()))
    }

    /// Whoever connects.
    pub(crate) fn guest(&self, connect: &Connect<'_>) -> Guest {
        // Before the list is looked at: one that comes meanwhile is another.
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

    /// The address of another gateway that a client belongs to.
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

    /// Another gateway that a client is to be told; none where it stays: it belongs here or nowhere, cannot be told
    /// (MQTT 3.1.1), or was told by this list lately and came back.
    fn sends(&self, guest: &Guest, meter: &GatewayMeter) -> Option<String> {
        let address = self.elsewhere(guest)?;
        let is_sent =
            guest.version == Version::V5 && self.recent.sends(&guest.client, Instant::now());
        if !is_sent {
            meter.one(Count::Misplaced);
        }
        is_sent.then_some(address)
    }

    /// What a client is told that connects and belongs elsewhere.
    pub(crate) fn refer(&self, guest: &Guest, meter: &GatewayMeter) -> Option<Vec<u8>> {
        let words = write::refer(&self.sends(guest, meter)?);
        meter.one(Count::Referred);
        words
    }

    /// Waits until a client that is in belongs elsewhere by another list than it came by, and says what it is told.
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
            // The others must have the list, too, or they would send it back; and all at once would come at once to
            // them.
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

/// Until all gateways have read a list that changed: servers look four times a second, and twice.
const GRACE: Duration = Duration::from_secs(1);
/// Clients that belong elsewhere are told so within that time.
const SPREAD_MS: u64 = 1_000;

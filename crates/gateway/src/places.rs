//! Tells clients that belong to another gateway where that is. Not here: which those are (`placement`).

use std::path::Path;
use std::time::Instant;

use arc_swap::ArcSwap;
use tollgate_mqtt::{Connect, Version, write};

use crate::meter::{Count, Meter};
use crate::placement::{BadPlacement, Placement, Recent};
use crate::settings::PlacementList;

/// The list in force, where there is one.
#[derive(Debug)]
pub(crate) struct Places {
    told: Option<PlacementList>,
    list: ArcSwap<Placement>,
    recent: Recent,
}

impl Places {
    pub(crate) fn read(told: Option<PlacementList>) -> Result<Self, BadPlacement> {
        let places = Self {
            told,
            list: ArcSwap::default(),
            recent: Recent::default(),
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
        self.list.store(list.into());
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

    /// What a client is told that belongs elsewhere; nothing where it stays: it belongs here or nowhere, cannot be told (MQTT
    /// 3.1.1), or was told lately and came back.
    pub(crate) fn elsewhere(&self, connect: &Connect<'_>, meter: &Meter) -> Option<Vec<u8>> {
        let told = self.told.as_ref()?;
        let list = self.list.load();
        let property = |name: &str| {
            let mut all = connect.properties.user();
            all.find(|(is, _)| *is == name).map(|(_, value)| value)
        };
        let place = list.place(connect.client, property)?;
        let (name, address) = list.at(place)?;
        if name == told.me {
            return None;
        }
        let is_sent =
            connect.version == Version::V5 && self.recent.sends(connect.client, Instant::now());
        let words = is_sent.then(|| write::refer(address)).flatten();
        if words.is_none() {
            meter.one(Count::Misplaced);
        }
        words
    }
}

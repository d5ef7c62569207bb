//! The nodes among which a rate is divided: names, or names with weights.
//!
//! Not here: how a rate is divided (`tollgate-supply`).

use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tollgate_contract::file::{Place, Text};
use tollgate_node::Roster;

/// A list of names, or names with weights.
#[derive(Debug)]
pub(super) struct RawRoster {
    nodes: Vec<(Text, Option<Text>)>,
}

impl RawRoster {
    pub(super) fn place(&self) -> Place {
        let first = self.nodes.first();
        first.map_or_else(Place::default, |(name, _)| name.place)
    }

    /// The roster, or an error and its place.
    pub(super) fn check(&self) -> Result<Roster, (Place, String)> {
        let nodes = self.nodes.iter().map(|(name, weight)| {
            let named = super::cluster::name(&name.value).map_err(|what| (name.place, what))?;
            let weight = weight.as_ref().map_or(Ok(1), |text| {
                self::weight(&text.value).map_err(|what| (text.place, what))
            })?;
            Ok((named, weight))
        });
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        Roster::new(nodes).map_err(|error| (self.place(), error.to_string()))
    }
}

/// Names between commas, each optionally followed by `=` and a weight.
pub fn roster(text: &str) -> Result<Roster, String> {
    let parts = text.split(',').map(str::trim);
    let nodes = parts.filter(|part| !part.is_empty()).map(|part| {
        let (name, weight) = match part.rsplit_once('=') {
            Some((name, weight)) => (name, self::weight(weight)?),
            None => (part, 1),
        };
        Ok((super::cluster::name(name)?, weight))
    });
    let nodes = nodes.collect::<Result<Vec<_>, String>>()?;
    Roster::new(nodes).map_err(|error| error.to_string())
}

fn weight(text: &str) -> Result<u32, String> {
    let weight = text.parse().ok().filter(|weight| *weight <= WEIGHT_MAX);
    weight.ok_or_else(|| format!("must be a whole number from 0 to {WEIGHT_MAX}"))
}

impl<'de> Deserialize<'de> for RawRoster {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Names)
    }
}

struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = RawRoster;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of names, or names with weights")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<RawRoster, A::Error> {
        let mut nodes = Vec::new();
        while let Some(name) = items.next_element()? {
            has_room(&nodes)?;
            nodes.push((name, None));
        }
        Ok(RawRoster { nodes })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawRoster, A::Error> {
        let mut nodes = Vec::new();
        while let Some((name, weight)) = map.next_entry()? {
            has_room(&nodes)?;
            nodes.push((name, Some(weight)));
        }
        Ok(RawRoster { nodes })
    }
}

fn has_room<T, E: Error>(nodes: &[T]) -> Result<(), E> {
    if nodes.len() < ROSTER_MAX {
        return Ok(());
    }
    Err(E::custom(format_args!(
        "a roster has at most {ROSTER_MAX} nodes"
    )))
}

/// Rates can be divided among this many nodes.
pub const ROSTER_MAX: usize = 4096;
const WEIGHT_MAX: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::settings::Settings;

    fn parse(text: &str) -> Result<Settings, String> {
        Settings::parse(text, Path::new("/etc/t.yaml"))
    }

    fn nodes(roster: Option<Roster>) -> Vec<(String, u32)> {
        roster.unwrap().nodes().to_vec()
    }

    #[test]
    fn a_roster_is_a_list_or_a_map_or_a_line() {
        let expected = [("a".to_owned(), 1), ("b".to_owned(), 2)];
        for text in [
            "cluster: { roster: { b: 2, a: 1 } }",
            "cluster: { roster: { a: 1, b: 2 } }",
        ] {
            let settings = parse(text).unwrap().cluster.unwrap();
            assert_eq!(nodes(settings.roster), expected, "{text}");
        }
        let list = parse("cluster: { roster: [b, a] }").unwrap();
        assert_eq!(nodes(list.cluster.unwrap().roster).len(), 2);
        assert_eq!(nodes(roster("b=2, a").ok()), expected);
    }

    #[test]
    fn mistakes_are_said_with_their_places() {
        for (text, said) in [
            ("cluster: { roster: [] }", "at least one"),
            ("cluster: { roster: [a, a] }", "twice"),
            ("cluster: { roster: { a: 0 } }", "weight above zero"),
            ("cluster: { roster: { a: -1 } }", "t.yaml:1:25"),
            ("cluster: { roster: ['a b'] }", "t.yaml:1:21"),
            ("cluster: { roster: a }", "list of names"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert!(roster("a=x").is_err());
        assert!(roster("").is_err());
    }
}

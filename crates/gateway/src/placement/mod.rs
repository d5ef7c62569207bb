//! Which gateway a client belongs to: a list that is the same on every gateway of a topic.
//!
//! Lines of words; `#` begins a comment:
//!
//! ```text
//! gateway NAME ADDRESS [WEIGHT]      # where clients reach it, host:port; with weight 0 nobody is sent there
//! client IDENTIFIER NAME             # this client belongs there
//! member IDENTIFIER GROUP            # this client publishes together with its group
//! groups client PATTERN              # such as plant-{group}-{member}
//! groups property NAME               # a user property of CONNECT says the group (MQTT 5)
//! others                             # everybody else, each a group of its own
//! ```
//!
//! Members of a group are spread over the gateways, one after the other: by their order in the list, by the number that
//! `{member}` is, or else by a hash. A client of whom nothing is said stays where it is. Not here: how clients are told
//! (`connection`).

mod recent;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

pub(crate) use recent::Recent;
use tollgate_kit::{FNV, fnv};

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Placement {
    gateways: Vec<Gateway>,
    /// Gateways in the order in which group members are assigned, each repeated by its weight.
    turns: Vec<usize>,
    fixed: BTreeMap<String, usize>,
    /// Group and index by client.
    members: BTreeMap<String, (String, u64)>,
    pattern: Option<Pattern>,
    property: Option<String>,
    /// Whether clients without a line are spread too.
    spreads_others: bool,
    /// Changes with the text of the list.
    mark: u64,
}

#[derive(Debug, PartialEq, Eq)]
struct Gateway {
    name: String,
    address: String,
    weight: u32,
}

/// Text, a group, text, a member, text; the two may be the other way round.
#[derive(Debug, PartialEq, Eq)]
struct Pattern {
    texts: [String; 3],
    is_group_first: bool,
}

#[derive(Debug)]
pub enum BadPlacement {
    Unreadable(String, std::io::Error),
    /// The number of the line, and the error.
    Line(usize, String),
    /// Longer than the bound.
    TooLong,
    /// No gateway has a weight.
    NoWeight,
    /// It does not name the gateway that reads it.
    NotMe(String),
}

impl Placement {
    pub fn read(path: &Path) -> Result<Self, BadPlacement> {
        let failed = |error| BadPlacement::Unreadable(path.display().to_string(), error);
        let size = std::fs::metadata(path).map_err(failed)?.len();
        if size > BYTES_MAX {
            return Err(BadPlacement::TooLong);
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        Self::parse(&text)
    }

    pub fn parse(text: &str) -> Result<Self, BadPlacement> {
        let mut placement = Self::default();
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            let taken = match words[..] {
                [] => Ok(()),
                ["gateway", name, address] => placement.gateway(name, address, "1"),
                ["gateway", name, address, weight] => placement.gateway(name, address, weight),
                ["client", client, name] => placement.client(client, name),
                ["member", client, group] => {
                    let count = counts.entry(group).or_default();
                    placement.member(client, group, *count).map(|()| *count += 1)
                }
                ["groups", "client", pattern] => placement.pattern(pattern),
                ["groups", "property", name] => {
                    placement.property = Some(name.to_owned());
                    Ok(())
                }
                ["others"] => {
                    placement.spreads_others = true;
                    Ok(())
                }
                _ => Err("write `gateway NAME ADDRESS`, `client ID NAME`, `member ID GROUP`, `groups client PATTERN`, `groups property NAME` or `others`".to_owned()),
            };
            taken.map_err(|what| BadPlacement::Line(number + 1, what))?;
        }
        if placement.gateways.is_empty() {
            return Err(BadPlacement::NotMe(String::new()));
        }
        placement.turns = turns(&placement.gateways);
        if placement.turns.is_empty() {
            return Err(BadPlacement::NoWeight);
        }
        placement.mark = hash(text);
        Ok(placement)
    }

    fn gateway(&mut self, name: &str, address: &str, weight: &str) -> Result<(), String> {
        if self.find(name).is_some() {
            return Err(format!("gateway `{name}` is there twice"));
        }
        let port = address
            .rsplit_once(':')
            .map(|(_, port)| port.parse::<u16>());
        if !matches!(port, Some(Ok(1..))) || address.len() > ADDRESS_MAX {
            return Err("write an address as host:port, such as broker.example:1884".to_owned());
        }
        let weight = weight.parse().ok().filter(|weight| *weight <= WEIGHT_MAX);
        let weight = weight.ok_or_else(|| format!("a weight is between 0 and {WEIGHT_MAX}"))?;
        if self.gateways.len() >= GATEWAYS_MAX {
            return Err(format!("at most {GATEWAYS_MAX} gateways"));
        }
        self.gateways.push(Gateway {
            name: name.to_owned(),
            address: address.to_owned(),
            weight,
        });
        Ok(())
    }

    fn client(&mut self, client: &str, name: &str) -> Result<(), String> {
        let place = self.find(name);
        let place = place.ok_or_else(|| format!("no line above says where gateway `{name}` is"))?;
        match self.fixed.insert(client.to_owned(), place) {
            None => Ok(()),
            Some(_) => Err(format!("client `{client}` is there twice")),
        }
    }

    fn member(&mut self, client: &str, group: &str, place: u64) -> Result<(), String> {
        let member = (group.to_owned(), place);
        match self.members.insert(client.to_owned(), member) {
            None => Ok(()),
            Some(_) => Err(format!("client `{client}` is there twice")),
        }
    }

    fn pattern(&mut self, text: &str) -> Result<(), String> {
        let pattern = Pattern::parse(text);
        let wrong =
            || "a pattern has {group} and {member} once each, with text between them".to_owned();
        self.pattern = Some(pattern.ok_or_else(wrong)?);
        Ok(())
    }

    /// Changes with the text of the list.
    pub fn mark(&self) -> String {
        format!("{:016x}", self.mark)
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        self.gateways
            .iter()
            .position(|gateway| gateway.name == name)
    }

    pub fn at(&self, place: usize) -> Option<(&str, &str)> {
        let gateway = self.gateways.get(place)?;
        Some((&gateway.name, &gateway.address))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.gateways.iter().map(|gateway| &*gateway.name)
    }

    /// The user property that has the group of a client.
    pub(crate) fn property(&self) -> Option<&str> {
        self.property.as_deref()
    }

    /// The gateway of a client, by its identifier and the value of that user property; `None` if no line
    /// covers it.
    pub fn place<'a>(
        &self,
        client: &str,
        property: impl FnOnce(&str) -> Option<&'a str>,
    ) -> Option<usize> {
        if let Some(place) = self.fixed.get(client) {
            return Some(*place);
        }
        if let Some((group, place)) = self.members.get(client) {
            return self.turn(group, *place);
        }
        if let Some((group, member)) = self.pattern.as_ref().and_then(|is| is.split(client)) {
            let place = member.parse().unwrap_or_else(|_| hash(member));
            return self.turn(group, place);
        }
        let group = self.property.as_deref().and_then(property);
        match group {
            Some(group) => self.turn(group, hash(client)),
            // Clients whose identifier the broker assigns look the same here.
            None if self.spreads_others && !client.is_empty() => self.turn("", hash(client)),
            None => None,
        }
    }

    fn turn(&self, group: &str, member: u64) -> Option<usize> {
        let count = self.turns.len() as u64;
        let turn = (hash(group) % count.max(1)).wrapping_add(member % count.max(1)) % count.max(1);
        self.turns.get(usize::try_from(turn).ok()?).copied()
    }
}

impl Pattern {
    fn parse(text: &str) -> Option<Self> {
        let is_group_first = text.find(GROUP)? < text.find(MEMBER)?;
        let (first, second) = if is_group_first {
            (GROUP, MEMBER)
        } else {
            (MEMBER, GROUP)
        };
        let (before, rest) = text.split_once(first)?;
        let (between, after) = rest.split_once(second)?;
        let is_once = ![before, between, after]
            .iter()
            .any(|text| text.contains(['{', '}']));
        (is_once && !between.is_empty()).then(|| Self {
            texts: [before, between, after].map(str::to_owned),
            is_group_first,
        })
    }

    fn split<'a>(&self, client: &'a str) -> Option<(&'a str, &'a str)> {
        let [before, between, after] = &self.texts;
        let inner = client.strip_prefix(&**before)?.strip_suffix(&**after)?;
        let (first, second) = inner.split_once(&**between)?;
        if first.is_empty() || second.is_empty() {
            return None;
        }
        Some(if self.is_group_first {
            (first, second)
        } else {
            (second, first)
        })
    }
}

/// Each gateway repeated by its weight, not twice in a row where possible.
fn turns(gateways: &[Gateway]) -> Vec<usize> {
    let whole: u32 = gateways.iter().map(|gateway| gateway.weight).sum();
    let mut due: Vec<i64> = vec![0; gateways.len()];
    let mut turns = Vec::new();
    for _ in 0..whole {
        for (due, gateway) in due.iter_mut().zip(gateways) {
            *due += i64::from(gateway.weight);
        }
        let most = due.iter().max().copied().unwrap_or(0);
        let next = due.iter().position(|due| *due == most).unwrap_or(0);
        due[next] -= i64::from(whole);
        turns.push(next);
    }
    turns
}

/// Must be the same on all gateways and in all versions (FNV-1a, mixed).
pub(crate) fn hash(text: &str) -> u64 {
    let hash = fnv(FNV, text.as_bytes());
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 31)
}

impl fmt::Display for BadPlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) => write!(f, "{path}: {error}"),
            Self::Line(number, what) => write!(f, "placement, line {number}: {what}"),
            Self::TooLong => write!(f, "a placement has at most {BYTES_MAX} bytes"),
            Self::NoWeight => f.write_str(
                "the placement has no gateway with a weight above 0: nobody could be sent anywhere",
            ),
            Self::NotMe(name) if name.is_empty() => {
                f.write_str("the placement names no gateway: write `gateway NAME ADDRESS`")
            }
            Self::NotMe(name) => write!(
                f,
                "the placement has no gateway `{name}`: write `gateway {name} ADDRESS`, or say who this one is with --name"
            ),
        }
    }
}

impl std::error::Error for BadPlacement {}

const GROUP: &str = "{group}";
const MEMBER: &str = "{member}";
/// Bytes of a list: about a million lines.
const BYTES_MAX: u64 = 64 << 20;
const ADDRESS_MAX: usize = 512;
/// The most that a gateway may weigh.
pub const WEIGHT_MAX: u32 = 100;
const GATEWAYS_MAX: usize = 1000;

#[cfg(test)]
mod tests;

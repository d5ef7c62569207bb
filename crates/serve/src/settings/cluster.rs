//! How a server takes part in a cluster: where it listens for other nodes, whom it joins, by which key.
//!
//! Not here: the key itself (`cluster::keys`), which may change while the server runs.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;
use tollgate_cluster::{ClusterConfig, Pace};
use tollgate_contract::ErrorKind;
use tollgate_contract::file::{Few, Problem, Text, choice, given};
use tollgate_node::{Adapt, Roster, SplitSettings};

use super::file::Check;
use super::roster::{Form, RawRoster, roster};
use super::{Address, size};
use crate::owner::OwnerSettings;

/// How a server takes part in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSettings {
    /// Where other nodes reach it: datagrams and streams at the same port number. Port 0 is any free one.
    pub listen: SocketAddr,
    /// Where other nodes are told to reach it, where that is another address; port 0 is the one listened at.
    pub advertise: Option<SocketAddr>,
    /// Nodes to join, any of them.
    pub join: Vec<Join>,
    /// The file of the cluster's keys; a cluster does not start without.
    pub key_file: Option<PathBuf>,
    /// What the node is called; the host's name and the port where absent.
    pub name: Option<String>,
    /// Where it stands, for those who place requests.
    pub zone: Option<String>,
    /// How much of the work it can take, against others.
    pub capacity: u32,
    /// The most bytes of a datagram.
    pub mtu: usize,
    /// The most bytes sent in a second, where that is bounded.
    pub bandwidth: Option<u64>,
    /// How fast failures are noticed.
    pub pace: Pace,
    /// How many nodes the cluster is meant to have, the same on all of them: what the design `auto` goes by.
    pub size: Option<u64>,
    /// How the owners of keys are asked.
    pub owner: OwnerSettings,
    /// Who has a home where rates are divided, the same on all nodes.
    pub roster: Option<Roster>,
    /// The folder in which everything that a divided rate admits is written down, for whoever checks it.
    pub admission_log: Option<PathBuf>,
    /// How buckets are cut, the same on all nodes.
    pub split: SplitSettings,
}

impl Default for ClusterSettings {
    fn default() -> Self {
        Self {
            listen: CLUSTER_DEFAULT,
            advertise: None,
            join: Vec::new(),
            key_file: None,
            name: None,
            zone: None,
            capacity: CAPACITY,
            mtu: MTU,
            bandwidth: None,
            pace: Pace::LAN,
            size: None,
            owner: OwnerSettings::default(),
            roster: None,
            admission_log: None,
            split: SplitSettings::default(),
        }
    }
}

/// Where other nodes reach a server where nothing else is said.
pub const CLUSTER_DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT);

/// A node to join: an address, or a name that is looked up again now and then, with a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// An address or a name.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl fmt::Display for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl FromStr for Join {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self {
                host: address.ip().to_string(),
                port: address.port(),
            });
        }
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Ok(Self {
                host: ip.to_string(),
                port: PORT,
            });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()),
            None => (text, Some(PORT)),
        };
        let is_name = !host.is_empty()
            && host.len() <= HOST_BYTES_MAX
            && host
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
        match port {
            Some(port) if is_name => Ok(Self {
                host: host.to_owned(),
                port,
            }),
            _ => Err(format!(
                "{} is no node; write for example 10.0.0.7:{PORT} or tollgate.internal:{PORT}",
                tollgate_contract::file::quote(text)
            )),
        }
    }
}

/// What flags and the environment say of the cluster; each beats what is below it.
#[derive(Clone, Debug, Default)]
pub struct ClusterOverrides {
    /// Where other nodes reach it; `Some(None)` is off.
    pub listen: Option<Option<SocketAddr>>,
    /// Where other nodes are told to reach it.
    pub advertise: Option<SocketAddr>,
    /// Nodes to join.
    pub join: Option<Vec<Join>>,
    /// The file of keys.
    pub key_file: Option<PathBuf>,
    /// What the node is called.
    pub name: Option<String>,
    /// Where it stands.
    pub zone: Option<String>,
    /// How much it can take.
    pub capacity: Option<u32>,
    /// The most bytes of a datagram.
    pub mtu: Option<usize>,
    /// The most bytes sent in a second.
    pub bandwidth: Option<u64>,
    /// How many nodes the cluster is meant to have.
    pub size: Option<u64>,
    /// Who has a home where rates are divided.
    pub roster: Option<Roster>,
    /// The folder in which is written down what divided rates admit.
    pub admission_log: Option<PathBuf>,
    /// Whether nodes lend each other tokens of buckets that are cut.
    pub lends: Option<bool>,
    /// Whether parts of buckets that are cut follow traffic.
    pub adapt: Option<Adapt>,
}

impl ClusterOverrides {
    /// What the environment says; `variable` looks one up. The error has the variable's name.
    pub(super) fn of_environment(
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, (&'static str, String)> {
        Ok(Self {
            listen: read(variable, "TOLLGATE_CLUSTER_LISTEN", listen)?,
            advertise: read(variable, "TOLLGATE_CLUSTER_ADVERTISE", advertise)?,
            join: read(variable, "TOLLGATE_CLUSTER_JOIN", joins)?,
            key_file: variable("TOLLGATE_CLUSTER_KEY_FILE").map(PathBuf::from),
            name: read(variable, "TOLLGATE_CLUSTER_NAME", name)?,
            zone: read(variable, "TOLLGATE_CLUSTER_ZONE", name)?,
            capacity: read(variable, "TOLLGATE_CLUSTER_CAPACITY", |text| {
                number(text, (1, CAPACITY_MAX))
            })?,
            mtu: read(variable, "TOLLGATE_CLUSTER_MTU", |text| {
                bytes(text, MTU_BOUNDS).map(narrow)
            })?,
            bandwidth: read(variable, "TOLLGATE_CLUSTER_BANDWIDTH", |text| {
                bytes(text, BANDWIDTH_BOUNDS)
            })?,
            size: read(variable, "TOLLGATE_CLUSTER_SIZE", |text| {
                number(text, (1, SIZE_MAX)).map(u64::from)
            })?,
            roster: read(variable, "TOLLGATE_CLUSTER_ROSTER", roster)?,
            admission_log: None,
            lends: read(variable, "TOLLGATE_CLUSTER_LEND", lends)?,
            adapt: read(variable, "TOLLGATE_CLUSTER_ADAPT", Adapt::from_str)?,
        })
    }

    /// These, and where they are silent those below.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            listen: self.listen.or(below.listen),
            advertise: self.advertise.or(below.advertise),
            join: self.join.or(below.join),
            key_file: self.key_file.or(below.key_file),
            name: self.name.or(below.name),
            zone: self.zone.or(below.zone),
            capacity: self.capacity.or(below.capacity),
            mtu: self.mtu.or(below.mtu),
            bandwidth: self.bandwidth.or(below.bandwidth),
            size: self.size.or(below.size),
            roster: self.roster.or(below.roster),
            admission_log: self.admission_log.or(below.admission_log),
            lends: self.lends.or(below.lends),
            adapt: self.adapt.or(below.adapt),
        }
    }

    /// Changes settings to what is said here. An address, nodes to join or a key make a cluster where there was none.
    pub(super) fn apply(self, settings: &mut Option<ClusterSettings>) {
        if self.listen == Some(None) {
            *settings = None;
            return;
        }
        let is_asked = self.listen.is_some() || self.join.is_some() || self.key_file.is_some();
        if settings.is_none() && is_asked {
            *settings = Some(ClusterSettings::default());
        }
        let Some(settings) = settings else { return };
        if let Some(Some(listen)) = self.listen {
            settings.listen = listen;
        }
        settings.advertise = self.advertise.or(settings.advertise);
        settings.join = self.join.unwrap_or(std::mem::take(&mut settings.join));
        settings.key_file = self.key_file.or(settings.key_file.take());
        settings.name = self.name.or(settings.name.take());
        settings.zone = self.zone.or(settings.zone.take());
        settings.capacity = self.capacity.unwrap_or(settings.capacity);
        settings.mtu = self.mtu.unwrap_or(settings.mtu);
        settings.bandwidth = self.bandwidth.or(settings.bandwidth);
        settings.size = self.size.or(settings.size);
        settings.roster = self.roster.or(settings.roster.take());
        settings.admission_log = self.admission_log.or(settings.admission_log.take());
        settings.split.borrow = self.lends.unwrap_or(settings.split.borrow);
        settings.split.adapt = self.adapt.unwrap_or(settings.split.adapt);
    }
}

/// Several servers that count as one.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Cluster")]
pub(crate) struct RawCluster {
    /// Where other nodes reach it, datagrams and streams at the same port, or `off`; 127.0.0.1:7380 where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    listen: Option<Text>,
    /// Where other nodes are told to reach it, where that is another address; without a port the one listened at.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    advertise: Option<Text>,
    /// Nodes to join, any of them: addresses, or names that are looked up again now and then.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "Vec<String>", length(max = 64))]
    join: Option<Few<Text, JOINS_MAX>>,
    /// The file of the cluster's keys, which only its owner may read.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    key_file: Option<Text>,
    /// What the node is called; the host's name and the port where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    name: Option<Text>,
    /// Where it stands.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    zone: Option<Text>,
    /// How much of the work it can take, against others; 100 where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u32")]
    capacity: Option<Text>,
    /// The most bytes of a datagram; 1400 where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    mtu: Option<Text>,
    /// The most bytes sent in a second; unbounded where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    bandwidth: Option<Text>,
    /// How fast failures are noticed: lan within seconds, wan within half a minute; lan where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pace: Option<Text>,
    /// How many nodes the cluster is meant to have, the same on all of them: what the design `auto` goes by.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u32")]
    size: Option<Text>,
    /// How long the owner of a key is waited for; 20ms where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    owner_deadline: Option<Text>,
    /// Who has a home where rates are divided, the same on all nodes: names, or names with weights.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "Form")]
    roster: Option<RawRoster>,
    /// Whether nodes lend each other tokens of cut buckets (`coordination: split`): on (default) or off, on all nodes.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    lend: Option<Text>,
    /// Whether parts of cut buckets follow traffic (`coordination: split`): on (the default), off, or printed (every
    /// ten seconds, to compare with); the same on all nodes.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    adapt: Option<Text>,
}

/// Whether tokens are lent.
pub fn lends(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("tokens of cut buckets are lent or not: `on` or `off`".to_owned()),
    }
}

impl Check<'_> {
    /// The cluster's section; nothing where it is off.
    pub(super) fn cluster(&mut self, raw: RawCluster) -> Option<ClusterSettings> {
        let mut settings = ClusterSettings::default();
        let listen = self.cluster_value(raw.listen.as_ref(), listen);
        settings.advertise = self.cluster_value(raw.advertise.as_ref(), advertise);
        for text in raw.join.iter().flat_map(|list| &list.0) {
            let join = self.cluster_value(Some(text), Join::from_str);
            settings.join.extend(join);
        }
        settings.key_file = raw.key_file.map(|text| self.under(&text.value));
        settings.name = self.cluster_value(raw.name.as_ref(), name);
        settings.zone = self.cluster_value(raw.zone.as_ref(), name);
        let capacity = self.cluster_value(raw.capacity.as_ref(), |text| {
            number(text, (1, CAPACITY_MAX))
        });
        settings.capacity = capacity.unwrap_or(CAPACITY);
        let mtu = self.cluster_value(raw.mtu.as_ref(), |text| bytes(text, MTU_BOUNDS));
        settings.mtu = mtu.map_or(MTU, narrow);
        settings.bandwidth =
            self.cluster_value(raw.bandwidth.as_ref(), |text| bytes(text, BANDWIDTH_BOUNDS));
        settings.size = self.cluster_value(raw.size.as_ref(), |text| {
            number(text, (1, SIZE_MAX)).map(u64::from)
        });
        if let Some(text) = raw.pace {
            let named = choice(&text, "unknown pace", &["lan", "wan"]);
            settings.pace = match self.problems.keep(named) {
                Some(1) => Pace::WAN,
                Some(_) | None => Pace::LAN,
            };
        }
        self.duration(raw.owner_deadline, &mut settings.owner.deadline);
        settings.roster = raw.roster.and_then(|raw| {
            let wrong = |(place, what)| Problem::new(ErrorKind::BadValue, place, what);
            self.problems.keep(raw.check().map_err(wrong))
        });
        let borrow = self.cluster_value(raw.lend.as_ref(), lends);
        settings.split.borrow = borrow.unwrap_or(settings.split.borrow);
        let adapt = self.cluster_value(raw.adapt.as_ref(), Adapt::from_str);
        settings.split.adapt = adapt.unwrap_or(settings.split.adapt);
        match listen {
            Some(None) => return None,
            Some(Some(listen)) => settings.listen = listen,
            None => {}
        }
        Some(settings)
    }

    /// A value as flags and the environment read it, or a mistake at its place.
    fn cluster_value<T>(
        &mut self,
        text: Option<&Text>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = text?;
        let wrong = |what| Problem::new(ErrorKind::BadValue, text.place, what);
        self.problems.keep(parse(&text.value).map_err(wrong))
    }
}

fn read<T>(
    variable: &dyn Fn(&str) -> Option<String>,
    name: &'static str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, (&'static str, String)> {
    let text = variable(name).filter(|text| !text.is_empty());
    let parsed = text.map(|text| parse(&text)).transpose();
    parsed.map_err(|what| (name, what))
}

/// An address to listen at, or `off`.
fn listen(text: &str) -> Result<Option<SocketAddr>, String> {
    // YAML of the old kind reads `off` as a switch.
    if text == "off" || text == "false" {
        return Ok(None);
    }
    match text.parse::<Address>() {
        Ok(Address::Tcp(address)) => Ok(Some(address)),
        Ok(Address::Unix { .. }) => {
            Err("nodes reach each other by address, not by a Unix socket".into())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// An address others are told; without a port the one that is listened at.
fn advertise(text: &str) -> Result<SocketAddr, String> {
    let ip = text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 0));
    let address = ip.or_else(|_| text.parse::<SocketAddr>());
    match address {
        Ok(address) if !address.ip().is_unspecified() => Ok(address),
        _ => Err(format!(
            "{} is no address that others can reach; write for example 10.0.0.7 or 10.0.0.7:{PORT}",
            tollgate_contract::file::quote(text)
        )),
    }
}

/// Nodes between commas.
fn joins(text: &str) -> Result<Vec<Join>, String> {
    let parts = text.split(',').map(str::trim);
    let list: Vec<Join> = parts
        .filter(|part| !part.is_empty())
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    if list.len() > JOINS_MAX {
        return Err(format!("at most {JOINS_MAX} nodes may be named"));
    }
    Ok(list)
}

pub(super) fn name(text: &str) -> Result<String, String> {
    let is_name = (1..=NAME_BYTES_MAX).contains(&text.len())
        && text
            .chars()
            .all(|letter| !letter.is_control() && letter != ' ');
    is_name.then(|| text.to_owned()).ok_or_else(|| {
        format!("a name has 1 to {NAME_BYTES_MAX} bytes and neither spaces nor control characters")
    })
}

pub(super) fn number(text: &str, (least, most): (u32, u32)) -> Result<u32, String> {
    let number = text.parse::<u32>().ok();
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("must be a whole number from {least} to {most}"))
}

fn bytes(text: &str, (least, most): (u64, u64)) -> Result<u64, String> {
    let bytes = size::parse(text)?;
    let is_fit = (least..=most).contains(&bytes);
    let (least, most) = (size::shown(least), size::shown(most));
    is_fit
        .then_some(bytes)
        .ok_or_else(|| format!("must be from {least} to {most}"))
}

fn narrow(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Every variable of the cluster.
pub(super) const VARIABLES: [&str; 11] = [
    "TOLLGATE_CLUSTER_LISTEN",
    "TOLLGATE_CLUSTER_ADVERTISE",
    "TOLLGATE_CLUSTER_JOIN",
    "TOLLGATE_CLUSTER_KEY_FILE",
    "TOLLGATE_CLUSTER_NAME",
    "TOLLGATE_CLUSTER_ZONE",
    "TOLLGATE_CLUSTER_CAPACITY",
    "TOLLGATE_CLUSTER_MTU",
    "TOLLGATE_CLUSTER_BANDWIDTH",
    "TOLLGATE_CLUSTER_SIZE",
    "TOLLGATE_CLUSTER_ROSTER",
];
/// The customary port.
const PORT: u16 = 7380;
/// The most nodes that may be named.
const JOINS_MAX: usize = 64;
/// The longest name the domain name system knows.
const HOST_BYTES_MAX: usize = 253;
const NAME_BYTES_MAX: usize = 64;
/// Nodes have numbers of 16 bits.
const SIZE_MAX: u32 = 10_000;
const CAPACITY: u32 = 100;
const CAPACITY_MAX: u32 = 1_000_000;
/// What fits into one packet nearly everywhere, tunnels included.
const MTU: usize = ClusterConfig::MTU;
const MTU_BOUNDS: (u64, u64) = (ClusterConfig::MTU_MIN as u64, 65_000);
const BANDWIDTH_BOUNDS: (u64, u64) = (1 << 10, 1 << 40);

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::settings::Settings;

    #[test]
    fn reads_nodes_by_address_and_by_name() {
        let cases = [
            ("10.0.0.7:1", "10.0.0.7:1"),
            ("10.0.0.7", "10.0.0.7:7380"),
            ("[::1]:2", "[::1]:2"),
            ("::1", "[::1]:7380"),
            ("tollgate-0.tollgate.svc:3", "tollgate-0.tollgate.svc:3"),
            ("localhost", "localhost:7380"),
        ];
        for (text, shown) in cases {
            assert_eq!(text.parse::<Join>().unwrap().to_string(), shown);
        }
        for text in ["", ":1", "a b:1", "a:99999", "a:b", "http://a:1"] {
            assert!(text.parse::<Join>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_file_has_a_section_and_mistakes_have_places() {
        let parse = |text: &str| Settings::parse(text, Path::new("/etc/t.yaml"));
        let text = "cluster: { listen: 7000, join: [a, 10.0.0.1:5], key_file: k, name: n1, pace: wan, size: 9 }";
        let made = parse(text).unwrap().cluster.unwrap();
        assert_eq!(made.listen, "127.0.0.1:7000".parse().unwrap());
        assert_eq!(made.key_file, Some("/etc/k".into()));
        assert_eq!((made.join.len(), made.size), (2, Some(9)));
        assert_eq!((made.pace, made.name.as_deref()), (Pace::WAN, Some("n1")));
        assert_eq!(parse("http: off").unwrap().cluster, None);
        assert_eq!(parse("cluster: { listen: off }").unwrap().cluster, None);
        for (text, said) in [
            ("cluster: { listen: unix:/a }", "by address"),
            ("cluster: { join: [':1'] }", "t.yaml:1:19"),
            ("cluster: { mtu: 10 }", "must be from"),
            ("cluster: { pace: fast }", "lan"),
            ("cluster: { key_fil: k }", "key_file"),
            ("cluster: { name: 'a b' }", "spaces"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_said_outside_makes_changes_and_ends_a_cluster() {
        let said = |pairs: &'static [(&str, &str)]| {
            let variable = |name: &str| {
                let pair = pairs.iter().find(|(key, _)| *key == name);
                pair.map(|(_, value)| (*value).to_owned())
            };
            ClusterOverrides::of_environment(&variable)
        };
        let mut settings = None;
        said(&[("TOLLGATE_CLUSTER_NAME", "a")])
            .unwrap()
            .apply(&mut settings);
        assert_eq!(settings, None);
        said(&[
            ("TOLLGATE_CLUSTER_JOIN", "a:1, b"),
            ("TOLLGATE_CLUSTER_MTU", "1200"),
            ("TOLLGATE_CLUSTER_BANDWIDTH", "1MiB"),
        ])
        .unwrap()
        .apply(&mut settings);
        let made = settings.clone().unwrap();
        assert_eq!((made.join.len(), made.mtu), (2, 1200));
        assert_eq!(
            (made.listen, made.bandwidth),
            (CLUSTER_DEFAULT, Some(1 << 20))
        );
        said(&[("TOLLGATE_CLUSTER_LISTEN", "off")])
            .unwrap()
            .apply(&mut settings);
        assert_eq!(settings, None);
        for (name, pairs) in [
            (
                "TOLLGATE_CLUSTER_LISTEN",
                &[("TOLLGATE_CLUSTER_LISTEN", "unix:/a")],
            ),
            ("TOLLGATE_CLUSTER_MTU", &[("TOLLGATE_CLUSTER_MTU", "100")]),
            (
                "TOLLGATE_CLUSTER_ADVERTISE",
                &[("TOLLGATE_CLUSTER_ADVERTISE", "0.0.0.0")],
            ),
            (
                "TOLLGATE_CLUSTER_CAPACITY",
                &[("TOLLGATE_CLUSTER_CAPACITY", "0")],
            ),
        ] {
            assert_eq!(said(pairs).unwrap_err().0, name);
        }
    }
}

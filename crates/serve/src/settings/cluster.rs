//! How a server takes part in a cluster: its listener for other nodes, nodes to join, its key.
//!
//! Not here: the key itself (`cluster::keys`), which may change while the server runs.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use tollgate_cluster::{ClusterConfig, FailureTiming};
use tollgate_node::{Roster, SplitSettings};

use super::ListenAddress;
use crate::owner::OwnerSettings;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSettings {
    /// Where other nodes reach it: datagrams and streams at the same port number. Port 0 is any free one.
    pub listen: SocketAddr,
    /// The address that other nodes use, if it differs; port 0 is that of `listen`.
    pub advertise: Option<SocketAddr>,
    /// Nodes to join, any of them.
    pub join: Vec<Join>,
    /// The file of the cluster's keys; a cluster does not start without.
    pub key_file: Option<PathBuf>,
    /// The node's name; the host's name and the port if absent.
    pub name: Option<String>,
    /// Its zone, for placing requests.
    pub zone: Option<String>,
    /// How much work it can take, relative to others.
    pub capacity: u32,
    /// The largest datagram in bytes.
    pub mtu: usize,
    /// Limit on bytes sent per second.
    pub bandwidth: Option<u64>,
    /// How fast failures are detected.
    pub pace: FailureTiming,
    pub owner: OwnerSettings,
    /// Nodes among which rates are divided, the same on all nodes.
    pub roster: Option<Roster>,
    /// The folder in which everything that a divided rate admits is logged, for verification.
    pub admission_log: Option<PathBuf>,
    /// How buckets are divided, the same on all nodes.
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
            pace: FailureTiming::LAN,
            owner: OwnerSettings::default(),
            roster: None,
            admission_log: None,
            split: SplitSettings::default(),
        }
    }
}

/// The default listener for other nodes.
pub const CLUSTER_DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT);

/// A node to join: an address, or a name that is resolved periodically, with a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    pub host: String,
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

/// An address to listen at, or `off`.
pub(super) fn listen(text: &str) -> Result<Option<SocketAddr>, String> {
    // YAML 1.1 reads `off` as a boolean.
    if text == "off" || text == "false" {
        return Ok(None);
    }
    match text.parse::<ListenAddress>() {
        Ok(ListenAddress::Tcp(address)) => Ok(Some(address)),
        Ok(ListenAddress::Unix { .. }) => {
            Err("nodes reach each other by address, not by a Unix socket".into())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// The address for others; without a port that of `listen`.
pub(super) fn advertise(text: &str) -> Result<SocketAddr, String> {
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

pub(super) fn name(text: &str) -> Result<String, String> {
    let is_name = (1..=NAME_BYTES_MAX).contains(&text.len())
        && text
            .chars()
            .all(|letter| !letter.is_control() && letter != ' ');
    is_name.then(|| text.to_owned()).ok_or_else(|| {
        format!("a name has 1 to {NAME_BYTES_MAX} bytes and neither spaces nor control characters")
    })
}

/// The default port.
const PORT: u16 = 7380;
/// Limit on nodes to join.
pub(super) const JOINS_MAX: usize = 64;
/// The longest name in the domain name system.
const HOST_BYTES_MAX: usize = 253;
const NAME_BYTES_MAX: usize = 64;
const CAPACITY: u32 = 100;
/// What fits into one packet nearly everywhere, tunnels included.
const MTU: usize = ClusterConfig::MTU;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::settings::{Overrides, Settings};

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
        let text =
            "cluster: { listen: 7000, join: [a, 10.0.0.1:5], key_file: k, name: n1, pace: wan }";
        let made = parse(text).unwrap().cluster.unwrap();
        assert_eq!(made.listen, "127.0.0.1:7000".parse().unwrap());
        assert_eq!(made.key_file, Some("/etc/k".into()));
        assert_eq!(made.join.len(), 2);
        assert_eq!(
            (made.pace, made.name.as_deref()),
            (FailureTiming::WAN, Some("n1"))
        );
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
            Overrides::of_environment(variable)
        };
        let mut settings = Settings::default();
        said(&[("TOLLGATE_CLUSTER_NAME", "a")])
            .unwrap()
            .apply(&mut settings)
            .unwrap();
        assert_eq!(settings.cluster, None);
        said(&[
            ("TOLLGATE_CLUSTER_JOIN", "a:1, b"),
            ("TOLLGATE_CLUSTER_MTU", "1200"),
            ("TOLLGATE_CLUSTER_BANDWIDTH", "1MiB"),
        ])
        .unwrap()
        .apply(&mut settings)
        .unwrap();
        let made = settings.cluster.clone().unwrap();
        assert_eq!((made.join.len(), made.mtu), (2, 1200));
        assert_eq!(
            (made.listen, made.bandwidth),
            (CLUSTER_DEFAULT, Some(1 << 20))
        );
        said(&[("TOLLGATE_CLUSTER_LISTEN", "off")])
            .unwrap()
            .apply(&mut settings)
            .unwrap();
        assert_eq!(settings.cluster, None);
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
            assert_eq!(said(pairs).unwrap_err().name, name);
        }
    }
}

//! Nodes in network namespaces: each has two links of its own, one to the other nodes and one to clients.
//!
//! All of it is made inside a network namespace of this process alone, which has no way out: it goes with the process,
//! and nothing of the machine is touched. That needs root, `unshare` and `ip`. Not here: what runs in the namespaces.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};

use super::fleet::Spot;

/// The links of some nodes. They go when the process ends.
#[derive(Debug)]
pub struct Nets {
    nodes: u16,
}

/// Each node has an address whose last byte is its own.
pub const NODES_MAX: u16 = 200;

/// Whether this process has a network namespace made by [`enter`].
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Why namespaces are not possible here, if so.
pub fn obstacle() -> Option<String> {
    let tried = within("true").output();
    match tried {
        Ok(output) if output.status.success() => match ip("-V", "") {
            Ok(()) => None,
            Err(error) => Some(format!("ip does not run: {error}")),
        },
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("unshare does not run: {error}")),
    }
}

/// A command that runs a program in a network namespace of its own.
pub fn enter(program: impl AsRef<OsStr>) -> Command {
    let mut command = within(program);
    command.env(INSIDE, "1");
    command
}

fn within(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--net", "--mount", "--propagation", "private", "--"])
        .arg(program);
    command
}

impl Nets {
    /// Makes a namespace for each node, inside the one of this process.
    pub fn build(nodes: u16) -> io::Result<Self> {
        if !is_inside() || nodes > NODES_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // `ip` keeps names of namespaces there; this mount is private.
        run(
            Command::new("mount").args(["-t", "tmpfs", "tollgate", "/run"]),
            "",
        )?;
        let mut lines = vec![
            "link set lo up".to_owned(),
            "link add cluster type bridge".to_owned(),
            "link add clients type bridge".to_owned(),
            "link add island type bridge".to_owned(),
            "link set cluster up".to_owned(),
            "link set clients up".to_owned(),
            "link set island up".to_owned(),
            format!("addr add {}/24 dev clients", address(CLIENTS, 254)),
        ];
        for node in 0..nodes {
            lines.push(format!("netns add n{node}"));
            for bridge in ["cluster", "clients"] {
                lines.push(format!(
                    "link add {bridge}{node} type veth peer name {bridge} netns n{node}"
                ));
                lines.push(format!("link set {bridge}{node} master {bridge} up"));
            }
        }
        ip("-batch", &lines.join("\n"))?;
        for node in 0..nodes {
            let lines = [
                "link set lo up".to_owned(),
                format!("addr add {}/24 dev cluster", place(CLUSTER, node)),
                format!("addr add {}/24 dev clients", place(CLIENTS, node)),
                "link set cluster up".to_owned(),
                "link set clients up".to_owned(),
            ];
            let mut command = Command::new("ip");
            command.args(["-n", &format!("n{node}"), "-batch", "-"]);
            run(&mut command, &lines.join("\n"))?;
        }
        Ok(Self { nodes })
    }

    /// Where each node is.
    pub fn spots(&self) -> BTreeMap<u16, Spot> {
        let spot = |node: u16| Spot {
            under: ["ip", "netns", "exec", &format!("n{node}")]
                .map(str::to_owned)
                .to_vec(),
            cluster: Some(SocketAddr::new(place(CLUSTER, node), PORT)),
            clients: Some(place(CLIENTS, node)),
            ..Spot::default()
        };
        (0..self.nodes).map(|node| (node, spot(node))).collect()
    }

    /// Takes the link of a node to all others down, or up again. Clients still reach it.
    pub fn set_link(&self, node: u16, is_up: bool) -> io::Result<()> {
        let way = if is_up { "up" } else { "down" };
        ip("-batch", &format!("link set cluster{node} {way}"))
    }

    /// Puts some nodes on an island: they reach each other and no other node. Other nodes are, or return to, the
    /// mainland. Clients reach all of them.
    pub fn set_island(&self, island: &[u16]) -> io::Result<()> {
        let lines = (0..self.nodes).map(|node| {
            let switch = if island.contains(&node) {
                "island"
            } else {
                "cluster"
            };
            format!("link set cluster{node} master {switch}")
        });
        ip("-batch", &lines.collect::<Vec<_>>().join("\n"))
    }
}

fn place(net: [u8; 3], node: u16) -> IpAddr {
    address(net, u8::try_from(node).unwrap_or(u8::MAX).saturating_add(1))
}

const fn address([a, b, c]: [u8; 3], last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, last))
}

fn ip(how: &str, lines: &str) -> io::Result<()> {
    let mut command = Command::new("ip");
    command.arg(how);
    if !lines.is_empty() {
        command.arg("-");
    }
    run(&mut command, lines)
}

fn run(command: &mut Command, input: &str) -> io::Result<()> {
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(said.trim().to_owned()))
}

/// Marks a process with a network of its own. Not one of the server's settings, despite the prefix.
const INSIDE: &str = "TOLLGATE_OWN_NETWORK";
/// Networks reserved for documentation, never routed.
const CLUSTER: [u8; 3] = [192, 0, 2];
const CLIENTS: [u8; 3] = [198, 51, 100];
const PORT: u16 = 7380;

//! The function that makes a limiter by leases of nodes.
//!
//! Not here: talking to nodes, which is `tollgate_client`'s.

#![allow(unsafe_code, reason = "C calls it by name, with pointers")]

use std::time::Duration;

use tollgate_client::{ClientConfig, WhenAway};

use crate::code::{Code, Fault, guard};
use crate::key::Text;
use crate::limiter::Limiter;
use crate::{open, pointer};

/// How a limiter by leases is set up. Whatever is zero is as usual; a text whose `data` is null is not given.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ClientOptions {
    /// Nodes to talk to: `host:port` or `unix:/path` of their RESP doors, each with `zone=` before it where it is in
    /// one.
    pub nodes: *const Text,
    /// How many, at most `TOLLGATE_NODES_MAX`.
    pub nodes_count: usize,
    /// A token of the nodes, where they have any.
    pub token: Text,
    /// The zone this process is in: nodes of it are taken before others.
    pub zone: Text,
    /// A name that no other process has and that stays over restarts, so that a node frees at once what the last start
    /// held.
    pub name: Text,
    /// How long a call waits for a node; 0 is 200 milliseconds.
    pub timeout_ns: u64,
    /// The most keys of which something is kept; 0 is 65536.
    pub keys_max: u64,
    /// Admits requests of unknown keys when no node answers; else they are refused.
    pub allow_when_away: bool,
}

/// The most nodes that a limiter by leases is told.
pub const TOLLGATE_NODES_MAX: usize = 256;

/// Makes a limiter by leases of nodes, for contracts under `coordination: lease`: nodes lend it small buckets, and it
/// decides in this process while they last. It does not wait for nodes: until one answers, requests are answered as for
/// when none does. `*limiter` is null where this fails. Closing the limiter gives back what it holds.
///
/// # Safety
///
/// `options` points at options as they say of themselves, `limiter` at room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_connect(
    options: *const ClientOptions,
    limiter: *mut *mut Limiter,
) -> Code {
    guard(|| {
        // SAFETY: the caller's word.
        unsafe { pointer::put(limiter, std::ptr::null_mut(), "the place of the limiter") }?;
        // SAFETY: the caller's word.
        let options = unsafe { pointer::borrow(options, "the options") }?;
        // SAFETY: the caller's word for what the options point at.
        let opened = Limiter::connect(unsafe { config(options) }?)?;
        // SAFETY: the caller's word.
        unsafe { open::give(opened, limiter) }
    })
}

/// What the options say.
///
/// # Safety
///
/// The options point at what they say of themselves.
unsafe fn config(options: &ClientOptions) -> Result<ClientConfig, Fault> {
    let (nodes, count) = (options.nodes, options.nodes_count);
    // SAFETY: the caller's word.
    let nodes = unsafe { pointer::items(nodes, count, TOLLGATE_NODES_MAX, "the nodes") }?;
    let mut config = ClientConfig::new(Vec::<String>::new());
    for node in nodes {
        // SAFETY: the caller's word.
        config.nodes.extend(unsafe { text(node, "a node") }?);
    }
    // SAFETY: the caller's word.
    config.token = unsafe { text(&options.token, "the token") }?;
    // SAFETY: the caller's word.
    config.zone = unsafe { text(&options.zone, "the zone") }?;
    // SAFETY: the caller's word.
    config.name = unsafe { text(&options.name, "the name") }?;
    if options.timeout_ns != 0 {
        config.timeout = Duration::from_nanos(options.timeout_ns);
    }
    if options.keys_max != 0 {
        config.keys_max = usize::try_from(options.keys_max).unwrap_or(usize::MAX);
    }
    if options.allow_when_away {
        config.when_away = WhenAway::Allow;
    }
    Ok(config)
}

/// A text of the options, where it is given.
///
/// # Safety
///
/// The text points at what it says.
unsafe fn text(text: &Text, what: &str) -> Result<Option<String>, Fault> {
    // SAFETY: the caller's word.
    let given = unsafe { text.optional(TEXT_BYTES_MAX, what) }?;
    Ok(given.map(str::to_owned))
}

/// The most bytes of a text of the options.
const TEXT_BYTES_MAX: usize = 4_096;

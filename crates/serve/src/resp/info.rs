//! `INFO`: the server in a few lines, in sections as Redis has them.

use std::fmt::Write;

use tollgate_wire::resp::Arguments;

use crate::meter::Top;
use crate::shared::Shared;

/// The sections requested; all if none is.
pub(super) fn text(shared: &Shared, asked: Arguments<'_>) -> String {
    let top = shared.engine.meter().top(&shared.engine);
    let mut text = String::new();
    for (name, write) in SECTIONS {
        if is_asked(name, asked) {
            let gap = if text.is_empty() { "" } else { "\r\n" };
            // Writing to a string cannot fail.
            let _ = write!(text, "{gap}# {name}\r\n");
            write(shared, &top, &mut text);
        }
    }
    text
}

type Section = (&'static str, fn(&Shared, &Top, &mut String));

const SECTIONS: [Section; 5] = [
    ("Server", server),
    ("Clients", clients),
    ("Memory", memory),
    ("Stats", stats),
    ("Keyspace", keyspace),
];

fn is_asked(name: &str, asked: Arguments<'_>) -> bool {
    let is = |word: &[u8]| {
        let any = [name, "all", "default", "everything"];
        any.iter()
            .any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
    };
    asked.is_empty() || asked.iter().any(is)
}

fn line(text: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = write!(text, "{name}:{value}\r\n");
}

fn server(_: &Shared, top: &Top, text: &mut String) {
    line(text, "tollgate_version", env!("CARGO_PKG_VERSION"));
    // Some clients choose what to send by it.
    line(text, "redis_version", REDIS_VERSION);
    line(text, "redis_mode", "standalone");
    line(text, "os", std::env::consts::OS);
    line(text, "process_id", std::process::id());
    line(text, "uptime_in_seconds", top.uptime_s);
    // Some clients wait until it is zero.
    line(text, "loading", 0);
}

fn clients(shared: &Shared, top: &Top, text: &mut String) {
    line(text, "connected_clients", top.connections);
    let most = shared.settings.limits.connections_max;
    line(text, "maxclients", most);
}

fn memory(shared: &Shared, _: &Top, text: &mut String) {
    line(text, "used_memory", shared.engine.node().bytes());
    line(text, "maxmemory", shared.settings.node.bytes_max);
}

fn stats(_: &Shared, top: &Top, text: &mut String) {
    let per_sec = [
        ("decisions_per_sec", top.last_10s.all),
        ("allowed_per_sec", top.last_10s.allowed),
        ("delayed_per_sec", top.last_10s.delayed),
        ("denied_per_sec", top.last_10s.denied),
    ];
    for (name, rate) in per_sec {
        line(text, name, format_args!("{rate:.1}"));
    }
    line(text, "latency_p99_usec", top.latency.p99_us);
}

fn keyspace(shared: &Shared, _: &Top, text: &mut String) {
    let (node, adhoc) = (shared.engine.node(), shared.engine.adhoc());
    line(text, "contracts", node.contracts().len());
    line(text, "contract_keys", node.cells_count());
    line(text, "throttle_keys", adhoc.keys_count());
    line(text, "throttle_policies", adhoc.policies_count());
}

/// The Redis version whose connection commands are implemented.
const REDIS_VERSION: &str = "7.2.0";

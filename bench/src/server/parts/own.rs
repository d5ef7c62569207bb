//! Parts driven by Tollgate's own load generator, which the usual tools cannot do.

use std::time::Duration;

use anyhow::{Result, ensure};
use tollgate_load::{
    Arrivals, Call, CallLimit, Distribution, ErrorCount, ErrorKind, KeyTemplate, Keys, LoadPlan,
    LoadReport, Pace,
};

use super::{About, Context, PER_SECOND, figures};
use crate::server::host::{Host, redis};
use crate::server::peers::{LUA, OURS, OURS_SHARED, Runtime, THROTTLECRAB};
use crate::server::rounds::{Contender, take_turns};
use crate::server::{FigureTable, ServerFigure};
use crate::stopwatch::Spread;

/// A call and its parameters.
#[derive(Clone)]
struct Asked {
    port: u16,
    call: Call,
    key: &'static str,
    connections: usize,
    depth: usize,
}

impl Asked {
    fn resp(port: u16, depth: usize) -> Self {
        Self {
            port,
            call: Call::ClThrottle(WIDE),
            key: "user:{}",
            connections: 50,
            depth,
        }
    }

    fn check(port: u16) -> Self {
        Self {
            port,
            call: Call::Check { batch: 1 },
            key: "user={}",
            connections: 50,
            depth: 1,
        }
    }

    fn rls(port: u16) -> Self {
        Self {
            port,
            call: Call::Rls {
                domain: "bench".to_owned(),
                batch: 1,
            },
            key: "user={}",
            connections: 4,
            depth: 16,
        }
    }

    fn plan(&self, pace: Pace, duration: Duration) -> Result<LoadPlan> {
        Ok(LoadPlan {
            others: Vec::new(),
            server: format!("127.0.0.1:{}", self.port).parse()?,
            call: self.call.clone(),
            keys: Keys {
                count: 100_000,
                distribution: Distribution::Uniform,
                template: KeyTemplate::new(self.key)?,
            },
            pace,
            connections: self.connections,
            depth: self.depth,
            threads: 1,
            warm_up: Duration::from_millis(300),
            duration,
            token: None,
            marks: Vec::new(),
            seed: 1,
        })
    }

    fn run(&self, pace: Pace, duration: Duration) -> Result<LoadReport> {
        let report = tollgate_load::run(&self.plan(pace, duration)?, |_| {})?;
        // An open loop includes late answers in its latencies.
        let late =
            |error: &&ErrorCount| matches!(error.kind, ErrorKind::Unsent | ErrorKind::Unanswered);
        let trouble = report.errors.iter().find(|error| !late(error));
        ensure!(trouble.is_none(), "errors: {trouble:?}");
        ensure!(report.denied == 0, "{} were denied", report.denied);
        Ok(report)
    }

    /// Decisions a second in a closed loop.
    fn closed(&self, duration: Duration) -> Result<f64> {
        Ok(self.run(Pace::Closed, duration)?.decisions_per_second())
    }
}

/// Unary calls, as the reference of batched ones.
pub(crate) const UNARY: &str = "RLS, 1 to a call";
/// Calls that ask a hundred at once.
pub(crate) const BATCHED: [&str; 2] = ["/v1/check, 100 to a call", "gubernator, 100 to a call"];

/// Many decisions to a call.
pub(crate) fn batch(context: &Context) -> Result<Vec<FigureTable>> {
    let ours = context.peers.tollgate(Runtime::PerCore)?;
    let unary = Asked::rls(ours.port(0));
    let check = Asked {
        call: Call::Check { batch: 100 },
        connections: 16,
        ..Asked::check(ours.port(0))
    };
    let gubernator = Asked {
        call: Call::Gubernator {
            limit: WIDE,
            batch: 100,
        },
        key: "user:{}",
        ..unary.clone()
    };
    let [check_name, gubernator_name] = BATCHED;
    let asked = [
        (UNARY, unary),
        (check_name, check),
        (gubernator_name, gubernator),
    ];
    let contenders: Vec<_> = asked
        .iter()
        .map(|(name, asked)| Contender::new(name, || asked.closed(context.slice)))
        .collect();
    let about = About {
        name: "batch",
        title: "tollgate, decisions by calls of one and of a hundred",
        unit: PER_SECOND,
    };
    Ok(vec![context.table(about, &contenders)?])
}

/// Resident bytes per key, each key requested once.
pub(crate) fn memory(context: &Context) -> Result<Vec<FigureTable>> {
    eprintln!(" memory");
    let peers = &context.peers;
    let keys = context.keys_in_memory;
    let fill = |host: Host, at: usize, call: Call| -> Result<ServerFigure> {
        let per_key = bytes_per_key(&host, host.port(at), call, keys)?;
        eprintln!("  {}: {per_key:.1}", host.name);
        Ok(ServerFigure {
            server: host.name,
            figure: Spread::of(vec![per_key]),
        })
    };
    let lines = vec![
        fill(peers.tollgate(Runtime::PerCore)?, 1, Call::ClThrottle(SLOW))?,
        fill(peers.throttlecrab()?, 0, Call::Throttle(SLOW))?,
        fill(redis(LUA)?, 0, Call::Lua(SLOW))?,
    ];
    let title = format!("growth of the resident set over {keys} string keys of 12 bytes");
    let about = About {
        name: "memory",
        title: &title,
        unit: "bytes per key",
    };
    Ok(vec![figures(about, lines)])
}

#[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
fn bytes_per_key(host: &Host, port: u16, call: Call, keys: u64) -> Result<f64> {
    let asked = Asked {
        port,
        call,
        key: "user:{}",
        connections: 16,
        depth: 64,
    };
    // Excludes buffers and pages that serving uses anyway.
    let mut rate = 0.9 * asked.closed(Duration::from_millis(500))?;
    let before = host.resident_bytes()?;
    let mut asked_keys = 0;
    // A stretch starts again at the first key, so that one must be long enough for all.
    while asked_keys < keys {
        let mut plan = asked.plan(Pace::Closed, Duration::from_secs_f64(keys as f64 / rate))?;
        plan.keys.count = keys;
        plan.keys.distribution = Distribution::Sequence;
        let report = tollgate_load::run(&plan, |_| {})?;
        ensure!(report.errors.is_empty(), "errors: {:?}", report.errors);
        asked_keys = report.decisions;
        rate = report.decisions_per_second() * 0.8;
    }
    Ok((host.resident_bytes()? - before) / keys as f64)
}

/// Latency at half of the closed-loop maximum, at times fixed beforehand.
pub(crate) fn open(context: &Context) -> Result<Vec<FigureTable>> {
    let peers = &context.peers;
    let (ours, crab) = (peers.tollgate(Runtime::PerCore)?, peers.throttlecrab()?);
    let crab_resp = Asked {
        call: Call::Throttle(WIDE),
        ..Asked::resp(crab.port(0), 1)
    };
    let crab_http = Asked {
        call: Call::HttpThrottle(WIDE),
        key: "user:{}",
        ..Asked::check(crab.port(1))
    };
    let crab_grpc = Asked {
        call: Call::GrpcThrottle(WIDE),
        key: "user:{}",
        ..Asked::rls(crab.port(2))
    };
    let rows = [
        ("open-resp", Asked::resp(ours.port(1), 1), crab_resp),
        ("open-http", Asked::check(ours.port(0)), crab_http),
        ("open-rls", Asked::rls(ours.port(0)), crab_grpc),
    ];
    rows.iter()
        .map(|(name, ours, crab)| open_row(context, name, ours, crab))
        .collect()
}

fn open_row(context: &Context, name: &str, ours: &Asked, crab: &Asked) -> Result<FigureTable> {
    let mut halves = Vec::new();
    for asked in [ours, crab] {
        let most = asked.closed(context.slice)?;
        halves.push(most / 2.0);
    }
    let p999_ms = |asked: &Asked, rate: f64| -> Result<f64> {
        let arrivals = Arrivals::Poisson;
        let report = asked.run(Pace::Open { rate, arrivals }, 2 * context.slice)?;
        #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
        Ok(report.latency.p999 as f64 / 1e6)
    };
    let (ours_rate, crab_rate) = match halves.as_slice() {
        [ours, crab] => (*ours, *crab),
        _ => (0.0, 0.0),
    };
    let contenders = [
        Contender::new(OURS, || p999_ms(ours, ours_rate)),
        Contender::new(THROTTLECRAB, || p999_ms(crab, crab_rate)),
    ];
    let title = format!(
        "p99.9 from the time due, each at half of its own maximum: {ours_rate:.0} and {crab_rate:.0} a second"
    );
    let about = About {
        name,
        title: &title,
        unit: "milliseconds",
    };
    context.table(about, &contenders)
}

/// One runtime per core with listeners of its own, against one runtime for all.
pub(crate) fn runtimes(context: &Context) -> Result<Vec<FigureTable>> {
    let per_core = context.peers.tollgate(Runtime::PerCore)?;
    let shared = context.peers.tollgate(Runtime::Shared)?;
    let of = |host: &Host| {
        [
            ("runtimes-resp-1", Asked::resp(host.port(1), 1)),
            ("runtimes-resp-16", Asked::resp(host.port(1), 16)),
            ("runtimes-http", Asked::check(host.port(0))),
            ("runtimes-rls", Asked::rls(host.port(0))),
        ]
    };
    let pairs = of(&per_core).into_iter().zip(of(&shared));
    let mut tables = Vec::new();
    for ((name, own), (_, all)) in pairs {
        let contenders = [
            Contender::new(OURS, || own.closed(context.slice)),
            Contender::new(OURS_SHARED, || all.closed(context.slice)),
        ];
        eprintln!(" {name}");
        let about = About {
            name,
            title: "a runtime per core against one for all",
            unit: PER_SECOND,
        };
        tables.push(figures(about, take_turns(&contenders, context.rounds)?));
    }
    Ok(tables)
}

/// Wide enough never to refuse.
const WIDE: CallLimit = CallLimit {
    burst: 1_000_000,
    count: 1_000_000,
    period_secs: 60,
};

/// A key that was asked once stays known for a minute and a half.
const SLOW: CallLimit = CallLimit {
    burst: 1_000,
    count: 1_000,
    period_secs: 86_400,
};

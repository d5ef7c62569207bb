//! Gateways that run: which list they have, where clients are, and what a round measures.
//!
//! Not here: what to try (`search`), what is shown (`show`).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tollgate_gateway::Placement;
use tollgate_load::ServerAddress;
use tollgate_serve::annex::{DelaysView, GatewayView};

use super::super::status::GATEWAY;
use super::show::Screen;
use crate::cluster::told::fetch;
use crate::failure::Failure;
use crate::report::write_whole;

pub(super) struct Gateways<'a> {
    servers: Vec<(String, &'a ServerAddress)>,
    token: Option<&'a str>,
}

#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) place: usize,
    pub(super) name: String,
    pub(super) access: DelaysView,
    pub(super) service: DelaysView,
}

impl Measured {
    /// The time that such a part of the messages does not take longer than: for tokens and at the broker, one behind
    /// the other.
    pub(super) fn total_ns(&self, part: f64) -> u64 {
        let [access, service] = [&self.access, &self.service].map(|of| of.percentile(part));
        access.saturating_add(service)
    }
}

/// How clients went where they belong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Settled {
    /// Those that are connected.
    pub(super) clients: u64,
    /// Of these, those that stay at a gateway that is not theirs.
    pub(super) strays: u64,
}

impl<'a> Gateways<'a> {
    /// Asks all servers who they are; each gateway of the list must be among them.
    pub(super) fn find(
        list: &Placement,
        servers: &'a [ServerAddress],
        token: Option<&'a str>,
    ) -> Result<Self, Failure> {
        let mut found: BTreeMap<String, &ServerAddress> = BTreeMap::new();
        for server in servers {
            let (view, _) = fetch::<GatewayView>(server, GATEWAY, token)?;
            let name = view.name.filter(|_| view.on).ok_or_else(|| {
                Failure::usage(format!(
                    "error: {server} is no gateway with a list\nStart it with `tollgate gateway --placement FILE --name NAME`."
                ))
            })?;
            found.insert(name, server);
        }
        let servers = list.names().map(|name| {
            let server = found.get(name).copied();
            let server = server.ok_or_else(|| {
                Failure::usage(format!(
                    "error: gateway `{name}` of the list is none of the servers\nName where its --metrics or --http are with --server, or take it out of the list."
                ))
            })?;
            Ok((name.to_owned(), server))
        });
        Ok(Self {
            servers: servers.collect::<Result<_, Failure>>()?,
            token,
        })
    }

    pub(super) const fn count(&self) -> usize {
        self.servers.len()
    }

    fn views(&self) -> Result<Vec<GatewayView>, Failure> {
        let view = |(_, server): &(String, &ServerAddress)| {
            fetch::<GatewayView>(server, GATEWAY, self.token).map(|(view, _)| view)
        };
        self.servers.iter().map(view).collect()
    }

    /// Writes a list, and waits until all gateways have it and clients are where they belong.
    pub(super) fn place(
        &self,
        file: &Path,
        text: &str,
        settle: Duration,
        watch: &TrialTimer<'_>,
    ) -> Result<Settled, Failure> {
        let mark = Placement::parse(text)
            .map_err(|error| Failure::config(format!("error: {error}")))?
            .mark();
        let before = sum(&self.views()?);
        write_whole(file, text.as_bytes()).map_err(|error| Failure::file(file, &error))?;
        let end = Instant::now() + settle;
        loop {
            let views = self.views()?;
            let late = views
                .iter()
                .zip(&self.servers)
                .find(|(view, _)| view.placement.as_ref() != Some(&mark));
            match late {
                None => break,
                Some((_, (name, _))) if Instant::now() >= end => {
                    return Err(Failure::unavailable(format!(
                        "error: gateway `{name}` did not take the list up within {} s\nIt must read the same file as the others, {}; if it has a copy, see that the copy is kept up to date.",
                        settle.as_secs(),
                        file.display()
                    )));
                }
                Some(_) => watch.pause(LOOK)?,
            }
        }
        self.settle(before, end, watch)
    }

    /// Waits until nobody moves any more.
    fn settle(
        &self,
        before: Settled,
        end: Instant,
        watch: &TrialTimer<'_>,
    ) -> Result<Settled, Failure> {
        let mut last = Settled::default();
        let mut since = Instant::now();
        loop {
            let now = sum(&self.views()?);
            if now != last {
                (last, since) = (now, Instant::now());
            }
            let is_done = now.strays == 0 && now.clients >= before.clients;
            // Those of MQTT 3.1.1 never move, and somebody may have gone for good.
            let is_still = since.elapsed() >= STILL;
            if (is_done && since.elapsed() >= LOOK * 2) || is_still || Instant::now() >= end {
                return Ok(now);
            }
            watch.pause(LOOK)?;
        }
    }

    pub(super) fn measure(
        &self,
        round: Duration,
        watch: &TrialTimer<'_>,
    ) -> Result<Vec<Measured>, Failure> {
        let before = self.views()?;
        watch.pause(round)?;
        let after = self.views()?;
        let all = (0..).zip(&self.servers).zip(before.iter().zip(&after));
        let measured = all.map(|((place, (name, _)), (before, after))| Measured {
            place,
            name: name.clone(),
            access: after.access.since(&before.access),
            service: after.service.since(&before.service),
        });
        Ok(measured.collect())
    }
}

fn sum(views: &[GatewayView]) -> Settled {
    Settled {
        clients: views.iter().map(|view| view.clients).sum(),
        strays: views.iter().map(|view| view.elsewhere).sum(),
    }
}

/// Time that passes, as long as nobody interrupts.
pub(super) struct TrialTimer<'a> {
    interrupted: Arc<AtomicBool>,
    /// Is drawn now and then while time passes.
    screen: &'a Screen,
}

impl<'a> TrialTimer<'a> {
    /// From here on an interrupt or a request to end is noticed, and not obeyed at once.
    pub(super) fn begin(screen: &'a Screen) -> Result<Self, Failure> {
        let interrupted = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&interrupted);
        let failed = |error| Failure::system("catch signals", &error);
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().map_err(failed)?;
        let context = runtime.enter();
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        drop(context);
        std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            });
            seen.store(true, Relaxed);
        });
        Ok(Self {
            interrupted,
            screen,
        })
    }

    pub(super) fn pause(&self, how_long: Duration) -> Result<(), Failure> {
        let end = Instant::now() + how_long;
        loop {
            if self.interrupted.load(Relaxed) {
                return Err(Failure::found("interrupted; the old list is back"));
            }
            self.screen.draw();
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(TICK));
        }
    }
}

/// How often gateways are asked while clients move.
const LOOK: Duration = Duration::from_millis(250);
/// Where nothing changed for so long nobody moves any more.
const STILL: Duration = Duration::from_secs(4);
const TICK: Duration = Duration::from_millis(50);

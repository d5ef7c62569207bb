//! Servers that share a store, each a process, on real engines that are stopped, killed, filled and denied them.

mod failover;
mod faults;
mod redis;
mod sql;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_parts::HttpReply;

use crate::kit::{PATIENCE, Server, file, serve, until};

/// What policies may wish, and whether a request passes then.
const WISHES: [(&str, bool); 3] = [("allow", true), ("deny", false), ("local", true)];

/// As long as an engine may take on a busy machine.
const PATIENT: &str = "deadline: 500ms";

/// A server on a store, with settings for it besides its address.
fn server(folder: &Path, url: &str, more: &str, on_failure: &str) -> Server {
    let text = format!(
        "store: {{ url: \"{url}\", {more} }}
contracts:
  - id: users
    key: [user]
    coordination: store
    policies: [{{ name: monthly, limit: 100, per: 30d, on_failure: {on_failure} }}]
  - id: many
    key: [many]
    coordination: store
    policies: [{{ name: monthly, limit: {MANY}, per: 30d, algorithm: fixed-window, on_failure: {on_failure} }}]
"
    );
    let config = file(folder, &format!("{on_failure}.yaml"), &text);
    Server::spawn(serve().arg("--config").arg(config))
}

/// More than any test asks for.
const MANY: u64 = 100_000_000;

/// A server for each wish.
fn three(folder: &Path, url: &str, more: &str) -> [Server; 3] {
    WISHES.map(|(wish, _)| server(folder, url, more, wish))
}

/// What a server answered.
pub(crate) struct StoreAnswer(HttpReply);

impl StoreAnswer {
    pub(crate) fn passes(&self) -> bool {
        self.0.json()["allowed"] == true
    }

    /// By what wish of its policies, where the store did not decide.
    pub(crate) fn instead(&self) -> Option<&str> {
        self.0.field("tollgate-fallback")
    }

    pub(crate) fn remaining(&self) -> u64 {
        self.number("remaining")
    }

    pub(crate) fn limit(&self) -> u64 {
        self.number("limit")
    }

    fn number(&self, name: &str) -> u64 {
        let number = self.0.json()[name].as_u64();
        number.unwrap_or_else(|| panic!("{:?}", self.0))
    }
}

/// Asks for one token of a user.
pub(crate) fn check(server: &Server, user: &str) -> StoreAnswer {
    ask(server, "user", user)
}

fn ask(server: &Server, key: &str, value: &str) -> StoreAnswer {
    let body = format!("{{\"key\":{{\"{key}\":\"{value}\"}}}}");
    StoreAnswer(server.post("/v1/check", &body))
}

fn failures(server: &Server, kind: &str) -> f64 {
    server.metric(&format!("tollgate_store_failures_total{{kind=\"{kind}\"}}"))
}

/// Waits until the store decides.
pub(crate) fn ready(server: &Server) {
    until("the store answers", || {
        check(server, "probe").instead().is_none()
    });
}

/// Every server answers by its wish, says so, and counts why.
#[track_caller]
fn do_without(servers: &[Server; 3], kinds: &[&str]) {
    for (server, (wish, passes)) in servers.iter().zip(WISHES) {
        until(&format!("{wish}: {kinds:?} is counted"), || {
            let answer = check(server, "anna");
            assert_eq!(answer.instead(), Some(wish), "{:?}", answer.0);
            assert_eq!(answer.passes(), passes, "{wish}: {:?}", answer.0);
            kinds.iter().any(|kind| failures(server, kind) > 0.0)
        });
        let counted = format!("tollgate_store_fallback_total{{instead=\"{wish}\"}}");
        assert!(server.metric(&counted) > 0.0, "{wish}");
    }
}

/// Many ask two servers for one user, and get what the limit says, and no more.
#[track_caller]
fn exactly(servers: &[&Server]) {
    let begun = Instant::now();
    for attempt in 0.. {
        let user = format!("exact{attempt}");
        let seen: Vec<Seen> = thread::scope(|scope| {
            let loads = (0..8).map(|load| {
                let (server, user) = (servers[load % servers.len()], &user);
                scope.spawn(move || {
                    let mut seen = Seen::default();
                    (0..40).for_each(|_| seen.add(&check(server, user)));
                    seen
                })
            });
            let loads: Vec<_> = loads.collect();
            loads.into_iter().map(|load| load.join().unwrap()).collect()
        });
        let admitted: u64 = seen.iter().map(|seen| seen.admitted).sum();
        let missed: u64 = seen.iter().map(|seen| seen.missed).sum();
        // What came too late may have been counted all the same: then another try says how many pass.
        if missed == 0 {
            assert_eq!(admitted, 100);
            return;
        }
        assert!(admitted <= 100, "{admitted} of 100 passed");
        assert!(begun.elapsed() < PATIENCE, "never without a failure");
    }
}

/// What a load saw.
#[derive(Debug, Default)]
struct Seen {
    admitted: u64,
    refused: u64,
    /// Not decided by the store.
    missed: u64,
    slowest: Duration,
}

impl Seen {
    fn add(&mut self, answer: &StoreAnswer) {
        match (answer.instead(), answer.passes()) {
            (Some(_), _) => self.missed += 1,
            (None, true) => self.admitted += 1,
            (None, false) => self.refused += 1,
        }
    }
}

/// Ends a load, also where a test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Asks servers for one key while something happens, which begins once there is load.
fn under_load(servers: &[&Server], value: &str, happens: impl FnOnce()) -> Seen {
    let (is_over, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    let load = |server: &Server| {
        let mut seen = Seen::default();
        while !is_over.load(Relaxed) {
            let begun = Instant::now();
            let answer = ask(server, "many", value);
            seen.slowest = seen.slowest.max(begun.elapsed());
            seen.add(&answer);
            asked.fetch_add(1, Relaxed);
            // A load, not a contest for the cores with those who choose a new primary.
            thread::sleep(Duration::from_millis(5));
        }
        seen
    };
    thread::scope(|scope| {
        let over = Over(&is_over);
        let each = (0..8).map(|load| servers[load % servers.len()]);
        let loads: Vec<_> = each
            .map(|server| scope.spawn(move || load(server)))
            .collect();
        until("there is load", || asked.load(Relaxed) > 200);
        happens();
        drop(over);
        let mut all = Seen::default();
        for seen in loads.into_iter().map(|load| load.join().unwrap()) {
            all.admitted += seen.admitted;
            all.refused += seen.refused;
            all.missed += seen.missed;
            all.slowest = all.slowest.max(seen.slowest);
        }
        all
    })
}

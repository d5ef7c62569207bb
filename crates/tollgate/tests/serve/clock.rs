//! A server whose system's clock is set while it runs.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tollgate_parts::SmallDisk;

use crate::faked::{library, set, under};
use crate::kit::{PATIENCE, Server, file, serve, until};

/// Of two policies one is a bucket and one counts by the calendar.
const CONTRACTS: &str = "contracts:
  - id: users
    key: [user]
    policies:
      - { name: hourly, limit: 5, per: 1h, durable: true }
      - { name: daily, limit: 20, per: day, algorithm: fixed-window }
";
const DAYS_40: i64 = 40 * 86_400;

/// A server, and the file that says how far its clock is off.
struct Faked {
    server: Server,
    folder: tempfile::TempDir,
}

impl Faked {
    /// `None` where no library fakes clocks.
    fn start(settings: &str) -> Option<Self> {
        let library = match library() {
            Ok(library) => library,
            Err(why) => {
                println!("skipped: {why}");
                return None;
            }
        };
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        Some(Self::at(&library, folder, &data, settings))
    }

    fn at(library: &str, folder: tempfile::TempDir, data: &Path, settings: &str) -> Self {
        let contracts = file(folder.path(), "contracts.yaml", CONTRACTS);
        let settings = file(folder.path(), "tollgate.yaml", settings);
        let mut command = serve();
        command.arg("--contracts").arg(contracts);
        command.arg("--config").arg(settings);
        command.arg("--data-dir").arg(data);
        for word in under(library, &folder.path().join("clock")) {
            let (name, value) = word.split_once('=').unwrap();
            command.env(name, value);
        }
        let server = Server::spawn(&mut command);
        Self { server, folder }
    }

    fn set(&self, offset: i64) {
        set(&self.folder.path().join("clock"), offset);
    }

    fn passes(&self, user: &str) -> bool {
        let body = format!("{{\"key\":{{\"user\":\"{user}\"}},\"cost\":1}}");
        self.post(&body).contains("\"allowed\":true")
    }

    fn post(&self, body: &str) -> String {
        self.server.post("/v1/check", body).body
    }

    /// How many of ten requests of a user pass.
    fn spends(&self, user: &str) -> usize {
        (0..10).filter(|_| self.passes(user)).count()
    }

    fn readyz(&self) -> String {
        self.server.get("/readyz").body
    }

    /// How far the server's time is ahead of the right one, in seconds.
    fn offset(&self) -> f64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let at = self.server.get("/v1/top").json()["at_ms"].as_f64();
        at.unwrap() / 1e3 - now.as_secs_f64()
    }

    /// Waits for as long as a step must stand before it is followed, and a little.
    fn followed(&self, times: f64, after: Duration) {
        let begun = Instant::now();
        while self.server.metric("tollgate_clock_followed_total") < times {
            assert!(begun.elapsed() < after * 3 / 2 + PATIENCE, "never followed");
            std::thread::sleep(Duration::from_millis(100));
        }
        assert!(begun.elapsed() > after * 4 / 5, "too soon");
    }

    /// Sets the clock ahead and back again, and has it followed both times.
    fn goes_there_and_back(&self, after: Duration) {
        assert_eq!(self.spends("ada"), 5);
        for (way, offset, times) in [("ahead", DAYS_40, 1.0), ("back", 0, 2.0)] {
            self.set(offset);
            self.followed(times, after);
            let off = self.offset() - f64::from(i32::try_from(offset).unwrap());
            assert!(off.abs() < 2.0, "{way}: {off}");
            until("every key is moved", || !self.readyz().contains("clock"));
            assert_eq!(self.spends("ada"), 0, "{way}");
            assert_eq!(self.spends(way), 5, "a key that is new, {way}");
        }
        assert_eq!(self.spends("ahead"), 0);
    }
}

#[test]
fn a_clock_that_jumps_forty_days_and_back_is_told_of_and_refills_nothing() {
    let Some(faked) = Faked::start("") else {
        return;
    };
    assert_eq!(faked.spends("ada"), 5);
    faked.set(DAYS_40);
    until("it is told", || {
        let told = faked.readyz();
        told.contains("ready\n") && told.contains("clock was set ahead by 40 d 0 h")
    });
    assert!(faked.server.metric("tollgate_clock_offset_seconds") > 3_455_990.0);
    assert_eq!(faked.spends("ada"), 0);
    assert_eq!(faked.spends("bob"), 5);
    assert!(faked.offset().abs() < 2.0, "{}", faked.offset());
    faked.set(0);
    until("it is back", || !faked.readyz().contains("clock"));
    assert!(faked.server.metric("tollgate_clock_offset_seconds").abs() < 1.0);
    assert!(faked.server.metric("tollgate_clock_steps_total") >= 2.0);
    assert!(faked.server.metric("tollgate_clock_followed_total") < 0.5);
    assert_eq!(faked.spends("ada") + faked.spends("bob"), 0);
    assert!(faked.offset().abs() < 2.0, "{}", faked.offset());
    faked.server.signal("TERM");
    let (_, errors) = faked.server.end();
    assert!(errors.contains("was set ahead by 40 d") && errors.contains("clock is back"));
}

#[test]
#[ignore = "takes two minutes: cargo test -p tollgate --test serve clock -- --ignored"]
fn a_clock_that_stays_where_it_was_set_is_followed_in_a_minute_and_refills_nothing() {
    if let Some(faked) = Faked::start("") {
        faked.goes_there_and_back(Duration::from_mins(1));
    }
}

#[test]
fn a_clock_that_stays_where_it_was_set_is_followed_when_the_settings_say_and_refills_nothing() {
    if let Some(faked) = Faked::start("limits: { clock_follow: 3s }\n") {
        faked.goes_there_and_back(Duration::from_secs(3));
    }
}

#[test]
fn rows_of_keys_that_left_memory_go_with_a_clock_that_is_followed() {
    let settings = "limits: { clock_follow: 3s }\nmemory: { max: 4MiB }\nflush_every: 100ms\n";
    let Some(faked) = Faked::start(settings) else {
        return;
    };
    let users: Vec<String> = (0..50).map(|user| format!("user {user}")).collect();
    for user in &users {
        assert_eq!(faked.spends(user), 5);
    }
    // Made-up keys that use their hour up at once, until those of the users had to go.
    let mut made_up = 0;
    let mut flood = || {
        let before = faked.server.metric("tollgate_table_evicted_total");
        until("keys are evicted", || {
            let key = |n: usize| format!("{{\"key\":{{\"user\":\"made up {n}\"}},\"cost\":5}}");
            let body: Vec<String> = (made_up..made_up + 1_000).map(key).collect();
            made_up += 1_000;
            faked.post(&format!("[{}]", body.join(",")));
            let evicted = faked.server.metric("tollgate_table_evicted_total");
            println!(
                "{made_up} {evicted} {}",
                faked.server.metric("tollgate_table_cells")
            );
            evicted - before > 15_000.0
        });
    };
    flood();
    faked.set(DAYS_40);
    faked.followed(1.0, Duration::from_secs(3));
    until("every key is moved", || !faked.readyz().contains("clock"));
    let passing: usize = users.iter().map(|user| faked.spends(user)).sum();
    assert_eq!(passing, 0, "of 50 users that used their hour up");
    flood();
    faked.set(0);
    faked.followed(2.0, Duration::from_secs(3));
    until("every key is moved", || !faked.readyz().contains("clock"));
    let passing: usize = users.iter().map(|user| faked.spends(user)).sum();
    assert_eq!(passing, 0, "of 50 users that used their hour up");
}

#[test]
fn a_clock_is_not_followed_while_rows_cannot_be_moved_with_it() {
    let Ok(library) = library() else { return };
    let disk = SmallDisk::of(2048);
    let (folder, data) = (tempfile::tempdir().unwrap(), disk.path().join("data"));
    let settings = "limits: { clock_follow: 1s }\nflush_every: 100ms\n";
    let faked = Faked::at(&library, folder, &data, settings);
    assert_eq!(faked.spends("ada"), 5);
    disk.fill();
    let mut user = 0;
    until("a flush fails", || {
        user += 100;
        assert!((user - 100..user).all(|user| faked.passes(&format!("u{user}"))));
        faked.readyz().contains("the disk is full")
    });
    faked.set(DAYS_40);
    until("it is told", || {
        faked
            .readyz()
            .contains("now it cannot be followed: the disk is full")
    });
    assert!(faked.offset().abs() < 2.0, "{}", faked.offset());
    assert_eq!(faked.spends("ada"), 0);
    disk.free();
    faked.followed(1.0, Duration::from_secs(0));
    until("every key is moved", || !faked.readyz().contains("clock"));
    assert_eq!(faked.spends("ada"), 0);
}

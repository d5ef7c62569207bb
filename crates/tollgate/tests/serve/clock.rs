//! A server whose system's clock is set while it runs.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::faked::{library, set, under};
use crate::kit::{Server, file, tollgate, until};

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
    fn start() -> Option<Self> {
        let library = match library() {
            Ok(library) => library,
            Err(why) => {
                println!("skipped: {why}");
                return None;
            }
        };
        let folder = tempfile::tempdir().unwrap();
        let contracts = file(folder.path(), "contracts.yaml", CONTRACTS);
        let mut command = tollgate(&[
            "serve",
            "--format",
            "json",
            "--http",
            "127.0.0.1:0",
            "--resp",
            "127.0.0.1:0",
        ]);
        command.arg("--contracts").arg(contracts);
        command.arg("--data-dir").arg(folder.path().join("data"));
        for word in under(&library, &folder.path().join("clock")) {
            let (name, value) = word.split_once('=').unwrap();
            command.env(name, value);
        }
        let server = Server::spawn(&mut command);
        Some(Self { server, folder })
    }

    fn set(&self, offset: i64) {
        set(&self.folder.path().join("clock"), offset);
    }

    fn passes(&self, user: &str) -> bool {
        let body = format!("{{\"key\":{{\"user\":\"{user}\"}},\"cost\":1}}");
        let length = body.len();
        let answer = self.server.request(&format!(
            "POST /v1/check HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: \
             close\r\n\r\n{body}"
        ));
        answer.contains("\"allowed\":true")
    }

    /// How many of ten requests of a user pass.
    fn spends(&self, user: &str) -> usize {
        (0..10).filter(|_| self.passes(user)).count()
    }

    fn readyz(&self) -> String {
        let request = "GET /readyz HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n";
        self.server.request(request)
    }

    /// How far the server's time is ahead of the right one, in seconds.
    fn offset(&self) -> f64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let request = "GET /v1/top HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n";
        let answer = self.server.request(request);
        let at = answer.split("\"at_ms\":").nth(1).unwrap();
        let at: f64 = at.split([',', '}']).next().unwrap().parse().unwrap();
        at / 1e3 - now.as_secs_f64()
    }

    /// Waits for as long as a step must stand before it is followed, and a little.
    fn followed(&self, times: f64) {
        let begun = Instant::now();
        while self.server.metric("tollgate_clock_followed_total") < times {
            assert!(begun.elapsed() < Duration::from_secs(90), "never followed");
            std::thread::sleep(Duration::from_millis(100));
        }
        assert!(begun.elapsed() > Duration::from_secs(50), "too soon");
    }
}

#[test]
fn a_clock_that_jumps_forty_days_and_back_is_told_of_and_refills_nothing() {
    let Some(faked) = Faked::start() else { return };
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
    let Some(faked) = Faked::start() else { return };
    assert_eq!(faked.spends("ada"), 5);
    for (way, offset, times) in [("ahead", DAYS_40, 1.0), ("back", 0, 2.0)] {
        faked.set(offset);
        faked.followed(times);
        let off = faked.offset() - f64::from(i32::try_from(offset).unwrap());
        assert!(off.abs() < 2.0, "{way}: {off}");
        until("every key is moved", || !faked.readyz().contains("clock"));
        assert_eq!(faked.spends("ada"), 0, "{way}");
        assert_eq!(faked.spends(way), 5, "a key that is new, {way}");
    }
    assert_eq!(faked.spends("ahead"), 0);
}

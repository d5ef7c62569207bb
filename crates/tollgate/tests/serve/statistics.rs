//! What `tollgate usage export` tells is what clients counted, and what a kill leaves of it.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use serde_json::Value;

use crate::kit::{Server, file, tollgate, until};

const TOKEN: &str = "a-token-for-the-tests";

/// Everybody has fifty, so that many are refused.
const SETTINGS: &str = "http: 127.0.0.1:0
resp: 127.0.0.1:0
contracts: [{ id: users, key: [user], policies: [{ name: p, limit: 50, per: 1h, algorithm: fixed-window }] }]
";

fn serve(folder: &Path, every: &str) -> Server {
    let statistics = format!("statistics: {{ on: true, every: {every} }}\n");
    let settings = file(folder, "tollgate.yaml", &(statistics + SETTINGS));
    let mut command = tollgate(&["serve", "--format", "json", "--config"]);
    command.arg(settings).arg("--data-dir").arg(folder);
    Server::spawn(command.env("TOLLGATE_ADMIN_TOKEN", TOKEN))
}

fn export(server: &Server, format: &str) -> String {
    // Also right if a day ends meanwhile.
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let day = Timestamp::from_second(i64::try_from(now).unwrap() - 86_400).unwrap();
    let day = day.strftime("%Y-%m-%d").to_string();
    let at = format!("http://{}", server.http);
    let mut command = tollgate(&["usage", "export", "--format", format, "--from", &day]);
    let output = command
        .args(["--server", &at])
        .env("TOLLGATE_ADMIN_TOKEN", TOKEN)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// How many were allowed and denied, by the JSON.
fn exported(server: &Server) -> (u64, u64) {
    let rows: Value = serde_json::from_str(&export(server, "json")).unwrap();
    let rows = rows.as_array().unwrap().iter();
    let counts = rows.map(|row| (&row["allowed"], &row["denied"]));
    counts.fold((0, 0), |sum, (allowed, denied)| {
        (
            sum.0 + allowed.as_u64().unwrap(),
            sum.1 + denied.as_u64().unwrap(),
        )
    })
}

/// The same by the comma-separated values.
fn exported_as_csv(server: &Server) -> (u64, u64) {
    let text = export(server, "csv");
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| head.iter().position(|is| *is == name).unwrap();
    let (allowed, denied) = (column("allowed"), column("denied"));
    lines.fold((0, 0), |sum, line| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse::<u64>().unwrap();
        (sum.0 + number(allowed), sum.1 + number(denied))
    })
}

/// Lets `tollgate bench` ask; how many it saw allowed and denied.
fn drive(server: &Server, arguments: &[&str]) -> (u64, u64) {
    let at = match arguments[0] {
        "resp" => server.resp.to_string(),
        _ => format!("http://{}", server.http),
    };
    let mut command = tollgate(&["bench"]);
    command.args(arguments).args(["--server", &at]);
    command.args(["--key", "user={}", "--keys", "40", "-c", "3", "-P", "4"]);
    command.args(["--duration", "0.3", "--warm-up", "0.1", "--format", "json"]);
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["errors"], Value::Array(Vec::new()), "{report}");
    let whole = |name: &str| report["whole"][name].as_u64().unwrap();
    (whole("allowed"), whole("denied"))
}

#[test]
fn usage_that_is_exported_is_what_a_load_generator_counted() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), "1h");
    let loads: [&[&str]; 4] = [
        &["http"],
        &["http", "--batch", "7"],
        &["resp", "--command", "check"],
        &["resp", "--command", "check", "--key-dist", "zipf"],
    ];
    let mut counted = (0, 0);
    for load in loads {
        let (allowed, denied) = drive(&server, load);
        counted = (counted.0 + allowed, counted.1 + denied);
    }
    assert_eq!(counted.0, 40 * 50, "everybody came often enough");
    assert!(counted.1 > 0, "{counted:?}");
    // Nothing is written by itself for an hour; who asks has it written.
    until("all is kept", || {
        let (allowed, denied) = exported(&server);
        allowed + denied >= counted.0 + counted.1
    });
    assert_eq!(exported(&server), counted);
    assert_eq!(exported_as_csv(&server), counted);
    server.signal("TERM");
    assert_eq!(server.end().0, Some(0));
    let server = serve(folder.path(), "1h");
    assert_eq!(exported(&server), counted, "nothing is lost by a stop");
}

/// When each of a client's requests was answered.
type Answered = Mutex<Vec<Instant>>;

fn answered_by(answered: &Answered, time: Instant) -> u64 {
    let answered = answered.lock().unwrap();
    answered.partition_point(|at| *at <= time) as u64
}

#[test]
fn a_kill_loses_no_request_that_the_lag_says_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), "50ms");
    let answered = Answered::default();
    let begun = Instant::now();
    let (kept_until, asked) = std::thread::scope(|scope| {
        let client = scope.spawn(|| {
            let mut asked = 0_u64;
            // Ends when the server does: a request may have been counted that nobody was told about.
            while server.try_take(&format!("u{}", asked % 7)).is_some() {
                asked += 1;
                answered.lock().unwrap().push(Instant::now());
            }
            asked + 1
        });
        let mut kept_until = begun;
        until("some are kept and some are not", || {
            let now = Instant::now();
            let lag = Duration::from_secs_f64(server.metric("tollgate_statistics_lag_seconds"));
            kept_until = now.checked_sub(lag).unwrap_or(begun);
            !lag.is_zero() && answered_by(&answered, kept_until) > 30
        });
        server.signal("KILL");
        (kept_until, client.join().unwrap())
    });
    assert_eq!(server.end().0, None);
    let surely = answered_by(&answered, kept_until);
    let after = serve(folder.path(), "50ms");
    let (allowed, denied) = exported(&after);
    let kept = allowed + denied;
    assert!(
        (surely..=asked).contains(&kept),
        "{kept} of {surely} to {asked}"
    );
    // What comes later is added to what is there.
    after.take("another");
    after.signal("TERM");
    assert_eq!(after.end().0, Some(0));
    assert_eq!(
        exported(&serve(folder.path(), "50ms")),
        (allowed + 1, denied)
    );
}

//! Tokens that end and are replaced while the server runs.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tollgate_serve::run::{Running, start};
use tollgate_serve::settings::{Settings, Token, Tokens};

use crate::run::kit::{server, settings, tcp, until};

const FIRST: &str = "first-token-of-two";
const SECOND: &str = "second-token-of-two";

/// Replaces a file that only its owner may read.
fn save(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::set_permissions(&beside, Permissions::from_mode(0o600)).unwrap();
    std::fs::rename(beside, path).unwrap();
}

/// The status of a question with a token; that of a wrong one is the same after many wrong ones.
fn status(running: &Running, token: &str) -> u16 {
    let mut wire = tcp(running.http());
    wire.send(format!(
        "GET /v1/top HTTP/1.1\r\nhost: t\r\nauthorization: Bearer {token}\r\n\r\n"
    ));
    match wire.reply().status {
        429 => 401,
        status => status,
    }
}

#[test]
fn tokens_of_a_file_are_replaced_without_a_restart_and_open_connections_end_with_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    save(&path, FIRST);
    let running = server(|settings| settings.tokens = Tokens::of_file(&path).unwrap());
    let mut first = tcp(running.resp());
    assert_eq!(first.inline(&format!("AUTH {FIRST}")), "+OK");
    assert_eq!(
        (status(&running, FIRST), status(&running, SECOND)),
        (200, 401)
    );
    // Both at once, so that callers can change theirs one after the other.
    save(&path, &format!("{FIRST}\n{SECOND}\n"));
    until("the second is known", || status(&running, SECOND) == 200);
    assert_eq!(
        (status(&running, FIRST), &*first.inline("PING")),
        (200, "+PONG")
    );
    let mut second = tcp(running.resp());
    assert_eq!(second.inline(&format!("AUTH {SECOND}")), "+OK");
    save(&path, SECOND);
    until("the first is known no more", || {
        status(&running, FIRST) == 401
    });
    assert!(
        first
            .inline("PING")
            .starts_with("-NOAUTH the token's time is up, or it was replaced")
    );
    assert!(first.is_closed());
    assert_eq!(
        (status(&running, SECOND), &*second.inline("PING")),
        (200, "+PONG")
    );
    // What cannot be used changes nothing, and is reported.
    save(&path, "short");
    let ready = || tcp(running.http()).get("/readyz").body;
    until("the failure is told", || ready().contains("openssl rand"));
    assert!(!ready().contains("short"));
    assert_eq!(status(&running, SECOND), 200);
    save(&path, FIRST);
    until("the newest is known", || status(&running, FIRST) == 200);
    until("all is well", || ready() == "ready\n");
}

#[test]
fn tokens_of_the_servers_file_are_read_again_upon_a_signal_and_never_all_taken_away() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tollgate.yaml");
    let write = |access: &str| save(&path, &format!("http: '0'\nresp: 'off'\n{access}"));
    write(&format!("access: {{ tokens: [{FIRST}] }}\n"));
    let running = start(Settings::read(&path).unwrap()).unwrap();
    assert_eq!(status(&running, FIRST), 200);
    write(&format!("access: {{ tokens: [{SECOND} scopes=check] }}\n"));
    running.reload().unwrap();
    assert_eq!(
        (status(&running, FIRST), status(&running, SECOND)),
        (401, 403)
    );
    write("");
    assert!(running.reload().unwrap_err().contains("there were tokens"));
    assert_eq!(
        (
            status(&running, "anything-at-all-here"),
            status(&running, SECOND)
        ),
        (401, 403)
    );
}

#[test]
fn a_token_ends_by_itself() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let soon = now.unwrap() + Duration::from_secs(3);
    let ends = Token::new(FIRST).until(u64::try_from(soon.as_nanos()).unwrap());
    let running = start(Settings {
        tokens: vec![ends, Token::new(SECOND)].into(),
        ..settings()
    });
    let running = running.unwrap();
    let mut wire = tcp(running.resp());
    assert_eq!(wire.inline(&format!("AUTH {FIRST}")), "+OK");
    assert_eq!(
        (status(&running, FIRST), &*wire.inline("PING")),
        (200, "+PONG")
    );
    until("its time is up", || status(&running, FIRST) == 401);
    assert!(wire.inline("PING").starts_with("-NOAUTH"));
    assert!(wire.is_closed());
    assert_eq!(status(&running, SECOND), 200);
}

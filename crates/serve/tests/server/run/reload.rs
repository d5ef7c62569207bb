//! Reading contracts again while requests come in.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use tollgate_parts::wire;
use tollgate_serve::run::Running;
use tollgate_serve::settings::ContractSource;

use crate::run::kit::{server, tcp, until};

fn contracts(policy: &str, limit: u64) -> String {
    format!(
        "contracts: [{{ id: users, key: [user], policies: [{{ name: {policy}, limit: {limit}, per: 1s }}] }}]"
    )
}

/// Replaces the file as editors do.
fn save(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(beside, path).unwrap();
}

fn watching(path: &Path) -> Running {
    server(|settings| settings.contracts = ContractSource::File(path.to_owned()))
}

#[test]
fn a_file_that_changes_is_read_again_and_a_bad_one_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("contracts.yaml");
    save(&path, &contracts("first", 10));
    let running = watching(&path);
    let mut wire = tcp(running.http());
    assert!(wire.check("1").body.contains("\"limit\":10,"));

    save(&path, &contracts("second", 20));
    until("the new limit", || {
        wire.check("1").body.contains("\"limit\":20,")
    });

    save(&path, "contracts: [{ id: users, polices: [] }]");
    until("the failure is told", || {
        wire.get("/readyz").body.contains("reload failed")
    });
    let ready = wire.get("/readyz");
    assert_eq!(ready.status, 200, "it still serves");
    assert!(
        ready.body.contains("contracts.yaml:1:26") && ready.body.contains("`policies`"),
        "{ready:?}"
    );
    assert!(
        wire.check("1").body.contains("\"limit\":20,"),
        "the old stays"
    );
    assert_eq!(running.shared().state.reloads(), (1, 1));

    // In place, as `cp` and `echo >` write.
    std::fs::write(&path, contracts("third", 30)).unwrap();
    until("the newest limit", || {
        wire.check("1").body.contains("\"limit\":30,")
    });
    until("all is well again", || {
        wire.get("/readyz").body == "ready\n"
    });

    std::fs::remove_file(&path).unwrap();
    until("the loss is told", || {
        wire.get("/readyz").body.contains("cannot read")
    });
    assert!(wire.check("1").body.contains("\"limit\":30,"));
}

#[test]
fn no_request_is_lost_or_answered_by_half_a_contract_while_contracts_change() {
    const CHANGES: u64 = 50;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("contracts.yaml");
    let versions = [("even", 1_000_000_u64), ("odd", 2_000_000)];
    save(&path, &contracts(versions[0].0, versions[0].1));
    let running = watching(&path);
    let done = AtomicBool::new(false);
    let asked = AtomicU64::new(0);
    thread::scope(|scope| {
        for client in 0..3 {
            let (running, done, asked) = (&running, &done, &asked);
            scope.spawn(move || {
                let mut wire = tcp(running.http());
                let mut seen = [0_u64; 2];
                while !done.load(Ordering::Relaxed) {
                    let reply = wire.check(&format!("u{client}"));
                    assert_eq!(reply.status, 200, "{reply:?}");
                    let version = versions.iter().position(|(name, limit)| {
                        reply.body.contains(&format!("\"limit\":{limit},"))
                            && reply
                                .field("ratelimit-policy")
                                .unwrap()
                                .contains(&format!("\"{name}\";q={limit}"))
                            && !reply.body.contains("\"allowed\":false")
                    });
                    seen[version.unwrap_or_else(|| panic!("of no version: {reply:?}"))] += 1;
                    asked.fetch_add(1, Ordering::Relaxed);
                }
                assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
            });
        }
        for change in 1..=CHANGES {
            let (name, limit) = versions[usize::from(change % 2 == 1)];
            let before = asked.load(Ordering::Relaxed);
            save(&path, &contracts(name, limit));
            running.reload().unwrap();
            until("requests go on", || {
                asked.load(Ordering::Relaxed) > before + 20
            });
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(running.shared().state.reloads().0 >= CHANGES);
}

#[test]
fn contracts_among_the_settings_change_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tollgate.yaml");
    let text = |limit| format!("http: 0\nresp: off\n{}\n", contracts("p", limit));
    save(&path, &text(10));
    let settings = tollgate_serve::settings::Settings::read(&path).unwrap();
    let running = tollgate_serve::run::start(settings).unwrap();
    let mut wire = tcp(running.http());
    assert!(wire.check("1").body.contains("\"limit\":10,"));
    save(&path, &text(20));
    until("the new limit", || {
        wire.check("1").body.contains("\"limit\":20,")
    });
}

#[test]
fn descriptor_files_of_a_folder_are_one_and_are_read_again_when_one_of_them_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let rule = |key: &str, limit: u64| {
        let limit = format!("rate_limit: {{ unit: hour, requests_per_unit: {limit} }}");
        format!("domain: shop\ndescriptors:\n  - {{ key: {key}, {limit} }}\n")
    };
    save(&path("a.yaml"), &rule("user", 10));
    save(&path("b.yml"), &rule("team", 20));
    save(&path("notes.txt"), "no rules");
    let running = watching(folder.path());
    let mut wire = tcp(running.http());
    let mut limit = |key: &str| {
        wire.send(wire::check(key, "1"));
        let answer = wire.reply().body;
        let (_, limit) = answer.split_once("\"limit\":").unwrap_or_default();
        limit.split(',').next().unwrap_or_default().to_owned()
    };
    assert_eq!([limit("user"), limit("team")], ["10", "20"]);
    // In place, and by a file more.
    std::fs::write(path("b.yml"), rule("team", 30)).unwrap();
    until("the limit of one file", || limit("team") == "30");
    save(&path("c.json"), &rule("role", 7));
    until("the rules of another file", || limit("role") == "7");
    // What two files say is a mistake that names both.
    save(&path("d.yaml"), &rule("user", 1));
    let mut ready = tcp(running.http());
    let said = "d.yaml:3:12: `user` stands at this level already, on line 3 of ";
    until("the mistake is told", || {
        let body = ready.get("/readyz").body;
        body.contains(said) && body.contains("a.yaml")
    });
    assert_eq!(limit("user"), "10");
}

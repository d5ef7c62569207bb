//! Two servers on one `PostgreSQL`: a change is in force on both, and both go on when it is gone.

use std::time::{Duration, Instant};

use tollgate_catalogue::Kind;
use tollgate_catalogue_sql::Source;
use tollgate_parts::{Postgres, Stalls, until};
use tollgate_serve::run::start;

use crate::catalogue::kit::{CatalogueServer, Editor, settings};

#[test]
fn a_change_is_in_force_on_both_and_both_go_on_without_the_database() {
    let mut database = Postgres::start();
    let source = Source::Postgres(database.url());
    let (mut one, mut two) = (
        CatalogueServer::start(&source),
        CatalogueServer::start(&source),
    );
    let editor = Editor::new(&source);
    assert_eq!((one.limit("ann"), two.limit("ann")), (10, 10));
    editor.assign("user=ann", "plan: pro");
    let first = one.until_limit("ann", 1000);
    let second = two.until_limit("ann", 1000);
    println!("in force after {first:?}, and {second:?} later on the other");

    database.stop();
    for server in [&mut one, &mut two] {
        until("the trouble is told", || {
            server
                .get("/readyz")
                .contains("the catalogue is not followed")
        });
        assert_eq!(server.ask("ann", 1), (true, 1000, 999));
        assert_eq!(server.limit("stranger"), 10, "by the contract");
    }
    database.run(&[]);
    until("the database is back", || {
        editor.run(editor.database.revision()).is_ok()
    });
    let free = "{ id: free, policies: [{ name: long, limit: 20, per: 1000d }] }";
    editor.put(Kind::Plan, "free", free);
    editor.assign("user=stranger", "plan: pro");
    for server in [&mut one, &mut two] {
        server.until_limit("bob", 20);
        server.until_limit("stranger", 1000);
        assert_eq!(server.ask("ann", 0), (true, 1000, 999));
        until("the trouble is over", || {
            !server.get("/readyz").contains("catalogue")
        });
        let revision = format!(
            "tollgate_catalogue_revision {}\n",
            editor.run(editor.database.revision()).unwrap()
        );
        // A key may be looked up before the change that it shows is in force.
        until("the last change is in force", || {
            server.get("/metrics").contains(&revision)
        });
    }
}

/// A poll every second would be in force after more than one, now and then. What the machine itself kept threads from
/// running is taken off, and one change of all may be late for a reason that no thread sees, as a disk that hangs.
#[test]
fn a_change_is_in_force_on_both_within_a_second() {
    let database = Postgres::start();
    let source = Source::Postgres(database.url());
    let (mut one, mut two) = (
        CatalogueServer::start(&source),
        CatalogueServer::start(&source),
    );
    let editor = Editor::new(&source);
    let mut took: Vec<Duration> = Vec::new();
    for change in 0..CHANGES {
        let user = format!("user{change}");
        assert_eq!((one.limit(&user), two.limit(&user)), (10, 10));
        editor.assign(&format!("user={user}"), "plan: pro");
        let stalls = Stalls::watch();
        let begun = Instant::now();
        one.until_limit(&user, 1000);
        two.until_limit(&user, 1000);
        took.push(begun.elapsed().saturating_sub(stalls.end()));
    }
    took.sort_unstable();
    println!("in force after {took:?}");
    assert!(took[CHANGES - 2] < Duration::from_secs(1), "{took:?}");
}

const CHANGES: usize = 5;

#[test]
fn a_database_that_hangs_keeps_nobody_waiting_for_long() {
    let database = Postgres::start();
    let source = Source::Postgres(database.url());
    let editor = Editor::new(&source);
    let mut settings = settings(&source);
    let deadline = Duration::from_millis(100);
    settings.keeping.catalogue.as_mut().unwrap().deadline = deadline;
    let mut server = CatalogueServer::of(start(settings).unwrap_or_else(|error| panic!("{error}")));
    editor.assign("user=bob", "plan: pro");
    editor.assign("user=cid", "plan: pro");
    let revision = editor.run(editor.database.revision()).unwrap();
    until("all is in force", || {
        let metrics = server.get("/metrics");
        metrics.contains(&format!("tollgate_catalogue_revision {revision}\n"))
    });
    server.until_limit("bob", 1000);
    database.pause();
    assert_eq!(server.ask("bob", 1), (true, 1000, 999), "known");
    let late = |server: &CatalogueServer| server.running.shared().catalogue().counts().late.get();
    let before = late(&server);
    // Right after a late lookup, others are not looked up.
    until("somebody waited until the deadline", || {
        let stalls = Stalls::watch();
        let begun = Instant::now();
        assert_eq!(server.limit("cid"), 10, "by the contract");
        let waited = begun.elapsed().saturating_sub(stalls.end());
        assert!(waited < deadline * 4, "{waited:?}");
        late(&server) > before
    });
    database.resume();
    server.until_limit("cid", 1000);
}

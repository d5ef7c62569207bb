//! Two servers on one `PostgreSQL`: a change is in force on both, and both go on when it is gone.

use tollgate_catalogue::Kind;
use tollgate_catalogue_sql::Source;
use tollgate_parts::{Postgres, until};

use crate::kit::{Editor, Server};

#[test]
fn a_change_is_in_force_on_both_and_both_go_on_without_the_database() {
    let mut database = Postgres::start();
    let source = Source::Postgres(database.url());
    let (mut one, mut two) = (Server::start(&source), Server::start(&source));
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
    let free = "{ id: free, policies: [{ name: hour, limit: 20, per: 1h }] }";
    editor.put(Kind::Plan, "free", free);
    editor.assign("user=stranger", "plan: pro");
    for server in [&mut one, &mut two] {
        server.until_limit("bob", 20);
        server.until_limit("stranger", 1000);
        assert_eq!(server.ask("ann", 0), (true, 1000, 999));
        until("the trouble is over", || {
            !server.get("/readyz").contains("catalogue")
        });
        let metrics = server.get("/metrics");
        let revision = format!(
            "tollgate_catalogue_revision {}\n",
            editor.run(editor.database.revision()).unwrap()
        );
        assert!(metrics.contains(&revision), "{metrics}");
    }
}

#[test]
fn a_database_that_hangs_keeps_nobody_waiting_for_long() {
    let database = Postgres::start();
    let source = Source::Postgres(database.url());
    let mut server = Server::start(&source);
    assert_eq!(server.ask("ann", 1), (true, 10, 9));
    database.pause();
    assert_eq!(server.ask("ann", 1), (true, 10, 8), "known");
    assert_eq!(server.ask("bob", 1), (true, 10, 9), "by the contract");
    database.resume();
    let editor = Editor::new(&source);
    editor.assign("user=bob", "plan: pro");
    server.until_limit("bob", 1000);
}

//! Writers that are killed in the middle.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use tollgate_catalogue::Kind;
use tollgate_catalogue_sql::{Filter, Source};

use super::{make, open};

const CHILD: &str = "CATALOGUE_CHILD";
const WRITES: u64 = 1000;

/// The child process: writes and reports it, until it is killed.
pub(crate) async fn write_until_killed() {
    let Ok(place) = std::env::var(CHILD) else {
        return;
    };
    let source = match place.strip_prefix("file:") {
        Some(path) => Source::Sqlite(path.into()),
        None => Source::Postgres(place),
    };
    let database = open(&source).await;
    for number in 0..WRITES {
        let id = format!("c{number:04}");
        if database.get(Kind::Contract, &id).await.unwrap().is_some() {
            continue;
        }
        let text = format!(
            "{{ id: {id}, key: [user], policies: [{{ name: p, limit: {}, per: 1s }}] }}",
            number + 1
        );
        make(&database, Kind::Contract, &id, &text).await;
        println!("\nwrote {id}");
    }
}

/// Kills a writer again and again: every reported write is stored, and every stored object is complete.
pub(crate) async fn killed_writers_leave_whole_writes(source: &Source) {
    let place = match source {
        Source::Sqlite(path) => format!("file:{}", path.display()),
        Source::Postgres(url) => url.clone(),
    };
    open(source).await;
    let mut said: Vec<String> = Vec::new();
    for until in [1, 90, 200, 333, 450, 610, 800] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "writes_until_it_is_killed",
                "--exact",
                "--ignored",
                "--nocapture",
            ])
            .env(CHILD, &place)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for line in lines {
            let line = line.unwrap();
            said.extend(line.strip_prefix("wrote ").map(str::to_owned));
            if said.len() >= until {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();

        let database = open(source).await;
        let there = database
            .list(Kind::Contract, &Filter::default(), 1000)
            .await
            .unwrap();
        let ids: Vec<&str> = there.iter().map(|item| &*item.id).collect();
        assert!(
            said.iter().all(|id| ids.contains(&&**id)),
            "something was lost"
        );
        let number = u64::try_from(there.len()).unwrap();
        assert_eq!(database.revision().await.unwrap(), number);
        let changes = database.changes(0, 1000).await.unwrap();
        assert_eq!(changes.len(), there.len());
        for (item, change) in there.iter().zip(&changes) {
            assert_eq!((&item.id, item.version), (&change.id, 1));
            assert_eq!(Some(&item.document), change.after.as_ref());
        }
        assert_eq!(
            database.audited(None, 1000).await.unwrap().len(),
            there.len()
        );
        let snapshot = database.snapshot().await.unwrap();
        assert_eq!(snapshot.catalogue.contracts().count(), there.len());
        said = ids.into_iter().map(str::to_owned).collect();
    }
}

//! A catalogue in a file: what is put into a new one, what cannot be opened, and what a server does with a contract
//! file.

use tollgate_catalogue::Kind;
use tollgate_catalogue_sql::Source;
use tollgate_serve::run::{StartError, start};
use tollgate_serve::settings::{ContractSource, Keeping, Settings};

use crate::catalogue::kit::{CatalogueServer, Editor, settings};

fn folder() -> (tempfile::TempDir, Source) {
    let folder = tempfile::tempdir().unwrap();
    let source = Source::Sqlite(folder.path().join("catalogue.db"));
    (folder, source)
}

#[test]
fn a_contract_file_is_read_once_and_then_the_catalogue_rules() {
    let (_folder, source) = folder();
    let mut first = CatalogueServer::start(&source);
    assert_eq!(first.limit("ann"), 10);
    let snapshot = first.running.shared().catalogue().snapshot();
    assert_eq!(snapshot.revision, 3, "two plans and a contract");
    let editor = Editor::new(&source);
    let history = editor.database.history(Kind::Plan, "free", None, 9);
    assert_eq!(editor.run(history).unwrap()[0].author, "file");
    first.running.stop().unwrap();
    let mut again = settings(&source);
    let other =
        "contracts: [{ id: users, key: [user], policies: [{ name: a, limit: 7, per: 1h }] }]";
    again.contracts = ContractSource::Text(other.to_owned());
    let mut again = CatalogueServer::of(start(again).unwrap());
    assert_eq!(again.limit("ann"), 10);
}

#[test]
fn a_wrong_contract_file_is_not_half_imported() {
    let (_folder, source) = folder();
    let mut wrong = settings(&source);
    wrong.contracts = ContractSource::Text("contracts: [{ id: a, plan: fre }]".to_owned());
    let refused = start(wrong).err().unwrap();
    assert!(matches!(refused, StartError::Catalogue(_)), "{refused}");
    let editor = Editor::new(&source);
    assert_eq!(editor.run(editor.database.revision()).unwrap(), 0);
    assert_eq!(CatalogueServer::start(&source).limit("ann"), 10);
}

#[test]
fn a_catalogue_that_is_not_there_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    for source in [
        Source::Sqlite(folder.path().join("no/such/folder.db")),
        Source::Postgres("postgres://me:s3cret@127.0.0.1:1/x".into()),
    ] {
        let refused = start(settings(&source)).err().unwrap().to_string();
        assert!(refused.contains("contract file instead"), "{refused}");
        assert!(!refused.contains("s3cret"), "{refused}");
    }
}

#[test]
fn a_contract_file_has_a_catalogue_that_nobody_can_change() {
    let mut settings = Settings {
        keeping: Keeping::default(),
        ..settings(&Source::Sqlite("unused".into()))
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("contracts.yaml");
    std::fs::write(&path, crate::catalogue::kit::CONTRACTS).unwrap();
    settings.contracts = ContractSource::File(path.clone());
    let server = CatalogueServer::of(start(settings).unwrap());
    let live = server.running.shared().catalogue();
    assert!(live.database().is_none());
    assert!(live.snapshot().catalogue.has_contract("users"));
    std::fs::write(
        &path,
        "contracts: [{ id: others, policies: [{ name: a, limit: 7, per: 1h }] }]",
    )
    .unwrap();
    server.running.reload().unwrap();
    assert!(live.snapshot().catalogue.has_contract("others"));
}

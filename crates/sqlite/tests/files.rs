//! Files that are lost in different ways, on disks with room and without.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode};
use sqlx::{ConnectOptions, Connection};
use tollgate_parts::SmallDisk;
use tollgate_sqlite::{DatabaseFault, DatabaseFile, File, FileError};

fn options(path: &Path) -> SqliteConnectOptions {
    let options = SqliteConnectOptions::new().filename(path);
    options
        .journal_mode(SqliteJournalMode::Wal)
        .disable_statement_logging()
}

fn shared(folder: &Path) -> DatabaseFile {
    DatabaseFile::new(File::shared(options(&folder.join("some.db"))))
}

async fn table(connection: &mut SqliteConnection) -> Result<(), FileError> {
    let table = sqlx::raw_sql("CREATE TABLE IF NOT EXISTS word (text TEXT NOT NULL)");
    table.execute(connection).await?;
    Ok(())
}

/// Writes a text of `bytes` bytes in a transaction.
async fn write(held: &mut DatabaseFile, bytes: usize) -> Result<(), FileError> {
    held.ready(table).await?;
    let write = async |connection: &mut SqliteConnection| {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        let word = sqlx::query("INSERT INTO word VALUES (?)").bind("x".repeat(bytes));
        word.execute(&mut *transaction).await?;
        Ok(transaction.commit().await?)
    };
    held.run(write).await.unwrap()
}

async fn words(held: &mut DatabaseFile) -> Result<i64, FileError> {
    let connection = held.ready(table).await?;
    let count = sqlx::query_scalar("SELECT count(*) FROM word");
    Ok(count.fetch_one(connection).await?)
}

fn full(done: &Result<(), FileError>) -> bool {
    matches!(done, Err(FileError::Sql(error)) if DatabaseFault::of(error) == DatabaseFault::Full)
}

fn beside(folder: &Path, suffix: &str) -> PathBuf {
    folder.join(format!("some.db{suffix}"))
}

#[tokio::test]
async fn after_an_error_in_a_transaction_another_connection_writes() {
    let disk = SmallDisk::of(512);
    let mut held = shared(disk.path());
    write(&mut held, 10).await.unwrap();
    disk.fill();
    while !full(&write(&mut held, 20_000).await) {}
    assert!(!held.is_open());
    disk.free();
    write(&mut held, 10).await.unwrap();
    assert!(words(&mut held).await.unwrap() >= 2);
    assert_eq!(held.file().lost(), 0);
}

#[tokio::test]
async fn what_cannot_be_saved_for_want_of_room_is_saved_once_there_is_some() {
    let disk = SmallDisk::of(512);
    let mut held = shared(disk.path());
    for _ in 0..5 {
        write(&mut held, 10_000).await.unwrap();
    }
    std::fs::remove_file(beside(disk.path(), "")).unwrap();
    disk.fill();
    for _ in 0..3 {
        let done = write(&mut held, 10).await;
        assert!(full(&done), "{done:?}");
        assert!(held.is_open(), "it is all that is left");
        assert!(!beside(disk.path(), ".saving").exists());
    }
    disk.free();
    write(&mut held, 10).await.unwrap();
    assert_eq!(words(&mut held).await.unwrap(), 6);
    assert_eq!(held.file().lost(), 1);
    let mode = beside(disk.path(), "").metadata().unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[tokio::test]
async fn all_who_have_a_shared_file_open_meet_at_the_one_that_was_saved() {
    for lost in ["", "-wal", "-shm"] {
        let folder = tempfile::tempdir().unwrap();
        let (mut one, mut other) = (shared(folder.path()), shared(folder.path()));
        write(&mut one, 10).await.unwrap();
        write(&mut other, 10).await.unwrap();
        std::fs::remove_file(beside(folder.path(), lost)).unwrap();
        for _ in 0..3 {
            write(&mut one, 10).await.unwrap();
            write(&mut other, 10).await.unwrap();
        }
        assert_eq!(words(&mut one).await.unwrap(), 8, "{lost:?}");
        assert_eq!(words(&mut shared(folder.path())).await.unwrap(), 8);
    }
}

#[tokio::test]
async fn the_log_of_another_file_is_not_read_into_what_is_saved() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (mut held, mut foreign) = (shared(folder.path()), shared(elsewhere.path()));
    write(&mut held, 10).await.unwrap();
    for _ in 0..50 {
        write(&mut foreign, 5_000).await.unwrap();
    }
    std::fs::remove_file(beside(folder.path(), "")).unwrap();
    let log = std::fs::copy(
        beside(elsewhere.path(), "-wal"),
        beside(folder.path(), "-copy"),
    );
    assert!(log.unwrap() > 100_000);
    std::fs::rename(
        beside(folder.path(), "-copy"),
        beside(folder.path(), "-wal"),
    )
    .unwrap();
    write(&mut held, 10).await.unwrap();
    assert_eq!(words(&mut held).await.unwrap(), 2);
}

#[tokio::test]
async fn a_file_of_which_nothing_is_left_is_made_again_only_by_who_knows_what_it_held() {
    let folder = tempfile::tempdir().unwrap();
    for is_alone in [false, true] {
        let path = beside(folder.path(), "");
        let file = if is_alone { File::alone } else { File::shared };
        let mut held = DatabaseFile::new(file(options(&path)));
        write(&mut held, 10).await.unwrap();
        held.give_up().await;
        std::fs::remove_file(&path).unwrap();
        let done = write(&mut held, 10).await;
        if is_alone {
            done.unwrap();
            assert_eq!(
                (words(&mut held).await.unwrap(), held.file().lost()),
                (1, 1)
            );
        } else {
            assert!(matches!(done, Err(FileError::Removed(_))), "{done:?}");
            assert!(!path.exists());
            // A backup is put there.
            write(&mut shared(folder.path()), 10).await.unwrap();
            assert_eq!(words(&mut held).await.unwrap(), 1);
        }
    }
}

#[tokio::test]
async fn what_is_put_in_the_place_of_a_file_of_ones_own_is_set_aside_whole() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = beside(folder.path(), "");
    let mut held = DatabaseFile::new(File::alone(options(&path)));
    write(&mut held, 10).await.unwrap();
    let mut foreign = shared(elsewhere.path());
    for _ in 0..3 {
        write(&mut foreign, 10).await.unwrap();
    }
    for suffix in ["", "-wal"] {
        let from = beside(elsewhere.path(), suffix);
        let near = folder.path().join("near");
        std::fs::copy(from, &near).unwrap();
        std::fs::rename(near, beside(folder.path(), suffix)).unwrap();
    }
    write(&mut held, 10).await.unwrap();
    assert_eq!(words(&mut held).await.unwrap(), 2);
    let aside = options(&beside(folder.path(), ".found-1"));
    let mut aside = aside.connect().await.unwrap();
    let count = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM word");
    assert_eq!(count.fetch_one(&mut aside).await.unwrap(), 3);
}

//! Who this node is: an id that stays, a generation that grows with every start, a boot that is never the same.
//!
//! Id and generation are kept in the data directory, in a file of two or three lines that is replaced as a whole;
//! without a directory the id is drawn anew. Not here: the numbers by which the others call it (`tollgate-cluster`).

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tollgate_gossip::Writer;
use tollgate_sqlite::private;

use super::ClusterError;

/// Who this node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeIdentity {
    /// Stays as long as the data directory.
    pub id: u128,
    /// How often it was started, this time included.
    pub generation: u64,
    /// Random, of this start alone.
    pub boot: u64,
    /// The number of this start among replicas, once it is known; before, that of the start before.
    pub writer: Option<Writer>,
}

impl NodeIdentity {
    /// The identity of a start: kept in the directory where there is one, and a stranger's where there is none.
    pub fn take(data_dir: Option<&Path>) -> Result<Self, ClusterError> {
        let boot = getrandom::u64()?;
        let Some(folder) = data_dir else {
            return Ok(Self {
                id: draw()?,
                generation: 1,
                boot,
                writer: None,
            });
        };
        let path = Self::path(folder);
        let failed = |error| ClusterError::Identity(path.clone(), error);
        let (id, before, writer) = match read(&path).map_err(failed)? {
            Some(text) => parse(&text).ok_or_else(|| ClusterError::BadIdentity(path.clone()))?,
            None => (draw()?, 0, None),
        };
        let identity = Self {
            id,
            generation: before.saturating_add(1),
            boot,
            writer,
        };
        // Before anybody hears of it: no generation is ever used twice.
        identity.keep(folder)?;
        Ok(identity)
    }

    /// Writes it down.
    pub fn keep(&self, folder: &Path) -> Result<(), ClusterError> {
        let path = Self::path(folder);
        write(&path, self).map_err(|error| ClusterError::Identity(path, error))
    }

    /// Where a data directory keeps it.
    pub fn path(folder: &Path) -> PathBuf {
        folder.join(FILE)
    }
}

fn draw() -> Result<u128, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(u128::from_le_bytes(bytes))
}

fn read(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The id, the generation and the writer of a text; nothing where it is not as it was written.
fn parse(text: &str) -> Option<(u128, u64, Option<Writer>)> {
    let mut lines = text.lines();
    let id = lines.next()?.strip_prefix("id: ")?;
    let generation = lines.next()?.strip_prefix("generation: ")?;
    let writer = match lines.next() {
        Some(line) => Some(Writer(line.strip_prefix("writer: ")?.parse().ok()?)),
        None => None,
    };
    let is_whole = id.len() == 32 && lines.next().is_none();
    let id = u128::from_str_radix(id, 16).ok().filter(|_| is_whole)?;
    Some((id, generation.parse().ok()?, writer))
}

fn write(path: &Path, identity: &NodeIdentity) -> io::Result<()> {
    let NodeIdentity { id, generation, .. } = identity;
    let writer = identity
        .writer
        .map_or_else(String::new, |Writer(writer)| format!("writer: {writer}\n"));
    let text = format!("id: {id:032x}\ngeneration: {generation}\n{writer}");
    private::replace(path, text.as_bytes())
}

const FILE: &str = "node.id";
/// More than any such file has.
const BYTES_MAX: u64 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_stays_and_the_generation_grows() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = NodeIdentity::take(Some(folder.path())).unwrap();
        first.writer = Some(Writer(7));
        first.keep(folder.path()).unwrap();
        let second = NodeIdentity::take(Some(folder.path())).unwrap();
        assert_eq!(first.id, second.id);
        assert_eq!((first.generation, second.generation), (1, 2));
        assert_ne!(first.boot, second.boot);
        assert_eq!(second.writer, Some(Writer(7)));
        let other = NodeIdentity::take(None).unwrap();
        assert_ne!(other.id, first.id);
    }

    #[test]
    fn what_is_not_as_it_was_written_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = NodeIdentity::path(folder.path());
        let id = "0123456789abcdef0123456789abcdef";
        for text in [
            String::new(),
            format!("id: {id}\n"),
            format!("id: {id}\ngeneration: -1\n"),
            format!("id: {id}\ngeneration: 1\nmore\n"),
            format!("id: {}\ngeneration: 1\n", &id[1..]),
            "x".repeat(10_000),
        ] {
            std::fs::write(&path, &text).unwrap();
            let error = NodeIdentity::take(Some(folder.path())).unwrap_err();
            assert!(matches!(error, ClusterError::BadIdentity(_)), "{text}");
        }
        std::fs::write(&path, format!("id: {id}\ngeneration: 41\n")).unwrap();
        assert_eq!(
            NodeIdentity::take(Some(folder.path())).unwrap().generation,
            42
        );
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_a_typed_answer() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("node.id.new")).unwrap();
        let error = NodeIdentity::take(Some(folder.path())).unwrap_err();
        assert!(matches!(error, ClusterError::Identity(..)), "{error}");
    }
}

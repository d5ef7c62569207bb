//! The keys of a cluster: a secret that never changes, and one or two keys that seal.
//!
//! The file is text, for its owner alone (mode 600):
//!
//! ```text
//! # comments and empty lines are skipped
//! secret: <base64 of 32 bytes>
//! seal: <base64 of 32 bytes>
//! seal: <base64 of 32 bytes> next
//! ```
//!
//! The first `seal` seals, and all open. `next` marks one that will seal, `old` one that has: so [`KeyRing::rotate`]
//! knows how far a rotation is. Everything that is used is derived from these by HKDF-SHA-256. Not here: sealing, and
//! streams.

use std::fmt;
use std::io;
use std::path::Path;

use ring::hkdf;
use tollgate_cluster::OwnerKey;
use tollgate_kit::base64;
use tollgate_sqlite::private;

use super::seal::key_id;

/// The keys of a cluster.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyRing {
    secret: [u8; KEY_LEN],
    seals: Vec<SealKey>,
}

/// A key that seals, or opens what is sealed with it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SealKey {
    pub(crate) bytes: [u8; KEY_LEN],
    turn: Turn,
}

/// Where a key is in its rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Current,
    Next,
    Old,
}

/// What a rotation has come to, and so what is to be done before its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotationStep {
    /// A key was added that opens; once every node has read the file again, it can seal.
    Learn,
    /// It seals; once every node has read the file again, the old one can go.
    Switch,
    /// The old one is gone.
    Done,
}

impl fmt::Display for RotationStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Learn => "step 1 of 3: a new key opens; give the file to every node and reload it there, then rotate again",
            Self::Switch => {
                "step 2 of 3: the new key seals; give the file to every node and reload it there, then rotate again"
            }
            Self::Done => "step 3 of 3: the old key is gone; give the file to every node and reload it there",
        })
    }
}

/// Why a key file cannot be used. No variant holds a key.
#[derive(Debug)]
pub enum KeyError {
    /// The file cannot be read or written.
    File(io::Error),
    /// Others than its owner may read it, or write it.
    Open(u32),
    /// It is longer than any key file.
    TooLong,
    /// A line is none of a key file.
    Line(usize),
    /// A key on that line is not 32 bytes in base64.
    Bytes(usize),
    /// There is no secret, or more than one.
    Secret,
    /// There is no seal, or more than two, or one twice.
    Seals,
    /// The file exists already.
    Exists,
    /// The system gives no randomness.
    Random,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Open(mode) => write!(
                f,
                "mode {mode:o} lets others than the owner at the cluster's keys; make it 600"
            ),
            Self::TooLong => f.write_str("longer than any key file"),
            Self::Line(line) => write!(
                f,
                "line {line}: expected `secret: …` or `seal: …`; `tollgate cluster key new FILE` writes a key file"
            ),
            Self::Bytes(line) => write!(f, "line {line}: a key is 32 bytes in base64"),
            Self::Secret => f.write_str("exactly one line `secret: …` is needed"),
            Self::Seals => f.write_str("one or two different lines `seal: …` are needed"),
            Self::Exists => {
                f.write_str("the file exists already; a cluster's secret never changes")
            }
            Self::Random => f.write_str("the system gives no randomness"),
        }
    }
}

impl std::error::Error for KeyError {}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyRing({} to seal and open)", self.seals.len())
    }
}

impl KeyRing {
    /// New keys.
    pub fn fresh() -> Result<Self, KeyError> {
        Ok(Self {
            secret: draw()?,
            seals: vec![SealKey {
                bytes: draw()?,
                turn: Turn::Current,
            }],
        })
    }

    /// The keys of a text.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        if text.len() > FILE_LEN_MAX {
            return Err(KeyError::TooLong);
        }
        let mut secret = None;
        let mut seals: Vec<SealKey> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, value) = line.split_once(':').ok_or(KeyError::Line(at + 1))?;
            let (value, turn) = turn(value.trim()).ok_or(KeyError::Line(at + 1))?;
            let bytes = || decode(value).ok_or(KeyError::Bytes(at + 1));
            match name.trim() {
                "secret" if secret.is_some() => return Err(KeyError::Secret),
                "secret" => secret = Some(bytes()?),
                "seal" => seals.push(SealKey {
                    bytes: bytes()?,
                    turn: turn.unwrap_or(Turn::Current),
                }),
                _ => return Err(KeyError::Line(at + 1)),
            }
        }
        let is_fine = match &*seals {
            [_] => true,
            [first, second] => first.bytes != second.bytes,
            _ => false,
        };
        if !is_fine {
            return Err(KeyError::Seals);
        }
        Ok(Self {
            secret: secret.ok_or(KeyError::Secret)?,
            seals,
        })
    }

    /// The keys of a file that only its owner and its group may read.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let text = private::read(path, FILE_LEN_MAX as u64 + 1).map_err(KeyError::File)?;
        Self::parse(&text.map_err(KeyError::Open)?)
    }

    /// The text of a key file.
    pub fn write(&self) -> String {
        let secret = base64::encode(&self.secret);
        let mut text = format!("{COMMENT}\nsecret: {secret}\n");
        for key in &self.seals {
            text.push_str("seal: ");
            text.push_str(&base64::encode(&key.bytes));
            text.push_str(match key.turn {
                Turn::Current => "\n",
                Turn::Next => " next\n",
                Turn::Old => " old\n",
            });
        }
        text
    }

    /// Writes a file that is not there yet, for its owner alone.
    pub fn create(&self, path: &Path) -> Result<(), KeyError> {
        let made = private::create(path, self.write().as_bytes());
        made.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => KeyError::Exists,
            _ => KeyError::File(error),
        })
    }

    /// Replaces a file as a whole: nobody reads half of it.
    pub fn replace(&self, path: &Path) -> Result<(), KeyError> {
        private::replace(path, self.write().as_bytes()).map_err(KeyError::File)
    }

    /// The next step of changing the key that seals; after each, every node reads the file before the next.
    pub fn rotate(&self) -> Result<(Self, RotationStep), KeyError> {
        let (seals, step) = match &*self.seals {
            [only] => {
                let mut bytes = draw()?;
                // Datagrams name keys by a byte, and one in 256 would be named like the other.
                while key_id(&bytes) == key_id(&only.bytes) {
                    bytes = draw()?;
                }
                let next = SealKey {
                    bytes,
                    turn: Turn::Next,
                };
                (vec![only.turned(Turn::Current), next], RotationStep::Learn)
            }
            [first, second] if second.turn == Turn::Next => (
                vec![second.turned(Turn::Current), first.turned(Turn::Old)],
                RotationStep::Switch,
            ),
            [first, ..] => (vec![first.turned(Turn::Current)], RotationStep::Done),
            [] => return Err(KeyError::Seals),
        };
        let secret = self.secret;
        Ok((Self { secret, seals }, step))
    }

    /// The seed of the table: one for the whole cluster, so that a key has one print on all nodes.
    pub fn seed(&self) -> [u64; 2] {
        let bytes: [u8; 16] = derive(&self.secret, b"table seed");
        let (halves, _) = bytes.as_chunks::<8>();
        [0, 1].map(|half| halves.get(half).map_or(0, |half| u64::from_le_bytes(*half)))
    }

    /// The key of the hash that places keys on owners.
    pub fn owner_key(&self) -> OwnerKey {
        OwnerKey(derive(&self.secret, b"owner hash"))
    }

    /// The keys that seal and open, the one that seals first.
    pub(crate) fn seals(&self) -> &[SealKey] {
        &self.seals
    }
}

impl SealKey {
    fn turned(&self, turn: Turn) -> Self {
        Self {
            bytes: self.bytes,
            turn,
        }
    }
}

/// Bytes for one use of a key.
pub(crate) fn derive<const N: usize>(key: &[u8; KEY_LEN], label: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    let prk = extract(key);
    // Only a length above 255 hashes is refused, and none here is above one.
    if let Ok(okm) = prk.expand(&[label], Length(N)) {
        let _ = okm.fill(&mut bytes);
    }
    bytes
}

/// What everything is derived from.
pub(crate) fn extract(key: &[u8; KEY_LEN]) -> hkdf::Prk {
    hkdf::Salt::new(hkdf::HKDF_SHA256, SALT).extract(key)
}

/// How many bytes are derived.
pub(crate) struct Length(pub(crate) usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn draw() -> Result<[u8; KEY_LEN], KeyError> {
    let mut bytes = [0; KEY_LEN];
    getrandom::fill(&mut bytes).map_err(|_| KeyError::Random)?;
    Ok(bytes)
}

/// A value and the word behind it; `None` where that word means nothing.
fn turn(value: &str) -> Option<(&str, Option<Turn>)> {
    match value.split_once(char::is_whitespace) {
        None => Some((value, None)),
        Some((value, word)) => match word.trim() {
            "next" => Some((value, Some(Turn::Next))),
            "old" => Some((value, Some(Turn::Old))),
            _ => None,
        },
    }
}

/// Both alphabets of base64, padded or not: people make keys with other tools too.
fn decode(text: &str) -> Option<[u8; KEY_LEN]> {
    base64::decode_any(text, KEY_LEN + 3)?.try_into().ok()
}

/// What a key file begins with.
const COMMENT: &str =
    "# Keys of a Tollgate cluster. Whoever has them is a member: keep them to yourself.";
pub(crate) const KEY_LEN: usize = 32;
/// More than any key file has.
const FILE_LEN_MAX: usize = 4096;
/// Tells our derived keys from anybody else's.
const SALT: &[u8] = b"tollgate cluster 1";

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let ring = KeyRing::fresh().unwrap();
        assert!(KeyRing::parse(&ring.write()).unwrap() == ring);
        let (ring, _) = ring.rotate().unwrap();
        assert!(KeyRing::parse(&ring.write()).unwrap() == ring);
    }

    #[test]
    fn a_rotation_takes_three_steps_and_never_seals_what_others_cannot_open() {
        let start = KeyRing::fresh().unwrap();
        let (learn, step) = start.rotate().unwrap();
        assert_eq!(step, RotationStep::Learn);
        assert!(learn.seals[0].bytes == start.seals[0].bytes);
        let (switch, step) = learn.rotate().unwrap();
        assert_eq!(step, RotationStep::Switch);
        assert!(switch.seals[0].bytes == learn.seals[1].bytes);
        assert!(switch.seals[1].bytes == learn.seals[0].bytes);
        let (done, step) = switch.rotate().unwrap();
        assert_eq!((step, done.seals.len()), (RotationStep::Done, 1));
        assert!(done.seals[0].bytes == switch.seals[0].bytes);
        assert_eq!(done.seed(), start.seed());
        assert_eq!(done.owner_key(), start.owner_key());
    }

    #[test]
    fn other_tools_base64_is_read() {
        let text = "secret: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\nseal: //////////////////////////////////////////8=\n";
        let ring = KeyRing::parse(text).unwrap();
        assert_eq!(ring.secret[31], 31);
        assert_eq!(ring.seals[0].bytes, [255; 32]);
    }

    #[test]
    fn bad_files_are_refused_with_a_reason_and_without_a_key() {
        let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
        for text in [
            String::new(),
            format!("secret: {key}\n"),
            format!("seal: {key}\n"),
            format!("secret: {key}\nsecret: {key}\nseal: {key}\n"),
            format!("secret: {key}\nseal: {key}\nseal: {key}\n"),
            format!("secret: {key}\nseal: {}\n", &key[1..]),
            format!("secret: {key}\nseal: {key} soon\n"),
            format!("secret: {key}\nseal: {key}\nother: {key}\n"),
            format!("secret: {key}\nseal: {key}\n{}", "#".repeat(5000)),
        ] {
            let error = KeyRing::parse(&text).unwrap_err();
            assert!(!error.to_string().contains(&key[1..]), "{error}");
        }
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let ring = KeyRing::fresh().unwrap();
        ring.create(&path).unwrap();
        assert!(KeyRing::read(&path).unwrap() == ring);
        assert!(matches!(ring.create(&path), Err(KeyError::Exists)));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o604)).unwrap();
        assert!(matches!(KeyRing::read(&path), Err(KeyError::Open(0o604))));
        ring.rotate().unwrap().0.replace(&path).unwrap();
        assert_eq!(KeyRing::read(&path).unwrap().seals.len(), 2);
    }

    #[test]
    fn uses_of_a_key_are_told_apart() {
        let key = [7; KEY_LEN];
        let one: [u8; 16] = derive(&key, b"table seed");
        let other: [u8; 16] = derive(&key, b"owner hash");
        assert_ne!(one, other);
        assert_ne!(one, [0; 16]);
    }

    proptest! {
        #[test]
        fn any_text_is_an_answer(text in ".{0,300}") {
            let _ = KeyRing::parse(&text);
        }
    }
}

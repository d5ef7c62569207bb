//! Datagrams between nodes: sealed, so that nobody else reads or writes them.
//!
//! ```text
//! version 1 | seal-key id 1 | boot 8 | counter 8 | sealed payload | tag 16
//! ```
//!
//! The cipher is ChaCha20-Poly1305. Its key is derived from the seal key and the boot, its nonce is four zeros and the
//! counter, and the header is authenticated with it. A boot is 64 random bits and never counts twice, so no nonce comes
//! twice under one key. Numbers are little-endian. Not here: what is inside, and which counters came before
//! (`tollgate-cluster`).

use std::collections::BTreeMap;
use std::fmt;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::Prk;
use tollgate_cluster::{DATAGRAM_OVERHEAD, OLDEST_VERSION, Refused, VERSION};

use super::keys::{KEY_LEN, KeyRing, Length, derive, extract};

/// Seals datagrams and opens them.
pub struct Sealer {
    keys: Vec<Opener>,
    /// The last subkey that sealed, by its boot.
    sealing: Option<(u64, LessSafeKey)>,
}

/// One seal key, and the subkeys of boots that were heard.
struct Opener {
    id: u8,
    prk: Prk,
    subkeys: BTreeMap<u64, (LessSafeKey, u64)>,
    /// Counts uses, to find the subkey that was not used for longest.
    uses: u64,
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealer({} keys)", self.keys.len())
    }
}

impl Sealer {
    /// Seals with the first key of a ring, and opens with all.
    pub fn new(ring: &KeyRing) -> Self {
        let keys = ring.seals().iter();
        let keys = keys.map(|key| Opener {
            id: key_id(&key.bytes),
            prk: extract(&key.bytes),
            subkeys: BTreeMap::new(),
            uses: 0,
        });
        Self {
            keys: keys.collect(),
            sealing: None,
        }
    }

    /// A payload as a datagram. `None` is for what no cipher refuses: a payload of gigabytes.
    pub fn seal(&mut self, boot: u64, counter: u64, payload: &[u8]) -> Option<Vec<u8>> {
        let first = self.keys.first()?;
        let mut datagram = Vec::with_capacity(payload.len() + DATAGRAM_OVERHEAD);
        datagram.extend([VERSION, first.id]);
        datagram.extend(boot.to_le_bytes());
        datagram.extend(counter.to_le_bytes());
        datagram.extend_from_slice(payload);
        if self.sealing.as_ref().is_none_or(|(of, _)| *of != boot) {
            self.sealing = Some((boot, first.subkey(boot)?));
        }
        let (_, key) = self.sealing.as_ref()?;
        let (head, body) = datagram.split_at_mut_checked(HEAD_LEN)?;
        let tag = key.seal_in_place_separate_tag(nonce(counter), Aad::from(&*head), body);
        datagram.extend(tag.ok()?.as_ref());
        Some(datagram)
    }

    /// The boot, the counter and the payload of a datagram. What cannot be ours is refused before anything is computed.
    pub fn open<'a>(&mut self, datagram: &'a mut [u8]) -> Result<(u64, u64, &'a [u8]), Refused> {
        if datagram.len() < DATAGRAM_OVERHEAD {
            return Err(Refused::Foreign);
        }
        let (head, sealed) = datagram
            .split_first_chunk_mut::<HEAD_LEN>()
            .ok_or(Refused::Foreign)?;
        let [version, id, rest @ ..] = &*head;
        if !(OLDEST_VERSION..=VERSION).contains(version) {
            return Err(Refused::Version);
        }
        let (numbers, _) = rest.as_chunks::<8>();
        let &[boot, counter] = numbers else {
            return Err(Refused::Foreign);
        };
        let (boot, counter) = (u64::from_le_bytes(boot), u64::from_le_bytes(counter));
        let mut keys = self.keys.iter_mut();
        let key = keys.find(|key| key.id == *id).ok_or(Refused::Key)?;
        let payload = key.open(boot, counter, head, sealed);
        Ok((boot, counter, payload.ok_or(Refused::Seal)?))
    }
}

impl Opener {
    fn subkey(&self, boot: u64) -> Option<LessSafeKey> {
        let mut bytes = [0; KEY_LEN];
        let boot = boot.to_le_bytes();
        let info: [&[u8]; 2] = [b"datagrams of", &boot];
        self.prk
            .expand(&info, Length(KEY_LEN))
            .ok()?
            .fill(&mut bytes)
            .ok()?;
        let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes).ok()?;
        Some(LessSafeKey::new(key))
    }

    fn open<'a>(
        &mut self,
        boot: u64,
        counter: u64,
        head: &[u8; HEAD_LEN],
        sealed: &'a mut [u8],
    ) -> Option<&'a [u8]> {
        self.uses += 1;
        let uses = self.uses;
        if let Some((key, used)) = self.subkeys.get_mut(&boot) {
            let opened = key
                .open_in_place(nonce(counter), Aad::from(head), sealed)
                .ok()?;
            *used = uses;
            return Some(opened);
        }
        let key = self.subkey(boot)?;
        let opened = key
            .open_in_place(nonce(counter), Aad::from(head), sealed)
            .ok()?;
        // Only what opens is remembered: a flood of made-up boots pushes nobody out.
        if self.subkeys.len() >= SUBKEYS_MAX {
            let oldest = self.subkeys.iter().min_by_key(|(_, (_, used))| *used);
            let oldest = oldest.map(|(boot, _)| *boot);
            oldest.and_then(|oldest| self.subkeys.remove(&oldest));
        }
        self.subkeys.insert(boot, (key, uses));
        Some(opened)
    }
}

/// What datagrams name a key by.
pub(super) fn key_id(key: &[u8; KEY_LEN]) -> u8 {
    let [id] = derive(key, b"seal key id");
    id
}

fn nonce(counter: u64) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    if let Some(tail) = bytes.last_chunk_mut() {
        *tail = counter.to_le_bytes();
    }
    Nonce::assume_unique_for_key(bytes)
}

const HEAD_LEN: usize = 18;
/// Boots whose subkey is kept: more than a cluster has live members.
const SUBKEYS_MAX: usize = 2048;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sealer() -> (KeyRing, Sealer) {
        let ring = KeyRing::fresh().unwrap();
        let sealer = Sealer::new(&ring);
        (ring, sealer)
    }

    #[test]
    fn what_is_sealed_opens_at_every_holder_of_the_key() {
        let (ring, mut one) = sealer();
        let mut other = Sealer::new(&ring);
        for counter in [0, 1, u64::MAX] {
            let mut datagram = one.seal(7, counter, b"payload").unwrap();
            assert_eq!(datagram.len(), 7 + DATAGRAM_OVERHEAD);
            assert_eq!(other.open(&mut datagram), Ok((7, counter, &b"payload"[..])));
        }
    }

    #[test]
    fn a_rotation_is_never_noticed() {
        let (start, _) = sealer();
        let (learn, _) = start.rotate().unwrap();
        let (switch, _) = learn.rotate().unwrap();
        let (done, _) = switch.rotate().unwrap();
        for (from, to) in [(&start, &learn), (&learn, &switch), (&switch, &done)] {
            for (from, to) in [(from, to), (to, from)] {
                let mut datagram = Sealer::new(from).seal(1, 2, b"x").unwrap();
                assert!(Sealer::new(to).open(&mut datagram).is_ok());
            }
        }
    }

    #[test]
    fn no_two_keys_of_a_rotation_have_one_name() {
        let (start, _) = sealer();
        for _ in 0..2_000 {
            let (learn, _) = start.rotate().unwrap();
            let names: Vec<u8> = Sealer::new(&learn).keys.iter().map(|key| key.id).collect();
            assert_ne!(names[0], names[1]);
        }
    }

    #[test]
    fn another_cluster_is_told_by_key_or_seal() {
        let (_, mut ours) = sealer();
        let (_, mut theirs) = sealer();
        let mut datagram = theirs.seal(1, 2, b"x").unwrap();
        let refused = ours.open(&mut datagram).unwrap_err();
        assert!(matches!(refused, Refused::Key | Refused::Seal));
    }

    #[test]
    fn every_changed_bit_is_noticed() {
        let (_, mut sealer) = sealer();
        let datagram = sealer.seal(5, 6, b"some payload").unwrap();
        for bit in 0..datagram.len() * 8 {
            let mut changed = datagram.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(sealer.open(&mut changed).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn other_versions_are_told_apart() {
        let (_, mut sealer) = sealer();
        let mut datagram = sealer.seal(5, 6, b"x").unwrap();
        datagram[0] = VERSION + 1;
        assert_eq!(sealer.open(&mut datagram), Err(Refused::Version));
        datagram[0] = OLDEST_VERSION - 1;
        assert_eq!(sealer.open(&mut datagram), Err(Refused::Version));
    }

    #[test]
    fn made_up_boots_are_not_remembered_and_real_ones_are_bounded() {
        let (ring, mut sealer) = sealer();
        let mut ours = Sealer::new(&ring);
        for boot in 0..SUBKEYS_MAX as u64 + 10 {
            let mut datagram = ours.seal(boot, 0, b"x").unwrap();
            let mut broken = datagram.clone();
            broken[20] ^= 1;
            broken[2] ^= 0x80;
            assert_eq!(sealer.open(&mut broken), Err(Refused::Seal));
            assert!(sealer.open(&mut datagram).is_ok());
        }
        assert_eq!(sealer.keys[0].subkeys.len(), SUBKEYS_MAX);
    }

    #[test]
    fn a_known_key_seals_known_bytes() {
        let text = "secret: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\nseal: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\n";
        let mut sealer = Sealer::new(&KeyRing::parse(text).unwrap());
        let datagram = sealer.seal(1, 2, b"tollgate").unwrap();
        let known = (0..KNOWN.len()).step_by(2);
        let known = known.map(|at| u8::from_str_radix(&KNOWN[at..at + 2], 16).unwrap());
        assert_eq!(datagram, known.collect::<Vec<_>>());
    }

    const KNOWN: &str =
        "01e7010000000000000002000000000000005f86e0a2db47ba489571962de412dcbda851e8fb56b9b7e2";

    proptest! {
        #[test]
        fn any_bytes_are_an_answer(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), ours in any::<bool>()) {
            let (_, mut sealer) = sealer();
            if ours && bytes.len() > 1 {
                bytes[0] = VERSION;
                bytes[1] = sealer.keys[0].id;
            }
            prop_assert!(sealer.open(&mut bytes).is_err());
        }
    }
}

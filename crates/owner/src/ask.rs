//! What one node asks another about keys it owns, as bytes.
//!
//! A batch is `version 1 | parcels`, a parcel `length | tags count | tags 8 each | questions`. Every parcel belongs to
//! one asker. A question is `verb and count of spots 1 | spots | cost`, a spot `tag number | print 8`, behind it a byte
//! of its lot where one of the question has one; for settling, the charge of each spot follows. Keys are not sent here.
//! Not here: answers (`said`), telling an owner who a key is (`introduce`).

use smallvec::SmallVec;
use tollgate_kit::{Reader, put_varint};
use tollgate_limit::{Charge, Cost, Instant, Lot};
use tollgate_node::{Due, Spot, Spots};
use tollgate_table::Print;

use crate::map::Map;
use crate::question::{Question, Verb};
use crate::quota;
use crate::work::OwnerStep;

/// Writes questions of one asker to one node.
#[derive(Default)]
pub struct Parcel {
    tags: SmallVec<[u64; 4]>,
    questions: Vec<u8>,
    count: usize,
}

impl Parcel {
    /// Adds the question of a step.
    pub(crate) fn put(&mut self, map: &Map, step: &OwnerStep) {
        self.put_question(map, &step.question, step.is_told, step.is_last);
    }

    /// Adds a question, whether its owner was told all that this node knows of the keys, and whether it decides all the
    /// same.
    fn put_question(&mut self, map: &Map, question: &Question, is_told: bool, is_last: bool) {
        self.count += 1;
        let Question {
            verb, spots, cost, ..
        } = question;
        let has_lots = spots.iter().any(|spot| spot.lot != Lot::ALWAYS);
        let mut head = number_of(verb);
        head |= if has_lots { LOTS } else { 0 };
        head |= if is_told { TOLD } else { 0 };
        head |= if is_last { LAST } else { 0 };
        self.questions.push(head);
        put_varint(&mut self.questions, spots.len() as u64);
        for spot in spots {
            let tag = self.tag(map.tag(spot.contract));
            put_varint(&mut self.questions, tag);
            self.questions.extend(spot.print.0.to_le_bytes());
            if has_lots {
                self.questions.push(spot.lot.place());
            }
        }
        put_varint(&mut self.questions, cost.tokens());
        if let Verb::Lend(inquiry) = verb {
            put_varint(&mut self.questions, inquiry.len() as u64);
            self.questions.extend_from_slice(inquiry);
        }
        if let Verb::Quota(plane, ask) = verb {
            quota::put_ask(&mut self.questions, *plane, *ask);
        }
        if let Verb::Settle(dues) = verb {
            for Due { charge, terms } in dues {
                put_varint(&mut self.questions, charge.charged);
                put_varint(&mut self.questions, charge.cost);
                self.questions.extend(charge.at.as_nanos().to_le_bytes());
                if has_terms(dues) {
                    self.questions.extend(terms.to_le_bytes());
                }
            }
        }
    }

    fn tag(&mut self, tag: u64) -> u64 {
        let known = self.tags.iter().position(|known| *known == tag);
        let place = known.unwrap_or_else(|| {
            self.tags.push(tag);
            self.tags.len() - 1
        });
        place as u64
    }

    /// How many questions there are.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Everything, behind its length.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut head = Vec::with_capacity(2 + 8 * self.tags.len());
        put_varint(&mut head, self.tags.len() as u64);
        for tag in &self.tags {
            head.extend(tag.to_le_bytes());
        }
        put_varint(out, (head.len() + self.questions.len()) as u64);
        out.extend_from_slice(&head);
        out.extend_from_slice(&self.questions);
    }
}

/// Begins a batch.
pub fn batch() -> Vec<u8> {
    vec![VERSION]
}

/// The parcels of a batch; `None` where it is none that is understood.
pub(crate) fn parcels(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut reader = Reader(bytes);
    if reader.u8()? != VERSION {
        return None;
    }
    let mut parcels = Vec::new();
    while !reader.0.is_empty() {
        parcels.push(reader.block()?);
    }
    Some(parcels)
}

/// A question as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AskedQuestion {
    pub(crate) question: Question,
    /// Whether nothing more can be told of its keys.
    pub(crate) is_told: bool,
    /// Whether it is asked of nobody else.
    pub(crate) is_last: bool,
}

/// A question as it came. Without places where a contract is not known here.
pub(crate) type ParsedQuestion = Result<AskedQuestion, UnknownContract>;

/// A contract is not known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnknownContract;

/// Hands over the questions of a parcel, in order; `None` where its rest makes no sense.
pub(crate) fn read(parcel: &[u8], map: &Map, mut take: impl FnMut(ParsedQuestion)) -> Option<()> {
    let mut reader = Reader(parcel);
    let count = reader.count().filter(|count| *count <= TAGS_MAX)?;
    let mut places: SmallVec<[Option<usize>; 4]> = SmallVec::new();
    for _ in 0..count {
        places.push(map.place(reader.u64()?));
    }
    while !reader.0.is_empty() {
        take(question(&mut reader, &places)?);
    }
    Some(())
}

fn question(reader: &mut Reader<'_>, places: &[Option<usize>]) -> Option<ParsedQuestion> {
    let head = reader.u8()?;
    let count = reader
        .count()
        .filter(|count| (1..=SPOTS_MAX).contains(count))?;
    let (mut spots, mut is_known) = (Spots::new(), true);
    for _ in 0..count {
        let contract = *places.get(reader.index()?)?;
        let print = Print(reader.u64()?);
        let lot = if head & LOTS == 0 {
            Lot::ALWAYS
        } else {
            Lot::from_hash(reader.u8()?.into())
        };
        is_known &= contract.is_some();
        spots.push(Spot {
            contract: contract.unwrap_or(usize::MAX),
            print,
            lot,
        });
    }
    if is_known && is_twice(&spots) {
        return None;
    }
    let cost = Cost::new(reader.number()?).ok()?;
    let verb = match head & !(LOTS | TOLD | LAST) {
        0 => Verb::Check,
        1 => Verb::Charge,
        2 => Verb::Refund,
        3 => Verb::Reset,
        number @ (SETTLE | SETTLE_TERMS) => {
            let due = |_| due(reader, number == SETTLE_TERMS);
            Verb::Settle((0..count).map(due).collect::<Option<_>>()?)
        }
        5 => Verb::Status,
        6 => Verb::Foresee,
        LEND => Verb::Lend(reader.block()?.into()),
        QUOTA => {
            let (plane, ask) = quota::ask(reader)?;
            Verb::Quota(plane, ask)
        }
        _ => return None,
    };
    let question = Question {
        verb,
        spots,
        cost,
        names: Vec::new(),
    };
    Some(if is_known {
        Ok(AskedQuestion {
            question,
            is_told: head & TOLD != 0,
            is_last: head & LAST != 0,
        })
    } else {
        Err(UnknownContract)
    })
}

/// Whether a contract is named twice. No key is bound by one twice, and whoever enters its cells twice at a time waits
/// for itself.
fn is_twice(spots: &[Spot]) -> bool {
    let mut places: SmallVec<[usize; 4]> = spots.iter().map(|spot| spot.contract).collect();
    places.sort_unstable();
    places.windows(2).any(|two| two.first() == two.last())
}

fn due(reader: &mut Reader<'_>, has_terms: bool) -> Option<Due> {
    let charge = Charge {
        charged: reader.number()?,
        cost: reader.number()?,
        at: Instant::from_nanos(reader.u64()?),
    };
    let terms = if has_terms { reader.u64()? } else { 0 };
    Some(Due { charge, terms })
}

/// Whether something was charged by terms of a key's own.
fn has_terms(dues: &[Due]) -> bool {
    dues.iter().any(|due| due.terms != 0)
}

fn number_of(verb: &Verb) -> u8 {
    match verb {
        Verb::Check => 0,
        Verb::Charge => 1,
        Verb::Refund => 2,
        Verb::Reset => 3,
        Verb::Settle(dues) if has_terms(dues) => SETTLE_TERMS,
        Verb::Settle(_) => SETTLE,
        Verb::Status => 5,
        Verb::Foresee => 6,
        Verb::Lend(_) => LEND,
        Verb::Quota(..) => QUOTA,
    }
}

/// The version of batches and of their answers.
pub(crate) const VERSION: u8 = 1;
/// What a client says of its leases follows the cost, behind its length.
const LEND: u8 = 8;
/// What is said of a data plane follows the cost.
const QUOTA: u8 = 9;
/// Set where every spot has a byte of its lot.
const LOTS: u8 = 1 << 7;
/// Set where the owner decides by what it knows of the keys' terms.
const TOLD: u8 = 1 << 6;
/// Set where the owner decides even if others may have counts of the keys.
const LAST: u8 = 1 << 5;
/// To settle, and to settle charges that say by which terms they were made.
const SETTLE: u8 = 4;
const SETTLE_TERMS: u8 = 7;
/// The most contracts of one parcel.
const TAGS_MAX: usize = 1 << 16;
/// The most contracts of one question.
const SPOTS_MAX: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn map() -> Map {
        let text = "contracts:
  - {id: a, key: [user], coordination: owner, policies: [{name: p, limit: 5, per: 1s}]}
  - {id: b, key: [user], coordination: owner, policies: [{name: x, limit: 5, per: 1s}, {name: y, limit: 50, per: 1m}]}
  - {id: c, key: [user], policies: [{name: p, limit: 5, per: 1s}]}
";
        let contracts = tollgate_contract::Contracts::parse(text).expect("contracts");
        let seed = tollgate_table::Seed::new([1, 2]);
        let node = tollgate_node::Node::new(contracts, tollgate_node::NodeConfig::default(), seed);
        Map::of(&node, false, |bytes| {
            tollgate_kit::fnv(tollgate_kit::FNV, bytes)
        })
    }

    fn questions() -> impl Strategy<Value = Vec<Question>> {
        let spot = (0..3_usize, any::<u64>(), 0..100_u64).prop_map(|(contract, print, lot)| Spot {
            contract,
            print: Print(print),
            lot: Lot::from_hash(lot),
        });
        let spots = prop::collection::vec(spot, 1..4).prop_map(|mut spots| {
            spots.sort_unstable_by_key(|spot: &Spot| spot.contract);
            spots.dedup_by_key(|spot| spot.contract);
            spots
        });
        let question = (spots, 0..7_u8, 0..1_000_u64, any::<[u64; 3]>());
        let question = question.prop_map(|(spots, verb, cost, [at, took, charged])| Question {
            names: Vec::new(),
            verb: match verb {
                0 => Verb::Check,
                1 => Verb::Charge,
                2 => Verb::Refund,
                3 => Verb::Reset,
                4 => Verb::Status,
                5 => Verb::Foresee,
                _ => {
                    let at = Instant::from_nanos(at);
                    let cost = took;
                    let charge = Charge { at, cost, charged };
                    let terms = if charged % 2 == 0 { 0 } else { took };
                    Verb::Settle(spots.iter().map(|_| Due { charge, terms }).collect())
                }
            },
            spots: spots.into(),
            cost: Cost::new(cost).expect("small"),
        });
        prop::collection::vec(question, 0..20)
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(each in prop::collection::vec(questions(), 0..4)) {
            let map = map();
            let mut bytes = batch();
            for questions in &each {
                let mut parcel = Parcel::default();
                for question in questions {
                    let is_even = question.spots.len() % 2 == 0;
                    parcel.put_question(&map, question, is_even, !is_even);
                }
                parcel.write(&mut bytes);
            }
            let parcels = parcels(&bytes).expect("a batch");
            prop_assert_eq!(parcels.len(), each.len());
            for (parcel, questions) in parcels.into_iter().zip(each) {
                let mut back = Vec::new();
                read(parcel, &map, |asked| back.push(asked)).expect("a parcel");
                let asked = questions.into_iter().map(|question| {
                    let is_told = question.spots.len() % 2 == 0;
                    Ok(AskedQuestion {
                        question,
                        is_told,
                        is_last: !is_told,
                    })
                });
                let asked: Vec<ParsedQuestion> = asked.collect();
                prop_assert_eq!(back, asked);
            }
        }

        #[test]
        fn garbage_is_refused_or_read_and_nothing_else(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let map = map();
            let _ = read(&bytes, &map, drop);
            for parcel in parcels(&bytes).unwrap_or_default() {
                let _ = read(parcel, &map, drop);
            }
        }

        #[test]
        fn what_was_cut_or_changed_is_no_panic(questions in questions(), at in any::<prop::sample::Index>(), to in any::<u8>()) {
            let map = map();
            let mut parcel = Parcel::default();
            for question in &questions {
                parcel.put_question(&map, question, false, false);
            }
            let mut bytes = batch();
            parcel.write(&mut bytes);
            let at = at.index(bytes.len());
            for parcel in parcels(&bytes[..at]).unwrap_or_default() {
                let _ = read(parcel, &map, drop);
            }
            bytes[at] = to;
            for parcel in parcels(&bytes).unwrap_or_default() {
                let _ = read(parcel, &map, drop);
            }
        }
    }

    #[test]
    fn a_question_that_names_a_contract_twice_makes_no_sense() {
        let spot = |contract, print| Spot {
            contract,
            print: Print(print),
            lot: Lot::ALWAYS,
        };
        for (spots, is_read) in [
            (vec![spot(0, 1), spot(1, 1)], true),
            (vec![spot(0, 1), spot(1, 1), spot(0, 1)], false),
            (vec![spot(0, 1), spot(0, 2)], false),
        ] {
            let question = Question {
                verb: Verb::Check,
                spots: spots.into(),
                cost: Cost::ONE,
                names: Vec::new(),
            };
            let (mut parcel, mut bytes) = (Parcel::default(), batch());
            parcel.put_question(&map(), &question, true, false);
            parcel.write(&mut bytes);
            let parcels = parcels(&bytes).expect("a batch");
            assert_eq!(read(parcels[0], &map(), drop).is_some(), is_read);
        }
    }

    #[test]
    fn another_version_is_not_understood() {
        assert_eq!(parcels(&[VERSION + 1]), None);
        assert_eq!(parcels(&[]), None);
        assert_eq!(parcels(&batch()), Some(Vec::new()));
    }
}

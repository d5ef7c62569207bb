//! The counts of one thread for one minute: a row for each identity, up to a limit, and the rest by contract.
//!
//! Rows are found by the fingerprint under which a contract's table knows a key, so that counting needs no hash and,
//! except
//! the first time in a minute, no text. Not here: locks, and which thread has which sheet.

use std::collections::BTreeMap;

use crate::counts::Counts;

/// One key of one contract, as in tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who {
    /// Number of the contract's cells in tables.
    pub cells: u64,
    /// The key's fingerprint.
    pub print: u64,
}

#[derive(Debug)]
pub struct Sheet {
    minute: u64,
    rows_max: usize,
    /// Indexes of rows plus one, by fingerprint; a power of two, at most half full.
    slots: Vec<u32>,
    rows: Vec<Row>,
    texts: String,
    contracts: Vec<Part>,
    by_cells: BTreeMap<u64, u32>,
    scratch: String,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    who: Who,
    counts: Counts,
    contract: u32,
    /// Start and end of its name; [`NAMELESS`] if unknown.
    text: (u32, u32),
}

/// A contract, and counts without a row.
#[derive(Debug)]
struct Part {
    id: String,
    /// Of the contract as a whole.
    all: Counts,
    /// Of keys without room for a row.
    rest: Counts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SheetCount<'a> {
    pub(crate) contract: &'a str,
    pub(crate) of: Of<'a>,
    pub(crate) counts: Counts,
}

/// The subject of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of<'a> {
    Named(Who, &'a str),
    /// A key that was named earlier, if at all.
    Nameless(Who),
    /// Keys without room for a row.
    Rest,
    Everybody,
}

impl Sheet {
    pub fn new(minute: u64, rows_max: usize) -> Self {
        Self {
            minute,
            rows_max: rows_max.min(ROWS_MAX),
            slots: vec![0; SLOTS_MIN],
            rows: Vec::new(),
            texts: String::new(),
            contracts: Vec::new(),
            by_cells: BTreeMap::new(),
            scratch: String::new(),
        }
    }

    /// Since the epoch.
    pub const fn minute(&self) -> u64 {
        self.minute
    }

    /// Reuses it for another minute.
    pub fn clear(&mut self, minute: u64) {
        self.minute = minute;
        self.slots.fill(0);
        self.rows.clear();
        self.texts.clear();
        self.contracts.clear();
        self.by_cells.clear();
    }

    /// `contract` and `name` are called the first time; an empty name stands for
    /// all keys together.
    #[inline]
    pub fn count<'c>(
        &mut self,
        who: Who,
        contract: impl FnOnce() -> &'c str,
        name: impl FnOnce(&mut String),
        add: impl FnOnce(&mut Counts),
    ) {
        match self.find(who) {
            Ok(place) if self.rows[place].text.0 != NAMELESS => add(&mut self.rows[place].counts),
            found => {
                let counts = self.open(who, found, contract(), name);
                add(counts);
            }
        }
    }

    /// Counts something for a key whose name is unknown here.
    pub fn count_nameless(&mut self, who: Who, contract: &str, add: impl FnOnce(&mut Counts)) {
        let counts = match self.find(who) {
            Ok(place) => &mut self.rows[place].counts,
            Err(slot) => self.insert(who, slot, contract, (NAMELESS, NAMELESS)),
        };
        add(counts);
    }

    pub fn count_all(&mut self, cells: u64, contract: &str, add: impl FnOnce(&mut Counts)) {
        let part = self.part(cells, contract);
        add(&mut self.contracts[part as usize].all);
    }

    pub fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u32>()
            + self.rows.capacity() * size_of::<Row>()
            + self.texts.capacity()
    }

    /// Reports all counts since the last call. Names are kept, so that counting continues.
    pub(crate) fn tell(&mut self, mut to: impl FnMut(SheetCount<'_>)) {
        for row in &mut self.rows {
            if row.counts.is_zero() {
                continue;
            }
            let (from, until) = row.text;
            to(SheetCount {
                contract: &self.contracts[row.contract as usize].id,
                of: match self.texts.get(from as usize..until as usize) {
                    None => Of::Nameless(row.who),
                    Some("") => Of::Everybody,
                    Some(name) => Of::Named(row.who, name),
                },
                counts: std::mem::take(&mut row.counts),
            });
        }
        for part in &mut self.contracts {
            for (of, counts) in [(Of::Everybody, &mut part.all), (Of::Rest, &mut part.rest)] {
                if !counts.is_zero() {
                    to(SheetCount {
                        contract: &part.id,
                        of,
                        counts: std::mem::take(counts),
                    });
                }
            }
        }
    }

    /// The index of a row, or the slot where it belongs.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // Masked.
    fn find(&self, who: Who) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = (who.print ^ who.cells.wrapping_mul(SPREAD)) as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return Err(slot),
                place => {
                    let place = place as usize - 1;
                    if self.rows[place].who == who {
                        return Ok(place);
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Gives a key a name and, if there is room, a row.
    #[cold]
    fn open(
        &mut self,
        who: Who,
        found: Result<usize, usize>,
        contract: &str,
        name: impl FnOnce(&mut String),
    ) -> &mut Counts {
        if found.is_err() && self.rows.len() >= self.rows_max {
            let part = self.part(who.cells, contract);
            return &mut self.contracts[part as usize].rest;
        }
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        name(&mut text);
        let from = self.texts.len();
        self.texts.push_str(&text);
        self.scratch = text;
        let range = (number(from), number(self.texts.len()));
        match found {
            Ok(place) => {
                self.rows[place].text = range;
                &mut self.rows[place].counts
            }
            Err(slot) => self.insert(who, slot, contract, range),
        }
    }

    fn insert(&mut self, who: Who, slot: usize, contract: &str, text: (u32, u32)) -> &mut Counts {
        let part = self.part(who.cells, contract);
        if self.rows.len() >= self.rows_max {
            return &mut self.contracts[part as usize].rest;
        }
        let place = self.rows.len();
        self.rows.push(Row {
            who,
            counts: Counts::ZERO,
            contract: part,
            text,
        });
        self.slots[slot] = number(place + 1);
        if self.rows.len() * 2 > self.slots.len() {
            self.grow();
        }
        &mut self.rows[place].counts
    }

    fn grow(&mut self) {
        self.slots = vec![0; self.slots.len() * 2];
        for place in 0..self.rows.len() {
            if let Err(slot) = self.find(self.rows[place].who) {
                self.slots[slot] = number(place + 1);
            }
        }
    }

    /// The index of a contract.
    fn part(&mut self, cells: u64, contract: &str) -> u32 {
        if let Some(part) = self.by_cells.get(&cells) {
            return *part;
        }
        let part = number(self.contracts.len());
        self.contracts.push(Part {
            id: contract.to_owned(),
            all: Counts::ZERO,
            rest: Counts::ZERO,
        });
        self.by_cells.insert(cells, part);
        part
    }
}

/// Indexes and texts are bounded far below.
fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(NAMELESS)
}

/// The most rows of a sheet.
const ROWS_MAX: usize = 1 << 20;
const SLOTS_MIN: usize = 64;
const NAMELESS: u32 = u32::MAX;
/// Odd, so that one fingerprint in two contracts has two slots.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

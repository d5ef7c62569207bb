//! Cells of one contract on their way to another owner, as bytes.
//!
//! A page is `version 1 | tag 8 | shape 8 | cells`, a cell `print 8 | length | bytes`; its answer is the number of
//! cells that were taken. Where keys may have terms of their own, the version is 2, and behind each print is the number
//! of the terms that wrote the cell: none is 0, and the next higher than all before brings their text. Not here: which
//! cells go where (`moving`).

use std::sync::Arc;

use tollgate_contract::{Contract, Terms};
use tollgate_kit::{Reader, put_varint};
use tollgate_limit::Instant;
use tollgate_node::{Lifted, Node};
use tollgate_store::ContractShape;
use tollgate_table::Print;

use crate::map::Map;

/// Cells of one contract on their way to one node.
pub(crate) struct CellPage {
    pub(crate) contract: usize,
    pub(crate) bytes: Vec<u8>,
    /// To be put back where the page is not taken.
    pub(crate) cells: Vec<(Print, Lifted)>,
    /// Versions of the terms that it brings, where keys may have some.
    terms: Option<Vec<u64>>,
}

impl CellPage {
    pub(crate) fn new(node: &Node, map: &Map, contract: usize) -> Self {
        let terms = node.has_terms(contract).then(Vec::new);
        let mut bytes = vec![terms.as_ref().map_or(VERSION, |_| WITH_TERMS)];
        bytes.extend(map.tag(contract).to_le_bytes());
        bytes.extend(map.shape(contract).to_le_bytes());
        Self {
            contract,
            bytes,
            cells: Vec::new(),
            terms,
        }
    }

    pub(crate) fn take(&mut self, node: &Node, print: Print, now: Instant) {
        let Some(lifted) = node.take_cell(self.contract, print, now) else {
            return;
        };
        self.bytes.extend(print.0.to_le_bytes());
        self.put_terms(node, lifted.terms.as_deref());
        put_bytes(&mut self.bytes, &lifted.bytes);
        self.cells.push((print, lifted));
    }

    /// Writes the number of terms, and their text where it is not there yet.
    fn put_terms(&mut self, node: &Node, terms: Option<&Terms>) {
        let (Some(known), Some(contract)) = (&mut self.terms, node.contracts().get(self.contract))
        else {
            return;
        };
        let Some(terms) = terms else {
            return self.bytes.push(0);
        };
        let place = known.iter().position(|known| *known == terms.version);
        put_varint(&mut self.bytes, place.unwrap_or(known.len()) as u64 + 1);
        if place.is_none() {
            known.push(terms.version);
            let text = ContractShape::of_terms(contract, terms).text();
            put_bytes(&mut self.bytes, text.as_bytes());
        }
    }
}

/// The contract of a page.
pub(crate) fn page_of(map: &Map, page: &[u8]) -> Option<usize> {
    let mut reader = Reader(page);
    reader.u8()?;
    map.place(reader.u64()?)
}

/// Puts the cells of a page in, and says how many; `None` where it is no page for these contracts.
pub(crate) fn take_page(node: &Node, map: &Map, page: &[u8], now: Instant) -> Option<u64> {
    let mut reader = Reader(page);
    let mut texts = match reader.u8()? {
        VERSION => None,
        WITH_TERMS => Some(Vec::new()),
        _ => return None,
    };
    let contract = map.place(reader.u64()?)?;
    if reader.u64()? != map.shape(contract) {
        return None;
    }
    let mut taken = 0;
    while !reader.0.is_empty() {
        let print = Print(reader.u64()?);
        let terms = match &mut texts {
            None => None,
            Some(texts) => terms(&mut reader, texts, node.contracts().get(contract)?)?,
        };
        let bytes = reader.block()?.to_vec();
        let merged = node.merge_cell((contract, print), &Lifted { bytes, terms }, now);
        taken += u64::from(merged.is_ok());
    }
    Some(taken)
}

/// The terms that wrote the next cell; `None` where that makes no sense.
#[allow(
    clippy::option_option,
    reason = "a cell of the contract's own policies makes sense"
)]
fn terms(
    reader: &mut Reader<'_>,
    texts: &mut Vec<Arc<Terms>>,
    contract: &Contract,
) -> Option<Option<Arc<Terms>>> {
    let Some(place) = reader.index()?.checked_sub(1) else {
        return Some(None);
    };
    if place == texts.len() {
        let text = std::str::from_utf8(reader.block()?).ok()?;
        texts.push(Arc::new(ContractShape::parse(text)?.terms(contract)?));
    }
    texts.get(place).map(|terms| Some(Arc::clone(terms)))
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The version of pages.
const VERSION: u8 = 1;
const WITH_TERMS: u8 = 2;

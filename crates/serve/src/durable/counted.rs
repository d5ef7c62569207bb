//! A contract as a node counts it, and the numbers of its rows. Not here: rows (`rows.rs`), shapes (`tollgate-store`).

use std::collections::BTreeMap;

use tollgate_contract::{Contract, NamedPolicy};
use tollgate_limit::Instant;
use tollgate_node::{Node, WrittenBy, WrittenCell};
use tollgate_store::{ContractShape, Old};

use super::rows::CellRow;
use super::{Store, StoreError, millis};

pub(super) struct CountedContract<'a> {
    pub(super) node: &'a Node,
    pub(super) place: usize,
    pub(super) contract: &'a Contract,
    policies: Vec<&'a NamedPolicy>,
}

impl<'a> CountedContract<'a> {
    /// `None` if the node has no contract at that place.
    pub(super) fn of(node: &'a Node, place: usize) -> Option<Self> {
        Some(Self {
            node,
            place,
            contract: node.contracts().get(place)?,
            policies: node.policies_in_cells(place),
        })
    }

    pub(super) fn key(&self) -> (String, String) {
        let shape = ContractShape::of(self.contract, &self.policies, is_durable).text();
        (self.contract.id.clone(), shape)
    }
}

#[derive(Clone, Copy)]
pub(super) struct RowNumbers {
    pub(super) contract: i64,
    pub(super) shape: i64,
}

/// What is known of the rows of a contract.
pub(super) struct KnownRows {
    pub(super) numbers: RowNumbers,
    /// Former shapes whose cells can be converted.
    shapes: BTreeMap<i64, Old>,
}

impl KnownRows {
    /// `None` if the row is of no use to the contract as it is now.
    pub(super) fn cell<'a>(&'a self, row: &'a CellRow) -> Option<WrittenCell<'a>> {
        let is_current = row.shape == self.numbers.shape;
        let old = self.shapes.get(&row.shape).filter(|_| !is_current);
        let is_known = is_current || old.is_some();
        is_known.then(|| WrittenCell::new(&row.state, old.map(written_by)))
    }
}

impl Store {
    pub(super) fn numbers(
        &self,
        of: &CountedContract<'_>,
        now: Instant,
    ) -> Result<RowNumbers, StoreError> {
        let (id, shape) = of.key();
        let (contract, shape) = self.journal.number(id, shape, millis(now))?;
        Ok(RowNumbers { contract, shape })
    }

    pub(super) fn known_as(
        &self,
        numbers: RowNumbers,
        of: &CountedContract<'_>,
    ) -> Result<KnownRows, StoreError> {
        let shapes = self.journal.shapes(numbers.contract)?;
        let useful = shapes.iter().filter_map(|(number, text)| {
            let old =
                ContractShape::parse(text)?.for_contract(of.contract, &of.policies, is_durable)?;
            Some((*number, old))
        });
        let shapes = useful.collect();
        Ok(KnownRows { numbers, shapes })
    }
}

/// Whether a policy's counts are stored here.
const fn is_durable(named: &NamedPolicy) -> bool {
    named.durable
}

/// The former policies that a row was written under.
const fn written_by(old: &Old) -> WrittenBy<'_> {
    WrittenBy {
        set: &old.set,
        origins: old.origins.as_slice(),
        terms: old.terms.as_ref(),
    }
}

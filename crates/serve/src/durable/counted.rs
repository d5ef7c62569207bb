//! A contract as a node counts it, and as its rows are numbered. Not here: rows (`rows.rs`), nor shapes
//! (`tollgate-store`).

use std::collections::BTreeMap;

use tollgate_contract::{Contract, NamedPolicy};
use tollgate_limit::Instant;
use tollgate_node::{Node, WrittenBy, WrittenCell};
use tollgate_store::{ContractShape, Old};

use super::rows::CellRow;
use super::{Store, StoreError, millis};

/// A contract of a node, and its policies in the cells there.
pub(super) struct CountedContract<'a> {
    pub(super) node: &'a Node,
    pub(super) place: usize,
    pub(super) contract: &'a Contract,
    policies: Vec<&'a NamedPolicy>,
}

impl<'a> CountedContract<'a> {
    /// `None` where the node has no contract at that place.
    pub(super) fn of(node: &'a Node, place: usize) -> Option<Self> {
        Some(Self {
            node,
            place,
            contract: node.contracts().get(place)?,
            policies: node.policies_in_cells(place),
        })
    }

    /// The contract's id and its shape.
    pub(super) fn key(&self) -> (String, String) {
        let shape = ContractShape::of(self.contract, &self.policies, is_durable).text();
        (self.contract.id.clone(), shape)
    }
}

/// The numbers of a contract and of its shape.
#[derive(Clone, Copy)]
pub(super) struct RowNumbers {
    pub(super) contract: i64,
    pub(super) shape: i64,
}

/// What is known of the rows of a contract.
pub(super) struct KnownRows {
    pub(super) numbers: RowNumbers,
    /// The shapes it once had whose cells are of use to it.
    shapes: BTreeMap<i64, Old>,
}

impl KnownRows {
    /// The cell of a row; `None` where it is of no use to the contract as it is now.
    pub(super) fn cell<'a>(&'a self, row: &'a CellRow) -> Option<WrittenCell<'a>> {
        let is_current = row.shape == self.numbers.shape;
        let old = self.shapes.get(&row.shape).filter(|_| !is_current);
        let is_known = is_current || old.is_some();
        is_known.then(|| WrittenCell::new(&row.state, old.map(written_by)))
    }
}

impl Store {
    /// The numbers of a contract and of its shape.
    pub(super) fn numbers(
        &self,
        of: &CountedContract<'_>,
        now: Instant,
    ) -> Result<RowNumbers, StoreError> {
        let (id, shape) = of.key();
        let (contract, shape) = self.journal.number(id, shape, millis(now))?;
        Ok(RowNumbers { contract, shape })
    }

    /// What is known of the rows of a contract with these numbers.
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

/// Whether a policy's counts are kept here.
const fn is_durable(named: &NamedPolicy) -> bool {
    named.durable
}

/// The policies of before by which a row was written.
const fn written_by(old: &Old) -> WrittenBy<'_> {
    WrittenBy {
        set: &old.set,
        origins: old.origins.as_slice(),
        terms: old.terms.as_ref(),
    }
}

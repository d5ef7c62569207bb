//! Contracts and plans from a file: read as they are now, and changed only in the
//! file.

use tollgate_catalogue::{Kind, documents};
use tollgate_catalogue_sql::Item;
use tollgate_contract::Contract;

use super::effective;
use crate::call::Call;

/// Ordered by id. If the file has another format, the compiled documents.
pub(super) fn items(call: &Call) -> Vec<Item> {
    let path = call.shared.settings.contracts.file();
    let text = path.and_then(|path| std::fs::read_to_string(path).ok());
    let typed = text.and_then(|text| documents(&text).ok());
    let item = |id: String, document| Item {
        id,
        version: 0,
        document,
    };
    let mut items: Vec<Item> = match typed {
        Some(typed) => {
            let typed = typed.into_iter().filter(|(kind, ..)| *kind == call.kind);
            typed.map(|(_, id, document)| item(id, document)).collect()
        }
        None if call.kind == Kind::Contract => {
            let node = call.shared.engine.node();
            let show =
                |contract: &Contract| item(contract.id.clone(), effective::contract(contract));
            node.contracts().as_slice().iter().map(show).collect()
        }
        None => Vec::new(),
    };
    items.sort_by(|a, b| a.id.cmp(&b.id));
    items
}

//! The scripts that run in Redis, called by digest once loaded.

use std::borrow::Cow;

pub(crate) struct Script {
    pub(crate) text: Cow<'static, str>,
    /// The digest that `EVALSHA` takes.
    pub(crate) sha: String,
}

pub(crate) struct Scripts {
    /// Decides and writes.
    pub(crate) decide: Script,
    /// The same for several keys.
    pub(crate) decide_many: Script,
    /// Shows everything.
    pub(crate) load: Script,
    /// Writes if unchanged.
    pub(crate) swap: Script,
    /// Shows a ledger.
    pub(crate) load_ledger: Script,
    /// Writes a ledger if unchanged.
    pub(crate) swap_ledger: Script,
}

impl Scripts {
    pub(crate) fn new() -> Self {
        Self {
            decide: Script::of(DECIDE),
            decide_many: Script::of(format!(
                "local function decide(KEYS, ARGV)\n{DECIDE}end\n{}",
                include_str!("decide_many.lua")
            )),
            load: Script::of(include_str!("load.lua")),
            swap: Script::of(include_str!("swap.lua")),
            load_ledger: Script::of(include_str!("load_ledger.lua")),
            swap_ledger: Script::of(include_str!("swap_ledger.lua")),
        }
    }
}

impl Script {
    fn of(text: impl Into<Cow<'static, str>>) -> Self {
        let text = text.into();
        let sha = redis::Script::new(&text).get_hash().to_owned();
        Self { text, sha }
    }
}

const DECIDE: &str = include_str!("decide.lua");

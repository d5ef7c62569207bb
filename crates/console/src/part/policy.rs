//! A policy in a few words: `20 / s · burst 40`.

use crate::html::{Element, Html, el};

/// How a policy binds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BindingMode {
    #[default]
    Enforce,
    /// Only counts what it would refuse.
    Shadow,
    /// Refuses for this percentage of keys.
    Percent(u8),
}

impl BindingMode {
    pub fn text(self) -> String {
        match self {
            Self::Enforce => "enforced".to_owned(),
            Self::Shadow => "shadow".to_owned(),
            Self::Percent(percent) => format!("{percent}\u{202f}% of keys"),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chip {
    pub name: String,
    /// As `20 / s · burst 40`.
    pub text: String,
    pub mode: BindingMode,
}

pub fn chips(list: &[Chip]) -> Html {
    let chip = |chip: &Chip| -> Element {
        let mode = (chip.mode != BindingMode::Enforce).then(|| el("i").text(chip.mode.text()));
        el("li")
            .with(el("bdi").text(&chip.name))
            .with(" ")
            .with(el("b").text(&chip.text))
            .with(mode)
    };
    el("ul").class("chips").each(list.iter().map(chip)).into()
}

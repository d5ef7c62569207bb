//! The sections of the console: names, addresses, keys and icons.

use crate::html::{Element, el};
use crate::url::Url;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Overview,
    Contracts,
    Plans,
    Identities,
    Why,
    Bans,
    Top,
    Tail,
    Usage,
    Cluster,
    Audit,
    Settings,
}

impl Section {
    /// Every section, in the order of the navigation.
    pub const ALL: [Self; 12] = [
        Self::Overview,
        Self::Contracts,
        Self::Plans,
        Self::Identities,
        Self::Why,
        Self::Bans,
        Self::Top,
        Self::Tail,
        Self::Usage,
        Self::Cluster,
        Self::Audit,
        Self::Settings,
    ];

    pub const fn title(self) -> &'static str {
        self.row().0
    }

    pub fn url(self) -> Url {
        Url::to(self.row().1)
    }

    pub const fn key(self) -> char {
        self.row().2
    }

    pub(crate) fn icon(self) -> Element {
        el("svg")
            .class("icon")
            .attr("width", 16)
            .attr("height", 16)
            .attr("viewBox", "0 0 16 16")
            .attr("aria-hidden", "true")
            .with(el("path").attr("d", self.lines()))
    }

    /// Title, path, key.
    const fn row(self) -> (&'static str, &'static str, char) {
        match self {
            Self::Overview => ("Overview", "/console", 'o'),
            Self::Contracts => ("Contracts", "/console/contracts", 'c'),
            Self::Plans => ("Plans", "/console/plans", 'p'),
            Self::Identities => ("Identities", "/console/identities", 'i'),
            Self::Why => ("Why?", "/console/why", 'w'),
            Self::Bans => ("Bans", "/console/bans", 'b'),
            Self::Top => ("Top", "/console/top", 't'),
            Self::Tail => ("Tail", "/console/tail", 'l'),
            Self::Usage => ("Usage", "/console/usage", 'u'),
            Self::Cluster => ("Cluster", "/console/cluster", 'n'),
            Self::Audit => ("Audit", "/console/audit", 'a'),
            Self::Settings => ("Settings", "/console/settings", 's'),
        }
    }

    /// SVG path of the icon.
    const fn lines(self) -> &'static str {
        match self {
            Self::Overview => "M1.5 11.5L5 7.5L8 9.5L14.5 3M1.5 14.5H14.5",
            Self::Contracts => "M3.5 1.5H9.5L12.5 4.5V14.5H3.5ZM6 7.5H10M6 10.5H10",
            Self::Plans => "M8 1.5L14.5 5L8 8.5L1.5 5ZM1.5 8L8 11.5L14.5 8M1.5 11L8 14.5L14.5 11",
            Self::Identities => {
                "M8 7.5A2.9 2.9 0 1 0 8 1.7A2.9 2.9 0 1 0 8 7.5ZM2.2 14.5C2.2 11.5 4.5 9.9 8 9.9S13.8 11.5 13.8 14.5"
            }
            Self::Why => {
                "M8 14.5A6.5 6.5 0 1 0 8 1.5A6.5 6.5 0 1 0 8 14.5ZM6 6.2A2 2 0 1 1 8 8.4V9.4M8 11.4V11.5"
            }
            Self::Bans => "M8 14.5A6.5 6.5 0 1 0 8 1.5A6.5 6.5 0 1 0 8 14.5ZM3.4 3.4L12.6 12.6",
            Self::Top => "M2 13.5H14M2 9.8H11M2 6.1H8M2 2.5H5",
            Self::Tail => "M2 3H9M2 6.5H12M2 10H7M9.5 10L12 12.5L14.5 10M12 12.5V6",
            Self::Usage => "M2.5 14.5V9.5M6.2 14.5V5.5M9.8 14.5V8M13.5 14.5V2",
            Self::Cluster => {
                "M8 4.8A1.7 1.7 0 1 0 8 1.4A1.7 1.7 0 1 0 8 4.8ZM3.2 13.6A1.7 1.7 0 1 0 3.2 10.2A1.7 1.7 0 1 0 3.2 13.6ZM12.8 13.6A1.7 1.7 0 1 0 12.8 10.2A1.7 1.7 0 1 0 12.8 13.6ZM7.2 4.6L4.1 10.4M8.8 4.6L11.9 10.4M5 12H11"
            }
            Self::Audit => "M8 14.5A6.5 6.5 0 1 0 8 1.5A6.5 6.5 0 1 0 8 14.5ZM8 4.5V8L10.5 9.8",
            Self::Settings => {
                "M10.8 8.2A3.3 3.3 0 1 0 7.5 5L1.8 10.7V14.2H5.2V12.2H7.2V10.2ZM11.2 4.8H11.3"
            }
        }
    }
}

//! The one style sheet, the one script and the icon, each under an address that changes with its content.
//!
//! Deliberately absent: serving them. The server may let browsers cache them for ever.

use core::fmt::Write;

use tollgate_kit::{FNV, fnv};

use crate::url::Url;

#[derive(Clone, Copy, Debug)]
pub struct Asset {
    pub kind: &'static str,
    pub text: &'static str,
    ending: &'static str,
}

pub const STYLE: Asset = Asset {
    kind: "text/css; charset=utf-8",
    text: include_str!("assets/console.css"),
    ending: "css",
};
/// Every page works without it.
pub const SCRIPT: Asset = Asset {
    kind: "text/javascript; charset=utf-8",
    text: include_str!("assets/console.js"),
    ending: "js",
};
pub const ICON: Asset = Asset {
    kind: "image/svg+xml",
    text: include_str!("assets/icon.svg"),
    ending: "svg",
};
/// The `Content-Security-Policy` that every page is made for.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

impl Asset {
    pub fn name(self) -> String {
        // FNV-1a: this tells versions apart, it keeps no secret.
        let hash = fnv(FNV, self.text.as_bytes());
        let mut name = String::new();
        let _ = write!(name, "{hash:016x}.{}", self.ending);
        name
    }

    pub fn url(self) -> Url {
        Url::to("/console/static").file(self.name())
    }

    pub fn find(name: &str) -> Option<Self> {
        [STYLE, SCRIPT, ICON]
            .into_iter()
            .find(|asset| asset.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_found_by_the_name_it_gives() {
        for asset in [STYLE, SCRIPT, ICON] {
            assert_eq!(
                Asset::find(&asset.name()).map(|found| found.text),
                Some(asset.text)
            );
        }
        assert!(Asset::find("console.css").is_none());
    }

    #[test]
    fn asks_nobody_else_for_anything() {
        for asset in [STYLE, SCRIPT] {
            assert!(
                !asset.text.contains("http") && !asset.text.contains("//cdn"),
                "{}",
                asset.kind
            );
        }
        assert!(!STYLE.text.contains("@import"));
    }
}

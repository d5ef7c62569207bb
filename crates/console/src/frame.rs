//! What every page has around it: head, navigation, notices, the theme and who is signed in.

use crate::assets::{ICON, SCRIPT, STYLE};
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::number;
use crate::part::button;
use crate::section::Section;
use crate::url::Url;

#[derive(Clone, Debug, Default)]
pub struct PageFrame {
    pub who: Option<Who>,
    /// CSRF value that every form sends back.
    pub csrf: String,
    pub theme: Theme,
    pub now: Moment,
    /// The address of the page, to return to it.
    pub here: String,
    pub node: String,
    /// The revision of the catalogue in force on it.
    pub revision: u64,
    /// Why nothing can be changed here, and what to do instead.
    pub read_only: Option<String>,
    pub notice: Option<Notice>,
    /// Rows that did not fit on the page.
    pub left_out: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    pub name: String,
    pub role: TokenRole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenRole {
    /// Reads only.
    Viewer,
    /// Helps customers: assignments, refunds, resets, bans.
    Operator,
    /// Changes contracts, plans and tokens too.
    Admin,
}

impl TokenRole {
    /// Every role, the least first.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Operator, Self::Admin];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Reset, refund and ban: none of these changes the catalogue.
    Act,
    /// Assign another plan to an identity.
    Assign,
    /// Change contracts, plans and tokens.
    Edit,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Follows the system.
    #[default]
    System,
    Light,
    Dark,
}

impl Theme {
    /// Every theme, in the order of the switch.
    pub const ALL: [Self; 3] = [Self::System, Self::Light, Self::Dark];

    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// Unknown names give the theme of the system.
    pub fn from_name(name: &str) -> Self {
        let found = Self::ALL.into_iter().find(|theme| theme.name() == name);
        found.unwrap_or_default()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub is_good: bool,
    pub text: String,
}

impl PageFrame {
    /// False also where the console is read-only.
    pub fn may(&self, right: Right) -> bool {
        let (needed, is_kept) = match right {
            Right::Act => (TokenRole::Operator, false),
            Right::Assign => (TokenRole::Operator, true),
            Right::Edit => (TokenRole::Admin, true),
        };
        let role = self.who.as_ref().map(|who| who.role);
        role >= Some(needed) && !(is_kept && self.read_only.is_some())
    }

    /// Includes the CSRF value.
    pub fn form(&self, action: &Url) -> Element {
        el("form")
            .attr("method", "post")
            .url("action", action)
            .with(hidden("csrf", &self.csrf))
    }

    pub(crate) fn page(&self, section: Option<Section>, title: &str, body: Html) -> String {
        let content = el("div")
            .class("content")
            .with(self.banner())
            .with(el("main").id("main").attr("tabindex", "-1").with(body))
            .with(self.rest())
            .with(self.foot());
        let body = el("body")
            .with(
                el("a")
                    .class("skip")
                    .url("href", &Url::here("main"))
                    .text("Skip to content"),
            )
            .with(shapes())
            .with(self.side(section))
            .with(self.top(section))
            .with(content)
            .with(keys());
        self.html(title, body)
    }

    /// Without navigation: the visitor is not signed in.
    pub(crate) fn bare(&self, title: &str, body: Html) -> String {
        let body = el("body").class("bare").with(shapes()).with(
            el("main")
                .id("main")
                .with(self.notice())
                .with(body)
                .with(self.rest()),
        );
        self.html(title, body)
    }

    fn html(&self, title: &str, body: Element) -> String {
        let head = el("head")
            .with(el("meta").attr("charset", "utf-8"))
            .with(
                el("meta")
                    .attr("name", "viewport")
                    .attr("content", "width=device-width, initial-scale=1"),
            )
            .with(
                el("meta")
                    .attr("name", "color-scheme")
                    .attr("content", "light dark"),
            )
            .with(
                el("meta")
                    .attr("name", "referrer")
                    .attr("content", "same-origin"),
            )
            .with(el("meta").attr("name", "robots").attr("content", "noindex"))
            .with(el("title").text(title).text(" · Tollgate"))
            .with(el("link").attr("rel", "icon").url("href", &ICON.url()))
            .with(
                el("link")
                    .attr("rel", "stylesheet")
                    .url("href", &STYLE.url()),
            )
            .with(el("script").url("src", &SCRIPT.url()).flag("defer", true));
        let html = el("html")
            .attr("lang", "en")
            .attr("data-theme", self.theme.name());
        Html::from(html.with(head).with(body)).document()
    }

    fn side(&self, section: Option<Section>) -> Element {
        el("aside")
            .class("side-bar")
            .with(brand())
            .with(el("nav").attr("aria-label", "Main").with(links(section)))
            .with(el("div").class("spacer"))
            .with(self.switch())
            .with(self.account())
    }

    /// The menu for small screens; needs no script.
    fn top(&self, section: Option<Section>) -> Element {
        let name = section.map_or("Menu", Section::title);
        el("header").class("top-bar").with(brand()).with(
            el("details")
                .class("menu")
                .with(el("summary").text(name))
                .with(
                    el("div")
                        .class("sheet")
                        .with(el("nav").attr("aria-label", "Menu").with(links(section)))
                        .with(self.switch())
                        .with(self.account()),
                ),
        )
    }

    fn switch(&self) -> Element {
        let choice = |theme: Theme| {
            el("button")
                .attr("name", "theme")
                .attr("value", theme.name())
                .attr("aria-pressed", theme == self.theme)
                .text(theme.name())
        };
        self.form(&Url::to("/console/theme"))
            .class("switch")
            .attr("aria-label", "Theme")
            .flag("data-theme-switch", true)
            .with(hidden("next", &self.here))
            .each(Theme::ALL.map(choice))
    }

    fn account(&self) -> Html {
        let who = self.who.as_ref().map(|who| {
            el("div")
                .class("account")
                .with(
                    el("div")
                        .with(el("bdi").text(&who.name))
                        .with(el("span").class("note").text(who.role.name())),
                )
                .with(
                    self.form(&Url::to("/console/logout"))
                        .with(button("Sign out").class("quiet")),
                )
        });
        who.into()
    }

    fn banner(&self) -> Html {
        let read_only = self.read_only.as_ref().map(|why| {
            el("p")
                .class("banner")
                .with(el("b").text("Read only. "))
                .text(why)
        });
        Html::join([read_only.into(), self.notice()])
    }

    fn notice(&self) -> Html {
        let notice = self.notice.as_ref().map(|notice| {
            let class = if notice.is_good {
                "banner good"
            } else {
                "banner bad"
            };
            el("p")
                .class(class)
                .attr("role", "status")
                .text(&notice.text)
        });
        notice.into()
    }

    fn rest(&self) -> Html {
        let rest = (self.left_out > 0).then(|| {
            let count = number::counted(self.left_out, "row");
            el("p").class("banner").text(format!(
                "And {count} more, for which this page has no room."
            ))
        });
        rest.into()
    }

    fn foot(&self) -> Element {
        el("footer")
            .class("foot note")
            .with(el("span").text("Node ").with(el("bdi").text(&self.node)))
            .with(el("span").text("Revision ").text(self.revision))
            .with(
                el("span").text("Made ").with(
                    el("time")
                        .attr("datetime", self.now.machine())
                        .text(self.now.absolute()),
                ),
            )
            .with(
                el("span")
                    .class("scripted")
                    .text("Keys: ")
                    .with(el("kbd").text("?")),
            )
    }
}

/// A hidden field.
pub(crate) fn hidden(name: &'static str, value: impl core::fmt::Display) -> Element {
    el("input")
        .attr("type", "hidden")
        .attr("name", name)
        .attr("value", value)
}

fn brand() -> Element {
    let link = el("a").class("brand").url("href", &Url::to("/console"));
    link.with(barrier()).with(el("span").text("Tollgate"))
}

/// The sign of the house: a post and its boom.
pub(crate) fn barrier() -> Element {
    el("svg")
        .attr("width", 20)
        .attr("height", 20)
        .attr("viewBox", "0 0 20 20")
        .attr("aria-hidden", "true")
        .with(el("path").class("post").attr("d", "M4.5 4.5V17"))
        .with(el("path").class("boom").attr("d", "M4.5 8.5L17 4.5"))
}

fn links(now: Option<Section>) -> Element {
    let link = |section: Section| {
        let link = el("a")
            .url("href", &section.url())
            .attr("data-key", section.key())
            .with(section.icon())
            .with(el("span").text(section.title()));
        el("li").with(if now == Some(section) {
            link.attr("aria-current", "page")
        } else {
            link
        })
    };
    el("ul").each(Section::ALL.map(link))
}

/// Patterns that drawings of the page refer to.
fn shapes() -> Element {
    el("svg")
        .class("shapes")
        .attr("width", 0)
        .attr("height", 0)
        .attr("aria-hidden", "true")
        .with(
            el("defs").with(
                el("pattern")
                    .id("hatch")
                    .attr("width", 6)
                    .attr("height", 6)
                    .attr("patternUnits", "userSpaceOnUse")
                    .attr("patternTransform", "rotate(45)")
                    .with(el("line").class("hatch").attr("y2", 6)),
            ),
        )
}

/// The keyboard shortcuts, shown by the script.
fn keys() -> Element {
    let row = |key: String, what: &str| {
        el("tr")
            .with(el("td").with(el("kbd").text(key)))
            .with(el("td").text(what))
    };
    let sections = Section::ALL.map(|section| row(format!("g {}", section.key()), section.title()));
    el("dialog")
        .id("keys")
        .attr("aria-label", "Keys")
        .with(el("h2").text("Keys"))
        .with(
            el("table").with(
                el("tbody")
                    .with(row("/".to_owned(), "Search"))
                    .with(row("?".to_owned(), "This help"))
                    .each(sections),
            ),
        )
        .with(el("form").attr("method", "dialog").with(button("Close")))
}

//! What every page has around it: head, navigation, notices, the theme and who is signed in.

use crate::assets::{ICON, SCRIPT, STYLE};
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::number;
use crate::part::button;
use crate::section::Section;
use crate::url::Url;

/// What all pages of one request share.
#[derive(Clone, Debug, Default)]
pub struct PageFrame {
    /// Who is signed in.
    pub who: Option<Who>,
    /// The value that every form sends back, so that no other site can send it.
    pub csrf: String,
    /// What the reader chose.
    pub theme: Theme,
    /// When the page is made.
    pub now: Moment,
    /// The address of the page, to come back to it.
    pub here: String,
    /// The node that answers.
    pub node: String,
    /// The revision of the catalogue in force on it.
    pub revision: u64,
    /// Why nothing can be changed here, and what to do instead.
    pub read_only: Option<String>,
    /// What became of the last action.
    pub notice: Option<Notice>,
    /// Rows that have no room on the page.
    pub left_out: u64,
}

/// Somebody who is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// The name of the token.
    pub name: String,
    /// What it may do.
    pub role: TokenRole,
}

/// What a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenRole {
    /// Looks.
    Viewer,
    /// Helps customers: assignments, refunds, resets, bans.
    Operator,
    /// Changes contracts, plans and tokens too.
    Admin,
}

impl TokenRole {
    /// Every role, the least first.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Operator, Self::Admin];

    /// The name, as the API has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

/// What there is to do, by who may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Reset, refund and ban: nothing of it is kept in the catalogue.
    Act,
    /// Give somebody another plan.
    Assign,
    /// Change contracts, plans and tokens.
    Edit,
}

/// Light or dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// As the system has it.
    #[default]
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

impl Theme {
    /// Every theme, in the order of the switch.
    pub const ALL: [Self; 3] = [Self::System, Self::Light, Self::Dark];

    /// The name, as the cookie `theme` has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The theme of that name; the system's for any other.
    pub fn from_name(name: &str) -> Self {
        let found = Self::ALL.into_iter().find(|theme| theme.name() == name);
        found.unwrap_or_default()
    }
}

/// What became of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Whether it went well.
    pub is_good: bool,
    /// The sentence.
    pub text: String,
}

impl PageFrame {
    /// Whether the reader may do such a thing here.
    pub fn may(&self, right: Right) -> bool {
        let (needed, is_kept) = match right {
            Right::Act => (TokenRole::Operator, false),
            Right::Assign => (TokenRole::Operator, true),
            Right::Edit => (TokenRole::Admin, true),
        };
        let role = self.who.as_ref().map(|who| who.role);
        role >= Some(needed) && !(is_kept && self.read_only.is_some())
    }

    /// A form that changes something, with the value that proves where it comes from.
    pub fn form(&self, action: &Url) -> Element {
        el("form")
            .attr("method", "post")
            .url("action", action)
            .with(hidden("csrf", &self.csrf))
    }

    /// A whole page below a section.
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

    /// A page without navigation, for those who are not signed in.
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

    /// The menu of a phone, which needs no script.
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

    /// What is not shown.
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

/// A value that a form carries along.
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

/// What the keyboard does, shown by the script.
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

//! Tokens and what they may do.

use super::acts::copy;
use crate::frame::{PageFrame, Right, TokenRole, hidden};
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::part::{
    Action, Column, action, button, cell, empty, field, head, name, panel, select, table,
};
use crate::section::Section;
use crate::url::Url;

/// Only the token's owner has the secret.
#[derive(Clone, Debug)]
pub struct TokenRow {
    pub id: String,
    pub name: String,
    pub role: TokenRole,
    pub created: Moment,
    /// `None` never expires.
    pub expires: Option<Moment>,
    /// Last use.
    pub used: Option<Moment>,
    pub revoked: Option<Moment>,
}

/// A token that was just created: its secret is shown only once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSecret {
    pub name: String,
    pub secret: String,
}

#[derive(Clone, Debug, Default)]
pub struct SettingsPage {
    pub tokens: Vec<TokenRow>,
    pub made: Option<NewSecret>,
}

pub fn settings(frame: &PageFrame, view: &SettingsPage) -> String {
    let body = Html::join([
        Html::from(head(
            "Settings",
            "Tokens for people and programs.",
            Html::default(),
        )),
        made(view).into(),
        panel("Tokens").with(tokens(frame, view)).into(),
        frame.may(Right::Edit).then(|| new(frame)).into(),
        roles().into(),
    ]);
    frame.page(Some(Section::Settings), "Settings", body)
}

fn made(view: &SettingsPage) -> Option<Element> {
    let made = view.made.as_ref()?;
    Some(
        el("section")
            .class("panel secret")
            .attr("role", "status")
            .with(el("h2").text("The token ").with(name(&made.name)))
            .with(el("p").text(
                "This is the only time its secret is shown. Keep it where you keep passwords.",
            ))
            .with(
                el("p")
                    .class("copy")
                    .with(el("code").text(&made.secret))
                    .with(" ")
                    .with(copy(&made.secret)),
            ),
    )
}

fn tokens(frame: &PageFrame, view: &SettingsPage) -> Element {
    if view.tokens.is_empty() {
        return empty(
            "No token is shown.",
            "Only those with the role admin see them.",
        );
    }
    let row = |token: &TokenRow| {
        let state = match (token.revoked, token.expires) {
            (Some(at), _) => el("span")
                .class("outcome bad")
                .text("taken back ")
                .with(at.ago(frame.now)),
            (None, Some(at)) if at <= frame.now => el("span")
                .class("outcome bad")
                .text("ended ")
                .with(at.ago(frame.now)),
            (None, Some(at)) => el("span").text("ends ").with(at.ago(frame.now)),
            (None, None) => el("span").text("for ever"),
        };
        let what = format!(
            "Whoever uses {} is signed out at once and cannot sign in again.",
            token.name
        );
        let revoke = (token.revoked.is_none() && frame.may(Right::Edit)).then(|| {
            action(
                frame,
                &Url::to("/console/settings/revoke"),
                Action {
                    name: "Take back",
                    what: &what,
                    verb: "Take it back",
                    is_hard: true,
                    needs: Right::Edit,
                },
                hidden("id", &token.id),
            )
        });
        el("tr")
            .with(cell(name(&token.name)))
            .with(cell(token.role.name()))
            .with(cell(token.created.ago(frame.now)))
            .with(cell(token.used.map_or_else(
                || Html::text("never"),
                |at| at.ago(frame.now).into(),
            )))
            .with(cell(state))
            .with(cell(revoke))
    };
    let columns = [
        Column("Name", false),
        Column("Role", false),
        Column("Made", false),
        Column("Used", false),
        Column("Holds", false),
        Column("", false),
    ];
    table("Tokens", &columns, view.tokens.iter().map(row).collect())
}

fn new(frame: &PageFrame) -> Element {
    let roles = TokenRole::ALL.map(|role| (role.name(), role.name()));
    panel("New token").with(
        frame
            .form(&Url::to("/console/settings/token"))
            .class("filter")
            .with(field("Name", "name", ""))
            .with(select(Some("Role"), "role", "viewer", &roles))
            .with(field("Days it holds, empty for ever", "days", "90"))
            .with(button("Make a token").class("main")),
    )
}

fn roles() -> Element {
    let row = |role: TokenRole| {
        let may = match role {
            TokenRole::Viewer => "Looks at everything but tokens.",
            TokenRole::Operator => "Helps customers: other plans, refunds, resets, bans.",
            TokenRole::Admin => {
                "Changes contracts and plans, makes tokens and takes them back, too."
            }
        };
        el("div")
            .with(el("dt").text(role.name()))
            .with(el("dd").text(may))
    };
    panel("Roles").with(el("dl").class("facts").each(TokenRole::ALL.map(row)))
}

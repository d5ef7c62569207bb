//! Signing in with a token.

use crate::frame::{PageFrame, barrier, hidden};
use crate::html::{Html, el};
use crate::part::button;
use crate::url::Url;

#[derive(Clone, Debug, Default)]
pub struct Login {
    /// What was wrong with the last attempt, and what to do.
    pub complaint: Option<String>,
    /// Address to redirect to after signing in.
    pub next: String,
}

pub fn login(frame: &PageFrame, view: &Login) -> String {
    let complaint = view
        .complaint
        .as_ref()
        .map(|text| el("p").class("banner bad").attr("role", "alert").text(text));
    let form = frame
        .form(&Url::to("/console/login"))
        .class("card")
        .with(hidden("next", &view.next))
        // Password managers expect a user name.
        .with(
            el("input")
                .attr("name", "user")
                .attr("value", "token")
                .attr("autocomplete", "username")
                .attr("aria-label", "User")
                .flag("hidden", true),
        )
        .with(
            el("label")
                .class("field wide")
                .with(el("span").text("Token"))
                .with(
                    el("input")
                        .attr("type", "password")
                        .attr("name", "token")
                        .attr("autocomplete", "current-password")
                        .attr("required", "")
                        .attr("autofocus", ""),
                ),
        )
        .with(
            el("div")
                .class("buttons")
                .with(button("Sign in").class("main")),
        );
    let help = el("details").class("help")
        .with(el("summary").text("Where do I find a token?"))
        .with(el("p").text("The first one was printed when the server was started for the first time. Whoever has a token of the role admin makes others, here under Settings or with "))
        .with(el("p").with(el("code").text("tollgate token create --name me --role operator")));
    let body = el("div")
        .class("door")
        .with(el("h1").class("brand").with(barrier()).text("Tollgate"))
        .with(
            el("p")
                .class("note")
                .text("Sign in to node ")
                .with(el("bdi").text(&frame.node)),
        )
        .with(complaint)
        .with(form)
        .with(help);
    frame.bare("Sign in", Html::from(body))
}

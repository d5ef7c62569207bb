//! Markup that can only be made well-formed.
//!
//! Names of elements and attributes are constants of the program, text and values of attributes are escaped on their
//! way in, and addresses are made by [`crate::Url`]. There is no way to add text as it is, so no view can break out of
//! its place.
//!
//! Deliberately absent: parsing, and anything that knows a page.

use core::fmt::{self, Display, Write};

use crate::url::Url;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Html(String);

impl Html {
    /// Text, escaped.
    pub fn text(text: impl Display) -> Self {
        let mut html = Self::default();
        escape(&mut html.0, text);
        html
    }

    pub fn join<T: Into<Self>>(pieces: impl IntoIterator<Item = T>) -> Self {
        let mut html = Self::default();
        for piece in pieces {
            html.0.push_str(&piece.into().0);
        }
        html
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn document(self) -> String {
        format!("<!doctype html>{}", self.0)
    }

    /// For a part of a page that is sent alone.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl From<&str> for Html {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Html {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl<T: Into<Self>> From<Option<T>> for Html {
    fn from(piece: Option<T>) -> Self {
        piece.map(Into::into).unwrap_or_default()
    }
}

impl From<Element> for Html {
    fn from(element: Element) -> Self {
        let Element {
            name,
            mut open,
            inside,
        } = element;
        open.push('>');
        if !VOID.contains(&name) {
            // The first line break in these is not theirs, so that one of their own needs another before it.
            if matches!(name, "pre" | "textarea") {
                open.push('\n');
            }
            open.push_str(&inside);
            open.push_str("</");
            open.push_str(name);
            open.push('>');
        }
        Self(open)
    }
}

#[derive(Clone, Debug)]
#[must_use]
pub struct Element {
    name: &'static str,
    open: String,
    inside: String,
}

pub fn el(name: &'static str) -> Element {
    Element {
        name,
        open: format!("<{name}"),
        inside: String::new(),
    }
}

impl Element {
    /// The value is escaped. Use [`Self::url`] for addresses.
    pub fn attr(mut self, name: &'static str, value: impl Display) -> Self {
        debug_assert!(!ADDRESSES.contains(&name), "{name} takes a Url");
        debug_assert!(!name.starts_with("on") && name != "style", "{name} is code");
        let _ = write!(self.open, " {name}=\"");
        escape(&mut self.open, value);
        self.open.push('"');
        self
    }

    pub fn url(mut self, name: &'static str, url: &Url) -> Self {
        let _ = write!(self.open, " {name}=\"");
        escape(&mut self.open, url);
        self.open.push('"');
        self
    }

    /// Writes an attribute without a value if `is_set`.
    pub fn flag(mut self, name: &'static str, is_set: bool) -> Self {
        if is_set {
            let _ = write!(self.open, " {name}");
        }
        self
    }

    pub fn class(self, names: &'static str) -> Self {
        self.attr("class", names)
    }

    /// The program chooses ids; they never come from input.
    pub fn id(self, id: impl Display) -> Self {
        self.attr("id", id)
    }

    /// Text inside, escaped.
    pub fn text(mut self, text: impl Display) -> Self {
        escape(&mut self.inside, text);
        self
    }

    pub fn with(mut self, piece: impl Into<Html>) -> Self {
        self.inside.push_str(&piece.into().0);
        self
    }

    pub fn each<T: Into<Html>>(mut self, pieces: impl IntoIterator<Item = T>) -> Self {
        for piece in pieces {
            self.inside.push_str(&piece.into().0);
        }
        self
    }
}

/// Elements without content.
const VOID: [&str; 5] = ["br", "hr", "input", "link", "meta"];
/// Attributes whose value a browser follows.
const ADDRESSES: [&str; 6] = [
    "href",
    "src",
    "action",
    "formaction",
    "data-live",
    "data-check",
];

/// Bytes that a text takes on a page.
pub fn bytes_shown(text: &str) -> usize {
    Html::text(text).0.len()
}

/// Escapes everything written to it.
struct Escaping<'a>(&'a mut String);

impl Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' | '\t' => self.0.push(character),
                // What no document may have, and what no reader could see.
                control if control.is_control() => self.0.push(char::REPLACEMENT_CHARACTER),
                other => self.0.push(other),
            }
        }
        Ok(())
    }
}

fn escape(into: &mut String, text: impl Display) {
    let _ = write!(Escaping(into), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_text_and_attributes() {
        let link = el("p").attr("title", "\"'<>&").text("<b>&\0\r\n");
        assert_eq!(
            Html::from(link).into_string(),
            "<p title=\"&quot;&#39;&lt;&gt;&amp;\">&lt;b&gt;&amp;\u{fffd}\u{fffd}\n</p>"
        );
    }

    #[test]
    fn keeps_the_first_line_break_of_a_text_area() {
        let area = el("textarea").text("\nsecond");
        assert_eq!(
            Html::from(area).into_string(),
            "<textarea>\n\nsecond</textarea>"
        );
    }

    #[test]
    fn closes_what_has_an_inside_and_nothing_else() {
        let both = el("label")
            .with(el("input").flag("checked", true))
            .with("ok");
        assert_eq!(
            Html::from(both).into_string(),
            "<label><input checked>ok</label>"
        );
    }
}

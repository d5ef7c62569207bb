//! The report as a self-contained page: no script, font, image or request.

mod chart;
pub(crate) mod frame;
mod tables;

use super::text::{html as safe, put};
use super::{Caption, Meaning, Summary, story, units};
use crate::civil::Civil;

pub(crate) fn page(summary: &Summary, caption: Caption<'_>) -> String {
    let title = story::title(summary);
    let mut body = String::with_capacity(128 * 1024);
    if summary.total().requests > 0 {
        body.push_str(&tiles(summary));
        body.push_str(&chart::section(summary));
        body.push_str(&tables::policies(summary));
        body.push_str(&tables::pair(summary));
    }
    let end = safe(&story::conclusion(summary));
    put(&mut body, format_args!("<p class=\"end\">{end}</p>\n"));
    let document = HtmlDocument {
        title: &title,
        command: "tollgate replay",
        style: "",
        facts: &facts(summary, caption),
        body: &body,
    };
    document.page()
}

pub(crate) struct HtmlDocument<'a> {
    pub(crate) title: &'a str,
    pub(crate) command: &'a str,
    /// Additional style rules.
    pub(crate) style: &'a str,
    /// The markup under the title.
    pub(crate) facts: &'a str,
    /// The rest, as markup.
    pub(crate) body: &'a str,
}

impl HtmlDocument<'_> {
    pub(crate) fn page(&self) -> String {
        let Self {
            command,
            style,
            facts,
            body,
            ..
        } = self;
        let title = safe(self.title);
        let mut page = String::with_capacity(body.len() + 16 * 1024);
        page.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        page.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
        page.push_str(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'\">\n",
        );
        put(
            &mut page,
            format_args!(
                "<title>{title} · {command}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>\n\
                 <header><div><h1>{title}</h1><div class=\"soft\">{facts}</div></div>{}</header>\n\
                 <main>\n{body}</main>\n</body>\n</html>\n",
                themes()
            ),
        );
        page
    }
}

/// The switch between light and dark.
fn themes() -> String {
    let theme = |id: &str, name: &str, checked: &str| {
        format!("<label><input type=\"radio\" name=\"theme\" id=\"{id}\"{checked}>{name}</label>")
    };
    format!(
        "<fieldset aria-label=\"Colours\">{}{}{}</fieldset>",
        theme("auto", "Auto", " checked"),
        theme("light", "Light", ""),
        theme("dark", "Dark", "")
    )
}

const STYLE: &str = include_str!("page.css");

/// What was replayed, and its time span.
fn facts(summary: &Summary, caption: Caption<'_>) -> String {
    let mut facts = format!(
        "<code>{}</code> against <code>{}</code>",
        safe(caption.trace),
        safe(caption.contracts)
    );
    if let Some((first, last)) = summary.span() {
        let (from, to) = (Civil::from_unix_ms(first), Civil::from_unix_ms(last));
        let (from, to) = (
            format!("{} {}", from.date(), from.seconds()),
            format!("{} {}", to.date(), to.seconds()),
        );
        put(&mut facts, format_args!(" · {from} to {to} UTC"));
    }
    if summary.skipped() > 0 {
        let skipped = units::exact(summary.skipped());
        put(
            &mut facts,
            format_args!("<p class=\"warn\">{skipped} bad records skipped</p>"),
        );
    }
    facts
}

/// The totals, large.
fn tiles(summary: &Summary) -> String {
    let total = summary.total();
    let (first, last) = summary.span().unwrap_or((0, 0));
    let mut text = format!(
        "<div class=\"tiles\"><div class=\"tile\"><span>requests</span><b>{}</b>\
         {} on average<br>cost {}</div>",
        units::exact(total.requests),
        units::rate(total.requests, (last - first).max(1)),
        units::exact(total.cost)
    );
    for meaning in Meaning::ALL.into_iter().rev() {
        let count = summary.count(meaning);
        if meaning == Meaning::Unmatched && count.requests == 0 {
            continue;
        }
        put(
            &mut text,
            format_args!(
                "<div class=\"tile {word}\"><span>{shape} {word}</span><b>{}</b>\
                 {} requests<br>cost {}</div>",
                units::share(count.requests, total.requests),
                units::exact(count.requests),
                units::exact(count.cost),
                word = meaning.word(),
                shape = shape(meaning),
            ),
        );
    }
    text.push_str("</div>\n");
    text
}

/// A shape that identifies a meaning without its colour.
fn shape(meaning: Meaning) -> char {
    match meaning {
        Meaning::Unmatched => '○',
        Meaning::Allowed => '●',
        Meaning::Delayed => '◆',
        Meaning::Denied => '▲',
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn the_page_is_whole_and_asks_for_nothing() {
        let page = page(
            &sample(),
            Caption {
                trace: "<script>",
                contracts: "a&b",
            },
        );
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        for part in [
            "http:", "https:", "<script", "<link", "@import", "url(//", "<img",
        ] {
            assert!(!page.contains(part), "{part}");
        }
        assert!(page.contains("&lt;script&gt;") && page.contains("a&amp;b"));
        assert!(page.contains("user=&lt;u") && page.contains("&lt;quiet&gt;"));
    }

    #[test]
    fn every_element_that_opens_closes() {
        let page = page(
            &sample(),
            Caption {
                trace: "t",
                contracts: "c",
            },
        );
        for name in [
            "section", "table", "tr", "td", "th", "svg", "div", "figure", "details", "p", "g",
            "time",
        ] {
            let (open, bare) = (
                page.matches(&format!("<{name} ")).count(),
                page.matches(&format!("<{name}>")).count(),
            );
            assert_eq!(
                open + bare,
                page.matches(&format!("</{name}>")).count(),
                "{name}"
            );
        }
    }

    #[test]
    fn an_empty_trace_still_makes_a_page() {
        let page = page(
            &Summary::new(vec![]),
            Caption {
                trace: "t",
                contracts: "c",
            },
        );
        assert!(page.contains("No requests in the trace") && page.contains("check that"));
    }
}

//! Reports as self-contained pages: no script, font, image or request.
//!
//! Not here: what the figures mean.

mod colour;
mod plot;
mod tables;

use tollgate_lab::Report;

pub(super) use colour::colour;

use super::designs;
use crate::report::html::HtmlDocument;
use crate::report::text::{html as safe, put};

const STYLE: &str = include_str!("lab.css");

pub(super) struct IndexEntry {
    experiment: String,
    title: String,
    conclusion: String,
}

impl IndexEntry {
    pub(super) fn of(report: &Report) -> Self {
        Self {
            experiment: report.experiment.clone(),
            title: report.title.clone(),
            conclusion: report.conclusion.clone(),
        }
    }
}

/// The file of an experiment's page.
pub(super) fn file_name(experiment: &str) -> String {
    format!("{experiment}.html")
}

pub(super) fn page(report: &Report) -> String {
    let mut body = format!(
        "<p class=\"lead\">{}</p>\n<p class=\"soft\">{}</p>\n",
        safe(first_sentence(&report.conclusion)),
        safe(&report.about)
    );
    body.push_str(&contents(report));
    body.push_str(&tables::bars(&report.bars));
    if !report.figures.is_empty() {
        let plots: String = report.figures.iter().map(plot::section).collect();
        put(
            &mut body,
            format_args!("<div class=\"plots\">{plots}</div>\n"),
        );
    }
    body.push_str(&tables::rows(report));
    body.push_str(&designs::section(&report.supply));
    body.push_str(&designs::section(&report.split));
    body.push_str(&designs::section(&report.lease));
    body.push_str(&tables::reported(report));
    body.push_str(&tables::runs(report));
    put(
        &mut body,
        format_args!("<p class=\"end\">{}</p>\n", safe(&report.conclusion)),
    );
    if !report.closing.is_empty() {
        put(
            &mut body,
            format_args!("<p class=\"end\">{}</p>\n", safe(&report.closing)),
        );
    }
    let facts = format!(
        "<a href=\"index.html\">tollgate lab</a> · <code>{}</code>{}",
        safe(&report.experiment),
        parameters(report)
    );
    lab_page(&report.title, &facts, &body)
}

/// The first sentence; figures have points too, but no space behind them.
fn first_sentence(text: &str) -> &str {
    text.find(". ")
        .and_then(|end| text.get(..=end))
        .unwrap_or(text)
}

fn parameters(report: &Report) -> String {
    let mut list = String::from("<dl>");
    for (name, value) in &report.parameters {
        put(
            &mut list,
            format_args!("<div><dt>{}</dt><dd>{}</dd></div>", safe(name), safe(value)),
        );
    }
    list + "</dl>"
}

/// Links to the plots, if there are several.
fn contents(report: &Report) -> String {
    if report.figures.len() < 3 {
        return String::new();
    }
    let mut links = String::from("<nav>");
    for figure in &report.figures {
        let short = figure.title.split(';').next().unwrap_or(&figure.title);
        put(
            &mut links,
            format_args!("<a href=\"#{}\">{}</a>", safe(&figure.name), safe(short)),
        );
    }
    links + "</nav>\n"
}

pub(super) fn index(entries: &[IndexEntry]) -> String {
    let mut body = String::from(
        "<section><div class=\"wide\"><table class=\"index\"><thead><tr><th>experiment</th><th>what was found</th></tr>\
         </thead><tbody>\n",
    );
    for entry in entries {
        put(
            &mut body,
            format_args!(
                "<tr><td><a href=\"{}\">{}</a><br><code>{}</code></td><td>{}</td></tr>\n",
                safe(&file_name(&entry.experiment)),
                safe(&entry.title),
                safe(&entry.experiment),
                safe(&entry.conclusion)
            ),
        );
    }
    body.push_str("</tbody></table></div></section>\n");
    let title = match entries.len() {
        1 => "One experiment".to_owned(),
        count => format!("{count} experiments"),
    };
    lab_page(&title, "designs measured on one bench", &body)
}

fn lab_page(title: &str, facts: &str, body: &str) -> String {
    let document = HtmlDocument {
        title,
        command: "tollgate lab",
        style: STYLE,
        facts,
        body,
    };
    document.page()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_lab::{Bar, Line, PlotFigure, Row};

    fn sample() -> Report {
        Report {
            experiment: "x".into(),
            title: "<b>".into(),
            rows: vec![Row {
                set: "<script>".into(),
                design: "counter".into(),
                ..Row::default()
            }],
            bars: vec![Bar {
                name: "a<b".into(),
                ..Bar::default()
            }],
            figures: vec![PlotFigure {
                lines: vec![Line {
                    points: vec![(0.0, 1.0), (1.0, 2.0)],
                    ..Line::default()
                }],
                ..PlotFigure::default()
            }],
            conclusion: "done & said".into(),
            ..Report::default()
        }
    }

    #[test]
    fn a_page_is_whole_and_asks_for_nothing() {
        for page in [page(&sample()), index(&[IndexEntry::of(&sample())])] {
            assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
            for part in [
                "http:", "https:", "<script", "<link", "@import", "url(//", "<img", "<b></",
            ] {
                assert!(!page.contains(part), "{part}");
            }
            for name in [
                "section", "table", "tr", "td", "th", "svg", "div", "figure", "details", "p", "g",
                "dl", "nav",
            ] {
                let open = page.matches(&format!("<{name} ")).count()
                    + page.matches(&format!("<{name}>")).count();
                assert_eq!(open, page.matches(&format!("</{name}>")).count(), "{name}");
            }
        }
    }
}

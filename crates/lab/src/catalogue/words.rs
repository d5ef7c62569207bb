//! What rows say, in plain words. Every sentence is computed; none is a hope.
//!
//! Not here: tables and plots.

use crate::report::Row;

/// What is found, in a few sentences.
pub(super) fn conclude(rows: &[Row]) -> String {
    let mut sentences = Vec::new();
    let judged: Vec<&Row> = rows.iter().filter(|row| row.design != "central").collect();
    let names = designs(&judged);
    let (exact, others): (Vec<&str>, Vec<&str>) = names
        .iter()
        .partition(|name| of(&judged, name).iter().all(|row| is_exact(row)));
    sentences.extend(exactness(&exact, &judged));
    sentences.extend(others.iter().filter_map(|name| weakest(&of(&judged, name))));
    sentences.extend(wrongly(&judged));
    sentences.extend(cheapest(&exact, &judged));
    if sentences.is_empty() {
        return "Nothing was run, so nothing was found.".to_owned();
    }
    sentences.join(" ")
}

fn designs<'a>(rows: &[&'a Row]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !names.contains(&row.design.as_str()) {
            names.push(&row.design);
        }
    }
    names
}

fn of<'a>(rows: &[&'a Row], name: &str) -> Vec<&'a Row> {
    rows.iter()
        .copied()
        .filter(|row| row.design == name)
        .collect()
}

fn is_exact(row: &Row) -> bool {
    row.over.max <= 0.0 && row.under.max <= 0.0
}

fn exactness(exact: &[&str], rows: &[&Row]) -> Option<String> {
    let (names, verb) = match exact {
        [] => return None,
        [one] => ((*one).to_owned(), "decides"),
        several => (list(several), "decide"),
    };
    let count = of(rows, exact.first()?).len();
    let sets = if count == 1 {
        "here".to_owned()
    } else {
        format!("in all {count} cases")
    };
    Some(format!(
        "{} {verb} as one central bucket would, in every run {sets}.",
        capital(&names)
    ))
}

/// Where a design that is not exact is farthest from the central bucket.
fn weakest(rows: &[&Row]) -> Option<String> {
    let name = capital(&rows.first()?.design);
    let exact = rows.iter().filter(|row| is_exact(row)).count();
    let share = |row: &Row| {
        row.area
            .map_or(f64::INFINITY, |area| (100.0 - area.mean).abs())
    };
    let judged = rows.iter().filter(|row| row.area.is_some());
    let worst = judged.max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let over = rows
        .iter()
        .max_by(|a, b| a.over.mean.total_cmp(&b.over.mean))?;
    let area = worst.area?.mean;
    let also = if exact > 0 {
        format!(
            "{name} is exact in {exact} of {} cases; at worst",
            rows.len()
        )
    } else {
        format!("{name} is exact nowhere; at worst")
    };
    let past = if over.over.mean > 0.0 {
        format!(
            ", and lets up to {} too many pass ({})",
            short(over.over.mean),
            over.set
        )
    } else {
        String::new()
    };
    Some(format!(
        "{also} it reaches {} % of the central rejections over time ({}){past}.",
        short(area),
        worst.set
    ))
}

/// Rejections that were wrong by what the cluster itself had admitted.
fn wrongly(rows: &[&Row]) -> Option<String> {
    let worst = rows
        .iter()
        .max_by(|a, b| a.false_rejections.mean.total_cmp(&b.false_rejections.mean))?;
    let mean = worst.false_rejections.mean;
    Some(if mean > 0.0 {
        format!(
            "Up to {} requests per run were rejected although tokens were left ({}, {}).",
            short(mean),
            worst.design,
            worst.set
        )
    } else {
        "No request was rejected while tokens were left.".to_owned()
    })
}

/// What the cheapest exact design costs beside the counter.
fn cheapest(exact: &[&str], rows: &[&Row]) -> Option<String> {
    let mut best: Option<(&Row, f64)> = None;
    let mut worst: Option<(&Row, f64)> = None;
    let total = |name: &str| of(rows, name).iter().map(|row| row.bytes.mean).sum::<f64>();
    let name = exact.iter().min_by(|a, b| total(a).total_cmp(&total(b)))?;
    for row in of(rows, name) {
        let counter = rows
            .iter()
            .find(|own| own.set == row.set && own.design == "counter")?;
        if counter.bytes.mean <= 0.0 {
            continue;
        }
        let ratio = row.bytes.mean / counter.bytes.mean;
        if best.is_none_or(|(_, least)| ratio < least) {
            best = Some((row, ratio));
        }
        if worst.is_none_or(|(_, most)| ratio > most) {
            worst = Some((row, ratio));
        }
    }
    let ((cheap, least), (dear, most)) = (best?, worst?);
    let name = capital(name);
    Some(if cheap.set == dear.set {
        format!("{name} sends {} times the counter's bytes.", short(least))
    } else {
        format!(
            "{name} sends {} ({}) to {} ({}) times the counter's bytes.",
            short(least),
            cheap.set,
            short(most),
            dear.set
        )
    })
}

/// `a`, `a and b`, `a, b and c`.
fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [many @ .., last] => format!("{} and {last}", many.join(", ")),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// Three digits that matter.
pub(super) fn short(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 99.95 && size < 100.0 || size >= 100.0 && size.fract() == 0.0 => 0,
        size if size >= 99.0 && size < 100.0 => 2,
        size if size >= 10.0 => 1,
        size if size >= 0.1 => 2,
        _ => 4,
    };
    let text = format!("{value:.digits$}");
    if value < 100.0 && text == "100" {
        "99.99".to_owned()
    } else {
        text
    }
}

//! What rows say, in plain words. Every sentence is computed; none is a hope.
//!
//! Not here: tables and plots.

use crate::report::Row;

pub(super) fn conclude(rows: &[Row]) -> String {
    let mut sentences = Vec::new();
    let judged: Vec<&Row> = rows.iter().filter(|row| row.design != "central").collect();
    let names = designs(&judged);
    let (exact, others): (Vec<&str>, Vec<&str>) = names
        .iter()
        .partition(|name| of(&judged, name).iter().all(|row| is_exact(row)));
    sentences.extend(exactness(&exact, &judged));
    let weak = others.iter().filter_map(|name| weakest(&of(&judged, name)));
    sentences.extend(less(&weak.collect::<Vec<_>>()));
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

/// The designs that are not exact, and how far off they are.
fn less(weak: &[String]) -> Option<String> {
    (!weak.is_empty()).then(|| format!("Less exact: {}.", weak.join("; ")))
}

/// Where a design that is not exact is farthest from the central bucket.
fn weakest(rows: &[&Row]) -> Option<String> {
    let name = &rows.first()?.design;
    let share = |row: &Row| (100.0 - row.area.map_or(100.0, |area| area.mean)).abs();
    let worst = rows
        .iter()
        .max_by(|a, b| share(a).total_cmp(&share(b)))
        .filter(|row| share(row) > 0.0);
    let over = rows
        .iter()
        .max_by(|a, b| a.over.mean.total_cmp(&b.over.mean))
        .filter(|row| row.over.mean > 0.0);
    let mut parts = vec![name.clone()];
    if let Some((row, area)) = worst.and_then(|row| Some((row, row.area?.mean))) {
        let at_worst = if rows.len() > 1 { "at worst " } else { "" };
        parts.push(format!(
            "{at_worst}{} % of the central rejections over time{}",
            short(area),
            place(row, rows)
        ));
    }
    if let Some(row) = over {
        parts.push(format!(
            "{} admitted too many{}",
            short(row.over.mean),
            place(row, rows)
        ));
    }
    (parts.len() > 1).then(|| parts.join(", "))
}

/// Where, if it could be elsewhere.
fn place(row: &Row, rows: &[&Row]) -> String {
    if rows.len() > 1 {
        format!(" ({})", row.set)
    } else {
        String::new()
    }
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

/// Three digits that matter, and a unit where that is short.
pub(super) fn short(value: f64) -> String {
    let size = value.abs();
    if size < 10_000.0 {
        return digits(value);
    }
    let (scaled, unit) = if size >= 1e6 {
        (value / 1e6, "M")
    } else {
        (value / 1e3, "k")
    };
    format!("{} {unit}", short(scaled))
}

/// Three digits that matter, no zeros behind the point; what is not all is never told as all.
pub fn digits(value: f64) -> String {
    let size = value.abs();
    let places = match size {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.0995 => 2,
        size if size >= 0.00995 => 3,
        _ => 4,
    };
    let text = if (99.9..100.0).contains(&size) {
        format!("{:.2}", value.min(99.99))
    } else {
        format!("{value:.places$}")
    };
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Spread;

    fn row(set: &str, design: &str, area: f64, over: f64, bytes: f64) -> Row {
        let flat = |mean| Spread {
            mean,
            sd: 0.0,
            min: mean,
            max: mean,
        };
        Row {
            set: set.to_owned(),
            design: design.to_owned(),
            area: Some(flat(area)),
            over: flat(over),
            bytes: flat(bytes),
            ..Row::default()
        }
    }

    #[test]
    fn what_is_said_follows_from_the_rows() {
        let rows = [
            row("x", "counter", 96.8, 107.0, 200.0),
            row("x", "links", 100.0, 0.0, 72.0),
            row("y", "counter", 36.0, 5.0, 1000.0),
            row("y", "links", 100.0, 0.0, 70.0),
        ];
        let told = conclude(&rows);
        for part in [
            "Links decides as one central bucket would, in every run in all 2 cases.",
            "Less exact: counter, at worst 36 % of the central rejections over time (y), 107 admitted too many (x).",
            "Links sends 0.07 (y) to 0.36 (x) times the counter's bytes.",
        ] {
            assert!(told.contains(part), "{part:?} is not in {told:?}");
        }
        assert!(!conclude(&rows[..1]).contains("Links"));
        assert!(conclude(&[]).contains("Nothing"));
    }

    #[test]
    fn almost_all_is_not_all() {
        assert_eq!(short(99.9999), "99.99");
        assert_eq!(short(100.0), "100");
        assert_eq!(short(0.0), "0");
        assert_eq!(short(0.0022), "0.0022");
        let shown = [0.002, 0.91, 5.4, 10.0, 19.04, 107.6, 99.97].map(digits);
        assert_eq!(shown, ["0.002", "0.91", "5.4", "10", "19", "108", "99.97"]);
    }
}

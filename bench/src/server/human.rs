//! Prints the figures of servers as tables.

use super::FigureTable;
use crate::table::TextTable;

/// Prints a table, and how far the first line is from every other.
pub(crate) fn print_figures(figures: &FigureTable) {
    let title = format!("{}: {} ({})", figures.name, figures.title, figures.unit);
    let first = figures.lines.first().map(|line| line.figure.median);
    let mut table = TextTable::new(title, &["server", "median", "min..max", "first over it"]);
    for line in &figures.lines {
        let ratio = first.map(|first| first / line.figure.median);
        table.push(vec![
            line.server.to_owned(),
            short(line.figure.median),
            format!("{}..{}", short(line.figure.min), short(line.figure.max)),
            ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        ]);
    }
    print!("{table}");
}

fn short(figure: f64) -> String {
    match figure {
        figure if figure >= 10_000.0 => format!("{:.1} k", figure / 1000.0),
        figure if figure >= 100.0 => format!("{figure:.0}"),
        figure => format!("{figure:.2}"),
    }
}

//! How a bar is judged: one figure of one row, or of two.
//!
//! Not here: which bars there are.

use super::super::words::short;
use crate::report::{Bar, Column, Row, Spread};

pub(super) struct BarCheck {
    pub(super) set: &'static str,
    pub(super) design: &'static str,
    pub(super) figure: BarFigure,
    pub(super) test: Test,
}

#[derive(Clone, Copy)]
pub(super) enum BarFigure {
    /// The mean over seeds.
    Mean(Column),
    /// The worst seed: the least of a share, the most of anything else.
    Worst(Column),
    /// The mean as a multiple of another design's.
    Times(Column, &'static str),
    /// The mean less another design's.
    Beyond(Column, &'static str),
    /// Admitted and rejected beyond the central bucket and against the tokens left, in the worst seed.
    Wrong,
}

#[derive(Clone, Copy)]
pub(super) enum Test {
    AtLeast(f64),
    AtMost(f64),
    Between(f64, f64),
}

impl BarCheck {
    pub(super) fn judge(&self, rows: &[Row]) -> Bar {
        let found = rows
            .iter()
            .find(|row| row.set == self.set && row.design == self.design);
        let value = found.and_then(|row| self.value(row, rows));
        Bar {
            name: format!("{}, {}: {}", self.design, self.set, self.what()),
            bar: self.test.text(self.figure),
            measured: value.map_or_else(|| "–".to_owned(), |value| shown(self.figure, value)),
            met: value.map(|value| self.test.holds(value)),
        }
    }

    fn value(&self, row: &Row, rows: &[Row]) -> Option<f64> {
        let other = |design: &str| {
            rows.iter()
                .find(|row| row.set == self.set && row.design == design)
        };
        let mean = |row: &Row, column| row.column(column).map(|spread| spread.mean);
        match self.figure {
            BarFigure::Mean(column) => mean(row, column),
            BarFigure::Worst(column) => row.column(column).map(|spread| worst(column, spread)),
            BarFigure::Times(column, design) => {
                let its = mean(other(design)?, column)?;
                (its > 0.0).then(|| mean(row, column).map(|mine| mine / its))?
            }
            BarFigure::Beyond(column, design) => {
                Some(mean(row, column)? - mean(other(design)?, column)?)
            }
            BarFigure::Wrong => Some(row.over.max + row.under.max + row.false_rejections.max),
        }
    }

    fn what(&self) -> String {
        match self.figure {
            BarFigure::Mean(column) => column.name().to_owned(),
            BarFigure::Worst(column) => format!("{} of the worst seed", column.name()),
            BarFigure::Times(column, design) => format!("{} of {design}'s", column.name()),
            BarFigure::Beyond(column, design) => format!("{} beyond {design}'s", column.name()),
            BarFigure::Wrong => "over, under and false of any seed".to_owned(),
        }
    }
}

fn worst(column: Column, spread: Spread) -> f64 {
    match column {
        Column::Total | Column::Area => spread.min,
        _ => spread.max,
    }
}

impl Test {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bar) => value >= bar,
            Self::AtMost(bar) => value <= bar,
            Self::Between(low, high) => (low..=high).contains(&value),
        }
    }

    fn text(self, figure: BarFigure) -> String {
        match self {
            Self::AtLeast(bar) => format!("≥ {}", shown(figure, bar)),
            Self::AtMost(0.0) => "0".to_owned(),
            Self::AtMost(bar) => format!("≤ {}", shown(figure, bar)),
            Self::Between(low, high) => {
                format!("{} to {}", shown(figure, low), shown(figure, high))
            }
        }
    }
}

fn shown(figure: BarFigure, value: f64) -> String {
    let column = match figure {
        BarFigure::Times(..) if (0.99..1.01).contains(&value) => {
            return format!("{value:.4} ×");
        }
        BarFigure::Times(..) => return format!("{} ×", short(value)),
        BarFigure::Wrong => return short(value),
        BarFigure::Mean(column) | BarFigure::Worst(column) | BarFigure::Beyond(column, _) => column,
    };
    match column {
        Column::Total | Column::Area => format!("{} %", short(value)),
        Column::Bytes | Column::Busiest if value >= 1e6 => format!("{} MB", short(value / 1e6)),
        Column::Bytes | Column::Busiest => format!("{} kB", short(value / 1e3)),
        Column::State | Column::Local => format!("{} B", short(value)),
        Column::Quiet => format!("{} s", short(value)),
        Column::Over | Column::Under | Column::False | Column::Messages => short(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(design: &str, area: f64, bytes: f64) -> Row {
        let flat = |mean| Spread {
            mean,
            sd: 0.0,
            min: mean - 1.0,
            max: mean + 1.0,
        };
        Row {
            set: "x".to_owned(),
            design: design.to_owned(),
            area: Some(flat(area)),
            bytes: flat(bytes),
            ..Row::default()
        }
    }

    #[track_caller]
    fn judged(figure: BarFigure, test: Test, met: Option<bool>) {
        let rows = [row("links", 99.0, 50.0), row("counter", 90.0, 100.0)];
        let check = BarCheck {
            set: "x",
            design: "links",
            figure,
            test,
        };
        assert_eq!(
            check.judge(&rows).met,
            met,
            "{}",
            check.judge(&rows).measured
        );
    }

    #[test]
    fn bars_are_judged_by_mean_by_worst_seed_and_beside_others() {
        judged(
            BarFigure::Mean(Column::Area),
            Test::AtLeast(99.0),
            Some(true),
        );
        judged(
            BarFigure::Worst(Column::Area),
            Test::AtLeast(99.0),
            Some(false),
        );
        judged(
            BarFigure::Worst(Column::Bytes),
            Test::AtMost(51.0),
            Some(true),
        );
        judged(
            BarFigure::Times(Column::Bytes, "counter"),
            Test::AtMost(0.49),
            Some(false),
        );
        judged(
            BarFigure::Times(Column::Bytes, "queue"),
            Test::AtMost(9.0),
            None,
        );
        judged(
            BarFigure::Beyond(Column::Area, "counter"),
            Test::Between(8.9, 9.1),
            Some(true),
        );
        judged(BarFigure::Mean(Column::Total), Test::AtLeast(0.0), None);
        judged(BarFigure::Wrong, Test::AtMost(0.0), Some(true));
    }
}

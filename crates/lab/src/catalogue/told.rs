//! What others report: the thesis' text, and an independent simulator of the same designs.
//!
//! One line per row: set, design, figures by column; `kB` are thousands of bytes, `x-` marks multiples of the
//! counter's. Not here: anything we measured.

use crate::report::{Column, FigureSource, Reported};

/// What a table says about a set, by design.
pub(super) fn told(source: FigureSource, table: &str, set: &str) -> Vec<(String, Reported)> {
    let mut told = Vec::new();
    for (own, design, figures) in table.lines().filter_map(parts) {
        if own == set {
            let figures = read(figures, source);
            told.extend(
                figures
                    .into_iter()
                    .map(|figure| (design.to_owned(), figure)),
            );
        }
    }
    told
}

pub(super) fn thesis(set: &str) -> Vec<(String, Reported)> {
    told(FigureSource::Thesis, THESIS, set)
}

/// What the other simulator gave on a set of the usual kind.
pub(super) fn reference(set: &str) -> Vec<(String, Reported)> {
    told(FigureSource::Reference, SETS, set)
}

fn parts(line: &str) -> Option<(&str, &str, &str)> {
    let mut parts = line.split('|').map(str::trim);
    Some((parts.next()?, parts.next()?, parts.next()?))
}

fn read(figures: &str, source: FigureSource) -> Vec<Reported> {
    let words: Vec<&str> = figures.split_whitespace().collect();
    words
        .chunks(2)
        .filter_map(|pair| figure(pair, source))
        .collect()
}

fn figure(pair: &[&str], source: FigureSource) -> Option<Reported> {
    let [name, value] = *pair else { return None };
    let value: f64 = value.parse().ok()?;
    let bare = name.strip_prefix("x-");
    let (column, scale) = match bare.unwrap_or(name) {
        "total" => (Column::Total, 1.0),
        "area" => (Column::Area, 1.0),
        "over" => (Column::Over, 1.0),
        "under" => (Column::Under, 1.0),
        "kB" => (Column::Bytes, if bare.is_some() { 1.0 } else { 1000.0 }),
        "messages" => (Column::Messages, 1.0),
        "state" => (Column::State, 1.0),
        "local" => (Column::Local, 1.0),
        "busiest" => (Column::Busiest, 1000.0),
        "quiet" => (Column::Quiet, 1.0),
        _ => return None,
    };
    Some(Reported {
        column,
        is_ratio: bare.is_some(),
        value: value * scale,
        source,
    })
}

/// Henriksson and Bennhage, chapter 5. Their "queue" has both extensions, except on B-calm, where it has only the
/// first.
const THESIS: &str = "
A | counter | area 95.7
A | queue+linf | x-kB 1.31
A | queue+freq | x-kB 3.43
B-extreme | counter | area 96.9
B-extreme | queue+freq+linf | area 99.7 x-kB 8.83 x-state 7.98
B-substantial | counter | area 96.4
B-substantial | queue+freq+linf | area 98.6 x-kB 4.95 x-state 5.13
B-barely | counter | area 10.0
B-barely | queue+freq+linf | area 80.0 x-kB 2.15 x-state 4.27
B-calm | queue+freq | x-kB 0.23 x-state 0.90
C | queue+freq+linf | x-kB 1.000025 x-state 0.136
";

const SETS: &str = "
B-extreme | counter | total 98.51 area 96.76 over 107.6 kB 223 messages 1465 state 2469 local 323 quiet 12
B-extreme | queue | total 98.51 area 96.76 over 107.7 kB 5878 messages 1444 state 33633 local 6052 quiet 12
B-extreme | queue+linf | total 98.58 area 96.92 over 102.8 kB 5821 messages 1420 state 20687 local 6287 quiet 0
B-extreme | queue+freq | total 99.79 area 99.75 over 19.0 kB 7299 messages 8681 state 11188 local 4771 quiet 43
B-extreme | queue+freq+linf | total 99.84 area 99.65 over 20.1 kB 7115 messages 8346 state 8802 local 5115 quiet 0
B-substantial | counter | total 99.04 area 96.73 over 16.6 kB 486 messages 3192 state 4929 local 314 quiet 34
B-substantial | queue | total 99.04 area 96.73 over 16.6 kB 4661 messages 3075 state 25515 local 4022 quiet 30
B-substantial | queue+linf | total 98.86 area 96.87 over 15.6 kB 4706 messages 3351 state 15719 local 4322 quiet 2
B-substantial | queue+freq | total 99.13 area 99.14 over 8.3 kB 5492 messages 10954 state 10711 local 4010 quiet 51
B-substantial | queue+freq+linf | total 99.29 area 98.79 over 9.2 kB 5511 messages 10833 state 9493 local 4324 quiet 2
B-barely | counter | total 59.2 area 35.6 over 5.4 kB 1004 messages 6622 state 8548 local 298 quiet 63
B-barely | queue | total 59.2 area 35.6 over 5.4 kB 4769 messages 6524 state 20966 local 2429 quiet 63
B-barely | queue+linf | total 63.1 area 38.7 over 4.9 kB 4790 messages 6702 state 13607 local 2732 quiet 9
B-barely | queue+freq | total 90.4 area 82.4 over 1.3 kB 5111 messages 12283 state 11117 local 2499 quiet 59
B-barely | queue+freq+linf | total 89.6 area 81.0 over 1.4 kB 5172 messages 12419 state 10050 local 2798 quiet 8
B-calm | counter | over 0 kB 1130 messages 10379 state 3844 local 157 quiet 60
B-calm | queue | over 0 kB 575 messages 8328 state 660 local 27 quiet 36
B-calm | queue+freq | over 0 kB 575 messages 8328 state 660 local 27 quiet 36
B-calm | queue+linf | over 0 kB 683 messages 9883 state 938 local 327 quiet 9
B-calm | queue+freq+linf | over 0 kB 683 messages 9883 state 938 local 327 quiet 9
A | counter | total 99.84 area 99.66 over 50 kB 23740 messages 30016 state 59422 local 3222 quiet 67
A | queue | total 99.84 area 99.66 over 51 kB 57939 messages 29758 state 94204 quiet 64
A | queue+linf | total 99.84 area 99.67 over 50 kB 58556 messages 30782 state 69742 quiet 9
A | queue+freq | total 99.84 area 99.74 over 42 kB 62746 messages 86881 state 72752 quiet 64
A | queue+freq+linf | total 99.85 area 99.73 over 41 kB 62839 messages 83317 state 62891 quiet 9
C | counter | total 99.72 area 99.68 over 28 kB 2424807 messages 354504 state 684919 local 274517 quiet 70
C | queue | total 99.72 area 99.70 over 28 kB 921840 messages 354448 state 143881 local 73797 quiet 70
C | queue+freq+linf | total 99.72 area 99.70 over 23 kB 1059681 messages 435115 state 141068 local 87769 quiet 11
D, gossip 300 ms | counter | total 92 area 98
D, gossip 300 ms | counter+fixed | total 91 area 96
D, gossip 300 ms | queue | total 91 area 96
D, gossip 300 ms | queue+linf | total 93 area 97
D, gossip 300 ms | queue+freq | total 100 area 100
D, gossip 450 ms | counter | total 88 area 93
D, gossip 450 ms | counter+fixed | total 88 area 90
D, gossip 450 ms | queue | total 85 area 88
D, gossip 450 ms | queue+linf | total 90 area 91
D, gossip 450 ms | queue+freq | total 100 area 100
D, gossip 900 ms | counter | total 90 area 92
D, gossip 900 ms | counter+fixed | total 76 area 71
D, gossip 900 ms | queue | total 0 area 0
D, gossip 900 ms | queue+linf | total 0 area 0
D, gossip 900 ms | queue+freq | total 100 area 100
D | queue 300 ms | total 91 area 96
D | queue 450 ms | total 85 area 88
D | queue 900 ms | total 0 area 0
D | queue+freq 300 ms | total 100 area 100
D | queue+freq 450 ms | total 100 area 100
D | queue+freq 900 ms | total 100 area 100
idle | counter | total 12
idle | counter+fixed | total 76
idle | queue+freq | total 99.7
mob | counter | total 95.86 area 94.30 over 64.8 kB 545.1 messages 4293 state 3276 busiest 39.3
two | counter | total 96.71 area 91.05 over 143.5 kB 425.4 messages 2588 state 3466 busiest 30.5
drip | counter | total 99.90 area 99.53 over 2.9 kB 4461 messages 30215 state 6462 busiest 305
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_understood() {
        for table in [
            THESIS,
            SETS,
            super::super::told_sweeps::SWEEPS,
            super::super::told_faults::FAULTS,
        ] {
            for line in table.lines().filter(|line| !line.is_empty()) {
                let (_, design, figures) = parts(line).unwrap();
                let words = figures.split_whitespace().count();
                assert!(
                    words > 0 && words == 2 * read(figures, FigureSource::Thesis).len(),
                    "{line}"
                );
                let name = design.split(' ').next().unwrap();
                assert!(crate::contender::Contender::named(name).is_some(), "{line}");
            }
        }
    }
}

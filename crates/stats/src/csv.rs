//! Usage as comma-separated values that a spreadsheet can open without running anything.
//!
//! A text that a spreadsheet could interpret as a formula gets an apostrophe in front, and every text is quoted.

use core::fmt::Write;

use crate::counts::Counts;
use crate::report::UsageRow;

pub const CSV_HEAD: &str =
    "day,contract,identity,allowed,delayed,denied,shadowed,cost,returned,refused,net_cost\r\n";

pub fn csv_line(row: &UsageRow, out: &mut String) {
    text(&row.day, out);
    for field in [&row.contract, &row.identity] {
        out.push(',');
        text(field, out);
    }
    for number in Counts::to_array(&row.counts) {
        // Writing to a string does not fail.
        let _ = write!(out, ",{number}");
    }
    let _ = write!(out, ",{}\r\n", row.net_cost);
}

fn text(field: &str, out: &mut String) {
    out.push('"');
    let first = field.trim_start().chars().next();
    let is_formula = first.is_some_and(|first| FORMULA.contains(first));
    if is_formula || field.starts_with(['\t', '\r', '\n']) {
        out.push('\'');
    }
    for letter in field.chars() {
        if letter == '"' {
            out.push('"');
        }
        out.push(letter);
    }
    out.push('"');
}

/// First characters of formulas, full-width forms included.
const FORMULA: &str = "=+-@|%＝＋－＠";

#[cfg(test)]
mod tests {
    use super::*;

    fn line(contract: &str, identity: &str) -> String {
        let row = UsageRow {
            day: "2026-11-16".into(),
            contract: contract.into(),
            identity: identity.into(),
            counts: Counts {
                cost: 2,
                returned: 5,
                ..Counts::ZERO
            },
            net_cost: -3,
        };
        let mut out = String::new();
        csv_line(&row, &mut out);
        out
    }

    #[test]
    fn nothing_is_a_formula_and_quotes_stay_inside() {
        let plain = "\"2026-11-16\",\"c\",\"user=4\",0,0,0,0,2,5,0,-3\r\n";
        assert_eq!(line("c", "user=4"), plain);
        let sly = line("=cmd|' /C calc'!A0", "\"\n@SUM(1)");
        assert!(sly.starts_with("\"2026-11-16\",\"'=cmd|' /C calc'!A0\",\"\"\"\n@SUM(1)\","));
        for formula in ["+1", "-1", "@x", " =1", "\t=1", "＝1", "\r=1"] {
            assert!(line(formula, "").contains(&format!(",\"'{formula}\",")));
        }
    }
}

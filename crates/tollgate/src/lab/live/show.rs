//! Live and simulated side by side.
//!
//! Not here: where the figures come from.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate_lab::{Judgement, RunOutcome};
use tollgate_limit::Span;

use super::super::options::LiveOptions;
use super::figures::ContractTraffic;
use crate::report::table::{TableCell, cell, write_table};
use crate::report::{Ink, Meaning, TerminalStyle};

pub(super) struct LaneRow {
    pub(super) set: String,
    pub(super) requests: u64,
    pub(super) delay: Span,
    pub(super) judged: Judgement,
    pub(super) live: ContractTraffic,
    pub(super) unanswered: u64,
    pub(super) late: Duration,
    pub(super) simulated: Drawn,
}

/// The lab's results over a number of draws.
pub(super) struct Drawn {
    pub(super) count: u64,
    /// The least and most rejections.
    pub(super) rejected: [u64; 2],
    /// The median.
    pub(super) typical: RunOutcome,
}

/// The permitted difference between live and simulated.
const ADMITTED_MAX: f64 = 1.0;
const ADMITTED_REQUESTS_MAX: u64 = 3;
const BYTES_MAX: f64 = 15.0;

impl LaneRow {
    fn admitted(&self) -> u64 {
        self.requests.saturating_sub(self.judged.rejected)
    }

    fn simulated_admitted(&self) -> u64 {
        let judged = &self.simulated.typical.judged;
        self.requests.saturating_sub(judged.rejected)
    }

    /// The lab's least and most admissions.
    fn simulated_extremes(&self) -> [u64; 2] {
        let [least, most] = self.simulated.rejected;
        [most, least].map(|rejected| self.requests.saturating_sub(rejected))
    }

    fn is_admitted_alike(&self) -> bool {
        let (live, simulated) = (self.admitted(), self.simulated_admitted());
        live.abs_diff(simulated) <= ADMITTED_REQUESTS_MAX
            || percent(live, simulated).is_some_and(|off| off.abs() <= ADMITTED_MAX)
    }

    fn is_said_alike(&self) -> bool {
        let off = percent(self.live.bytes, self.simulated.typical.traffic.bytes);
        off.is_none_or(|off| off.abs() <= BYTES_MAX)
    }
}

/// How much more the first is than the second, in percent.
#[allow(clippy::cast_precision_loss, reason = "a figure to read")]
fn percent(this: u64, that: u64) -> Option<f64> {
    (that > 0).then(|| (this as f64 / that as f64 - 1.0) * 100.0)
}

pub(super) fn human(rows: &[LaneRow], options: &LiveOptions, look: TerminalStyle) -> String {
    let header = [
        "set",
        "",
        ">admitted",
        ">over",
        ">under",
        ">total %",
        ">KB",
        ">messages",
        ">wire KB",
        ">delay",
    ];
    let mut text = format!(
        "{}\n\n",
        look.paint(
            Ink::Bold,
            &format!(
                "{} processes, and the lab with the delay they had",
                options.nodes
            )
        )
    );
    write_table(&header, rows.iter().flat_map(lines_of), look, &mut text);
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\nThe lab draws what processes draw by chance {} times: its line is the draw in the middle, at its end the least and the \
         most admitted.\nKB and messages are frames of gossip with 28 bytes each for IP and UDP, until nobody has more to say; wire KB \
         is everything\nthe nodes sent meanwhile, sealed. Within bounds is: admitted {ADMITTED_MAX} % or {ADMITTED_REQUESTS_MAX} \
         requests apart, bytes {BYTES_MAX} %.\n",
        rows.first().map_or(0, |row| row.simulated.count)
    );
    text
}

fn lines_of(row: &LaneRow) -> [Vec<TableCell>; 3] {
    let simulated = &row.simulated.typical;
    let mut live = vec![cell(row.set.clone()), cell("live")];
    live.extend(side(row.admitted(), &row.judged));
    live.extend([
        cell(kilo(row.live.bytes)),
        cell(row.live.messages.to_string()),
        cell(kilo(row.live.wire_bytes)),
        cell(millis(row.delay)),
    ]);
    let [least, most] = row.simulated_extremes();
    let mut lab = vec![cell(""), cell("lab")];
    lab.extend(side(row.simulated_admitted(), &simulated.judged));
    lab.extend([
        cell(kilo(simulated.traffic.bytes)),
        cell(simulated.traffic.messages.to_string()),
        cell(""),
        cell(if least == most {
            String::new()
        } else {
            format!("{least} to {most}")
        }),
    ]);
    [live, lab, apart(row)]
}

/// The cells that both sides have.
fn side(admitted: u64, judged: &Judgement) -> [TableCell; 4] {
    let total = judged.total;
    let total = total.map_or_else(|| "–".to_owned(), |total| format!("{total:.2}"));
    [
        cell(admitted.to_string()),
        cell(judged.over.to_string()),
        cell(judged.under.to_string()),
        cell(total),
    ]
}

/// The difference of the two, and anomalies.
fn apart(row: &LaneRow) -> Vec<TableCell> {
    let shown = |off: Option<f64>| off.map_or_else(|| "–".to_owned(), |off| format!("{off:+.1} %"));
    let ink = |is_alike: bool| {
        Ink::Meaning(if is_alike {
            Meaning::Allowed
        } else {
            Meaning::Denied
        })
    };
    let traffic = &row.simulated.typical.traffic;
    let is_alike = row.is_admitted_alike() && row.is_said_alike();
    let admitted = shown(percent(row.admitted(), row.simulated_admitted()));
    let bytes = shown(percent(row.live.bytes, traffic.bytes));
    vec![
        cell(""),
        cell(""),
        cell(if is_alike { "alike" } else { "APART" }).ink(ink(is_alike)),
        cell(admitted).ink(ink(row.is_admitted_alike())),
        cell(""),
        cell(""),
        cell(""),
        cell(bytes).ink(ink(row.is_said_alike())),
        cell(shown(percent(row.live.messages, traffic.messages))),
        cell(""),
        cell(notes(row)),
    ]
}

fn notes(row: &LaneRow) -> String {
    let mut notes = Vec::new();
    if row.unanswered > 0 {
        notes.push(format!("{} unanswered", row.unanswered));
    }
    if row.late > LATE {
        notes.push(format!("sent up to {} ms late", row.late.as_millis()));
    }
    notes.join(", ")
}

/// Requests sent later than this are reported.
const LATE: Duration = Duration::from_millis(20);

#[allow(clippy::cast_precision_loss, reason = "a figure to read")]
fn kilo(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1000.0)
}

#[allow(clippy::cast_precision_loss, reason = "a figure to read")]
fn millis(span: Span) -> String {
    format!("{:.2} ms", span.as_nanos() as f64 / 1e6)
}

fn object(row: &LaneRow) -> Value {
    let side = |admitted: u64, judged: &Judgement, bytes: u64, messages: u64| {
        json!({
            "admitted": admitted,
            "rejected": judged.rejected,
            "total_percent": judged.total,
            "over": judged.over,
            "under": judged.under,
            "false_rejections": judged.false_rejections,
            "bytes": bytes,
            "messages": messages,
        })
    };
    let simulated = &row.simulated.typical;
    let mut live = side(
        row.admitted(),
        &row.judged,
        row.live.bytes,
        row.live.messages,
    );
    let [least, most] = row.simulated_extremes();
    live["wire_bytes"] = json!(row.live.wire_bytes);
    live["unanswered"] = json!(row.unanswered);
    live["late_ms_max"] = json!(row.late.as_secs_f64() * 1e3);
    json!({
        "set": row.set,
        "requests": row.requests,
        "delay_us": u64::try_from(row.delay.as_nanos() / 1_000).unwrap_or(u64::MAX),
        "live": live,
        "lab": side(
            row.simulated_admitted(),
            &simulated.judged,
            simulated.traffic.bytes,
            simulated.traffic.messages,
        ),
        "lab_draws": { "count": row.simulated.count, "admitted_min": least, "admitted_max": most },
        "apart": {
            "admitted_percent": percent(row.admitted(), row.simulated_admitted()),
            "bytes_percent": percent(row.live.bytes, simulated.traffic.bytes),
            "messages_percent": percent(row.live.messages, simulated.traffic.messages),
        },
        "within_bounds": row.is_admitted_alike() && row.is_said_alike(),
    })
}

pub(super) fn json(rows: &[LaneRow], options: &LiveOptions) -> String {
    let rows: Vec<Value> = rows.iter().map(object).collect();
    let all = json!({ "nodes": options.nodes, "seed": options.seed, "rows": rows });
    format!("{all}\n")
}

pub(super) fn lines(rows: &[LaneRow]) -> String {
    let mut text = String::new();
    for row in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", object(row));
    }
    text
}

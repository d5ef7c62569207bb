//! Scales, round numbers and round times.

use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::number;

/// The width every drawing is made for; it is stretched afterwards.
pub(super) const WIDTH: f64 = 1000.0;
/// The height of a drawing, in pixels.
pub(super) const HEIGHT: f64 = 152.0;
/// The height with the labels of times.
const FULL: u32 = 176;
/// The width of the labels at the side.
const SIDE: u32 = 56;

#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) from: Moment,
    pub(super) step_ms: u64,
    pub(super) steps: usize,
    pub(super) top: f64,
}

impl Axis {
    pub(super) fn new(from: Moment, step_ms: u64, steps: usize, most: f64) -> Self {
        let tick = round_above(most.max(f64::MIN_POSITIVE) / 3.0);
        Self {
            from,
            step_ms: step_ms.max(1),
            steps,
            top: tick * (most / tick).ceil().max(1.0),
        }
    }

    /// Where step `i` stands.
    pub(super) fn x(&self, i: usize) -> f64 {
        let last = self.steps.saturating_sub(1).max(1);
        WIDTH * number::float(i as u64) / number::float(last as u64)
    }

    /// Values above the upper edge are drawn at the edge.
    pub(super) fn y(&self, value: f64) -> f64 {
        HEIGHT - HEIGHT * (value / self.top).clamp(0.0, 1.0)
    }

    pub(super) fn until(&self) -> Moment {
        self.from.plus(self.length())
    }

    fn length(&self) -> i64 {
        let steps = self.steps.saturating_sub(1) as u64;
        i64::try_from(self.step_ms.saturating_mul(steps)).unwrap_or(i64::MAX)
    }

    /// Values that get a line: zero excluded, the edge included.
    fn ticks(&self) -> impl Iterator<Item = f64> + use<> {
        let (top, tick) = (self.top, round_above(self.top / 3.001));
        (1..=4)
            .map(move |i| tick * f64::from(i))
            .filter(move |v| *v <= top * 1.001)
    }

    /// `name` describes the drawing for screen readers.
    pub(super) fn plot(&self, name: &str, unit: fn(f64) -> String, drawn: Html) -> Element {
        let lines = self.ticks().map(|value| {
            let y = coordinate(self.y(value));
            el("line")
                .class("grid")
                .attr("x2", "100%")
                .attr("y1", &y)
                .attr("y2", &y)
        });
        let side = self.ticks().map(|value| {
            let y = coordinate(self.y(value).max(6.0) + 4.0);
            el("text")
                .attr("x", SIDE - 8)
                .attr("y", y)
                .text(unit(value))
        });
        let zero = el("text")
            .attr("x", SIDE - 8)
            .attr("y", coordinate(HEIGHT))
            .text("0");
        let stretched = el("svg")
            .attr("width", "100%")
            .attr("height", coordinate(HEIGHT))
            .attr("viewBox", format!("0 0 {WIDTH} {HEIGHT}"))
            .attr("preserveAspectRatio", "none")
            .with(drawn);
        el("div")
            .class("plot")
            .with(
                el("svg")
                    .class("side")
                    .attr("width", SIDE)
                    .attr("height", FULL)
                    .attr("aria-hidden", "true")
                    .each(side)
                    .with(zero),
            )
            .with(
                el("svg")
                    .class("drawing")
                    .attr("width", "100%")
                    .attr("height", FULL)
                    .attr("role", "img")
                    .attr("aria-label", name)
                    .each(lines)
                    .with(stretched)
                    .with(base())
                    .each(self.times()),
            )
    }

    fn times(&self) -> Vec<Element> {
        let length = self.length().max(1);
        let step = TIMES.iter().find(|step| length / **step <= 5).copied();
        let step = step.unwrap_or_else(|| (length / 5 / DAY + 1).saturating_mul(DAY));
        let first = self.from.0.div_euclid(step) + 1;
        let share = |time: Moment| time.0.saturating_sub(self.from.0).saturating_mul(1000) / length;
        (first..first.saturating_add(7))
            .map(|i| Moment(i.saturating_mul(step)))
            .take_while(|time| *time <= self.until())
            .map(|time| (time, share(time)))
            // One at the very edge would stick out.
            .filter(|(_, permille)| (20..=980).contains(permille))
            .map(|(time, permille)| {
                let label = match step {
                    DAY.. => time.day().split_off(5),
                    60_000..DAY => time.clock(),
                    _ => time.seconds(),
                };
                el("text")
                    .attr("x", format!("{}.{}%", permille / 10, permille % 10))
                    .attr("y", 170)
                    .text(label)
            })
            .collect()
    }
}

fn base() -> Element {
    let y = coordinate(HEIGHT);
    el("line")
        .class("base")
        .attr("x2", "100%")
        .attr("y1", &y)
        .attr("y2", &y)
}

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Distances between labels that people read without counting.
const TIMES: [i64; 16] = [
    1000,
    5000,
    10_000,
    15_000,
    30_000,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
];

/// 1, 2 or 5 times a power of ten, not below the value.
fn round_above(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let rounds = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    rounds
        .into_iter()
        .find(|round| *round >= value * 0.999_999)
        .unwrap_or(10.0 * power)
}

/// A coordinate with a tenth of a pixel, and no more.
pub(super) fn coordinate(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0")
        .map(ToOwned::to_owned)
        .unwrap_or(text)
}

pub(super) fn columns(axis: &Axis, upper: &[f64], lower: &[f64]) -> String {
    let mut path = String::new();
    for (i, (upper, lower)) in upper.iter().zip(lower).enumerate() {
        let (left, right) = (axis.x(i), axis.x(i + 1));
        let gap = (right - left) * 0.08;
        let corners = [
            (left + gap, lower),
            (left + gap, upper),
            (right - gap, upper),
            (right - gap, lower),
        ];
        for (nth, (x, value)) in corners.into_iter().enumerate() {
            step(
                &mut path,
                if nth == 0 { 'M' } else { 'L' },
                x,
                axis.y(*value),
            );
        }
        path.push('Z');
    }
    path
}

/// Both lines need a value for every step.
pub(super) fn area(axis: &Axis, upper: &[f64], lower: &[f64]) -> String {
    let mut path = line(axis, upper);
    for (i, value) in lower.iter().enumerate().rev() {
        step(&mut path, 'L', axis.x(i), axis.y(*value));
    }
    path.push('Z');
    path
}

pub(super) fn line(axis: &Axis, values: &[f64]) -> String {
    let mut path = String::new();
    for (i, value) in values.iter().enumerate() {
        let letter = if i == 0 { 'M' } else { 'L' };
        step(&mut path, letter, axis.x(i), axis.y(*value));
    }
    path
}

fn step(path: &mut String, letter: char, x: f64, y: f64) {
    path.push(letter);
    path.push_str(&coordinate(x));
    path.push(' ');
    path.push_str(&coordinate(y));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_the_scale_at_a_round_number() {
        let top = |most| Axis::new(Moment(0), 1000, 60, most).top;
        let tops = [top(7.0), top(99.0), top(1204.0)].map(|top| format!("{top:.0}"));
        assert_eq!(tops, ["10", "100", "1500"]);
        assert!(top(0.0) > 0.0);
    }

    #[test]
    fn labels_round_times_and_never_many() {
        for steps in [1, 2, 60, 1440, 100_000] {
            let axis = Axis::new(Moment(1_794_812_400_123), 60_000, steps, 5.0);
            assert!(axis.times().len() <= 7, "{steps}");
        }
        let axis = Axis::new(Moment(1_794_812_400_123), 60_000, 60, 5.0);
        let labels = Html::join(axis.times()).into_string();
        assert!(
            labels.contains(">07:10<") && labels.contains(">07:50<"),
            "{labels}"
        );
    }

    #[test]
    fn draws_nothing_out_of_place() {
        let axis = Axis::new(Moment(0), 0, 0, f64::NAN);
        for value in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
            let y = axis.y(value);
            assert!(y.is_nan() || (0.0..=HEIGHT).contains(&y), "{value}");
        }
    }
}

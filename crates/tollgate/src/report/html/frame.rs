//! The frame of every drawing on a page: margins, levels with labels, marks on the floor, hover areas.
//!
//! Not here: scales, and what is drawn.

use super::super::text::{html as safe, put};

pub(crate) struct DrawingFrame {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl DrawingFrame {
    /// Where a part of the width is, from 0 to 1.
    pub(crate) fn x(&self, part: f64) -> f64 {
        self.left + (self.end() - self.left) * part
    }

    /// Where a part of the height is, from 0 at the floor to 1 at the top.
    pub(crate) fn y(&self, part: f64) -> f64 {
        self.floor() - (self.floor() - self.top) * part
    }

    pub(crate) fn end(&self) -> f64 {
        self.width - self.right
    }

    fn floor(&self) -> f64 {
        self.height - self.bottom
    }

    /// Begins the drawing, with a label for screen readers; `</svg>` ends it.
    pub(crate) fn begin(&self, label: &str) -> String {
        format!(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
            self.width,
            self.height,
            safe(label)
        )
    }

    /// A line across, with its label at the side.
    pub(crate) fn level(&self, part: f64, label: &str, svg: &mut String) {
        let y = self.y(part);
        put(
            svg,
            format_args!(
                "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>\n",
                self.left,
                self.end(),
                self.left - 8.0,
                y + 4.0
            ),
        );
    }

    pub(crate) fn base(&self, svg: &mut String) {
        let (left, end, floor) = (self.left, self.end(), self.floor());
        put(
            svg,
            format_args!(
                "<line class=\"axis\" x1=\"{left}\" x2=\"{end}\" y1=\"{floor}\" y2=\"{floor}\"/>\n"
            ),
        );
    }

    /// A mark on the floor, with its label below.
    pub(crate) fn mark(&self, part: f64, label: &str, svg: &mut String) {
        let (x, floor) = (self.x(part), self.floor());
        put(
            svg,
            format_args!(
                "<line class=\"axis\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{floor}\" y2=\"{:.0}\"/>\
                 <text x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{label}</text>\n",
                floor + 4.0,
                floor + 18.0
            ),
        );
    }

    /// An area between two coordinates with a text on hover.
    pub(crate) fn hover(&self, from: f64, to: f64, said: &str, svg: &mut String) {
        put(
            svg,
            format_args!(
                "<rect class=\"hover\" x=\"{from:.1}\" y=\"{}\" width=\"{:.1}\" height=\"{:.0}\">\
                 <title>{}</title></rect>\n",
                self.top,
                (to - from).max(0.0),
                self.floor() - self.top,
                safe(said)
            ),
        );
    }
}

/// The next number that starts with 1, 2, 2.5 or 5.
pub(crate) fn round_up(value: f64) -> f64 {
    if value.is_nan() || value <= 0.0 || value.is_infinite() {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let lead = [1.0, 2.0, 2.5, 5.0]
        .into_iter()
        .find(|lead| lead * power >= value * 0.999);
    lead.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_round_numbers() {
        for (value, round) in [
            (0.0, 1.0),
            (0.3, 0.5),
            (1.0, 1.0),
            (23.0, 25.0),
            (26.0, 50.0),
            (7e6, 1e7),
        ] {
            assert!((round_up(value) / round - 1.0).abs() < 1e-9, "{value}");
        }
    }
}

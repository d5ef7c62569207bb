//! Charts, drawn as SVG: geometry by attributes, colour by classes, text at its own size whatever the width.
//!
//! The drawing is stretched to the width of the page, lines and letters are not. Behind each chart is a table of its
//! numbers, which is also where the script reads what stands under the cursor.
//!
//! Deliberately absent: where the numbers come from.

mod axis;
mod bar;
mod frame;
mod latency;
mod preview;
mod spark;
mod traffic;

pub use bar::{Bar, Meaning, bar, share_bar};
pub use latency::{Latency, Quantiles, latency};
pub use preview::{Tried, preview};
pub use spark::{behaviour, spark};
pub use traffic::{Tally, Traffic, legend, traffic};

pub(crate) use traffic::{sign, signs};

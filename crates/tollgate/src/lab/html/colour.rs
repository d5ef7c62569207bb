//! Which colour a line has: one per design, whatever else its name says, and turns for nodes.
//!
//! Not here: the colours themselves, which the style sheet has for light and dark.

/// The class that colours a line: one per design, whatever else its name says.
pub(in crate::lab) fn colour(name: &str) -> &'static str {
    if let Some(node) = name.strip_prefix("node ") {
        return node_colour(node);
    }
    let design = name.split([' ', ',']).next().unwrap_or(name);
    match design {
        "requests" => "c-requests",
        "central" => "c-central",
        "local" | "static" => "c-local",
        "counter" | "document" => "c-counter",
        "counter+fixed" => "c-fixed",
        "queue" | "ledger" => "c-queue",
        "queue+linf" | "diffusion" => "c-linf",
        "queue+freq" | "pairwise" => "c-freq",
        "queue+freq+linf" | "best" => "c-both",
        "segments" | "loans" | "group" => "c-segments",
        "home" | "loans+lease" => "c-home",
        "auto" => "c-auto",
        _ => "c-other",
    }
}

/// Nodes take turns with the colours.
fn node_colour(number: &str) -> &'static str {
    const TURNS: [&str; 12] = [
        "c-segments",
        "c-home",
        "c-queue",
        "c-counter",
        "c-freq",
        "c-both",
        "c-linf",
        "c-local",
        "c-fixed",
        "c-auto",
        "c-requests",
        "c-central",
    ];
    let turn = number.parse::<usize>().unwrap_or(0) % TURNS.len();
    TURNS.get(turn).copied().unwrap_or("c-other")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_design_has_a_colour() {
        for design in tollgate_lab::Contender::all() {
            assert_ne!(colour(design.name()), "c-other", "{}", design.name());
            assert_eq!(
                colour(design.name()),
                colour(&format!("{}, thesis", design.name()))
            );
        }
    }
}

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
        "local" => "c-local",
        "counter" => "c-counter",
        "counter+fixed" => "c-fixed",
        "queue" => "c-queue",
        "queue+linf" => "c-linf",
        "queue+freq" => "c-freq",
        "queue+freq+linf" => "c-both",
        "segments" => "c-segments",
        "home" => "c-home",
        "auto" => "c-auto",
        "static" => "c-local",
        "document" => "c-counter",
        "ledger" => "c-queue",
        "loans" => "c-segments",
        "loans+lease" => "c-home",
        "group" => "c-segments",
        "diffusion" => "c-linf",
        "pairwise" => "c-freq",
        "best" => "c-both",
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

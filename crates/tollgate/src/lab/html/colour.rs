//! Colours of lines: one per design, whatever else its name has, and rotating for nodes.
//!
//! Not here: the colours themselves, which the style sheet has for light and dark.

/// The CSS class of a line: one per design, whatever else its name has.
pub(in crate::lab) fn colour(name: &str) -> &'static str {
    if let Some(node) = name.strip_prefix("node ") {
        return node_colour(node);
    }
    let design = name.split([' ', ',']).next().unwrap_or(name);
    match design {
        "requests" | "ask" => "c-requests",
        "central" | "store" => "c-central",
        "local" | "static" => "c-local",
        "counter" | "document" | "owner" => "c-counter",
        "counter+fixed" | "fixed" => "c-fixed",
        "queue" | "ledger" => "c-queue",
        "queue+linf" | "diffusion" | "sync" => "c-linf",
        "queue+freq" | "pairwise" | "token" => "c-freq",
        "queue+freq+linf" | "best" | "rate" => "c-both",
        "loans" | "group" => "c-segments",
        "links" | "loans+lease" | "lease" => "c-home",
        _ => cut_colour(name),
    }
}

/// Lines about coordination and split buckets, by the prefixes of their names.
fn cut_colour(name: &str) -> &'static str {
    const BEGINNINGS: [(&str, &str); 29] = [
        ("gossip", "c-segments"),
        ("supply", "c-both"),
        ("split, n", "c-fixed"),
        ("split", "c-freq"),
        ("aware, b", "c-both"),
        ("aware, p", "c-linf"),
        ("aware", "c-segments"),
        ("blind, b", "c-freq"),
        ("blind, s", "c-queue"),
        ("blind", "c-counter"),
        ("balanced", "c-counter"),
        ("concentrated", "c-segments"),
        ("max-min", "c-home"),
        ("even", "c-segments"),
        ("theory", "c-central"),
        ("search", "c-counter"),
        ("model", "c-segments"),
        ("borrow 0.05", "c-segments"),
        ("borrow 0.2", "c-home"),
        ("borrow 1", "c-queue"),
        ("borrow 5", "c-freq"),
        ("borrow", "c-home"),
        ("near", "c-both"),
        ("below", "c-linf"),
        ("ρ = 0.5", "c-segments"),
        ("ρ = 0.7", "c-home"),
        ("ρ = 0.9", "c-queue"),
        ("0.5 s", "c-both"),
        ("1 s", "c-freq"),
    ];
    if let Some(size) = name.strip_prefix("groups of ") {
        let size: String = size.chars().take_while(char::is_ascii_digit).collect();
        let fives = size.parse::<usize>().unwrap_or(0) / 5;
        return node_colour(&fives.to_string());
    }
    let found = BEGINNINGS.iter().find(|(own, _)| name.starts_with(own));
    found.map_or("c-other", |(_, class)| class)
}

/// Rotates the colours.
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
    fn ways_to_agree_have_colours_of_their_own() {
        let ways = ["local", "sync 100 ms", "lease", "owner", "store", "gossip"];
        let more = ["ask", "supply", "split", "split, nothing moves"];
        let mut colours: Vec<&str> = ways.into_iter().chain(more).map(colour).collect();
        colours.sort_unstable();
        colours.dedup();
        assert_eq!(colours.len(), 10, "{colours:?}");
    }

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

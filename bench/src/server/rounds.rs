//! Rounds that take turns: every server once per round, and every round starts with another.

use anyhow::Result;

use super::ServerFigure;
use crate::stopwatch::Spread;

/// A server under measurement.
pub(crate) struct Contender<'a> {
    pub(crate) name: &'static str,
    pub(crate) measure: Box<dyn Fn() -> Result<f64> + 'a>,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: &'static str, measure: impl Fn() -> Result<f64> + 'a) -> Self {
        Self {
            name,
            measure: Box::new(measure),
        }
    }
}

/// Measures all in turns.
pub(crate) fn take_turns(contenders: &[Contender<'_>], rounds: usize) -> Result<Vec<ServerFigure>> {
    let mut figures = vec![Vec::new(); contenders.len()];
    for round in 0..rounds {
        for offset in 0..contenders.len() {
            let at = (round + offset) % contenders.len();
            if let (Some(contender), Some(figures)) = (contenders.get(at), figures.get_mut(at)) {
                let figure = (contender.measure)()?;
                eprintln!("  round {} {}: {figure:.2}", round + 1, contender.name);
                figures.push(figure);
            }
        }
    }
    let lines = contenders.iter().zip(figures);
    Ok(lines
        .map(|(contender, rounds)| ServerFigure {
            server: contender.name,
            figure: Spread::of(rounds),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn every_round_starts_with_another() {
        let order = RefCell::new(String::new());
        let contender = |name: &'static str, figure: f64| {
            let order = &order;
            Contender::new(name, move || {
                order.borrow_mut().push_str(name);
                Ok(figure)
            })
        };
        let lines = take_turns(&[contender("a", 1.0), contender("b", 2.0)], 3).unwrap();
        assert_eq!(order.into_inner(), "abbaab");
        let medians: Vec<_> = lines
            .iter()
            .map(|line| line.figure.median.to_string())
            .collect();
        assert_eq!(medians, ["1", "2"]);
    }
}

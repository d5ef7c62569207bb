//! The unfinished work of a queue with random arrivals and equal jobs (M/D/1), which is a token bucket seen from below.
//!
//! With the work counted in jobs, `P(U > x) = (1-ρ) Σ_{n>x} [ρ(n-x)]^n / n! · e^{-ρ(n-x)}`: all terms are positive, so
//! that nothing cancels. From a few jobs on it is `(1-ρ)/(ρe^θ-1) · e^{-θx}` with `θ = ρ(e^θ-1)` to more digits than a
//! float has. Not here: what a job is.

/// A queue with random arrivals and equal jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Md1 {
    rho: f64,
    theta: f64,
}

impl Md1 {
    /// A queue that is busy for that part of the time; `None` unless it is above zero and below one.
    pub fn new(rho: f64) -> Option<Self> {
        (rho > 0.0 && rho < 1.0).then(|| Self {
            rho,
            theta: decay(rho),
        })
    }

    /// How fast the tail falls: `θ = ρ(e^θ-1)`. Whoever has to wait in a deep bucket waits `1/(θr)` on average.
    pub const fn theta(&self) -> f64 {
        self.theta
    }

    /// How likely an arrival finds more than `x` jobs of work.
    pub fn tail(&self, x: f64) -> f64 {
        if x < 0.0 {
            1.0
        } else if x >= FAR {
            self.far_tail(x)
        } else if self.rho <= SERIES_RHO_MAX {
            self.series(x)
        } else {
            1.0 - self.below(x)
        }
    }

    /// The work that only one arrival in `1/p` finds more of; zero where fewer find any.
    pub fn quantile(&self, p: f64) -> f64 {
        if p >= self.rho {
            return 0.0;
        }
        let (mut low, mut high) = (0.0, 1.0);
        while self.tail(high) > p {
            high *= 2.0;
        }
        for _ in 0..STEPS {
            let middle = f64::midpoint(low, high);
            if self.tail(middle) > p {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    /// The mean of the work beyond `x`: the integral of the tail.
    pub fn mean_beyond(&self, x: f64) -> f64 {
        if x >= FAR {
            return self.far_tail(x) / self.theta;
        }
        let mut from = x.max(0.0);
        let mut sum = self.far_tail(FAR) / self.theta + (from - x).max(0.0);
        // The tail has a kink at every whole number.
        while from < FAR {
            let to = (from + 1.0).floor().min(FAR);
            sum += self.simpson(from, to);
            from = to;
        }
        sum
    }

    /// The mean wait for tokens in a bucket of `depth` tokens, in units of the time that one token takes: exact for
    /// every depth.
    pub fn mean_wait(&self, depth: f64) -> f64 {
        self.mean_beyond(depth - 1.0)
    }

    /// The same as printed, which takes the mean wait of the bucket of depth one for everybody who waits.
    pub fn mean_wait_printed(&self, depth: f64) -> f64 {
        self.tail(depth - 1.0) / (2.0 * (1.0 - self.rho))
    }

    fn far_tail(&self, x: f64) -> f64 {
        let constant = (1.0 - self.rho) / (self.rho * self.theta.exp() - 1.0);
        constant * (-self.theta * x).exp()
    }

    fn series(&self, x: f64) -> f64 {
        let (mut sum, mut last) = (0.0, 0.0);
        let mut n = x.floor() + 1.0;
        for _ in 0..TERMS_MAX {
            let term = power_over_factorial(self.rho * (n - x), n);
            sum += term;
            if term < last && term < sum * f64::EPSILON / 16.0 {
                break;
            }
            last = term;
            n += 1.0;
        }
        ((1.0 - self.rho) * sum).min(1.0)
    }

    /// The usual form with changing signs; only for little work, where few digits cancel.
    fn below(&self, x: f64) -> f64 {
        let (mut sum, mut factor, mut n) = (0.0, 1.0, 0.0);
        while n <= x {
            let y = self.rho * (n - x);
            if n > 0.0 {
                factor /= n;
            }
            sum += factor * power(y, n) * (-y).exp();
            n += 1.0;
        }
        ((1.0 - self.rho) * sum).clamp(0.0, 1.0)
    }

    fn simpson(&self, from: f64, to: f64) -> f64 {
        let step = (to - from) / PIECES;
        let mut sum = 0.0;
        let mut piece = 0.0;
        while piece < PIECES {
            let left = from + piece * step;
            // Just below a kink, not on it.
            let right = (left + step).min(to - 1e-12);
            let middle = f64::midpoint(left, right);
            sum += step / 6.0 * (self.tail(left) + 4.0 * self.tail(middle) + self.tail(right));
            piece += 1.0;
        }
        sum
    }
}

/// The positive solution of `θ = ρ(e^θ-1)`.
fn decay(rho: f64) -> f64 {
    let is_above = |theta: f64| rho * theta.exp_m1() > theta;
    let mut high = 1.0;
    while !is_above(high) {
        high *= 2.0;
    }
    // Where the difference has its least value, between the two solutions.
    let mut low = -rho.ln();
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if is_above(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    f64::midpoint(low, high)
}

/// `y^n / n! · e^{-y}`, by logarithms.
fn power_over_factorial(y: f64, n: f64) -> f64 {
    (n * y.ln() - ln_factorial(n) - y).exp()
}

fn power(y: f64, n: f64) -> f64 {
    let (mut product, mut count) = (1.0, 0.0);
    while count < n {
        product *= y;
        count += 1.0;
    }
    product
}

fn ln_factorial(n: f64) -> f64 {
    if n < 16.0 {
        let (mut sum, mut count) = (0.0, 2.0_f64);
        while count <= n {
            sum += count.ln();
            count += 1.0;
        }
        return sum;
    }
    // Stirling's series; the next term is below 10^-12.
    let square = n * n;
    let correction = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * square)) / square) / n;
    n * n.ln() - n + (std::f64::consts::TAU * n).ln() / 2.0 + correction
}

/// From so much work on the tail falls evenly.
const FAR: f64 = 16.0;
/// Up to there the series ends soon enough.
const SERIES_RHO_MAX: f64 = 0.97;
const TERMS_MAX: u32 = 1 << 20;
/// Halvings of an interval.
const STEPS: u32 = 100;
/// Pieces of an integral between two kinks.
const PIECES: f64 = 8.0;

#[cfg(test)]
mod tests {
    use tollgate_kit::Dice;

    use super::*;

    fn close(left: f64, right: f64, relative: f64) {
        assert!((left / right - 1.0).abs() < relative, "{left} {right}");
    }

    #[test]
    fn one_in_a_hundred_finds_twenty_four_jobs_at_ten_elevenths() {
        let queue = Md1::new(10.0 / 11.0).unwrap();
        let found = queue.quantile(0.01);
        assert!((found - 24.20).abs() < 0.05, "{found}");
    }

    #[test]
    fn three_ways_to_the_tail_agree() {
        for rho in [0.3, 0.7, 10.0 / 11.0, 0.97] {
            let queue = Md1::new(rho).unwrap();
            close(queue.tail(0.0), rho, 1e-9);
            for x in [0.5, 1.0, 2.25, 5.0, 7.9] {
                close(queue.series(x), 1.0 - queue.below(x), 1e-6);
            }
            close(queue.series(15.99), queue.far_tail(15.99), 1e-6);
        }
    }

    #[test]
    fn the_mean_is_that_of_pollaczek_and_khinchine() {
        for rho in [0.5, 0.9, 0.99] {
            let queue = Md1::new(rho).unwrap();
            close(queue.mean_wait(1.0), rho / (2.0 * (1.0 - rho)), 1e-4);
        }
    }

    /// The figures of the independent reference.
    #[test]
    fn the_printed_mean_is_too_large_for_deeper_buckets() {
        let ratio = |rho: f64, depth: f64| {
            let queue = Md1::new(rho).unwrap();
            queue.mean_wait_printed(depth) / queue.mean_wait(depth)
        };
        assert!((ratio(0.5, 1.0) - 1.0).abs() < 0.005);
        assert!((ratio(0.5, 2.0) - 1.18).abs() < 0.01);
        assert!((ratio(0.5, 5.0) - 1.26).abs() < 0.01);
        assert!((ratio(0.7, 2.0) - 1.10).abs() < 0.01);
        assert!((ratio(0.7, 5.0) - 1.13).abs() < 0.01);
        assert!((ratio(10.0 / 11.0, 5.0) - 1.03).abs() < 0.01);
    }

    #[test]
    fn a_bucket_stepped_by_hand_waits_as_computed() {
        // Exponential gaps, one bucket of depth 5 at 70 %.
        let (mut dice, mut work, mut wait, mut waited) = (Dice::new(7), 0.0_f64, 0.0, 0_u32);
        let count = 1_000_000_u32;
        for _ in 0..count {
            work = (work - dice.exponential(1.0 / 0.7)).max(0.0);
            wait += (work + 1.0 - 5.0).max(0.0);
            waited += u32::from(work + 1.0 > 5.0);
            work += 1.0;
        }
        let queue = Md1::new(0.7).unwrap();
        close(wait / f64::from(count), queue.mean_wait(5.0), 0.05);
        close(f64::from(waited) / f64::from(count), queue.tail(4.0), 0.05);
    }

    #[test]
    fn a_queue_that_is_never_or_always_busy_is_none() {
        assert_eq!(Md1::new(0.0), None);
        assert_eq!(Md1::new(1.0), None);
        assert_eq!(Md1::new(f64::NAN), None);
    }
}

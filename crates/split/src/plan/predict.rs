//! What a plan would cost: percentiles of the wait for tokens and of the service, before anything moves.
//!
//! Both are queues with random arrivals of bursts. A burst of `G` messages is one job of `G` tokens, or of the time
//! that a broker takes for it; a message waits for the work it finds and for those of its burst before it. Not here:
//! simulation.

use super::md1::Md1;

/// What a broker takes for messages, as calibrated or as measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Batches that are served at the same time.
    pub servers: u32,
    /// Seconds for a batch, whatever is in it.
    pub wake: f64,
    /// Seconds for a message.
    pub message: f64,
    /// Seconds on the way, without any load.
    pub base: f64,
}

impl Default for Costs {
    /// Calibrated to the document's testbed: 60,000 single messages a second saturate a broker.
    fn default() -> Self {
        Self {
            servers: 2,
            wake: 23e-6,
            message: 10e-6,
            base: 0.3e-3,
        }
    }
}

/// What comes to one sub-bucket or broker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArrivalStream {
    /// Messages per second.
    pub rate: f64,
    /// Messages of one batch.
    pub batch: f64,
    /// Batches that come together.
    pub group: f64,
}

/// One part of a bucket, in messages per second and messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartRate {
    /// Messages that come back each second.
    pub rate: f64,
    /// Messages that it holds.
    pub depth: f64,
}

/// What is predicted, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// The wait for tokens.
    pub access: f64,
    /// The broker.
    pub service: f64,
    /// Both.
    pub total: f64,
}

impl ArrivalStream {
    fn burst(&self) -> f64 {
        (self.batch * self.group).max(1.0)
    }
}

/// The percentile of the wait for tokens, in seconds; `p` is the part that may wait longer. Infinite where more comes
/// than comes back.
pub fn access(stream: &ArrivalStream, part: &PartRate, p: f64) -> f64 {
    if stream.rate <= 0.0 {
        return 0.0;
    }
    let Some(queue) = Md1::new(stream.rate / part.rate) else {
        return f64::INFINITY;
    };
    let burst = stream.burst();
    percentile(p, |wait| {
        mean_over(burst, |place| {
            queue.tail((part.depth + wait * part.rate - place) / burst)
        })
    })
}

/// The percentile of the time in a broker, in seconds, beside what else it serves. Infinite where it is saturated.
pub fn service(stream: &ArrivalStream, costs: &Costs, beside: &ArrivalStream, p: f64) -> f64 {
    let servers = f64::from(costs.servers.max(1));
    let batch_time = |stream: &ArrivalStream| costs.wake + stream.batch * costs.message;
    let busy =
        |stream: &ArrivalStream| stream.rate / stream.batch.max(1.0) * batch_time(stream) / servers;
    let job = |stream: &ArrivalStream| stream.group.max(1.0) * batch_time(stream) / servers;
    let rho = busy(stream) + busy(beside);
    let Some(queue) = Md1::new(rho) else {
        return if rho >= 1.0 {
            f64::INFINITY
        } else {
            costs.base
        };
    };
    // One size of jobs that waits as long on average as all of them.
    let size = (busy(stream) * job(stream) + busy(beside) * job(beside)) / rho;
    let group = stream.group.max(1.0);
    let own = percentile(p, |time| {
        mean_over(group, |place| {
            let served = (place / servers).ceil() * batch_time(stream);
            queue.tail((time - served) / size)
        })
    });
    costs.base + own
}

/// Both together. Who waits for tokens meets a broker that is as usual.
pub fn total(
    stream: &ArrivalStream,
    part: &PartRate,
    costs: &Costs,
    beside: &ArrivalStream,
    p: f64,
) -> Prediction {
    let access = access(stream, part, p);
    let late = service(stream, costs, beside, p);
    let usual = service(stream, costs, beside, 0.5);
    let together = if access > 0.0 { access + usual } else { 0.0 };
    Prediction {
        access,
        service: late,
        total: together.max(late),
    }
}

/// The burst that a topic with those streams needs so that only one in `1/p` waits: the model's way, without a trace.
pub fn burst_for(stream: &ArrivalStream, rate: f64, p: f64) -> Option<f64> {
    let queue = Md1::new(stream.rate / rate)?;
    let burst = stream.burst();
    let waits = |depth: f64| mean_over(burst, |place| queue.tail((depth - place) / burst));
    Some(percentile(p, waits))
}

/// The least value that no more than `p` are above.
fn percentile(p: f64, above: impl Fn(f64) -> f64) -> f64 {
    if above(0.0) <= p {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1e-6);
    let mut doubled = 0;
    while above(high) > p {
        low = high;
        high *= 2.0;
        doubled += 1;
        if doubled > DOUBLINGS_MAX {
            return f64::INFINITY;
        }
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if above(middle) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The mean over the places in a burst; of a long one, over some places spread evenly.
fn mean_over(burst: f64, of: impl Fn(f64) -> f64) -> f64 {
    let places = burst.round().clamp(1.0, PLACES_MAX);
    let (mut sum, mut place) = (0.0, 1.0);
    while place <= places {
        sum += of((place * burst / places).ceil());
        place += 1.0;
    }
    sum / places
}

const STEPS: u32 = 40;
const DOUBLINGS_MAX: u32 = 80;
const PLACES_MAX: f64 = 32.0;

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: ArrivalStream = ArrivalStream {
        rate: 0.0,
        batch: 1.0,
        group: 1.0,
    };

    fn stream(rate: f64, batch: f64, group: f64) -> ArrivalStream {
        ArrivalStream { rate, batch, group }
    }

    #[test]
    fn the_wait_grows_with_the_cut_as_the_theory_says() {
        // The document's first figure: 10,000 messages a second, 11,000 tokens, a burst of 25.2.
        let expected = [0.0, 2.22, 4.51, 6.80, 9.09, 11.38];
        for (count, expected) in (1_u32..).zip(expected) {
            let count = f64::from(count);
            let part = PartRate {
                rate: 11_000.0 / count,
                depth: 25.2 / count,
            };
            let wait = access(&stream(10_000.0 / count, 1.0, 1.0), &part, 0.01) * 1e3;
            assert!((wait - expected).abs() < 0.15, "{count}: {wait}");
        }
    }

    #[test]
    fn a_broker_is_saturated_by_sixty_thousand_single_messages() {
        let costs = Costs::default();
        assert!(service(&stream(61_000.0, 1.0, 1.0), &costs, &NOTHING, 0.01).is_infinite());
        let half = service(&stream(30_000.0, 1.0, 1.0), &costs, &NOTHING, 0.01);
        assert!(half < 0.5e-3, "{half}");
        let idle = service(&NOTHING, &costs, &NOTHING, 0.01);
        assert!((idle - costs.base).abs() < 1e-9);
    }

    #[test]
    fn a_burst_scales_the_bucket() {
        let single = burst_for(&stream(10_000.0, 1.0, 1.0), 11_000.0, 0.01).unwrap();
        let ten = burst_for(&stream(10_000.0, 10.0, 1.0), 11_000.0, 0.01).unwrap();
        assert!((single - 25.2).abs() < 0.1, "{single}");
        assert!((9.5..10.1).contains(&(ten / single)), "{ten}");
        assert_eq!(burst_for(&stream(10.0, 1.0, 1.0), 9.0, 0.01), None);
    }

    #[test]
    fn waits_and_service_are_told_apart() {
        let part = PartRate {
            rate: 11_000.0 / 6.0,
            depth: 4.2,
        };
        let all = total(
            &stream(10_000.0 / 6.0, 1.0, 1.0),
            &part,
            &Costs::default(),
            &NOTHING,
            0.01,
        );
        assert!(all.total > all.access && all.access > 10e-3);
        assert!(all.service < 0.5e-3);
    }
}

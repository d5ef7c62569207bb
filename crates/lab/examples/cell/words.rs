//! What the words on the command line mean.

use tollgate_gossip::{Bucket, Knobs, Ratio};
use tollgate_lab::{
    Cluster, Contender, Fault, Frequency, Routing, Set, Watch, set, sets as all_sets,
};
use tollgate_limit::Span;

pub(crate) fn sets(list: &str) -> Result<Vec<Set>, String> {
    if list == "all" {
        return Ok(all_sets().to_vec());
    }
    let find = |name| set(name).ok_or_else(|| format!("no set is called {name}"));
    list.split(',').map(find).collect()
}

pub(crate) fn contenders(list: &str) -> Result<Vec<Contender>, String> {
    if list == "all" {
        return Ok(Contender::DESIGNS.into());
    }
    let find = |name: &str| Contender::named(name).map_err(|why| why.to_string());
    list.split(',').map(find).collect()
}

/// Everything that was set.
pub(crate) struct Settings {
    pub(crate) first: u64,
    pub(crate) threads: usize,
    nodes: u16,
    capacity: Option<u64>,
    refill: Option<(u64, u64)>,
    routing: Routing,
    knobs: Knobs,
    frequency: Frequency,
    faults: Vec<Fault>,
    delay: [Span; 2],
    drain: Span,
}

pub(crate) fn settings(words: &[String]) -> Result<Settings, String> {
    let mut settings = Settings {
        first: 1,
        threads: 2,
        nodes: 30,
        capacity: None,
        refill: None,
        routing: Routing::Hash,
        knobs: Knobs::default(),
        frequency: Frequency::default(),
        faults: Vec::new(),
        delay: [Span::ZERO; 2],
        drain: Span::ZERO,
    };
    for word in words {
        let (key, value) = word
            .split_once('=')
            .ok_or_else(|| format!("{word} is no key=value"))?;
        settings
            .put(key, value)
            .map_err(|why| format!("{word}: {why}"))?;
    }
    Ok(settings)
}

impl Settings {
    pub(crate) fn cluster(&self, set: Set) -> Result<Cluster, String> {
        let usual = set.bucket();
        let burst = self.capacity.unwrap_or_else(|| usual.burst());
        let token = |grains: u128| u64::try_from(grains).unwrap_or(u64::MAX);
        let (tokens, per_ns) = match self.refill {
            Some(refill) => refill,
            // As in the thesis: a thousandth of the capacity each second.
            None if self.capacity.is_some() => (burst, 1_000_000_000_000),
            None => (token(usual.refilled(1)), token(usual.grains(1))),
        };
        let [base, jitter] = self.delay;
        let mut faults = self.faults.clone();
        faults.push(Fault::Delay { base, jitter });
        Ok(Cluster {
            nodes: self.nodes,
            bucket: Bucket::new(burst, tokens, per_ns).map_err(|why| why.to_string())?,
            knobs: self.knobs.clone(),
            frequency: self.frequency,
            routing: self.routing,
            faults,
            watch: Watch {
                curves: false,
                probes: false,
                drain: self.drain,
            },
        })
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "nodes" => self.nodes = number(value)?,
            "capacity" => self.capacity = Some(number(value)?),
            "refill" => self.refill = Some(refill(value)?),
            "first" => self.first = number(value)?,
            "threads" => self.threads = number(value)?,
            "routing" => self.routing = routing(value)?,
            "drain" => self.drain = seconds(value)?,
            "delay" => {
                self.delay[0] = millis(value)?;
                self.knobs.delay = self.delay[0];
            }
            "jitter" => self.delay[1] = millis(value)?,
            "loss" | "dup" | "skew" | "crash" | "down" | "keep" | "join" | "leave" | "cut"
            | "jump" => {
                self.faults.push(fault(key, value)?);
            }
            _ => self.tune(key, value)?,
        }
        Ok(())
    }

    fn tune(&mut self, key: &str, value: &str) -> Result<(), String> {
        let knobs = &mut self.knobs;
        match key {
            "interval" => knobs.interval = millis(value)?,
            "expect" => knobs.delay = millis(value)?,
            "window" => self.frequency.window = Some(number(value)?),
            "threshold" => self.frequency.threshold = millis(value)?,
            "grace" => knobs.grace = millis(value)?,
            "digest" => knobs.digest = millis(value)?,
            "beta" => knobs.beta = Some(ratio(value)?),
            "fade" => knobs.fade = ratio(value)?,
            "buddy" => knobs.buddy = switch(value)?,
            "standby" => knobs.standby = switch(value)?,
            "repeat" => knobs.repeat = switch(value)?,
            "direct" if value == "auto" => knobs.direct = None,
            "direct" => knobs.direct = Some(number(value)?),
            "tree" => knobs.tree = Some(number(value)?),
            _ => return Err("no such key".to_owned()),
        }
        Ok(())
    }
}

fn fault(key: &str, value: &str) -> Result<Fault, String> {
    let place = value.split_once('@');
    let (who, when) = place.unwrap_or((value, "0"));
    let (at, more) = when.split_once('+').unwrap_or((when, "0"));
    Ok(match key {
        "loss" => Fault::Loss(percent(value)?),
        "dup" => Fault::Duplication(percent(value)?),
        "skew" => Fault::Skew(millis(value)?),
        "crash" | "down" | "keep" => Fault::Crash {
            node: number(who)?,
            at: seconds(at)?,
            outage: seconds(more)?,
            keeps_state: key == "keep",
        },
        "join" => Fault::Join {
            node: number(who)?,
            at: seconds(at)?,
        },
        "leave" => Fault::Leave {
            node: number(who)?,
            at: seconds(at)?,
        },
        "jump" => Fault::Jump {
            node: number(who)?,
            at: seconds(at)?,
            nanos: number::<i64>(more)? * 1_000_000,
        },
        _ => {
            let (from, to) = who.split_once('-').ok_or("FROM-TO@SECOND+SECONDS")?;
            Fault::Cut {
                from: vec![number(from)?],
                to: vec![number(to)?],
                at: seconds(at)?,
                lasting: seconds(more)?,
            }
        }
    })
}

fn number<T: std::str::FromStr>(value: &str) -> Result<T, String> {
    value
        .parse()
        .map_err(|_| format!("{value} is no number that fits"))
}

/// A decimal as a whole number of parts of `unit`.
fn decimal(value: &str, unit: u64) -> Result<u64, String> {
    let (whole, part) = value.split_once('.').unwrap_or((value, ""));
    let mut sum = if whole.is_empty() {
        0
    } else {
        number::<u64>(whole)? * unit
    };
    let mut scale = unit;
    for digit in part.chars() {
        scale /= 10;
        sum += u64::from(digit.to_digit(10).ok_or("no decimal")?) * scale;
    }
    Ok(sum)
}

fn millis(value: &str) -> Result<Span, String> {
    Ok(Span::from_nanos(u128::from(decimal(value, 1_000_000)?)))
}

fn seconds(value: &str) -> Result<Span, String> {
    Ok(Span::from_nanos(u128::from(decimal(value, 1_000_000_000)?)))
}

fn percent(value: &str) -> Result<u32, String> {
    u32::try_from(decimal(value, 10_000)?).map_err(|_| "more than all".to_owned())
}

fn refill(value: &str) -> Result<(u64, u64), String> {
    Ok((decimal(value, 1_000_000)?, 1_000_000_000_000_000))
}

fn ratio(value: &str) -> Result<Ratio, String> {
    let (over, under) = value.split_once('/').unwrap_or((value, "1"));
    Ok(Ratio::new(number(over)?, number(under)?))
}

fn switch(value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("on or off".to_owned()),
    }
}

fn routing(value: &str) -> Result<Routing, String> {
    Ok(match value {
        "hash" => Routing::Hash,
        "uniform" => Routing::Uniform,
        "sticky" => Routing::Sticky,
        "hot" => Routing::HotNode,
        _ => return Err("hash, uniform, sticky or hot".to_owned()),
    })
}

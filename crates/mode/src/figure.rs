//! How a policy stands, as named numbers: what JSON, metrics, the console and the command line all show.
//!
//! Not here: how any of them writes a number.

/// A number, text or flag with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name in JSON. A dot leads into an object: `counts.asks`.
    pub name: &'static str,
    /// What it is now.
    pub value: FigureValue,
    /// What it is called among the metrics, where it is one.
    pub metric: Option<Metric>,
    /// What it is of all shards of a policy.
    pub joined: Joined,
}

/// What a figure of a policy is, of those of its shards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Joined {
    /// That of the first shard which knows a key: it is the same in all, or about one key.
    #[default]
    First,
    /// All of them together.
    Sum,
    /// Those of the shards that know a key together.
    SumOfKeys,
    /// The largest.
    Most,
    /// The smallest.
    Least,
}

/// What a figure is.
#[derive(Clone, Debug, PartialEq)]
pub enum FigureValue {
    /// A whole number.
    Count(u64),
    /// Any number.
    Real(f64),
    /// A word, or a number that readers of JSON cannot hold.
    Text(String),
    /// Whether something is so.
    Flag(bool),
    /// Not known.
    Unknown,
}

/// A metric of one sample per policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Whether it only grows.
    pub kind: MetricKind,
    /// What it says, one sentence.
    pub help: &'static str,
    /// What it is called behind `tollgate_MODE_`, where that is not the figure's name.
    pub called: Option<&'static str>,
    /// The label that tells it apart from others of its family, besides contract and policy.
    pub label: Option<(&'static str, &'static str)>,
}

/// Whether a metric only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It does.
    Counter,
    /// It goes up and down.
    Gauge,
}

impl Figure {
    /// A figure that is no metric.
    pub fn new(name: &'static str, value: impl Into<FigureValue>) -> Self {
        Self {
            name,
            value: value.into(),
            metric: None,
            joined: Joined::First,
        }
    }

    /// The same, added up over shards.
    #[must_use]
    pub const fn sum(mut self) -> Self {
        self.joined = Joined::Sum;
        self
    }

    /// The same, added up over shards that know a key.
    #[must_use]
    pub const fn sum_of_keys(mut self) -> Self {
        self.joined = Joined::SumOfKeys;
        self
    }

    /// The same, of the shard where it is largest.
    #[must_use]
    pub const fn most(mut self) -> Self {
        self.joined = Joined::Most;
        self
    }

    /// The same, of the shard where it is smallest.
    #[must_use]
    pub const fn least(mut self) -> Self {
        self.joined = Joined::Least;
        self
    }

    /// Takes in what another shard of the policy says, which knows a key or none.
    pub fn join(&mut self, other: &FigureValue, knows_keys: bool) {
        use FigureValue::{Count, Real};
        let pick = match self.joined {
            Joined::SumOfKeys if knows_keys => Joined::Sum,
            Joined::SumOfKeys => Joined::First,
            joined => joined,
        };
        self.value = match (&self.value, other) {
            (Count(one), Count(other)) => Count(match pick {
                Joined::First | Joined::SumOfKeys => *one,
                Joined::Sum => one.saturating_add(*other),
                Joined::Most => *one.max(other),
                Joined::Least => *one.min(other),
            }),
            (Real(one), Real(other)) => Real(match pick {
                Joined::First | Joined::SumOfKeys => *one,
                Joined::Sum => one + other,
                Joined::Most => one.max(*other),
                Joined::Least => one.min(*other),
            }),
            (FigureValue::Flag(one), FigureValue::Flag(other)) => FigureValue::Flag(match pick {
                Joined::First | Joined::SumOfKeys => *one,
                Joined::Sum | Joined::Most => *one || *other,
                Joined::Least => *one && *other,
            }),
            (FigureValue::Unknown, other) => other.clone(),
            _ => return,
        };
    }

    /// The same, under another name among the metrics.
    #[must_use]
    pub const fn called(mut self, name: &'static str) -> Self {
        if let Some(metric) = &mut self.metric {
            metric.called = Some(name);
        }
        self
    }

    /// Its family among the metrics of a mode, where it is one.
    pub fn family(&self, mode: &str) -> Option<String> {
        let metric = self.metric?;
        let last = self.name.rsplit('.').next().unwrap_or_default();
        let end = match metric.kind {
            MetricKind::Counter => "_total",
            MetricKind::Gauge => "",
        };
        Some(match metric.called {
            Some(name) => format!("tollgate_{mode}_{name}"),
            None => format!("tollgate_{mode}_{last}{end}"),
        })
    }

    /// The same, one of several samples of its family.
    #[must_use]
    pub const fn label(mut self, name: &'static str, value: &'static str) -> Self {
        if let Some(metric) = &mut self.metric {
            metric.label = Some((name, value));
        }
        self
    }
}

/// A figure that was counted since the start, and is a metric.
pub fn counter(name: &'static str, value: impl Into<FigureValue>, help: &'static str) -> Figure {
    measured(MetricKind::Counter, name, value.into(), help).sum()
}

/// A figure that goes up and down, and is a metric.
pub fn gauge(name: &'static str, value: impl Into<FigureValue>, help: &'static str) -> Figure {
    measured(MetricKind::Gauge, name, value.into(), help)
}

const fn measured(
    kind: MetricKind,
    name: &'static str,
    value: FigureValue,
    help: &'static str,
) -> Figure {
    Figure {
        name,
        value,
        metric: Some(Metric {
            kind,
            help,
            called: None,
            label: None,
        }),
        joined: Joined::First,
    }
}

impl FigureValue {
    /// It as a number; flags are zero or one.
    #[allow(clippy::cast_precision_loss, reason = "shown, not decided by")]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(*count as f64),
            Self::Real(real) => Some(*real),
            Self::Flag(true) => Some(1.0),
            Self::Flag(false) => Some(0.0),
            Self::Text(text) => text.parse().ok(),
            Self::Unknown => None,
        }
    }
}

impl From<u64> for FigureValue {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<u32> for FigureValue {
    fn from(count: u32) -> Self {
        Self::Count(u64::from(count))
    }
}

impl From<f64> for FigureValue {
    fn from(real: f64) -> Self {
        Self::Real(real)
    }
}

impl From<bool> for FigureValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<String> for FigureValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for FigureValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl<T: Into<Self>> From<Option<T>> for FigureValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Unknown, Into::into)
    }
}

//! From the fields given for a policy to a checked one.

use tollgate_limit::{
    Algorithm, Calendar, Inherit, OnLimit, Period, Policy, PolicyConfig, PolicyError, SLICES_MAX,
};

use crate::contract::NamedPolicy;
use crate::coordination::{self, Coordination, Design, OnFailure};
use crate::duration;
use crate::error::ErrorKind;
use crate::fields::{ALGORITHMS, DEBTS, Field, INHERIT, MODES, ON_LIMIT, RECOVERY, SHARE, Shape};
use crate::lending::{Lending, Recovery, can_be_kept};
use crate::merge::Given;
use crate::nearest::nearest;
use crate::problems::{Problem, Problems};
use crate::scalar;
use crate::snippet::{Place, quote};
use crate::syncing::Syncing;
use crate::text::Text;

/// What a policy has from its contract where it does not say so itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inherited {
    pub(crate) coordination: Coordination,
    /// Where that was typed.
    pub(crate) place: Option<Place>,
    /// How nodes that gossip agree, and where that was typed.
    pub(crate) design: Option<(Design, Place)>,
    /// Whether it is a plan's policy, so that the contract is not known yet.
    pub(crate) is_plan: bool,
}

impl Inherited {
    /// What a plan's policy has: nothing yet.
    pub(crate) const fn of_plan() -> Self {
        Self {
            coordination: Coordination::Local,
            place: None,
            design: None,
            is_plan: true,
        }
    }
}

/// Checks one policy; `None` when something is wrong with it.
pub(crate) fn check(
    given: &Given,
    default: Inherited,
    problems: &mut Problems,
) -> Option<NamedPolicy> {
    let mut reader = Reader {
        given,
        problems,
        failed: false,
    };
    let name = reader
        .required(Field::Name)
        .and_then(|text| reader.keep(scalar::name(text, "the name")));
    let limit = reader
        .required(Field::Limit)
        .and_then(|text| reader.whole(text, Field::Limit));
    let per = reader
        .required(Field::Per)
        .and_then(|text| reader.period(text));
    let algorithm = reader
        .choice(Field::Algorithm, &ALGORITHMS)
        .map_or(Algorithm::TokenBucket, algorithm_at);
    let mut config = PolicyConfig::new(algorithm, limit?, per?);
    reader.shape(&mut config);
    reader.limits(&mut config);
    let coordination = reader.coordination(algorithm, default);
    let design = reader.design(coordination, default, &config);
    let lending = reader.lending(coordination, default);
    let syncing = reader.syncing(coordination, default);
    if lending.recovery == Recovery::Ledger && !can_be_kept(&config, &lending) {
        let what = "a ledger keeps token buckets with a burst of 4 or more that are enforced for everybody and let nobody wait longer \
                    than a term; choose another `recovery`";
        reader.wrong(Field::Recovery, what);
    }
    let on_failure = reader.choice(Field::OnFailure, &coordination::ON_FAILURE);
    let durable = reader.switch(Field::Durable);
    if reader.failed {
        return None;
    }
    let policy = Policy::new(config.clone());
    let policy = policy
        .map_err(|error| reader.wrong(place_of(error), &explain(error, given, &config)))
        .ok()?;
    let on_failure = on_failure.map_or(OnFailure::default(), |index| OnFailure::ALL[index]);
    Some(NamedPolicy {
        name: name?,
        policy,
        coordination,
        design,
        lending: (!lending.is_empty()).then(|| Box::new(lending)),
        syncing,
        on_failure,
        durable,
    })
}

struct Reader<'a> {
    given: &'a Given,
    problems: &'a mut Problems,
    failed: bool,
}

impl<'a> Reader<'a> {
    fn keep<T>(&mut self, result: Result<T, Problem>) -> Option<T> {
        self.failed |= result.is_err();
        self.problems.keep(result)
    }

    /// Says what is wrong with a field, or with the policy where the field was not given.
    fn wrong(&mut self, field: Field, what: &str) {
        let place = self
            .given
            .get(field)
            .map_or(self.given.place, |text| text.place);
        self.failed = true;
        self.problems
            .add(Problem::new(ErrorKind::Conflict, place, what));
    }

    fn required(&mut self, field: Field) -> Option<&'a Text> {
        let text = self.given.get(field);
        if text.is_none() && !self.given.has_unknown {
            let what = format!("a policy needs `{}`", field.row().name);
            self.problems
                .add(Problem::new(ErrorKind::Missing, self.given.place, what));
        }
        self.failed |= text.is_none();
        text
    }

    fn whole(&mut self, text: &Text, field: Field) -> Option<u64> {
        let row = field.row();
        let Shape::Whole(least, most) = row.shape else {
            return None;
        };
        self.keep(scalar::whole(
            text,
            &format!("`{}`", row.name),
            (least, most),
        ))
    }

    fn number(&mut self, field: Field) -> Option<u64> {
        self.given
            .get(field)
            .and_then(|text| self.whole(text, field))
    }

    fn choice(&mut self, field: Field, valid: &[&str]) -> Option<usize> {
        let text = self.given.get(field)?;
        let name = field.row().name;
        let unknown = match field {
            Field::Algorithm | Field::Coordination | Field::Design => format!("unknown {name}"),
            _ => format!("`{name}` cannot be"),
        };
        self.keep(scalar::choice(text, &unknown, valid))
    }

    fn switch(&mut self, field: Field) -> bool {
        let text = self.given.get(field);
        let result = text
            .and_then(|text| self.keep(scalar::switch(text, &format!("`{}`", field.row().name))));
        result.unwrap_or(false)
    }

    fn nanos(&mut self, field: Field) -> Option<u64> {
        let text = self.given.get(field)?;
        self.keep(scalar::nanos(text))
    }

    fn period(&mut self, text: &Text) -> Option<Period> {
        let result = duration::parse(&text.value);
        self.keep(result.map_err(|why| Problem::new(ErrorKind::BadValue, text.place, why)))
    }

    /// The fields that only some algorithms have.
    fn shape(&mut self, config: &mut PolicyConfig) {
        config.burst = self.number(Field::Burst);
        config.offset_ns = self.nanos(Field::Offset).unwrap_or(0);
        if let Some(slices) = self.number(Field::Slices) {
            config.slices = u32::try_from(slices).unwrap_or(SLICES_MAX);
            if config.algorithm != Algorithm::SlidingCounters {
                self.wrong(Field::Slices, "only sliding-counters has slices");
            }
        }
        if let Some(text) = self.given.get(Field::TimeZone) {
            self.time_zone(text, config);
        }
        let delays = self.choice(Field::OnLimit, &ON_LIMIT) == Some(1);
        let max_wait_ns = self.nanos(Field::MaxWait);
        if delays {
            config.on_limit = OnLimit::Delay { max_wait_ns };
        } else if max_wait_ns.is_some() {
            self.wrong(
                Field::MaxWait,
                "`max_wait` bounds the delay of `on_limit: delay`, which is not given",
            );
        }
    }

    fn time_zone(&mut self, text: &Text, config: &mut PolicyConfig) {
        let Period::Calendar(calendar) = &config.period else {
            return self.wrong(Field::TimeZone, &PolicyError::CalendarUnused.to_string());
        };
        if config.algorithm != Algorithm::FixedWindow {
            return self.wrong(Field::TimeZone, &PolicyError::CalendarUnused.to_string());
        }
        if let Some(calendar) = calendar.in_zone(&text.value) {
            config.period = Period::Calendar(calendar);
            return;
        }
        let (name, hint) = (quote(&text.value), zone_hint(&text.value));
        let what = format!("unknown time zone {name}{hint}");
        self.failed = true;
        self.problems
            .add(Problem::new(ErrorKind::UnknownName, text.place, what));
    }

    /// The fields that every algorithm has.
    fn limits(&mut self, config: &mut PolicyConfig) {
        config.max_debt = self.number(Field::MaxDebt);
        config.count_refused = self.switch(Field::CountRefused);
        config.inherit = match self.choice(Field::Inherit, &INHERIT) {
            Some(1) => Inherit::Proportional,
            Some(2) => Inherit::Reset,
            _ => Inherit::AsIs,
        };
        let percent = self
            .number(Field::EnforcePercent)
            .and_then(|percent| u8::try_from(percent).ok());
        let mode = self.choice(Field::Mode, &MODES);
        config.enforce_percent = match (mode, percent) {
            (Some(1), Some(1..)) => {
                self.wrong(
                    Field::EnforcePercent,
                    "`mode: shadow` enforces for nobody; remove one of the two",
                );
                0
            }
            (Some(0), Some(0)) => {
                self.wrong(
                    Field::EnforcePercent,
                    "0 percent is `mode: shadow`; remove one of the two",
                );
                0
            }
            (Some(1), _) => 0,
            (_, percent) => percent.unwrap_or(100),
        };
    }

    fn coordination(&mut self, algorithm: Algorithm, default: Inherited) -> Coordination {
        let own = self.given.get(Field::Coordination).map(|text| text.place);
        let chosen = self.choice(Field::Coordination, &coordination::NAMES);
        let chosen = chosen.map_or(default.coordination, |index| Coordination::ALL[index]);
        if !chosen.allows(algorithm) {
            let (instead, with) = chosen.nearest_for(algorithm);
            let (own_name, name) = (chosen.name(), algorithm.name());
            let what = format!(
                "{name} does not work under {own_name}; use `coordination: {}`, or `algorithm: {}`",
                instead.name(),
                with.name()
            );
            let place = own.or(default.place).unwrap_or(self.given.place);
            self.failed = true;
            self.problems
                .add(Problem::new(ErrorKind::Conflict, place, what));
        }
        chosen
    }

    /// How nodes that gossip agree about the policy; what gossip cannot count is refused.
    fn design(
        &mut self,
        coordination: Coordination,
        default: Inherited,
        config: &PolicyConfig,
    ) -> Design {
        let typed = self.given.get(Field::Design).map(|text| text.place);
        let own = self.choice(Field::Design, &coordination::DESIGNS);
        if coordination != Coordination::Gossip {
            if typed.is_some() && !default.is_plan {
                let what = "`design` says how nodes gossip; it needs `coordination: gossip`";
                self.wrong(Field::Design, what);
            }
            return Design::default();
        }
        let inherited = default.design.map(|(design, _)| design);
        let design = own.map_or(inherited.unwrap_or_default(), |index| Design::ALL[index]);
        if !design.allows(config.algorithm) && coordination.allows(config.algorithm) {
            let (name, algorithm) = (design.name(), config.algorithm.name());
            let what =
                format!("the design {name} does not count {algorithm}; use `design: segments`");
            let place = typed.or(default.design.map(|(_, place)| place));
            let place = place.unwrap_or(self.given.place);
            self.failed = true;
            self.problems
                .add(Problem::new(ErrorKind::Conflict, place, what));
        }
        self.gossip_numbers(config);
        design
    }

    /// How the policy lends.
    fn lending(&mut self, coordination: Coordination, default: Inherited) -> Lending {
        let lending = Lending {
            term_ns: self.nanos(Field::Term),
            min_depth: self.number(Field::MinDepth),
            min_uses: self.number(Field::MinUses),
            pool_rate: self.number(Field::PoolRate),
            pool_depth: self.number(Field::PoolDepth),
            max_lessees: self.number(Field::MaxLessees),
            spill: self.number(Field::Spill),
            shares_by_client: self.choice(Field::Share, &SHARE) == Some(1),
            drift_ppm: self.number(Field::DriftPpm),
            timeout_ns: self.nanos(Field::Timeout),
            safe_capacity: self.number(Field::SafeCapacity),
            recovery: self
                .choice(Field::Recovery, &RECOVERY)
                .map_or(Recovery::default(), |index| Recovery::ALL[index]),
        };
        if coordination != Coordination::Lease {
            self.unfit(&LENDING, "leases are given", Coordination::Lease, default);
            return Lending::default();
        }
        for (field, nanos) in [
            (Field::Term, lending.term_ns),
            (Field::Timeout, lending.timeout_ns),
        ] {
            if nanos.is_some_and(|nanos| !(MILLISECOND..=HOUR).contains(&nanos)) {
                self.wrong(field, "it is between 1ms and 1h");
            }
        }
        lending
    }

    /// How the policy is synchronised.
    fn syncing(&mut self, coordination: Coordination, default: Inherited) -> Syncing {
        let interval_ns = self.nanos(Field::Interval);
        let forgets = self.choice(Field::Debts, &DEBTS) == Some(1);
        let usual = Syncing::default();
        if coordination != Coordination::Sync {
            self.unfit(&SYNCING, "nodes synchronise", Coordination::Sync, default);
            return usual;
        }
        let interval_ns = interval_ns.unwrap_or(usual.interval_ns);
        if !(Syncing::INTERVAL_MIN..=Syncing::INTERVAL_MAX).contains(&interval_ns) {
            self.wrong(Field::Interval, "it is between 50ms and 1m");
        }
        Syncing {
            interval_ns,
            forgets,
        }
    }

    /// Refuses the first of these fields that is given, as they say how another coordination works.
    fn unfit(&mut self, fields: &[Field], how: &str, of: Coordination, default: Inherited) {
        let mut fields = fields.iter().copied();
        let given = fields.find(|field| self.given.get(*field).is_some());
        if let Some(field) = given.filter(|_| !default.is_plan) {
            let (name, of) = (field.row().name, of.name());
            let what = format!("`{name}` says how {how}; it needs `coordination: {of}`");
            self.wrong(field, &what);
        }
    }

    /// Refuses numbers that gossip has no room for.
    fn gossip_numbers(&mut self, config: &PolicyConfig) {
        for (field, tokens) in [
            (Field::Limit, config.limit),
            (Field::Burst, config.burst.unwrap_or(0)),
        ] {
            if tokens > GOSSIP_TOKENS_MAX {
                let what = format!("gossip counts up to {GOSSIP_TOKENS_MAX} tokens, not {tokens}");
                self.wrong(field, &what);
            }
        }
        if config.period.nanos() > GOSSIP_PERIOD_NS_MAX {
            self.wrong(Field::Per, "gossip has periods of up to 36 years");
        }
    }
}

/// The fields that say how leases are given.
const LENDING: [Field; 12] = [
    Field::Term,
    Field::MinDepth,
    Field::MinUses,
    Field::PoolRate,
    Field::PoolDepth,
    Field::MaxLessees,
    Field::Spill,
    Field::Share,
    Field::DriftPpm,
    Field::Timeout,
    Field::SafeCapacity,
    Field::Recovery,
];
/// The fields that say how nodes synchronise.
const SYNCING: [Field; 2] = [Field::Interval, Field::Debts];
const MILLISECOND: u64 = 1_000_000;
const HOUR: u64 = 3_600_000_000_000;
/// The most tokens that gossip counts, as its buckets and windows say.
const GOSSIP_TOKENS_MAX: u64 = 1 << 40;
/// The longest period that gossip has, likewise.
const GOSSIP_PERIOD_NS_MAX: u64 = 1 << 60;

/// The algorithm at a position of [`ALGORITHMS`]; those past the last are aliases of the first.
fn algorithm_at(index: usize) -> Algorithm {
    Algorithm::ALL
        .get(index)
        .copied()
        .unwrap_or(Algorithm::TokenBucket)
}

/// The nearest zone, by its whole name or by its place alone.
fn zone_hint(name: &str) -> String {
    let zones = Calendar::zone_names();
    let near = nearest(name, zones.iter().map(String::as_str)).or_else(|| {
        let cities = zones.iter().filter_map(|zone| zone.rsplit('/').next());
        let city = nearest(name.rsplit('/').next().unwrap_or(name), cities)?;
        zones
            .iter()
            .map(String::as_str)
            .find(|zone| zone.rsplit('/').next() == Some(city))
    });
    near.map_or(
        "; use a name of the IANA database, as `Europe/Ljubljana`".into(),
        |near| format!(", did you mean `{near}`?"),
    )
}

/// The field a complaint of the limit crate is about.
fn place_of(error: PolicyError) -> Field {
    match error {
        PolicyError::LimitZero | PolicyError::LimitTooLarge(_) => Field::Limit,
        PolicyError::BurstZero | PolicyError::BurstUnused => Field::Burst,
        PolicyError::PeriodZero | PolicyError::PeriodTooLong(_) => Field::Per,
        PolicyError::SlicesOutOfRange(_) | PolicyError::SlicesDoNotDivide { .. } => Field::Slices,
        PolicyError::DelayUnused => Field::OnLimit,
        PolicyError::OffsetUnused => Field::Offset,
        PolicyError::CalendarUnused => Field::TimeZone,
        PolicyError::PercentTooLarge(_) => Field::EnforcePercent,
        PolicyError::NoPolicy | PolicyError::TooManyPolicies(_) => Field::Name,
    }
}

/// The complaint in the words of the file.
fn explain(error: PolicyError, given: &Given, config: &PolicyConfig) -> String {
    let period_ns = config.period.nanos();
    match error {
        PolicyError::SlicesDoNotDivide { slices, .. } => {
            let fits = |slices: &u32| period_ns.is_multiple_of(u64::from(*slices));
            let below = (1..slices).rev().find(fits);
            let above = (slices..=SLICES_MAX).find(fits);
            let near: Vec<String> = below
                .into_iter()
                .chain(above)
                .map(|near| near.to_string())
                .collect();
            let period = duration::format(period_ns);
            format!(
                "{period} does not divide into {slices} slices of whole nanoseconds; write `slices: {}`",
                near.join("` or `slices: ")
            )
        }
        PolicyError::PeriodTooLong(_) => {
            let typed = given.get(Field::Per).map_or("it", |text| &*text.value);
            format!(
                "{} is longer than any length of time here, 100 years",
                quote(typed)
            )
        }
        other => other.to_string(),
    }
}

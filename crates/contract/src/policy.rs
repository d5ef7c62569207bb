//! From the fields given for a policy to a checked one.

use tollgate_limit::{
    Algorithm, Calendar, Inherit, OnLimit, Period, Policy, PolicyConfig, PolicyError, SLICES_MAX,
};

use crate::contract::{NamedPolicy, OnFailure};
use crate::duration;
use crate::error::ErrorKind;
use crate::fields::{FieldShape, PolicyField};
use crate::merge::Given;
use crate::modes::{Coordination, Feature, ModeFields};
use crate::nearest::nearest;
use crate::problems::{Problem, Problems};
use crate::scalar;
use crate::snippet::{Place, quote};
use crate::text::Text;

/// What a policy has from its contract where it does not say so itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inherited {
    pub(crate) coordination: Coordination,
    /// Where that was typed.
    pub(crate) place: Option<Place>,
    /// Whether it is a plan's policy, so that the contract is not known yet.
    pub(crate) is_plan: bool,
}

impl Inherited {
    /// What a plan's policy has: nothing yet.
    pub(crate) const fn of_plan() -> Self {
        Self {
            coordination: Coordination::Local,
            place: None,
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
        .required("name")
        .and_then(|text| reader.keep(scalar::name(text, "the name")));
    let limit = reader
        .required("limit")
        .and_then(|text| reader.whole(text, "limit"));
    let per = reader.required("per").and_then(|text| reader.period(text));
    let algorithm = reader
        .chosen("algorithm")
        .map_or(Algorithm::TokenBucket, algorithm_at);
    let mut config = PolicyConfig::new(algorithm, limit?, per?);
    reader.shape(&mut config);
    reader.limits(&mut config);
    let coordination = reader.coordination(algorithm, default);
    let fields = reader.mode_fields(coordination, default, &config);
    let on_failure = reader.choice("on_failure", &OnFailure::NAMES);
    let durable = reader.switch("durable");
    reader.features(coordination, &config, durable);
    if reader.failed {
        return None;
    }
    let policy = Policy::new(config.clone());
    let policy = policy
        .map_err(|error| reader.wrong(field_of(error), &explain(error, given, &config)))
        .ok()?;
    let on_failure = on_failure.map_or(OnFailure::default(), |index| OnFailure::ALL[index]);
    Some(NamedPolicy {
        name: name?,
        policy,
        coordination,
        fields,
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
    fn wrong(&mut self, field: &str, what: &str) {
        let place = self.place_of(field).unwrap_or(self.given.place);
        self.wrong_at(place, what);
    }

    fn place_of(&self, field: &str) -> Option<Place> {
        self.given.get(field).map(|text| text.place)
    }

    fn wrong_at(&mut self, place: Place, what: &str) {
        self.failed = true;
        self.problems
            .add(Problem::new(ErrorKind::Conflict, place, what));
    }

    fn required(&mut self, field: &str) -> Option<&'a Text> {
        let text = self.given.get(field);
        if text.is_none() && !self.given.has_unknown {
            let what = format!("a policy needs `{field}`");
            self.problems
                .add(Problem::new(ErrorKind::Missing, self.given.place, what));
        }
        self.failed |= text.is_none();
        text
    }

    /// A whole number within the bounds of its row.
    fn whole(&mut self, text: &Text, field: &str) -> Option<u64> {
        let FieldShape::Whole(least, most) = PolicyField::named(field)?.shape else {
            return None;
        };
        self.keep(scalar::whole(text, &format!("`{field}`"), least, most))
    }

    fn number(&mut self, field: &str) -> Option<u64> {
        let text = self.given.get(field);
        text.and_then(|text| self.whole(text, field))
    }

    fn choice(&mut self, field: &str, valid: &[&str]) -> Option<usize> {
        let text = self.given.get(field)?;
        let unknown = match field {
            "algorithm" | "coordination" => format!("unknown {field}"),
            _ => format!("`{field}` cannot be"),
        };
        self.keep(scalar::choice(text, &unknown, valid))
    }

    /// The place of a choice among those of its row.
    fn chosen(&mut self, field: &str) -> Option<usize> {
        match PolicyField::named(field)?.shape {
            FieldShape::Choice(valid) => self.choice(field, valid),
            _ => None,
        }
    }

    fn switch(&mut self, field: &str) -> bool {
        let text = self.given.get(field);
        let result = text.and_then(|text| self.keep(scalar::switch(text, &format!("`{field}`"))));
        result.unwrap_or(false)
    }

    fn nanos(&mut self, field: &str) -> Option<u64> {
        let text = self.given.get(field)?;
        self.keep(scalar::nanos(text))
    }

    fn period(&mut self, text: &Text) -> Option<Period> {
        let result = duration::parse(&text.value);
        self.keep(result.map_err(|why| Problem::new(ErrorKind::BadValue, text.place, why)))
    }

    /// The fields that only some algorithms have.
    fn shape(&mut self, config: &mut PolicyConfig) {
        config.burst = self.number("burst");
        config.offset_ns = self.nanos("offset").unwrap_or(0);
        if let Some(slices) = self.number("slices") {
            config.slices = u32::try_from(slices).unwrap_or(SLICES_MAX);
            if config.algorithm != Algorithm::SlidingCounters {
                self.wrong("slices", "only sliding-counters has slices");
            }
        }
        if let Some(text) = self.given.get("time_zone") {
            self.time_zone(text, config);
        }
        let delays = self.chosen("on_limit") == Some(1);
        let max_wait_ns = self.nanos("max_wait");
        if delays {
            config.on_limit = OnLimit::Delay { max_wait_ns };
        } else if max_wait_ns.is_some() {
            self.wrong(
                "max_wait",
                "`max_wait` bounds the delay of `on_limit: delay`, which is not given",
            );
        }
    }

    fn time_zone(&mut self, text: &Text, config: &mut PolicyConfig) {
        let Period::Calendar(calendar) = &config.period else {
            return self.wrong("time_zone", &PolicyError::CalendarUnused.to_string());
        };
        if config.algorithm != Algorithm::FixedWindow {
            return self.wrong("time_zone", &PolicyError::CalendarUnused.to_string());
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
        config.max_debt = self.number("max_debt");
        config.count_refused = self.switch("count_refused");
        config.inherit = match self.chosen("inherit") {
            Some(1) => Inherit::Proportional,
            Some(2) => Inherit::Reset,
            _ => Inherit::AsIs,
        };
        let percent = self
            .number("enforce_percent")
            .and_then(|percent| u8::try_from(percent).ok());
        let mode = self.chosen("mode");
        config.enforce_percent = match (mode, percent) {
            (Some(1), Some(1..)) => {
                self.wrong(
                    "enforce_percent",
                    "`mode: shadow` enforces for nobody; remove one of the two",
                );
                0
            }
            (Some(0), Some(0)) => {
                self.wrong(
                    "enforce_percent",
                    "0 percent is `mode: shadow`; remove one of the two",
                );
                0
            }
            (Some(1), _) => 0,
            (_, percent) => percent.unwrap_or(100),
        };
    }

    fn coordination(&mut self, algorithm: Algorithm, default: Inherited) -> Coordination {
        let own = self.place_of("coordination");
        let chosen = self.chosen("coordination");
        let chosen = chosen.map_or(default.coordination, |index| Coordination::ALL[index]);
        if let Err(why) = chosen.does(Feature::Algorithm(algorithm)) {
            let place = own.or(default.place).unwrap_or(self.given.place);
            self.wrong_at(place, &why);
        }
        chosen
    }

    /// Refuses what the policy asks for and its mode does not do.
    fn features(&mut self, by: Coordination, config: &PolicyConfig, durable: bool) {
        for feature in Feature::all() {
            let field = feature.asked_by(config, durable);
            if let Some((field, why)) = field.zip(by.does(feature).err()) {
                self.wrong(field, &why);
            }
        }
    }

    /// How its mode works, by the row of the mode; fields of other modes are refused.
    fn mode_fields(
        &mut self,
        by: Coordination,
        default: Inherited,
        config: &PolicyConfig,
    ) -> ModeFields {
        let mut own = Vec::new();
        for mode in Coordination::ALL {
            let row = mode.row();
            let said = row.fields.iter().map(|field| (field, self.value(field)));
            let said: Vec<_> = said.collect();
            if mode == by {
                own = said;
            } else {
                self.unfit(mode, default);
            }
        }
        for (field, value) in &own {
            if let (FieldShape::Within(least, most), Some(nanos)) = (field.shape, *value)
                && !(least..=most).contains(&nanos)
            {
                let (least, most) = (duration::format(least), duration::format(most));
                self.wrong(field.name, &format!("it is between {least} and {most}"));
            }
        }
        let own = own.into_iter();
        let fields = ModeFields::of(own.filter_map(|(field, value)| Some((field, value?))));
        for (field, what) in (by.row().check)(config, &fields) {
            let place = self.place_of(field).unwrap_or(self.given.place);
            self.wrong_at(place, &what);
        }
        fields
    }

    /// What a field of a mode says.
    fn value(&mut self, field: &PolicyField) -> Option<u64> {
        match field.shape {
            FieldShape::Whole(..) => self.number(field.name),
            FieldShape::Duration | FieldShape::Within(..) => self.nanos(field.name),
            FieldShape::Choice(_) => self.chosen(field.name).map(|place| place as u64),
            FieldShape::Switch => Some(u64::from(self.switch(field.name))),
            FieldShape::Name | FieldShape::Zone => None,
        }
    }

    /// Refuses the first field of a mode that is given where the policy has another.
    fn unfit(&mut self, mode: Coordination, default: Inherited) {
        let row = mode.row();
        let mut fields = row.fields.iter().map(|field| field.name);
        let given = fields.find(|field| self.given.get(field).is_some());
        if let Some(field) = given.filter(|_| !default.is_plan) {
            let (how, of) = (row.how, mode.name());
            let what = format!("`{field}` says how {how}; it needs `coordination: {of}`");
            self.wrong(field, &what);
        }
    }
}

/// The algorithm at a place among the choices; those past the last are aliases of the first.
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
fn field_of(error: PolicyError) -> &'static str {
    match error {
        PolicyError::LimitZero | PolicyError::LimitTooLarge(_) => "limit",
        PolicyError::BurstZero | PolicyError::BurstUnused => "burst",
        PolicyError::PeriodZero | PolicyError::PeriodTooLong(_) => "per",
        PolicyError::SlicesOutOfRange(_) | PolicyError::SlicesDoNotDivide { .. } => "slices",
        PolicyError::DelayUnused => "on_limit",
        PolicyError::OffsetUnused => "offset",
        PolicyError::CalendarUnused => "time_zone",
        PolicyError::PercentTooLarge(_) => "enforce_percent",
        PolicyError::NoPolicy | PolicyError::TooManyPolicies(_) => "name",
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
            let typed = given.get("per").map_or("it", |text| &*text.value);
            format!(
                "{} is longer than any length of time here, 100 years",
                quote(typed)
            )
        }
        other => other.to_string(),
    }
}

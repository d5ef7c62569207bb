//! Dynamic metadata for Envoy's other filters: the request as judged, and the data of the rules that let it pass.
//!
//! The members are those of the reference server's answers.

use std::collections::BTreeMap;

use tollgate_contract::envoy::{Data, Datum, EnvoyRule};
use tollgate_wire::google::{Kind, ListValue, Struct, Value};
use tollgate_wire::rls::{RateLimitDescriptor, Unit};

use super::judge::{Judged, Pairs, RlsRequest};

impl RlsRequest<'_> {
    /// If two rules name the same data, those of the first stay.
    pub(super) fn metadata(&self, judged: &[Judged]) -> Struct {
        let each = self.asked.descriptors.iter().zip(self.entries);
        let mut fields = BTreeMap::from([
            member("domain", text(&self.asked.domain)),
            member(
                "descriptors",
                list(each.map(|(one, entries)| descriptor(one, entries))),
            ),
        ]);
        if self.asked.hits_addend > 0 {
            fields.extend([member("hitsAddend", number(self.asked.hits_addend.into()))]);
        }
        let mut data = BTreeMap::new();
        for (rule, judged) in self.rules.iter().zip(judged) {
            let is_judged = judged.answer.is_some() && !judged.is_over();
            let rule = rule.as_ref().filter(|_| is_judged);
            if let Some(said) = rule.and_then(EnvoyRule::metadata) {
                merge(&mut data, said);
            }
        }
        if !data.is_empty() {
            fields.extend([member("metadata", object(data))]);
        }
        Struct { fields }
    }
}

fn descriptor(descriptor: &RateLimitDescriptor, entries: &Pairs<'_>) -> Value {
    let entries = entries.iter();
    let entries = entries.map(|(name, value)| text(&format!("{name}={value}")));
    let mut fields = BTreeMap::from([member("entries", list(entries))]);
    if let Some(limit) = descriptor.limit {
        let unit = Unit::try_from(limit.unit).unwrap_or(Unit::Unknown);
        let unit = format!("{unit:?}").to_uppercase();
        let limit = format!("requests_per_unit:{} unit:{unit}", limit.requests_per_unit);
        fields.extend([member("limit", text(&limit))]);
    }
    if let Some(hits) = descriptor.hits_addend {
        #[expect(clippy::cast_precision_loss, reason = "JSON has no other numbers")]
        fields.extend([member("hitsAddend", number(hits as f64))]);
    }
    object(fields)
}

fn merge(into: &mut BTreeMap<String, Value>, said: &Data) {
    for (name, datum) in said {
        let known = into.get_mut(name).and_then(|value| value.kind.as_mut());
        match (known, datum) {
            (Some(Kind::StructValue(known)), Datum::Map(more)) => merge(&mut known.fields, more),
            (Some(_), _) => {}
            (None, datum) => {
                into.insert(name.clone(), value(datum));
            }
        }
    }
}

fn value(datum: &Datum) -> Value {
    match datum {
        Datum::Null => Kind::NullValue(0).into(),
        Datum::Bool(flag) => Kind::BoolValue(*flag).into(),
        Datum::Number(value) => number(*value),
        Datum::Text(value) => text(value),
        Datum::List(items) => list(items.iter().map(value)),
        Datum::Map(data) => {
            let mut fields = BTreeMap::new();
            merge(&mut fields, data);
            object(fields)
        }
    }
}

fn member(name: &str, value: Value) -> (String, Value) {
    (name.to_owned(), value)
}

fn text(text: &str) -> Value {
    Kind::StringValue(text.to_owned()).into()
}

fn number(number: f64) -> Value {
    Kind::NumberValue(number).into()
}

fn list(values: impl Iterator<Item = Value>) -> Value {
    let values = values.collect();
    Kind::ListValue(ListValue { values }).into()
}

fn object(fields: BTreeMap<String, Value>) -> Value {
    Kind::StructValue(Struct { fields }).into()
}

//! Resources as a descriptor file, so that they are checked as one is: each is a document in JSON, which is YAML.
//!
//! Not here: the checks.

use prost::Message;
use serde_json::{Map, Value, json};
use tollgate_contract::{Contracts, TEXT_BYTES_MAX, envoy};
use tollgate_wire::google::Any;
use tollgate_wire::rls::Unit;
use tollgate_wire::xds::{
    RATE_LIMIT_CONFIG, RateLimitConfig, RateLimitDescriptor, RateLimitPolicy,
};

/// Rules of all domains, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct XdsRules {
    text: String,
    /// The name of each resource, in order.
    names: Vec<String>,
}

pub(super) fn of(resources: &[Any]) -> Result<XdsRules, String> {
    let mut rules = XdsRules {
        text: String::new(),
        names: Vec::with_capacity(resources.len()),
    };
    for resource in resources {
        if resource.type_url != RATE_LIMIT_CONFIG {
            return Err(format!(
                "a resource is a `{}`, not a rate limit",
                resource.type_url
            ));
        }
        let config = RateLimitConfig::decode(&*resource.value);
        let config = config.map_err(|error| format!("a resource cannot be read: {error}"))?;
        rules.text.push_str(MARK);
        rules.text.push_str(&document(&config).to_string());
        rules.text.push('\n');
        rules.names.push(config.name);
        if rules.text.len() > TEXT_BYTES_MAX {
            return Err(format!("the rules have more than {TEXT_BYTES_MAX} bytes"));
        }
    }
    Ok(rules)
}

impl XdsRules {
    /// The contracts, or all errors in the rules.
    pub(super) fn contracts(&self) -> Result<Contracts, String> {
        if self.names.is_empty() {
            return Ok(Contracts::default());
        }
        envoy::parse(&self.text)
            .map(Contracts::from)
            .map_err(|errors| {
                let each = errors.errors().iter().take(ERRORS_MAX);
                let each =
                    each.map(|error| format!("{}: {}", self.name(error.line()), error.what()));
                each.collect::<Vec<_>>().join("\n")
            })
    }

    /// The resource of a line: each has one, after its mark.
    fn name(&self, line: u32) -> String {
        let at = usize::try_from(line / 2).unwrap_or(0).saturating_sub(1);
        let name = self.names.get(at).map_or("", String::as_str);
        format!("resource `{name}`")
    }
}

fn document(config: &RateLimitConfig) -> Value {
    json!({
        "domain": config.domain,
        "descriptors": descriptors(&config.descriptors),
    })
}

fn descriptors(list: &[RateLimitDescriptor]) -> Vec<Value> {
    list.iter().map(descriptor).collect()
}

fn descriptor(descriptor: &RateLimitDescriptor) -> Value {
    let mut map = Map::new();
    map.insert("key".into(), json!(descriptor.key));
    if !descriptor.value.is_empty() {
        map.insert("value".into(), json!(descriptor.value));
    }
    if let Some(policy) = &descriptor.rate_limit {
        map.insert("rate_limit".into(), rate_limit(policy));
    }
    if !descriptor.descriptors.is_empty() {
        let below = descriptors(&descriptor.descriptors);
        map.insert("descriptors".into(), Value::Array(below));
    }
    for (name, is_set) in [
        ("shadow_mode", descriptor.shadow_mode),
        ("quota_mode", descriptor.quota_mode),
    ] {
        if is_set {
            map.insert(name.into(), json!(true));
        }
    }
    if let Some(metadata) = &descriptor.metadata {
        map.insert("metadata".into(), json!(metadata));
    }
    Value::Object(map)
}

fn rate_limit(policy: &RateLimitPolicy) -> Value {
    let mut map = Map::new();
    if policy.unlimited {
        map.insert("unlimited".into(), json!(true));
    } else {
        map.insert("requests_per_unit".into(), json!(policy.requests_per_unit));
    }
    match Unit::try_from(policy.unit) {
        Ok(Unit::Unknown) => {}
        Ok(unit) => {
            let name = format!("{unit:?}").to_lowercase();
            map.insert("unit".into(), json!(name));
        }
        // The check reports the errors.
        Err(_) => {
            map.insert("unit".into(), json!(policy.unit.to_string()));
        }
    }
    if !policy.name.is_empty() {
        map.insert("name".into(), json!(policy.name));
    }
    if !policy.replaces.is_empty() {
        let replaces = policy.replaces.iter();
        let replaces: Vec<_> = replaces
            .map(|replaced| json!({"name": replaced.name}))
            .collect();
        map.insert("replaces".into(), Value::Array(replaces));
    }
    Value::Object(map)
}

/// Before each document.
const MARK: &str = "---\n";
/// Limit on reported errors.
const ERRORS_MAX: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(name: &str, domain: &str, descriptors: Vec<RateLimitDescriptor>) -> Any {
        let config = RateLimitConfig {
            name: name.into(),
            domain: domain.into(),
            descriptors,
        };
        Any {
            type_url: RATE_LIMIT_CONFIG.into(),
            value: config.encode_to_vec(),
        }
    }

    fn limited(key: &str, unit: i32) -> RateLimitDescriptor {
        RateLimitDescriptor {
            key: key.into(),
            rate_limit: Some(RateLimitPolicy {
                unit,
                requests_per_unit: 3,
                name: "x: \"é\\ # - {".into(),
                ..RateLimitPolicy::default()
            }),
            ..RateLimitDescriptor::default()
        }
    }

    #[test]
    fn every_unit_is_a_rule() {
        for unit in 1..=7 {
            let rules = of(&[resource("r", "d", vec![limited("user", unit)])]).expect("rules");
            let contracts = rules.contracts().expect("contracts");
            assert_eq!(contracts.len(), 1);
        }
    }

    #[test]
    fn mistakes_name_the_resource() {
        let good = resource("good", "a", vec![limited("user", 1)]);
        let bad = resource("bad", "b", vec![limited("user", 1), limited("user", 99)]);
        let why = of(&[good, bad])
            .expect("rules")
            .contracts()
            .expect_err("wrong");
        assert!(why.starts_with("resource `bad`: "), "{why}");
        // Resources of one domain are merged, but must not repeat each other's descriptors.
        let other = resource("two", "a", vec![limited("role", 1)]);
        let one = resource("one", "a", vec![limited("user", 1)]);
        let contracts = of(&[one.clone(), other]).expect("rules").contracts();
        assert_eq!(contracts.expect("contracts").len(), 2);
        let twice = resource("two", "a", vec![limited("user", 2)]);
        let why = of(&[one, twice]).expect("rules").contracts();
        let why = why.expect_err("wrong");
        assert!(
            why.starts_with("resource `two`: ") && why.contains("already"),
            "{why}"
        );
    }

    #[test]
    fn what_is_no_rule_is_refused_and_nothing_at_all_is_no_limit() {
        let other = Any {
            type_url: "type.googleapis.com/other".into(),
            value: Vec::new(),
        };
        assert!(of(&[other]).is_err());
        let garbage = Any {
            type_url: RATE_LIMIT_CONFIG.into(),
            value: vec![0xFF; 9],
        };
        assert!(of(&[garbage]).is_err());
        assert!(
            of(&[])
                .expect("rules")
                .contracts()
                .expect("none")
                .is_empty()
        );
    }
}

//! What is different between two documents, field by field.
//!
//! Items of a list that have a `name` are compared by it, so that moving a policy is not a change.

use core::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::Document;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The names that lead to it, from the outside in.
    pub path: Vec<String>,
    /// The value before; `None` for a new field.
    pub before: Option<Value>,
    /// The value after; `None` for a removed field.
    pub after: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.join(".");
        let path = if path.is_empty() { "everything" } else { &path };
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => write!(f, "{path}: {before} -> {after}"),
            (None, Some(after)) => write!(f, "{path}: added {after}"),
            (Some(before), None) => write!(f, "{path}: removed, was {before}"),
            (None, None) => f.write_str(path),
        }
    }
}

/// Every field that differs, in the order of their names; policies in their own order.
pub fn differences(before: Option<&Document>, after: Option<&Document>) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(&mut Vec::new(), before, after, &mut found);
    found
}

fn walk(
    path: &mut Vec<String>,
    before: Option<&Value>,
    after: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    if before == after {
        return;
    }
    let (mut was, mut is) = (Vec::new(), Vec::new());
    let both = before.zip(after);
    let split =
        both.is_some_and(|(before, after)| parts(before, &mut was) && parts(after, &mut is));
    if !split {
        found.push(Difference {
            path: path.clone(),
            before: before.cloned(),
            after: after.cloned(),
        });
        return;
    }
    let order_before = found.len();
    for (name, value) in &was {
        path.push((*name).to_owned());
        walk(path, Some(value), named(&is, name), found);
        path.pop();
    }
    for (name, value) in &is {
        if named(&was, name).is_none() {
            path.push((*name).to_owned());
            walk(path, None, Some(value), found);
            path.pop();
        }
    }
    if found.len() == order_before {
        // The same items in another order.
        let names =
            |parts: &[(&str, &Value)]| parts.iter().map(|(name, _)| (*name).into()).collect();
        path.push("order".to_owned());
        found.push(Difference {
            path: path.clone(),
            before: Some(Value::Array(names(&was))),
            after: Some(Value::Array(names(&is))),
        });
        path.pop();
    }
}

/// Splits objects, and lists whose items have names; `false` for other values.
fn parts<'a>(value: &'a Value, into: &mut Vec<(&'a str, &'a Value)>) -> bool {
    match value {
        Value::Object(fields) => {
            into.extend(fields.iter().map(|(name, value)| (&**name, value)));
            true
        }
        Value::Array(items) => items.iter().all(|item| {
            let name = item.get("name").and_then(Value::as_str);
            let fresh = name.filter(|name| named(into, name).is_none());
            into.extend(fresh.map(|name| (name, item)));
            fresh.is_some()
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn named<'a>(parts: &[(&str, &'a Value)], name: &str) -> Option<&'a Value> {
    let found = parts.iter().find(|(is, _)| *is == name);
    found.map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn shows(before: &Value, after: &Value, lines: &[&str]) {
        let found = differences(Some(before), Some(after));
        let shown: Vec<String> = found.iter().map(Difference::to_string).collect();
        assert_eq!(shown, lines);
    }

    #[test]
    fn shows_fields_and_policies_by_name() {
        let before = json!({ "id": "c", "key": ["user"], "policies": [
            { "name": "burst", "limit": 20, "per": "1s" }, { "name": "daily", "limit": 9, "per": "day" } ] });
        let after = json!({ "id": "c", "key": ["user", "ip"], "plan": "free", "policies": [
            { "name": "new", "limit": 1, "per": "1s" }, { "name": "burst", "limit": 50, "per": "1s" } ] });
        shows(
            &before,
            &after,
            &[
                r#"key: ["user"] -> ["user","ip"]"#,
                "policies.burst.limit: 20 -> 50",
                r#"policies.daily: removed, was {"limit":9,"name":"daily","per":"day"}"#,
                r#"policies.new: added {"limit":1,"name":"new","per":"1s"}"#,
                r#"plan: added "free""#,
            ],
        );
    }

    #[test]
    fn shows_another_order_and_nothing_for_the_same() {
        let policies =
            |first, second| json!({ "policies": [{ "name": first }, { "name": second }] });
        shows(&policies("a", "b"), &policies("a", "b"), &[]);
        shows(
            &policies("a", "b"),
            &policies("b", "a"),
            &[r#"policies.order: ["a","b"] -> ["b","a"]"#],
        );
    }

    #[test]
    fn shows_what_came_and_what_went_as_a_whole() {
        let document = json!({ "id": "c" });
        let made = differences(None, Some(&document));
        assert_eq!(made[0].to_string(), r#"everything: added {"id":"c"}"#);
        let gone = differences(Some(&document), None);
        assert_eq!(
            gone[0].to_string(),
            r#"everything: removed, was {"id":"c"}"#
        );
        assert!(differences(None, None).is_empty());
    }
}

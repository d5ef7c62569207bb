//! A document as YAML that people like to read: one line for each policy, quotes only where they are needed.

use serde_json::Value;

/// The order in which people write fields; others follow.
const ORDER: [&str; 16] = [
    "id",
    "identity",
    "plan",
    "follows",
    "contract",
    "match",
    "key",
    "coordination",
    "headers",
    "name",
    "limit",
    "per",
    "burst",
    "algorithm",
    "from",
    "until",
];

/// Parsing the YAML gives the same document.
pub fn yaml(document: &Value) -> String {
    let Value::Object(map) = document else {
        return format!("{}\n", flow(document));
    };
    let fields = sorted(map).into_iter().map(|(name, value)| match value {
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let lines: Vec<String> = items.iter().map(flow).collect();
            format!("{}:\n  - {}\n", scalar(name), lines.join("\n  - "))
        }
        other => format!("{}: {}\n", scalar(name), flow(other)),
    });
    if map.is_empty() {
        "{}\n".to_owned()
    } else {
        fields.collect()
    }
}

fn sorted(map: &serde_json::Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut fields: Vec<_> = map.iter().collect();
    fields.sort_by_key(|(name, _)| {
        ORDER
            .iter()
            .position(|known| known == name)
            .unwrap_or(ORDER.len())
    });
    fields
}

fn flow(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => scalar(text),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(flow).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let fields = sorted(map)
                .into_iter()
                .map(|(name, value)| format!("{}: {}", scalar(name), flow(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

fn scalar(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    // The quotes of JSON are quotes of YAML, but for characters that YAML takes for the end of a line.
    let quoted = Value::from(text).to_string();
    let escape = |character: char| match character {
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
            format!("\\u{:04x}", u32::from(character))
        }
        other => other.to_string(),
    };
    quoted.chars().map(escape).collect()
}

/// Whether every YAML parser reads the word as text.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    let is_time = text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(|c: char| "wdhms".contains(c))
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || "wdhmsun".contains(c));
    (is_word || is_time) && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_as_people_write_it() {
        let document = json!({ "policies": [{ "per": "1s", "name": "burst", "limit": 20 }], "id": "free", "key": ["user"], "match": { "plan": "1.10", "no": "*" } });
        assert_eq!(
            yaml(&document),
            "id: free\nmatch: { plan: \"1.10\", \"no\": \"*\" }\nkey: [user]\npolicies:\n  - { name: burst, limit: 20, per: 1s }\n"
        );
    }
}

//! The JSON schema of the contract file, for editors and other programs that write one.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::NAME_BYTES_MAX;
use crate::contracts::Unmatched;
use crate::dialect::Dialect;
use crate::duration;
use crate::fields::{FieldShape, PolicyField};
use crate::modes::Coordination;
use crate::raw::{RawFile, RawPolicy};

/// The JSON schema (draft 2020-12) of the contract file, indented, with a line end.
pub fn json_schema() -> String {
    let generator = SchemaSettings::draft2020_12().into_generator();
    format!(
        "{:#}\n",
        generator.into_root_schema_for::<RawFile>().to_value()
    )
}

impl JsonSchema for RawPolicy {
    fn schema_name() -> Cow<'static, str> {
        "Policy".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = json_schema!({
            "description": "How many in what time, counted how. `limit` and `per` are needed unless a plan gives them.",
            "type": "object",
            "properties": {},
            "required": ["name"],
            "additionalProperties": false,
        });
        let properties = schema
            .ensure_object()
            .get_mut("properties")
            .and_then(|all| all.as_object_mut());
        if let Some(properties) = properties {
            for row in PolicyField::all() {
                let mut value = shape(row.shape);
                if row.of_contract {
                    // What is absent here is the contract's, whose own default is in its schema.
                    value.remove("default");
                }
                value.insert("description".into(), described(row).into());
                properties.insert(row.name.into(), value.to_value());
            }
        }
        schema
    }
}

/// How nodes agree about a policy.
pub(crate) fn coordination(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Coordination::NAMES, "default": "local" })
}

/// Which header fields tell clients of their quota.
pub(crate) fn headers(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Dialect::NAMES })
}

/// What becomes of a key that no contract binds.
pub(crate) fn unmatched(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Unmatched::NAMES, "default": "warn" })
}

/// What a field says, and what where it says nothing.
fn described(row: &PolicyField) -> String {
    let absent = match row.absent {
        "" => String::new(),
        what => format!(" Where absent: {what}."),
    };
    let only = row
        .mode()
        .map(|mode| format!(" Only with coordination: {}.", mode.name()));
    format!("{}{absent}{}", row.about, only.unwrap_or_default())
}

fn shape(shape: FieldShape) -> Schema {
    match shape {
        FieldShape::Name => {
            json_schema!({ "type": "string", "minLength": 1, "maxLength": NAME_BYTES_MAX })
        }
        FieldShape::Zone => {
            json_schema!({ "type": "string", "minLength": 1, "examples": ["Europe/Ljubljana"] })
        }
        FieldShape::Whole(least, most) => {
            json_schema!({ "type": "integer", "minimum": least, "maximum": most })
        }
        FieldShape::Duration | FieldShape::Within(..) => json_schema!({
            "type": "string",
            "pattern": duration::PATTERN,
            "examples": ["250ms", "1s", "1h30m", "minute", "day"],
        }),
        FieldShape::Choice(names) => {
            json_schema!({ "type": "string", "enum": names, "default": names[0] })
        }
        FieldShape::Switch => json_schema!({ "type": "boolean", "default": false }),
    }
}

//! The JSON schema of the contract file, for editors and other programs that write one.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::NAME_BYTES_MAX;
use crate::contracts::Unmatched;
use crate::coordination;
use crate::dialect::Dialect;
use crate::duration;
use crate::fields::{Field, ROWS, Shape};
use crate::raw::{
    CoordinationSchema, DesignSchema, HeadersSchema, RawFile, RawPolicy, UnmatchedSchema,
};

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
            for row in ROWS {
                let mut value = shape(row.shape);
                if matches!(row.field, Field::Coordination | Field::Design) {
                    // What is absent here is the contract's, whose own default is in its schema.
                    value.remove("default");
                }
                value.insert("description".into(), row.about.into());
                properties.insert(row.name.into(), value.to_value());
            }
        }
        schema
    }
}

impl JsonSchema for CoordinationSchema {
    fn schema_name() -> Cow<'static, str> {
        "Coordination".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": coordination::NAMES, "default": "local" })
    }
}

impl JsonSchema for DesignSchema {
    fn schema_name() -> Cow<'static, str> {
        "Design".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": coordination::DESIGNS, "default": "auto" })
    }
}

impl JsonSchema for HeadersSchema {
    fn schema_name() -> Cow<'static, str> {
        "Headers".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Dialect::NAMES })
    }
}

impl JsonSchema for UnmatchedSchema {
    fn schema_name() -> Cow<'static, str> {
        "Unmatched".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Unmatched::NAMES, "default": "warn" })
    }
}

fn shape(shape: Shape) -> Schema {
    match shape {
        Shape::Name => {
            json_schema!({ "type": "string", "minLength": 1, "maxLength": NAME_BYTES_MAX })
        }
        Shape::Zone => {
            json_schema!({ "type": "string", "minLength": 1, "examples": ["Europe/Ljubljana"] })
        }
        Shape::Whole(least, most) => {
            json_schema!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Shape::Duration => json_schema!({
            "type": "string",
            "pattern": duration::PATTERN,
            "examples": ["250ms", "1s", "1h30m", "minute", "day"],
        }),
        Shape::Choice(names) => {
            json_schema!({ "type": "string", "enum": names, "default": names[0] })
        }
        Shape::Switch => json_schema!({ "type": "boolean", "default": false }),
    }
}

//! A small judge of values by the part of JSON Schema that our tools use.

use serde_json::Value;

/// Checks a value against a schema; says where and how it differs.
pub(crate) fn conforms(value: &Value, schema: &Value) -> Result<(), String> {
    at("$", value, schema)
}

fn at(path: &str, value: &Value, schema: &Value) -> Result<(), String> {
    for key in schema.as_object().into_iter().flatten().map(|(key, _)| key) {
        const KNOWN: [&str; 14] = [
            "type",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "enum",
            "description",
            "minimum",
            "maximum",
            "minItems",
            "maxItems",
            "minLength",
            "default",
            "maxLength",
        ];
        if !KNOWN.contains(&key.as_str()) {
            return Err(format!(
                "{path}: the schema uses `{key}`, which is not judged here"
            ));
        }
    }
    if let Some(kind) = schema["type"].as_str()
        && !is_a(kind, value)
    {
        return Err(format!("{path}: {value} is no {kind}"));
    }
    if let Some(choices) = schema["enum"].as_array()
        && !choices.contains(value)
    {
        return Err(format!("{path}: {value} is none of {choices:?}"));
    }
    if let (Some(least), Some(number)) = (schema["minimum"].as_f64(), value.as_f64())
        && number < least
    {
        return Err(format!("{path}: {number} is less than {least}"));
    }
    for required in schema["required"].as_array().into_iter().flatten() {
        if value[required.as_str().unwrap_or_default()].is_null() {
            return Err(format!("{path}: {required} is missing"));
        }
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        let known = &schema["properties"][name];
        if known.is_null() {
            return Err(format!("{path}: `{name}` is not in the schema"));
        }
        at(&format!("{path}.{name}"), member, known)?;
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        at(&format!("{path}[{index}]"), item, &schema["items"])?;
    }
    Ok(())
}

fn is_a(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "null" => value.is_null(),
        _ => false,
    }
}

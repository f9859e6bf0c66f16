//! Arguments: JSON from a model, turned into a typed value or into an error that names the field.

use seamfs_core::{ErrorCode, FsError, Result};
use serde::Deserialize;
use serde::de::{self, DeserializeOwned, Deserializer, Unexpected, Visitor};
use serde_json::Value;

/// The most characters of a parser's own words in a message; they may quote what was given.
const MOST_QUOTED: usize = 300;

/// Parses arguments; missing ones altogether count as an empty object.
pub(crate) fn parse<T: DeserializeOwned>(arguments: Value) -> Result<T> {
    let object = match arguments {
        Value::Null => Value::Object(serde_json::Map::new()),
        Value::Object(_) => arguments,
        other => {
            return Err(invalid(format!(
                "the arguments must be a JSON object, not {}",
                kind_of(&other)
            )));
        }
    };
    typed_at(object).map_err(|(field, reason)| {
        invalid(match field {
            Some(field) => format!("argument `{field}`: {reason}"),
            None => reason,
        })
    })
}

/// Makes a value of a type, or says in plain words which field does not fit and what would.
///
/// # Errors
/// The words, bounded and without control characters.
pub fn typed<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    typed_at(value).map_err(|(field, reason)| match field {
        Some(field) => format!("`{field}`: {reason}"),
        None => reason,
    })
}

/// Says apart which field it is, unless the reason names it.
fn typed_at<T: DeserializeOwned>(value: Value) -> Result<T, (Option<String>, String)> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let field = bounded(&error.path().to_string());
        let reason = reworded(&error.into_inner().to_string());
        let named = field == "." || reason.starts_with("there is no ");
        ((!named).then_some(field), reason)
    })
}

/// Says in our words what a parser says of a value in its own; what it quotes is bounded.
fn reworded(reason: &str) -> String {
    let quoted = |text: &str| bounded(text.trim_matches('`'));
    let list = |names: &str| {
        let names = names
            .trim_start_matches("one of ")
            .replace(" or ", ", ")
            .replace('`', "");
        bounded(&names)
    };
    if let Some(field) = reason.strip_prefix("missing field ") {
        return format!("`{}` is missing", quoted(field));
    }
    let unknown = |kind: &str| reason.strip_prefix(kind)?.rsplit_once(", expected ");
    if let Some((field, known)) = unknown("unknown field ") {
        return format!("there is no `{}`; there are {}", quoted(field), list(known));
    }
    if let Some((word, known)) = unknown("unknown variant ") {
        return format!("is \"{}\"; it must be one of {}", quoted(word), list(known));
    }
    let of_kind = ["invalid type: ", "invalid value: "];
    let of_kind = of_kind.iter().find_map(|kind| unknown(kind));
    match of_kind {
        Some((given, expected)) => {
            let expected = match expected {
                "a sequence" => "an array",
                "a map" => "an object",
                structure if structure.starts_with("struct ") => "an object",
                other => other,
            };
            format!("is {}; it must be {}", kind_named(given), bounded(expected))
        }
        None => bounded(reason),
    }
}

/// Names in JSON's terms what a parser was given.
fn kind_named(given: &str) -> String {
    let of = |kind: &str| {
        given
            .strip_prefix(kind)
            .map(|rest| rest.trim_matches([' ', '`']))
    };
    if let Some(number) = of("integer").or(of("floating point")) {
        return format!("the number {}", bounded(number));
    }
    if let Some(flag) = of("boolean") {
        return bounded(flag);
    }
    match given {
        "sequence" => "an array".to_owned(),
        "map" => "an object".to_owned(),
        "null" | "unit" | "unit value" => "null".to_owned(),
        text if text.starts_with("string ") => "a string".to_owned(),
        other => bounded(other),
    }
}

/// Takes a yes or no that may be left out, or be null, which is the same.
pub(crate) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Makes the error of a bad argument.
pub(crate) fn invalid(message: impl Into<String>) -> FsError {
    FsError::new(ErrorCode::InvalidArgument, message.into())
}

/// Refuses a NUL in text that is to be stored: the file would be no text to any tool here.
pub(crate) fn refuse_nul(argument: &str, text: &str) -> Result<()> {
    match memchr::memchr(0, text.as_bytes()) {
        None => Ok(()),
        Some(at) => Err(invalid(format!(
            "argument `{argument}`: holds a NUL character at byte {at}; text here holds none"
        ))),
    }
}

/// Refuses texts that no replacement can be made of, by the names that the caller gave them.
pub(crate) fn check_replacement(old: (&str, &str), new: (&str, &str)) -> Result<()> {
    if old.1.is_empty() {
        return Err(invalid(format!(
            "argument `{}`: is empty; it must hold the text to replace",
            old.0
        )));
    }
    if old.1 == new.1 {
        return Err(invalid(format!(
            "arguments `{}` and `{}`: are the same; nothing would change",
            old.0, new.0
        )));
    }
    Ok(())
}

/// Cuts a parser's words, and leaves nothing invisible in what they quote.
fn bounded(text: &str) -> String {
    let mut shown = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == MOST_QUOTED {
            shown.push('…');
            break;
        }
        match character.is_control() {
            true => shown.extend(character.escape_debug()),
            false => shown.push(character),
        }
    }
    shown
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// An integer that JSON may also spell `3.0`, as JSON Schema has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Integer(pub(crate) i64);

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IntegerVisitor;

        impl Visitor<'_> for IntegerVisitor {
            type Value = Integer;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an integer")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Integer, E> {
                Ok(Integer(value))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Integer, E> {
                Ok(Integer(i64::try_from(value).unwrap_or(i64::MAX)))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Integer, E> {
                // Every integer up to 2^53 is exact; none beyond is a line number.
                if value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0 {
                    return Ok(Integer(value as i64));
                }
                Err(E::invalid_type(Unexpected::Float(value), &self))
            }
        }

        deserializer.deserialize_any(IntegerVisitor)
    }
}

impl Integer {
    /// Checks the value against the bounds of an argument, both inclusive.
    pub(crate) fn within(self, argument: &str, low: u64, high: u64) -> Result<u64> {
        match u64::try_from(self.0) {
            Ok(value) if (low..=high).contains(&value) => Ok(value),
            _ if high == u64::MAX => Err(invalid(format!(
                "argument `{argument}`: is {}; it must be an integer of at least {low}",
                self.0
            ))),
            _ => Err(invalid(format!(
                "argument `{argument}`: is {}; it must be an integer from {low} to {high}",
                self.0
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Sample {
        file_path: String,
        #[serde(default)]
        offset: Option<Integer>,
    }

    fn message(arguments: Value) -> String {
        let error = parse::<Sample>(arguments).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        error.message().to_owned()
    }

    #[test]
    fn b190_bad_arguments_are_named() {
        assert!(message(json!({"file_path": 3})).contains("`file_path`"));
        assert!(message(json!({"file_path": "a", "offset": "1"})).contains("`offset`"));
        assert!(message(json!({"file_path": "a", "ofset": 1})).contains("ofset"));
        assert!(message(json!({})).contains("file_path"));
        assert!(message(json!(null)).contains("file_path"));
        assert!(message(json!([1])).contains("an array"));
    }

    #[test]
    fn what_does_not_fit_is_said_in_plain_words() {
        for (arguments, expected) in [
            (json!({}), "`file_path` is missing"),
            (
                json!({"file_path": null}),
                "argument `file_path`: is null; it must be a string",
            ),
            (
                json!({"file_path": ["a"]}),
                "argument `file_path`: is an array; it must be a string",
            ),
            (
                json!({"file_path": 3}),
                "argument `file_path`: is the number 3; it must be a string",
            ),
            (
                json!({"file_path": "a", "offset": "1"}),
                "argument `offset`: is a string; it must be an integer",
            ),
            (
                json!({"file_path": "a", "offset": true}),
                "argument `offset`: is true; it must be an integer",
            ),
            (
                json!({"file_path": "a", "offset": 1.5}),
                "argument `offset`: is the number 1.5; it must be an integer",
            ),
        ] {
            assert_eq!(message(arguments), expected);
        }
        let unknown = message(json!({"file_path": "a", "of\u{7}set": 1}));
        assert_eq!(
            unknown,
            "there is no `of\\u{7}set`; there are file_path, offset"
        );
        assert_eq!(
            reworded("unknown variant `veiw`, expected one of `view`, `create`"),
            "is \"veiw\"; it must be one of view, create"
        );
    }

    #[test]
    fn null_is_as_good_as_nothing_where_an_argument_may_be_left_out() {
        #[derive(Deserialize)]
        struct Flagged {
            #[serde(default, deserialize_with = "flag")]
            all: bool,
        }
        for (given, all) in [
            (json!({}), false),
            (json!({"all": null}), false),
            (json!({"all": true}), true),
        ] {
            assert_eq!(parse::<Flagged>(given).unwrap().all, all);
        }
        assert!(parse::<Flagged>(json!({"all": "yes"})).is_err());
        assert!(parse::<Sample>(json!({"file_path": "a", "offset": null})).is_ok());
    }

    #[test]
    fn t10_a_long_argument_is_not_echoed_whole() {
        let long = "x".repeat(100_000);
        assert!(message(json!({"file_path": "a", "offset": long})).len() < 1000);
    }

    #[test]
    fn integers_may_be_spelled_with_a_point_and_are_bounded() {
        let sample: Sample = parse(json!({"file_path": "a", "offset": 3.0})).unwrap();
        let offset = sample.offset.unwrap();
        assert_eq!(offset.within("offset", 1, u64::MAX).unwrap(), 3);
        for (value, part) in [
            (0, "from 1 to 2000"),
            (2001, "from 1 to 2000"),
            (-1, "is -1"),
        ] {
            let error = Integer(value).within("limit", 1, 2000).unwrap_err();
            assert!(error.message().contains(part), "{error}");
        }
        assert!(message(json!({"file_path": "a", "offset": 1.5})).contains("integer"));
    }
}

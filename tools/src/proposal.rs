//! The proposal: a call's arguments as the person reads them who decides on it.

use seamfs_core::text::{counted, push_printable};
use serde_json::Value;

/// The most lines of one text that are shown.
const MOST_LINES: usize = 20;

/// The most characters of one line that are shown.
const MOST_CHARS: usize = 120;

/// The most arguments that are shown.
const MOST_ARGUMENTS: usize = 12;

/// Shows the arguments of a call, one after the other.
///
/// What a model wrote can neither steer a terminal nor begin a line: texts stand behind a `|`.
pub(crate) fn shown(arguments: &Value) -> String {
    let mut text = String::new();
    let given = arguments.as_object().into_iter().flatten();
    for (name, value) in given.take(MOST_ARGUMENTS) {
        push_line(&mut text, name);
        text.push(':');
        match value {
            Value::String(piece) if piece.contains('\n') || piece.chars().count() > MOST_CHARS => {
                push_rows(&mut text, piece);
            }
            value => {
                text.push(' ');
                push_line(&mut text, &value.to_string());
            }
        }
        text.push('\n');
    }
    text.pop();
    text
}

/// Appends a text of several lines, each behind a `|`.
fn push_rows(text: &mut String, piece: &str) {
    let mut lines = piece.split('\n');
    for line in lines.by_ref().take(MOST_LINES) {
        text.push_str("\n  | ");
        push_line(text, line);
    }
    let left = lines.count();
    if left > 0 {
        text.push_str("\n  … ");
        text.push_str(&counted(left as u64, "more line"));
    }
}

fn push_line(text: &mut String, line: &str) {
    let mut characters = line.chars();
    for character in characters.by_ref().take(MOST_CHARS) {
        push_printable(text, character);
    }
    let left = characters.count();
    if left > 0 {
        text.push_str(" … [");
        text.push_str(&counted(left as u64, "character"));
        text.push_str(" more]");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_shown_line_by_line_and_the_rest_as_it_is() {
        let shown = shown(&json!({
            "file_path": "a.txt", "old_string": "one", "new_string": "one\ntwo\n",
            "replace_all": true,
        }));
        assert_eq!(
            shown,
            "file_path: \"a.txt\"\nold_string: \"one\"\nnew_string:\n  | one\n  | two\n  | \n\
             replace_all: true"
        );
    }

    #[test]
    fn nothing_that_a_model_wrote_begins_a_line_or_steers_a_terminal() {
        let hostile = "x\r\n\u{1b}[2J\u{202e}\u{9b}\u{7}\nAllow it? y\u{2028}\n";
        for value in [
            json!(hostile),
            json!([hostile]),
            json!({ hostile: hostile }),
        ] {
            let shown = shown(&json!({ "content": value, hostile: 1 }));
            for line in shown.lines() {
                let named = line.starts_with("content:") || line.starts_with("x\\u{d}");
                assert!(named || line.starts_with("  | "), "{line:?}");
                let plain = |c: char| !c.is_control() && !"\u{202e}\u{2028}".contains(c);
                assert!(line.chars().all(plain), "{line:?}");
            }
        }
    }

    #[test]
    fn a_proposal_is_bounded_and_says_what_it_leaves_out() {
        let lines = "y\n".repeat(100_000);
        let long = "z".repeat(1_000_000);
        let text = shown(&json!({ "content": lines, "file_path": long }));
        assert!(text.contains("… 99981 more lines"), "{text}");
        assert!(text.contains("… [999880 characters more]"), "{text}");
        let many = (0..1000).map(|n| (format!("{n}"), json!(&lines)));
        let many = Value::Object(many.collect());
        assert!(shown(&many).len() < MOST_ARGUMENTS * (MOST_LINES + 2) * (MOST_CHARS + 40));
    }
}

//! Quoting pieces of text in messages: bounded, and with nothing invisible left in.

use std::fmt::Write as _;

/// Quotes a piece of text on one line, showing at most `max_chars` of its characters.
///
/// Control characters are escaped; what was left out is counted after the quote.
pub fn quote(piece: &str, max_chars: usize) -> String {
    let mut out = String::from("\"");
    let omitted = write_capped(
        &mut out,
        piece,
        max_chars,
        |out, character| match character {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ => push_printable(out, character),
        },
    );
    out.push('"');
    push_omitted(&mut out, omitted);
    out
}

/// Shows a piece of text with its blanks made visible: `·` for a space, `→` for a tab,
/// `␍` for a carriage return, `␊` for a line feed, `⍽` for a no-break space.
///
/// At most `max_chars` characters are shown; what was left out is counted after them.
pub fn visible(piece: &str, max_chars: usize) -> String {
    let mut out = String::new();
    let omitted = write_capped(
        &mut out,
        piece,
        max_chars,
        |out, character| match character {
            ' ' => out.push('·'),
            '\t' => out.push('→'),
            '\r' => out.push('␍'),
            '\n' => out.push('␊'),
            '\u{a0}' => out.push('⍽'),
            _ => push_printable(out, character),
        },
    );
    push_omitted(&mut out, omitted);
    out
}

/// Returns a number and its noun, which takes an `s` unless there is one: `1 byte`, `2 bytes`.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Cuts a text to at most `max_bytes` on a character boundary.
pub fn truncate(text: &str, max_bytes: usize) -> &str {
    let mut end = max_bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn write_capped(
    out: &mut String,
    piece: &str,
    max_chars: usize,
    mut write: impl FnMut(&mut String, char),
) -> usize {
    let mut characters = piece.chars();
    for character in characters.by_ref().take(max_chars) {
        write(out, character);
    }
    characters.as_str().len()
}

/// Appends a character of somebody else's text to a message; controls, and characters that only
/// steer layout and would hide or reorder the message, are escaped.
pub fn push_printable(out: &mut String, character: char) {
    let steers_layout = matches!(
        character,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    );
    if character.is_control() || steers_layout {
        // Writing to a String cannot fail.
        let _ = write!(out, "\\u{{{:x}}}", character as u32);
    } else {
        out.push(character);
    }
}

fn push_omitted(out: &mut String, omitted: usize) {
    if omitted > 0 {
        let omitted = counted(omitted as u64, "byte");
        let _ = write!(out, "… [{omitted} more]");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quote_escapes_controls_and_caps_on_a_character() {
        assert_eq!(quote("a\tb\r\n\u{1b}[1m", 50), "\"a\\tb\\r\\n\\u{1b}[1m\"");
        assert_eq!(quote("한국어", 2), "\"한국\"… [3 bytes more]");
    }

    #[test]
    fn visible_marks_every_blank() {
        assert_eq!(visible("\t a \r\n\u{a0}\u{200b}", 50), "→·a·␍␊⍽\\u{200b}");
    }

    #[test]
    fn truncate_keeps_characters_whole() {
        assert_eq!(truncate("a한", 3), "a");
        assert_eq!(truncate("a한", 4), "a한");
    }
}

//! Planning the insertion of lines: what `insert` does to a file.

use std::fmt;

use memchr::{memchr, memchr_iter, memrchr};

use super::decode::Text;
use super::lines::{LineEnding, LineRange};
use super::splice::Splices;

/// An insertion ready to be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insertion {
    /// What changes; applied to the bytes it was planned for.
    pub splices: Splices,
    /// The lines the new text occupies.
    pub lines: LineRange,
}

/// The row to insert after does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InsertOutOfRange {
    /// How many rows `view` shows; the valid rows are 0 to this.
    pub rows: u64,
}

impl fmt::Display for InsertOutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the row to insert after must be between 0 and {}",
            self.rows
        )
    }
}

impl std::error::Error for InsertOutOfRange {}

/// Plans the insertion of `new` after row `insert_line`, as `view` numbers rows.
///
/// The rows of the text (split on LF, so a final newline leaves a last empty row) and
/// those of the new text are joined again. A final newline of the new text is not
/// doubled when a row follows. Existing endings stay; new ones take that of the line
/// before, or at the start that of the first line.
pub fn plan_insert(
    text: &Text<'_>,
    insert_line: usize,
    new: &str,
) -> Result<Insertion, InsertOutOfRange> {
    let body = text.body().as_bytes();
    let place = Place::find(body, insert_line)?;
    let mut inserted = String::with_capacity(new.len() + 2);
    if place.at_end {
        inserted.push_str(place.ending.as_str());
    }
    push_with_ending(&mut inserted, new, place.ending);
    if !place.at_end && !new.ends_with('\n') {
        inserted.push_str(place.ending.as_str());
    }
    let splices = Splices::insertion(
        text.body_start() + place.offset,
        inserted,
        text.bytes().len(),
    )
    .expect("a row begins inside the file");
    Ok(Insertion {
        splices,
        lines: occupied(insert_line, new),
    })
}

/// Where rows are inserted.
struct Place {
    offset: usize,
    /// After the last row, which has no terminator yet.
    at_end: bool,
    ending: LineEnding,
}

impl Place {
    fn find(body: &[u8], insert_line: usize) -> Result<Self, InsertOutOfRange> {
        let rows = memchr_iter(b'\n', body).count() + 1;
        if insert_line > rows {
            return Err(InsertOutOfRange { rows: rows as u64 });
        }
        let at_end = insert_line == rows;
        let before = match insert_line.checked_sub(1) {
            None => memchr(b'\n', body),
            Some(_) if at_end => memrchr(b'\n', body),
            Some(previous) => memchr_iter(b'\n', body).nth(previous),
        };
        let offset = match before {
            _ if at_end => body.len(),
            Some(feed) if insert_line > 0 => feed + 1,
            _ => 0,
        };
        let ending = before.map_or(LineEnding::Lf, |feed| LineEnding::at(body, feed));
        Ok(Self {
            offset,
            at_end,
            ending,
        })
    }
}

/// Writes a text, its bare line feeds as the given ending.
fn push_with_ending(out: &mut String, text: &str, ending: LineEnding) {
    let mut written = 0;
    for feed in memchr_iter(b'\n', text.as_bytes()) {
        out.push_str(&text[written..feed]);
        let explicit = text[..feed].ends_with('\r');
        out.push_str(if explicit { "\n" } else { ending.as_str() });
        written = feed + 1;
    }
    out.push_str(&text[written..]);
}

fn occupied(insert_line: usize, new: &str) -> LineRange {
    let rows = memchr_iter(b'\n', new.as_bytes()).count() + usize::from(!new.ends_with('\n'));
    LineRange {
        start: insert_line as u64 + 1,
        end: (insert_line + rows) as u64,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::samples::{lf_text, text};

    fn inserted(file: &str, insert_line: usize, new: &str) -> String {
        let plan = plan_insert(&Text::decode(file.as_bytes()).unwrap(), insert_line, new).unwrap();
        String::from_utf8(plan.splices.apply(file.as_bytes())).unwrap()
    }

    #[test]
    fn s8_the_table() {
        assert_eq!(inserted("a\nb\n", 0, "x"), "x\na\nb\n");
        assert_eq!(inserted("a\nb\n", 1, "x"), "a\nx\nb\n");
        assert_eq!(inserted("a\nb\n", 1, "x\n"), "a\nx\nb\n");
        assert_eq!(inserted("a\nb\n", 3, "x"), "a\nb\n\nx");
        assert_eq!(inserted("a", 1, "x"), "a\nx");
        assert_eq!(inserted("a", 1, "x\n"), "a\nx\n");
        assert_eq!(inserted("", 0, "x"), "x\n");
    }

    #[test]
    fn s8_the_table_with_crlf() {
        assert_eq!(inserted("a\r\nb\r\n", 0, "x"), "x\r\na\r\nb\r\n");
        assert_eq!(inserted("a\r\nb\r\n", 1, "x"), "a\r\nx\r\nb\r\n");
        assert_eq!(inserted("a\r\nb\r\n", 1, "x\n"), "a\r\nx\r\nb\r\n");
        assert_eq!(inserted("a\r\nb\r\n", 1, "x\r\n"), "a\r\nx\r\nb\r\n");
        assert_eq!(inserted("a\r\nb\r\n", 3, "x"), "a\r\nb\r\n\r\nx");
        assert_eq!(inserted("a\r\nb", 2, "x\ny\n"), "a\r\nb\r\nx\r\ny\r\n");
    }

    #[test]
    fn s8_each_line_takes_the_ending_of_its_neighbour() {
        assert_eq!(inserted("a\r\nb\nc\n", 1, "x"), "a\r\nx\r\nb\nc\n");
        assert_eq!(inserted("a\r\nb\nc\n", 2, "x"), "a\r\nb\nx\nc\n");
        assert_eq!(inserted("\u{feff}a\r\nb", 0, "x"), "\u{feff}x\r\na\r\nb");
    }

    #[test]
    fn b051_b075_b100_field_cases() {
        assert_eq!(inserted("last", 1, "new\n"), "last\nnew\n");
        assert_eq!(inserted("last", 0, "first\n"), "first\nlast");
        assert_eq!(
            inserted("c:\n\trm a\n", 2, "\trm b\n"),
            "c:\n\trm a\n\trm b\n"
        );
        let text = Text::decode(b"1\n2\n3\n").unwrap();
        assert_eq!(
            plan_insert(&text, 99, "x"),
            Err(InsertOutOfRange { rows: 4 })
        );
    }

    #[test]
    fn the_lines_occupied_are_reported() {
        let range = |file: &str, line, new| {
            plan_insert(&Text::decode(file.as_bytes()).unwrap(), line, new)
                .unwrap()
                .lines
        };
        assert_eq!(range("a\nb\n", 1, "x\ny\n"), LineRange { start: 2, end: 3 });
        assert_eq!(range("a", 1, "x"), LineRange { start: 2, end: 2 });
        assert_eq!(range("a\n", 0, ""), LineRange { start: 1, end: 1 });
    }

    /// Rows split, put together and joined, word for word.
    fn joined(file: &str, insert_line: usize, new: &str) -> String {
        let rows: Vec<&str> = file.split('\n').collect();
        let (before, after) = rows.split_at(insert_line);
        let mut between: Vec<&str> = new.split('\n').collect();
        if !after.is_empty() && new.ends_with('\n') {
            between.pop();
        }
        [before, &between, after].concat().join("\n")
    }

    proptest! {
        #[test]
        fn s8_inserting_joins_rows(file in lf_text(16), at in any::<prop::sample::Index>(), new in lf_text(5)) {
            let rows = file.split('\n').count();
            let line = at.index(rows + 1);
            prop_assert_eq!(inserted(&file, line, &new), joined(&file, line, &new));
        }

        #[test]
        fn s8_existing_bytes_stay(file in text(16), at in any::<prop::sample::Index>(), new in text(5)) {
            let line = at.index(file.split('\n').count() + 1);
            let plan = plan_insert(&Text::decode(file.as_bytes()).unwrap(), line, &new).unwrap();
            let splice = &plan.splices.as_slice()[0];
            prop_assert!(splice.range.is_empty());
            let out = plan.splices.apply(file.as_bytes());
            prop_assert_eq!(&out[..splice.range.start], &file.as_bytes()[..splice.range.start]);
            prop_assert!(out.ends_with(&file.as_bytes()[splice.range.start..]));
        }
    }
}

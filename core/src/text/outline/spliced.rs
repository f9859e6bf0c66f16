//! Outlines carried through an edit: only the runs of lines that it touches are hashed again.

use memchr::{memchr_iter, memrchr_iter};

use super::{Outline, Outliner, Piece, joined};
use crate::text::Splices;

/// The runs that splices touch, by index, and where those lie in the text before.
struct Touched {
    runs: std::ops::Range<usize>,
    bytes: std::ops::Range<usize>,
}

impl Outline {
    /// Returns the outline of what splices make of a text, given the text's own.
    ///
    /// The splices are those planned for this text, and `line` is the 1-based line on which the
    /// first of them begins. The outcome serves as that of the new text taken whole does, though it
    /// may be coarser where the text became shorter.
    #[must_use]
    pub fn spliced(&self, text: &[u8], splices: &Splices, line: u64) -> Self {
        let Some(touched) = self.touched(text, splices, line) else {
            return self.clone();
        };
        let mut between = Outliner::default();
        between.outline.level = self.level;
        let mut at = touched.bytes.start;
        for splice in splices.as_slice() {
            between.push(&text[at..splice.range.start]);
            between.push(splice.replacement.as_bytes());
            at = splice.range.end;
        }
        between.push(&text[at..touched.bytes.end]);
        let between = between.finish();
        let mut outline = Self {
            pieces: joined(&self.pieces[..touched.runs.start], between.level),
            level: between.level,
        };
        let after = &self.pieces[touched.runs.end..];
        for piece in between.pieces.iter().chain(after) {
            outline.push(*piece);
        }
        outline.pieces.shrink_to_fit();
        outline
    }

    /// Finds the runs from that of the first splice to that of the last; none without splices.
    fn touched(&self, text: &[u8], splices: &Splices, line: u64) -> Option<Touched> {
        let (first, last) = (splices.as_slice().first()?, splices.as_slice().last()?);
        let (start, end) = (first.range.start, last.range.end);
        let (first_run, lines_before) = self.run_of(0, 0, line);
        let up = line.saturating_sub(lines_before + 1);
        let from = line_start(text, start, up);
        let last_line = line + memchr_iter(b'\n', &text[start..end]).count() as u64;
        let (last_run, before_last) = self.run_of(first_run, lines_before, last_line);
        let (run_end, to) = match self.pieces.get(last_run) {
            // The last run ends with the text, whether or not that ends in a line feed.
            Some(run) if last_run + 1 < self.pieces.len() => {
                let down = before_last + u64::from(run.lines) - last_line;
                (last_run + 1, line_end(text, end, down))
            }
            _ => (self.pieces.len(), text.len()),
        };
        Some(Touched {
            runs: first_run..run_end,
            bytes: from..to,
        })
    }

    /// Returns the run that holds a line, and how many lines come before that run; beyond the text
    /// the last one. The search begins at a run that so many lines come before.
    fn run_of(&self, from: usize, mut before: u64, line: u64) -> (usize, u64) {
        let last = self.pieces.len().saturating_sub(1);
        for (at, Piece { lines, .. }) in self.pieces.iter().enumerate().skip(from) {
            if line <= before + u64::from(*lines) || at == last {
                return (at, before);
            }
            before += u64::from(*lines);
        }
        (from, before)
    }
}

/// Returns where the line begins that is so many lines above the one at `offset`.
fn line_start(text: &[u8], offset: usize, up: u64) -> usize {
    let up = usize::try_from(up).unwrap_or(usize::MAX);
    let feed = memrchr_iter(b'\n', &text[..offset]).nth(up);
    feed.map_or(0, |feed| feed + 1)
}

/// Returns where the line ends that is so many lines below the one at `offset`.
fn line_end(text: &[u8], offset: usize, down: u64) -> usize {
    let down = usize::try_from(down).unwrap_or(usize::MAX);
    let feed = memchr_iter(b'\n', &text[offset..]).nth(down);
    feed.map_or(text.len(), |feed| offset + feed + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::samples::text;
    use crate::text::{LineCursor, Splice};

    /// An outline at this level or above, as it is before many lines have raised it.
    fn raised(text: &str, level: u32) -> Outline {
        let mut outliner = Outliner::default();
        outliner.outline.level = level;
        outliner.push(text.as_bytes());
        outliner.finish()
    }

    fn boundary(text: &str, at: usize) -> usize {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    proptest! {
        #[test]
        fn an_outline_carried_through_an_edit_is_that_of_the_new_text(
            old in text(40),
            mut cuts in proptest::collection::vec(0usize..200, 2..7),
            new in text(4),
            level in 0u32..4,
        ) {
            cuts.iter_mut().for_each(|cut| *cut = boundary(&old, *cut));
            cuts.sort_unstable();
            let splices = cuts.chunks_exact(2).map(|cut| Splice {
                range: cut[0]..cut[1],
                replacement: new.clone(),
            });
            let splices = Splices::new(splices.collect(), old.len()).unwrap();
            let line = LineCursor::new(old.as_bytes()).line_of(cuts[0]);
            let after = splices.apply(old.as_bytes());
            let carried = raised(&old, level).spliced(old.as_bytes(), &splices, line);
            prop_assert_eq!(carried, raised(std::str::from_utf8(&after).unwrap(), level));
        }
    }

    #[test]
    fn an_outline_that_grows_over_its_bound_becomes_coarser() {
        let old: String = (0..super::super::MOST_PIECES)
            .map(|line| format!("{line}\n"))
            .collect();
        let new: String = (0..9).map(|line| format!("new {line}\n")).collect();
        let splices = Splices::insertion(0, new.clone(), old.len()).unwrap();
        let carried = Outline::of(old.as_bytes()).spliced(old.as_bytes(), &splices, 1);
        assert_eq!(carried, Outline::of(format!("{new}{old}").as_bytes()));
        assert!(carried.size() <= 256 << 10);
    }
}

//! Finding the lines most like a given text.

use super::*;

/// How many places of one row of the given text are followed up.
const PLACES: usize = 4;
/// How many words of a row are searched for, and how many hits of each are weighed.
const WORDS: usize = 8;
const HITS: usize = 2000;

/// Finds where most rows stand in the file as they do in the given text, and returns
/// the line of the first; at least a third of the text must be there.
pub(super) fn block(body: &str, given: &[&str]) -> Option<u64> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut total = 0;
    for (row, text) in given
        .iter()
        .enumerate()
        .filter(|(_, text)| weight(text) > 0)
    {
        total += weight(text);
        places.entry(text.trim()).or_default().push(row);
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (line, text) in body.split('\n').enumerate() {
        let Some(rows) = places.get(text.trim()) else {
            continue;
        };
        for row in rows.iter().take(PLACES).filter(|row| **row <= line) {
            *votes.entry(line - row).or_default() += weight(text);
        }
    }
    let (start, found) = votes
        .into_iter()
        .max_by_key(|&(start, votes)| (votes, std::cmp::Reverse(start)))?;
    (found * 3 >= total).then_some(start as u64 + 1)
}

/// What finding a row is worth: nothing when it has no letter or digit.
fn weight(row: &str) -> usize {
    let row = row.trim();
    if row.contains(char::is_alphanumeric) {
        row.len().min(40)
    } else {
        0
    }
}

/// Finds the line that shares the most words with the most telling row, and returns
/// the line that the first row would stand on.
pub(super) fn line(body: &str, given: &[&str]) -> Option<u64> {
    let (row, text) = given
        .iter()
        .enumerate()
        .max_by_key(|(_, text)| text.trim().len().min(200))?;
    let words = words(text);
    let total: usize = words.iter().map(|word| word.len()).sum();
    let bytes = body.as_bytes();
    let mut best: Option<(usize, usize, usize)> = None;
    for word in &words {
        let mut from = 0;
        for _ in 0..HITS {
            let Some(found) = memmem::find(&bytes[from..], word.as_bytes()) else {
                break;
            };
            let start = memrchr(b'\n', &bytes[..from + found]).map_or(0, |feed| feed + 1);
            let end = memchr(b'\n', &bytes[from + found..])
                .map_or(bytes.len(), |feed| from + found + feed);
            let line = &body[start..end];
            let score: usize = words
                .iter()
                .filter(|word| line.contains(**word))
                .map(|word| word.len())
                .sum();
            let candidate = (score, shared_ends(line.trim(), text.trim()), start);
            let better =
                |best: (usize, usize, usize)| (candidate.0, candidate.1) > (best.0, best.1);
            if best.is_none_or(better) {
                best = Some(candidate);
            }
            from = end;
        }
    }
    let (score, _, start) = best?;
    let line = 1 + memchr_iter(b'\n', &bytes[..start]).count() as u64;
    (score * 5 >= total * 2).then(|| line.saturating_sub(row as u64).max(1))
}

/// Returns the longest words of a row; of long ones also their halves, so that a
/// misspelt word still finds its line.
fn words(row: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for word in row.split(|character: char| !(character.is_alphanumeric() || character == '_')) {
        if word.len() >= 2 {
            words.push(word);
        }
        let middle = (0..=word.len() / 2)
            .rev()
            .find(|at| word.is_char_boundary(*at))
            .unwrap_or(0);
        if word.len() >= 6 && middle > 0 {
            words.extend([&word[..middle], &word[middle..]]);
        }
    }
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.dedup();
    words.truncate(WORDS);
    words
}

fn shared_ends(a: &str, b: &str) -> usize {
    let same = |(a, b): &(u8, u8)| a == b;
    let start = a.bytes().zip(b.bytes()).take_while(same).count();
    let end = a
        .bytes()
        .rev()
        .zip(b.bytes().rev())
        .take_while(same)
        .count();
    (start + end).min(a.len().min(b.len()))
}

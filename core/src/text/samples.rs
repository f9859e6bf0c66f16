//! Generated texts for the property tests: small alphabets that make edges likely.
use proptest::prelude::*;

/// Draws texts over an alphabet biased to line ends, repeats and wide characters.
pub(crate) fn text(max_tokens: usize) -> impl Strategy<Value = String> {
    let token = prop_oneof![
        6 => Just("a"), 4 => Just("b"), 4 => Just("\n"), 3 => Just("\r\n"), 2 => Just("\r"),
        1 => Just("é"), 1 => Just("한"), 1 => Just("😀"), 1 => Just("\t"), 1 => Just(" "),
    ];
    proptest::collection::vec(token, 0..=max_tokens).prop_map(|tokens| tokens.concat())
}

/// Draws texts whose only line end is LF.
pub(crate) fn lf_text(max_tokens: usize) -> impl Strategy<Value = String> {
    text(max_tokens).prop_map(|text| text.replace('\r', ""))
}

/// Draws a text and a piece of it cut on character boundaries.
pub(crate) fn text_and_piece(max_tokens: usize) -> impl Strategy<Value = (String, String)> {
    (text(max_tokens), any::<prop::sample::Index>(), 1usize..6).prop_map(|(text, at, length)| {
        let characters: Vec<char> = text.chars().collect();
        let start = if characters.is_empty() {
            0
        } else {
            at.index(characters.len())
        };
        let piece = characters.iter().skip(start).take(length).collect();
        (text, piece)
    })
}

/// Cuts bytes into chunks at the given positions, taken modulo what is left.
pub(crate) fn chunks<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut chunks = Vec::new();
    let mut rest = bytes;
    for cut in cuts {
        let (chunk, after) = rest.split_at(cut % (rest.len() + 1));
        chunks.push(chunk);
        rest = after;
    }
    chunks.push(rest);
    chunks
}

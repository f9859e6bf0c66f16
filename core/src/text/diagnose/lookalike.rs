//! Characters that look alike: folding them for comparison and naming them in messages.

use std::fmt::Write as _;

use super::{Run, for_each_run, push_unified};

/// How many pairs of characters a message names.
const NAMED: usize = 4;

/// A character, what it is taken for, and its name.
const TABLE: &[(char, &str, &str)] = &[
    ('\u{2018}', "'", "left single quotation mark"),
    ('\u{2019}', "'", "right single quotation mark"),
    ('\u{201a}', "'", "low single quotation mark"),
    ('\u{201b}', "'", "reversed single quotation mark"),
    ('\u{2032}', "'", "prime"),
    ('\u{02bc}', "'", "modifier apostrophe"),
    ('\u{00b4}', "'", "acute accent"),
    ('\u{ff07}', "'", "fullwidth apostrophe"),
    ('\u{201c}', "\"", "left double quotation mark"),
    ('\u{201d}', "\"", "right double quotation mark"),
    ('\u{201e}', "\"", "low double quotation mark"),
    ('\u{201f}', "\"", "reversed double quotation mark"),
    ('\u{2033}', "\"", "double prime"),
    ('\u{ff02}', "\"", "fullwidth quotation mark"),
    ('\u{2010}', "-", "hyphen"),
    ('\u{2011}', "-", "non-breaking hyphen"),
    ('\u{2012}', "-", "figure dash"),
    ('\u{2013}', "-", "en dash"),
    ('\u{2014}', "-", "em dash"),
    ('\u{2015}', "-", "horizontal bar"),
    ('\u{2212}', "-", "minus sign"),
    ('\u{ff0d}', "-", "fullwidth hyphen"),
    ('\u{2026}', "...", "ellipsis"),
    ('\u{00a0}', " ", "no-break space"),
    ('\u{2002}', " ", "en space"),
    ('\u{2003}', " ", "em space"),
    ('\u{2007}', " ", "figure space"),
    ('\u{2009}', " ", "thin space"),
    ('\u{200a}', " ", "hair space"),
    ('\u{202f}', " ", "narrow no-break space"),
    ('\u{205f}', " ", "mathematical space"),
    ('\u{3000}', " ", "ideographic space"),
    ('\u{200b}', "", "zero-width space"),
    ('\u{200c}', "", "zero-width non-joiner"),
    ('\u{200d}', "", "zero-width joiner"),
    ('\u{2060}', "", "word joiner"),
    ('\u{feff}', "", "byte order mark"),
    ('\u{00ad}', "", "soft hyphen"),
    ('\u{00d7}', "x", "multiplication sign"),
    ('\u{2215}', "/", "division slash"),
    ('\u{2044}', "/", "fraction slash"),
    ('\u{2024}', ".", "one dot leader"),
    ('\u{037e}', ";", "Greek question mark"),
    ('\u{ff08}', "(", "fullwidth parenthesis"),
    ('\u{ff09}', ")", "fullwidth parenthesis"),
    ('\u{ff0c}', ",", "fullwidth comma"),
    ('\u{ff1a}', ":", "fullwidth colon"),
    ('\u{ff1b}', ";", "fullwidth semicolon"),
    ('\u{0430}', "a", "Cyrillic a"),
    ('\u{0435}', "e", "Cyrillic ie"),
    ('\u{043e}', "o", "Cyrillic o"),
    ('\u{0440}', "p", "Cyrillic er"),
    ('\u{0441}', "c", "Cyrillic es"),
    ('\u{0445}', "x", "Cyrillic ha"),
    ('\u{0456}', "i", "Ukrainian i"),
];

/// For each combining mark, letters and what they become with it.
const COMPOSED: &[(char, &str)] = &[
    ('\u{300}', "AÀEÈIÌOÒUÙaàeèiìoòuùNǸnǹ"),
    (
        '\u{301}',
        "AÁEÉIÍOÓUÚYÝaáeéiíoóuúyýCĆcćNŃnńSŚsśZŹzźLĹlĺRŔrŕ",
    ),
    (
        '\u{302}',
        "AÂEÊIÎOÔUÛaâeêiîoôuûCĈcĉGĜgĝHĤhĥJĴjĵSŜsŝWŴwŵYŶyŷ",
    ),
    ('\u{303}', "AÃNÑOÕaãnñoõIĨiĩUŨuũ"),
    ('\u{304}', "AĀaāEĒeēIĪiīOŌoōUŪuū"),
    ('\u{306}', "AĂaăGĞgğUŬuŭ"),
    ('\u{307}', "CĊcċEĖeėGĠgġIİZŻzż"),
    ('\u{308}', "AÄEËIÏOÖUÜYŸaäeëiïoöuüyÿ"),
    ('\u{30a}', "AÅaåUŮuů"),
    ('\u{30b}', "OŐoőUŰuű"),
    ('\u{30c}', "CČcčDĎdďEĚeěNŇnňRŘrřSŠsšTŤtťZŽzž"),
    ('\u{327}', "CÇcçSŞsşTŢtţ"),
    ('\u{328}', "AĄaąEĘeęIĮiįUŲuų"),
];

/// Folds look-alikes into one form, letters with marks taken apart; no line is moved.
pub(super) fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for_each_run(text, |run| match run {
        Run::Ascii(run) => push_unified(&mut out, run),
        Run::Wide(character) => push_folded(&mut out, character),
    });
    out
}

/// Names the look-alikes that only one of two texts has.
pub(super) fn differing(file: &str, given: &str) -> String {
    let mut names = String::new();
    let sides = [
        ("the file has", file, "the given text", given),
        ("the given text has", given, "the file", file),
    ];
    for (who, text, other, other_text) in sides {
        let mut named: Vec<char> = Vec::new();
        for character in text.chars().filter(|character| !character.is_ascii()) {
            if named.len() == NAMED || named.contains(&character) || other_text.contains(character)
            {
                continue;
            }
            if let Some(description) = describe(character) {
                named.push(character);
                let lead = if names.is_empty() { "" } else { "; " };
                // Writing to a String cannot fail.
                let _ = write!(names, "{lead}{who} {}", description(other));
            }
        }
    }
    if names.is_empty() {
        "they are composed differently".to_owned()
    } else {
        names
    }
}

/// Describes a look-alike, given who has the other form.
fn describe(character: char) -> Option<impl Fn(&str) -> String> {
    let code = character as u32;
    let what = match TABLE.iter().find(|(listed, ..)| *listed == character) {
        Some((_, plain, name)) => Some((format!("U+{code:04X} {name}"), describe_plain(plain))),
        None if is_mark(character) => Some((
            format!("U+{code:04X}, a combining mark after its letter"),
            "one composed character".to_owned(),
        )),
        None => taken_apart(character).map(|_| {
            (
                format!("{character} (U+{code:04X}) as one character"),
                "a letter and a combining mark".to_owned(),
            )
        }),
    };
    what.map(|(name, plain)| move |other: &str| format!("{name} where {other} has {plain}"))
}

fn describe_plain(plain: &str) -> String {
    match plain.chars().next() {
        None => "nothing".to_owned(),
        Some(' ') => "a space (U+0020)".to_owned(),
        Some(_) if plain.len() > 1 => plain.to_owned(),
        Some(character) => format!("{plain} (U+{:04X})", character as u32),
    }
}

fn push_folded(out: &mut String, character: char) {
    if let Some((_, plain, _)) = TABLE.iter().find(|(listed, ..)| *listed == character) {
        out.push_str(plain);
    } else if let Some((letter, mark)) = taken_apart(character) {
        out.extend([letter, mark]);
    } else if let Some(parts) = hangul_parts(character) {
        out.extend(parts.into_iter().flatten());
    } else {
        out.push(character);
    }
}

fn taken_apart(character: char) -> Option<(char, char)> {
    // The composed letters of the table all lie in these blocks.
    if !('\u{c0}'..='\u{24f}').contains(&character) {
        return None;
    }
    COMPOSED.iter().find_map(|(mark, pairs)| {
        let mut pairs = pairs.chars();
        while let (Some(letter), Some(composed)) = (pairs.next(), pairs.next()) {
            if composed == character {
                return Some((letter, *mark));
            }
        }
        None
    })
}

fn is_mark(character: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&character)
}

/// Takes a Hangul syllable apart by the arithmetic Unicode defines for it.
fn hangul_parts(character: char) -> Option<[Option<char>; 3]> {
    let index = (character as u32)
        .checked_sub(0xAC00)
        .filter(|index| *index < 11172)?;
    let (lead, vowel, tail) = (index / 588, index % 588 / 28, index % 28);
    let tail = if tail == 0 {
        None
    } else {
        char::from_u32(0x11A7 + tail)
    };
    Some([
        char::from_u32(0x1100 + lead),
        char::from_u32(0x1161 + vowel),
        tail,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composed_and_taken_apart_fold_alike() {
        assert_eq!(
            fold("é한가"),
            fold("e\u{301}\u{1112}\u{1161}\u{11ab}\u{1100}\u{1161}")
        );
        assert_eq!(fold("“a”\u{a0}– …\r\n"), "\"a\" - ...\n");
    }

    #[test]
    fn the_table_of_letters_holds_pairs() {
        for (mark, pairs) in COMPOSED {
            assert_eq!(pairs.chars().count() % 2, 0, "{mark:?}");
            assert!(
                pairs
                    .chars()
                    .step_by(2)
                    .all(|letter| letter.is_ascii_alphabetic()),
                "{mark:?}"
            );
        }
    }

    #[test]
    fn both_sides_are_named() {
        let names = differing("It’s", "It's\u{a0}");
        assert!(
            names.contains("the file has U+2019") && names.contains("the given text has U+00A0"),
            "{names}"
        );
    }
}

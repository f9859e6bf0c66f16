//! Deciding whether bytes are text: UTF-8 without a NUL, whole or in a stream.

use std::borrow::Cow;
use std::fmt;

use memchr::memchr;

/// The byte order mark a UTF-8 text may start with.
pub const BOM: &[u8] = b"\xEF\xBB\xBF";

/// How many first bytes are kept to tell what a file that is not text looks like.
const HEAD: usize = 512;

/// A file's bytes, known to be UTF-8 without a NUL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a> {
    whole: &'a str,
    body_start: usize,
}

impl<'a> Text<'a> {
    /// Decodes bytes, or says what they look like instead of text, and where.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, NotText> {
        match simdutf8::basic::from_utf8(bytes) {
            Ok(whole) if memchr(0, bytes).is_none() => Ok(Self::new(whole)),
            _ => Err(verdict_of(bytes)),
        }
    }

    /// Takes a string that is known to hold no NUL.
    fn new(whole: &'a str) -> Self {
        let body_start = if whole.as_bytes().starts_with(BOM) {
            BOM.len()
        } else {
            0
        };
        Self { whole, body_start }
    }

    /// Returns whether the file starts with a byte order mark.
    pub fn bom(&self) -> bool {
        self.body_start > 0
    }

    /// Returns the text without its byte order mark.
    pub fn body(&self) -> &'a str {
        &self.whole[self.body_start..]
    }

    /// Returns the text with its byte order mark, when it has one.
    pub fn whole(&self) -> &'a str {
        self.whole
    }

    /// Returns all bytes of the file, the byte order mark included.
    pub fn bytes(&self) -> &'a [u8] {
        self.whole.as_bytes()
    }

    /// Returns where the body starts in the bytes: 0, or 3 after a byte order mark.
    pub fn body_start(&self) -> usize {
        self.body_start
    }
}

/// Why bytes are not text: what they look like, and where the first bad byte is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotText {
    /// What the bytes look like, as a noun phrase.
    pub looks_like: Cow<'static, str>,
    /// The byte offset of the first byte that is not text.
    pub offset: u64,
    /// The 1-based line that holds that byte.
    pub line: u64,
}

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            looks_like,
            offset,
            line,
        } = self;
        write!(
            f,
            "not UTF-8 text: looks like {looks_like}; first bad byte at offset {offset}"
        )?;
        if *line > 1 {
            write!(f, " (line {line})")?;
        }
        Ok(())
    }
}

impl std::error::Error for NotText {}

/// Checks a stream of chunks, with the verdict [`Text::decode`] gives for the whole.
#[derive(Debug, Default)]
pub struct StreamDecoder {
    head: Vec<u8>,
    seen: u64,
    lines: u64,
    /// The bytes of a character whose end is still to come.
    pending: Vec<u8>,
    failure: Option<Failure>,
}

impl StreamDecoder {
    /// Creates a decoder that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks the next chunk; fails once it is certain what the stream is instead of text.
    ///
    /// A failure may come with a later chunk than the one holding the bad byte, or from
    /// [`finish`](Self::finish): the verdict must not depend on how the bytes were cut.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), NotText> {
        let wanted = (HEAD - self.head.len()).min(chunk.len());
        self.head.extend_from_slice(&chunk[..wanted]);
        if self.failure.is_none() {
            self.failure = self.check(chunk);
        }
        match self.failure {
            Some(failure) if self.head.len() == HEAD => Err(failure.describe(&self.head)),
            _ => Ok(()),
        }
    }

    /// Ends the stream; fails when it was not text or stops inside a character.
    pub fn finish(self) -> Result<(), NotText> {
        let cut_short = || Failure {
            kind: FailureKind::CutShort {
                bytes: self.pending.len(),
            },
            offset: self.seen - self.pending.len() as u64,
            line: self.lines + 1,
        };
        match self
            .failure
            .or_else(|| (!self.pending.is_empty()).then(cut_short))
        {
            Some(failure) => Err(failure.describe(&self.head)),
            None => Ok(()),
        }
    }

    fn check(&mut self, chunk: &[u8]) -> Option<Failure> {
        let nul = memchr(0, chunk);
        let before_nul = &chunk[..nul.unwrap_or(chunk.len())];
        if let Some(failure) = self.check_encoding(before_nul) {
            return Some(failure);
        }
        nul?;
        // A NUL never continues a character, so one left open is the first bad byte.
        Some(match self.pending.len() {
            0 => self.fail(FailureKind::Nul, 0),
            open => self.fail(FailureKind::Invalid, open),
        })
    }

    fn check_encoding(&mut self, mut bytes: &[u8]) -> Option<Failure> {
        while let (false, Some((&first, rest))) = (self.pending.is_empty(), bytes.split_first()) {
            self.pending.push(first);
            match std::str::from_utf8(&self.pending) {
                Ok(_) => self.pending.clear(),
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Some(self.fail(FailureKind::Invalid, self.pending.len() - 1)),
            }
            self.seen += 1;
            bytes = rest;
        }
        let Err(error) = simdutf8::compat::from_utf8(bytes) else {
            self.pass(bytes);
            return None;
        };
        let (good, bad) = bytes.split_at(error.valid_up_to());
        self.pass(good);
        if error.error_len().is_some() {
            return Some(self.fail(FailureKind::Invalid, 0));
        }
        self.pending.extend_from_slice(bad);
        self.seen += bad.len() as u64;
        None
    }

    fn pass(&mut self, good: &[u8]) {
        self.seen += good.len() as u64;
        self.lines += memchr::memchr_iter(b'\n', good).count() as u64;
    }

    fn fail(&self, kind: FailureKind, back: usize) -> Failure {
        Failure {
            kind,
            offset: self.seen - back as u64,
            line: self.lines + 1,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Failure {
    kind: FailureKind,
    offset: u64,
    line: u64,
}

#[derive(Debug, Clone, Copy)]
enum FailureKind {
    Nul,
    Invalid,
    CutShort { bytes: usize },
}

impl Failure {
    fn describe(self, head: &[u8]) -> NotText {
        let looks_like = recognise(head).unwrap_or_else(|| self.kind.guess(head));
        NotText {
            looks_like: Cow::Borrowed(looks_like),
            offset: self.offset,
            line: self.line,
        }
    }
}

impl FailureKind {
    fn guess(self, head: &[u8]) -> &'static str {
        const LEGACY: &str = "text in a legacy 8-bit encoding such as Windows-1252 or Latin-1";
        let clean = head.iter().all(|&byte| is_text_byte(byte));
        match self {
            Self::Nul if head.iter().all(|&byte| byte == 0 || is_text_byte(byte)) => {
                "text with a NUL byte"
            }
            _ if !clean => "binary data",
            // One open lead byte in an otherwise plain text is more likely a legacy letter.
            Self::CutShort { bytes } if bytes > 1 || head_has_wide_characters(head) => {
                "UTF-8 text that ends in the middle of a character"
            }
            _ => LEGACY,
        }
    }
}

fn verdict_of(bytes: &[u8]) -> NotText {
    let mut decoder = StreamDecoder::new();
    match decoder.push(bytes).and_then(|()| decoder.finish()) {
        Err(verdict) => verdict,
        Ok(()) => unreachable!("the stream check accepts only what the whole check accepts"),
    }
}

fn is_text_byte(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0c | 0x1b | 0x20..=0x7e | 0x80..)
}

fn head_has_wide_characters(head: &[u8]) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(_) => head,
        Err(error) => &head[..error.valid_up_to()],
    };
    !valid.is_ascii()
}

fn recognise(head: &[u8]) -> Option<&'static str> {
    MAGIC
        .iter()
        .find(|(magic, _)| head.starts_with(magic))
        .map(|(_, name)| *name)
        .or_else(|| wide_encoding(head))
}

/// Encodings of Unicode that are not UTF-8 come first: their marks are certain.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\xFF\xFE\x00\x00", "UTF-32LE with a byte order mark"),
    (b"\x00\x00\xFE\xFF", "UTF-32BE with a byte order mark"),
    (b"\xFF\xFE", "UTF-16LE with a byte order mark"),
    (b"\xFE\xFF", "UTF-16BE with a byte order mark"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xFF\xD8\xFF", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"RIFF", "a RIFF file (WebP, WAV or AVI)"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"%PDF-", "a PDF document"),
    (
        b"PK\x03\x04",
        "a ZIP archive (also Office documents, jar and wheel files)",
    ),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xFD7zXZ\x00", "xz data"),
    (b"\x28\xB5\x2F\xFD", "Zstandard data"),
    (b"7z\xBC\xAF\x27\x1C", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x7FELF", "an ELF executable or library"),
    (b"\x00asm", "a WebAssembly module"),
    (b"MZ", "a Windows executable"),
    (b"\xCF\xFA\xED\xFE", "a Mach-O executable"),
    (b"\xCE\xFA\xED\xFE", "a Mach-O executable"),
    (b"\xCA\xFE\xBA\xBE", "a Java class file"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"!<arch>\n", "a static library archive"),
    (b"PAR1", "a Parquet file"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
    (b"wOFF", "a web font"),
    (b"wOF2", "a web font"),
    (b"\x00\x01\x00\x00\x00", "a TrueType font"),
    (b"\x80\x04\x95", "a Python pickle"),
];

/// Recognises UTF-16 and UTF-32 without a mark by where their zero bytes stand.
fn wide_encoding(head: &[u8]) -> Option<&'static str> {
    let zeros = |width: usize, lane: usize| {
        let lanes = head.chunks_exact(width);
        let total = lanes.len();
        (lanes.filter(|unit| unit[lane] == 0).count(), total)
    };
    let mostly = |width, lane| matches!(zeros(width, lane), (zero, total) if total >= 2 && zero * 10 >= total * 7);
    let hardly = |width, lane| matches!(zeros(width, lane), (zero, total) if zero * 10 <= total);
    if mostly(4, 3) && mostly(4, 2) && mostly(4, 1) && hardly(4, 0) {
        Some("UTF-32LE without a byte order mark")
    } else if mostly(4, 0) && mostly(4, 1) && mostly(4, 2) && hardly(4, 3) {
        Some("UTF-32BE without a byte order mark")
    } else if mostly(2, 1) && hardly(2, 0) {
        Some("UTF-16LE without a byte order mark")
    } else if mostly(2, 0) && hardly(2, 1) {
        Some("UTF-16BE without a byte order mark")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::samples::chunks;

    fn looks_like(bytes: &[u8]) -> (String, u64) {
        let verdict = Text::decode(bytes).unwrap_err();
        (verdict.looks_like.into_owned(), verdict.offset)
    }

    #[test]
    fn a_byte_order_mark_is_not_body() {
        let text = Text::decode(b"\xEF\xBB\xBFhi").unwrap();
        assert!(text.bom());
        assert_eq!(
            (text.body(), text.body_start(), text.bytes().len()),
            ("hi", 3, 5)
        );
        let bare = Text::decode(b"hi").unwrap();
        assert_eq!((bare.bom(), bare.body_start()), (false, 0));
    }

    #[test]
    fn r2_names_what_it_looks_like_and_where() {
        let verdict = Text::decode(b"\xff\xfeh\x00i\x00\r\x00\n\x00").unwrap_err();
        assert_eq!(
            verdict.to_string(),
            "not UTF-8 text: looks like UTF-16LE with a byte order mark; first bad byte at offset 0"
        );
        let sample = |bytes: &[u8]| looks_like(bytes).0;
        assert_eq!(sample(b"\xfe\xff\x00h"), "UTF-16BE with a byte order mark");
        assert_eq!(
            sample(b"h\0e\0l\0l\0o\0"),
            "UTF-16LE without a byte order mark"
        );
        assert_eq!(
            sample(b"\0h\0e\0l\0l\0o"),
            "UTF-16BE without a byte order mark"
        );
        assert_eq!(
            sample(b"h\0\0\0e\0\0\0"),
            "UTF-32LE without a byte order mark"
        );
        assert_eq!(
            sample(b"\xff\xfe\0\0h\0\0\0"),
            "UTF-32LE with a byte order mark"
        );
        assert_eq!(sample(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "a PNG image");
        assert_eq!(sample(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), "a PDF document");
        assert_eq!(sample(b"\x01\x02\x03\xff"), "binary data");
    }

    #[test]
    fn r2_a_nul_far_into_a_text_is_found_with_its_line() {
        let mut bytes = b"line\n".repeat(1000);
        bytes.extend_from_slice(b"bad\0byte\n");
        let verdict = Text::decode(&bytes).unwrap_err();
        assert_eq!(verdict.looks_like, "text with a NUL byte");
        assert_eq!((verdict.offset, verdict.line), (5003, 1001));
    }

    #[test]
    fn b052_a_legacy_byte_is_named_and_located() {
        let (name, offset) = looks_like(b"name=old\nPlain\nTM: \x99\n");
        assert!(name.contains("Windows-1252"), "{name}");
        assert_eq!(offset, 19);
        assert!(looks_like(b"caf\xe9").0.contains("Latin-1"));
    }

    #[test]
    fn a_text_cut_inside_a_character_says_so() {
        let (name, offset) = looks_like("한".as_bytes().split_last().unwrap().1);
        assert!(name.contains("middle of a character"), "{name}");
        assert_eq!(offset, 0);
    }

    #[test]
    fn the_first_of_a_nul_and_a_bad_byte_decides() {
        assert_eq!(looks_like(b"ab\0\xff").1, 2);
        assert_eq!(looks_like(b"ab\xff\0").1, 2);
        assert_eq!(looks_like(b"ab\xed\x95\0").1, 2);
    }

    #[test]
    fn b060_characters_over_a_chunk_boundary_decode() {
        let bytes = "aé한😀".as_bytes();
        for cut in 0..=bytes.len() {
            let mut decoder = StreamDecoder::new();
            decoder.push(&bytes[..cut]).unwrap();
            decoder.push(&bytes[cut..]).unwrap();
            decoder.finish().unwrap();
        }
    }

    fn stream(bytes: &[u8], cuts: &[usize]) -> Result<(), NotText> {
        let mut decoder = StreamDecoder::new();
        for chunk in chunks(bytes, cuts) {
            decoder.push(chunk)?;
        }
        decoder.finish()
    }

    fn nearly_text() -> impl Strategy<Value = Vec<u8>> {
        let token = prop_oneof![
            6 => Just(&b"abc\n"[..]), 3 => Just("한".as_bytes()), 2 => Just("😀".as_bytes()),
            1 => Just(&b"\0"[..]), 1 => Just(&b"\xed\x95"[..]), 1 => Just(&b"\xff"[..]), 1 => Just(&b"\xc0"[..]),
        ];
        (0usize..700, proptest::collection::vec(token, 0..12)).prop_map(|(padding, tokens)| {
            let mut bytes = vec![b'x'; padding];
            bytes.extend(tokens.concat());
            bytes
        })
    }

    proptest! {
        #[test]
        fn the_verdict_does_not_depend_on_chunking(
            bytes in nearly_text(),
            cuts in proptest::collection::vec(0usize..90, 0..12),
        ) {
            prop_assert_eq!(stream(&bytes, &cuts), Text::decode(&bytes).map(drop));
        }

        #[test]
        fn the_offset_is_the_first_bad_byte(bytes in nearly_text()) {
            let invalid = std::str::from_utf8(&bytes).err().map(|error| error.valid_up_to());
            let nul = bytes.iter().position(|&byte| byte == 0);
            let expected = invalid.into_iter().chain(nul).min().map(|offset| offset as u64);
            prop_assert_eq!(Text::decode(&bytes).err().map(|verdict| verdict.offset), expected);
        }
    }
}

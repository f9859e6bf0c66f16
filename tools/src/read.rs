//! `read`: a window of numbered lines, whatever the size of the file.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use async_trait::async_trait;
use schemars::JsonSchema;
use seamfs_core::gate::{GateFacts, Part, Shown};
use seamfs_core::options::Purpose;
use seamfs_core::text::{Line, Window, WindowSpec};
use seamfs_core::{Operation, Result, Target, Version};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::arguments::{self, Integer, invalid};
use crate::cards::{CallKind, Presentation};
use crate::result::{ToolError, ToolOutput, with_notes};
use crate::scan::{Scan, scan};
use crate::scope::Scope;
use crate::tool::{
    Annotations, Tool, ToolSpec, input_schema, output_schema, positive_option, unknown_option,
};

/// Shows a text file as numbered lines.
#[derive(Clone, Debug)]
pub struct Read {
    max_lines: usize,
    max_bytes: usize,
    max_line_chars: usize,
}

impl Default for Read {
    fn default() -> Self {
        let spec = WindowSpec::default();
        Self {
            max_lines: usize::try_from(spec.max_lines).unwrap_or(usize::MAX),
            max_bytes: spec.max_bytes,
            max_line_chars: spec.max_line_chars,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file to read: absolute, or relative to the working folder.
    file_path: String,
    /// The 1-based line to start at. Default 1.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    offset: Option<Integer>,
    /// The most lines to return.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    limit: Option<Integer>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output<'a> {
    /// The file, as the next call accepts it.
    path: &'a str,
    /// The 1-based line asked for.
    offset: u64,
    /// The lines shown, without their endings; a long line is cut.
    lines: Vec<OutputLine<'a>>,
    /// How many lines are shown.
    returned_lines: usize,
    /// How many lines the file has.
    total_lines: u64,
    /// Whether anything of the file is not shown.
    partial: bool,
    /// The version of the bytes that were read.
    #[schemars(with = "String")]
    version: &'a Version,
    /// Facts worth knowing.
    notes: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct OutputLine<'a> {
    /// The 1-based number.
    number: u64,
    /// The text.
    text: &'a str,
}

#[async_trait]
impl Tool for Read {
    fn name(&self) -> &'static str {
        "read"
    }

    fn mutates(&self) -> bool {
        false
    }

    fn spec(&self, facts: &GateFacts) -> ToolSpec {
        let mut input_schema = input_schema::<Arguments>();
        input_schema["properties"]["limit"]["maximum"] = json!(self.max_lines);
        input_schema["properties"]["limit"]["default"] = json!(self.max_lines);
        input_schema["properties"]["offset"]["default"] = json!(1);
        let observed = match (facts.observation, facts.coverage) {
            (true, false) => " A file must be read, at least in part, before it can be changed.",
            (true, true) => " The lines to be changed must have been read, whole.",
            (false, _) => "",
        };
        ToolSpec {
            name: self.name(),
            title: "Read a file",
            description: format!(
                "Shows a text file as rows `N: text`, N being the line number, and says how many \
                 lines there are. At most {} lines and {} bytes are shown at once, and {} \
                 characters of a line; the footer names the `offset` to continue at. Line endings \
                 and a byte order mark are not shown.{observed}",
                self.max_lines, self.max_bytes, self.max_line_chars
            ),
            input_schema,
            output_schema: output_schema::<Output<'_>>(),
            annotations: Annotations {
                read_only: true,
                destructive: false,
                idempotent: true,
            },
            system_prompt: Some(format!(
                "Use `read` to look at files. Page through long ones with `offset`; copy text \
                 without the `N: ` in front of it.{observed}"
            )),
        }
    }

    fn set_option(&mut self, key: &str, value: &str) -> Result<()> {
        let slot = match key {
            "max_lines" => &mut self.max_lines,
            "max_bytes" => &mut self.max_bytes,
            "max_line_chars" => &mut self.max_line_chars,
            _ => {
                let options = ["max_lines", "max_bytes", "max_line_chars"];
                return Err(unknown_option("read", key, &options));
            }
        };
        *slot = positive_option(key, value)?;
        Ok(())
    }

    async fn run(&self, scope: &mut Scope, arguments: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = arguments::parse(arguments)?;
        let spec = self.window_spec(&arguments)?;
        let place = scope.enter(&arguments.file_path, Purpose::File).await?;
        let scan = scan(scope, &place, spec)
            .await
            .inspect_err(|error| scope.missed(&place, error))
            .map_err(|error| scope.looked(error))?;
        check_offset(place.target(), spec.offset, scan.window.total_lines)?;
        scope.saw(&place, &scan.version, shown(&scan.window), &scan.kept);
        Ok(output(place.target(), spec.offset, &scan))
    }
}

impl Read {
    fn window_spec(&self, arguments: &Arguments) -> Result<WindowSpec> {
        let most = self.max_lines as u64;
        let offset = match arguments.offset {
            None => 1,
            Some(offset) => offset.within("offset", 1, u64::MAX)?,
        };
        let max_lines = match arguments.limit {
            None => most,
            Some(limit) => limit.within("limit", 1, most)?,
        };
        Ok(WindowSpec {
            offset,
            max_lines,
            max_bytes: self.max_bytes,
            max_line_chars: self.max_line_chars,
        })
    }
}

fn check_offset(target: &Target, offset: u64, total: u64) -> Result<()> {
    if offset <= total.max(1) {
        return Ok(());
    }
    let lines = if total == 1 { "line" } else { "lines" };
    Err(invalid(format!(
        "offset {offset} is past the end: the file has {total} {lines}"
    ))
    .at(target.display())
    .during(Operation::Read))
}

/// Returns what of a file was shown, for the observation.
fn shown(window: &Window) -> Shown {
    if !window.partial {
        return Shown::All;
    }
    shown_lines(&window.lines, window.total_lines)
}

/// Returns what these lines show of a file of `total` lines.
pub(crate) fn shown_lines<'a>(lines: impl IntoIterator<Item = &'a Line>, total: u64) -> Shown {
    let (mut ranges, mut parts): (Vec<RangeInclusive<u64>>, _) = (Vec::new(), Vec::new());
    for line in lines {
        match ranges.last_mut() {
            _ if line.cut.is_some() => parts.push(Part {
                line: line.number,
                bytes: 0..line.text.len() as u64,
            }),
            Some(range) if *range.end() + 1 == line.number => {
                *range = *range.start()..=line.number;
            }
            _ => ranges.push(line.number..=line.number),
        }
    }
    Shown::Lines {
        lines: ranges,
        parts,
        total,
    }
}

fn output(target: &Target, offset: u64, scan: &Scan) -> ToolOutput {
    let (path, window) = (target.display(), &scan.window);
    let notes = notes(scan);
    let structured = Output {
        path,
        offset,
        lines: window
            .lines
            .iter()
            .map(|line| OutputLine {
                number: line.number,
                text: &line.text,
            })
            .collect(),
        returned_lines: window.lines.len(),
        total_lines: window.total_lines,
        partial: window.partial,
        version: &scan.version,
        notes: notes.clone(),
    };
    ToolOutput {
        text: with_notes(envelope(path, scan), &notes),
        structured: json!(structured),
        presentation: Presentation::call("Read", CallKind::Read, path, Some(offset)),
    }
}

fn notes(scan: &Scan) -> Vec<String> {
    let window = &scan.window;
    let mut notes = Vec::new();
    if window.bom && window.lines.first().is_some_and(|line| line.number == 1) {
        notes.push("the file starts with a byte order mark, which is not shown".to_owned());
    }
    if window.next_offset.is_none() && !window.final_newline && window.total_lines > 0 {
        notes.push("the last line has no final newline".to_owned());
    }
    notes
}

/// Wraps the rows in an envelope that the file's own text cannot forge.
///
/// Every row starts with its number, and the closing line carries a mark taken from the hash of
/// the whole content, which a file can only state by accident of 64 bits.
fn envelope(path: &str, scan: &Scan) -> String {
    let window = &scan.window;
    let mark = mark(&scan.version);
    let path = path.replace('"', "\\\"");
    let mut text = format!("<file path=\"{path}\" mark=\"{mark}\">\n");
    for line in &window.lines {
        line.render(&mut text);
        text.push('\n');
    }
    let _ = writeln!(text, "</file mark=\"{mark}\">");
    text.push_str(&footer(scan));
    text
}

fn mark(version: &Version) -> String {
    match version.hash() {
        Some(hash) => hash.to_hex()[..16].to_owned(),
        None => version.to_string(),
    }
}

fn footer(scan: &Scan) -> String {
    let window = &scan.window;
    let total = window.total_lines;
    let lines = if total == 1 { "line" } else { "lines" };
    match (window.shown(), window.next_offset) {
        _ if scan.bytes == 0 => "(empty file: 0 bytes, 0 lines)".to_owned(),
        (None, _) => format!("(end of file: no text, {total} {lines})"),
        (Some(shown), Some(next)) => format!(
            "(lines {}-{} of {total}; continue with offset {next})",
            shown.start, shown.end
        ),
        (Some(shown), None) if shown.start == 1 => format!("(end of file: {total} {lines})"),
        (Some(shown), None) => format!(
            "(lines {}-{} of {total}; end of file: {total} {lines})",
            shown.start, shown.end
        ),
    }
}

//! `view`: a file as numbered rows, or a folder two levels deep.

use std::fmt::Write as _;

use futures::TryStreamExt;
use schemars::JsonSchema;
use seamfs_core::gate::Shown;
use seamfs_core::options::Purpose;
use seamfs_core::text::WindowSpec;
use seamfs_core::{
    Entry, ErrorCode, FileKind, FsError, ListOptions, ResolveOptions, Result, Target,
};
use serde::Serialize;
use serde_json::json;

use super::{Arguments, Command, Output, StrReplaceEditor};
use crate::arguments::{Integer, invalid};
use crate::cards::{CallKind, Presentation};
use crate::read::shown_lines;
use crate::result::{ToolError, ToolOutput, clip};
use crate::scan::{Scan, scan};
use crate::scope::{Place, Scope};

/// How deep a folder is shown.
const DEPTH: usize = 2;

/// Folders that hold what nobody wrote here.
const SKIPPED: [&str; 2] = ["node_modules", "__pycache__"];

/// One entry of a viewed folder.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OutputEntry {
    /// `d` for a folder, `f` for a file, `?` for anything else.
    kind: char,
    /// The path, as the next call accepts it; escaped when no call can address it.
    path: String,
    /// Whether a call can address it.
    addressable: bool,
}

impl StrReplaceEditor {
    pub(super) async fn view(
        &self,
        scope: &mut Scope,
        arguments: Arguments,
    ) -> Result<ToolOutput, ToolError> {
        let purpose = Purpose::Folder;
        let place = scope.enter(&arguments.path, purpose).await?;
        let there = scope
            .fs()
            .stat(place.target(), scope.stat_options())
            .await?;
        if there.is_some_and(|metadata| metadata.is_directory()) {
            if arguments.view_range.is_some() {
                return Err(invalid("`view_range` is for files, and this is a folder")
                    .at(place.target().display())
                    .into());
            }
            return Ok(self.view_folder(scope, &place).await?);
        }
        if arguments.path.ends_with('/') {
            return Err(FsError::new(
                ErrorCode::InvalidPath,
                "a trailing slash names a folder, and there is none",
            )
            .at(place.target().display())
            .into());
        }
        let range = arguments.view_range.as_deref();
        let output = self.view_file(scope, &place, range).await;
        output
            .inspect_err(|error| scope.missed(&place, error))
            .map_err(|error| scope.looked(error))
    }

    async fn view_file(
        &self,
        scope: &Scope,
        place: &Place,
        range: Option<&[Integer]>,
    ) -> Result<ToolOutput> {
        let asked = AskedRows::parse(range)?;
        let spec = WindowSpec {
            offset: asked.first,
            max_lines: asked.last.map_or(u64::MAX, |last| last + 1 - asked.first),
            // Every row beyond this many bytes is past the clip in characters too.
            max_bytes: self
                .max_output_chars
                .saturating_mul(4)
                .saturating_add(1 << 10),
            max_line_chars: self.max_output_chars,
        };
        let scan = scan(scope, place, spec).await?;
        let rows = Rows::of(&scan);
        let asked = asked
            .within(rows.total)
            .map_err(|error| error.at(place.target().display()))?;
        let version = scan.version.clone();
        let path = place.target().display();
        let (body, reached) = rows.render(&scan, asked);
        let header = match scan.bytes {
            0 => format!("{path} (empty file, 0 bytes; 1 line)"),
            _ => format!(
                "{path} ({} line{})",
                rows.total,
                if rows.total == 1 { "" } else { "s" }
            ),
        };
        let whole = format!("{header}\n{body}");
        let cut = whole.char_indices().nth(self.max_output_chars);
        let clipped = reached < asked.1 || cut.is_some();
        // The row that the clip cuts through is not shown, and none after it is.
        let last = match cut {
            None => reached,
            Some((at, _)) => {
                let ends = line_ends(&whole[..at]) + u64::from(whole[at..].starts_with('\n'));
                asked.0 + ends.saturating_sub(2)
            }
        };
        let room = self
            .max_output_chars
            .saturating_sub(header.chars().count() + 1);
        scope.saw(place, &version, shown(&scan, room), &scan.kept);
        let structured = Output {
            total_lines: Some(rows.total),
            view_range: Some([asked.0, last]),
            clipped: Some(clipped),
            version: Some(&version),
            ..Output::of(Command::View, path)
        };
        Ok(ToolOutput {
            text: self.clip_view(whole, clipped),
            structured: json!(structured),
            presentation: Presentation::call("View", CallKind::Read, path, Some(asked.0)),
        })
    }

    fn clip_view(&self, mut text: String, clipped: bool) -> String {
        if clipped {
            if let Some((at, _)) = text.char_indices().nth(self.max_output_chars) {
                text.truncate(at);
            }
            let _ = write!(
                text,
                "\n[clipped at {} characters; use view_range to see the rest]",
                self.max_output_chars
            );
        }
        text
    }

    async fn view_folder(&self, scope: &Scope, place: &Place) -> Result<ToolOutput> {
        let path = place.target().display();
        let mut entries = Vec::new();
        let mut broken = 0;
        let mut pending = vec![(place.target().clone(), 1)];
        while let Some((folder, depth)) = pending.pop() {
            let children = match children(scope, &folder).await {
                Ok(children) => children,
                // One folder that cannot be listed does not lose the rest.
                Err(error) if depth > 1 && error.code() != ErrorCode::Aborted => {
                    broken += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            for entry in children {
                broken += usize::from(entry.metadata.is_err());
                let child = child_path(folder.display(), entry.name.as_str());
                let addressable = entry.name.is_addressable();
                if entry.kind() == FileKind::Directory && depth < DEPTH && addressable {
                    match resolve(scope, &child).await {
                        Ok(target) => pending.push((target, depth + 1)),
                        Err(_) => broken += 1,
                    }
                }
                entries.push(OutputEntry {
                    kind: letter(entry.kind()),
                    path: child,
                    addressable,
                });
            }
        }
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        let text = folder_text(path, &entries, broken);
        let clipped = text.chars().count() > self.max_output_chars;
        // The value is bounded as the text is: what the text cannot show is not listed either.
        let fit = entries_that_fit(&entries, self.max_output_chars);
        entries.truncate(fit);
        let structured = Output {
            entries: Some(entries),
            clipped: Some(clipped),
            ..Output::of(Command::View, path)
        };
        Ok(ToolOutput {
            text: clip(text, self.max_output_chars),
            structured: json!(structured),
            presentation: Presentation::call("View", CallKind::Read, path, None),
        })
    }
}

/// The rows that a caller asked for, before the file's size is known.
#[derive(Clone, Copy)]
struct AskedRows {
    first: u64,
    /// None for the end.
    last: Option<u64>,
    given: bool,
}

impl AskedRows {
    fn parse(range: Option<&[Integer]>) -> Result<Self> {
        let Some(range) = range else {
            return Ok(Self {
                first: 1,
                last: None,
                given: false,
            });
        };
        let [Integer(first), Integer(last)] = *range else {
            return Err(invalid(format!(
                "`view_range` has {} numbers; it must be two, [first, last]",
                range.len()
            )));
        };
        if first < 1 {
            return Err(invalid(format!(
                "`view_range` starts at {first}; the first row is 1"
            )));
        }
        if last != -1 && last < first {
            return Err(invalid(format!(
                "`view_range` ends at {last}, before its start {first}; use -1 for the end"
            )));
        }
        Ok(Self {
            first: first.unsigned_abs(),
            last: (last != -1).then_some(last.unsigned_abs()),
            given: true,
        })
    }

    fn within(self, total: u64) -> Result<(u64, u64)> {
        if self.given && self.first > total {
            return Err(invalid(format!(
                "`view_range` starts at {}; the file has rows 1 to {total}",
                self.first
            )));
        }
        match self.last {
            Some(last) if last > total => Err(invalid(format!(
                "`view_range` ends at {last}; the file has rows 1 to {total}, or -1 for the end"
            ))),
            last => Ok((self.first, last.unwrap_or(total))),
        }
    }
}

/// Returns what a view shows of a file, in `room` characters of rows.
fn shown(scan: &Scan, mut room: usize) -> Shown {
    let (window, mut visible) = (&scan.window, Vec::new());
    for line in &window.lines {
        let in_front = line.number.to_string().len().max(6) + 2;
        let chars = line.text.chars().count();
        let Some(left) = room.checked_sub(in_front) else {
            break;
        };
        let mut line = line.clone();
        if chars > left {
            let end = line.text.char_indices().nth(left).map_or(0, |(at, _)| at);
            line.cut = Some((line.text.len() - end) as u64);
            line.text.truncate(end);
        }
        let cut = line.cut.is_some();
        visible.push(line);
        // The newline that follows a row takes a character, too.
        match left.checked_sub(chars + 1) {
            Some(rest) if !cut => room = rest,
            _ => break,
        }
    }
    let whole = visible.len() as u64 == window.total_lines;
    match whole && visible.iter().all(|line| line.cut.is_none()) {
        true => Shown::All,
        false => shown_lines(&visible, window.total_lines),
    }
}

/// The rows of a file as `view` counts them: a final newline shows a last empty one.
struct Rows {
    total: u64,
    last_is_empty: bool,
}

impl Rows {
    fn of(scan: &Scan) -> Self {
        let window = &scan.window;
        let last_is_empty = window.final_newline || window.total_lines == 0;
        Self {
            total: window.total_lines + u64::from(last_is_empty),
            last_is_empty,
        }
    }

    /// Renders the rows asked for, as far as the scan has them; says which was the last.
    fn render(&self, scan: &Scan, (first, last): (u64, u64)) -> (String, u64) {
        let mut text = String::new();
        let mut reached = first;
        for line in &scan.window.lines {
            let _ = writeln!(text, "{:>6}  {}", line.number, line.text);
            reached = line.number;
            if line.cut.is_some() {
                return (text, reached.saturating_sub(1).max(first));
            }
        }
        if self.last_is_empty && last == self.total && scan.window.next_offset.is_none() {
            let _ = writeln!(text, "{:>6}  ", self.total);
            reached = self.total;
        }
        text.pop();
        (text, reached)
    }
}

fn line_ends(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

async fn children(scope: &Scope, folder: &Target) -> Result<Vec<Entry>> {
    let options = ListOptions::default().in_context(scope.context());
    let entries: Vec<Entry> = scope
        .fs()
        .list(folder, options)
        .await?
        .try_collect()
        .await?;
    Ok(entries
        .into_iter()
        .filter(|entry| is_shown(entry.name.as_str()))
        .collect())
}

async fn resolve(scope: &Scope, path: &str) -> Result<Target> {
    let options = ResolveOptions {
        purpose: Purpose::Entry,
        ..ResolveOptions::default().in_context(scope.context())
    };
    scope.fs().resolve(path, "", options).await
}

fn is_shown(name: &str) -> bool {
    !name.starts_with('.') && !SKIPPED.contains(&name)
}

fn child_path(folder: &str, name: &str) -> String {
    match folder.ends_with('/') {
        true => format!("{folder}{name}"),
        false => format!("{folder}/{name}"),
    }
}

const fn letter(kind: FileKind) -> char {
    match kind {
        FileKind::Directory => 'd',
        FileKind::File => 'f',
        FileKind::Symlink | FileKind::Other => '?',
    }
}

fn row(entry: &OutputEntry) -> String {
    let mark = if entry.addressable {
        ""
    } else {
        " (not addressable)"
    };
    format!("{}\t{}{mark}\n", entry.kind, entry.path)
}

fn folder_text(path: &str, entries: &[OutputEntry], broken: usize) -> String {
    if entries.is_empty() {
        return format!("{path} (folder with nothing to show: hidden entries are left out)");
    }
    let mut text = format!("{path} (folder, two levels deep, without hidden entries)\n");
    text.extend(entries.iter().map(row));
    text.pop();
    if broken > 0 {
        let _ = write!(
            text,
            "\nNote: {broken} of the entries could not be examined or listed."
        );
    }
    text
}

fn entries_that_fit(entries: &[OutputEntry], most: usize) -> usize {
    let mut chars = 0;
    entries
        .iter()
        .take_while(|entry| {
            chars += row(entry).chars().count();
            chars <= most
        })
        .count()
}

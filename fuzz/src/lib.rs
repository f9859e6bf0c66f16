//! What must be true of any input: one function a target, for the fuzzer and for the suite.

use std::sync::OnceLock;
use std::time::Duration;

use seamfs::core::text::{
    Diff, NotText, ReplaceError, StreamDecoder, Text, Window, WindowScanner, WindowSpec, diagnose,
    plan_insert, plan_replace, rows,
};
use seamfs::core::{Namespace, RootPath};
use seamfs::mcp::Server;
use seamfs::{Expected, FileSystemExt, ToolResult, Workspace};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use tokio::runtime::Runtime;

/// Splits an input into fields at a byte that no UTF-8 text holds.
fn fields(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|byte| *byte == 0xff)
}

/// A path and a working folder: what is accepted stays within, and is accepted again as shown.
pub fn paths(data: &[u8]) {
    let mut fields = fields(data).map(String::from_utf8_lossy);
    let path = fields.next().unwrap_or_default();
    let cwd = fields.next().unwrap_or_default();
    let spellings = [
        Namespace::virtual_root().with_url("memory", "", "/"),
        Namespace::with_display_root("/home/me/project").with_url("file", "", "/home/me/project"),
        Namespace::virtual_root()
            .with_url("s3", "bucket", "/pre fix")
            .with_prefix_bytes(8),
    ];
    for namespace in spellings {
        let parsed = match namespace.parse(&path, &cwd) {
            Ok(parsed) => parsed.path,
            Err(error) => {
                let shown = error.into_error(&path).to_string();
                assert!(shown.len() < 8_000, "{shown}");
                continue;
            }
        };
        for name in parsed.components() {
            assert!(
                !name.is_empty() && name != "." && name != "..",
                "{parsed:?}"
            );
            assert!(
                name.len() <= 255 && !name.contains(['/', '\\', '\0']),
                "{parsed:?}"
            );
        }
        assert!(parsed.as_str().len() <= 1024, "{parsed:?}");
        assert_eq!(RootPath::from_key(&parsed.to_key()), parsed);
        let shown = namespace.display(&parsed);
        let again = namespace
            .parse(&shown, "")
            .expect("a path as shown is accepted");
        assert_eq!(again.path, parsed, "{shown}");
    }
}

/// A file, an old and a new text, and a row: the text logic agrees with plain models.
pub fn texts(data: &[u8]) {
    let mut parts = fields(data);
    let file = parts.next().unwrap_or_default();
    let old = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let new = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let row = usize::from(
        parts
            .next()
            .and_then(<[u8]>::first)
            .copied()
            .unwrap_or_default(),
    );
    let decoded = Text::decode(file);
    decodes_alike(file, decoded.as_ref().err());
    windows(file);
    let Ok(text) = decoded else { return };
    for all in [false, true] {
        replaces(&text, &old, &new, all);
    }
    inserts(&text, row, &new);
    diffs(text.whole(), &new);
}

/// A file judged in pieces is judged as in one.
fn decodes_alike(file: &[u8], whole: Option<&NotText>) {
    let mut decoder = StreamDecoder::new();
    let pushed: Result<(), NotText> = file.chunks(3).try_for_each(|piece| decoder.push(piece));
    let pieces = pushed.and_then(|()| decoder.finish());
    assert_eq!(pieces.is_err(), whole.is_some());
}

fn windows(file: &[u8]) {
    let spec = WindowSpec {
        offset: 2,
        max_lines: 5,
        max_bytes: 200,
        max_line_chars: 20,
    };
    for spec in [spec, WindowSpec::default()] {
        let whole = Window::of(file, spec);
        let mut scanner = WindowScanner::new(spec);
        file.chunks(3).for_each(|piece| scanner.push(piece));
        assert_eq!(scanner.finish(), whole);
        // A byte order mark alone is a file without a line.
        let body = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
        let lines = body.split_inclusive(|byte| *byte == b'\n').count() as u64;
        assert_eq!(whole.total_lines, lines);
        for (at, line) in whole.lines.iter().enumerate() {
            assert_eq!(line.number, spec.offset.max(1) + at as u64);
            let mut row = String::new();
            line.render(&mut row);
            assert_eq!(row.len() + 1, line.rendered_len());
        }
    }
}

/// Returns whether plain string functions can say what should happen: endings are all alike.
fn is_plain(texts: &[&str]) -> bool {
    texts.iter().all(|text| !text.contains('\r'))
}

fn replaces(text: &Text<'_>, old: &str, new: &str, all: bool) {
    let body = text.body();
    match plan_replace(text, old, new, all) {
        Ok(plan) => {
            let after = plan.splices.apply(text.bytes());
            assert_eq!(after.len(), plan.splices.new_len(text.bytes().len()));
            untouched(text.bytes(), &after, &plan.splices);
            if is_plain(&[body, old, new]) {
                let expected = match all {
                    true => body.replace(old, new),
                    false => body.replacen(old, new, 1),
                };
                assert_eq!(&after[text.body_start()..], expected.as_bytes());
            }
        }
        Err(ReplaceError::NotFound(_)) => {
            assert!(
                !is_plain(&[body, old]) || !body.contains(old),
                "{old:?} is there"
            );
            diagnose(text, old, new);
        }
        Err(ReplaceError::Ambiguous { count, lines }) => {
            assert!(!all && count > 1 && lines.is_sorted() && !lines.is_empty());
        }
        Err(ReplaceError::EmptyOld) => assert!(old.is_empty()),
        Err(ReplaceError::SameStrings) => assert_eq!(old, new),
    }
}

/// Every byte outside the splices is where it was.
fn untouched(before: &[u8], after: &[u8], splices: &seamfs::core::text::Splices) {
    let (mut from, mut to) = (0, 0);
    for splice in splices.as_slice() {
        let kept = splice.range.start - from;
        assert_eq!(before[from..splice.range.start], after[to..to + kept]);
        from = splice.range.end;
        to += kept + splice.replacement.len();
    }
    assert_eq!(before[from..], after[to..]);
}

fn inserts(text: &Text<'_>, row: usize, new: &str) {
    let body = text.body();
    let all: Vec<_> = body.split('\n').collect();
    let planned = plan_insert(text, row, new);
    let Ok(plan) = planned else {
        assert!(row > all.len());
        return;
    };
    let after = plan.splices.apply(text.bytes());
    untouched(text.bytes(), &after, &plan.splices);
    if is_plain(&[body, new]) {
        let mut inserted: Vec<_> = new.split('\n').collect();
        if new.ends_with('\n') && row < all.len() {
            inserted.pop();
        }
        let expected = [&all[..row], &inserted, &all[row..]].concat().join("\n");
        assert_eq!(&after[text.body_start()..], expected.as_bytes());
    }
}

fn diffs(before: &str, after: &str) {
    let diff = Diff::between(before, after, 3);
    assert_eq!(diff.is_empty(), before == after);
    for most in [0, 100, 10_000] {
        diff.render(most);
    }
    for hunk in &diff.hunks {
        // A hunk quotes whole lines, with an ending even where the text has none.
        let (old, new) = hunk.texts();
        assert!(old.len() <= before.len() + 2, "{old:?}");
        assert!(new.len() <= after.len() + 2, "{new:?}");
    }
}

/// Starts a runtime for what needs one.
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts")
}

/// A workspace in memory, and the runtime that its calls run on.
fn place() -> &'static (Runtime, Workspace) {
    static PLACE: OnceLock<(Runtime, Workspace)> = OnceLock::new();
    PLACE.get_or_init(|| {
        let runtime = runtime();
        let builder = Workspace::builder().option("quota", "1000000");
        let workspace = runtime.block_on(builder.open("memory:"));
        (runtime, workspace.expect("memory opens"))
    })
}

/// A file: what `read` shows of it has the shape that it should, whatever the file says.
pub fn envelope(data: &[u8]) {
    let (runtime, workspace) = place();
    let result = runtime.block_on(async {
        let target = workspace
            .fs()
            .target("envelope")
            .await
            .expect("it resolves");
        let bytes = data.to_vec().into();
        let written = workspace
            .fs()
            .write_all(&target, bytes, Expected::Any)
            .await;
        if written.is_err() {
            return None;
        }
        let session = workspace.session("envelope");
        let args = serde_json::json!({"file_path": "/envelope"});
        Some(session.call("read", args).await)
    });
    let Some(result) = result.filter(|result| !result.is_error()) else {
        return;
    };
    let text = &*result.text;
    let mark = text.split('"').nth(3).expect("the envelope has a mark");
    let close = format!("</file mark=\"{mark}\">");
    let mut all = rows(text);
    assert!(
        all.next()
            .is_some_and(|first| first.starts_with("<file path=\"/envelope\" mark=\""))
    );
    let mut number = 0;
    for row in all.by_ref().take_while(|row| *row != close) {
        number += 1;
        assert!(
            row.starts_with(&format!("{number}: ")),
            "row {number} is {row:?}"
        );
    }
    let shown = result.structured["returned_lines"].as_u64();
    assert_eq!(shown, Some(number), "{text}");
    assert!(
        all.next().is_some_and(|footer| footer.starts_with('(')),
        "{text}"
    );
}

/// A tool and its arguments: there is an answer, bounded, and it is never a defect of the tool.
pub fn arguments(data: &[u8]) {
    const TOOLS: [&str; 4] = ["read", "write", "edit", "str_replace_editor"];
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    let Ok(arguments) = serde_json::from_slice::<Value>(rest) else {
        return;
    };
    let (runtime, workspace) = place();
    let tool = TOOLS[usize::from(*first) % TOOLS.len()];
    let result = runtime.block_on(async { workspace.session("fuzz").call(tool, arguments).await });
    check_result(&result);
}

fn check_result(result: &ToolResult) {
    assert!(!result.text.is_empty());
    if let Some(code) = result.code() {
        let code = code.as_str();
        assert_ne!(code, "FS_OUTCOME_UNKNOWN", "{}", result.text);
        assert!(result.text.len() <= 80_000, "{} bytes", result.text.len());
        assert_eq!(result.structured["error"]["code"], code);
    }
}

/// Checks the answer to a line of `seamfs batch`.
pub fn check_answer(answer: &Value) {
    if let Some(answers) = answer.get("parallel") {
        answers
            .as_array()
            .expect("a list")
            .iter()
            .for_each(check_answer);
        return;
    }
    let error = answer["is_error"]
        .as_bool()
        .expect("it says whether it failed");
    assert_eq!(answer["code"].is_string(), error, "{answer}");
    assert!(!answer["text"].as_str().expect("there is a text").is_empty());
    assert_ne!(answer["code"], "FS_OUTCOME_UNKNOWN", "{answer}");
}

/// What an MCP client sends: the server ends when it does, and says only JSON, one a line.
pub fn frames(data: &[u8]) {
    let (runtime, workspace) = place();
    let data = data.to_vec();
    let said = runtime.block_on(async {
        let (client, served) = duplex(1 << 20);
        let (input, output) = split(served);
        let server = Server::new(workspace.clone());
        let serving = tokio::spawn(async move { server.serve(input, output).await });
        let (mut answers, mut requests) = split(client);
        let sending = async move {
            let _ = requests.write_all(&data).await;
            let _ = requests.shutdown().await;
        };
        let mut said = Vec::new();
        let conversation = async {
            let (read, ()) = tokio::join!(answers.read_to_end(&mut said), sending);
            read.expect("the server's side is open or closed");
            serving
                .await
                .expect("no defect of the server")
                .expect("the workspace has a root");
        };
        let ended = tokio::time::timeout(Duration::from_secs(60), conversation).await;
        ended.expect("the server ends when its client does");
        said
    });
    for line in said
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let answer: Value = serde_json::from_slice(line).expect("the server says JSON");
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
    }
}

//! T6: pages of a large file, each of which costs a page and belongs to one version.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use seamfs::core::{ReadOptions, ReadOutcome};
use seamfs::{FileSystem, Result, Target, ToolResult};
use serde_json::Value;

use crate::support::{Backend, Checked, Double, Hooks, Stage, Verdict, claims, ensure, ensure_eq};

claims! {
    everywhere: [
        t6_pages_of_a_large_file_concatenate_to_it: [IgnoresOffset, NamesRangesByOldVersion],
        t6_a_change_between_pages_is_noticed: [NamesRangesByOldVersion],
        t6_a_later_page_costs_the_page: [NamesNoRanges],
    ],
}

/// More than is kept as a snapshot, in bytes.
const LARGE: usize = 300 << 10;

/// Texts of more than [`LARGE`] bytes, some with lines longer than is shown, and how to page.
fn pages() -> impl Strategy<Value = (String, Vec<(u64, u64)>)> {
    let line = prop_oneof![
        4 => "[a-zé한 ]{0,60}",
        1 => "[a-z한]{1990,2010}",
        1 => "(ab|é){2500,4000}",
    ];
    let lines = prop::collection::vec(line, 20..60);
    let ending = prop_oneof![Just("\n"), Just("\r\n")];
    (lines, ending, any::<bool>(), any::<bool>()).prop_flat_map(|(lines, ending, bom, last)| {
        let block: String = lines.iter().map(|line| format!("{line}{ending}")).collect();
        let mut text = if bom {
            "\u{feff}".to_owned()
        } else {
            String::new()
        };
        text.push_str(&block.repeat(LARGE / block.len() + 1));
        if last {
            text.push_str("the last line");
        }
        let total = text.lines().count() as u64;
        let pages = prop::collection::vec((1..=total, 1u64..2000), 4);
        (Just(text), pages)
    })
}

fn runner() -> TestRunner {
    TestRunner::new(Config {
        cases: 6,
        rng_seed: RngSeed::Fixed(0x9a6e),
        failure_persistence: None,
        ..Config::default()
    })
}

/// Checks a page against the text; returns the line after it.
fn check_page(page: &ToolResult, text: &str, offset: u64) -> Result<u64, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = text.lines().collect();
    ensure_eq!(page.structured["total_lines"], lines.len());
    let shown = page.structured["lines"]
        .as_array()
        .expect("there are lines");
    ensure!(!shown.is_empty(), "nothing at {offset}");
    for (line, number) in shown.iter().zip(offset..) {
        ensure_eq!(line["number"], number);
        let whole = lines[number as usize - 1];
        let wanted: String = whole.chars().take(2000).collect();
        ensure_eq!(line["text"], Value::String(wanted));
    }
    Ok(offset + shown.len() as u64)
}

async fn t6_pages_of_a_large_file_concatenate_to_it(stage: Stage) -> Verdict {
    let mut runner = runner();
    let scene = stage.scene().await;
    for round in 0..6 {
        let tree = pages()
            .new_tree(&mut runner)
            .map_err(|why| why.to_string())?;
        let (text, windows) = tree.current();
        let total = text.lines().count() as u64;
        scene.put("big.txt", &text).await;
        let s1 = scene.hand(&format!("S{round}"));
        // In order, by whatever limit, then here and there.
        let mut offset = 1;
        let mut limits = windows.iter().map(|(_, limit)| *limit).cycle();
        while offset <= total {
            let page = s1
                .read_from("big.txt", offset, limits.next().unwrap_or(9))
                .await;
            offset = check_page(&page.ok()?, &text, offset)?;
        }
        for (offset, limit) in windows {
            let page = s1.read_from("big.txt", offset, limit).await;
            check_page(&page.ok()?, &text, offset)?;
            let last = (offset + 2).min(total) as i64;
            let view = s1.view_rows("big.txt", offset as i64, last).await;
            let body = text.strip_prefix('\u{feff}').unwrap_or(&text);
            let line = body.lines().nth(offset as usize - 1).unwrap_or_default();
            view.ok()?.says(&format!("{offset:>6}  {line}"))?;
        }
        s1.read_from("big.txt", total + 1, 1)
            .await
            .fails(seamfs::ErrorCode::InvalidArgument)?
            .says(&format!("{total} line"))?;
    }
    Ok(())
}

fn numbered(word: &str) -> String {
    (1..=20_000)
        .map(|n| format!("{word} number {n:05}\n"))
        .collect()
}

async fn t6_a_change_between_pages_is_noticed(stage: Stage) -> Verdict {
    let scene = stage.scene().await;
    let s1 = scene.s1();
    scene.put("big.txt", numbered("one")).await;
    let mut version = Value::Null;
    for (word, offset) in [("one", 1), ("one", 9_000), ("two", 9_000), ("six", 15_000)] {
        if word != "one" {
            scene.put("big.txt", numbered(word)).await;
        }
        for offset in [offset, offset + 100] {
            let page = s1.read_from("big.txt", offset, 3).await.ok()?;
            check_page(&page, &numbered(word), offset)?;
            version = page.structured["version"].clone();
        }
        // What the page says of the file is what guards its edit.
        let line = format!("{word} number 00007");
        s1.edit("big.txt", &line, &line.replace("00007", "0000x"))
            .await
            .ok()?;
        scene.put("big.txt", numbered(word)).await;
        let again = s1.read_from("big.txt", 2, 1).await.ok()?;
        let hash = |version: &Value| version.as_str().map(|text| text[..67].to_owned());
        ensure_eq!(hash(&again.structured["version"]), hash(&version));
    }
    scene.put("big.txt", "short\n").await;
    let page = s1.read_from("big.txt", 1, 9).await.ok()?;
    ensure!(
        version != page.structured["version"],
        "the version is an old one"
    );
    check_page(&page, "short\n", 1)?;
    scene.remove("big.txt").await;
    s1.read_from("big.txt", 2, 9)
        .await
        .fails(seamfs::ErrorCode::NotFound)?;
    Ok(())
}

/// Counts what is asked of the storage, and the bytes it gives.
#[derive(Clone, Debug, Default)]
struct Counter(Arc<Mutex<Vec<u64>>>);

impl Counter {
    /// Returns how many bytes each read since the last call gave.
    fn take(&self) -> Vec<u64> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Hooks for Counter {
    async fn read(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        options: ReadOptions,
    ) -> Result<ReadOutcome> {
        let size = fs
            .stat(target, Default::default())
            .await?
            .and_then(|found| found.size)
            .unwrap_or(0);
        let asked = options.range.clone().unwrap_or(0..size);
        let bytes = asked.end.min(size).saturating_sub(asked.start);
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(bytes);
        fs.read(target, options).await
    }
}

async fn t6_a_later_page_costs_the_page(stage: Stage) -> Verdict {
    let counter = Counter::default();
    let hooks = counter.clone();
    let scene = stage
        .scene_over(|builder| builder, |fs| Double::over(fs, hooks))
        .await;
    let text = numbered("this is line");
    scene.put("big.txt", &text).await;
    let (s1, s2) = (scene.s1(), scene.s2());
    s1.read_from("big.txt", 1, 10).await.ok()?;
    ensure_eq!(counter.take(), [text.len() as u64]);
    let begun = Instant::now();
    loop {
        s1.read_from("big.txt", 15_000, 10).await.ok()?;
        // A disk's stamp must be older than a tick to be trusted, so there it is tried again.
        match counter.take()[..] {
            [part] if part < 64 << 10 => break,
            ref reads => ensure!(
                stage.backend == Backend::Local && begun.elapsed() < Duration::from_secs(20),
                "the second page read {reads:?} of {} bytes",
                text.len()
            ),
        }
    }
    // What one session's pass has found is every session's.
    s2.read_from("big.txt", 9_000, 2000).await.ok()?;
    s2.view_rows("big.txt", 19_000, 19_010).await.ok()?;
    let reads = counter.take();
    ensure!(
        reads.len() == 2 && reads.iter().all(|part| *part < 128 << 10),
        "{reads:?}"
    );
    Ok(())
}

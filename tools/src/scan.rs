//! Scanning: the window of lines that a reading tool shows.
//!
//! The first look at a file is one pass over all of it, which judges its text, counts its lines
//! and names its version. Of a large file the pass also leaves a sparse index, so that a later
//! window of the same version is read alone. The version that comes with those bytes decides: when
//! it is not the index's, or there is none, nothing of them is shown and the file is read whole.

use std::sync::Arc;

use seamfs_core::cache::Indexed;
use seamfs_core::cas::not_text;
use seamfs_core::gate::SNAPSHOT_LIMIT;
use seamfs_core::text::{LineIndexer, StreamDecoder, Window, WindowScanner, WindowSpec};
use seamfs_core::{Body, ErrorCode, FsError, Operation, ReadOptions, Result, Version, in_place};

use crate::kept::{Keeper, Kept};
use crate::scope::{Place, Scope};

/// The most bytes that are asked for at once where lines are longer than is shown: 8 MiB.
const LONGEST_STEP: u64 = 8 << 20;

/// What a look at a file found.
pub(crate) struct Scan {
    pub(crate) window: Window,
    pub(crate) version: Version,
    /// What of the bytes is kept.
    pub(crate) kept: Kept,
    pub(crate) bytes: u64,
}

/// Reads a window of a file, in memory bounded by the window.
///
/// What is said of the file as a whole is exact, however little of it was read this time.
pub(crate) async fn scan(scope: &Scope, place: &Place, spec: WindowSpec) -> Result<Scan> {
    let at = |error: FsError| error.at(place.target().display()).during(Operation::Read);
    let key = place.target().key();
    if let Some(known) = scope.indexes.get(key) {
        // Whatever went wrong, the pass over the whole file says it in its own words.
        if let Ok(Some(scan)) = scan_part(scope, place, spec, &known).await {
            return Ok(scan);
        }
        scope.context().check().map_err(at)?;
    }
    let (scan, index) = scan_whole(scope, place, spec).await.map_err(at)?;
    match index {
        Some(index) => {
            let index = index.finish(&scan.window);
            let outline = scan.kept.outline().cloned();
            let version = scan.version.clone();
            scope.indexes.put(key.clone(), version, index, outline);
        }
        None => scope.indexes.forget(key),
    }
    Ok(scan)
}

/// Reads the window's bytes alone; nothing when they are not of the version that is known.
async fn scan_part(
    scope: &Scope,
    place: &Place,
    spec: WindowSpec,
    known: &Indexed,
) -> Result<Option<Scan>> {
    let index = &known.index;
    let span = index.span(&spec);
    let mut scanner = index.scanner(spec, &span);
    let (mut reached, mut end) = (span.bytes.start, span.likely_end);
    loop {
        let options = ReadOptions {
            range: Some(reached..end),
            ..ReadOptions::default().in_context(scope.context())
        };
        let mut body = scope.fs().read(place.target(), options).await?.body;
        while let Some(piece) = body.next().await? {
            scope.context().check()?;
            in_place::make_way_for(piece.len()).await;
            scanner.push(&piece);
            reached += piece.len() as u64;
        }
        let proved = body
            .version()
            .is_some_and(|version| version.certifies(&known.version));
        if !proved || reached != end {
            return Ok(None);
        }
        if scanner.is_full() || end == span.bytes.end {
            break;
        }
        let step = (reached - span.bytes.start).min(LONGEST_STEP);
        end = end.saturating_add(step).min(span.bytes.end);
    }
    Ok(Some(Scan {
        window: index.window(scanner, reached == index.bytes()),
        version: known.version.clone(),
        kept: match &known.outline {
            Some(outline) => Kept::Outline(Arc::clone(outline)),
            None => Kept::Nothing,
        },
        bytes: index.bytes(),
    }))
}

/// Reads a file once, judging and counting all of it; indexes it when it is large.
async fn scan_whole(
    scope: &Scope,
    place: &Place,
    spec: WindowSpec,
) -> Result<(Scan, Option<LineIndexer>)> {
    let options = ReadOptions::default().in_context(scope.context());
    let mut body = scope.fs().read(place.target(), options).await?.body;
    let mut scanner = WindowScanner::new(spec);
    let mut decoder = StreamDecoder::new();
    let mut keeper = Keeper::of(&body, scope.outlines());
    let mut indexer = indexer_of(&body);
    let mut bytes = 0;
    while let Some(piece) = body.next().await? {
        scope.context().check()?;
        in_place::make_way_for(piece.len()).await;
        decoder.push(&piece).map_err(not_text)?;
        scanner.push(&piece);
        if let Some(indexer) = &mut indexer {
            indexer.push(&piece);
        }
        bytes += piece.len() as u64;
        keeper.push(&piece);
    }
    decoder.finish().map_err(not_text)?;
    let version = body
        .version()
        .ok_or_else(|| FsError::new(ErrorCode::IoError, "the read ended without a version"))?;
    let kept = keeper.finish();
    let large = kept.bytes().is_none();
    let scan = Scan {
        window: scanner.finish(),
        version,
        kept,
        bytes,
    };
    Ok((scan, indexer.filter(|_| large)))
}

/// Returns what indexes a body, unless it is known to be small.
fn indexer_of(body: &Body) -> Option<LineIndexer> {
    match body {
        Body::Whole { bytes, .. } if bytes.len() <= SNAPSHOT_LIMIT => None,
        Body::Whole { .. } | Body::Stream(_) => Some(LineIndexer::default()),
    }
}

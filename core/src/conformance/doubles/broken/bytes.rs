//! Faults of bytes: changed on the way, delivered in part, or written when they should not be.

use std::collections::HashMap;
use std::sync::Mutex;

use tokio::task::yield_now;

use super::fault::prelude::*;
use crate::body::ByteStream;
use crate::text::Splices;

/// Writes with the bytes passed through a function.
async fn write_through(
    fs: &Inner,
    target: &Target,
    bytes: &[u8],
    options: WriteOptions,
    change: impl FnOnce(&[u8]) -> Vec<u8>,
) -> Result<WriteOutcome> {
    fs.write(target, change(bytes).into(), options).await
}

/// Edits, and passes the bytes afterwards through a function.
async fn edit_through(
    fs: &Inner,
    target: &Target,
    transform: Arc<dyn Transform>,
    options: EditOptions,
    change: impl FnOnce(&[u8]) -> Vec<u8>,
) -> Result<EditOutcome> {
    let outcome = fs.edit(target, transform, options).await?;
    let after = change(&outcome.after());
    fs.write(target, after.into(), WriteOptions::default())
        .await?;
    Ok(outcome)
}

fn to_line_feeds(bytes: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    for byte in bytes {
        match (byte, out.last()) {
            (b'\n', Some(b'\r')) => *out.last_mut().expect("it was just seen") = b'\n',
            _ => out.push(*byte),
        }
    }
    out
}

fn without_bom(bytes: &[u8]) -> Vec<u8> {
    bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(bytes)
        .to_vec()
}

macro_rules! changes_bytes {
    ($($(#[$doc:meta])* $fault:ident: $change:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(super) struct $fault;

        #[async_trait]
        impl Fault for $fault {
            async fn write(
                &self,
                fs: &Inner,
                target: &Target,
                bytes: Bytes,
                options: WriteOptions,
            ) -> Result<WriteOutcome> {
                write_through(fs, target, &bytes, options, $change).await
            }

            async fn edit(
                &self,
                fs: &Inner,
                target: &Target,
                transform: Arc<dyn Transform>,
                options: EditOptions,
            ) -> Result<EditOutcome> {
                edit_through(fs, target, transform, options, $change).await
            }
        }
    )+};
}

changes_bytes! {
    /// Writes one kind of line ending.
    RewritesEndings: to_line_feeds;
    /// Takes a byte order mark for nothing.
    DropsBom: without_bom;
    /// Takes `$&` for what was matched.
    ExpandsDollars: expand_dollars;
}

fn expand_dollars(bytes: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(bytes)
        .replace("$&", "")
        .into_bytes()
}

/// A transform that sees other text than there is, its plan applied to that text.
struct Seeing<F> {
    inner: Arc<dyn Transform>,
    see: F,
}

impl<F: Fn(&[u8]) -> Vec<u8> + Send + Sync> Transform for Seeing<F> {
    fn plan(&self, text: &Text<'_>, version: &Version) -> Result<TextEdit> {
        let shown = (self.see)(text.bytes());
        let shown = Text::decode(&shown).map_err(cas::not_text)?;
        let edit = self.inner.plan(&shown, version)?;
        let after = String::from_utf8_lossy(&edit.splices.apply(shown.bytes())).into_owned();
        let whole = crate::text::Splice {
            range: 0..text.bytes().len(),
            replacement: after,
        };
        let splices =
            Splices::new(vec![whole], text.bytes().len()).expect("one splice is in order");
        Ok(TextEdit { splices, ..edit })
    }
}

/// Takes the two characters of a CRLF for two.
#[derive(Debug)]
pub(super) struct MatchesWithinCrlf;

#[async_trait]
impl Fault for MatchesWithinCrlf {
    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        inner: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let see = |bytes: &[u8]| {
            bytes
                .iter()
                .copied()
                .filter(|byte| *byte != b'\n')
                .collect()
        };
        fs.edit(target, Arc::new(Seeing { inner, see }), options)
            .await
    }
}

/// Applies the first of several splices.
#[derive(Debug)]
pub(super) struct AppliesOneSplice;

struct FirstSplice(Arc<dyn Transform>);

impl Transform for FirstSplice {
    fn plan(&self, text: &Text<'_>, version: &Version) -> Result<TextEdit> {
        let edit = self.0.plan(text, version)?;
        let first = edit.splices.as_slice().iter().take(1).cloned().collect();
        let splices = Splices::new(first, text.bytes().len()).expect("one splice is in order");
        Ok(TextEdit { splices, ..edit })
    }
}

#[async_trait]
impl Fault for AppliesOneSplice {
    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        fs.edit(target, Arc::new(FirstSplice(transform)), options)
            .await
    }
}

/// Takes anything for text, and writes what it took it for.
#[derive(Debug)]
pub(super) struct DecodesAnything;

#[async_trait]
impl Fault for DecodesAnything {
    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let seen = fs.read_all(target).await?;
        if Text::decode(&seen.bytes).is_err() {
            let text = String::from_utf8_lossy(&seen.bytes).replace('\0', " ");
            fs.write_all(target, text.into(), Expected::Any).await?;
        }
        fs.edit(target, transform, options).await
    }
}

/// Decodes pieces of 64 KiB each by itself.
#[derive(Debug)]
pub(super) struct DecodesPieces;

#[async_trait]
impl Fault for DecodesPieces {
    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let seen = fs.read_all(target).await?;
        for piece in seen.bytes.chunks(64 << 10) {
            Text::decode(piece).map_err(cas::not_text)?;
        }
        fs.edit(target, transform, options).await
    }
}

/// Remembers what it read first, and believes it.
#[derive(Debug, Default)]
pub(super) struct ServesCachedReads(Mutex<HashMap<TargetKey, Snapshot>>);

impl ServesCachedReads {
    async fn cached(&self, fs: &Inner, target: &Target) -> Result<Snapshot> {
        let known = self
            .0
            .lock()
            .ok()
            .and_then(|cache| cache.get(target.key()).cloned());
        if let Some(known) = known {
            return Ok(known);
        }
        let read = fs.read_all(target).await?;
        if let Ok(mut cache) = self.0.lock() {
            cache.insert(target.key().clone(), read.clone());
        }
        Ok(read)
    }
}

#[async_trait]
impl Fault for ServesCachedReads {
    async fn read(&self, fs: &Inner, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        let metadata = fs.read(target, options).await?.metadata;
        let Snapshot { bytes, version } = self.cached(fs, target).await?;
        let version = Some(version);
        Ok(ReadOutcome {
            metadata,
            body: Body::Whole { bytes, version },
        })
    }

    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        let outcome = fs.write(target, bytes, options).await?;
        self.cached(fs, target).await?;
        Ok(outcome)
    }

    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let seen = self.cached(fs, target).await?;
        match cas::attempt(Some(&seen), &*transform, &Expected::Any)? {
            cas::Attempt::Unchanged(edit) => Ok(cas::unchanged(seen, edit)),
            cas::Attempt::Publish(_) => fs.edit(target, transform, options).await,
        }
    }
}

/// Writes the first half, and then the whole.
#[derive(Debug)]
pub(super) struct WritesInTwoSteps;

#[async_trait]
impl Fault for WritesInTwoSteps {
    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        let half = bytes.slice(..bytes.len() / 2);
        let outcome = fs.write(target, half, options).await?;
        for _ in 0..4 {
            yield_now().await;
        }
        let whole = fs.write(target, bytes, WriteOptions::default()).await?;
        Ok(WriteOutcome {
            version: whole.version,
            ..outcome
        })
    }
}

/// Writes after an edit that changed nothing.
#[derive(Debug)]
pub(super) struct WritesNoChange;

#[async_trait]
impl Fault for WritesNoChange {
    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        edit_through(fs, target, transform, options, <[u8]>::to_vec).await
    }
}

/// Keeps the beginning of what has no room.
#[derive(Debug)]
pub(super) struct KeepsWhatFits;

#[async_trait]
impl Fault for KeepsWhatFits {
    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        let outcome = fs.write(target, bytes.clone(), options).await;
        if outcome
            .as_ref()
            .is_err_and(|error| error.code() == ErrorCode::NoSpace)
        {
            fs.write_all(target, bytes.slice(..1024), Expected::Any)
                .await?;
        }
        outcome
    }
}

macro_rules! changes_outcome {
    ($($(#[$doc:meta])* $fault:ident: |$fs:ident, $target:ident, $bytes:ident, $outcome:ident| $change:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(super) struct $fault;

        #[async_trait]
        impl Fault for $fault {
            async fn write(
                &self,
                $fs: &Inner,
                $target: &Target,
                $bytes: Bytes,
                options: WriteOptions,
            ) -> Result<WriteOutcome> {
                #[allow(unused_mut)]
                let mut $outcome = $fs.write($target, $bytes.clone(), options).await?;
                $change;
                Ok($outcome)
            }
        }
    )+};
}

changes_outcome! {
    /// Never gives the bytes before.
    ForgetsBefore: |fs, target, bytes, outcome| outcome.before = None;
    /// Gives the bytes written for the ones before.
    AlwaysBefore: |fs, target, bytes, outcome| outcome.before = Some(bytes);
    /// Says of every write that it replaced something.
    NeverCreated: |fs, target, bytes, outcome| outcome.created = false;
    /// Leaves a file beside the one it wrote.
    LeaksStaging: |fs, target, bytes, outcome| {
        let beside = fs.target(&format!("{}.stage", target.display())).await?;
        fs.write_all(&beside, bytes, Expected::Any).await?;
    };
}

/// Creates nothing where there is no folder.
#[derive(Debug)]
pub(super) struct NeedsFolder;

async fn folder_there(fs: &Inner, target: &Target) -> Result<()> {
    let above = target
        .display()
        .rsplit_once('/')
        .map_or("/", |(above, _)| above);
    let options = ResolveOptions {
        purpose: Purpose::Folder,
        ..ResolveOptions::default()
    };
    let above = fs
        .resolve(if above.is_empty() { "/" } else { above }, "", options)
        .await?;
    match fs.stat(&above, StatOptions::default()).await? {
        Some(_) => Ok(()),
        None => Err(cas::not_found()),
    }
}

#[async_trait]
impl Fault for NeedsFolder {
    async fn write(
        &self,
        fs: &Inner,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        folder_there(fs, target).await?;
        fs.write(target, bytes, options).await
    }

    async fn create_dir(
        &self,
        fs: &Inner,
        target: &Target,
        options: CreateDirOptions,
    ) -> Result<()> {
        folder_there(fs, target).await?;
        fs.create_dir(target, options).await
    }
}

/// Takes a cap for the first number that is too many.
#[derive(Debug)]
pub(super) struct ExclusiveCaps;

#[async_trait]
impl Fault for ExclusiveCaps {
    async fn read(
        &self,
        fs: &Inner,
        target: &Target,
        mut options: ReadOptions,
    ) -> Result<ReadOutcome> {
        options.max_bytes = options.max_bytes.map(|most| most.saturating_sub(1));
        fs.read(target, options).await
    }

    async fn edit(
        &self,
        fs: &Inner,
        target: &Target,
        transform: Arc<dyn Transform>,
        mut options: EditOptions,
    ) -> Result<EditOutcome> {
        options.max_bytes -= 1;
        fs.edit(target, transform, options).await
    }
}

/// Delivers everything.
#[derive(Debug)]
pub(super) struct IgnoresRanges;

#[async_trait]
impl Fault for IgnoresRanges {
    async fn read(
        &self,
        fs: &Inner,
        target: &Target,
        mut options: ReadOptions,
    ) -> Result<ReadOutcome> {
        options.range = None;
        fs.read(target, options).await
    }
}

/// Fails where a range leaves the file.
#[derive(Debug)]
pub(super) struct RefusesPastEnd;

#[async_trait]
impl Fault for RefusesPastEnd {
    async fn read(&self, fs: &Inner, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        let size = fs
            .stat(target, StatOptions::default())
            .await?
            .and_then(|found| found.size);
        let end = options.range.as_ref().map_or(0, |range| range.end);
        if size.is_some_and(|size| end > size) {
            return Err(FsError::new(
                ErrorCode::InvalidArgument,
                "the range leaves the file",
            ));
        }
        fs.read(target, options).await
    }
}

/// Delivers nothing before each piece.
#[derive(Debug)]
pub(super) struct EmptyPieces;

struct Stuttering {
    inner: Body,
    paused: bool,
}

#[async_trait]
impl ByteStream for Stuttering {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        self.paused = !self.paused;
        match self.paused {
            true => Ok(Some(Bytes::new())),
            false => self.inner.next().await,
        }
    }

    fn version(&self) -> Option<Version> {
        self.inner.version()
    }
}

#[async_trait]
impl Fault for EmptyPieces {
    async fn read(&self, fs: &Inner, target: &Target, options: ReadOptions) -> Result<ReadOutcome> {
        let outcome = fs.read(target, options).await?;
        Ok(ReadOutcome {
            metadata: outcome.metadata,
            body: Body::Stream(Box::new(Stuttering {
                inner: outcome.body,
                paused: false,
            })),
        })
    }
}

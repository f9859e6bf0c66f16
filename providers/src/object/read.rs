//! Reading: one request, whole where the object is small, in pieces where it is not.

use std::sync::Mutex;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta};
use seamfs_core::{
    Body, ByteStream, CallContext, ContentHasher, ErrorCode, FileKind, FsError, Metadata,
    Operation, ReadOptions, ReadOutcome, Result, Target, TargetKey, Version, cas,
};

use super::fault::{Fault, Kind};
use super::remote::{BEGUN_ANEW, Got, Seen, TokenKind, in_time};
use super::{Object, not_regular, path_of};

/// The largest object, in bytes, that is read into memory at once: 8 MiB.
const WHOLE_LIMIT: u64 = 8 << 20;

/// No object is as large, in bytes, and some stores refuse a range that names more.
const BEYOND: u64 = i64::MAX as u64;

impl Object {
    pub(super) async fn read_object(
        &self,
        target: &Target,
        options: &ReadOptions,
    ) -> Result<ReadOutcome> {
        options.context.check()?;
        if path_of(target).is_root() {
            return Err(not_regular());
        }
        let read = match &options.range {
            None => self.read_whole(target, options).await,
            Some(range) => {
                self.read_range(target, range.start..range.end, options)
                    .await
            }
        };
        match read {
            Ok(outcome) => Ok(outcome),
            Err(error) => Err(self.missing(target, error, &options.context).await),
        }
    }

    async fn read_whole(&self, target: &Target, options: &ReadOptions) -> Result<ReadOutcome> {
        let key = self.key_of(target);
        let context = &options.context;
        let cached = self.cached(target);
        let known = cached.as_ref().and_then(|seen| seen.extra.e_tag.clone());
        let get = GetOptions {
            if_none_match: known,
            ..GetOptions::default()
        };
        let result = match self.request(&key, get, context).await {
            Ok(result) => result,
            Err(fault) => match (fault.kind, cached) {
                (Kind::NotModified, Some(seen)) => return self.whole(seen, options),
                (Kind::NotFound, _) => {
                    self.forget(target);
                    return Err(fault.into_error());
                }
                _ => return Err(fault.into_error()),
            },
        };
        check_size(result.meta.size, options)?;
        if result.meta.size > self.whole_limit() {
            return Ok(self.streamed(result, options));
        }
        let seen = match in_time(context, self.0.remote.collect(result)).await {
            Err(fault) if fault.kind == Kind::Torn => self.begin_anew(&key, options).await?,
            seen => seen.map_err(Fault::into_error)?,
        };
        self.remember(target, seen.snapshot.clone(), seen.extra.clone());
        self.whole(seen, options)
    }

    /// Reads a small object again whose body broke off.
    async fn begin_anew(&self, key: &Path, options: &ReadOptions) -> Result<Seen> {
        let (remote, budget) = (&self.0.remote, &self.0.budget);
        let limit = options.max_bytes.unwrap_or(u64::MAX);
        let got = remote.get_anew(key, None, limit, budget, &options.context);
        match got.await.map_err(Fault::into_error)? {
            Got::Seen(seen) => Ok(seen),
            Got::TooLarge(meta) => Err(cas::too_large(meta.size, limit)),
            Got::Absent | Got::Unchanged => Err(cas::not_found()),
        }
    }

    async fn read_range(
        &self,
        target: &Target,
        range: std::ops::Range<u64>,
        options: &ReadOptions,
    ) -> Result<ReadOutcome> {
        let key = self.key_of(target);
        let range = range.start..range.end.min(BEYOND);
        if range.start >= range.end {
            return self.read_nothing(target, &key, options).await;
        }
        let mut spending = self.0.budget.begin(&options.context);
        for _ in 0..BEGUN_ANEW {
            match self
                .range_once(target, &key, range.clone(), options)
                .await?
            {
                Some(outcome) => return Ok(outcome),
                None if spending.wait().await => {}
                None => return Err(Fault::torn().into_error()),
            }
        }
        let last = self.range_once(target, &key, range, options).await?;
        last.ok_or_else(|| Fault::torn().into_error())
    }

    /// Reads a range that is not empty; none when its body broke off.
    async fn range_once(
        &self,
        target: &Target,
        key: &Path,
        range: std::ops::Range<u64>,
        options: &ReadOptions,
    ) -> Result<Option<ReadOutcome>> {
        let cached = self.cached(target);
        let get = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_none_match: cached.as_ref().and_then(|seen| seen.extra.e_tag.clone()),
            ..GetOptions::default()
        };
        let result = match (self.request(key, get, &options.context).await, cached) {
            (Ok(result), _) => result,
            (Err(fault), Some(seen)) if fault.kind == Kind::NotModified => {
                return self.part_of(seen, range, options).map(Some);
            }
            (Err(fault), _) if fault.kind == Kind::Range => {
                // An empty object has no range at all.
                return self.read_nothing(target, key, options).await.map(Some);
            }
            (Err(fault), _) => return Err(fault.into_error()),
        };
        let wanted = result.range.end - result.range.start;
        check_size(wanted, options)?;
        if wanted > self.whole_limit() {
            return Ok(Some(self.streamed(result, options)));
        }
        let metadata = self.metadata_of(target.key(), &result.meta);
        let bytes = async {
            result
                .bytes()
                .await
                .map_err(|error| Fault::from(error).in_body())
        };
        match in_time(&options.context, bytes).await {
            Ok(bytes) if bytes.len() as u64 == wanted => Ok(Some(part(metadata, bytes))),
            Ok(_) => Ok(None),
            Err(fault) if fault.kind == Kind::Torn => Ok(None),
            Err(fault) => Err(fault.into_error()),
        }
    }

    /// Answers a range that holds no byte of the file.
    async fn read_nothing(
        &self,
        target: &Target,
        key: &Path,
        options: &ReadOptions,
    ) -> Result<ReadOutcome> {
        let head = in_time(&options.context, self.0.remote.head(key)).await;
        let meta = head
            .map_err(Fault::into_error)?
            .ok_or_else(cas::not_found)?;
        Ok(part(self.metadata_of(target.key(), &meta), Bytes::new()))
    }

    async fn request(
        &self,
        key: &Path,
        get: GetOptions,
        context: &CallContext,
    ) -> Result<GetResult, Fault> {
        let request = async { Ok(self.0.remote.reads.get_opts(key, get).await?) };
        in_time(context, request).await
    }

    fn whole(&self, seen: Seen, options: &ReadOptions) -> Result<ReadOutcome> {
        let size = seen.snapshot.bytes.len() as u64;
        self.part_of(seen, 0..size, options)
    }

    /// Answers a read from content that the store has just said is still there.
    fn part_of(
        &self,
        seen: Seen,
        range: std::ops::Range<u64>,
        options: &ReadOptions,
    ) -> Result<ReadOutcome> {
        let all = seen.snapshot.bytes;
        let size = all.len() as u64;
        let (start, end) = (range.start.min(size), range.end.min(size));
        check_size(end - start, options)?;
        let version = seen.snapshot.version;
        Ok(ReadOutcome {
            metadata: Metadata {
                size: Some(size),
                modified: seen.extra.modified,
                version: Some(version.clone()),
                ..Metadata::of(FileKind::File)
            },
            body: Body::Whole {
                bytes: all.slice(start as usize..end as usize),
                version: Some(version),
            },
        })
    }

    fn streamed(&self, result: GetResult, options: &ReadOptions) -> ReadOutcome {
        let version = self.0.remote.version_unread(&result.meta);
        let whole = result.range == (0..result.meta.size);
        ReadOutcome {
            metadata: metadata(&result.meta, version.clone()),
            body: Body::Stream(Box::new(Pieces {
                left: result.range.end - result.range.start,
                stream: Mutex::new(result.into_stream()),
                hasher: ContentHasher::new(),
                token: version,
                whole,
                context: options.context.clone(),
                state: State::Running,
            })),
        }
    }

    fn whole_limit(&self) -> u64 {
        WHOLE_LIMIT.min(self.0.cache.largest().max(1 << 20) as u64)
    }

    /// Returns the metadata of an object; its version has the hash too when the content is known.
    pub(super) fn metadata_of(&self, target: &TargetKey, meta: &ObjectMeta) -> Metadata {
        let version = self.0.remote.version_unread(meta).map(|unread| {
            match self.0.cache.get_version(target, &unread) {
                Some(cached) => cached.snapshot.version,
                None => unread,
            }
        });
        metadata(meta, version)
    }

    /// Returns whether listings say what names a content.
    pub(super) fn lists_tokens(&self) -> bool {
        self.0.remote.tokens == TokenKind::ETag
    }
}

pub(super) fn metadata(meta: &ObjectMeta, version: Option<Version>) -> Metadata {
    Metadata {
        size: Some(meta.size),
        modified: Some(meta.last_modified.into()),
        version,
        ..Metadata::of(FileKind::File)
    }
}

fn part(metadata: Metadata, bytes: Bytes) -> ReadOutcome {
    let version = metadata.version.clone();
    ReadOutcome {
        metadata,
        body: Body::Whole { bytes, version },
    }
}

fn check_size(size: u64, options: &ReadOptions) -> Result<()> {
    match options.max_bytes {
        Some(limit) if size > limit => Err(cas::too_large(size, limit)),
        _ => Ok(()),
    }
}

/// A large object, piece by piece; one version throughout, whatever happens to the key meanwhile.
struct Pieces {
    stream: Mutex<BoxStream<'static, object_store::Result<Bytes>>>,
    hasher: ContentHasher,
    left: u64,
    token: Option<Version>,
    whole: bool,
    context: CallContext,
    state: State,
}

#[derive(PartialEq)]
enum State {
    Running,
    Ended,
    Failed,
}

#[async_trait]
impl ByteStream for Pieces {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        if self.state != State::Running {
            return Ok(None);
        }
        self.state = State::Failed;
        self.context.check().map_err(reading)?;
        // Nobody else has this lock: it only makes the stream shareable.
        let stream = self
            .stream
            .get_mut()
            .unwrap_or_else(|poison| poison.into_inner());
        let piece = in_time(&self.context, async {
            Ok(stream.next().await.transpose()?)
        })
        .await
        .map_err(|fault| reading(fault.into_error()))?;
        match piece {
            Some(piece) if piece.len() as u64 <= self.left => {
                self.left -= piece.len() as u64;
                self.hasher.update(&piece);
                self.state = State::Running;
                Ok(Some(piece))
            }
            None if self.left == 0 => {
                self.state = State::Ended;
                Ok(None)
            }
            _ => Err(reading(Fault::torn().into_error())),
        }
    }

    fn version(&self) -> Option<Version> {
        if self.state != State::Ended {
            return None;
        }
        match (&self.token, self.whole) {
            (token, true) => {
                let token = token.as_ref().and_then(Version::token).unwrap_or_default();
                Some(Version::from_hash(self.hasher.finish()).with_token(token))
            }
            (token, false) => token.clone(),
        }
    }
}

fn reading(error: FsError) -> FsError {
    match error.code() {
        ErrorCode::NotFound => error.recast(ErrorCode::IoError, "the object vanished"),
        _ => error,
    }
    .during(Operation::Read)
}

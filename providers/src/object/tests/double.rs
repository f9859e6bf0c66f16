//! A store that misbehaves on demand, and counts what it is asked.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions,
    Result,
};

/// What the store does with one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trick {
    /// It writes, and the answer is lost.
    Lose,
    /// It answers with this status and writes nothing.
    Answer(u16),
    /// It lets another writer be first.
    Overtake(&'static str),
    /// It lets another writer change another object first.
    Disturb(&'static str, &'static str),
    /// It writes, loses the answer, and another writer replaces the bytes through us.
    LoseThenOvertake(&'static str),
}

/// How the store is, all the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Nature {
    #[default]
    Sound,
    IgnoresConditions,
    RefusesConditions,
    KnowsNoConditions,
    DropsMetadata,
}

#[derive(Debug, Default)]
pub(super) struct Double {
    pub(super) inner: InMemory,
    nature: Nature,
    tricks: Mutex<VecDeque<Trick>>,
    failing_deletes: Mutex<usize>,
    requests: Mutex<Vec<&'static str>>,
}

impl Double {
    pub(super) fn new(nature: Nature) -> Arc<Self> {
        Arc::new(Self {
            nature,
            ..Self::default()
        })
    }

    /// Says what is done with the next writes.
    pub(super) fn play(&self, tricks: impl IntoIterator<Item = Trick>) {
        self.tricks.lock().unwrap().extend(tricks);
    }

    pub(super) fn fail_deletes(&self, count: usize) {
        *self.failing_deletes.lock().unwrap() = count;
    }

    /// Returns the requests since the last call.
    pub(super) fn requests(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }

    pub(super) async fn text(&self, key: &str) -> Option<String> {
        let key = Path::parse(key).unwrap();
        let found = self
            .inner
            .get_opts(&key, GetOptions::default())
            .await
            .ok()?;
        let bytes = found.bytes().await.unwrap();
        Some(String::from_utf8(bytes.to_vec()).unwrap())
    }

    /// Writes as a tool would that knows nothing of us.
    pub(super) async fn put_foreign(&self, key: &str, text: &str) {
        let key = Path::parse(key).unwrap();
        let payload = PutPayload::from(text.to_owned());
        let options = PutOptions::default();
        self.inner.put_opts(&key, payload, options).await.unwrap();
    }

    fn count(&self, request: &'static str) {
        self.requests.lock().unwrap().push(request);
    }

    async fn put(
        &self,
        key: &Path,
        payload: PutPayload,
        mut options: PutOptions,
    ) -> Result<PutResult> {
        match (self.nature, &options.mode) {
            (Nature::DropsMetadata, _) => options.attributes = Attributes::new(),
            (_, PutMode::Overwrite) | (Nature::Sound, _) => {}
            (Nature::IgnoresConditions, _) => options.mode = PutMode::Overwrite,
            (Nature::RefusesConditions, PutMode::Create) => {}
            (Nature::RefusesConditions, _) => return Err(status(412)),
            (Nature::KnowsNoConditions, _) => {
                return Err(Error::NotImplemented {
                    operation: "put_opts".to_owned(),
                    implementer: "Double".to_owned(),
                });
            }
        }
        self.inner.put_opts(key, payload, options).await
    }
}

fn status(status: u16) -> Error {
    let text = format!("Server returned non-2xx status code: {status} Status: ");
    Error::Generic {
        store: "Double",
        source: text.into(),
    }
}

impl fmt::Display for Double {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Double")
    }
}

#[async_trait]
impl ObjectStore for Double {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.count("put");
        let trick = self.tricks.lock().unwrap().pop_front();
        match trick {
            None => self.put(location, payload, options).await,
            Some(Trick::Answer(code)) => Err(status(code)),
            Some(Trick::Lose) => {
                let _ = self.put(location, payload, options).await;
                Err(status(503))
            }
            Some(Trick::Overtake(text)) => {
                self.put_foreign(location.as_ref(), text).await;
                self.put(location, payload, options).await
            }
            Some(Trick::Disturb(key, text)) => {
                self.put_foreign(key, text).await;
                self.put(location, payload, options).await
            }
            Some(Trick::LoseThenOvertake(text)) => {
                let attributes = options.attributes.clone();
                let _ = self.put(location, payload, options).await;
                let followed = super::history_followed(&attributes);
                let options = PutOptions {
                    attributes: followed,
                    ..PutOptions::default()
                };
                let payload = PutPayload::from_static(text.as_bytes());
                self.inner.put_opts(location, payload, options).await?;
                Err(status(503))
            }
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.count(if options.head { "head" } else { "get" });
        self.inner.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.count("delete");
        let mut failing = self.failing_deletes.lock().unwrap();
        if *failing > 0 {
            *failing -= 1;
            return Box::pin(futures::stream::once(async { Err(status(403)) }));
        }
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.count("list");
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.count("list");
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.inner.rename_opts(from, to, options).await
    }
}

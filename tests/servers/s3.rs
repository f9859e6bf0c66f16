//! S3: the protocol by `s3s`, over the atomic store.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::TryStreamExt;
use http_body_util::BodyExt;
use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use s3s::auth::SimpleAuth;
use s3s::dto::{
    CommonPrefix, DeleteObjectInput, DeleteObjectOutput, DeleteObjectsInput, DeleteObjectsOutput,
    DeletedObject, ETag, ETagCondition, GetObjectInput, GetObjectOutput, HeadObjectInput,
    HeadObjectOutput, ListObjectsV2Input, ListObjectsV2Output, Object, PutObjectInput,
    PutObjectOutput, StreamingBlob, Timestamp,
};
use s3s::service::S3ServiceBuilder;
use s3s::{Body, S3, S3Request, S3Response, S3Result, s3_error};

use super::BUCKET;
use super::serve::{Protocol, Server};
use super::store::{Missed, Store, Stored, When};

/// The credentials that the server takes.
pub(crate) const KEY: (&str, &str) = ("seamfs-test", "seamfs-secret");

/// Starts an S3 server with one empty bucket.
pub(crate) fn s3() -> Server {
    let store = Arc::new(Store::default());
    let mut builder = S3ServiceBuilder::new(Bucket(Arc::clone(&store)));
    builder.set_auth(SimpleAuth::from_single(KEY.0, KEY.1));
    let service = builder.build();
    let protocol: Protocol = Arc::new(move |request| {
        let service = service.clone();
        Box::pin(async move {
            let answer = service.call(request.map(Body::from)).await;
            let (parts, body) = answer.expect("the protocol answers").into_parts();
            let body = body.collect().await.expect("the body is in memory");
            hyper::Response::from_parts(parts, body.to_bytes())
        })
    });
    Server::start(store, protocol)
}

impl Server {
    /// Returns the options that open a workspace on this S3 server.
    pub(crate) fn s3_options(&self) -> Vec<(String, String)> {
        [
            ("endpoint", self.endpoint().as_str()),
            ("allow_http", "true"),
            ("region", "us-east-1"),
            ("access_key_id", KEY.0),
            ("secret_access_key", KEY.1),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec()
    }

    /// Returns a plain client of the bucket.
    #[allow(dead_code, reason = "it is the twin of benches, and no test needs it")]
    pub(crate) fn s3_client(&self) -> Arc<dyn ObjectStore> {
        let mut builder = AmazonS3Builder::new().with_bucket_name(BUCKET);
        for (key, value) in self.s3_options() {
            builder = builder.with_config(key.parse().expect("an option of S3"), value);
        }
        Arc::new(builder.build().expect("the options are right"))
    }
}

struct Bucket(Arc<Store>);

impl Bucket {
    fn get(&self, bucket: &str, key: &str) -> S3Result<Stored> {
        check(bucket)?;
        self.0.get(key).ok_or_else(|| s3_error!(NoSuchKey))
    }
}

fn check(bucket: &str) -> S3Result<()> {
    match bucket == BUCKET {
        true => Ok(()),
        false => Err(s3_error!(NoSuchBucket)),
    }
}

fn modified() -> Timestamp {
    Timestamp::from(SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_040_000))
}

fn condition(input: &PutObjectInput) -> When {
    match (&input.if_match, &input.if_none_match) {
        (Some(ETagCondition::ETag(e_tag)), _) => When::ETag(e_tag.value().to_owned()),
        (_, Some(ETagCondition::Any)) => When::Absent,
        _ => When::Always,
    }
}

async fn collect(body: Option<StreamingBlob>) -> S3Result<Bytes> {
    let Some(mut body) = body else {
        return Ok(Bytes::new());
    };
    let mut bytes = BytesMut::new();
    while let Some(piece) = body
        .try_next()
        .await
        .map_err(|_| s3_error!(IncompleteBody))?
    {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.freeze())
}

#[async_trait]
impl S3 for Bucket {
    async fn put_object(
        &self,
        mut request: S3Request<PutObjectInput>,
    ) -> S3Result<S3Response<PutObjectOutput>> {
        check(&request.input.bucket)?;
        let bytes = collect(request.input.body.take()).await?;
        let input = request.input;
        let when = condition(&input);
        let stored = Stored {
            bytes,
            generation: 0,
            kind: input.content_type,
            metadata: input.metadata.unwrap_or_default().into_iter().collect(),
        };
        let stored = self
            .0
            .put(&input.key, stored, &when)
            .map_err(|missed| match missed {
                Missed::Gone => s3_error!(NoSuchKey),
                Missed::Differs => s3_error!(PreconditionFailed),
            })?;
        Ok(S3Response::new(PutObjectOutput {
            e_tag: Some(ETag::Strong(stored.e_tag())),
            ..PutObjectOutput::default()
        }))
    }

    async fn get_object(
        &self,
        request: S3Request<GetObjectInput>,
    ) -> S3Result<S3Response<GetObjectOutput>> {
        let input = request.input;
        let stored = self.get(&input.bucket, &input.key)?;
        if let Some(ETagCondition::ETag(known)) = &input.if_none_match
            && known.value() == stored.e_tag()
        {
            return Err(s3_error!(NotModified));
        }
        let size = stored.bytes.len() as u64;
        let (bytes, content_range) = match input.range {
            None => (stored.bytes.clone(), None),
            Some(range) => {
                let range = range.check(size).map_err(|_| s3_error!(InvalidRange))?;
                let text = format!("bytes {}-{}/{size}", range.start, range.end - 1);
                let (start, end) = (range.start as usize, range.end as usize);
                (stored.bytes.slice(start..end), Some(text))
            }
        };
        Ok(S3Response::new(GetObjectOutput {
            content_length: Some(bytes.len() as i64),
            content_range,
            body: Some(StreamingBlob::from(Body::from(bytes))),
            content_type: stored.kind.clone(),
            e_tag: Some(ETag::Strong(stored.e_tag())),
            last_modified: Some(modified()),
            metadata: Some(stored.metadata.into_iter().collect()),
            ..GetObjectOutput::default()
        }))
    }

    async fn head_object(
        &self,
        request: S3Request<HeadObjectInput>,
    ) -> S3Result<S3Response<HeadObjectOutput>> {
        let stored = self.get(&request.input.bucket, &request.input.key)?;
        Ok(S3Response::new(HeadObjectOutput {
            content_length: Some(stored.bytes.len() as i64),
            content_type: stored.kind.clone(),
            e_tag: Some(ETag::Strong(stored.e_tag())),
            last_modified: Some(modified()),
            metadata: Some(stored.metadata.into_iter().collect()),
            ..HeadObjectOutput::default()
        }))
    }

    async fn delete_object(
        &self,
        request: S3Request<DeleteObjectInput>,
    ) -> S3Result<S3Response<DeleteObjectOutput>> {
        check(&request.input.bucket)?;
        self.0.remove(&request.input.key);
        Ok(S3Response::new(DeleteObjectOutput::default()))
    }

    async fn delete_objects(
        &self,
        request: S3Request<DeleteObjectsInput>,
    ) -> S3Result<S3Response<DeleteObjectsOutput>> {
        check(&request.input.bucket)?;
        let deleted = request.input.delete.objects.into_iter().map(|object| {
            self.0.remove(&object.key);
            DeletedObject {
                key: Some(object.key),
                ..DeletedObject::default()
            }
        });
        Ok(S3Response::new(DeleteObjectsOutput {
            deleted: Some(deleted.collect()),
            ..DeleteObjectsOutput::default()
        }))
    }

    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        let input = request.input;
        check(&input.bucket)?;
        let prefix = input.prefix.clone().unwrap_or_default();
        let most = input.max_keys.unwrap_or(1000).clamp(1, 1000) as usize;
        let after = input.continuation_token.or(input.start_after);
        let delimiter = input.delimiter.is_some();
        let page = self.0.list(&prefix, delimiter, after.as_deref(), most);
        let contents = page.objects.into_iter().map(|(key, stored)| Object {
            e_tag: Some(ETag::Strong(stored.e_tag())),
            size: Some(stored.bytes.len() as i64),
            last_modified: Some(modified()),
            key: Some(key),
            ..Object::default()
        });
        let prefixes = page.prefixes.into_iter().map(|prefix| CommonPrefix {
            prefix: Some(prefix),
        });
        Ok(S3Response::new(ListObjectsV2Output {
            contents: Some(contents.collect()),
            common_prefixes: Some(prefixes.collect()),
            is_truncated: Some(page.next.is_some()),
            next_continuation_token: page.next,
            name: Some(input.bucket),
            prefix: Some(prefix),
            ..ListObjectsV2Output::default()
        }))
    }
}

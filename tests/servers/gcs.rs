//! Google Cloud Storage: the part of its XML API that `object_store` speaks, generations included.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Request, Response};
use percent_encoding::percent_decode_str;

use super::BUCKET;
use super::serve::{Protocol, Server};
use super::store::{MODIFIED, Missed, Page, Store, Stored, When};

/// Starts a server with one empty bucket; any bearer token will do.
pub(crate) fn gcs() -> Server {
    let store = Arc::new(Store::default());
    let bucket = Arc::clone(&store);
    let protocol: Protocol = Arc::new(move |request| {
        let bucket = Arc::clone(&bucket);
        Box::pin(async move { answer(&bucket, request).await })
    });
    Server::start(store, protocol)
}

impl Server {
    /// Returns the options that open a workspace on this GCS server.
    pub(crate) fn gcs_options(&self) -> Vec<(String, String)> {
        [
            ("base_url", self.endpoint().as_str()),
            ("bearer_token", "any"),
            ("skip_signature", "true"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec()
    }
}

async fn answer(store: &Store, request: Request<Incoming>) -> Response<Bytes> {
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        return status(400, "IncompleteBody");
    };
    let path = percent_decode_str(parts.uri.path()).decode_utf8_lossy();
    let rest = path.trim_start_matches('/');
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket != BUCKET {
        return status(404, "NoSuchBucket");
    }
    match (parts.method.as_str(), key) {
        ("GET", "") => list(store, parts.uri.query().unwrap_or_default()),
        ("GET" | "HEAD", key) => get(store, key, &parts),
        ("PUT", key) => put(store, key, &parts, body.to_bytes()),
        ("DELETE", key) if store.remove(key) => status(204, ""),
        ("DELETE", _) => status(404, "NoSuchKey"),
        _ => status(501, "NotImplemented"),
    }
}

fn status(status: u16, code: &str) -> Response<Bytes> {
    let body = match code {
        "" => String::new(),
        code => format!("<Error><Code>{code}</Code></Error>"),
    };
    let response = Response::builder().status(status);
    response.body(Bytes::from(body)).expect("the status is one")
}

fn header<'a>(parts: &'a Parts, name: &str) -> Option<&'a str> {
    parts.headers.get(name)?.to_str().ok()
}

fn put(store: &Store, key: &str, parts: &Parts, bytes: Bytes) -> Response<Bytes> {
    let when = match header(parts, "x-goog-if-generation-match") {
        None => When::Always,
        Some("0") => When::Absent,
        Some(number) => match number.parse() {
            Ok(number) => When::Generation(number),
            Err(_) => return status(400, "InvalidArgument"),
        },
    };
    let metadata: BTreeMap<_, _> = parts
        .headers
        .iter()
        .filter(|(name, _)| name.as_str().starts_with("x-goog-meta-"))
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect();
    let stored = Stored {
        bytes,
        generation: 0,
        kind: header(parts, "content-type").map(str::to_owned),
        metadata,
    };
    match store.put(key, stored, &when) {
        // Here a missing object is a condition that does not hold, unlike on S3.
        Err(Missed::Differs | Missed::Gone) => status(412, "PreconditionFailed"),
        Ok(stored) => with_headers(&stored, 200, Bytes::new(), None),
    }
}

fn get(store: &Store, key: &str, parts: &Parts) -> Response<Bytes> {
    let Some(stored) = store.get(key) else {
        return status(404, "NoSuchKey");
    };
    if header(parts, "if-none-match") == Some(&quoted(&stored)) {
        return status(304, "");
    }
    let size = stored.bytes.len();
    match header(parts, "range").and_then(|range| range.strip_prefix("bytes=")) {
        None => with_headers(&stored, 200, stored.bytes.clone(), None),
        Some(range) => {
            let (first, last) = range.split_once('-').unwrap_or((range, ""));
            let first = first.parse().unwrap_or(usize::MAX);
            let last = last
                .parse()
                .map_or(size, |last: usize| (last + 1).min(size));
            if first >= last {
                return status(416, "InvalidRange");
            }
            let text = format!("bytes {first}-{}/{size}", last - 1);
            with_headers(&stored, 206, stored.bytes.slice(first..last), Some(text))
        }
    }
}

/// ETags are unique a write, unlike on S3.
fn quoted(stored: &Stored) -> String {
    format!("\"g{}\"", stored.generation)
}

fn with_headers(
    stored: &Stored,
    status: u16,
    body: Bytes,
    range: Option<String>,
) -> Response<Bytes> {
    let mut response = Response::builder()
        .status(status)
        .header("x-goog-generation", stored.generation)
        .header("etag", quoted(stored))
        .header("last-modified", MODIFIED)
        .header("content-length", body.len());
    if let Some(range) = range {
        response = response.header("content-range", range);
    }
    if let Some(kind) = &stored.kind {
        response = response.header("content-type", kind);
    }
    for (name, value) in &stored.metadata {
        response = response.header(name, value);
    }
    response
        .body(body)
        .expect("the headers were headers before")
}

fn list(store: &Store, query: &str) -> Response<Bytes> {
    let asked = |name: &str| {
        let value = query.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=')?;
            (key == name).then(|| value.replace('+', " "))
        })?;
        Some(percent_decode_str(&value).decode_utf8_lossy().into_owned())
    };
    let prefix = asked("prefix").unwrap_or_default();
    let most = asked("max-keys").and_then(|most| most.parse().ok());
    let after = asked("continuation-token");
    let delimiter = asked("delimiter").is_some();
    let page = store.list(&prefix, delimiter, after.as_deref(), most.unwrap_or(1000));
    let response = Response::builder().header("content-type", "application/xml");
    let body = Bytes::from(page_xml(&prefix, &page));
    response.body(body).expect("the headers are headers")
}

fn page_xml(prefix: &str, page: &Page) -> String {
    let mut xml = format!("<ListBucketResult><Prefix>{}</Prefix>", escape(prefix));
    for (key, stored) in &page.objects {
        let _ = write!(
            xml,
            "<Contents><Key>{}</Key><Size>{}</Size><ETag>{}</ETag>\
             <LastModified>2026-11-30T12:00:00.000Z</LastModified></Contents>",
            escape(key),
            stored.bytes.len(),
            escape(&quoted(stored)),
        );
    }
    for prefix in &page.prefixes {
        let prefix = escape(prefix);
        let _ = write!(
            xml,
            "<CommonPrefixes><Prefix>{prefix}</Prefix></CommonPrefixes>"
        );
    }
    if let Some(next) = &page.next {
        let next = escape(next);
        let _ = write!(xml, "<NextContinuationToken>{next}</NextContinuationToken>");
    }
    xml.push_str("</ListBucketResult>");
    xml
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

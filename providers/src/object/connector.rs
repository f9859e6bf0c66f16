//! The connector: one pool of connections a workspace, and listings amended on their way in.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};
use quick_xml::escape::{escape, unescape};

use super::foreign;

/// Connects as the settings say, and remembers the last client, which is the store's own: those
/// before it are for fetching credentials.
#[derive(Clone, Debug, Default)]
pub(super) struct Connector {
    last: Arc<Mutex<Option<HttpClient>>>,
}

/// Gives out a client that is connected already.
#[derive(Debug)]
pub(super) struct Reuse(HttpClient);

impl Connector {
    /// Returns what a second store of the same settings connects with: the first one's client.
    pub(super) fn reuse(&self) -> Reuse {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        Reuse(last.clone().expect("a store was built before"))
    }
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        let client = HttpClient::new(Amend(inner));
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(client.clone());
        Ok(client)
    }
}

impl HttpConnector for Reuse {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(self.0.clone())
    }
}

/// Passes requests on, and gives foreign keys in listings a name that can be carried.
#[derive(Debug)]
struct Amend(HttpClient);

#[async_trait]
impl HttpService for Amend {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let listing = is_listing(request.uri().query().unwrap_or_default());
        let response = self.0.execute(request).await?;
        if !listing || !response.status().is_success() {
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        // A page that broke off is asked for again, as one that never came.
        let torn = |error| HttpError::new(HttpErrorKind::Interrupted, error);
        let body = body.bytes().await.map_err(torn)?;
        Ok(HttpResponse::from_parts(parts, amended(body).into()))
    }
}

fn is_listing(query: &str) -> bool {
    query
        .split('&')
        .any(|pair| pair == "list-type=2" || pair == "comp=list")
}

/// Amends a page of a listing; one that is not text is left for the client to complain of.
fn amended(body: Bytes) -> Bytes {
    let amended = match std::str::from_utf8(&body) {
        Ok(text) => amend(text),
        Err(_) => None,
    };
    amended.map_or(body, Bytes::from)
}

/// Returns the page with every foreign key under another name; none when there is none.
fn amend(page: &str) -> Option<String> {
    let asked = page
        .split_once("<Prefix>")
        .filter(|(before, _)| !before.contains("<CommonPrefixes>") && !before.contains("<Blob"))
        .and_then(|(_, rest)| rest.split_once("</Prefix>"))
        .map_or("", |(prefix, _)| prefix);
    let asked = unescape(asked).ok()?.into_owned();
    let mut out = String::new();
    let mut rest = page;
    let mut changed = false;
    while let Some((start, end, close)) = next_key(rest) {
        let key = &rest[start..end];
        let carried = unescape(key).ok().and_then(|key| carry(&asked, &key));
        changed |= carried.is_some();
        out.push_str(&rest[..start]);
        match carried {
            Some(carried) => out.push_str(&escape(&carried)),
            None => out.push_str(key),
        }
        out.push_str(close);
        rest = &rest[end + close.len()..];
    }
    out.push_str(rest);
    changed.then_some(out)
}

/// Finds the next key or prefix: where its text starts and ends, and the tag that closes it.
fn next_key(page: &str) -> Option<(usize, usize, &'static str)> {
    const PLACES: [(&str, &str); 3] = [
        ("<Key>", "</Key>"),
        ("<CommonPrefixes><Prefix>", "</Prefix>"),
        ("<Name>", "</Name>"),
    ];
    PLACES
        .iter()
        .filter_map(|(open, close)| {
            let start = page.find(open)? + open.len();
            let end = start + page[start..].find(close)?;
            Some((start, end, *close))
        })
        .min_by_key(|(start, _, _)| *start)
}

/// Returns the name to carry a key under, if it must be carried under another.
///
/// What lies beneath the prefix asked for is taken name by name; a slash at the end, which marks
/// a prefix or a folder, stays.
fn carry(asked: &str, key: &str) -> Option<String> {
    let rest = key.strip_prefix(asked)?;
    if rest.is_empty() {
        return None;
    }
    let (names, slash) = match rest.strip_suffix('/') {
        Some(names) => (names, "/"),
        None => (rest, ""),
    };
    let carried: Vec<Cow<'_, str>> = names
        .split('/')
        .map(|name| match foreign::is_foreign(name) {
            true => Cow::Owned(foreign::encode(name)),
            false => Cow::Borrowed(name),
        })
        .collect();
    carried
        .iter()
        .any(|name| matches!(name, Cow::Owned(_)))
        .then(|| format!("{asked}{}{slash}", carried.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::path::Path;

    #[track_caller]
    fn check(asked: &str, key: &str, names: Option<&[&str]>) {
        let carried = carry(asked, key);
        let found = carried.as_deref().map(|carried| {
            let parsed = Path::parse(carried).unwrap();
            let rest = parsed.as_ref().strip_prefix(asked).unwrap().to_owned();
            rest.split('/')
                .map(|name| foreign::decode(name).unwrap_or_else(|| name.to_owned()))
                .collect::<Vec<_>>()
        });
        let names = names.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(found, names, "{asked:?} {key:?}");
    }

    #[test]
    fn b164_foreign_keys_are_carried_name_by_name_and_others_left_alone() {
        check("d/", "d/ok", None);
        check("d/", "d/", None);
        check("d/", "d/sub/", None);
        check("d/", "d//", Some(&[""]));
        check("d/", "d//x", Some(&["", "x"]));
        check("d/", "d/./", Some(&["."]));
        check("d/", "d/../z", Some(&["..", "z"]));
        check("", "/", Some(&[""]));
        check("", "/lead", Some(&["", "lead"]));
        check("", "a\u{1}", Some(&["a\u{1}"]));
    }

    #[test]
    fn a_page_is_amended_where_its_keys_are_and_nowhere_else() {
        let page = "<ListBucketResult><Name>b</Name><Prefix>d/</Prefix><Contents><Key>d/a&amp;b</Key>\
                    <Size>1</Size></Contents><CommonPrefixes><Prefix>d//</Prefix></CommonPrefixes>\
                    <CommonPrefixes><Prefix>d/e/</Prefix></CommonPrefixes></ListBucketResult>";
        let amended = amend(page).unwrap();
        assert!(amended.contains("<Key>d/a&amp;b</Key>"));
        assert!(amended.contains("<Prefix>d/</Prefix><Contents>"));
        assert!(amended.contains("<Prefix>d/e/</Prefix>"));
        assert!(!amended.contains("d//"));
        assert_eq!(amend(&page.replace("d//", "d/f/")), None);
    }
}

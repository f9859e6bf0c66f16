//! Faults: what a store's failure means, read once, at this edge.
//!
//! A store's own message may quote a request in full, with key ids and signatures. None of it is
//! kept: a fault holds the HTTP status, the store's error code and the kind of transport failure.

use std::error::Error;
use std::fmt;

use object_store::Error as StoreError;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
use object_store::client::{HttpError, HttpErrorKind};
use seamfs_core::{ErrorCode, FsError, Retry, cas};

/// What a failure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The object is not there.
    NotFound,
    /// The bucket or container is not there.
    NoBucket,
    /// The condition of the request did not hold, and nothing was written.
    Refused,
    /// A read found nothing newer than what is known.
    NotModified,
    /// Another request on the same object is under way, and nothing was written.
    Busy,
    /// Credentials are missing, wrong or too weak.
    Denied,
    /// The store does not offer this.
    Unsupported,
    /// The store is full.
    Full,
    /// The range begins behind the end.
    Range,
    /// A listing holds a key that cannot be addressed.
    BadKey,
    /// The request was not sent.
    #[cfg_attr(
        not(any(feature = "s3", feature = "gcs", feature = "azure")),
        allow(
            dead_code,
            reason = "only a store spoken to over HTTP can be out of reach"
        )
    )]
    Unsent,
    /// The request may have been applied, or may be yet.
    Unsure,
    /// The store refused the request for a reason of its own; nothing was written.
    Other,
}

/// A failure of the store, without anything that may be secret.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    text: String,
}

impl Fault {
    /// Makes the fault of a request that was given up at the deadline.
    pub(super) fn late() -> Self {
        Self {
            kind: Kind::Unsure,
            text: "the deadline passed while the store was working".to_owned(),
        }
    }

    /// Makes the fault of a body that is not the one announced.
    pub(super) fn torn() -> Self {
        Self {
            kind: Kind::Unsure,
            text: "the store sent fewer bytes than it announced".to_owned(),
        }
    }

    /// Returns whether trying the same request again may end otherwise.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self.kind, Kind::Busy | Kind::Unsent | Kind::Unsure)
    }

    /// Returns the error that a caller of the file system is given.
    pub(super) fn into_error(self) -> FsError {
        let error = match self.kind {
            Kind::NotFound => return cas::not_found(),
            Kind::NoBucket => fixed(ErrorCode::IoError, "the bucket does not exist"),
            Kind::Denied => FsError::new(
                ErrorCode::PermissionDenied,
                "the store refused the credentials of this workspace",
            ),
            Kind::Unsupported => FsError::new(
                ErrorCode::Unsupported,
                "the store does not offer what this call needs",
            ),
            Kind::Full => FsError::new(ErrorCode::NoSpace, "the store is full"),
            Kind::Busy => cas::busy(),
            Kind::BadKey => fixed(
                ErrorCode::InvalidPath,
                "the store holds a key that no path here addresses; other entries cannot be told \
                 apart from it",
            ),
            Kind::Unsent => FsError::new(ErrorCode::IoError, "the store cannot be reached"),
            Kind::Refused | Kind::NotModified | Kind::Range | Kind::Unsure | Kind::Other => {
                FsError::new(ErrorCode::IoError, format!("the store failed: {self}"))
            }
        };
        error.caused_by(self)
    }
}

fn fixed(code: ErrorCode, message: &'static str) -> FsError {
    FsError::new(code, message).retry_as(Retry::Never)
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Fault {}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        if let Some(answer) = Answer::of(&error) {
            return answer.into_fault();
        }
        #[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
        if let Some(kind) = transport(&error) {
            return of_transport(kind);
        }
        without_answer(&error)
    }
}

/// What the store answered, as far as it is repeated.
struct Answer {
    status: u16,
    code: Option<String>,
}

impl Answer {
    /// Finds the answer in a failure's innermost cause, whose text starts with it.
    ///
    /// The type of that cause is private to `object_store`, so its text is all there is. A key
    /// cannot forge it: keys are quoted by the outer errors only.
    fn of(error: &StoreError) -> Option<Self> {
        const START: &str = "Server returned non-2xx status code: ";
        let text = chain(error).find_map(|cause| {
            let text = cause.to_string();
            text.strip_prefix(START).map(str::to_owned)
        })?;
        let status = text.get(..3)?.parse().ok()?;
        let code = text
            .split_once("<Code>")
            .and_then(|(_, rest)| rest.split_once("</Code>"))
            .map(|(code, _)| code.trim())
            .filter(|code| code.len() < 64 && code.bytes().all(|b| b.is_ascii_alphanumeric()))
            .map(str::to_owned);
        Some(Self { status, code })
    }

    fn into_fault(self) -> Fault {
        let text = match &self.code {
            Some(code) => format!("HTTP status {}, {code}", self.status),
            None => format!("HTTP status {}", self.status),
        };
        Fault {
            kind: self.kind(),
            text,
        }
    }

    fn kind(&self) -> Kind {
        match (self.status, self.code.as_deref()) {
            (404, Some("NoSuchBucket" | "ContainerNotFound")) => Kind::NoBucket,
            (404, _) => Kind::NotFound,
            (412, _) | (409, Some("BlobAlreadyExists")) => Kind::Refused,
            (304, _) => Kind::NotModified,
            (409, _) => Kind::Busy,
            (416, _) => Kind::Range,
            (401 | 403, _) => Kind::Denied,
            (501, _) => Kind::Unsupported,
            (507, _) => Kind::Full,
            (_, Some("RequestTimeout")) | (408 | 429 | 500..=599, _) => Kind::Unsure,
            _ => Kind::Other,
        }
    }
}

#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
fn transport(error: &StoreError) -> Option<HttpErrorKind> {
    chain(error).find_map(|cause| cause.downcast_ref::<HttpError>().map(HttpError::kind))
}

#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
fn of_transport(kind: HttpErrorKind) -> Fault {
    let (kind, text) = match kind {
        HttpErrorKind::Connect => (Kind::Unsent, "no connection"),
        HttpErrorKind::Timeout => (Kind::Unsure, "no answer in time"),
        HttpErrorKind::Decode => (Kind::Unsure, "an answer that cannot be read"),
        // Called "not sent" by the client, but it is also what a connection closed between
        // request and answer comes to.
        _ => (Kind::Unsure, "the connection broke"),
    };
    Fault {
        kind,
        text: text.to_owned(),
    }
}

/// Reads a failure that no HTTP answer stands behind: of another kind of store, or of the client.
fn without_answer(error: &StoreError) -> Fault {
    let (kind, text) = match error {
        StoreError::NotFound { .. } => (Kind::NotFound, "not found"),
        StoreError::AlreadyExists { .. } | StoreError::Precondition { .. } => {
            (Kind::Refused, "the condition did not hold")
        }
        StoreError::NotModified { .. } => (Kind::NotModified, "not modified"),
        StoreError::NotSupported { .. } | StoreError::NotImplemented { .. } => {
            (Kind::Unsupported, "not offered by the store")
        }
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => {
            (Kind::Denied, "not allowed")
        }
        StoreError::InvalidPath { .. } => (Kind::BadKey, "a key that cannot be addressed"),
        _ if is_range(error) => (Kind::Range, "the range begins behind the end"),
        _ => (Kind::Unsure, "an answer that is not understood"),
    };
    Fault {
        kind,
        text: text.to_owned(),
    }
}

fn is_range(error: &StoreError) -> bool {
    chain(error).any(|cause| {
        let text = cause.to_string();
        text.starts_with("Wanted range starting at") || text.starts_with("Invalid range")
    })
}

fn chain<'a>(error: &'a StoreError) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let first: &'a (dyn Error + 'static) = error;
    std::iter::successors(Some(first), |cause: &&'a (dyn Error + 'static)| {
        (*cause).source()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(text: &str) -> Fault {
        StoreError::Generic {
            store: "S3",
            source: text.to_owned().into(),
        }
        .into()
    }

    #[track_caller]
    fn check(status: &str, body: &str, kind: Kind) {
        let text = format!("Server returned non-2xx status code: {status}: {body}");
        assert_eq!(answered(&text).kind, kind, "{text}");
    }

    #[test]
    fn answers_are_told_apart_by_status_and_code() {
        check(
            "404 Not Found",
            "<Error><Code>NoSuchKey</Code></Error>",
            Kind::NotFound,
        );
        check("404 Not Found", "<Code>NoSuchBucket</Code>", Kind::NoBucket);
        check("412 Precondition Failed", "", Kind::Refused);
        check(
            "409 Conflict",
            "<Code>ConditionalRequestConflict</Code>",
            Kind::Busy,
        );
        check(
            "409 Conflict",
            "<Code>BlobAlreadyExists</Code>",
            Kind::Refused,
        );
        check(
            "503 Service Unavailable",
            "<Code>SlowDown</Code>",
            Kind::Unsure,
        );
        check("429 Too Many Requests", "", Kind::Unsure);
        check(
            "400 Bad Request",
            "<Code>RequestTimeout</Code>",
            Kind::Unsure,
        );
        check(
            "400 Bad Request",
            "<Code>InvalidArgument</Code>",
            Kind::Other,
        );
        check("403 Forbidden", "<Code>AccessDenied</Code>", Kind::Denied);
        check("501 Not Implemented", "", Kind::Unsupported);
    }

    #[test]
    fn a_key_cannot_forge_an_answer() {
        let fault: Fault = StoreError::NotFound {
            path: "Server returned non-2xx status code: 412 x".to_owned(),
            source: "gone".into(),
        }
        .into();
        assert_eq!(fault.kind, Kind::NotFound);
    }

    #[test]
    fn nothing_that_a_store_says_of_a_request_is_repeated() {
        let body = "<Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>AKIASECRET</AWSAccessKeyId>";
        let text = format!("Server returned non-2xx status code: 403 Forbidden: {body}");
        let error = answered(&text).into_error();
        let all = format!("{error} {error:?} {:?}", Error::source(&error));
        assert!(!all.contains("AKIASECRET"), "{all}");
        assert!(all.contains("SignatureDoesNotMatch"), "{all}");
    }
}

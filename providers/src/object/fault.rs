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
    /// The bucket is in another region than the one that was asked.
    Elsewhere,
    /// Somebody holds a lease on the object, under which nobody else writes.
    Leased,
    /// A policy of the store forbids changing the object.
    Immutable,
    /// The object is in an archive, and cannot be read before it is restored.
    Archived,
    /// A store with real folders underneath has one of this name.
    Folder,
    /// A store with real folders underneath has a file where the path needs a folder.
    BeneathFile,
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
    /// An answer broke off in its body.
    Torn,
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
            kind: Kind::Torn,
            text: "the store sent fewer bytes than it announced".to_owned(),
        }
    }

    /// Returns the fault as one that befell the body of an answer.
    pub(super) fn in_body(mut self) -> Self {
        if self.kind == Kind::Unsure {
            self.kind = Kind::Torn;
        }
        self
    }

    /// Returns whether trying the same request again may end otherwise.
    pub(super) fn may_pass(&self) -> bool {
        matches!(
            self.kind,
            Kind::Busy | Kind::Unsent | Kind::Unsure | Kind::Torn
        )
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
            Kind::Elsewhere => fixed(
                ErrorCode::IoError,
                "the bucket is in another region; its operator names it with the option `region`",
            ),
            Kind::Leased => FsError::new(
                ErrorCode::Busy,
                "another client holds a lease on the file, under which nobody else can change it",
            ),
            Kind::Immutable => FsError::new(
                ErrorCode::ReadOnly,
                "a policy of the store forbids changing the file",
            ),
            Kind::Archived => fixed(
                ErrorCode::IoError,
                "the file is in an archive of the store and has to be restored before it is used",
            ),
            Kind::Folder => FsError::new(
                ErrorCode::NotRegularFile,
                "this store has real folders, and one of this name",
            ),
            Kind::BeneathFile => FsError::new(
                ErrorCode::NotDirectory,
                "this store has real folders, and the path leads through a file",
            ),
            Kind::Unsent => FsError::new(ErrorCode::IoError, "the store cannot be reached"),
            Kind::Refused
            | Kind::NotModified
            | Kind::Range
            | Kind::Unsure
            | Kind::Torn
            | Kind::Other => FsError::new(ErrorCode::IoError, format!("the store failed: {self}")),
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
        if is_bare_redirect(&error) {
            return Self {
                kind: Kind::Elsewhere,
                text: "a redirect that names no place".to_owned(),
            };
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
        });
        let Some(text) = text else {
            return chain(error).find_map(|cause| Self::of_removal(&cause.to_string()));
        };
        let status = text.get(..3)?.parse().ok()?;
        let code = text
            .split_once("<Code>")
            .and_then(|(_, rest)| rest.split_once("</Code>"))
            .map(|(code, _)| code.trim())
            .filter(|code| code.len() < 64 && code.bytes().all(|b| b.is_ascii_alphanumeric()))
            .map(str::to_owned);
        Some(Self { status, code })
    }

    /// Reads what became of one removal of a batch: the status or the code stands at the end, behind
    /// the key and whatever else.
    fn of_removal(text: &str) -> Option<Self> {
        const STARTS: [&str; 2] = [
            "Bulk delete request failed for key ",
            "DeleteObjects request failed for key ",
        ];
        if !STARTS.iter().any(|start| text.starts_with(start)) {
            return None;
        }
        let (_, code) = text.strip_suffix(')')?.rsplit_once("(code: ")?;
        let (status, code) = match code.parse() {
            // A removal has no condition: nothing but a lease refuses it so.
            Ok(412) => (412, Some("LeaseIdMissing")),
            // Nor is another one under way: it has snapshots, or must be kept.
            Ok(409) => (409, Some("SnapshotsPresent")),
            Ok(status) => (status, None),
            Err(_) if code == "AccessDenied" => (403, Some(code)),
            Err(_) if ["InternalError", "SlowDown"].contains(&code) => (500, Some(code)),
            Err(_) => (400, Some(code)),
        };
        Some(Self {
            status,
            code: code.map(str::to_owned),
        })
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
        if let Some(kind) = self.code.as_deref().and_then(of_code) {
            return kind;
        }
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

/// Reads the codes that say more than their status does, or something else.
///
/// A lease of Azure comes as a condition that did not hold, and its other conflicts with what
/// never passes come as those that do.
fn of_code(code: &str) -> Option<Kind> {
    Some(match code {
        "PermanentRedirect" | "TemporaryRedirect" | "AuthorizationHeaderMalformed" => {
            Kind::Elsewhere
        }
        "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired" => Kind::Denied,
        "LeaseIdMissing" | "LeaseIdMismatchWithBlobOperation" | "LeaseAlreadyPresent" => {
            Kind::Leased
        }
        "BlobImmutableDueToPolicy"
        | "BlobImmutableDueToLegalHold"
        | "ObjectUnderActiveHold"
        | "RetentionPolicyNotMet" => Kind::Immutable,
        "InvalidObjectState" | "BlobArchived" => Kind::Archived,
        "ExistingObjectIsDirectory" | "ResourceTypeMismatch" => Kind::Folder,
        "ExistingObjectIsFile" => Kind::BeneathFile,
        "QuotaExceeded" | "XMinioAdminBucketQuotaExceeded" => Kind::Full,
        "SnapshotsPresent" | "InvalidBlobType" => Kind::Other,
        _ => return None,
    })
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

/// Returns whether the store sent the client elsewhere without saying where to, as S3 does for a
/// bucket in another region.
fn is_bare_redirect(error: &StoreError) -> bool {
    chain(error).any(|cause| {
        cause
            .to_string()
            .starts_with("Received redirect without LOCATION")
    })
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
        check("400 Bad Request", "<Code>ExpiredToken</Code>", Kind::Denied);
        check(
            "403 Forbidden",
            "<Code>InvalidObjectState</Code>",
            Kind::Archived,
        );
        check("409 Conflict", "<Code>BlobArchived</Code>", Kind::Archived);
        check(
            "412 Precondition Failed",
            "<Code>LeaseIdMissing</Code>",
            Kind::Leased,
        );
        check(
            "409 Conflict",
            "<Code>BlobImmutableDueToPolicy</Code>",
            Kind::Immutable,
        );
        check("409 Conflict", "<Code>SnapshotsPresent</Code>", Kind::Other);
        check("409 Conflict", "<Code>OperationAborted</Code>", Kind::Busy);
        check(
            "409 Conflict",
            "<Code>ExistingObjectIsDirectory</Code>",
            Kind::Folder,
        );
        check("403 Forbidden", "<Code>QuotaExceeded</Code>", Kind::Full);
        check(
            "400 Bad Request",
            "<Code>AuthorizationHeaderMalformed</Code>",
            Kind::Elsewhere,
        );
        check("501 Not Implemented", "", Kind::Unsupported);
    }

    #[test]
    fn the_answer_to_a_removal_in_a_batch_is_read() {
        #[track_caller]
        fn check(text: &str, expected: Kind) {
            let source = text.to_owned().into();
            let fault: Fault = StoreError::Generic { store: "S", source }.into();
            assert_eq!(fault.kind, expected, "{text}");
            assert!(!fault.to_string().contains("secret"), "{fault}");
        }
        let azure = |end: &str| format!("Bulk delete request failed for key secret: Why. {end}");
        check(&azure("(code: 412)"), Kind::Leased);
        check(&azure("(code: 403)"), Kind::Denied);
        check(&azure("(code: 409)"), Kind::Other);
        check(&azure("(code: 503)"), Kind::Unsure);
        let s3 = |end: &str| format!("DeleteObjects request failed for key secret: Why {end}");
        check(&s3("(code: AccessDenied)"), Kind::Denied);
        check(&s3("(code: InternalError)"), Kind::Unsure);
        check(
            "Bulk delete request failed for key (code: 404)x: Why (code: 403)",
            Kind::Denied,
        );
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

//! Paths: text from a caller, parsed once into something that cannot escape.
//!
//! `..` is resolved lexically, before any link is looked at, so that one spelling means one file
//! on every backend, whether it has links or not.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use percent_encoding::percent_decode_str;

use crate::error::{ErrorCode, FsError, Operation};

/// The longest path in bytes, counted from the root of the storage.
///
/// S3, GCS and Azure bound an object's whole key by 1,024 bytes or characters; the smallest bound
/// holds everywhere, so that a tree can move between backends.
pub const MAX_PATH_BYTES: usize = 1024;

/// The longest component in bytes, as Linux file systems and most object gateways have it.
pub const MAX_COMPONENT_BYTES: usize = 255;

/// A path beneath the root: no `.`, no `..`, no empty component, nothing unaddressable.
///
/// The root itself is the empty path. Ordering and prefixes go by component.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RootPath(Arc<str>);

impl RootPath {
    /// Returns the root.
    pub fn root() -> Self {
        Self::default()
    }

    /// Joins components that were checked before; only for names that storage handed out.
    ///
    /// # Errors
    /// If a component is not addressable or the path becomes too long.
    pub fn from_components<'a>(
        components: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, PathError> {
        let mut text = String::new();
        for component in components {
            check_component(component)?;
            if !text.is_empty() {
                text.push('/');
            }
            text.push_str(component);
        }
        check_length(text.len())?;
        Ok(Self(Arc::from(text)))
    }

    /// Returns the path with `/` between components and none at either end.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the components from the root down.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.0.split('/').filter(|component| !component.is_empty())
    }

    /// Returns the last component; the root has none.
    pub fn name(&self) -> Option<&str> {
        self.components().next_back()
    }

    /// Returns the folder that holds this; the root has none.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        let end = self.0.rfind('/').unwrap_or(0);
        Some(Self(Arc::from(&self.0[..end])))
    }

    /// Appends one name.
    ///
    /// # Errors
    /// If the name is not addressable or the path becomes too long.
    pub fn join(&self, name: &str) -> Result<Self, PathError> {
        Self::from_components(self.components().chain([name]))
    }

    /// Returns whether this is `ancestor` or lies beneath it, by component.
    pub fn starts_with(&self, ancestor: &Self) -> bool {
        match self.0.strip_prefix(&*ancestor.0) {
            Some(rest) => ancestor.is_root() || rest.is_empty() || rest.starts_with('/'),
            None => false,
        }
    }

    /// Returns every proper ancestor from the parent up to the root.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.parent(), Self::parent)
    }

    /// Returns the key that providers with plain paths use: `/` and the path.
    pub fn to_key(&self) -> crate::TargetKey {
        crate::TargetKey::new(format!("/{}", self.0))
    }

    /// Returns the path that [`RootPath::to_key`] made a key of.
    pub fn from_key(key: &crate::TargetKey) -> Self {
        let text = key.as_str();
        Self(Arc::from(text.strip_prefix('/').unwrap_or(text)))
    }
}

impl fmt::Debug for RootPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RootPath({:?})", self.as_str())
    }
}

/// A parsed path, and whether its spelling names a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedPath {
    /// Where it leads.
    pub path: RootPath,
    /// Whether it was spelled with a trailing slash.
    pub folder: bool,
}

/// Why text is no path of this workspace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// Blank or white space only.
    #[error("the path is empty")]
    Blank,
    /// A character that no backend stores faithfully.
    #[error("the path holds {0}, which no path here may")]
    Forbidden(String),
    /// One name is longer than [`MAX_COMPONENT_BYTES`].
    #[error("a name in the path has {0} bytes; the most is {MAX_COMPONENT_BYTES}")]
    ComponentTooLong(usize),
    /// The whole is longer than [`MAX_PATH_BYTES`].
    #[error("the path has {0} bytes; the most is {MAX_PATH_BYTES}")]
    TooLong(usize),
    /// A URL of this workspace that does not decode.
    #[error("the URL {0}")]
    BadUrl(&'static str),
    /// It leads out of the root.
    #[error("the path lies outside the workspace, whose root is {0}")]
    Outside(String),
}

impl PathError {
    /// Returns the error of the seam, naming the path as it was given, escaped and bounded.
    pub fn into_error(self, given: &str) -> FsError {
        let code = match self {
            Self::Outside(_) => ErrorCode::SandboxDenied,
            _ => ErrorCode::InvalidPath,
        };
        let error = FsError::new(code, self.to_string()).during(Operation::Resolve);
        match self {
            Self::Blank => error,
            // Only the last name of a path that leads out: logs and models learn nothing of what
            // lies above the root, and the caller knows what it asked for.
            Self::Outside(_) => error.at(shown(given.rsplit('/').next().unwrap_or_default())),
            _ => error.at(shown(given)),
        }
    }
}

/// How a workspace spells its paths: the one root that every message shows, and its URL form.
#[derive(Clone, Debug)]
pub struct Namespace {
    display_root: Vec<String>,
    /// What stands before the slash of each shown path.
    shown: String,
    aliases: Vec<Vec<String>>,
    url: Option<UrlForm>,
    prefix_bytes: usize,
}

#[derive(Clone, Debug)]
struct UrlForm {
    scheme: String,
    authority: String,
    root: Vec<String>,
}

impl Namespace {
    /// Creates a namespace whose display root is `/`.
    pub fn virtual_root() -> Self {
        Self::with_display_root("/")
    }

    /// Creates a namespace under an absolute display root such as `/home/me/project`.
    pub fn with_display_root(root: &str) -> Self {
        let display_root = split(root);
        Self {
            shown: display_root.iter().map(|step| format!("/{step}")).collect(),
            display_root,
            aliases: Vec::new(),
            url: None,
            prefix_bytes: 0,
        }
    }

    /// Accepts another absolute spelling of the root, such as its name without links.
    #[must_use]
    pub fn with_alias(mut self, root: &str) -> Self {
        let alias = split(root);
        if alias != self.display_root {
            self.aliases.push(alias);
        }
        self
    }

    /// Accepts URLs `scheme:///root/…` or `scheme://authority/root/…` as spellings.
    #[must_use]
    pub fn with_url(mut self, scheme: &str, authority: &str, root: &str) -> Self {
        self.url = Some(UrlForm {
            scheme: scheme.to_owned(),
            authority: authority.to_owned(),
            root: split(root),
        });
        self
    }

    /// Counts a storage prefix against the longest path.
    #[must_use]
    pub fn with_prefix_bytes(mut self, bytes: usize) -> Self {
        self.prefix_bytes = bytes;
        self
    }

    /// Returns the display root.
    pub fn display_root(&self) -> String {
        match self.shown.as_str() {
            "" => "/".to_owned(),
            shown => shown.to_owned(),
        }
    }

    /// Returns the path to show for a path beneath the root.
    pub fn display(&self, path: &RootPath) -> String {
        match path.is_root() {
            true => self.display_root(),
            false => [self.shown.as_str(), path.as_str()].join("/"),
        }
    }

    /// Parses a path as a caller spelled it.
    ///
    /// Relative text starts at `cwd`, an absolute spelling or a path relative to the root; empty
    /// means the root. Absolute text and this workspace's own URLs must lie under the root.
    ///
    /// # Errors
    /// [`PathError::Outside`] for anything that leads out, otherwise what was wrong.
    pub fn parse(&self, text: &str, cwd: &str) -> Result<ParsedPath, PathError> {
        if text.trim().is_empty() {
            return Err(PathError::Blank);
        }
        let spelled = self.spelled(text)?;
        let mut stack = match spelled {
            Spelled::Relative(_) if !cwd.trim().is_empty() => self.parse(cwd, "")?.stack(),
            _ => Vec::new(),
        };
        let steps = match spelled {
            Spelled::Relative(steps) | Spelled::Rooted(steps) => steps,
        };
        self.walk(&mut stack, steps)?;
        let path = RootPath::from_components(stack.iter().map(AsRef::as_ref))?;
        check_length(path.as_str().len() + self.prefix_bytes)?;
        let folder = text.ends_with('/') && !path.is_root();
        Ok(ParsedPath { path, folder })
    }

    fn walk<'a>(
        &self,
        stack: &mut Vec<Cow<'a, str>>,
        steps: Vec<Cow<'a, str>>,
    ) -> Result<(), PathError> {
        for step in steps {
            match step.as_ref() {
                "" | "." => {}
                ".." => {
                    stack.pop().ok_or_else(|| self.outside())?;
                }
                name => {
                    check_component(name)?;
                    stack.push(step);
                }
            }
        }
        Ok(())
    }

    fn spelled<'a>(&self, text: &'a str) -> Result<Spelled<'a>, PathError> {
        if let Some((scheme, rest)) = own_or_foreign_url(text, self.url.as_ref()) {
            return self.spelled_url(scheme, rest);
        }
        if !text.starts_with('/') {
            return Ok(Spelled::Relative(steps(text)));
        }
        check_characters(text)?;
        let path = normal(steps(text)).ok_or_else(|| self.outside())?;
        let root = std::iter::once(&self.display_root)
            .chain(&self.aliases)
            .find(|root| is_beneath(&path, root));
        match root {
            Some(root) => Ok(Spelled::Rooted(below(path, root))),
            None => Err(self.outside()),
        }
    }

    fn spelled_url<'a>(&self, scheme: &str, rest: &'a str) -> Result<Spelled<'a>, PathError> {
        let url = match &self.url {
            Some(url) if url.scheme.eq_ignore_ascii_case(scheme) => url,
            _ => return Err(self.outside()),
        };
        let path = match rest.strip_prefix("//") {
            Some(rest) => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let local = url.authority.is_empty() && authority == "localhost";
                if authority != url.authority && !local {
                    return Err(self.outside());
                }
                path
            }
            None => rest,
        };
        if path.contains(['?', '#']) {
            return Err(PathError::BadUrl(
                "has a query or a fragment; write `?` as %3F and `#` as %23",
            ));
        }
        let decoded = path
            .split('/')
            .map(decode_step)
            .collect::<Result<Vec<_>, _>>()?;
        let path = normal(decoded).ok_or_else(|| self.outside())?;
        match is_beneath(&path, &url.root) {
            true => Ok(Spelled::Rooted(below(path, &url.root))),
            false => Err(self.outside()),
        }
    }

    fn outside(&self) -> PathError {
        PathError::Outside(self.display_root())
    }
}

impl ParsedPath {
    fn stack<'a>(&self) -> Vec<Cow<'a, str>> {
        let owned = |step: &str| Cow::Owned(step.to_owned());
        self.path.components().map(owned).collect()
    }
}

/// The steps of a path, as its text has them or as a URL decodes to.
enum Spelled<'a> {
    Relative(Vec<Cow<'a, str>>),
    Rooted(Vec<Cow<'a, str>>),
}

/// Returns the scheme and the rest of text that is a URL: any `scheme://…`, or `own:/…`.
fn own_or_foreign_url<'a>(text: &'a str, own: Option<&UrlForm>) -> Option<(&'a str, &'a str)> {
    let (scheme, rest) = text.split_once(':')?;
    let mut letters = scheme.bytes();
    let starts = letters.next()?.is_ascii_alphabetic();
    let valid = starts && letters.all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let is_own = own.is_some_and(|url| url.scheme.eq_ignore_ascii_case(scheme));
    (valid && (rest.starts_with("//") || is_own && rest.starts_with('/'))).then_some((scheme, rest))
}

fn decode_step(step: &str) -> Result<Cow<'_, str>, PathError> {
    let decoded = percent_decode_str(step)
        .decode_utf8()
        .map_err(|_| PathError::BadUrl("does not decode to UTF-8"))?;
    if decoded.contains('/') {
        return Err(PathError::BadUrl("holds an encoded slash (%2F)"));
    }
    Ok(decoded)
}

fn split(root: &str) -> Vec<String> {
    let steps = normal(steps(root)).unwrap_or_default();
    steps.into_iter().map(Cow::into_owned).collect()
}

fn steps(text: &str) -> Vec<Cow<'_, str>> {
    text.split('/').map(Cow::Borrowed).collect()
}

/// Collapses an absolute path; none when it climbs above `/`.
fn normal(steps: Vec<Cow<'_, str>>) -> Option<Vec<Cow<'_, str>>> {
    let mut stack = Vec::with_capacity(steps.len());
    for step in steps {
        match step.as_ref() {
            "" | "." => {}
            ".." => {
                stack.pop()?;
            }
            _ => stack.push(step),
        }
    }
    Some(stack)
}

fn is_beneath(path: &[Cow<'_, str>], root: &[String]) -> bool {
    path.len() >= root.len() && path.iter().zip(root).all(|(step, there)| step == there)
}

fn below<'a>(mut path: Vec<Cow<'a, str>>, root: &[String]) -> Vec<Cow<'a, str>> {
    path.drain(..root.len());
    path
}

fn check_characters(text: &str) -> Result<(), PathError> {
    match text.chars().find(|c| *c == '\\' || c.is_control()) {
        Some('\\') => Err(PathError::Forbidden("a backslash".to_owned())),
        Some('\0') => Err(PathError::Forbidden("a NUL".to_owned())),
        Some(other) => Err(PathError::Forbidden(format!(
            "the control character U+{:04X}",
            u32::from(other)
        ))),
        None => Ok(()),
    }
}

fn check_component(name: &str) -> Result<(), PathError> {
    check_characters(name)?;
    match name {
        "" | "." | ".." => Err(PathError::Forbidden(format!("the name {name:?}"))),
        _ if name.contains('/') => Err(PathError::Forbidden("a slash in a name".to_owned())),
        _ if name.len() > MAX_COMPONENT_BYTES => Err(PathError::ComponentTooLong(name.len())),
        _ => Ok(()),
    }
}

fn check_length(bytes: usize) -> Result<(), PathError> {
    if bytes > MAX_PATH_BYTES {
        return Err(PathError::TooLong(bytes));
    }
    Ok(())
}

/// Shows a path that could not be parsed: escaped, and no longer than a message can bear.
fn shown(given: &str) -> String {
    const MOST: usize = 200;
    let mut text: String = given
        .chars()
        .take(MOST)
        .flat_map(|c| c.escape_debug())
        .collect();
    if given.chars().nth(MOST).is_some() {
        text.push('…');
    }
    text
}

/// A child's name as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryName {
    text: String,
    addressable: bool,
}

impl EntryName {
    /// Reads a name from storage: as it is when `resolve` would accept it, else escaped.
    ///
    /// Bytes that are not UTF-8, control characters and backslashes are shown as `\xNN`.
    pub fn from_storage(name: &[u8]) -> Self {
        match std::str::from_utf8(name) {
            Ok(text) if check_component(text).is_ok() => Self {
                text: text.to_owned(),
                addressable: true,
            },
            _ => Self {
                text: escape(name),
                addressable: false,
            },
        }
    }

    /// Returns the name to show.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether the shown name is the name, and may be used in a path.
    pub fn is_addressable(&self) -> bool {
        self.addressable
    }
}

impl fmt::Display for EntryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn escape(name: &[u8]) -> String {
    use fmt::Write as _;
    let mut text = String::new();
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '\\' || c == '/' || c.is_control() {
                let mut buffer = [0; 4];
                for byte in c.encode_utf8(&mut buffer).bytes() {
                    let _ = write!(text, "\\x{byte:02X}");
                }
            } else {
                text.push(c);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn host() -> Namespace {
        Namespace::with_display_root("/t/data")
            .with_alias("/mnt/real")
            .with_url("file", "", "/t/data")
    }

    fn check(namespace: &Namespace, text: &str, cwd: &str, expected: Result<&str, ErrorCode>) {
        let found = namespace.parse(text, cwd);
        match (found, expected) {
            (Ok(parsed), Ok(path)) => assert_eq!(parsed.path.as_str(), path, "{text:?}"),
            (Err(error), Err(code)) => {
                let error = error.into_error(text);
                assert_eq!(error.code(), code, "{text:?}: {error}");
            }
            (found, expected) => panic!("{text:?}: {found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn p1_blank_and_unaddressable_paths_are_refused() {
        let long = "n".repeat(256);
        let deep = "abcdefghi/".repeat(103);
        let texts = [
            "", " ", "\t", "a\0b", "a\u{7}b", "a\\b", "a\u{85}", &long, &deep,
        ];
        for namespace in [&host(), &Namespace::virtual_root()] {
            for text in texts {
                check(namespace, text, "", Err(ErrorCode::InvalidPath));
            }
        }
    }

    #[test]
    fn p2_paths_outside_are_denied_and_name_only_the_root() {
        for text in [
            "..",
            "../data-evil/x",
            "a/../../b",
            "/t/data-evil/x",
            "/",
            "/t",
            "/../t/data",
            "/etc/passwd",
            "file:///t/data-evil/x",
            "file:///etc",
            "file://host/t/data/x",
            "s3://bucket/x",
            "file:///t/data/../x",
        ] {
            check(&host(), text, "", Err(ErrorCode::SandboxDenied));
            let error = host().parse(text, "").unwrap_err().into_error(text);
            assert!(!error.to_string().contains("evil"), "{error}");
        }
        check(
            &Namespace::virtual_root(),
            "/..",
            "",
            Err(ErrorCode::SandboxDenied),
        );
    }

    #[test]
    fn p2_relative_absolute_and_url_spellings_meet() {
        for text in [
            "a/b c",
            "./a//b c",
            "a/x/../b c",
            "/t/data/a/b c",
            "/mnt/real/a/b c",
            "/t/other/../data/a/b c",
            "file:///t/data/a/b%20c",
            "file:/t/data/a/b%20c",
            "file://localhost/t/data/a/b%20c",
        ] {
            check(&host(), text, "", Ok("a/b c"));
        }
        check(&host(), "b c", "a", Ok("a/b c"));
        check(&host(), "../b", "/t/data/a", Ok("b"));
        check(&host(), ".", "a", Ok("a"));
        check(&host(), "b%20c", "", Ok("b%20c"));
        check(&host(), "/t/data", "a", Ok(""));
        check(&Namespace::virtual_root(), "/a", "x", Ok("a"));
    }

    #[test]
    fn p2_urls_that_do_not_decode_are_invalid() {
        for text in [
            "file:///t/data/a%2Fb",
            "file:///t/data/%FF",
            "file:///t/data/a?b",
            "file:///t/data/a#b",
        ] {
            check(&host(), text, "", Err(ErrorCode::InvalidPath));
        }
    }

    #[test]
    fn names_with_dots_are_names() {
        for name in [
            "[...slug].ts",
            "a..b.txt",
            "..hidden",
            "...",
            "~root",
            "memory:x",
            "c:",
        ] {
            check(&host(), name, "", Ok(name));
        }
    }

    #[test]
    fn p2b_a_trailing_slash_names_a_folder() {
        let folder = |text| host().parse(text, "").unwrap().folder;
        assert!(folder("a/") && folder("a//") && folder("/t/data/a/"));
        assert!(!folder("a") && !folder("/t/data/") && !folder("./") && !folder("a/."));
    }

    #[test]
    fn p2c_unaddressable_names_are_escaped_and_marked() {
        let check = |bytes: &[u8], text: &str, addressable| {
            let name = EntryName::from_storage(bytes);
            assert_eq!((name.as_str(), name.is_addressable()), (text, addressable));
        };
        check(b"a.txt", "a.txt", true);
        check("é日".as_bytes(), "é日", true);
        check(b"a\nb", "a\\x0Ab", false);
        check(b"a\\b", "a\\x5Cb", false);
        check(b"\xff\xfe", "\\xFF\\xFE", false);
        check("\u{85}".as_bytes(), "\\xC2\\x85", false);
    }

    #[test]
    fn paths_and_names_are_bounded_to_the_byte() {
        let name = "n".repeat(MAX_COMPONENT_BYTES);
        let long = [name.as_str(); 4].join("/");
        let within = |text: &str, prefix| {
            let namespace = Namespace::virtual_root().with_prefix_bytes(prefix);
            namespace.parse(text, "").map(drop)
        };
        assert_eq!(long.len(), MAX_PATH_BYTES - 1);
        assert_eq!(within(&long, 1), Ok(()));
        assert_eq!(within(&long, 2), Err(PathError::TooLong(1025)));
        assert_eq!(within("a", MAX_PATH_BYTES - 1), Ok(()));
        let longer = format!("{name}n");
        assert_eq!(within(&longer, 0), Err(PathError::ComponentTooLong(256)));
        let parent = RootPath::from_components([name.as_str(); 3]).unwrap();
        assert!(parent.join(&name).is_ok());
        assert_eq!(parent.join(&longer), Err(PathError::ComponentTooLong(256)));
        assert_eq!(
            parent.join(&name).unwrap().join("n"),
            Err(PathError::TooLong(1025))
        );
    }

    #[test]
    fn names_that_mean_another_place_are_none() {
        for name in ["", ".", "..", "a/b", "a\\b", "a\0b"] {
            let joined = RootPath::root().join(name);
            assert!(matches!(joined, Err(PathError::Forbidden(_))), "{name:?}");
            assert!(!EntryName::from_storage(name.as_bytes()).is_addressable());
        }
        let path = RootPath::from_components(["a", "b c"]).unwrap();
        assert_eq!((path.name(), path.as_str()), (Some("b c"), "a/b c"));
        assert_eq!(path.join("...").unwrap().as_str(), "a/b c/...");
        assert_eq!(RootPath::root().name(), None);
        assert_eq!(RootPath::root().parent(), None);
    }

    #[test]
    fn the_display_root_is_shown_as_one_absolute_path() {
        let (deep, plain) = (host(), Namespace::virtual_root());
        let path = RootPath::from_components(["a", "b"]).unwrap();
        assert_eq!(
            (deep.display_root(), plain.display_root()),
            ("/t/data".into(), "/".into())
        );
        assert_eq!(deep.display(&path), "/t/data/a/b");
        assert_eq!(deep.display(&RootPath::root()), "/t/data");
        assert_eq!(plain.display(&path), "/a/b");
        assert_eq!(plain.display(&RootPath::root()), "/");
    }

    #[test]
    fn an_error_names_the_path_as_it_was_given_escaped_and_bounded() {
        let named = |text: &str| {
            let error = host().parse(text, "").unwrap_err().into_error(text);
            error.path().map(str::to_owned)
        };
        assert_eq!(named(" "), None);
        assert_eq!(named("a\u{7}b").as_deref(), Some("a\\u{7}b"));
        assert_eq!(named("../../secret/x").as_deref(), Some("x"));
        let long = "n".repeat(300);
        assert_eq!(named(&long).unwrap(), format!("{}…", "n".repeat(200)));
        let most = format!("{}\\", "n".repeat(199));
        assert_eq!(named(&most).unwrap(), format!("{}\\\\", "n".repeat(199)));
    }

    #[test]
    fn prefixes_go_by_component() {
        let path = |text: &str| {
            RootPath::from_components(text.split('/').filter(|c| !c.is_empty())).unwrap()
        };
        assert!(path("a/b").starts_with(&path("a")));
        assert!(path("a").starts_with(&RootPath::root()));
        assert!(!path("ab").starts_with(&path("a")));
        assert_eq!(path("a/b").parent().unwrap(), path("a"));
        assert_eq!(path("a").parent().unwrap(), RootPath::root());
        assert_eq!(path("a/b/c").ancestors().count(), 3);
    }

    proptest! {
        #[test]
        fn no_text_escapes_and_what_is_shown_is_accepted(text in "[a./~ %:]{0,24}", cwd in "[a./]{0,8}") {
            for namespace in [host(), Namespace::virtual_root()] {
                if let Ok(parsed) = namespace.parse(&text, &cwd) {
                    prop_assert!(parsed.path.components().all(|c| c != ".." && c != "." && !c.is_empty()));
                    let shown = namespace.display(&parsed.path);
                    prop_assert_eq!(namespace.parse(&shown, "").unwrap().path, parsed.path.clone());
                    prop_assert_eq!(RootPath::from_key(&parsed.path.to_key()), parsed.path);
                }
            }
        }

        #[test]
        fn parsing_never_panics(text: String, cwd: String) {
            let _ = host().parse(&text, &cwd).map_err(|error| error.into_error(&text).to_string());
        }

        #[test]
        fn escaped_names_are_never_control_text(bytes: Vec<u8>) {
            prop_assert!(EntryName::from_storage(&bytes).as_str().chars().all(|c| !c.is_control()));
        }
    }
}

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
mod tests;

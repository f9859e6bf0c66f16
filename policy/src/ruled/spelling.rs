//! The spelling of a path: where its text leads before any link is looked at.
//!
//! Paths are lexical by contract, so the layer can tell without the provider what most text
//! means. A URL, or another name of the root, only the provider can place; it is asked how deep
//! below the root the text leads, which `..` answers, and the last names of the text are the path.

use percent_encoding::percent_decode_str;
use seamfs_core::path::ParsedPath;
use seamfs_core::{CallContext, FileSystem, Namespace, Purpose, ResolveOptions, RootPath};

/// Returns the path that text spells; none when the provider will not have it either.
pub(super) async fn spelled(
    fs: &dyn FileSystem,
    namespace: &Namespace,
    text: &str,
    cwd: &str,
    context: &CallContext,
) -> Option<ParsedPath> {
    let plain = !is_url(text) && !is_url(cwd);
    if plain && let Ok(parsed) = namespace.parse(text, cwd) {
        return Some(parsed);
    }
    let depth = depth(fs, text, cwd, context).await?;
    let path = match is_url(text) || text.starts_with('/') {
        true => match relative(fs, namespace, text, cwd, context).await {
            // A URL names its root too, so as a relative path it would lead deeper than it does.
            Some(path) if is_url(text) && path.components().count() == depth => path,
            _ => last_names(text, depth)?,
        },
        false => relative(fs, namespace, text, cwd, context).await?,
    };
    let folder = text.ends_with('/') && !path.is_root();
    Some(ParsedPath { path, folder })
}

/// Returns where text leads when it is relative to the working folder.
async fn relative(
    fs: &dyn FileSystem,
    namespace: &Namespace,
    text: &str,
    cwd: &str,
    context: &CallContext,
) -> Option<RootPath> {
    if text.starts_with('/') {
        return None;
    }
    let start = match cwd.trim().is_empty() {
        true => RootPath::root(),
        false => {
            Box::pin(spelled(fs, namespace, cwd, "", context))
                .await?
                .path
        }
    };
    let steps = start.components().chain(text.split('/'));
    RootPath::from_components(normal(steps)?).ok()
}

/// Finds how many names lie between the root and where text leads: one `..` more leads out.
async fn depth(fs: &dyn FileSystem, text: &str, cwd: &str, context: &CallContext) -> Option<usize> {
    let steps = |text: &str| text.split('/').count();
    let most = steps(text) + steps(cwd);
    for depth in (0..=most).rev() {
        let above = format!("{}{}", text.trim_end_matches('/'), "/..".repeat(depth));
        let options = ResolveOptions {
            context: context.clone(),
            purpose: Purpose::Folder,
        };
        if fs.resolve(&above, cwd, options).await.is_ok() {
            return Some(depth);
        }
    }
    None
}

/// Returns the last names of absolute text or of a URL.
fn last_names(text: &str, depth: usize) -> Option<RootPath> {
    let decoded: Vec<String> = match is_url(text) {
        false => text.split('/').map(str::to_owned).collect(),
        true => {
            let (_, rest) = text.split_once(':')?;
            let steps = rest.split('/').map(|step| {
                let step = percent_decode_str(step).decode_utf8();
                step.ok().map(std::borrow::Cow::into_owned)
            });
            steps.collect::<Option<_>>()?
        }
    };
    let names = normal(decoded.iter().map(String::as_str))?;
    let start = names.len().checked_sub(depth)?;
    RootPath::from_components(names[start..].iter().copied()).ok()
}

/// Returns whether text may be a URL of a workspace: a scheme, then `:/`.
fn is_url(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        rest.starts_with('/')
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

fn normal<'a>(steps: impl IntoIterator<Item = &'a str>) -> Option<Vec<&'a str>> {
    let mut stack = Vec::new();
    for step in steps {
        match step {
            "" | "." => {}
            ".." => {
                stack.pop()?;
            }
            name => stack.push(name),
        }
    }
    Some(stack)
}

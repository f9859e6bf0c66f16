//! The edit: guard, decode, plan, splice, once as a pure step and once as a loop.
//!
//! A provider that can load a file and swap it under a guard has `edit` from here. One that works
//! in a blocking section calls [`attempt`] itself.

use async_trait::async_trait;
use bytes::Bytes;

use crate::context::CallContext;
use crate::error::{ErrorCode, FsError, Operation, Result, Snapshot};
use crate::in_place;
use crate::note::Note;
use crate::target::Target;
use crate::text::{NotText, Text};
use crate::transform::{EditOutcome, TextEdit, Transform};
use crate::version::{Expected, Version};

/// What one attempt at an edit came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The edit changes no byte; nothing is to be written.
    Unchanged(TextEdit),
    /// These splices are to be published in place of exactly the bytes seen.
    Publish(TextEdit),
}

/// Checks the guard against the bytes seen, then plans the edit; pure.
///
/// `seen` is none when nothing is there.
///
/// # Errors
/// As [`crate::FileSystem::edit`], the guard's before any other.
pub fn attempt(
    seen: Option<&Snapshot>,
    transform: &dyn Transform,
    expected: &Expected,
) -> Result<Attempt> {
    let Some(seen) = seen else {
        return Err(match expected {
            Expected::Version(_) => gone(),
            Expected::Any | Expected::Absent => not_found(),
        });
    };
    check_guard(Some(seen), expected)?;
    let text = Text::decode(&seen.bytes).map_err(not_text)?;
    let edit = transform.plan(&text, &seen.version)?;
    if edit.replacements == 0 || edit.splices.is_identity(&seen.bytes) {
        return Ok(Attempt::Unchanged(TextEdit {
            replacements: 0,
            ..edit
        }));
    }
    Ok(Attempt::Publish(edit))
}

/// Checks a guard against what is there.
///
/// # Errors
/// `FS_ALREADY_EXISTS` or `FS_STALE_VERSION`, with the bytes attached.
pub fn check_guard(seen: Option<&Snapshot>, expected: &Expected) -> Result<()> {
    match (expected, seen) {
        (Expected::Any, _) | (Expected::Absent, None) => Ok(()),
        (Expected::Absent, Some(_)) => Err(already_exists()),
        (Expected::Version(_), None) => Err(gone()),
        (Expected::Version(version), Some(seen)) if version.certifies(&seen.version) => Ok(()),
        (Expected::Version(_), Some(seen)) => Err(stale().with_current(seen.clone())),
    }
}

/// A file that can be loaded, and swapped when it still is what was loaded.
#[async_trait]
pub trait Swap: Send + Sync {
    /// Loads the whole bytes; none when nothing is there.
    ///
    /// # Errors
    /// As [`crate::FileSystem::read`], but for `FS_NOT_FOUND`.
    async fn load(&self) -> Result<Option<Snapshot>>;

    /// Publishes `after` if the stored bytes still are `seen`; says what happened.
    ///
    /// # Errors
    /// What keeps the publication from happening, other than a lost race.
    async fn swap(&self, seen: &Snapshot, after: Bytes) -> Result<Swapped>;
}

/// How a swap ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swapped {
    /// The bytes stand under this version.
    Published {
        /// The version of the bytes published.
        version: Version,
        /// Facts to state beside the result.
        notes: Vec<Note>,
    },
    /// Somebody else was first; nothing was written.
    Lost,
}

/// Runs an edit to its end over a file that can be swapped.
///
/// Under [`Expected::Any`] a lost race is run again on fresh bytes until the deadline. Under a
/// version it is run again too: the bytes may be the expected ones under a new token, and if they
/// are not, the guard says so with those bytes in hand.
///
/// # Errors
/// As [`crate::FileSystem::edit`].
pub async fn edit(
    target: &Target,
    file: &dyn Swap,
    transform: &dyn Transform,
    expected: &Expected,
    context: &CallContext,
) -> Result<EditOutcome> {
    let place = |error: FsError| error.at(target.display()).during(Operation::Edit);
    if *expected == Expected::Absent {
        return Err(place(edit_of_absent()));
    }
    context.check().map_err(place)?;
    loop {
        let seen = file.load().await.map_err(place)?;
        in_place::make_way_for(seen.as_ref().map_or(0, |seen| seen.bytes.len())).await;
        let attempt = attempt(seen.as_ref(), transform, expected).map_err(place)?;
        let seen = seen.expect("an attempt on nothing is an error");
        let edit = match attempt {
            Attempt::Unchanged(edit) => return Ok(unchanged(seen, edit)),
            Attempt::Publish(edit) => edit,
        };
        let after = Bytes::from(edit.splices.apply(&seen.bytes));
        if let Swapped::Published { version, notes } =
            file.swap(&seen, after).await.map_err(place)?
        {
            let notes = edit.notes.iter().cloned().chain(notes).collect();
            return Ok(EditOutcome {
                version,
                before: seen.bytes,
                edit,
                notes,
            });
        }
        // Looked at once: a deadline that passes between two looks is no other error.
        context.check().map_err(|error| match error.code() {
            ErrorCode::Timeout => place(busy()),
            _ => place(error),
        })?;
    }
}

/// Makes the outcome of an edit that changes no byte.
pub fn unchanged(seen: Snapshot, edit: TextEdit) -> EditOutcome {
    EditOutcome {
        version: seen.version,
        before: seen.bytes,
        notes: edit.notes.clone(),
        edit,
    }
}

/// Returns what a `write` gives back of the bytes before: all of them when both sides are text
/// within the limit, else nothing.
pub fn bytes_before(before: &Bytes, after: &[u8], limit: u64) -> Option<Bytes> {
    (gives_back(before, limit) && gives_back(after, limit)).then(|| before.clone())
}

/// Returns whether bytes are such that a `write` of them, or over them, gives back the ones before:
/// text within the limit. A provider that does not have those asks for the new ones first.
pub fn gives_back(bytes: &[u8], limit: u64) -> bool {
    bytes.len() as u64 <= limit && Text::decode(bytes).is_ok()
}

/// Makes the error of a file with more bytes than a call accepts.
pub fn too_large(size: u64, limit: u64) -> FsError {
    FsError::new(
        ErrorCode::TooLarge,
        format!("the file has at least {size} bytes; the limit is {limit}"),
    )
    .with_details(|details| {
        details.limit = Some(limit);
        details.used = Some(size);
    })
}

/// Makes the error of text that cannot be decoded.
pub fn not_text(reason: NotText) -> FsError {
    FsError::new(ErrorCode::NotText, reason.to_string())
}

/// Makes the error of a target that is not there.
pub fn not_found() -> FsError {
    FsError::new(ErrorCode::NotFound, "no such file")
}

/// Makes the error of a mutation through a link that leads nowhere.
pub fn dangling_link() -> FsError {
    FsError::new(
        ErrorCode::NotRegularFile,
        "this is a link that leads to no file within the workspace",
    )
}

/// Makes the error of a path through something that is no folder.
pub fn through_no_folder() -> FsError {
    FsError::new(
        ErrorCode::NotDirectory,
        "the path leads through something that is not a folder",
    )
}

/// Makes the error of a guard for absence that met something.
pub fn already_exists() -> FsError {
    FsError::new(ErrorCode::AlreadyExists, "something is there already")
}

/// Makes the error of a version whose bytes were replaced.
pub fn stale() -> FsError {
    FsError::new(
        ErrorCode::StaleVersion,
        "the file has changed: its bytes are not those of the expected version",
    )
}

/// Makes the error of a version whose file is gone.
pub fn gone() -> FsError {
    FsError::new(
        ErrorCode::StaleVersion,
        "the file that had the expected version is gone",
    )
}

/// Makes the error of races lost until the deadline.
pub fn busy() -> FsError {
    FsError::new(
        ErrorCode::Busy,
        "other writers kept the file busy until the deadline",
    )
}

/// Makes the error of an edit that asks for absence.
pub fn edit_of_absent() -> FsError {
    FsError::new(
        ErrorCode::InvalidArgument,
        "an edit needs a file; the guard `absent` can never hold for it",
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use super::*;
    use crate::replace::Replace;
    use crate::target::TargetKey;

    /// A file that other writers change: what it holds at each load, the last one for good.
    struct Contested {
        contents: Mutex<Vec<&'static str>>,
        swapped: Mutex<Option<Bytes>>,
    }

    impl Contested {
        fn holding(contents: &[&'static str]) -> Self {
            Self {
                contents: Mutex::new(contents.iter().rev().copied().collect()),
                swapped: Mutex::default(),
            }
        }

        fn now(&self) -> Option<Snapshot> {
            let contents = self.contents.lock().unwrap();
            contents.last().map(|content| snapshot(content))
        }
    }

    #[async_trait]
    impl Swap for Contested {
        async fn load(&self) -> Result<Option<Snapshot>> {
            Ok(self.now())
        }

        async fn swap(&self, seen: &Snapshot, after: Bytes) -> Result<Swapped> {
            let mut contents = self.contents.lock().unwrap();
            if contents.len() > 1 {
                contents.pop();
                return Ok(Swapped::Lost);
            }
            assert_eq!(seen.bytes, contents[0], "it is swapped as it was loaded");
            let version = Version::of(&after);
            *self.swapped.lock().unwrap() = Some(after);
            let notes = vec![Note::fact("swapped")];
            Ok(Swapped::Published { version, notes })
        }
    }

    fn snapshot(content: &str) -> Snapshot {
        Snapshot {
            bytes: Bytes::copy_from_slice(content.as_bytes()),
            version: Version::of(content.as_bytes()),
        }
    }

    fn version(content: &str) -> Expected {
        Expected::Version(Version::of(content.as_bytes()))
    }

    async fn replace(file: &Contested, expected: &Expected) -> Result<EditOutcome> {
        let context = CallContext::default();
        replace_within(file, expected, &context).await
    }

    async fn replace_within(
        file: &Contested,
        expected: &Expected,
        context: &CallContext,
    ) -> Result<EditOutcome> {
        let target = Target::new(TargetKey::new("/a"), "/a");
        let transform = Replace::once("b", "B").unwrap();
        edit(&target, file, &transform, expected, context).await
    }

    #[test]
    fn a_guard_holds_for_what_it_names_alone() {
        let (seen, any) = (snapshot("a"), Expected::Any);
        let code = |seen: Option<&Snapshot>, expected: &Expected| {
            check_guard(seen, expected).map_err(|error| error.code())
        };
        for held in [(Some(&seen), &any), (None, &any), (None, &Expected::Absent)] {
            assert_eq!(code(held.0, held.1), Ok(()));
        }
        assert_eq!(code(Some(&seen), &version("a")), Ok(()));
        let exists = Err(ErrorCode::AlreadyExists);
        assert_eq!(code(Some(&seen), &Expected::Absent), exists);
        assert_eq!(code(None, &version("a")), Err(ErrorCode::StaleVersion));
        let stale = check_guard(Some(&seen), &version("b")).unwrap_err();
        assert_eq!(stale.code(), ErrorCode::StaleVersion);
        assert_eq!(stale.current(), Some(&seen));
    }

    #[test]
    fn the_guard_is_checked_before_the_text_and_absence_by_its_guard() {
        let transform = Replace::once("missing", "x").unwrap();
        let code = |seen, expected: &Expected| {
            let attempt = attempt(seen, &transform, expected);
            attempt.unwrap_err().code()
        };
        let seen = snapshot("a\0");
        assert_eq!(code(Some(&seen), &version("b")), ErrorCode::StaleVersion);
        assert_eq!(code(Some(&seen), &version("a\0")), ErrorCode::NotText);
        assert_eq!(code(None, &version("a")), ErrorCode::StaleVersion);
        assert_eq!(code(None, &Expected::Any), ErrorCode::NotFound);
    }

    #[test]
    fn what_changes_no_byte_is_not_published() {
        let seen = snapshot("a\r\nb");
        let same = Replace::once("a\nb", "a\r\nb").unwrap();
        let attempted = attempt(Some(&seen), &same, &Expected::Any).unwrap();
        assert!(matches!(attempted, Attempt::Unchanged(edit) if edit.replacements == 0));
        // Nor is a transform's own count believed where its splices change nothing.
        let boastful = |text: &Text<'_>, _: &Version| {
            let edit = same.plan(text, &seen.version)?;
            let replacements = 3;
            Ok(TextEdit {
                replacements,
                ..edit
            })
        };
        let attempted = attempt(Some(&seen), &boastful, &Expected::Any).unwrap();
        assert!(matches!(attempted, Attempt::Unchanged(edit) if edit.replacements == 0));
        let other = Replace::once("a", "b").unwrap();
        let attempted = attempt(Some(&seen), &other, &Expected::Any).unwrap();
        assert!(matches!(attempted, Attempt::Publish(edit) if edit.replacements == 1));
    }

    #[tokio::test]
    async fn a_lost_race_is_run_again_on_fresh_bytes() {
        let file = Contested::holding(&["ab", "ab again", "1b"]);
        let outcome = replace(&file, &Expected::Any).await.unwrap();
        assert_eq!(file.swapped.lock().unwrap().as_deref(), Some(&b"1B"[..]));
        assert_eq!(outcome.before, "1b");
        assert_eq!(outcome.version, Version::of(b"1B"));
        assert_eq!(outcome.notes, [Note::fact("swapped")]);
    }

    #[tokio::test]
    async fn under_a_version_a_lost_race_is_stale_unless_the_bytes_are_the_same() {
        let file = Contested::holding(&["ab", "1b"]);
        let error = replace(&file, &version("ab")).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::StaleVersion);
        assert_eq!(error.current(), Some(&snapshot("1b")));
        assert_eq!(
            (error.path(), error.operation()),
            (Some("/a"), Some(Operation::Edit))
        );
        assert_eq!(*file.swapped.lock().unwrap(), None);
        let file = Contested::holding(&["ab", "ab"]);
        assert!(replace(&file, &version("ab")).await.unwrap().changed());
    }

    #[tokio::test]
    async fn an_edit_of_absence_is_a_bad_argument_and_one_of_nothing_finds_nothing() {
        let nothing = Contested::holding(&[]);
        let code = |error: FsError| error.code();
        let absent = replace(&nothing, &Expected::Absent).await.map_err(code);
        assert_eq!(absent.unwrap_err(), ErrorCode::InvalidArgument);
        let any = replace(&nothing, &Expected::Any).await.map_err(code);
        assert_eq!(any.unwrap_err(), ErrorCode::NotFound);
    }

    #[tokio::test]
    async fn races_lost_until_the_deadline_are_busy() {
        let file = Contested::holding(&["b"; 1 << 20]);
        let context = CallContext::default().within(Duration::from_millis(20));
        let error = replace_within(&file, &Expected::Any, &context).await;
        assert_eq!(error.unwrap_err().code(), ErrorCode::Busy);
        assert_eq!(*file.swapped.lock().unwrap(), None);
    }

    #[tokio::test]
    async fn an_edit_that_is_withdrawn_or_late_loads_nothing() {
        let withdrawn = CallContext::default();
        withdrawn.cancellation.cancel();
        let file = Contested::holding(&["b"]);
        let error = replace_within(&file, &Expected::Any, &withdrawn).await;
        assert_eq!(error.unwrap_err().code(), ErrorCode::Aborted);

        let late = CallContext::default().within(Duration::ZERO);
        let error = replace_within(&file, &Expected::Any, &late).await;
        assert_eq!(error.unwrap_err().code(), ErrorCode::Timeout);
        assert_eq!(*file.swapped.lock().unwrap(), None);
    }

    #[test]
    fn bytes_are_given_back_where_both_sides_are_text_within_the_limit() {
        let four = Bytes::from_static(b"four");
        let given = |before: &'static [u8], after: &[u8]| {
            bytes_before(&Bytes::from_static(before), after, 4).is_some()
        };
        assert_eq!(bytes_before(&four, b"4", 4), Some(four));
        assert!(given(b"4", b"four") && given(b"", b""));
        assert!(!given(b"fives", b"4") && !given(b"4", b"fives"));
        assert!(!given(b"\0", b"4") && !given(b"4", b"\0"));
    }
}

//! Steps: what an actor, or somebody outside, does next.

use proptest::prelude::*;

/// The paths of a history: files and folders in each other's way.
pub(super) const NAMES: &[&str] = &["a", "b", "d", "d/a", "d/b", "d/e", "d/e/c"];

/// The contents of a history: every ending, a byte order mark, and what is no text.
pub(super) const CONTENTS: &[&[u8]] = &[
    b"",
    b"one\n",
    b"two\n",
    b"one one",
    b"one\r\ntwo\r\n",
    b"one\ntwo\r\none\rtwo",
    b"\xef\xbb\xbfone\n",
    b"aaa",
    b"no text \0",
    b"no text \xff",
];

/// What is looked for in an edit.
pub(super) const OLD: &[&str] = &["one", "two", "aa", "one\ntwo", "\n", "never"];

/// What is put in its place; never a line feed, whose ending the neighbours decide.
pub(super) const NEW: &[&str] = &["", "1", "one-and-more", "$&"];

/// How many actors there are.
pub(super) const ACTORS: usize = 3;

/// A path of the alphabet, by its number.
pub type Name = usize;

/// A content of the alphabet, by its number.
pub type Content = usize;

/// A guard, as an actor comes by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// None.
    Any,
    /// For absence.
    Absent,
    /// The version that the actor saw last; none where it saw nothing.
    Seen,
    /// The first version that the actor ever saw of this path.
    Older,
    /// A version of bytes that no file has.
    Foreign,
}

/// One step of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Step {
    Look {
        actor: usize,
        name: Name,
    },
    Part {
        name: Name,
        start: u64,
        end: u64,
        cap: u64,
    },
    List {
        name: Name,
    },
    Write {
        actor: usize,
        name: Name,
        content: Content,
        guard: Guard,
    },
    Edit {
        actor: usize,
        name: Name,
        old: usize,
        new: usize,
        all: bool,
        guard: Guard,
    },
    Remove {
        actor: usize,
        name: Name,
        guard: Guard,
    },
    Rename {
        actor: usize,
        from: Name,
        to: Name,
        source: Guard,
        destination: Guard,
    },
    Copy {
        actor: usize,
        from: Name,
        to: Name,
        source: Guard,
        destination: Guard,
    },
    CreateDir {
        name: Name,
    },
    Put {
        name: Name,
        content: Content,
    },
    Touch {
        name: Name,
    },
    Vanish {
        name: Name,
    },
    Reopen,
    /// An actor looks, something touches the file, and the actor changes what it saw.
    Between {
        actor: usize,
        name: Name,
        between: Box<Self>,
        then: Box<Self>,
    },
}

impl Step {
    /// Returns the name under which the step is counted.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Look { .. } => "look",
            Self::Part { .. } => "read a part",
            Self::List { .. } => "list",
            Self::Write { .. } => "write",
            Self::Edit { .. } => "edit",
            Self::Remove { .. } => "remove",
            Self::Rename { .. } => "rename",
            Self::Copy { .. } => "copy",
            Self::CreateDir { .. } => "create_dir",
            Self::Put { .. } => "put from outside",
            Self::Touch { .. } => "touch from outside",
            Self::Vanish { .. } => "remove from outside",
            Self::Reopen => "reopen",
            Self::Between { .. } => "touch between a look and a change",
        }
    }
}

fn name() -> impl Strategy<Value = Name> {
    0..NAMES.len()
}

/// Names that hold files more often than not.
fn file() -> impl Strategy<Value = Name> {
    prop_oneof![3 => Just(0), 1 => Just(1), 3 => Just(3), 1 => Just(4), 1 => name()]
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![3 => 0..7_usize, 1 => 0..CONTENTS.len()]
}

fn guard() -> impl Strategy<Value = Guard> {
    prop_oneof![
        3 => Just(Guard::Any),
        2 => Just(Guard::Absent),
        4 => Just(Guard::Seen),
        1 => Just(Guard::Older),
        1 => Just(Guard::Foreign),
    ]
}

fn write() -> impl Strategy<Value = Step> {
    (0..ACTORS, file(), content(), guard()).prop_map(|(actor, name, content, guard)| Step::Write {
        actor,
        name,
        content,
        guard,
    })
}

fn edit() -> impl Strategy<Value = Step> {
    (
        0..ACTORS,
        file(),
        0..OLD.len(),
        0..NEW.len(),
        any::<bool>(),
        guard(),
    )
        .prop_map(|(actor, name, old, new, all, guard)| Step::Edit {
            actor,
            name,
            old,
            new,
            all,
            guard,
        })
}

fn remove() -> impl Strategy<Value = Step> {
    (0..ACTORS, name(), guard()).prop_map(|(actor, name, guard)| Step::Remove {
        actor,
        name,
        guard,
    })
}

/// Two different names: a transfer onto itself has claims of its own.
fn ends() -> impl Strategy<Value = (Name, Name)> {
    (name(), 1..NAMES.len()).prop_map(|(from, on)| (from, (from + on) % NAMES.len()))
}

fn transfer() -> impl Strategy<Value = Step> {
    (0..ACTORS, ends(), guard(), guard(), any::<bool>()).prop_map(
        |(actor, (from, to), source, destination, copy)| match copy {
            true => Step::Copy {
                actor,
                from,
                to,
                source,
                destination,
            },
            false => Step::Rename {
                actor,
                from,
                to,
                source,
                destination,
            },
        },
    )
}

fn outside() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (file(), content()).prop_map(|(name, content)| Step::Put { name, content }),
        1 => file().prop_map(|name| Step::Touch { name }),
        1 => file().prop_map(|name| Step::Vanish { name }),
    ]
}

/// A change by an actor that has looked at the file before something touched it.
fn between() -> impl Strategy<Value = Step> {
    let touch = prop_oneof![outside(), write(), edit(), remove()];
    let then = prop_oneof![2 => edit(), 1 => write(), 1 => remove()];
    (0..ACTORS, file(), touch, then).prop_map(|(actor, name, touch, then)| Step::Between {
        actor,
        name,
        between: Box::new(aimed(touch, (actor + 1) % ACTORS, name, None)),
        then: Box::new(aimed(then, actor, name, Some(Guard::Seen))),
    })
}

/// Aims a step at a file, by an actor and under a guard.
fn aimed(step: Step, by: usize, at: Name, under: Option<Guard>) -> Step {
    match step {
        Step::Write { content, guard, .. } => Step::Write {
            actor: by,
            name: at,
            content,
            guard: under.unwrap_or(guard),
        },
        Step::Edit {
            old,
            new,
            all,
            guard,
            ..
        } => Step::Edit {
            actor: by,
            name: at,
            old,
            new,
            all,
            guard: under.unwrap_or(guard),
        },
        Step::Remove { guard, .. } => Step::Remove {
            actor: by,
            name: at,
            guard: under.unwrap_or(guard),
        },
        Step::Put { content, .. } => Step::Put { name: at, content },
        Step::Touch { .. } => Step::Touch { name: at },
        Step::Vanish { .. } => Step::Vanish { name: at },
        other => other,
    }
}

/// Makes any step.
fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..ACTORS, name()).prop_map(|(actor, name)| Step::Look { actor, name }),
        1 => (file(), 0..6_u64, 0..12_u64, 0..12_u64).prop_map(|(name, start, len, cap)| {
            Step::Part { name, start, end: start + len, cap }
        }),
        1 => name().prop_map(|name| Step::List { name }),
        4 => write(),
        4 => edit(),
        2 => remove(),
        3 => transfer(),
        1 => name().prop_map(|name| Step::CreateDir { name }),
        2 => outside(),
        1 => Just(Step::Reopen),
        8 => between(),
    ]
}

/// Makes a history.
pub(super) fn history() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 1..24)
}

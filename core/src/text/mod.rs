//! Pure text logic: bytes in, values out, no IO and no async.
//!
//! A file's bytes become a [`Text`] or a [`NotText`]; [`plan_replace`] and
//! [`plan_insert`] turn a request into [`Splices`]; a [`WindowScanner`] shows a part
//! of a file of any size; [`Diff`] and [`diagnose()`] say what changed and why a text
//! was not found; [`new_traces`] tells pasted tool output from content. Callers map the small result types here to the framework's errors.

pub mod decode;
pub mod diagnose;
pub mod diff;
pub mod insert;
pub mod line_index;
pub mod line_map;
pub mod line_set;
pub mod lines;
pub mod matcher;
pub mod outline;
pub mod quote;
pub mod replace;
pub mod span;
pub mod splice;
pub mod trace;

#[cfg(test)]
mod samples;

pub use decode::{NotText, StreamDecoder, Text};
pub use diagnose::{Diagnosis, DiagnosisKind, diagnose};
pub use diff::{Diff, DiffLine, DiffLineKind, Hunk, Rendered};
pub use insert::{InsertOutOfRange, Insertion, plan_insert};
pub use line_index::{LineIndex, LineIndexer, LineSpan};
pub use line_map::{LineMap, count_lines};
pub use line_set::LineSet;
pub use lines::{
    Endings, Line, LineCursor, LineEnding, LineRange, Window, WindowScanner, WindowSpec,
    cut_marker, rows,
};
pub use matcher::{Occurrences, Pattern};
pub use outline::{Outline, Outliner};
pub use quote::{counted, push_printable, quote, visible};
pub use replace::{ReplaceError, Replacement, plan_replace};
pub use span::Span;
pub use splice::{BadSplices, Segment, Splice, Splices};
pub use trace::{FoundTrace, Trace, may_carry, new_traces, new_traces_of, traces};

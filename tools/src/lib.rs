//! The model-facing tools of seamfs: `read`, `write`, `edit` and `str_replace_editor`.
//!
//! Tools talk to the model and to the seam; they never learn which backend they are on, and they
//! decide nothing: the gate does. A [`Toolbox`] is what a workspace holds; [`catalogue`] is the
//! one list that MCP, the CLI and the documentation read.

mod allowed;
mod arguments;
mod cards;
mod edit;
mod editor;
mod escalation;
mod kept;
mod look;
mod mutate;
mod proposal;
mod read;
mod result;
mod scan;
mod scope;
mod tool;
mod toolbox;
mod write;

pub use arguments::typed;
pub use cards::{CallCard, CallKind, DiffCard, Location, Presentation};
pub use edit::Edit;
pub use editor::StrReplaceEditor;
pub use kept::Kept;
pub use read::Read;
pub use result::{ErrorInfo, ToolError, ToolOutput, ToolResult};
pub use scope::{Place, Scope};
pub use tool::{Annotations, Tool, ToolSpec};
pub use toolbox::{Call, Caller, Toolbox, catalogue};
pub use write::Write;

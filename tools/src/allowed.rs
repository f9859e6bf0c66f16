//! What a tool's texts say of what is allowed: nothing is offered that would only be refused.

use seamfs_core::SandboxMode;
use seamfs_core::gate::GateFacts;

use crate::tool::ToolSpec;

const READ_ONLY: &str = "The workspace is read-only: whatever would change it is refused, unless \
                         `sandbox_permissions` and `justification` are given and somebody \
                         approves that one call.";

const RESTRICTED: &str = "Some paths are denied or read-only by rules of the operator; such a \
                          refusal is final, so do not look for a way around it.";

/// Adds to a tool's texts what the workspace as a whole does not allow.
pub(crate) fn described(mut spec: ToolSpec, mutates: bool, facts: &GateFacts) -> ToolSpec {
    if mutates && facts.confined == Some(SandboxMode::ReadOnly) {
        spec.description = format!("{READ_ONLY} {}", spec.description);
        // A section that recommends the tool would send a model into refusals.
        spec.system_prompt = spec
            .system_prompt
            .map(|_| format!("Do not plan on `{}`. {READ_ONLY}", spec.name));
    }
    if facts.restricted {
        spec.description = format!("{} {RESTRICTED}", spec.description);
    }
    spec
}

//! seamfs: guarded file tools for AI agents over pluggable file systems.

//! The model-facing tools of seamfs: read, write, edit and str_replace_editor.

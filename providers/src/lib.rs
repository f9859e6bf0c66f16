//! File systems for seamfs: a sandboxed local folder, memory, object stores, and storage layers.

//! The rows of an object store that answers at once: what the framework adds to its requests.

use std::sync::Arc;

use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, PutMode, PutOptions, UpdateVersion};
use seamfs::Workspace;
use seamfs::providers::Object;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::harness::{Harness, each};
use crate::rows::edits_by_tool;
use crate::scene::{Turn, call, text};
use crate::twin;

/// Measures an edit of an object whose content is cached.
pub(crate) fn run(harness: &mut Harness, runtime: &Runtime, label: &str, size: usize) {
    let name = format!("object in memory, warm edit by tool, {label}");
    if !harness.wants(&name) {
        return;
    }
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let fs = Object::new(Arc::clone(&store));
    let session = Workspace::builder().over(Arc::new(fs)).session("bench");
    let put = |key: &str| {
        let key = Path::from(key);
        let put = store.put_opts(&key, text(size).into(), PutOptions::default());
        runtime.block_on(put).expect("a put").e_tag
    };
    put("subject.txt");
    call(
        runtime,
        &session,
        "read",
        json!({"file_path": "subject.txt"}),
    );
    // The second edit finds the content of the first one in the cache.
    let (ours, theirs) = (Turn::default(), Turn::default());
    edits_by_tool(runtime, &session, &ours, 2);
    let key = Path::from("twin.txt");
    let (mut slot, mut e_tag) = (text(size), put("twin.txt"));
    harness.row(
        &name,
        Box::new(|times| edits_by_tool(runtime, &session, &ours, times)),
        each(|| {
            let (old, new) = theirs.next();
            let after = twin::spliced(&slot, old.as_bytes(), new.as_bytes());
            let version = UpdateVersion {
                e_tag: e_tag.take(),
                version: None,
            };
            let put = store.put_opts(
                &key,
                after.clone().into(),
                PutOptions::from(PutMode::Update(version)),
            );
            e_tag = runtime.block_on(put).expect("nobody else writes").e_tag;
            slot = after;
        }),
        None,
    );
}

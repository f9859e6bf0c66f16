//! The rows of object stores: what the framework adds to its requests.
//!
//! One store is in memory and answers at once, the other is S3 over HTTP in this process.

#[allow(dead_code, unused_imports)]
#[path = "../../tests/servers/mod.rs"]
mod servers;

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, PutMode, PutOptions, UpdateVersion};
use seamfs::Workspace;
use seamfs::providers::Object;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::harness::Harness;
use crate::rows::edits_by_tool;
use crate::scene::{Turn, call, text, timed};
use crate::twin;

/// Measures an edit of an object whose content is cached, on both stores.
pub(crate) fn run(harness: &mut Harness, runtime: &Runtime, label: &str, size: usize) {
    let name = format!("object in memory, warm edit by tool, {label}");
    if harness.wants(&name) {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let fs = Object::new(Arc::clone(&store));
        warm_edits(harness, runtime, &name, (fs, store), size);
    }
    let name = format!("S3 over HTTP, warm edit by tool, {label}");
    if harness.wants(&name) {
        let server = servers::s3();
        let url = format!("s3://{}", servers::BUCKET);
        let fs = Object::connect(&url, server.s3_options()).expect("the options are right");
        let raw = server.s3_client();
        warm_edits(harness, runtime, &name, (fs, raw), size);
    }
}

/// Measures edits through the file system beside puts to its store.
fn warm_edits(
    harness: &mut Harness,
    runtime: &Runtime,
    name: &str,
    (fs, store): (Object, Arc<dyn ObjectStore>),
    size: usize,
) {
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
    let held = Arc::new(Mutex::new((Bytes::from(text(size)), put("twin.txt"))));
    harness.row(
        name,
        Box::new(|times| edits_by_tool(runtime, &session, &ours, times)),
        Box::new(|times| {
            let (store, held, theirs) = (Arc::clone(&store), Arc::clone(&held), theirs.clone());
            timed(
                runtime,
                times,
                move || theirs.next(),
                move |marks| put_spliced(Arc::clone(&store), Arc::clone(&held), marks),
            )
        }),
        None,
    );
}

/// What the twin knows of its object: the content, and the tag of the last put.
type Held = Arc<Mutex<(Bytes, Option<String>)>>;

/// The twin of a warm edit: find all, splice, hash, and put under the tag.
async fn put_spliced(store: Arc<dyn ObjectStore>, held: Held, (old, new): (&str, &str)) {
    let (slot, e_tag) = std::mem::take(&mut *held.lock().expect("one at a time"));
    let after = Bytes::from(twin::spliced(&slot, old.as_bytes(), new.as_bytes()));
    let version = UpdateVersion {
        e_tag,
        version: None,
    };
    let options = PutOptions::from(PutMode::Update(version));
    let key = Path::from("twin.txt");
    let put = store.put_opts(&key, after.clone().into(), options);
    let e_tag = put.await.expect("nobody else writes").e_tag;
    *held.lock().expect("one at a time") = (after, e_tag);
}

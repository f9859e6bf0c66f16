//! An agent's cycle on an object store that is 50 ms away: read, edit, read, cold and warm.
//!
//! The store is S3 over real HTTP in this process. Each row stands beside its raw twin, the plain
//! requests that anybody would have to send, measured in the same run.

// The twins are what a program without the framework would do.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

#[allow(dead_code, unused_imports)]
#[path = "../../tests/servers/mod.rs"]
mod servers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, UpdateVersion};
use seamfs::providers::Object;
use seamfs::{Session, Workspace};
use serde_json::json;

const LATENCY: Duration = Duration::from_millis(50);

fn main() {
    let quick = std::env::args().any(|a| a == "--quick" || a == "--test");
    let rounds = if quick { 2 } else { 10 };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("there are threads");
    runtime.block_on(run(rounds));
}

async fn run(rounds: usize) {
    let server = servers::s3();
    let url = format!("s3://{}", servers::BUCKET);
    let fs = Object::connect(&url, server.s3_options()).expect("the options are right");
    let workspace = Workspace::builder().over(Arc::new(fs));
    let session = workspace.session("agent");
    let raw = server.s3_client();
    ok(
        &session,
        "write",
        json!({"file_path": "/tried", "content": "out\n"}),
    )
    .await;
    server.desk.latency(LATENCY);
    println!(
        "read, edit, read, with {} ms a request",
        LATENCY.as_millis()
    );
    println!(
        "{:6} {:>9} {:>9} {:>7} {:>8}",
        "", "seamfs", "raw", "ratio", "requests"
    );
    for name in ["cold", "warm"] {
        let (mut ours, mut theirs, mut requests) = (Duration::ZERO, Duration::ZERO, 0);
        for n in 0..rounds {
            let path = match name {
                "cold" => format!("cold-{n}"),
                _ => "warm".to_owned(),
            };
            let twin = format!("{path}-raw");
            if name == "cold" || n == 0 {
                server.store.put_foreign(&path, "value = 0\n");
                server.store.put_foreign(&twin, "value = 0\n");
            }
            if name == "warm" && n == 0 {
                cycle(&session, &path, 0).await;
            }
            server.desk.requests();
            let start = Instant::now();
            cycle(&session, &path, if name == "cold" { 0 } else { n + 1 }).await;
            ours += start.elapsed();
            requests = requests.max(server.desk.requests().len());
            let start = Instant::now();
            raw_cycle(&raw, &twin).await;
            theirs += start.elapsed();
        }
        let most = if name == "cold" { 4 } else { 3 };
        assert!(requests <= most, "{name}: {requests} requests");
        let millis = |time: Duration| time.as_secs_f64() * 1000.0 / rounds as f64;
        println!(
            "{name:6} {:7.1}ms {:7.1}ms {:7.2} {requests:8}",
            millis(ours),
            millis(theirs),
            millis(ours) / millis(theirs)
        );
    }
}

async fn ok(session: &Session, tool: &str, args: serde_json::Value) {
    let result = session.call(tool, args).await;
    assert!(!result.is_error(), "{tool}: {}", result.text);
}

async fn cycle_read(session: &Session, path: &str) {
    ok(session, "read", json!({ "file_path": path })).await;
}

async fn cycle(session: &Session, path: &str, old: usize) {
    cycle_read(session, path).await;
    let (old, new) = (format!("value = {old}"), format!("value = {}", old + 1));
    let args = json!({"file_path": path, "old_string": old, "new_string": new});
    ok(session, "edit", args).await;
    cycle_read(session, path).await;
}

/// Reads, replaces under the ETag, and reads again: three requests.
async fn raw_cycle(store: &Arc<dyn ObjectStore>, path: &str) {
    let key = Path::from(path);
    let found = store.get(&key).await.expect("the object is there");
    let version = UpdateVersion {
        e_tag: found.meta.e_tag.clone(),
        version: None,
    };
    let mut text = found.bytes().await.expect("the body arrives").to_vec();
    text.push(b'#');
    let options = PutOptions::from(PutMode::Update(version));
    let put = store.put_opts(&key, text.into(), options).await;
    put.expect("nobody else writes");
    let found = store.get(&key).await.expect("the object is there");
    found.bytes().await.expect("the body arrives");
}

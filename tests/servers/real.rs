//! Real servers, installed beside the tests: SeaweedFS for S3, Azurite for Azure Blob.
//!
//! `SEAMFS_WEED` and `SEAMFS_AZURITE` name their programs. Without one its tests say that they are
//! skipped; where `CI` is `true` they fail instead.

use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};

use object_store::azure::{AzureAccessKey, AzureAuthorizer, AzureCredential};
use object_store::client::{HttpConnector, HttpRequest, HttpRequestBody, ReqwestConnector};
use tempfile::TempDir;

use super::BUCKET;

/// The account that Azurite always has, as its documentation gives it.
const AZURITE: (&str, &str) = (
    "devstoreaccount1",
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
);

/// Returns the program that an environment variable names, or says what is skipped.
///
/// # Panics
/// In CI, where nothing may be skipped.
pub(crate) fn program(variable: &str, what: &str) -> Option<String> {
    let found = std::env::var(variable).ok().filter(|path| !path.is_empty());
    match &found {
        Some(path) => eprintln!("RUN  {what}: {path}"),
        None => {
            let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
            assert!(!in_ci, "{what} is not installed; set {variable}");
            eprintln!("SKIP {what}: {variable} is not set");
        }
    }
    found
}

/// A server of another project, with its data; it is killed when dropped.
#[derive(Debug)]
pub(crate) struct Installed {
    child: Child,
    start: Vec<String>,
    options: Vec<(String, String)>,
    _data: TempDir,
}

impl Installed {
    /// Returns the options that open a workspace on this server.
    pub(crate) fn options(&self) -> Vec<(String, String)> {
        self.options.clone()
    }

    /// Kills the server without warning and starts it again over the same data.
    pub(crate) fn crash_and_restart(&mut self) {
        self.kill();
        self.child = run(&self.start);
    }

    fn kill(&mut self) {
        self.child.kill().expect("the server can be killed");
        self.child.wait().expect("a killed server ends");
    }

    fn start(start: Vec<String>, options: Vec<(String, String)>, data: TempDir) -> Self {
        Self {
            child: run(&start),
            start,
            options,
            _data: data,
        }
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        self.kill();
    }
}

fn run(command: &[String]) -> Child {
    Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}

/// Finds ports that nobody listens on now.
fn ports<const N: usize>() -> [u16; N] {
    let listeners: [_; N] = std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

fn pairs<const N: usize>(options: [(&str, &str); N]) -> Vec<(String, String)> {
    options
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec()
}

/// Starts SeaweedFS with one bucket, everything on loopback and nothing reported.
pub(crate) fn seaweedfs(program: &str) -> Installed {
    let data = tempfile::tempdir().expect("there is room for a folder");
    let [
        master,
        master_grpc,
        volume,
        volume_grpc,
        filer,
        filer_grpc,
        s3,
        s3_grpc,
        admin,
    ] = ports();
    let identities = data.path().join("s3.json");
    let (key, secret) = super::s3::KEY;
    let json = serde_json::json!({"identities": [{
        "name": "tests",
        "credentials": [{"accessKey": key, "secretKey": secret}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }]});
    std::fs::write(&identities, json.to_string()).expect("the folder is ours");
    let start = [
        program.to_owned(),
        "mini".to_owned(),
        format!("-dir={}", data.path().display()),
        "-ip=127.0.0.1".to_owned(),
        "-ip.bind=127.0.0.1".to_owned(),
        format!("-master.port={master}"),
        format!("-master.port.grpc={master_grpc}"),
        "-master.telemetry=false".to_owned(),
        format!("-volume.port={volume}"),
        format!("-volume.port.grpc={volume_grpc}"),
        format!("-filer.port={filer}"),
        format!("-filer.port.grpc={filer_grpc}"),
        format!("-s3.port={s3}"),
        format!("-s3.port.grpc={s3_grpc}"),
        "-s3.port.iceberg=0".to_owned(),
        "-s3.port.lance=0".to_owned(),
        format!("-s3.config={}", identities.display()),
        format!("-admin.port={admin}"),
        "-admin.ui=false".to_owned(),
        "-webdav=false".to_owned(),
        format!("-bucket={BUCKET}"),
    ];
    let options = pairs([
        ("endpoint", &format!("http://127.0.0.1:{s3}")),
        ("allow_http", "true"),
        ("access_key_id", key),
        ("secret_access_key", secret),
        ("attempts", "200"),
    ]);
    Installed::start(start.to_vec(), options, data)
}

/// Starts Azurite with one container, nothing reported.
pub(crate) async fn azurite(program: &str) -> Installed {
    let data = tempfile::tempdir().expect("there is room for a folder");
    let [port] = ports();
    let start = [
        program.to_owned(),
        "--blobPort".to_owned(),
        port.to_string(),
        "--location".to_owned(),
        data.path().display().to_string(),
        "--silent".to_owned(),
        "--disableTelemetry".to_owned(),
        "--skipApiVersionCheck".to_owned(),
    ];
    let (account, key) = AZURITE;
    let endpoint = format!("http://127.0.0.1:{port}/{account}");
    let options = pairs([
        ("endpoint", &endpoint),
        ("allow_http", "true"),
        ("account_name", account),
        ("account_key", key),
        ("attempts", "200"),
    ]);
    let installed = Installed::start(start.to_vec(), options, data);
    wait_for(([127, 0, 0, 1], port).into()).await;
    create_container(&endpoint).await;
    installed
}

/// Waits until somebody listens.
async fn wait_for(address: SocketAddr) {
    let mut tick = tokio::time::interval(std::time::Duration::from_millis(50));
    for _ in 0..1200 {
        tick.tick().await;
        if tokio::net::TcpStream::connect(address).await.is_ok() {
            return;
        }
    }
    panic!("nobody came to listen on {address}");
}

async fn create_container(endpoint: &str) {
    let (account, key) = AZURITE;
    let key = AzureAccessKey::try_new(key).expect("the key is base 64");
    let credential = AzureCredential::AccessKey(key);
    let mut request = HttpRequest::new(HttpRequestBody::empty());
    *request.method_mut() = hyper::Method::PUT;
    let uri = format!("{endpoint}/{BUCKET}?restype=container");
    *request.uri_mut() = uri.parse().expect("the endpoint is a URL");
    AzureAuthorizer::new(&credential, account)
        .try_authorize(&mut request)
        .expect("the request can be signed");
    let options = object_store::ClientOptions::new().with_allow_http(true);
    let client = ReqwestConnector::default().connect(&options);
    let client = client.expect("there is an HTTP client");
    let response = client.execute(request).await.expect("Azurite answers");
    assert!(response.status().is_success(), "{}", response.status());
}

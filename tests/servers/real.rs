//! Real servers, installed beside the tests: SeaweedFS for S3, Azurite for Azure Blob.
//!
//! `SEAMFS_WEED` and `SEAMFS_AZURITE` name their programs. Without one its tests say that they are
//! skipped; where `CI` is `true` they fail instead.

use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Weak};
use std::time::Duration;

use hyper::http::header::{CONTENT_LENGTH, HeaderMap, HeaderValue};
use object_store::aws::{AwsAuthorizer, AwsCredential};
use object_store::azure::{AzureAccessKey, AzureAuthorizer, AzureCredential};
use object_store::client::{HttpConnector, HttpRequest, HttpRequestBody, ReqwestConnector};
use object_store::{ObjectStore, ObjectStoreExt};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use seamfs::core::{RemoveOptions, WriteOptions};
use seamfs::providers::Object;
use seamfs::{CallContext, Expected, FileSystem, FileSystemExt};
use tempfile::TempDir;
use tokio::sync::Mutex;

use super::BUCKET;

/// The account that Azurite always has, as its documentation gives it.
const AZURITE: (&str, &str) = (
    "devstoreaccount1",
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
);

/// Which server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    SeaweedFs,
    Azurite,
}

/// The servers that run now and may be shared, in the order of [`Kind`].
static SHARED: [Mutex<Weak<Installed>>; 2] = [const { Mutex::const_new(Weak::new()) }; 2];

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::SeaweedFs, Self::Azurite];

    /// Returns the name that its makers gave it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::SeaweedFs => "SeaweedFS",
            Self::Azurite => "Azurite",
        }
    }

    /// Returns the URL of its bucket.
    pub(crate) fn bucket(self) -> String {
        match self {
            Self::SeaweedFs => format!("s3://{BUCKET}"),
            Self::Azurite => format!("az://{BUCKET}"),
        }
    }

    /// Starts a server of one's own and waits until it is ready; none where it is not installed.
    pub(crate) async fn start(self) -> Option<Installed> {
        let variable = match self {
            Self::SeaweedFs => "SEAMFS_WEED",
            Self::Azurite => "SEAMFS_AZURITE",
        };
        let program = program(variable, self.name())?;
        let server = match self {
            Self::SeaweedFs => seaweedfs(&program),
            Self::Azurite => azurite(&program).await,
        };
        server.ready().await;
        Some(server)
    }

    /// Returns the server that other tests use now, or starts one; it ends with its last user.
    pub(crate) async fn share(self) -> Option<Arc<Installed>> {
        let mut shared = SHARED[self as usize].lock().await;
        if let Some(running) = shared.upgrade() {
            return Some(running);
        }
        let started = Arc::new(self.start().await?);
        *shared = Arc::downgrade(&started);
        Some(started)
    }
}

/// Returns the program that an environment variable names, or says what is skipped.
///
/// # Panics
/// In CI, where nothing may be skipped.
fn program(variable: &str, what: &str) -> Option<String> {
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
    kind: Kind,
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

    /// Returns the URL of what lies beneath a prefix.
    pub(crate) fn url(&self, prefix: &str) -> String {
        format!("{}/{prefix}", self.kind.bucket())
    }

    /// Opens what lies beneath a prefix; further options come after the server's own.
    pub(crate) fn connect(&self, prefix: &str, more: &[(&str, &str)]) -> Object {
        let more = more
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let options = self.options().into_iter().chain(more);
        Object::connect(&self.url(prefix), options).expect("the options are right")
    }

    /// Returns a client that knows nothing of us.
    pub(crate) fn client(&self) -> Arc<dyn ObjectStore> {
        let url = self.kind.bucket().parse().expect("it is a URL");
        let mut options = self.options();
        // A connection that the server closes just when it is used again would fail a removal,
        // which this client does not try again.
        options.push(("pool_max_idle_per_host".to_owned(), "0".to_owned()));
        let (store, _) = object_store::parse_url_opts(&url, options).expect("it opens");
        Arc::from(store)
    }

    /// Writes an object as a tool would that knows nothing of us, under a key of any kind but one
    /// whose dots the client itself would resolve.
    pub(crate) async fn put_foreign(&self, key: &str, text: &str) {
        let kind: &[_] = match self.kind {
            Kind::SeaweedFs => &[],
            Kind::Azurite => &[("x-ms-blob-type", "BlockBlob")],
        };
        send(self.kind, request("PUT", &self.uri(key), kind, text)).await;
    }

    /// Takes a lease on an object of Azurite's and returns its id.
    pub(crate) async fn lease(&self, key: &str) -> String {
        let headers = [
            ("x-ms-lease-action", "acquire"),
            ("x-ms-lease-duration", "-1"),
        ];
        let uri = format!("{}?comp=lease", self.uri(key));
        let answer = send(self.kind, request("PUT", &uri, &headers, "")).await;
        let id = answer.get("x-ms-lease-id").expect("a lease has an id");
        id.to_str().expect("an id is text").to_owned()
    }

    /// Ends every lease on an object of Azurite's.
    pub(crate) async fn break_lease(&self, key: &str) {
        let headers = [
            ("x-ms-lease-action", "break"),
            ("x-ms-lease-break-period", "0"),
        ];
        let uri = format!("{}?comp=lease", self.uri(key));
        send(self.kind, request("PUT", &uri, &headers, "")).await;
    }

    /// Removes the folders above a removed object that are empty now, as SeaweedFS, which has real
    /// ones underneath, does by itself after a while; the first `kept` names of the key stay.
    pub(crate) async fn prune(&self, client: &dyn ObjectStore, key: &str, kept: usize) {
        if self.kind != Kind::SeaweedFs {
            return;
        }
        let names: Vec<_> = key.split('/').collect();
        for length in (kept + 1..names.len()).rev() {
            let folder = names[..length].join("/");
            let path = object_store::path::Path::parse(&folder).expect("it is the start of a key");
            // A file of the folder's name is one with it there.
            if client.head(&path).await.is_err() {
                let uri = format!("{}/", self.uri(&folder));
                send(self.kind, request("DELETE", &uri, &[], "")).await;
            }
        }
    }

    fn uri(&self, key: &str) -> String {
        const KEPT: AsciiSet = NON_ALPHANUMERIC
            .remove(b'/')
            .remove(b'-')
            .remove(b'.')
            .remove(b'_')
            .remove(b'~');
        let endpoint = self.options.iter().find(|(key, _)| key == "endpoint");
        let (_, endpoint) = endpoint.expect("every server has one");
        format!("{endpoint}/{BUCKET}/{}", utf8_percent_encode(key, &KEPT))
    }

    /// Kills the server without warning and starts it again over the same data.
    pub(crate) async fn crash_and_restart(&mut self) {
        self.kill();
        self.child = run(&self.start);
        self.ready().await;
    }

    /// Waits until a write and a read succeed, which is when the server is ready.
    async fn ready(&self) {
        let fs = self.connect("ready", &[]);
        let target = fs.target("ready").await.unwrap();
        let context = CallContext::default().within(Duration::from_secs(60));
        let options = || WriteOptions::expecting(Expected::Any).in_context(&context);
        let mut written = fs.write(&target, "1".into(), options()).await;
        while written.is_err() && !context.is_late() {
            tokio::task::yield_now().await;
            written = fs.write(&target, "1".into(), options()).await;
        }
        written.expect("the server became ready");
        fs.read_all(&target).await.unwrap();
        fs.remove(&target, RemoveOptions::default()).await.unwrap();
    }

    fn kill(&mut self) {
        self.child.kill().expect("the server can be killed");
        self.child.wait().expect("a killed server ends");
    }

    fn run(kind: Kind, start: Vec<String>, options: Vec<(String, String)>, data: TempDir) -> Self {
        Self {
            kind,
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
fn seaweedfs(program: &str) -> Installed {
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
    Installed::run(Kind::SeaweedFs, start.to_vec(), options, data)
}

/// Starts Azurite with one container, nothing reported.
async fn azurite(program: &str) -> Installed {
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
    let installed = Installed::run(Kind::Azurite, start.to_vec(), options, data);
    wait_for(([127, 0, 0, 1], port).into()).await;
    create_container(&endpoint).await;
    installed
}

/// Waits until somebody listens.
async fn wait_for(address: SocketAddr) {
    let mut tick = tokio::time::interval(Duration::from_millis(50));
    for _ in 0..1200 {
        tick.tick().await;
        if tokio::net::TcpStream::connect(address).await.is_ok() {
            return;
        }
    }
    panic!("nobody came to listen on {address}");
}

async fn create_container(endpoint: &str) {
    let request = request(
        "PUT",
        &format!("{endpoint}/{BUCKET}?restype=container"),
        &[],
        "",
    );
    send(Kind::Azurite, request).await;
}

fn request(
    method: &str,
    uri: &str,
    headers: &[(&'static str, &'static str)],
    body: &str,
) -> HttpRequest {
    let mut request = HttpRequest::new(HttpRequestBody::from(body.to_owned()));
    let length = HeaderValue::from(body.len());
    request.headers_mut().insert(CONTENT_LENGTH, length);
    *request.method_mut() = method.parse().expect("it is a method");
    *request.uri_mut() = uri.parse().expect("it is a URL");
    for (name, value) in headers {
        let value = HeaderValue::from_static(value);
        request.headers_mut().insert(*name, value);
    }
    request
}

/// Signs a request, sends it and checks that it was a success; returns the headers of the answer.
async fn send(kind: Kind, mut request: HttpRequest) -> HeaderMap {
    match kind {
        Kind::SeaweedFs => {
            let (key, secret) = super::s3::KEY;
            let credential = AwsCredential {
                key_id: key.to_owned(),
                secret_key: secret.to_owned(),
                token: None,
            };
            AwsAuthorizer::new(&credential, "s3", "us-east-1")
                .try_authorize(&mut request, None)
                .expect("the request can be signed");
        }
        Kind::Azurite => {
            let (account, key) = AZURITE;
            let key = AzureAccessKey::try_new(key).expect("the key is base 64");
            AzureAuthorizer::new(&AzureCredential::AccessKey(key), account)
                .try_authorize(&mut request)
                .expect("the request can be signed");
        }
    }
    let options = object_store::ClientOptions::new().with_allow_http(true);
    let client = ReqwestConnector::default().connect(&options);
    let client = client.expect("there is an HTTP client");
    let response = client.execute(request).await.expect("the server answers");
    let (parts, body) = response.into_parts();
    let body = body.bytes().await.unwrap_or_default();
    let said = String::from_utf8_lossy(&body);
    assert!(parts.status.is_success(), "{}: {said}", parts.status);
    parts.headers
}

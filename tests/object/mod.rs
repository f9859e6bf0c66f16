//! Object stores over real HTTP: costs, faults, names, and many writers at once.

mod costs;
mod faults;
mod installed_names;
mod lost_updates;
mod names;
mod real;
mod storms;

use std::sync::Arc;

use seamfs::providers::Object;
use seamfs::{FileSystem, FileSystemExt, Workspace};

use crate::servers::{self, BUCKET, Server};

/// The root of the workspaces in the servers' bucket.
const ROOT: &str = "work space";

/// A protocol that a server in this process speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    S3,
    Gcs,
}

impl Protocol {
    const ALL: [Self; 2] = [Self::S3, Self::Gcs];

    fn serve(self) -> Server {
        match self {
            Self::S3 => servers::s3(),
            Self::Gcs => servers::gcs(),
        }
    }

    fn url(self) -> String {
        match self {
            Self::S3 => format!("s3://{BUCKET}/work%20space"),
            Self::Gcs => format!("gs://{BUCKET}/work%20space"),
        }
    }

    fn options(self, server: &Server) -> Vec<(String, String)> {
        match self {
            Self::S3 => server.s3_options(),
            Self::Gcs => server.gcs_options(),
        }
    }
}

/// A server, and the file system over it.
#[derive(Debug)]
struct Place {
    server: Server,
    fs: Arc<dyn FileSystem>,
}

impl Place {
    /// Opens a workspace whose store was tried out already.
    async fn new(protocol: Protocol) -> Self {
        let place = Self::untried(protocol, &[]);
        let first = place.fs.target("first").await.unwrap();
        let written = place
            .fs
            .write_all(&first, "1".into(), seamfs::Expected::Absent)
            .await;
        written.unwrap();
        place.server.store.remove(&format!("{ROOT}/first"));
        place.server.desk.requests();
        place
    }

    fn untried(protocol: Protocol, more: &[(&str, &str)]) -> Self {
        let server = protocol.serve();
        let more = more
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let options = protocol.options(&server).into_iter().chain(more);
        let fs = Object::connect(&protocol.url(), options).expect("the options are right");
        let fs = Arc::new(fs);
        Self { server, fs }
    }

    fn workspace(&self) -> Workspace {
        Workspace::builder().over(Arc::clone(&self.fs))
    }

    fn put(&self, path: &str, text: &str) {
        self.server
            .store
            .put_foreign(&format!("{ROOT}/{path}"), text);
    }

    fn text(&self, path: &str) -> Option<String> {
        let bytes = self.server.store.bytes(&format!("{ROOT}/{path}"))?;
        Some(String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[track_caller]
    fn check_requests(&self, expected: &[&str]) {
        assert_eq!(self.server.desk.requests(), expected);
    }
}

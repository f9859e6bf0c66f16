//! The objects: one ordered map under one lock, every condition checked where it is replaced.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// When everything was last changed: nothing here depends on it.
pub(super) const MODIFIED: &str = "Mon, 30 Nov 2026 12:00:00 GMT";

/// Generations are as large as the real ones, which are microseconds since 1970.
const FIRST_GENERATION: u64 = 1_796_040_000_000_000;

#[derive(Clone, Debug, Default)]
pub(crate) struct Stored {
    pub(super) bytes: Bytes,
    pub(super) generation: u64,
    pub(super) kind: Option<String>,
    pub(super) metadata: BTreeMap<String, String>,
}

impl Stored {
    /// Returns the ETag, without quotes: one a content, as the MD5 of S3 is.
    pub(super) fn e_tag(&self) -> String {
        blake3::hash(&self.bytes).to_hex()[..32].to_owned()
    }
}

/// The condition of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum When {
    Always,
    Absent,
    ETag(String),
    Generation(u64),
}

/// Why a write did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missed {
    Gone,
    Differs,
}

/// A page of a listing.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) objects: Vec<(String, Stored)>,
    pub(super) prefixes: Vec<String>,
    pub(super) next: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Store {
    objects: Mutex<(u64, BTreeMap<String, Stored>)>,
    heedless: AtomicBool,
}

impl Store {
    /// Lets every condition of a write be ignored from now on, as some servers do.
    pub(crate) fn ignore_conditions(&self) {
        self.heedless.store(true, Ordering::Relaxed);
    }

    /// Writes an object as a tool would that knows nothing of us, under any key at all.
    pub(crate) fn put_foreign(&self, key: &str, bytes: impl AsRef<[u8]>) {
        let stored = Stored {
            bytes: Bytes::copy_from_slice(bytes.as_ref()),
            ..Stored::default()
        };
        self.put(key, stored, &When::Always)
            .expect("there is no condition");
    }

    /// Returns the bytes of an object.
    pub(crate) fn bytes(&self, key: &str) -> Option<Bytes> {
        self.get(key).map(|stored| stored.bytes)
    }

    /// Returns every key.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.objects().1.keys().cloned().collect()
    }

    /// Removes every object.
    pub(crate) fn clear(&self) {
        self.objects().1.clear();
    }

    pub(super) fn get(&self, key: &str) -> Option<Stored> {
        self.objects().1.get(key).cloned()
    }

    pub(crate) fn remove(&self, key: &str) -> bool {
        self.objects().1.remove(key).is_some()
    }

    pub(super) fn put(&self, key: &str, mut stored: Stored, when: &When) -> Result<Stored, Missed> {
        let mut objects = self.objects();
        let found = objects.1.get(key);
        match (when, found) {
            _ if self.heedless.load(Ordering::Relaxed) => {}
            (When::Always, _) | (When::Absent, None) => {}
            (When::Absent, Some(_)) => return Err(Missed::Differs),
            (_, None) => return Err(Missed::Gone),
            (When::ETag(wanted), Some(found)) if *wanted == found.e_tag() => {}
            (When::Generation(wanted), Some(found)) if *wanted == found.generation => {}
            (_, Some(_)) => return Err(Missed::Differs),
        }
        objects.0 += 1;
        stored.generation = FIRST_GENERATION + objects.0;
        objects.1.insert(key.to_owned(), stored.clone());
        Ok(stored)
    }

    /// Lists keys as the stores do: in byte order, what shares a prefix up to `/` as one.
    pub(super) fn list(
        &self,
        prefix: &str,
        delimiter: bool,
        after: Option<&str>,
        most: usize,
    ) -> Page {
        let objects = self.objects();
        let mut page = Page::default();
        let mut last = after.unwrap_or_default().to_owned();
        let start = if last.as_str() > prefix {
            Bound::Excluded(last.clone())
        } else {
            Bound::Included(prefix.to_owned())
        };
        for (key, stored) in objects.1.range((start, Bound::Unbounded)) {
            let Some(rest) = key.strip_prefix(prefix) else {
                break;
            };
            // A prefix that was given out covers every key that begins with it.
            if delimiter && last.ends_with('/') && last != prefix && key.starts_with(&last) {
                continue;
            }
            if page.objects.len() + page.prefixes.len() == most {
                page.next = Some(last);
                break;
            }
            match rest.find('/').filter(|_| delimiter) {
                Some(at) => {
                    last = key[..=prefix.len() + at].to_owned();
                    page.prefixes.push(last.clone());
                }
                None => {
                    last.clone_from(key);
                    page.objects.push((key.clone(), stored.clone()));
                }
            }
        }
        page
    }

    fn objects(&self) -> MutexGuard<'_, (u64, BTreeMap<String, Stored>)> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[test]
fn pages_split_a_listing_and_lose_nothing() {
    let store = Store::default();
    for key in ["a", "a/1", "a/2", "b/", "b/c", "d", "e/f/g"] {
        store.put_foreign(key, "");
    }
    for most in 1..6 {
        let (mut keys, mut after) = (Vec::new(), None);
        loop {
            let page = store.list("", true, after.as_deref(), most);
            keys.extend(page.objects.into_iter().map(|(key, _)| key));
            keys.extend(page.prefixes);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        keys.sort();
        assert_eq!(keys, ["a", "a/", "b/", "d", "e/"], "{most}");
    }
}

//! Order: from the order of keys to the order of names, with as little held back as can be.
//!
//! A store lists `a-b`, `a.txt`, `a/`, because a folder's key ends in a slash; by name the folder
//! `a` comes first. An entry is therefore held back while a folder whose name its own begins with
//! could still appear.

use std::collections::BTreeMap;

use seamfs_core::{Entry, FileKind};

/// Entries that came in the order of keys and leave in the order of names.
#[derive(Debug, Default)]
pub(super) struct Reorder {
    held: BTreeMap<(String, FileKind, u64), Entry>,
    count: u64,
}

impl Reorder {
    /// Takes an entry in, under the name that the store has for it.
    pub(super) fn push(&mut self, name: &str, entry: Entry) {
        self.count += 1;
        let place = (name.to_owned(), entry.kind(), self.count);
        self.held.insert(place, entry);
    }

    /// Gives out the next entry by name, if nothing that sorts before it can still come.
    ///
    /// `reached` is the greatest key seen, beneath the folder and with a folder's slash; none
    /// once everything was seen.
    pub(super) fn pop(&mut self, reached: Option<&str>) -> Option<Entry> {
        let first = self.held.first_entry()?;
        let (name, _, _) = first.key();
        let settled = reached.is_none_or(|reached| waits_for(name).as_str() <= reached);
        settled.then(|| first.remove())
    }
}

/// Returns the greatest key that could still bring an entry which sorts before this name.
fn waits_for(name: &str) -> String {
    let below_slash = name.char_indices().find(|(at, c)| *at > 0 && *c < '/');
    match below_slash {
        Some((at, _)) => format!("{}/", &name[..at]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use seamfs_core::{EntryName, Metadata};

    fn entry(key: &str) -> (String, Entry) {
        let (name, kind) = match key.strip_suffix('/') {
            Some(name) => (name, FileKind::Directory),
            None => (key, FileKind::File),
        };
        let entry = Entry {
            name: EntryName::from_storage(name.as_bytes()),
            metadata: Ok(Metadata::of(kind)),
        };
        (name.to_owned(), entry)
    }

    /// Feeds keys in the store's order, one page a key, and returns names in the order given out.
    fn run(mut keys: Vec<String>) -> (Vec<String>, usize) {
        keys.sort();
        keys.dedup();
        let mut order = Reorder::default();
        let (mut out, mut most) = (Vec::new(), 0);
        for key in &keys {
            let (name, entry) = entry(key);
            order.push(&name, entry);
            while let Some(entry) = order.pop(Some(key)) {
                out.push(entry.name.to_string());
            }
            most = most.max(order.held.len());
        }
        while let Some(entry) = order.pop(None) {
            out.push(entry.name.to_string());
        }
        assert_eq!(out.len(), keys.len());
        (out, most)
    }

    #[test]
    fn a_folder_comes_before_the_files_whose_names_begin_with_its_own() {
        let keys = ["a-b", "a.txt", "a/", "a/", "b"]
            .map(str::to_owned)
            .to_vec();
        let (names, _) = run(keys);
        assert_eq!(names, ["a", "a-b", "a.txt", "b"]);
    }

    #[test]
    fn plain_names_are_not_held_back() {
        let keys = (0..1000).map(|n| format!("n{n:04}")).collect();
        assert_eq!(run(keys).1, 0);
    }

    proptest! {
        #[test]
        fn names_come_in_byte_order(keys in proptest::collection::vec("[-.ab]{1,4}/?", 0..40)) {
            let (names, _) = run(keys);
            let mut sorted = names.clone();
            sorted.sort();
            prop_assert_eq!(names, sorted);
        }
    }
}

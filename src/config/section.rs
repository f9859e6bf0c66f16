//! A section of a configuration: keys are taken out one by one, and what is left is unknown.

use seamfs_core::{FsError, Result};
use toml::{Table, Value};

use super::{Offered, invalid};
use crate::registry::{SIZES, parse_size};

/// How alike two keys must be, from 0 to 1, for one to be meant by the other.
const ALIKE: f64 = 0.7;

/// What is left of a table, and the keys that it might have had.
#[derive(Debug)]
pub(super) struct Section {
    /// The dotted name before each key; empty at the top.
    name: String,
    table: Table,
    known: Vec<&'static str>,
}

impl Section {
    pub(super) fn top(table: Table) -> Self {
        Self::of(String::new(), table)
    }

    fn of(name: String, table: Table) -> Self {
        Self {
            name,
            table,
            known: Vec::new(),
        }
    }

    /// Makes an error of one key's value.
    pub(super) fn at(&self, key: &str, message: &str) -> FsError {
        invalid(format!("`{}`: {message}", self.path(key)))
    }

    fn path(&self, key: &str) -> String {
        match self.name.is_empty() {
            true => key.to_owned(),
            false => format!("{}.{key}", self.name),
        }
    }

    fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.table.remove(key)
    }

    pub(super) fn text(&mut self, key: &'static str) -> Result<Option<String>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.at(key, "must be a text in quotes")),
        }
    }

    /// Takes where something lies, which an empty text does not say.
    pub(super) fn location(&mut self, key: &'static str) -> Result<Option<String>> {
        let text = self.text(key)?;
        match text.as_deref() {
            Some(text) if text.trim().is_empty() => Err(self.at(
                key,
                "is empty; write \".\" for the configuration's own folder",
            )),
            _ => Ok(text),
        }
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Result<Option<bool>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Boolean(flag)) => Ok(Some(flag)),
            Some(_) => Err(self.at(key, "must be true or false")),
        }
    }

    pub(super) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>> {
        let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
        let taken = self.take(key);
        let Some(value) = taken else {
            return Ok(None);
        };
        let found = value
            .as_str()
            .and_then(|text| choices.iter().find(|(word, _)| *word == text));
        match found {
            Some((_, choice)) => Ok(Some(*choice)),
            None => {
                let meant = value.as_str().and_then(|text| nearest(text, &words));
                let hint =
                    meant.map_or(String::new(), |word| format!("; did you mean \"{word}\"?"));
                let list = words.join("\", \"");
                Err(self.at(key, &format!("must be one of \"{list}\"{hint}")))
            }
        }
    }

    pub(super) fn names(&mut self, key: &'static str) -> Result<Option<Vec<String>>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Array(items)) => {
                let names = items.into_iter().map(|item| match item {
                    Value::String(name) => Some(name),
                    _ => None,
                });
                let names = names.collect::<Option<_>>();
                names
                    .map(Some)
                    .ok_or_else(|| self.at(key, "must be a list of texts"))
            }
            Some(_) => Err(self.at(key, "must be a list of texts")),
        }
    }

    pub(super) fn names_or_all(&mut self, key: &'static str) -> Result<Option<Offered>> {
        if self.table.get(key).and_then(Value::as_str) == Some("all") {
            self.take(key);
            return Ok(Some(Offered::All));
        }
        match self.names(key)? {
            Some(names) if names.is_empty() => {
                Err(self.at(key, "must name a tool at the least, or be \"all\""))
            }
            names => Ok(names.map(Offered::Named)),
        }
    }

    /// Takes a number of bytes, such as `1048576` or `"1MiB"`.
    pub(super) fn size(&mut self, key: &'static str) -> Result<Option<u64>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Integer(number)) if number >= 0 => Ok(Some(number.unsigned_abs())),
            Some(Value::String(text)) => parse_size(key, &text)
                .map(Some)
                .map_err(|error| self.at(key, error.message())),
            Some(_) => Err(self.at(key, &format!("must be {SIZES}"))),
        }
    }

    pub(super) fn count(&mut self, key: &'static str) -> Result<Option<u64>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Integer(number)) if number >= 0 => Ok(Some(number.unsigned_abs())),
            Some(_) => Err(self.at(key, "must be a whole number, 0 or more")),
        }
    }

    pub(super) fn section(&mut self, key: &'static str) -> Result<Option<Self>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Table(table)) => Ok(Some(Self::of(self.path(key), table))),
            Some(_) => Err(self.at(key, &format!("must be a section, [{}]", self.path(key)))),
        }
    }

    /// Returns a section for each key; which keys there are, others know.
    pub(super) fn into_sections(self) -> Result<Vec<(String, Self)>> {
        let mut sections = Vec::new();
        for (key, value) in &self.table {
            let Value::Table(table) = value else {
                let message = format!("must be a section, [{}]", self.path(key));
                return Err(self.at(key, &message));
            };
            sections.push((key.clone(), Self::of(self.path(key), table.clone())));
        }
        Ok(sections)
    }

    /// Returns every key with its value as text, as the command line has them. A value that is
    /// none is named by its key alone: it may be a secret.
    pub(super) fn into_texts(self) -> Result<Vec<(String, String)>> {
        let mut texts = Vec::new();
        for (key, value) in &self.table {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Integer(number) => number.to_string(),
                Value::Boolean(flag) => flag.to_string(),
                _ => return Err(self.at(key, "must be a text, a whole number, true or false")),
            };
            texts.push((key.clone(), text));
        }
        Ok(texts)
    }

    /// Checks that every key was taken.
    pub(super) fn finish(self) -> Result<()> {
        let Some(unknown) = self.table.keys().next() else {
            return Ok(());
        };
        let place = match self.name.is_empty() {
            true => "at the top".to_owned(),
            false => format!("in [{}]", self.name),
        };
        let hint = match nearest(unknown, &self.known) {
            Some(known) => format!("did you mean `{known}`?"),
            None => format!("there are {}", self.known.join(", ")),
        };
        Err(invalid(format!(
            "there is no key `{unknown}` {place}; {hint}"
        )))
    }
}

/// Returns the word that a mistyped one most likely means.
fn nearest<'a>(unknown: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = unknown.replace('_', "-").to_lowercase();
    known
        .iter()
        .map(|word| (strsim::jaro_winkler(&plain, word), *word))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, word)| word)
}

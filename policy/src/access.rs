//! Path rules: which paths an operator hides, denies or keeps read-only.
//!
//! Pure: text in, a decision out. [`crate::Ruled`] enforces it over a file system.

mod secrets;

use std::fmt;

use dashmap::DashMap;
use globset::{Candidate, Glob, GlobBuilder, GlobSet};
use seamfs_core::{ErrorCode, FsError, Result};
use unicode_normalization::UnicodeNormalization as _;

/// The most folders and files whose standing is remembered.
const MOST_REMEMBERED: usize = 4096;

/// What the path rules allow at a path; the order is from open to closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Whatever the sandbox mode allows.
    #[default]
    Full,
    /// Reads and listings, no mutation.
    ReadOnly,
    /// Nothing; it is listed by its name, and everything else says that a rule denies it.
    Denied,
    /// Nothing; it looks absent.
    Hidden,
}

impl Access {
    /// Every standing that a pattern can give, from closed to open.
    const GIVEN: [Self; 3] = [Self::Hidden, Self::Denied, Self::ReadOnly];

    /// The bit of a list's pattern that gives this standing, or that takes a path out of it.
    const fn bit(self, list: List, exception: bool) -> u32 {
        1 << (6 * self as u32 + 2 * list as u32 + exception as u32)
    }
}

/// Whose patterns they are; an exception is one to its own list only.
#[derive(Clone, Copy, Debug)]
enum List {
    Operator,
    Preset,
    /// Single paths that are kept whatever the others say.
    Kept,
}

impl List {
    const ALL: [Self; 3] = [Self::Operator, Self::Preset, Self::Kept];
}

/// A compiled set of path patterns; deciding is the same whatever the number of patterns.
///
/// A pattern is a glob in the manner of `.gitignore`: without a slash it matches a name at any
/// depth, with one it is anchored at the root; `*` and `?` match within a name, `**` any number
/// of names; `{a,b}` matches either; what matches a folder covers everything beneath it. A `!` in
/// front takes paths out of the patterns of the same standing, in whatever order they come, and
/// never out of the preset's or the other way round. Where several standings apply the most closed one holds.
///
/// Letters are compared without regard to case and to how accents are composed, on every backend:
/// a folder may ignore either without saying so (a network share, a case-folding or FAT file
/// system), and a fence that a capital letter opens is none.
///
/// ```
/// use seamfs_policy::{Access, PathRules};
///
/// let rules = PathRules::builder()
///     .secrets(Access::Hidden)
///     .add(Access::ReadOnly, ["vendor", "*.lock", "!local.lock"])?
///     .build()?;
/// assert_eq!(rules.access("app/.env"), Access::Hidden);
/// assert_eq!(rules.access("app/.env.example"), Access::Full);
/// assert_eq!(rules.access("vendor/lib/a.rs"), Access::ReadOnly);
/// assert_eq!(rules.access("local.lock"), Access::Full);
/// # Ok::<(), seamfs_core::FsError>(())
/// ```
pub struct PathRules {
    set: GlobSet,
    source: PathRulesBuilder,
    remembered: DashMap<Box<str>, u32>,
}

impl PathRules {
    /// Starts a set of rules.
    pub fn builder() -> PathRulesBuilder {
        PathRulesBuilder::default()
    }

    /// Returns what is allowed at a path beneath the root, spelled without a leading slash.
    pub fn access(&self, path: &str) -> Access {
        if self.is_empty() || path.is_empty() {
            return Access::Full;
        }
        let bits = self.bits_of(&folded(path));
        let has = |bit: u32| bits & bit != 0;
        let given = |access: &Access| {
            List::ALL
                .into_iter()
                .any(|list| has(access.bit(list, false)) && !has(access.bit(list, true)))
        };
        Access::GIVEN.into_iter().find(given).unwrap_or_default()
    }

    /// Returns how many patterns there are.
    pub fn len(&self) -> usize {
        self.source.bits.len()
    }

    /// Returns whether there are none, so that nothing is restricted.
    pub fn is_empty(&self) -> bool {
        self.source.bits.is_empty()
    }

    /// Returns whether there is any pattern of the operator's or of the preset.
    pub fn restricts(&self) -> bool {
        self.len() > self.source.kept
    }

    /// Returns the builder that these rules came from, to add to it.
    pub fn into_builder(self) -> PathRulesBuilder {
        self.source
    }

    /// Checks that no pattern spells the root of the storage, beneath which all patterns begin.
    ///
    /// The root is an absolute path of the host's. A pattern that repeats it would match nothing,
    /// and what was to be closed would be open.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` naming the pattern and its relative form.
    pub fn check_beneath(&self, root: &str) -> Result<()> {
        let root = folded(root.trim_matches('/'));
        if root.is_empty() {
            return Ok(());
        }
        for pattern in &self.source.anchored {
            let bare = pattern.trim_start_matches(['!', '/']);
            let rest = folded(bare);
            let Some(rest) = rest.strip_prefix(&root) else {
                continue;
            };
            if !rest.is_empty() && !rest.starts_with('/') {
                continue;
            }
            let steps = root.split('/').count();
            let relative: Vec<&str> = bare.split('/').skip(steps).collect();
            let relative = match relative.concat().is_empty() {
                true => "*".to_owned(),
                false => format!("/{}", relative.join("/")),
            };
            return Err(malformed(
                pattern,
                &format!("patterns begin at the workspace's root; write {relative:?}"),
            ));
        }
        Ok(())
    }

    /// Collects the bits of the patterns that match a path or a folder above it.
    fn bits_of(&self, path: &str) -> u32 {
        if let Some(bits) = self.remembered.get(path) {
            return *bits;
        }
        let above = path.rfind('/').map_or(0, |end| self.bits_of(&path[..end]));
        let matched = self.set.matches_candidate(&Candidate::new(path));
        let bits = matched
            .into_iter()
            .fold(above, |bits, index| bits | self.source.bits[index]);
        if self.remembered.len() >= MOST_REMEMBERED {
            self.remembered.clear();
        }
        self.remembered.insert(Box::from(path), bits);
        bits
    }
}

/// Patterns may be many: only their number is shown.
impl fmt::Debug for PathRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PathRules")
            .field("patterns", &self.len())
            .finish_non_exhaustive()
    }
}

/// Collects path patterns.
#[derive(Clone, Debug, Default)]
pub struct PathRulesBuilder {
    globs: Vec<Glob>,
    bits: Vec<u32>,
    /// The operator's patterns that begin with a slash, as they were written.
    anchored: Vec<String>,
    /// How many patterns keep single paths.
    kept: usize,
}

impl PathRulesBuilder {
    /// Gives a standing to whatever these patterns match; [`Access::Full`] adds nothing.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for a pattern that is empty, malformed or leads out of the root.
    pub fn add<P: AsRef<str>>(
        self,
        access: Access,
        patterns: impl IntoIterator<Item = P>,
    ) -> Result<Self> {
        self.add_to(List::Operator, access, patterns)
    }

    fn add_to<P: AsRef<str>>(
        mut self,
        list: List,
        access: Access,
        patterns: impl IntoIterator<Item = P>,
    ) -> Result<Self> {
        for pattern in patterns {
            let text = pattern.as_ref();
            let (exception, rest) = match text.strip_prefix('!') {
                Some(rest) => (true, rest),
                None => (false, text),
            };
            let glob = compile(rest).map_err(|why| malformed(text, &why))?;
            if rest.starts_with('/') {
                self.anchored.push(text.to_owned());
            }
            if access != Access::Full {
                self.globs.push(glob);
                self.bits.push(access.bit(list, exception));
            }
        }
        Ok(self)
    }

    /// Keeps one path beneath the root read-only, which no exception of the other patterns undoes.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for text that is no such path.
    pub fn keep(mut self, path: &str) -> Result<Self> {
        let pattern = format!("/{}", globset::escape(path));
        self = self.add_to(List::Kept, Access::ReadOnly, [pattern])?;
        self.anchored.pop();
        self.kept += 1;
        Ok(self)
    }

    /// Gives a standing to files that usually hold secrets: `.env`, private keys, and the
    /// credentials that common tools keep.
    #[must_use]
    pub fn secrets(self, access: Access) -> Self {
        self.add_to(List::Preset, access, secrets::patterns())
            .expect("the preset's patterns are well formed")
    }

    /// Compiles the patterns.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` when together they are too large to be compiled.
    pub fn build(self) -> Result<PathRules> {
        let mut set = GlobSet::builder();
        for glob in &self.globs {
            set.add(glob.clone());
        }
        let set = set.build().map_err(|error| {
            FsError::new(
                ErrorCode::InvalidArgument,
                format!("the path patterns cannot be compiled: {error}"),
            )
        })?;
        Ok(PathRules {
            set,
            source: self,
            remembered: DashMap::new(),
        })
    }
}

fn compile(pattern: &str) -> Result<Glob, String> {
    let trimmed = pattern.strip_suffix('/').unwrap_or(pattern);
    let anchored = trimmed.strip_prefix('/').unwrap_or(trimmed);
    if anchored.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    if let Some(step) = anchored
        .split('/')
        .find(|step| matches!(*step, "" | "." | ".."))
    {
        return Err(format!(
            "the name {step:?} is in no path; patterns are relative to the workspace's root"
        ));
    }
    if let Some(outside) = home_or_drive(trimmed) {
        return Err(format!(
            "{outside:?} stands for nothing here; patterns are relative to the workspace's root, and \
             for a name that begins so write \"/{}\"",
            globset::escape(trimmed)
        ));
    }
    let text = match trimmed.contains('/') {
        true => folded(anchored),
        false => format!("**/{}", folded(anchored)),
    };
    GlobBuilder::new(&text)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build()
        .map_err(|error| error.kind().to_string())
}

/// Returns how a pattern begins that means a place outside: a shell's home or variable, or a drive.
fn home_or_drive(pattern: &str) -> Option<&str> {
    let (first, _) = pattern.split_once('/')?;
    let drive = matches!(first.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic());
    (drive || first.starts_with(['~', '$'])).then_some(first)
}

/// Folds case letter by letter, whatever stands beside a letter (a sigma is one at the end of a
/// word too), and composes accents, which file systems store in either way.
fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let one = |letter| if letter == 'ς' { 'σ' } else { letter };
    let lower = text.nfd().flat_map(char::to_lowercase).map(one);
    lower.nfc().collect()
}

fn malformed(pattern: &str, why: &str) -> FsError {
    FsError::new(
        ErrorCode::InvalidArgument,
        format!("the path pattern {pattern:?}: {why}"),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules(access: Access, patterns: &[&str]) -> PathRules {
        let builder = PathRules::builder().add(access, patterns).unwrap();
        builder.build().unwrap()
    }

    #[test]
    fn a_name_matches_at_any_depth_and_a_path_at_the_root_only() {
        let rules = rules(Access::Denied, &["*.pem", "infra/prod", "/top"]);
        for path in ["a.pem", "x/y/a.pem", "infra/prod", "infra/prod/a/b", "top"] {
            assert_eq!(rules.access(path), Access::Denied, "{path}");
        }
        for path in ["", "pem", "a.pem.txt", "x/infra/prod", "infra", "x/top"] {
            assert_eq!(rules.access(path), Access::Full, "{path}");
        }
    }

    #[test]
    fn a_folder_covers_what_is_beneath_it_and_an_exception_opens_a_part() {
        let rules = rules(Access::Hidden, &["private/", "!private/readme.md"]);
        assert_eq!(rules.access("private"), Access::Hidden);
        assert_eq!(rules.access("private/a/b"), Access::Hidden);
        assert_eq!(rules.access("private/README.md"), Access::Full);
    }

    #[test]
    fn the_most_closed_standing_holds_and_exceptions_are_of_one_standing() {
        let rules = PathRules::builder()
            .add(Access::ReadOnly, ["**/*.md"])
            .and_then(|rules| rules.add(Access::Denied, ["docs", "!docs/open.md"]))
            .and_then(|rules| rules.add(Access::Hidden, ["docs/secret.md"]))
            .and_then(PathRulesBuilder::build)
            .unwrap();
        assert_eq!(rules.access("a.md"), Access::ReadOnly);
        assert_eq!(rules.access("docs/a.md"), Access::Denied);
        assert_eq!(rules.access("docs/open.md"), Access::ReadOnly);
        assert_eq!(rules.access("docs/secret.md"), Access::Hidden);
    }

    #[test]
    fn an_exception_is_one_to_its_own_list_only() {
        let rules = PathRules::builder()
            .secrets(Access::Hidden)
            .add(Access::Hidden, ["config", "!config/*.json", "private"])
            .and_then(PathRulesBuilder::build)
            .unwrap();
        for path in [
            "config/credentials.json",
            "config/a.toml",
            "private/.env.example",
            "private/.env.sample/x",
        ] {
            assert_eq!(rules.access(path), Access::Hidden, "{path}");
        }
        for path in ["config/a.json", ".env.example", "x/.env.sample"] {
            assert_eq!(rules.access(path), Access::Full, "{path}");
        }
    }

    #[test]
    fn case_opens_nothing() {
        let rules = rules(Access::Hidden, &["Private", "ÄRGER.txt", "ΟΔΟΣ*"]);
        for path in [
            "private",
            "PRIVATE/x",
            "a/ärger.TXT",
            "ΟΔΟΣΑ.txt",
            "ΟΔΟΣ",
            "οδος.txt",
        ] {
            assert_eq!(rules.access(path), Access::Hidden, "{path}");
        }
    }

    #[test]
    fn the_preset_knows_secrets_and_leaves_their_examples() {
        let rules = PathRules::builder()
            .secrets(Access::Hidden)
            .build()
            .unwrap();
        for path in [
            ".env",
            "app/.env.production",
            ".ENV",
            ".env~",
            ".env.bak",
            "..env.swp",
            "prod.env",
            "deploy/staging.env.old",
            ".envrc",
            ".envrc.local",
            "id_rsa",
            "id_rsa_work",
            ".id_rsa.swp",
            ".server.key.swo",
            "#.env#",
            ".composer/auth.json",
            "id_ed25519.old",
            "home/.ssh/config",
            "certs/server.key",
            "server.pem.bak",
            "server.pem.orig",
            "server.pem~",
            ".aws/credentials",
            "x/.docker/config.json",
            ".netrc",
            ".netrc.save",
            ".pgpass",
            ".git-credentials",
            "terraform.tfstate",
            "terraform.tfstate.backup",
            "prod.tfvars",
            "home/.kube/config",
            "home/.kube/config.bak",
            "kubeconfig",
            "keys/service-account-prod.json",
            "keys/prod-service_account.json",
            "vault.kdbx",
            "secrets.yaml",
        ] {
            assert_eq!(rules.access(path), Access::Hidden, "{path}");
        }
        for path in [
            ".env.example",
            "a/.env.sample",
            ".env.template",
            ".env.production.example",
            "prod.env.example",
            "example.env",
            "sample.env",
            ".envrc.example",
            "example.tfvars",
            "env",
            "src/environment.rs",
            "vite-env.d.ts",
            "id_rsa.pub",
            "id_ed25519_work.pub",
            "keys.md",
            "docker/config.json",
            "src/credentials.rs",
            "src/service_account.rs",
            "pkg/kubeconfig.go",
            "main.tf",
        ] {
            assert_eq!(rules.access(path), Access::Full, "{path}");
        }
    }

    #[test]
    fn accents_are_one_however_they_are_composed() {
        let composed = "caf\u{e9}/\u{c5}ngstr\u{f6}m*";
        let decomposed = "cafe\u{301}/A\u{30a}ngstro\u{308}m*";
        for pattern in [composed, decomposed] {
            let rules = rules(Access::Hidden, &[pattern]);
            for path in [
                "caf\u{e9}/\u{e5}ngstr\u{f6}m.txt",
                "cafe\u{301}/a\u{30a}ngstro\u{308}m",
                "CAFE\u{301}/A\u{30a}NGSTRO\u{308}M",
                // The sign for the unit is the letter.
                "caf\u{e9}/\u{212b}ngstr\u{f6}m",
            ] {
                assert_eq!(rules.access(path), Access::Hidden, "{pattern} {path}");
            }
            assert_eq!(rules.access("cafe/angstrom"), Access::Full, "{pattern}");
        }
    }

    #[test]
    fn a_kept_path_is_read_only_whatever_else_is_said() {
        let builder = PathRules::builder().add(Access::ReadOnly, ["!*.toml", "!conf"]);
        let rules = builder
            .and_then(|rules| rules.keep("conf/sea[mf]s.toml"))
            .and_then(PathRulesBuilder::build)
            .unwrap();
        assert_eq!(rules.access("conf/sea[mf]s.toml"), Access::ReadOnly);
        assert_eq!(rules.access("CONF/Sea[mf]s.toml"), Access::ReadOnly);
        assert_eq!(rules.access("conf/seams.toml"), Access::Full);
        assert!(rules.restricts());
        let alone = PathRules::builder().keep("seamfs.toml").unwrap();
        assert!(!alone.build().unwrap().restricts());
    }

    #[test]
    fn a_pattern_that_spells_the_root_is_told_its_relative_form() {
        let check = |pattern: &str, root: &str| {
            let checked = rules(Access::Denied, &[pattern]).check_beneath(root);
            checked.map_err(|error| error.message().to_owned())
        };
        for (pattern, relative) in [
            ("/srv/project/infra", "\"/infra\""),
            ("!/srv/Project/infra/*.md", "\"/infra/*.md\""),
            ("/srv/project", "\"*\""),
            ("/srv/project/", "\"*\""),
        ] {
            let message = check(pattern, "/srv/project").unwrap_err();
            assert!(message.contains(pattern), "{message}");
            assert!(message.ends_with(&format!("write {relative}")), "{message}");
        }
        for pattern in ["/srv/projects", "/srv", "srv/project/x", "/infra", "*.pem"] {
            assert_eq!(check(pattern, "/srv/project"), Ok(()), "{pattern}");
        }
        assert_eq!(check("/srv", "/"), Ok(()));
    }

    #[test]
    fn what_is_no_pattern_is_named_with_its_fault() {
        for (pattern, fault) in [
            ("", "empty"),
            ("!", "empty"),
            ("../x", "\"..\""),
            ("a//b", "\"\""),
            ("a[", "character class"),
            ("{a", "alternate"),
            ("~/keys", "\"/~/keys\""),
            ("!$HOME/x", "\"/$HOME/x\""),
            ("C:/x", "\"C:\""),
        ] {
            let builder = PathRules::builder().add(Access::Denied, [pattern]);
            let error = builder.unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidArgument);
            assert!(error.message().contains(fault), "{pattern}: {error}");
        }
        let rules = rules(Access::Denied, &["/~/keys", "/$HOME/x", "~", "*~", "C:"]);
        for path in ["~/keys", "$HOME/x", "a/~", "b~", "C:"] {
            assert_eq!(rules.access(path), Access::Denied, "{path}");
        }
    }

    #[test]
    fn what_is_remembered_is_bounded_and_changes_no_answer() {
        let rules = rules(Access::Denied, &["*7"]);
        for _ in 0..2 {
            for number in 0..2 * MOST_REMEMBERED {
                let expected = match number % 10 {
                    7 => Access::Denied,
                    _ => Access::Full,
                };
                assert_eq!(rules.access(&number.to_string()), expected);
            }
            assert!(rules.remembered.len() <= MOST_REMEMBERED);
        }
    }

    /// Decides as the documentation says, one pattern at a time and without any memory.
    fn plainly(patterns: &[(Access, bool, String)], path: &str) -> Access {
        let path = path.to_lowercase();
        let mut above: Vec<&str> = path.match_indices('/').map(|(at, _)| &path[..at]).collect();
        above.push(&path);
        let matches = |pattern: &str| {
            let glob = compile(pattern).unwrap().compile_matcher();
            above.iter().any(|path| glob.is_match(path))
        };
        let any = |access: Access, exception: bool| {
            let mut of = patterns
                .iter()
                .filter(|p| (p.0, p.1) == (access, exception));
            of.any(|(_, _, pattern)| matches(pattern))
        };
        Access::GIVEN
            .into_iter()
            .find(|access| any(*access, false) && !any(*access, true))
            .unwrap_or_default()
    }

    fn pattern() -> impl Strategy<Value = (Access, bool, String)> {
        let access = prop::sample::select(Access::GIVEN.to_vec());
        let text = prop_oneof![
            "[abC]{1,2}",
            "/?[abC]/[ab*]{1,2}",
            "[ab]/\\*\\*/[cd]",
            "\\*\\.[xy]",
            "[ab]/",
        ];
        (access, any::<bool>(), text)
    }

    proptest! {
        #[test]
        fn a_decision_is_what_the_patterns_say_one_by_one(
            patterns in prop::collection::vec(pattern(), 0..8),
            paths in prop::collection::vec("[aBc]{1,2}(/[abcd]{1,2}){0,3}(\\.[xy])?", 1..8),
        ) {
            let mut builder = PathRules::builder();
            for (access, exception, text) in &patterns {
                let mark = if *exception { "!" } else { "" };
                builder = builder.add(*access, [format!("{mark}{text}")]).unwrap();
            }
            let rules = builder.build().unwrap();
            for path in &paths {
                prop_assert_eq!(rules.access(path), plainly(&patterns, path), "{}", path);
            }
        }
    }
}

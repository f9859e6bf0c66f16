//! What a configuration says, and what is wrong with one.

use super::*;

const FULL: &str = r#"
workspace = "project"
cwd = "src"
sandbox = "workspace-write"
policy = "observe"
coverage = true
rebase = false
session-file = "seen.log"
tools = ["read", "edit"]
durability = "full"

[options]
display = "virtual"
retries = 3

[tool-options.read]
max_lines = 500

[rules]
secrets = "hide"
hide = ["private"]
deny = ["infra", "!infra/readme.md"]
read-only = ["*.lock"]

[quotas]
file-bytes = "10MiB"
session-bytes = "1 kB"
session-mutations = 20

[content]
gutter = "allow"
"#;

fn refused(text: &str) -> String {
    let error = Config::parse(text).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    error.message().to_owned()
}

#[test]
fn text_that_is_no_toml_is_told_by_line_and_key_and_never_by_value() {
    let huge = "x = 1\n[quotas]\nfile-bytes = 99999999999999999999\n";
    assert_eq!(
        refused(huge),
        "line 3, `file-bytes`: the number is too large"
    );
    let twice = refused("workspace = \"memory:\"\nworkspace = \"secret\"\n");
    assert_eq!(twice, "line 2, `workspace`: duplicate key");
    for text in [
        "\"sec ret\" = [",
        "secret",
        "= secret",
        "a = 1\nsec ret = 5",
    ] {
        let message = refused(text);
        assert!(
            message.starts_with("line ") && !message.contains("ret"),
            "{message}"
        );
    }
}

#[test]
fn every_key_is_read() {
    let config = Config::parse(FULL).unwrap();
    assert_eq!(config.workspace.as_deref(), Some("project"));
    assert_eq!(config.cwd.as_deref(), Some("src"));
    assert_eq!(config.sandbox, Some(SandboxMode::WorkspaceWrite));
    assert_eq!(config.policy, Some(Policy::Observe));
    assert_eq!((config.coverage, config.rebase), (Some(true), Some(false)));
    assert_eq!(config.durability.as_deref(), Some("full"));
    let named = ["read", "edit"].map(str::to_owned).to_vec();
    assert_eq!(config.tools, Some(Offered::Named(named)));
    let option = ("read", "max_lines", "500");
    let option = (
        option.0.to_owned(),
        option.1.to_owned(),
        option.2.to_owned(),
    );
    assert_eq!(config.tool_options, [option]);
    assert_eq!(config.options["retries"], "3");
    let quotas = Quotas {
        file_bytes: Some(10 << 20),
        session_bytes: Some(1000),
        workspace_bytes: None,
        session_mutations: Some(20),
    };
    assert_eq!(config.quotas, quotas);
    let screen = Screen::default().allowing(Trace::Gutter);
    assert_eq!(config.screen, Some(screen));
    let rules = config.rules.build().unwrap();
    for (path, access) in [
        (".env", Access::Hidden),
        ("private/a", Access::Hidden),
        ("infra/a", Access::Denied),
        ("infra/readme.md", Access::Full),
        ("Cargo.lock", Access::ReadOnly),
    ] {
        assert_eq!(rules.access(path), access, "{path}");
    }
}

#[test]
fn an_unknown_key_is_an_error_that_names_the_nearest_or_all() {
    for (text, part) in [
        (
            "sandbx = 1",
            "there is no key `sandbx` at the top; did you mean `sandbox`?",
        ),
        ("session_file = \"a\"", "did you mean `session-file`?"),
        (
            "[rules]\ndenied = []",
            "there is no key `denied` in [rules]; did you mean `deny`?",
        ),
        ("[quotas]\nfile_byte = 1", "did you mean `file-bytes`?"),
        ("[quota]\n", "did you mean `quotas`?"),
        (
            "[content]\nzzz = 1",
            "there are envelope, footer, clipping, gutter, elision",
        ),
    ] {
        let message = refused(text);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_value_that_does_not_fit_is_named_with_what_would() {
    for (text, part) in [
        ("sandbox = \"readonly\"", "did you mean \"read-only\"?"),
        ("coverage = \"yes\"", "`coverage`: must be true or false"),
        ("tools = \"read\"", "`tools`: must be a list"),
        ("tools = []", "`tools`: must name a tool"),
        (
            "[quotas]\nfile-bytes = \"1M\"",
            "the units are B, KB, MB, GB, TB, KiB, MiB, GiB and TiB",
        ),
        (
            "[quotas]\nfile-bytes = -1",
            "`quotas.file-bytes`: must be a number of bytes",
        ),
        (
            "[quotas]\nfile-bytes = \"9 cows\"",
            "takes a number of bytes",
        ),
        (
            "[rules]\ndeny = [\"../x\"]",
            "`rules.deny`: the path pattern \"../x\"",
        ),
        ("rules = 1", "must be a section, [rules]"),
        (
            "[tool-options]\nread = 1",
            "must be a section, [tool-options.read]",
        ),
    ] {
        let message = refused(text);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn no_message_shows_a_value_that_may_be_a_secret() {
    for text in [
        "[options]\nsecret_access_key = \"hunter2",
        "[options]\nsecret_access_key = [\"hunter2\"]",
        "[options]\nsecret_access_key = \"hunter2\" junk",
    ] {
        let message = refused(text);
        assert!(!message.contains("hunter2"), "{message}");
    }
    let config = Config::parse("[options]\nsecret_access_key = \"hunter2\"").unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
}

#[test]
fn paths_in_a_file_start_at_its_folder_and_urls_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seamfs.toml");
    std::fs::write(&file, FULL).unwrap();
    let config = Config::load(&file).unwrap();
    let expected = folder.path().join("project").display().to_string();
    assert_eq!(config.workspace, Some(expected));
    assert_eq!(config.session_file, Some(folder.path().join("seen.log")));
    std::fs::write(&file, "workspace = \"memory:\"").unwrap();
    assert_eq!(
        Config::load(&file).unwrap().workspace.as_deref(),
        Some("memory:")
    );
    let missing = Config::load(folder.path().join("none.toml")).unwrap_err();
    assert_eq!(missing.code(), ErrorCode::NotFound);
    assert!(missing.message().contains("none.toml"), "{missing}");
}

#[test]
fn an_empty_workspace_is_no_folder() {
    for text in ["workspace = \"\"\n", "workspace = \" \"\n"] {
        assert!(refused(text).contains("is empty"), "{}", refused(text));
    }
}

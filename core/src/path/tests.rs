use super::*;
use proptest::prelude::*;

fn host() -> Namespace {
    Namespace::with_display_root("/t/data")
        .with_alias("/mnt/real")
        .with_url("file", "", "/t/data")
}

fn check(namespace: &Namespace, text: &str, cwd: &str, expected: Result<&str, ErrorCode>) {
    let found = namespace.parse(text, cwd);
    match (found, expected) {
        (Ok(parsed), Ok(path)) => assert_eq!(parsed.path.as_str(), path, "{text:?}"),
        (Err(error), Err(code)) => {
            let error = error.into_error(text);
            assert_eq!(error.code(), code, "{text:?}: {error}");
        }
        (found, expected) => panic!("{text:?}: {found:?}, not {expected:?}"),
    }
}

#[test]
fn p1_blank_and_unaddressable_paths_are_refused() {
    let long = "n".repeat(256);
    let deep = "abcdefghi/".repeat(103);
    let texts = [
        "", " ", "\t", "a\0b", "a\u{7}b", "a\\b", "a\u{85}", &long, &deep,
    ];
    for namespace in [&host(), &Namespace::virtual_root()] {
        for text in texts {
            check(namespace, text, "", Err(ErrorCode::InvalidPath));
        }
    }
}

#[test]
fn p2_paths_outside_are_denied_and_name_only_the_root() {
    for text in [
        "..",
        "../data-evil/x",
        "a/../../b",
        "/t/data-evil/x",
        "/",
        "/t",
        "/../t/data",
        "/etc/passwd",
        "file:///t/data-evil/x",
        "file:///etc",
        "file://host/t/data/x",
        "s3://bucket/x",
        "file:///t/data/../x",
    ] {
        check(&host(), text, "", Err(ErrorCode::SandboxDenied));
        let error = host().parse(text, "").unwrap_err().into_error(text);
        assert!(!error.to_string().contains("evil"), "{error}");
    }
    check(
        &Namespace::virtual_root(),
        "/..",
        "",
        Err(ErrorCode::SandboxDenied),
    );
}

#[test]
fn p2_relative_absolute_and_url_spellings_meet() {
    for text in [
        "a/b c",
        "./a//b c",
        "a/x/../b c",
        "/t/data/a/b c",
        "/mnt/real/a/b c",
        "/t/other/../data/a/b c",
        "file:///t/data/a/b%20c",
        "file:/t/data/a/b%20c",
        "file://localhost/t/data/a/b%20c",
    ] {
        check(&host(), text, "", Ok("a/b c"));
    }
    check(&host(), "b c", "a", Ok("a/b c"));
    check(&host(), "../b", "/t/data/a", Ok("b"));
    check(&host(), ".", "a", Ok("a"));
    check(&host(), "b%20c", "", Ok("b%20c"));
    check(&host(), "/t/data", "a", Ok(""));
    check(&Namespace::virtual_root(), "/a", "x", Ok("a"));
}

#[test]
fn p2_urls_that_do_not_decode_are_invalid() {
    for text in [
        "file:///t/data/a%2Fb",
        "file:///t/data/%FF",
        "file:///t/data/a?b",
        "file:///t/data/a#b",
    ] {
        check(&host(), text, "", Err(ErrorCode::InvalidPath));
    }
}

#[test]
fn names_with_dots_are_names() {
    for name in [
        "[...slug].ts",
        "a..b.txt",
        "..hidden",
        "...",
        "~root",
        "memory:x",
        "c:",
    ] {
        check(&host(), name, "", Ok(name));
    }
}

#[test]
fn p2b_a_trailing_slash_names_a_folder() {
    let folder = |text| host().parse(text, "").unwrap().folder;
    assert!(folder("a/") && folder("a//") && folder("/t/data/a/"));
    assert!(!folder("a") && !folder("/t/data/") && !folder("./") && !folder("a/."));
}

#[test]
fn p2c_unaddressable_names_are_escaped_and_marked() {
    let check = |bytes: &[u8], text: &str, addressable| {
        let name = EntryName::from_storage(bytes);
        assert_eq!((name.as_str(), name.is_addressable()), (text, addressable));
    };
    check(b"a.txt", "a.txt", true);
    check("é日".as_bytes(), "é日", true);
    check(b"a\nb", "a\\x0Ab", false);
    check(b"a\\b", "a\\x5Cb", false);
    check(b"\xff\xfe", "\\xFF\\xFE", false);
    check("\u{85}".as_bytes(), "\\xC2\\x85", false);
}

#[test]
fn paths_and_names_are_bounded_to_the_byte() {
    let name = "n".repeat(MAX_COMPONENT_BYTES);
    let long = [name.as_str(); 4].join("/");
    let within = |text: &str, prefix| {
        let namespace = Namespace::virtual_root().with_prefix_bytes(prefix);
        namespace.parse(text, "").map(drop)
    };
    assert_eq!(long.len(), MAX_PATH_BYTES - 1);
    assert_eq!(within(&long, 1), Ok(()));
    assert_eq!(within(&long, 2), Err(PathError::TooLong(1025)));
    assert_eq!(within("a", MAX_PATH_BYTES - 1), Ok(()));
    let longer = format!("{name}n");
    assert_eq!(within(&longer, 0), Err(PathError::ComponentTooLong(256)));
    let parent = RootPath::from_components([name.as_str(); 3]).unwrap();
    assert!(parent.join(&name).is_ok());
    assert_eq!(parent.join(&longer), Err(PathError::ComponentTooLong(256)));
    assert_eq!(
        parent.join(&name).unwrap().join("n"),
        Err(PathError::TooLong(1025))
    );
}

#[test]
fn names_that_mean_another_place_are_none() {
    for name in ["", ".", "..", "a/b", "a\\b", "a\0b"] {
        let joined = RootPath::root().join(name);
        assert!(matches!(joined, Err(PathError::Forbidden(_))), "{name:?}");
        assert!(!EntryName::from_storage(name.as_bytes()).is_addressable());
    }
    let path = RootPath::from_components(["a", "b c"]).unwrap();
    assert_eq!((path.name(), path.as_str()), (Some("b c"), "a/b c"));
    assert_eq!(path.join("...").unwrap().as_str(), "a/b c/...");
    assert_eq!(RootPath::root().name(), None);
    assert_eq!(RootPath::root().parent(), None);
}

#[test]
fn the_display_root_is_shown_as_one_absolute_path() {
    let (deep, plain) = (host(), Namespace::virtual_root());
    let path = RootPath::from_components(["a", "b"]).unwrap();
    assert_eq!(
        (deep.display_root(), plain.display_root()),
        ("/t/data".into(), "/".into())
    );
    assert_eq!(deep.display(&path), "/t/data/a/b");
    assert_eq!(deep.display(&RootPath::root()), "/t/data");
    assert_eq!(plain.display(&path), "/a/b");
    assert_eq!(plain.display(&RootPath::root()), "/");
}

#[test]
fn an_error_names_the_path_as_it_was_given_escaped_and_bounded() {
    let named = |text: &str| {
        let error = host().parse(text, "").unwrap_err().into_error(text);
        error.path().map(str::to_owned)
    };
    assert_eq!(named(" "), None);
    assert_eq!(named("a\u{7}b").as_deref(), Some("a\\u{7}b"));
    assert_eq!(named("../../secret/x").as_deref(), Some("x"));
    let long = "n".repeat(300);
    assert_eq!(named(&long).unwrap(), format!("{}…", "n".repeat(200)));
    let most = format!("{}\\", "n".repeat(199));
    assert_eq!(named(&most).unwrap(), format!("{}\\\\", "n".repeat(199)));
}

#[test]
fn prefixes_go_by_component() {
    let path =
        |text: &str| RootPath::from_components(text.split('/').filter(|c| !c.is_empty())).unwrap();
    assert!(path("a/b").starts_with(&path("a")));
    assert!(path("a").starts_with(&RootPath::root()));
    assert!(!path("ab").starts_with(&path("a")));
    assert_eq!(path("a/b").parent().unwrap(), path("a"));
    assert_eq!(path("a").parent().unwrap(), RootPath::root());
    assert_eq!(path("a/b/c").ancestors().count(), 3);
}

proptest! {
    #[test]
    fn no_text_escapes_and_what_is_shown_is_accepted(text in "[a./~ %:]{0,24}", cwd in "[a./]{0,8}") {
        for namespace in [host(), Namespace::virtual_root()] {
            if let Ok(parsed) = namespace.parse(&text, &cwd) {
                prop_assert!(parsed.path.components().all(|c| c != ".." && c != "." && !c.is_empty()));
                let shown = namespace.display(&parsed.path);
                prop_assert_eq!(namespace.parse(&shown, "").unwrap().path, parsed.path.clone());
                prop_assert_eq!(RootPath::from_key(&parsed.path.to_key()), parsed.path);
            }
        }
    }

    #[test]
    fn parsing_never_panics(text: String, cwd: String) {
        let _ = host().parse(&text, &cwd).map_err(|error| error.into_error(&text).to_string());
    }

    #[test]
    fn escaped_names_are_never_control_text(bytes: Vec<u8>) {
        prop_assert!(EntryName::from_storage(&bytes).as_str().chars().all(|c| !c.is_control()));
    }
}

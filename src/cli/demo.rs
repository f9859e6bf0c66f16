//! `seamfs demo`: a guided session on an embedded workspace.
//!
//! Each step says what it shows and checks that it came out so; the demo fails where it did not.

use bytes::Bytes;
use seamfs::{ErrorCode, Expected, FileSystemExt, Result, Session, ToolResult, Workspace};
use serde_json::{Value, json};

use super::{Outcome, show};

const FILE: &str = "/src/greeting.txt";

const FIRST: &str = "Dear reader,\r\nthis file has CRLF line endings,\r\nand no final newline.";

const THEIRS: &str =
    "Dear reader,\r\nthis file still has CRLF line endings,\r\nand no final newline.";

pub(crate) async fn run() -> Outcome {
    match guided().await {
        Ok(()) => Outcome::Success,
        Err(reason) => {
            show::error(&reason);
            Outcome::ToolError
        }
    }
}

async fn guided() -> std::result::Result<(), String> {
    let workspace = Workspace::open("memory:")
        .await
        .map_err(|error| error.to_string())?;
    let agent = workspace.session("agent");
    outside(&workspace, FIRST)
        .await
        .map_err(|error| error.to_string())?;

    title("1. An agent cannot change what it has not seen.");
    let args = json!({"file_path": FILE, "old_string": "Dear reader", "new_string": "Hello"});
    expect(&agent, "edit", &args, Some(ErrorCode::NotObserved)).await?;

    title("2. It reads. Line endings are not shown, and stay in the file.");
    expect(&agent, "read", &json!({ "file_path": FILE }), None).await?;

    title("3. It edits. Every byte outside the match survives, CRLF and the missing newline too.");
    let edited = expect(&agent, "edit", &args, None).await?;
    show::diff(&edited);
    let stored = stored(&workspace).await?;
    show::line(&format!("stored: {:?}", String::from_utf8_lossy(&stored)));
    if stored != FIRST.replacen("Dear reader", "Hello", 1).as_bytes() {
        return Err("the edit touched more than its match".to_owned());
    }

    title("4. Meanwhile somebody else changes the file, with an editor.");
    outside(&workspace, THEIRS)
        .await
        .map_err(|error| error.to_string())?;
    show::line("(an outside change of lines 1 and 2)");

    title(
        "5. The agent's next edit is refused before it looks for any match, and told what changed.",
    );
    let args = json!({
        "file_path": FILE,
        "old_string": "and no final newline.",
        "new_string": "and now a final newline.\n",
    });
    let refused = expect(&agent, "edit", &args, Some(ErrorCode::StaleVersion)).await?;
    if !refused.text.contains("+this file still has") {
        return Err("the refusal does not show what changed".to_owned());
    }

    title("6. The change was shown whole, so the agent goes on without reading again.");
    let edited = expect(&agent, "edit", &args, None).await?;
    show::diff(&edited);
    show::line(
        "\nNothing was lost: both changes are in the file, each exactly where it was meant.",
    );
    Ok(())
}

fn title(text: &str) {
    show::line(&format!("\n{text}\n"));
}

/// Calls a tool, shows the call and its answer, and checks how it came out.
async fn expect(
    session: &Session,
    tool: &str,
    args: &Value,
    code: Option<ErrorCode>,
) -> std::result::Result<ToolResult, String> {
    show::line(&format!("> {tool} {args}"));
    let result = session.call(tool, args.clone()).await;
    show::line(&result.text);
    match result.code() == code {
        true => Ok(result),
        false => Err(format!(
            "`{tool}` came out as {:?}, not {code:?}",
            result.code()
        )),
    }
}

async fn outside(workspace: &Workspace, text: &'static str) -> Result<()> {
    let target = workspace.fs().target(FILE).await?;
    let bytes = Bytes::from_static(text.as_bytes());
    workspace
        .fs()
        .write_all(&target, bytes, Expected::Any)
        .await?;
    Ok(())
}

async fn stored(workspace: &Workspace) -> std::result::Result<Bytes, String> {
    let read = async {
        let target = workspace.fs().target(FILE).await?;
        workspace.fs().read_all(&target).await
    };
    read.await
        .map(|snapshot| snapshot.bytes)
        .map_err(|error| error.to_string())
}

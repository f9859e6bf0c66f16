//! The prompt: a person at the terminal decides whether one call may go further.

use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::Arc;

use async_trait::async_trait;
use seamfs::core::escalation::{Approver, Escalation, Verdict};
use seamfs::core::text::quote;

/// The most characters of a justification that are shown.
const MOST_SHOWN: usize = 500;

/// Asks on stderr and reads the answer from stdin.
#[derive(Debug)]
pub(crate) struct Prompt;

/// Returns who decides, when there is a person at both ends.
pub(crate) fn approver() -> Option<Arc<dyn Approver>> {
    let person = io::stdin().is_terminal() && io::stderr().is_terminal();
    person.then(|| Arc::new(Prompt) as _)
}

#[async_trait]
impl Approver for Prompt {
    async fn decide(&self, escalation: &Escalation<'_>) -> Verdict {
        let question = question(escalation);
        let asked = tokio::task::spawn_blocking(move || ask(&question));
        match asked.await {
            Ok(Ok(verdict)) => verdict,
            _ => Verdict::Cancelled,
        }
    }
}

/// Words the question; what the model wrote is quoted, so that it cannot pose as the prompt.
fn question(escalation: &Escalation<'_>) -> String {
    format!(
        "The session {session} asks to go from {confined} to {wanted}, for this one call:\n  \
         tool       {tool} ({operation})\n  \
         target     {target}\n  \
         arguments  BLAKE3 {arguments}\n\
         {shown}\n  \
         because    {why}\n\
         Allow it? y, or n, or a reason why not: ",
        session = escalation.actor,
        confined = escalation.confined,
        wanted = escalation.wanted,
        tool = escalation.tool,
        operation = escalation.operation,
        target = escalation.target,
        arguments = escalation.arguments.to_hex(),
        shown = indented(escalation.shown),
        why = quote(escalation.justification, MOST_SHOWN),
    )
}

fn indented(lines: &str) -> String {
    let lines: Vec<_> = lines.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

fn ask(question: &str) -> io::Result<Verdict> {
    let mut errors = io::stderr().lock();
    errors.write_all(question.as_bytes())?;
    errors.flush()?;
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer)?;
    Ok(verdict((read > 0).then_some(&answer)))
}

/// Understands an answer; only a plain yes is one.
fn verdict(answer: Option<&str>) -> Verdict {
    match answer.map(str::trim) {
        None => Verdict::Cancelled,
        Some("y" | "Y" | "yes" | "Yes" | "YES") => Verdict::Approved,
        Some("" | "n" | "N" | "no" | "No" | "NO") => Verdict::Rejected(None),
        Some(reason) => Verdict::Rejected(Some(reason.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_approves() {
        for yes in ["y\n", "yes\r\n", " Y "] {
            assert_eq!(verdict(Some(yes)), Verdict::Approved);
        }
        for no in ["\n", "n\n", "no"] {
            assert_eq!(verdict(Some(no)), Verdict::Rejected(None));
        }
        let reason = Verdict::Rejected(Some("yes, but later".to_owned()));
        assert_eq!(verdict(Some("yes, but later\n")), reason);
        assert_eq!(verdict(None), Verdict::Cancelled);
    }
}

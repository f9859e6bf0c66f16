//! Samples: small histories that the check must accept, and bad ones that it must refuse.

use super::history::{Answer, Asked, Call, Guard, History, Text};
use crate::error::ErrorCode;

/// A history with what it shows.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What it shows.
    pub name: &'static str,
    /// The history.
    pub history: History,
}

fn text(text: &str) -> Text {
    Text::from(text)
}

fn holds(of: &str) -> Guard {
    Guard::Holds(text(of))
}

fn write(of: &str, guard: Guard) -> Asked {
    Asked::Write(text(of), guard)
}

fn append(of: &str, guard: Guard) -> Asked {
    Asked::Append(text(of), guard)
}

fn rename() -> Asked {
    Asked::Rename {
        to: 1,
        source: Guard::Any,
        destination: Guard::Absent,
    }
}

fn found(of: &str) -> Answer {
    Answer::Found(Some(text(of)))
}

const NOTHING: Answer = Answer::Found(None);
const REPLACED: Answer = Answer::Done {
    created: false,
    before: None,
};
const CREATED: Answer = Answer::Done {
    created: true,
    before: None,
};

fn on(before: &str) -> Answer {
    Answer::Done {
        created: false,
        before: Some(text(before)),
    }
}

fn refused(code: ErrorCode) -> Answer {
    Answer::Refused {
        code,
        current: None,
    }
}

/// Makes a sample on two files, the first of which holds `before`, if anything.
fn sample<const N: usize>(
    name: &'static str,
    before: Option<&str>,
    calls: [((u64, u64), Asked, Answer); N],
) -> Sample {
    let call = |(client, ((begun, ended), asked, answer))| Call {
        client,
        file: 0,
        asked,
        ended: match answer {
            Answer::Unknown => u64::MAX,
            _ => ended,
        },
        answer,
        begun,
    };
    Sample {
        name,
        history: History {
            files: vec![before.map(text), None],
            calls: calls.into_iter().enumerate().map(call).collect(),
        },
    }
}

/// Says that the last call of a sample is on the second file.
fn beside(mut sample: Sample) -> Sample {
    if let Some(call) = sample.history.calls.last_mut() {
        call.file = 1;
    }
    sample
}

/// Returns the histories that break the contract, each in one way.
pub fn bad() -> Vec<Sample> {
    use Asked::{Read, Remove};
    use Guard::{Absent, Any};
    vec![
        sample(
            "a lost update: two edits of the same text both land",
            Some("x"),
            [
                ((1, 4), append("a", Any), on("x")),
                ((2, 3), append("b", Any), on("x")),
            ],
        ),
        sample(
            "a lost update: two writes under one version both land",
            Some("x"),
            [
                ((1, 4), write("a", holds("x")), REPLACED),
                ((2, 3), write("b", holds("x")), REPLACED),
            ],
        ),
        sample(
            "a lost update: an edit that was acknowledged is not there at the end",
            Some("x"),
            [
                ((1, 4), append("a", Any), REPLACED),
                ((2, 3), append("b", Any), REPLACED),
                ((5, 6), Read, found("xb")),
            ],
        ),
        sample(
            "a stale read after an acknowledgement",
            Some("x"),
            [
                ((1, 2), write("y", Any), REPLACED),
                ((3, 4), Read, found("x")),
            ],
        ),
        sample(
            "reads that go back",
            Some("x"),
            [
                ((1, 9), write("y", Any), REPLACED),
                ((2, 3), Read, found("y")),
                ((4, 5), Read, found("x")),
            ],
        ),
        sample(
            "a torn read",
            Some("xx"),
            [
                ((1, 4), write("yy", Any), REPLACED),
                ((2, 3), Read, found("yx")),
            ],
        ),
        sample(
            "a resurrected file: what was removed is there again",
            Some("x"),
            [((1, 2), Remove(Any), REPLACED), ((3, 4), Read, found("x"))],
        ),
        sample(
            "a resurrected file: an edit lands on what was removed",
            Some("x"),
            [
                ((1, 2), Remove(Any), REPLACED),
                ((3, 4), append("a", Any), on("x")),
            ],
        ),
        sample(
            "a removal that finds what another one took",
            Some("x"),
            [
                ((1, 4), Remove(Any), REPLACED),
                ((2, 3), Remove(Any), REPLACED),
            ],
        ),
        sample(
            "an unknown outcome that happens twice",
            Some("x"),
            [
                ((1, 2), append("a", Any), Answer::Unknown),
                ((3, 4), Read, found("xaa")),
            ],
        ),
        sample(
            "an unknown outcome that is undone",
            Some("x"),
            [
                ((1, 2), append("a", Any), Answer::Unknown),
                ((3, 4), Read, found("xa")),
                ((5, 6), Read, found("x")),
            ],
        ),
        sample(
            "an unknown outcome that passed over its guard",
            Some("x"),
            [
                ((1, 2), write("y", holds("z")), Answer::Unknown),
                ((3, 4), Read, found("y")),
            ],
        ),
        sample(
            "a failure that changed something",
            Some("x"),
            [
                ((1, 2), append("a", Any), Answer::Failed(ErrorCode::IoError)),
                ((3, 4), Read, found("xa")),
            ],
        ),
        sample(
            "a refusal that changed something",
            Some("x"),
            [
                (
                    (1, 2),
                    write("y", holds("z")),
                    refused(ErrorCode::StaleVersion),
                ),
                ((3, 4), Read, found("y")),
            ],
        ),
        sample(
            "a false alarm: the bytes were there all the time",
            Some("x"),
            [(
                (1, 2),
                write("y", holds("x")),
                refused(ErrorCode::StaleVersion),
            )],
        ),
        sample(
            "two creators of one file",
            None,
            [
                ((1, 4), write("a", Absent), CREATED),
                ((2, 3), write("b", Absent), CREATED),
            ],
        ),
        sample(
            "a creation refused for nothing",
            None,
            [(
                (1, 2),
                write("a", Absent),
                refused(ErrorCode::AlreadyExists),
            )],
        ),
        sample(
            "a replacement that says it created",
            Some("x"),
            [((1, 2), write("a", Any), CREATED)],
        ),
        sample(
            "a refusal with bytes attached that were never there",
            Some("x"),
            [(
                (1, 2),
                write("y", holds("z")),
                Answer::Refused {
                    code: ErrorCode::StaleVersion,
                    current: Some(text("w")),
                },
            )],
        ),
        beside(sample(
            "a file under neither name of its rename",
            Some("x"),
            [((1, 2), rename(), CREATED), ((3, 4), Read, NOTHING)],
        )),
        sample(
            "a file under both names of its rename",
            Some("x"),
            [((1, 2), rename(), CREATED), ((3, 4), Read, found("x"))],
        ),
    ]
}

/// Returns histories that look odd and break nothing.
pub fn good() -> Vec<Sample> {
    use Asked::{Read, Remove};
    use Guard::{Absent, Any};
    vec![
        sample(
            "reads beside a write see the old bytes and the new ones",
            Some("x"),
            [
                ((1, 9), write("y", Any), REPLACED),
                ((2, 8), Read, found("y")),
                ((3, 7), Read, found("x")),
            ],
        ),
        sample(
            "of two writes under one version one is stale",
            Some("x"),
            [
                (
                    (1, 4),
                    write("a", holds("x")),
                    refused(ErrorCode::StaleVersion),
                ),
                ((2, 3), write("b", holds("x")), REPLACED),
            ],
        ),
        sample(
            "an unknown outcome that never came",
            Some("x"),
            [
                ((1, 2), append("a", Any), Answer::Unknown),
                ((3, 4), Read, found("x")),
            ],
        ),
        sample(
            "an unknown outcome that came late",
            Some("x"),
            [
                ((1, 2), append("a", Any), Answer::Unknown),
                ((3, 4), Read, found("x")),
                ((5, 6), append("b", Any), REPLACED),
                ((7, 8), Read, found("xba")),
            ],
        ),
        sample(
            "bytes that came back satisfy an old version",
            Some("x"),
            [
                ((1, 2), write("y", Any), REPLACED),
                ((3, 4), write("x", Any), REPLACED),
                ((5, 6), write("z", holds("x")), REPLACED),
            ],
        ),
        sample(
            "a file that is removed and made anew",
            Some("x"),
            [
                ((1, 2), Remove(holds("x")), REPLACED),
                ((3, 8), write("y", Absent), CREATED),
                ((4, 7), Read, NOTHING),
                ((5, 6), append("a", Any), on("y")),
            ],
        ),
        sample(
            "two deletions at once, on storage that does not say who was first",
            Some("x"),
            [
                ((1, 4), Asked::Delete, REPLACED),
                ((2, 3), Asked::Delete, REPLACED),
                ((5, 6), Read, NOTHING),
            ],
        ),
        sample(
            "a rename between two reads",
            Some("x"),
            [
                ((1, 6), rename(), CREATED),
                ((2, 3), Read, found("x")),
                ((4, 5), Read, NOTHING),
            ],
        ),
    ]
}

/// Makes a history of few calls with random answers, good or bad as it happens.
#[cfg(test)]
pub(super) fn random(random: &mut crate::conformance::random::Random) -> History {
    let texts = ["x", "y", "xy"];
    let calls = (0..2 + random.below(4))
        .map(|client| {
            let of = text(texts[random.below(3)]);
            let guard = match random.below(4) {
                0 => Guard::Absent,
                1 => Guard::Holds(text(texts[random.below(3)])),
                _ => Guard::Any,
            };
            let asked = match random.below(5) {
                0 => Asked::Write(of, guard),
                1 => Asked::Append(text("y"), guard),
                2 => Asked::Remove(guard),
                3 if random.percent(50) => rename(),
                _ => Asked::Read,
            };
            let answer = match (&asked, random.below(5)) {
                (Asked::Read, 0) => NOTHING,
                (Asked::Read, n) => found(texts[n % 3]),
                (_, 0) => Answer::Unknown,
                (_, 1) => refused(match asked {
                    Asked::Write(_, Guard::Absent) => ErrorCode::AlreadyExists,
                    Asked::Append(_, Guard::Any) => ErrorCode::NotFound,
                    _ => ErrorCode::StaleVersion,
                }),
                (Asked::Rename { .. } | Asked::Write(_, Guard::Absent), _) => CREATED,
                _ => REPLACED,
            };
            let begun = random.next() % 20;
            Call {
                client,
                file: 0,
                ended: match answer {
                    Answer::Unknown => u64::MAX,
                    _ => begun + 1 + random.next() % 12,
                },
                asked,
                answer,
                begun,
            }
        })
        .collect();
    History {
        files: vec![Some(text("x")), None],
        calls,
    }
}

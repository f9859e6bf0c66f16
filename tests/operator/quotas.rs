//! Quotas: never over, and never stuck below, whatever fails or is withdrawn.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use proptest::test_runner::{RngAlgorithm, TestRng};
use seamfs::ErrorCode::QuotaExceeded;
use seamfs::core::replace::Insert;
use seamfs::core::{
    CallContext, EditOptions, EditOutcome, TransferOptions, Transform, WriteOptions, WriteOutcome,
};
use seamfs::policy::{Metered, Quotas};
use seamfs::providers::Memory;
use seamfs::{
    Actor, ErrorCode, FileSystem, FileSystemExt, FsError, Result, Target, WorkspaceBuilder,
};

use super::decided;
use crate::support::{Checked, Double, Hooks, Stage, Verdict, ensure, ensure_eq};

decided! { bounded:
    a_file_may_not_grow_past_its_quota_and_may_shrink_towards_it,
    a_session_writes_no_more_bytes_than_it_may,
    sessions_share_the_workspaces_quota,
    a_session_makes_no_more_mutations_than_it_may,
    a_copy_counts_as_what_it_writes,
}

type Decide = fn(WorkspaceBuilder, Quotas) -> WorkspaceBuilder;

fn bounded(builder: WorkspaceBuilder, quotas: Quotas) -> WorkspaceBuilder {
    builder.quotas(quotas)
}

async fn a_file_may_not_grow_past_its_quota_and_may_shrink_towards_it(
    stage: Stage,
    decide: Decide,
) -> Verdict {
    let quotas = Quotas {
        file_bytes: Some(10),
        ..Quotas::default()
    };
    let scene = stage.scene_with(|builder| decide(builder, quotas)).await;
    let hand = scene.s1();
    let refused = hand
        .write("a.txt", "12345678901")
        .await
        .fails(QuotaExceeded)?;
    let details = &refused.structured["error"]["details"];
    ensure_eq!(
        (details["used"].as_u64(), details["limit"].as_u64()),
        (Some(11), Some(10))
    );
    scene.lacks("a.txt").await?;
    hand.write("a.txt", "1234567890").await.ok()?;
    hand.edit("a.txt", "5", "five").await.fails(QuotaExceeded)?;
    hand.insert("a.txt", 0, "x").await.fails(QuotaExceeded)?;
    scene.holds("a.txt", "1234567890").await?;
    scene.put("large.txt", "aaaaaaaaaaaaaaaaaaaa\n").await;
    hand.read("large.txt").await.ok()?;
    hand.edit("large.txt", "aaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaa")
        .await
        .ok()?;
    hand.write("large.txt", "thirteen here").await.ok()?;
    hand.write("large.txt", "fourteen bytes")
        .await
        .fails(QuotaExceeded)?;
    scene.holds("large.txt", "thirteen here").await?;
    Ok(())
}

async fn a_session_writes_no_more_bytes_than_it_may(stage: Stage, decide: Decide) -> Verdict {
    let quotas = Quotas {
        session_bytes: Some(10),
        ..Quotas::default()
    };
    let scene = stage.scene_with(|builder| decide(builder, quotas)).await;
    let hand = scene.s1();
    hand.write("a.txt", "123456").await.ok()?;
    let refused = hand.write("b.txt", "12345").await.fails(QuotaExceeded)?;
    refused.says("has written 6 of the 10 bytes")?;
    // What fails is given back, and what is refused was never counted.
    hand.edit("a.txt", "nothing", "1234")
        .await
        .fails(ErrorCode::EditNotFound)?;
    scene.put("a.txt", "654321").await;
    hand.edit("a.txt", "123456", "1234")
        .await
        .fails(ErrorCode::StaleVersion)?;
    hand.edit("a.txt", "654321", "1234").await.ok()?;
    hand.edit("a.txt", "1234", "12345")
        .await
        .fails(QuotaExceeded)?;
    scene.s2().write("b.txt", "12345").await.ok()?;
    scene.holds("a.txt", "1234").await
}

async fn sessions_share_the_workspaces_quota(stage: Stage, decide: Decide) -> Verdict {
    let quotas = Quotas {
        workspace_bytes: Some(10),
        ..Quotas::default()
    };
    let scene = stage.scene_with(|builder| decide(builder, quotas)).await;
    scene.s1().write("a.txt", "123456").await.ok()?;
    scene
        .s2()
        .write("b.txt", "12345")
        .await
        .fails(QuotaExceeded)?
        .says("the workspace")?;
    // A session that ends takes nothing of it away.
    scene.s1().session.end();
    scene
        .s1()
        .write("c.txt", "12345")
        .await
        .fails(QuotaExceeded)?;
    scene.s2().write("b.txt", "1234").await.ok()?;
    Ok(())
}

async fn a_session_makes_no_more_mutations_than_it_may(stage: Stage, decide: Decide) -> Verdict {
    let quotas = Quotas {
        session_mutations: Some(2),
        ..Quotas::default()
    };
    let scene = stage.scene_with(|builder| decide(builder, quotas)).await;
    let hand = scene.s1();
    hand.write("a.txt", "one\n").await.ok()?;
    // What changes nothing is no mutation.
    hand.edit("a.txt", "two", "2")
        .await
        .fails(ErrorCode::EditNotFound)?;
    hand.read("a.txt").await.ok()?;
    hand.edit("a.txt", "one", "1").await.ok()?;
    hand.write("b.txt", "x")
        .await
        .fails(QuotaExceeded)?
        .says("made 2 of the 2 mutations")?;
    scene.lacks("b.txt").await?;
    scene.s2().write("b.txt", "x").await.ok()?;
    Ok(())
}

async fn a_copy_counts_as_what_it_writes(stage: Stage, decide: Decide) -> Verdict {
    let quotas = Quotas {
        file_bytes: Some(8),
        workspace_bytes: Some(10),
        ..Quotas::default()
    };
    let scene = stage.scene_with(|builder| decide(builder, quotas)).await;
    scene.put("a.txt", "123456").await;
    scene.put("large.txt", "123456789").await;
    let fs = scene.workspace.fs();
    let target = async |path: &str| fs.target(path).await.map_err(|e| e.to_string());
    let (a, large) = (target("a.txt").await?, target("large.txt").await?);
    for (from, to, expected) in [
        (&large, "b.txt", Some(QuotaExceeded)),
        (&a, "b.txt", None),
        (&a, "c.txt", Some(QuotaExceeded)),
    ] {
        let copied = fs
            .copy(from, &target(to).await?, TransferOptions::default())
            .await;
        ensure_eq!(copied.err().map(|error| error.code()), expected, "{to}");
    }
    scene.holds("b.txt", "123456").await?;
    scene.lacks("c.txt").await
}

/// Storage that fails as it is told, and writes down what landed.
#[derive(Clone, Debug, Default)]
struct Shaky {
    landed: Arc<Mutex<u64>>,
}

/// What becomes of one mutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Lands,
    /// Fails before anything is published.
    Fails,
    /// Lands, and the answer is lost.
    LandsUnheard,
    /// Its caller goes away after a few steps.
    Abandoned(usize),
}

impl Shaky {
    fn landed(&self) -> u64 {
        *self.landed.lock().unwrap()
    }
}

fn fate_of(context: &CallContext) -> Fate {
    match context.call_id.as_deref() {
        Some("fails") => Fate::Fails,
        Some("unheard") => Fate::LandsUnheard,
        _ => Fate::Lands,
    }
}

impl Shaky {
    /// Publishes in two steps, so that others act in between and callers go away.
    async fn publish<T>(
        &self,
        context: &CallContext,
        bytes: u64,
        mutation: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        tokio::task::yield_now().await;
        let fate = fate_of(context);
        if fate == Fate::Fails {
            return Err(FsError::new(ErrorCode::IoError, "the disk failed"));
        }
        let outcome = mutation.await?;
        *self.landed.lock().unwrap() += bytes;
        tokio::task::yield_now().await;
        match fate {
            Fate::LandsUnheard => Err(FsError::new(
                ErrorCode::OutcomeUnknown,
                "the answer was lost",
            )),
            _ => Ok(outcome),
        }
    }
}

#[async_trait]
impl Hooks for Shaky {
    async fn write(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        let (context, size) = (options.context.clone(), bytes.len() as u64);
        self.publish(&context, size, fs.write(target, bytes, options))
            .await
    }

    async fn edit(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        let context = options.context.clone();
        // Insertions of the script put in three bytes.
        self.publish(&context, 3, fs.edit(target, transform, options))
            .await
    }
}

/// A file system that keeps a quota, and its count.
struct Counted {
    fs: Arc<dyn FileSystem>,
    used: Box<dyn Fn() -> u64>,
}

type Keep = fn(Arc<dyn FileSystem>, u64) -> Counted;

fn metered(fs: Arc<dyn FileSystem>, limit: u64) -> Counted {
    let metered = Metered::new(
        fs,
        Quotas {
            workspace_bytes: Some(limit),
            ..Quotas::default()
        },
    );
    let counting = metered.clone();
    Counted {
        fs: Arc::new(metered),
        used: Box::new(move || counting.workspace_usage().bytes),
    }
}

/// A quota kept in a plainer way, which does not hold.
#[derive(Clone, Debug)]
struct Naive {
    used: Arc<Mutex<u64>>,
    limit: u64,
    way: Way,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Counts in advance and never gives back.
    NoRefund,
    /// Looks first and counts when it is done.
    CheckThenAct,
    /// Counts in advance, and gives back whatever did not succeed, also what landed.
    RefundsAll,
}

impl Naive {
    fn over(fs: Arc<dyn FileSystem>, limit: u64, way: Way) -> Counted {
        let used = Arc::new(Mutex::new(0));
        let naive = Self {
            used: Arc::clone(&used),
            limit,
            way,
        };
        Counted {
            fs: Double::over(fs, naive),
            used: Box::new(move || *used.lock().unwrap()),
        }
    }

    async fn keep<T>(&self, bytes: u64, mutation: impl Future<Output = Result<T>>) -> Result<T> {
        {
            let mut used = self.used.lock().unwrap();
            if *used + bytes > self.limit {
                return Err(FsError::new(QuotaExceeded, "no more"));
            }
            if self.way != Way::CheckThenAct {
                *used += bytes;
            }
        }
        let outcome = mutation.await;
        let mut used = self.used.lock().unwrap();
        match self.way {
            Way::NoRefund => {}
            Way::CheckThenAct if outcome.is_ok() => *used += bytes,
            Way::RefundsAll if outcome.is_err() => *used -= bytes,
            Way::CheckThenAct | Way::RefundsAll => {}
        }
        outcome
    }
}

#[async_trait]
impl Hooks for Naive {
    async fn write(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteOutcome> {
        self.keep(bytes.len() as u64, fs.write(target, bytes, options))
            .await
    }

    async fn edit(
        &self,
        fs: &dyn FileSystem,
        target: &Target,
        transform: Arc<dyn Transform>,
        options: EditOptions,
    ) -> Result<EditOutcome> {
        self.keep(3, fs.edit(target, transform, options)).await
    }
}

/// Random numbers that are the same for the same seed.
struct Dice(TestRng);

impl Dice {
    fn of(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self(TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
    }

    fn below(&mut self, bound: u64) -> u64 {
        use proptest::prelude::Rng as _;
        self.0.next_u64() % bound
    }
}

const LIMIT: u64 = 40;

/// How long what was abandoned may take to end, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs one sequence: three sessions at once, at the edge of one quota.
async fn sequence(seed: u64, keep: Keep) -> Verdict {
    let mut dice = Dice::of(seed);
    let shaky = Shaky::default();
    let storage = Double::over(Arc::new(Memory::new()), shaky.clone());
    let counted = keep(Arc::clone(&storage), LIMIT);
    let idle = Arc::strong_count(&storage);
    let target = async |path: &str| counted.fs.target(path).await.map_err(|e| e.to_string());
    let mut calls = Vec::new();
    for session in 0..3 {
        let mut script = Vec::new();
        for _ in 0..5 {
            let size = dice.below(14) + 1;
            let fate = match dice.below(6) {
                0 => Fate::Fails,
                1 => Fate::LandsUnheard,
                2 => Fate::Abandoned(usize::try_from(dice.below(4)).unwrap()),
                _ => Fate::Lands,
            };
            let file = dice.below(3);
            script.push((
                size,
                fate,
                dice.below(3) == 0,
                target(&format!("f{file}")).await?,
            ));
        }
        let fs = Arc::clone(&counted.fs);
        calls.push(tokio::spawn(async move {
            for (size, fate, edits, target) in script {
                act(&*fs, session, size, fate, edits, &target).await;
            }
        }));
    }
    for call in calls {
        call.await.map_err(|error| error.to_string())?;
    }
    // What was abandoned may still be under way: it ends without anybody's help. Who holds the
    // storage may yet begin to count; after that only what is counted is settled.
    let patience = Instant::now() + PATIENCE;
    while Instant::now() < patience {
        if Arc::strong_count(&storage) == idle && (counted.used)() == shaky.landed() {
            break;
        }
        tokio::task::yield_now().await;
    }
    ensure_eq!(
        Arc::strong_count(&storage),
        idle,
        "seed {seed}: nothing is under way"
    );
    let landed = shaky.landed();
    ensure!(landed <= LIMIT, "seed {seed}: {landed} bytes landed");
    ensure_eq!(
        (counted.used)(),
        landed,
        "seed {seed}: what is counted is what landed"
    );
    // And what is left can be used to the last byte, but no further.
    let left = LIMIT - landed;
    for (size, fits) in [(left + 1, false), (left, true), (1, false)] {
        let bytes = Bytes::from(vec![b'x'; usize::try_from(size).unwrap()]);
        let last = target("last").await?;
        let written = counted
            .fs
            .write(&last, bytes, WriteOptions::default())
            .await;
        ensure_eq!(
            written.is_ok(),
            fits,
            "seed {seed}: {size} of {left} bytes: {written:?}"
        );
    }
    Ok(())
}

async fn act(
    fs: &dyn FileSystem,
    session: usize,
    size: u64,
    fate: Fate,
    edits: bool,
    target: &Target,
) {
    let mut context = CallContext::of(Actor::new(format!("s{session}")));
    context.call_id = match fate {
        Fate::Fails => Some("fails".into()),
        Fate::LandsUnheard => Some("unheard".into()),
        Fate::Lands | Fate::Abandoned(_) => None,
    };
    let call = async {
        if edits {
            let options = EditOptions::default().in_context(&context);
            let _ = fs
                .edit(target, Arc::new(Insert::after(0, "ab\n")), options)
                .await;
        } else {
            let bytes = Bytes::from(vec![b'a'; usize::try_from(size).unwrap()]);
            let options = WriteOptions::default().in_context(&context);
            let _ = fs.write(target, bytes, options).await;
        }
    };
    match fate {
        Fate::Abandoned(steps) => {
            let leaves = async {
                for _ in 0..steps {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                () = call => {}
                () = leaves => {}
            }
        }
        _ => call.await,
    }
}

fn sequences(keep: Keep) -> Verdict {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    (0..1000).try_for_each(|seed| runtime.block_on(sequence(seed, keep)))
}

#[test]
fn a_thousand_sequences_at_the_edge_are_never_over_and_never_stuck_below() {
    sequences(metered).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn plainer_ways_to_keep_a_quota_do_not_pass() {
    let ways: [(Way, Keep); 3] = [
        (Way::NoRefund, |fs, limit| {
            Naive::over(fs, limit, Way::NoRefund)
        }),
        (Way::CheckThenAct, |fs, limit| {
            Naive::over(fs, limit, Way::CheckThenAct)
        }),
        (Way::RefundsAll, |fs, limit| {
            Naive::over(fs, limit, Way::RefundsAll)
        }),
    ];
    for (way, keep) in ways {
        assert!(sequences(keep).is_err(), "nobody notices {way:?}");
    }
}

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counted({})", (self.used)())
    }
}

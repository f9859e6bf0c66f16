//! Claims on the call context: withdrawals, deadlines, and the order of those who wait.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::{MaybeDone, join_all, maybe_done};
use futures::poll;

use super::check::{equal, refused, refused_as, require, same_bytes};
use super::concurrency::{Append, many_threads, while_edited};
use super::scratch::Scratch;
use super::{ClaimResult, Failure, Verdict};
use crate::capabilities::Atomicity;
use crate::context::{CallContext, Cancellation};
use crate::error::{ErrorCode, Result};
use crate::fs::FileSystem;
use crate::options::{
    CreateDirOptions, EditOptions, ListOptions, ReadOptions, RemoveOptions, ResolveOptions,
    StatOptions, TransferOptions, WriteOptions,
};
use crate::target::Target;
use crate::version::Expected;

fn withdrawn() -> CallContext {
    let context = CallContext::default();
    context.cancellation.cancel();
    context
}

fn late() -> CallContext {
    CallContext {
        deadline: Some(Instant::now()),
        ..CallContext::default()
    }
}

/// Makes every mutation that is offered in this context, and checks that none had an effect.
async fn no_mutation(
    fs: &dyn FileSystem,
    scratch: &Scratch,
    context: &CallContext,
    codes: &[ErrorCode],
) -> Result<(), Failure> {
    let (file, _) = scratch.put(fs, "file", "old\n").await?;
    let (other, _) = scratch.put(fs, "other", "other\n").await?;
    let new = scratch.target(fs, "new").await?;
    let can = fs.capabilities(Some(&file));
    let write = WriteOptions::default().in_context(context);
    let bytes = Bytes::from_static(b"new\n");
    refused_as(
        "write",
        fs.write(&file, bytes.clone(), write.clone()).await,
        codes,
    )?;
    refused_as("a create", fs.write(&new, bytes, write).await, codes)?;
    if can.edit {
        let edit = EditOptions::default().in_context(context);
        let answer = fs.edit(&file, Arc::new(Append("x")), edit).await;
        refused_as("edit", answer, codes)?;
    }
    let remove = RemoveOptions::default().in_context(context);
    refused_as("remove", fs.remove(&file, remove).await, codes)?;
    let folder = CreateDirOptions::default().in_context(context);
    if can.hierarchy {
        refused_as("create_dir", fs.create_dir(&new, folder).await, codes)?;
    }
    let transfer = TransferOptions {
        destination: Expected::Any,
        ..TransferOptions::default()
    }
    .in_context(context);
    for to in [&new, &other] {
        if can.rename != Atomicity::Unsupported {
            refused_as(
                "rename",
                fs.rename(&file, to, transfer.clone()).await,
                codes,
            )?;
        }
        if can.copy != Atomicity::Unsupported {
            refused_as("copy", fs.copy(&file, to, transfer.clone()).await, codes)?;
        }
    }
    scratch.holds(fs, "file", Some(b"old\n")).await?;
    scratch.holds(fs, "other", Some(b"other\n")).await?;
    equal(
        "the names",
        scratch.names(fs, "").await?,
        vec!["file".into(), "other".to_owned()],
    )
}

pub(super) async fn w6_a_withdrawn_mutation_is_aborted_and_changes_nothing(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    no_mutation(fs, scratch, &withdrawn(), &[ErrorCode::Aborted]).await?;
    Ok(Verdict::Held)
}

pub(super) async fn w6_a_mutation_past_its_deadline_changes_nothing(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    no_mutation(fs, scratch, &late(), &[ErrorCode::Timeout, ErrorCode::Busy]).await?;
    Ok(Verdict::Held)
}

pub(super) async fn trait_a_withdrawn_look_is_aborted(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (file, _) = scratch.put(fs, "file", "x\n").await?;
    let folder = scratch.folder(fs).await?;
    let context = &withdrawn();
    let resolve = ResolveOptions::default().in_context(context);
    let path = scratch.path("file");
    refused(
        "resolve",
        fs.resolve(&path, "", resolve).await,
        ErrorCode::Aborted,
    )?;
    let stat = StatOptions::default().in_context(context);
    refused(
        "stat",
        fs.stat(&file, stat.clone()).await,
        ErrorCode::Aborted,
    )?;
    refused("lstat", fs.lstat(&file, stat).await, ErrorCode::Aborted)?;
    let read = ReadOptions::default().in_context(context);
    refused("read", fs.read(&file, read).await, ErrorCode::Aborted)?;
    let list = ListOptions::default().in_context(context);
    refused(
        "list",
        fs.list(&folder, list).await.map(drop),
        ErrorCode::Aborted,
    )?;
    Ok(Verdict::Held)
}

/// Returns the mutations that can wait behind an edit of a file, each in this context.
async fn waiting(
    fs: &dyn FileSystem,
    file: &Target,
    context: &CallContext,
    number: usize,
) -> Result<()> {
    match number {
        0 => {
            let options = WriteOptions::default().in_context(context);
            fs.write(file, Bytes::from_static(b"late\n"), options)
                .await
                .map(drop)
        }
        1 => {
            let options = EditOptions::default().in_context(context);
            fs.edit(file, Arc::new(Append("late\n")), options)
                .await
                .map(drop)
        }
        _ => {
            let options = RemoveOptions::default().in_context(context);
            fs.remove(file, options).await
        }
    }
}

/// Waits for calls that were polled before; one that did not have to wait is done already.
async fn answers<F: Future>(mut calls: Vec<Pin<Box<MaybeDone<F>>>>) -> Vec<F::Output> {
    join_all(calls.iter_mut()).await;
    let answers = calls.iter_mut().map(|call| call.as_mut().take_output());
    answers.map(|answer| answer.expect("it is done")).collect()
}

pub(super) async fn trait_waiting_ends_at_the_deadline_as_busy(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (file, _) = scratch.put(fs, "file", "a").await?;
    let target = &file;
    let (edit, waited) = while_edited(fs, target, Expected::Any, |release| async move {
        let context = CallContext::default().within(Duration::from_millis(20));
        let calls = (0..3).map(|number| waiting(fs, target, &context, number));
        let waited = join_all(calls).await;
        release.now();
        waited
    })
    .await?;
    for answer in waited {
        refused("a call that waited", answer, ErrorCode::Busy)?;
    }
    edit?;
    scratch.holds(fs, "file", Some(b"a>")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn w6_a_call_withdrawn_while_it_waits_changes_nothing(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (file, _) = scratch.put(fs, "file", "a").await?;
    let target = &file;
    let (edit, waited) = while_edited(fs, target, Expected::Any, |release| async move {
        let context = CallContext::default();
        let mut calls: Vec<_> = (0..3)
            .map(|number| Box::pin(maybe_done(waiting(fs, target, &context, number))))
            .collect();
        for call in &mut calls {
            let _ = poll!(call);
        }
        context.cancellation.cancel();
        release.now();
        answers(calls).await
    })
    .await?;
    edit?;
    for answer in waited {
        refused("a call that was withdrawn", answer, ErrorCode::Aborted)?;
    }
    scratch.holds(fs, "file", Some(b"a>")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn w6_a_call_dropped_while_it_waits_changes_nothing_and_holds_up_nobody(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (file, _) = scratch.put(fs, "file", "a").await?;
    let target = &file;
    let (edit, ()) = while_edited(fs, target, Expected::Any, |release| async move {
        let context = CallContext::default();
        for number in 0..3 {
            let mut call = Box::pin(waiting(fs, target, &context, number));
            let _ = poll!(&mut call);
        }
        release.now();
    })
    .await?;
    edit?;
    let context = CallContext::default().within(Duration::from_secs(10));
    let options = EditOptions::default().in_context(&context);
    fs.edit(target, Arc::new(Append("b")), options).await?;
    scratch.holds(fs, "file", Some(b"a>b")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn w6_an_edit_withdrawn_while_it_plans_changes_nothing(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (file, _) = scratch.put(fs, "file", "a").await?;
    let context = CallContext::default();
    let flag: Cancellation = context.cancellation.clone();
    let transform = move |text: &crate::text::Text<'_>, version: &crate::Version| {
        flag.cancel();
        crate::Transform::plan(&Append("b"), text, version)
    };
    let options = EditOptions::default().in_context(&context);
    let answer = fs.edit(&file, Arc::new(transform), options).await;
    refused("edit", answer, ErrorCode::Aborted)?;
    scratch.holds(fs, "file", Some(b"a")).await?;
    equal(
        "the names",
        scratch.names(fs, "").await?,
        vec!["file".to_owned()],
    )?;
    Ok(Verdict::Held)
}

pub(super) async fn trait_mutations_take_effect_in_the_order_in_which_they_came(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (file, _) = scratch.put(fs, "file", "a").await?;
    let target = &file;
    let (edit, done) = while_edited(fs, target, Expected::Any, |release| async move {
        let append = |number: usize| {
            let transform = Arc::new(Append(number.to_string()));
            let edit = fs.edit(target, transform, EditOptions::default());
            Box::pin(maybe_done(edit))
        };
        let mut calls: Vec<_> = (1..=8).map(append).collect();
        for call in &mut calls {
            let _ = poll!(call);
        }
        release.now();
        // The last comer is asked first: the order of polls is not the order of arrival.
        calls.reverse();
        answers(calls).await
    })
    .await?;
    edit?;
    done.into_iter().try_for_each(|edit| edit.map(drop))?;
    scratch.holds(fs, "file", Some(b"a>12345678")).await?;
    Ok(Verdict::Held)
}

pub(super) async fn trait_files_do_not_wait_for_each_other(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    require!(many_threads(), "the calls run on one thread");
    let (one, _) = scratch.put(fs, "one", "1").await?;
    let (two, _) = scratch.put(fs, "two", "2").await?;
    let another = &two;
    let (edit, (written, read)) = while_edited(fs, &one, Expected::Any, |release| async move {
        let context = CallContext::default().within(Duration::from_secs(3));
        let options = WriteOptions::default().in_context(&context);
        let written = fs.write(another, Bytes::from_static(b"new"), options).await;
        let read = ReadOptions::default().in_context(&context);
        let read = fs.read(another, read).await;
        release.now();
        (written, read)
    })
    .await?;
    edit?;
    written?;
    same_bytes("the other file", &read?.body.collect().await?.bytes, b"new")?;
    Ok(Verdict::Held)
}

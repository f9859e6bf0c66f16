//! Faults of errors: another code, nothing around it, or too much.

use super::fault::prelude::*;

/// Changes the errors of every operation.
macro_rules! mistakes {
    ($fault:ident, |$self:ident, $operation:ident, $error:ident| $change:expr) => {
        impl $fault {
            fn mistake(&$self, $operation: Operation, $error: FsError) -> FsError {
                $change
            }
        }

        #[async_trait]
        impl Fault for $fault {
            async fn resolve(
                &self,
                fs: &Inner,
                path: &str,
                cwd: &str,
                options: ResolveOptions,
            ) -> Result<Target> {
                let answer = fs.resolve(path, cwd, options).await;
                answer.map_err(|error| self.mistake(Operation::Resolve, error))
            }

            async fn read(
                &self,
                fs: &Inner,
                target: &Target,
                options: ReadOptions,
            ) -> Result<ReadOutcome> {
                let answer = fs.read(target, options).await;
                answer.map_err(|error| self.mistake(Operation::Read, error))
            }

            async fn list(
                &self,
                fs: &Inner,
                target: &Target,
                options: ListOptions,
            ) -> Result<Listing> {
                let answer = fs.list(target, options).await;
                answer.map_err(|error| self.mistake(Operation::List, error))
            }

            async fn write(
                &self,
                fs: &Inner,
                target: &Target,
                bytes: Bytes,
                options: WriteOptions,
            ) -> Result<WriteOutcome> {
                let answer = fs.write(target, bytes, options).await;
                answer.map_err(|error| self.mistake(Operation::Write, error))
            }

            async fn edit(
                &self,
                fs: &Inner,
                target: &Target,
                transform: Arc<dyn Transform>,
                options: EditOptions,
            ) -> Result<EditOutcome> {
                let answer = fs.edit(target, transform, options).await;
                answer.map_err(|error| self.mistake(Operation::Edit, error))
            }

            async fn remove(
                &self,
                fs: &Inner,
                target: &Target,
                options: RemoveOptions,
            ) -> Result<()> {
                let answer = fs.remove(target, options).await;
                answer.map_err(|error| self.mistake(Operation::Remove, error))
            }

            async fn rename(
                &self,
                fs: &Inner,
                from: &Target,
                to: &Target,
                options: TransferOptions,
            ) -> Result<TransferOutcome> {
                let answer = fs.rename(from, to, options).await;
                answer.map_err(|error| self.mistake(Operation::Rename, error))
            }

            async fn copy(
                &self,
                fs: &Inner,
                from: &Target,
                to: &Target,
                options: TransferOptions,
            ) -> Result<TransferOutcome> {
                let answer = fs.copy(from, to, options).await;
                answer.map_err(|error| self.mistake(Operation::Copy, error))
            }

            async fn create_dir(
                &self,
                fs: &Inner,
                target: &Target,
                options: CreateDirOptions,
            ) -> Result<()> {
                let answer = fs.create_dir(target, options).await;
                answer.map_err(|error| self.mistake(Operation::CreateDir, error))
            }
        }
    };
}

/// Says one code where another is due, in one operation or all.
#[derive(Debug)]
pub(super) struct Recode(
    pub(super) Option<Operation>,
    pub(super) ErrorCode,
    pub(super) ErrorCode,
);

mistakes!(Recode, |self, operation, error| {
    let concerned = self.0.is_none_or(|only| only == operation);
    match concerned && error.code() == self.1 {
        true => error.recast(self.2, "something went wrong"),
        false => error,
    }
});

/// Names neither operation nor path.
#[derive(Debug)]
pub(super) struct Nameless;

mistakes!(Nameless, |self, _operation, error| {
    FsError::new(error.code(), error.message().to_owned())
});

/// Names where the storage lies.
#[derive(Debug)]
pub(super) struct ShowsHostInMessages;

mistakes!(ShowsHostInMessages, |self, operation, error| {
    let code = error.code();
    error.recast(code, format!("{operation} failed at /..host/srv/secret"))
});

/// Says the code of a transform's error in words of its own.
#[derive(Debug)]
pub(super) struct ForgetsWords;

mistakes!(ForgetsWords, |self, operation, error| match operation {
    Operation::Edit => FsError::new(error.code(), "the edit failed").during(operation),
    _ => error,
});

/// Attaches the bytes of another file to a refusal.
#[derive(Debug)]
pub(super) struct AttachesOtherBytes;

mistakes!(
    AttachesOtherBytes,
    |self, _operation, error| match error.code() {
        ErrorCode::StaleVersion => error.with_current(Snapshot {
            bytes: Bytes::from_static(b"other bytes"),
            version: Version::of(b"other bytes"),
        }),
        _ => error,
    }
);

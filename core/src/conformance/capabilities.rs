//! Claims on capabilities: what they say is what is.

use super::check::{ensure, equal};
use super::scratch::{Scratch, for_folder};
use super::{ClaimResult, Verdict};
use crate::capabilities::Capabilities;
use crate::fs::FileSystem;
use crate::options::StatOptions;

pub(super) async fn trait_capabilities_are_data_and_the_same_at_the_root(
    fs: &dyn FileSystem,
    _: &Scratch,
) -> ClaimResult {
    let root = fs.resolve(".", "", for_folder()).await?;
    let can = fs.capabilities(None);
    equal("at the root", &fs.capabilities(Some(&root)), &can)?;
    let json = serde_json::to_string(&can).unwrap_or_default();
    let back = serde_json::from_str::<Capabilities>(&json).ok();
    equal("after serialisation", back, Some(can))?;
    Ok(Verdict::Held)
}

pub(super) async fn trait_case_sensitivity_is_as_stated(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    scratch.put(fs, "name", "lower").await?;
    scratch.put(fs, "NAME", "upper").await?;
    let names = scratch.names(fs, "").await?.len();
    let (lower, upper) = (
        scratch.target(fs, "name").await?,
        scratch.target(fs, "NAME").await?,
    );
    match fs.capabilities(None).case_sensitive {
        true => {
            ensure!(lower.key() != upper.key(), "two files share a key");
            equal("how many names", names, 2)?;
            scratch.holds(fs, "name", Some(b"lower")).await?;
        }
        false => {
            equal("the keys", lower.key(), upper.key())?;
            equal("how many names", names, 1)?;
            scratch.holds(fs, "name", Some(b"upper")).await?;
        }
    }
    Ok(Verdict::Held)
}

pub(super) async fn trait_permission_bits_are_there_as_stated(
    fs: &dyn FileSystem,
    scratch: &Scratch,
) -> ClaimResult {
    let (file, _) = scratch.put(fs, "file", "x").await?;
    let found = fs.stat(&file, StatOptions::default()).await?;
    let mode = found.and_then(|found| found.mode);
    equal(
        "whether there are bits",
        mode.is_some(),
        fs.capabilities(Some(&file)).modes,
    )?;
    Ok(Verdict::Held)
}

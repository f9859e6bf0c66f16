//! Chance: numbers that nobody can foretell, for ids and for waiting apart from one another.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// Returns a number keyed from the system's entropy, a key a call.
pub(super) fn number() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}

/// Returns a time between a quarter of `most` and all of it.
pub(super) fn jitter(most: Duration) -> Duration {
    let share = 0.25 + 0.75 * (number() >> 11) as f64 / (1u64 << 53) as f64;
    most.mul_f64(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_times_differ_and_stay_within_bounds() {
        let most = Duration::from_millis(100);
        let times: Vec<_> = (0..100).map(|_| jitter(most)).collect();
        assert!(times.iter().all(|time| (most / 4..=most).contains(time)));
        assert!(times.iter().any(|time| *time != times[0]));
    }
}

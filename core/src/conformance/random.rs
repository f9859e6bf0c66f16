//! Random numbers that a seed repeats.

/// Returns a number that has nothing in common with its neighbours' (SplitMix64).
pub(super) const fn scrambled(number: u64) -> u64 {
    let mut z = number
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(0x2545_f491_4f6c_dd1d);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A sequence of numbers; equal seeds give equal ones.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn seeded(seed: u64) -> Self {
        Self(scrambled(seed))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        scrambled(self.0)
    }

    /// Returns a number below a bound that is not zero.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX);
        usize::try_from(self.next() % bound).unwrap_or_default()
    }

    /// Returns true in this many of a hundred cases.
    pub(super) fn percent(&mut self, percent: u32) -> bool {
        self.next() % 100 < u64::from(percent)
    }
}

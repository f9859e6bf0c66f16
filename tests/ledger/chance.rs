//! Random choices that a seed repeats, and how many times a test tries.

/// A stream of choices.
#[derive(Clone, Debug)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number below `bound`, by xorshift.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }

    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Returns how many times to try: a few, or what the environment asks for.
pub(super) fn times(variable: &str, few: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().expect("a number of tries"),
        Err(_) => few,
    }
}

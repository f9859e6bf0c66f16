//! Sets of lines, kept as ranges.

use std::ops::RangeInclusive;

use super::lines::LineRange;

/// A set of 1-based lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineSet {
    /// In order, apart, and never touching each other.
    ranges: Vec<LineRange>,
}

impl LineSet {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the ranges in order; no two touch.
    pub fn ranges(&self) -> &[LineRange] {
        &self.ranges
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Adds the lines from `start` to `end`; none when `end` is before `start`.
    pub fn insert(&mut self, start: u64, end: u64) {
        if end < start {
            return;
        }
        let from = self.ranges.partition_point(|range| range.end + 1 < start);
        let to = self.ranges.partition_point(|range| range.start <= end + 1);
        let joined = LineRange {
            start: self.ranges[from..to]
                .first()
                .map_or(start, |range| range.start.min(start)),
            end: self.ranges[from..to]
                .last()
                .map_or(end, |range| range.end.max(end)),
        };
        self.ranges.splice(from..to, [joined]);
    }

    /// Returns whether a line is in the set.
    pub fn contains(&self, line: u64) -> bool {
        self.covers(line, line)
    }

    /// Returns whether every line from `start` to `end` is in the set.
    pub fn covers(&self, start: u64, end: u64) -> bool {
        let at = self.ranges.partition_point(|range| range.end < start);
        end < start
            || self
                .ranges
                .get(at)
                .is_some_and(|range| range.start <= start && end <= range.end)
    }

    /// Returns the lines from `start` to `end` that are not in the set.
    pub fn missing(&self, start: u64, end: u64) -> Vec<LineRange> {
        let mut missing = Vec::new();
        let mut from = start;
        let first = self.ranges.partition_point(|range| range.end < start);
        for range in &self.ranges[first..] {
            if range.start > end {
                break;
            }
            if range.start > from {
                missing.push(LineRange {
                    start: from,
                    end: range.start - 1,
                });
            }
            from = range.end + 1;
        }
        if from <= end {
            missing.push(LineRange { start: from, end });
        }
        missing
    }

    /// Keeps at most so many ranges: the longest ones.
    ///
    /// What is dropped counts as not in the set.
    pub fn bound(&mut self, most: usize) {
        if self.ranges.len() <= most {
            return;
        }
        let length = |range: &LineRange| range.end - range.start;
        self.ranges
            .sort_by_key(|range| std::cmp::Reverse(length(range)));
        self.ranges.truncate(most);
        self.ranges.sort();
    }
}

impl FromIterator<RangeInclusive<u64>> for LineSet {
    fn from_iter<I: IntoIterator<Item = RangeInclusive<u64>>>(ranges: I) -> Self {
        let mut set = Self::new();
        for range in ranges {
            set.insert(*range.start(), *range.end());
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_longest_ranges_are_kept_within_a_bound() {
        let mut set: LineSet = [1..=1, 3..=9, 20..=22].into_iter().collect();
        set.bound(2);
        assert_eq!(
            set.ranges(),
            [
                LineRange { start: 3, end: 9 },
                LineRange { start: 20, end: 22 }
            ]
        );
    }

    proptest! {
        #[test]
        fn it_behaves_as_a_set_of_numbers(
            ranges in proptest::collection::vec((1u64..30, 0u64..6), 0..12),
            (start, len) in (1u64..30, 0u64..12),
        ) {
            let mut model = BTreeSet::new();
            let mut set = LineSet::new();
            for (from, more) in ranges {
                model.extend(from..=from + more);
                set.insert(from, from + more);
            }
            let end = start + len;
            for pair in set.ranges().windows(2) {
                prop_assert!(pair[0].end + 1 < pair[1].start);
            }
            prop_assert_eq!(set.covers(start, end), (start..=end).all(|n| model.contains(&n)));
            let missing: Vec<u64> =
                set.missing(start, end).iter().flat_map(|range| range.start..=range.end).collect();
            let expected: Vec<u64> = (start..=end).filter(|n| !model.contains(n)).collect();
            prop_assert_eq!(missing, expected);
        }
    }
}

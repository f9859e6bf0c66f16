//! Measuring in pairs: the subject and its twins take turns, so that drift hits all alike.

use std::time::{Duration, Instant};

/// How long a sample lasts at the least, for the clock to time it.
const SAMPLE: Duration = Duration::from_millis(1);

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// How many pairs at the least and at the most.
    pairs: (usize, usize),
    /// How long a row may go on beyond the least.
    time: Duration,
    /// The largest file, in bytes.
    pub(crate) largest: usize,
}

impl Budget {
    /// A minute or two for the whole table.
    pub(crate) fn full() -> Self {
        Self {
            pairs: (7, 201),
            time: Duration::from_millis(1500),
            largest: 64 << 20,
        }
    }

    /// How long a rate is measured.
    pub(crate) fn while_scaling(&self) -> Duration {
        self.time / 2
    }

    /// How often rates are compared.
    pub(crate) fn rounds(&self) -> usize {
        self.pairs.0
    }

    /// The most sessions at once.
    pub(crate) fn most_sessions(&self) -> usize {
        self.largest >> 12
    }

    /// The most names in a folder.
    pub(crate) fn most_names(&self) -> usize {
        self.largest >> 6
    }

    /// A few seconds, to see that every row works.
    pub(crate) fn quick() -> Self {
        Self {
            pairs: (3, 5),
            time: Duration::from_millis(50),
            largest: 64 << 10,
        }
    }
}

/// One side of a row: does the work so many times, and says how long that took. To enter a runtime,
/// which on an idle machine wakes a core, is not in it.
pub(crate) type Work<'a> = Box<dyn FnMut(usize) -> Duration + 'a>;

/// Makes a side of what does the work once.
pub(crate) fn each<'a>(mut once: impl FnMut() + 'a) -> Work<'a> {
    Box::new(move |times| {
        let start = Instant::now();
        (0..times).for_each(|_| once());
        start.elapsed()
    })
}

/// Collects rows and prints them.
#[derive(Debug)]
pub(crate) struct Harness {
    pub(crate) budget: Budget,
    filter: Option<String>,
    rows: Vec<Row>,
    figures: Vec<String>,
}

#[derive(Debug)]
struct Row {
    name: String,
    subject: Duration,
    to_twin: f64,
    to_bare: Option<f64>,
    pairs: usize,
}

impl Harness {
    pub(crate) fn new(budget: Budget, filter: Option<String>) -> Self {
        Self {
            budget,
            filter,
            rows: Vec::new(),
            figures: Vec::new(),
        }
    }

    /// Returns whether a row is wanted.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.filter
            .as_ref()
            .is_none_or(|filter| name.contains(filter.as_str()))
    }

    /// Measures a subject beside its twin, and beside the bare twin where there is one.
    pub(crate) fn row(
        &mut self,
        name: &str,
        mut subject: Work<'_>,
        mut twin: Work<'_>,
        mut bare: Option<Work<'_>>,
    ) {
        if !self.wants(name) {
            return;
        }
        let run = |work: &mut Work<'_>, times: usize| {
            work(times) / u32::try_from(times).expect("a few runs")
        };
        // To warm up, and to learn how many runs make a sample the clock can time.
        let mut times = 1;
        while times < 1000 && twin(times).max(subject(times)) < SAMPLE {
            times *= 2;
        }
        let (mut subjects, mut to_twin, mut to_bare) = (Vec::new(), Vec::new(), Vec::new());
        let start = Instant::now();
        while subjects.len() < self.budget.pairs.0
            || (subjects.len() < self.budget.pairs.1 && start.elapsed() < self.budget.time)
        {
            let twin = run(&mut twin, times);
            let subject = run(&mut subject, times);
            subjects.push(subject);
            to_twin.push(ratio(subject, twin));
            if let Some(bare) = &mut bare {
                to_bare.push(ratio(subject, run(bare, times)));
            }
        }
        let row = Row {
            name: name.to_owned(),
            pairs: subjects.len(),
            subject: median(&mut subjects),
            to_twin: median(&mut to_twin),
            to_bare: (!to_bare.is_empty()).then(|| median(&mut to_bare)),
        };
        if self.rows.is_empty() {
            println!("| row | × twin | × bare twin | median | pairs |");
            println!("|---|---:|---:|---:|---:|");
        }
        row.print();
        self.rows.push(row);
    }

    /// Measures what a way into the process adds to the same work within, as a figure.
    pub(crate) fn added(&mut self, name: &str, mut through: Work<'_>, mut within: Work<'_>) {
        if !self.wants(name) {
            return;
        }
        const TIMES: usize = 20;
        let micros = |work: &mut Work<'_>| work(TIMES).as_secs_f64() * 1e6 / TIMES as f64;
        let mut added: Vec<f64> = (0..self.budget.pairs.1)
            .map(|_| micros(&mut through) - micros(&mut within))
            .collect();
        self.figure(format!("{name}: {:.0} µs added", median(&mut added)));
    }

    /// Adds a figure that is no ratio, below the table.
    pub(crate) fn figure(&mut self, figure: String) {
        self.figures.push(figure);
    }

    /// Returns each row's name and its ratio to the twin.
    pub(crate) fn ratios(&self) -> Vec<(String, f64)> {
        let rows = self.rows.iter();
        rows.map(|row| (row.name.clone(), row.to_twin)).collect()
    }

    /// Prints the figures that are no ratios, below the table.
    pub(crate) fn report(&self) {
        for figure in &self.figures {
            println!("{figure}");
        }
    }
}

impl Row {
    /// Prints it as soon as it is measured; the time is there to place a row, the ratios are the
    /// result.
    fn print(&self) {
        let bare = self
            .to_bare
            .map_or("—".to_owned(), |ratio| format!("{ratio:.2}"));
        println!(
            "| {} | {:.2} | {bare} | {:.1?} | {} |",
            self.name, self.to_twin, self.subject, self.pairs
        );
    }
}

fn ratio(subject: Duration, twin: Duration) -> f64 {
    subject.as_secs_f64() / twin.as_secs_f64().max(1e-12)
}

fn median<T: PartialOrd + Copy>(values: &mut [T]) -> T {
    values.sort_by(|one, other| one.partial_cmp(other).expect("figures compare"));
    values[values.len() / 2]
}

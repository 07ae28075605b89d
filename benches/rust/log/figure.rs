//! One figure: what was measured, its bar, and what else is worth knowing, as a line of JSON.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// A figure that is being put together.
pub(crate) struct Figure(String);

impl Figure {
    /// A figure of this name, in this unit.
    pub(crate) fn new(name: &str, unit: &str, value: f64, hold: f64) -> Self {
        let mut line = String::new();
        let _ = write!(
            line,
            r#"{{"name": "{name}", "unit": "{unit}", "value": {value:.3}, "hold": {hold}"#
        );
        Self(line)
    }

    /// The median of calls in microseconds of the processor, with the 10th and the 99th of a hundred.
    pub(crate) fn of_calls(name: &str, times: &mut [f64], hold: f64) -> Self {
        times.sort_by(f64::total_cmp);
        Self::new(name, "µs", quantile(times, 0.5), hold)
            .with("p10", quantile(times, 0.1))
            .with("p99", quantile(times, 0.99))
            .with("calls", times.len() as f64)
    }

    /// Another number beside it.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: f64) -> Self {
        let _ = write!(self.0, r#", "{name}": {value:.3}"#);
        self
    }

    /// Writes the line.
    pub(crate) fn print(self) {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}}}", self.0).unwrap();
        out.flush().unwrap();
    }
}

/// The value that this share of sorted values is not above.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share).ceil() as usize;
    sorted[at.clamp(1, sorted.len()) - 1]
}

/// What a call answers, and how many microseconds of the processor it took in this thread, the system's part
/// included: what others do on the machine counts less than by the clock on the wall.
pub(crate) fn timed<T>(call: impl FnOnce() -> T) -> (T, f64) {
    let begin = clock_gettime(ClockId::ThreadCPUTime);
    let out = call();
    let end = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = (end.tv_sec - begin.tv_sec) as f64;
    (
        out,
        seconds * 1e6 + (end.tv_nsec - begin.tv_nsec) as f64 / 1e3,
    )
}

/// What a call answers, and how many microseconds passed.
pub(crate) fn waited<T>(call: impl FnOnce() -> T) -> (T, f64) {
    let begin = Instant::now();
    let out = call();
    (out, begin.elapsed().as_secs_f64() * 1e6)
}

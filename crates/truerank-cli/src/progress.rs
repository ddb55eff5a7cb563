//! Shows progress: a bar with rate and time left on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use truerank::progress::Progress;
use truerank::text::{line, printable, rename_quoted};

use crate::options::flag_of;
use crate::output::painted_error;

/// Progress on standard error.
pub struct Shown {
    kind: Kind,
    bar: Mutex<Option<ProgressBar>>,
}

/// Steps that are done are worth a line with the time left once so much of the work is behind them: before, it would be a
/// guess.
const TIMED_FROM: f64 = 0.02;

/// What a bar's line holds beside its prefix and its note, at most: the bar, per cent, the time left, and gaps.
const BESIDE_NOTE: usize = 24 + 5 + 12 + 6;

enum Kind {
    Quiet,
    Lines,
    Bars,
}

impl Shown {
    /// Bars on a terminal, lines elsewhere, nothing if `quiet`.
    pub fn new(quiet: bool) -> Self {
        let kind = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Kind::Quiet,
            (false, true) => Kind::Bars,
            (false, false) => Kind::Lines,
        };
        Shown { kind, bar: Mutex::new(None) }
    }

    /// A line about what was done, with options as they are typed here, unless quiet.
    pub fn say(&self, text: &str) {
        self.finish();
        if !matches!(self.kind, Kind::Quiet) {
            say_error(&rename_quoted(text, flag_of));
        }
    }

    /// Removes the bar of the last piece of work.
    pub fn finish(&self) {
        if let Some(bar) = self.bar.lock().expect("no thread panics while it holds the bar").take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Progress for Shown {
    fn begin(&self, what: &str, total: u64) {
        self.finish();
        match self.kind {
            Kind::Quiet => {}
            Kind::Lines => {
                say_error(&format!("{what} …"));
                let counted = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
                *self.bar.lock().expect("no thread panics while it holds the bar") = Some(counted);
            }
            Kind::Bars => {
                let bar = ProgressBar::new(total).with_style(style()).with_prefix(line(what));
                // The bar is drawn by a thread of its own, where there is one to be had, and else as the work advances.
                if std::thread::Builder::new().spawn(|| ()).is_ok() {
                    bar.enable_steady_tick(Duration::from_millis(200));
                }
                *self.bar.lock().expect("no thread panics while it holds the bar") = Some(bar);
            }
        }
    }

    fn advance(&self, steps: u64) -> truerank::Result<()> {
        if let Some(bar) = &*self.bar.lock().expect("no thread panics while it holds the bar") {
            bar.inc(steps);
        }
        Ok(())
    }

    fn done(&self, text: &str) {
        let Some(bar) = &*self.bar.lock().expect("no thread panics while it holds the bar") else { return };
        match self.kind {
            Kind::Quiet => {}
            Kind::Lines => say_error(&format!("{text}{}", time_left(bar))),
            Kind::Bars => bar.println(printable(text)),
        }
    }

    fn note(&self, text: &str) {
        if let Some(bar) = &*self.bar.lock().expect("no thread panics while it holds the bar") {
            let columns = usize::from(console::Term::stderr().size().1);
            let taken = bar.prefix().chars().count() + BESIDE_NOTE;
            bar.set_message(whole_words(&line(text), columns.saturating_sub(taken)));
        }
    }
}

/// As many words as fit, with an ellipsis where some do not.
fn whole_words(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_string();
    }
    let mut kept = String::new();
    for word in text.split_whitespace() {
        if kept.chars().count() + word.chars().count() + 2 > room {
            break;
        }
        kept = format!("{kept}{word} ");
    }
    if kept.is_empty() { kept } else { kept + "…" }
}

/// `, 12 min left`, where enough is done to say.
fn time_left(bar: &ProgressBar) -> String {
    let share = bar.position() as f64 / bar.length().unwrap_or(0).max(1) as f64;
    let left = time_of_rest(bar.elapsed(), share);
    if left.is_empty() { left } else { format!(", {left}") }
}

/// `12 min left`, from the time that the part before took: the rate of the last moments says less where others use the machine.
/// Nothing where too little is done to say, or all is.
fn time_of_rest(elapsed: Duration, share: f64) -> String {
    if !(TIMED_FROM..1.0).contains(&share) {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() * (1.0 - share) / share;
    match seconds {
        ..1.0 => String::new(),
        ..100.0 => format!("{seconds:.0} s left"),
        ..5400.0 => format!("{:.0} min left", seconds / 60.0),
        _ => format!("{:.1} h left", seconds / 3600.0),
    }
}

/// A line on standard error, in which nothing of the data steers the terminal. If nobody reads it any more, as in `2>&1 | head`, that is no reason to stop.
pub fn say_error(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", painted_error(&printable(line)));
}

fn style() -> ProgressStyle {
    let left = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        let _ = write!(out, "{}", time_of_rest(state.elapsed(), f64::from(state.fraction())));
    };
    ProgressStyle::with_template("{prefix} {bar:24} {percent:>3} %  {left}  {wide_msg}")
        .expect("the template is well formed")
        .with_key("left", left)
        .progress_chars("━╸─")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_end_with_a_word() {
        let note = |room| whole_words("log-likelihood −.2755 after 12", room);
        assert_eq!(
            [note(40), note(23), note(8)],
            ["log-likelihood −.2755 after 12", "log-likelihood −.2755 …", ""].map(String::from)
        );
    }

    #[test]
    fn the_time_left_follows_from_the_time_that_passed() {
        let left = |seconds: u64, share: f64| time_of_rest(Duration::from_secs(seconds), share);
        assert_eq!([left(10, 0.01), left(10, 1.0), left(0, 0.5)], ["", "", ""]);
        assert_eq!([left(30, 0.5), left(60, 0.2), left(3600, 0.25)], ["30 s left", "4 min left", "3.0 h left"]);
    }
}

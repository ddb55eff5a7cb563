//! Values to pixels, and where an axis has its ticks.

use super::Axis;
use crate::report::Format;

/// Values beyond this are treated as infinite, and the inverse as zero: sums and quotients of others cannot overflow.
const LARGEST: f64 = 1e150;

/// Maps the values of an axis to pixels.
#[derive(Debug, Clone)]
pub struct Scale<'a> {
    axis: &'a Axis,
    /// The ends of the axis; of a logarithmic one, their logarithms.
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// A tick of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Where it is, in pixels.
    pub at: f64,
    /// What it says.
    pub label: String,
}

/// Whether an axis has a place for a value.
pub fn drawable(axis: &Axis, value: f64) -> bool {
    value.abs() < LARGEST && (!axis.log || value > 1.0 / LARGEST)
}

impl<'a> Scale<'a> {
    /// A scale on which all of `values` have a place between the pixels `from` and `to`, with some room at the ends.
    pub fn new(axis: &'a Axis, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = match extent(axis, values) {
            Some((low, high)) if axis.log => padded(low, high, 0.3),
            // There is no position 0: the room before the first ends before it.
            Some((low, high)) if axis.format == Format::Count && low >= 1.0 => {
                let (room, end) = padded(low, high, 0.05 * high);
                (room.max(0.5), end)
            }
            Some((low, high)) => padded(low, high, 0.05 * low.abs().max(high.abs())),
            None => (0.0, 1.0),
        };
        Scale { axis, low, high, from, to }
    }

    /// The same, but zero is an end where it is near and all values lie on one side of it.
    pub fn near_zero(axis: &'a Axis, values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        let scale = Scale::new(axis, values.clone(), from, to);
        match extent(axis, values) {
            Some((low, high)) if !axis.log && low >= 0.0 && low < high / 4.0 => Scale { low: 0.0, ..scale },
            Some((low, high)) if !axis.log && high <= 0.0 && high > low / 4.0 => Scale { high: 0.0, ..scale },
            _ => scale,
        }
    }

    /// The pixel of a value that is [`drawable`].
    pub fn at(&self, value: f64) -> f64 {
        let value = if self.axis.log { value.log10() } else { value };
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// The pixel of zero, where zero lies between the ends.
    pub fn zero(&self) -> Option<f64> {
        (!self.axis.log && self.low < 0.0 && self.high > 0.0).then(|| self.at(0.0))
    }

    /// About `count` round values with their labels, from `from` to `to`.
    pub fn ticks(&self, count: usize) -> Vec<Tick> {
        let (values, step) =
            if self.axis.log { self.log_ticks(count) } else { self.round_values(self.low, self.high, count) };
        let label = |value: f64| self.axis.format.print_tick(value, step.unwrap_or(value));
        values.into_iter().map(|value| Tick { at: self.at(value), label: label(value) }).collect()
    }

    /// Powers of ten, with their multiples where there are few; round values where the ends are close.
    fn log_ticks(&self, count: usize) -> (Vec<f64>, Option<f64>) {
        let decades = self.high - self.low;
        if decades < 1.0 {
            return self.round_values(10f64.powf(self.low), 10f64.powf(self.high), count);
        }
        let multiples: &[f64] = match count as f64 / decades {
            per_decade if per_decade >= 3.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let stride = (decades / count.max(1) as f64).ceil().max(1.0) as i32;
        let powers = (self.low.floor() as i32..=self.high.ceil() as i32).filter(|power| power % stride == 0);
        let values = powers.flat_map(|power| multiples.iter().map(move |multiple| multiple * 10f64.powi(power)));
        (values.filter(|value| (self.low..=self.high).contains(&value.log10())).collect(), None)
    }

    /// Multiples of 1, 2 or 5 times a power of ten: the finest step with about `count` of them. And the step.
    fn round_values(&self, low: f64, high: f64, count: usize) -> (Vec<f64>, Option<f64>) {
        let rough = (high - low) / count.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0].map(|multiple| multiple * power).into_iter().find(|step| *step >= rough);
        // There is no half of a session.
        let step = step.unwrap_or(10.0 * power).max(if self.axis.format == Format::Count { 1.0 } else { 0.0 });
        let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
        ((first..=last).map(|i| round_product(i, step)).collect(), Some(step))
    }
}

/// The smallest and the largest of the values that have a place; of a logarithmic axis, their logarithms.
fn extent(axis: &Axis, values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let values = values.filter(|&value| drawable(axis, value));
    let inner = values.map(|value| if axis.log { value.log10() } else { value });
    inner.fold(None, |ends, v| Some(ends.map_or((v, v), |(low, high): (f64, f64)| (low.min(v), high.max(v)))))
}

/// The ends with a twentieth of room on both sides, or with `alone` around a single value.
fn padded(low: f64, high: f64, alone: f64) -> (f64, f64) {
    let room = match (high - low) * 0.05 {
        // Rounding may hide a difference this small from the ticks.
        room if room > 1e-12 * low.abs().max(high.abs()) && room > 1.0 / LARGEST => room,
        _ if alone > 0.0 => alone,
        _ => 1.0,
    };
    (low - room, high + room)
}

/// `i · step` without the noise of the last digits: 3 · 0.1 is 0.3.
fn round_product(i: i64, step: f64) -> f64 {
    if step >= 1.0 { i as f64 * step } else { i as f64 / (1.0 / step).round() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64], count: usize) -> Vec<String> {
        let scale = Scale::new(axis, values.iter().copied(), 0.0, 100.0);
        scale.ticks(count).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        let measure = Axis::new("nDCG", Format::Measure);
        assert_eq!(labels(&measure, &[0.6706, 0.7098], 5), [".67", ".68", ".69", ".70", ".71"]);
        let number = Axis::new("difference", Format::Number);
        assert_eq!(labels(&number, &[-3.0, 4.0], 5), ["−2", "0", "2", "4"]);
    }

    #[test]
    fn zero_is_an_end_where_it_is_near() {
        let axis = Axis::new("click rate", Format::Number);
        let ends = |values: &[f64]| {
            let scale = Scale::near_zero(&axis, values.iter().copied(), 0.0, 100.0);
            (scale.low == 0.0, scale.high == 0.0)
        };
        assert_eq!(ends(&[0.05, 1.0]), (true, false));
        assert_eq!(ends(&[-1.0, -0.05]), (false, true));
        assert_eq!(ends(&[-0.001, 1.0]), (false, false));
        assert_eq!(ends(&[0.6, 0.7]), (false, false));
        assert_eq!(ends(&[0.0, 0.0]), (false, false));
    }

    #[test]
    fn counts_have_whole_ticks() {
        let axis = Axis::new("position", Format::Count);
        assert_eq!(labels(&axis, &[3.0], 10), ["3"]);
        assert_eq!(labels(&axis, &[1.0, 4.0], 20), ["1", "2", "3", "4"]);
        assert_eq!(labels(&axis, &[1.0, 25.0], 6), ["5", "10", "15", "20", "25"], "no position 0");
    }

    #[test]
    fn log_ticks_are_powers_of_ten_with_multiples_where_there_is_room() {
        let axis = Axis::new("sessions", Format::Count).log();
        assert_eq!(labels(&axis, &[1e3, 1e7], 6), ["1k", "10k", "100k", "1M", "10M"]);
        assert_eq!(labels(&axis, &[100.0, 5000.0], 8), ["100", "200", "500", "1k", "2k", "5k"]);
        assert_eq!(labels(&axis, &[1e-8, 1e8], 4), ["0.00001", "1", "100k"]);
        assert_eq!(labels(&axis, &[20.0, 50.0], 4), ["20", "30", "40", "50"]);
    }

    #[test]
    fn a_scale_of_nothing_or_of_one_value_has_ticks() {
        let axis = Axis::new("", Format::Number);
        for values in
            [&[][..], &[0.0], &[5.0], &[5.0, 5.0], &[f64::NAN, f64::INFINITY], &[1e15, 1e15 + 0.125], &[0.0, 5e-324]]
        {
            let scale = Scale::new(&axis, values.iter().copied(), 0.0, 100.0);
            let ticks = scale.ticks(5);
            assert!(!ticks.is_empty() && ticks.len() <= 6, "{values:?}: {ticks:?}");
            assert!(ticks.iter().all(|tick| (0.0..=100.0).contains(&tick.at)), "{values:?}: {ticks:?}");
        }
        let log = Axis::new("", Format::Number).log();
        for values in [&[][..], &[7.0], &[-1.0, 0.0], &[1.0, 1e140], &[5e-324]] {
            let ticks = Scale::new(&log, values.iter().copied(), 0.0, 100.0).ticks(5);
            assert!(!ticks.is_empty() && ticks.len() <= 8, "{values:?}: {ticks:?}");
        }
    }

    #[test]
    fn values_lie_between_the_ends() {
        let axis = Axis::new("", Format::Number).log();
        let scale = Scale::new(&axis, [10.0, 1000.0].into_iter(), 0.0, 100.0);
        assert!((scale.at(100.0) - 50.0).abs() < 1e-9);
        assert!(scale.at(10.0) > 0.0 && scale.at(1000.0) < 100.0);
    }
}

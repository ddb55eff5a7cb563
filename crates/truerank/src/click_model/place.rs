//! Where documents are usually shown: sessions and positions in, for each document a place that a prior looks up out.
//!
//! Engines show good documents first, so what is believed of a document depends on where it is usually shown. Two things bias
//! examination if they are left out, since they make documents of one place differ by the position at which they were seen:
//!
//! - Documents between two places lie between them: of those usually shown at 1 to 1.5, the ones that were seen at 2 are the worse
//!   ones. So places are not rounded; a prior is interpolated between knots.
//! - The place of a document that was shown once says less than that of one that was shown often at the same place: it may be
//!   there by chance, and is nearer to the mean of all. So a prior has two curves, for documents shown once and for those shown
//!   always, and others lie between them.

/// Up to this position there is a knot at each, then ever fewer: one for each tenth more.
const DENSE: f64 = 10.0;

/// A place on the scale of a prior.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    /// Whole numbers are knots.
    pub at: f64,
    /// 1 where the document was shown once, near 0 where it was shown often: one over the sessions.
    pub seldom: f64,
}

impl Place {
    /// On a knot, for certain.
    pub fn knot(knot: usize) -> Self {
        Place { at: knot as f64, seldom: 0.0 }
    }

    /// Of a document with this mean position over the sessions that showed it.
    pub fn new(mean_position: f64, shown: f64) -> Self {
        let mean = mean_position.max(1.0);
        let at = if mean <= DENSE { mean - 1.0 } else { DENSE - 1.0 + DENSE * (mean / DENSE).ln() };
        Place { at, seldom: 1.0 / shown.max(1.0) }
    }

    /// Of a document that is seen for the first time.
    pub fn first_seen(position: usize) -> Self {
        Place::new(position as f64, 1.0)
    }

    /// How many knots places have where pages have so many positions.
    pub fn knots(positions: usize) -> usize {
        Place::new(positions as f64, 1.0).at.ceil() as usize + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knots_are_at_the_first_positions_and_then_ever_fewer() {
        for position in 1..=10 {
            assert_eq!(Place::first_seen(position), Place { at: position as f64 - 1.0, seldom: 1.0 });
        }
        assert_eq!(Place::new(2.5, 4.0), Place { at: 1.5, seldom: 0.25 });
        assert_eq!((Place::knots(0), Place::knots(1), Place::knots(8), Place::knots(10)), (1, 1, 8, 10));
        assert!(Place::knots(1000) < 60);
        let last = Place::new(1000.0, 3.0).at;
        assert!(last > Place::new(999.0, 3.0).at && last <= (Place::knots(1000) - 1) as f64);
    }
}

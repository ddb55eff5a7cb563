//! The registry of click models: what each assumes, needs and leaves open.

use crate::named::named;

/// A click model: how people are taken to go down a result page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum ClickModelKind {
    /// The position-based model (Craswell et al. 2008).
    Pbm,
    /// The user browsing model (Dupret and Piwowarski 2008).
    #[default]
    Ubm,
    /// The cascade model (Craswell et al. 2008).
    Cm,
    /// The dependent click model (Guo et al. 2009).
    Dcm,
    /// The simplified dynamic Bayesian network (Chapelle and Zhang 2009).
    Sdbn,
    /// The dynamic Bayesian network (Chapelle and Zhang 2009).
    Dbn,
    /// The click chain model (Guo et al. 2009).
    Ccm,
    /// The position-based model with trust bias (Agarwal et al. 2019), in which clicks are affine in relevance.
    Trust,
    /// Two towers whose logits add up, of the document and of the position.
    Additive,
}

named!(ClickModelKind, "a click model":
    Pbm "pbm",
    Ubm "ubm",
    Cm "cm",
    Dcm "dcm",
    Sdbn "sdbn",
    Dbn "dbn",
    Ccm "ccm",
    Trust "trust",
    Additive "additive",
);

/// What front ends and documentation say of a model.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// What it is called in the literature.
    pub title: &'static str,
    /// What it assumes, in one line.
    pub help: &'static str,
    /// What a log needs for its parameters to be told apart.
    pub needs: &'static str,
    /// What no amount of clicks tells, and how it is settled.
    pub open: &'static str,
}

/// How the parameters of a model are estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// `P(click) = θ(slot)·γ`.
    Slots,
    /// From document to document, until the user stops.
    Cascade,
    /// `P(click) = θ(ε⁺γ + ε⁻(1−γ))`.
    Trust,
    /// `logit P(click) = f + b(slot)`.
    Additive,
}

const MOVED: &str = "documents at several positions, or features";
const FACTOR: &str =
    "examination and relevance are known up to a common factor; the largest examination of the population is set to 1";
const NOTHING: &str = "nothing, but because the model assumes that position 1 is always examined";

impl ClickModelKind {
    /// What is known of it.
    pub fn about(self) -> About {
        let (title, help, needs, open) = match self {
            ClickModelKind::Pbm => {
                ("position-based model", "each position is examined with its own probability", MOVED, FACTOR)
            }
            ClickModelKind::Ubm => (
                "user browsing model",
                "examination depends on the position and on that of the last click above",
                MOVED,
                FACTOR,
            ),
            ClickModelKind::Cm => (
                "cascade model",
                "people read from the top to the first click, and stop there",
                "sessions; only the first click of each counts",
                NOTHING,
            ),
            ClickModelKind::Dcm => (
                "dependent click model",
                "people read from the top, and after a click go on with a probability of the position",
                "sessions with several clicks",
                NOTHING,
            ),
            ClickModelKind::Sdbn => (
                "simplified dynamic Bayesian network",
                "people read from the top until a clicked document satisfies them",
                "sessions with several clicks",
                "the satisfaction of documents that were only shown last",
            ),
            ClickModelKind::Dbn => (
                "dynamic Bayesian network",
                "the same, and people may also give up at any document",
                "sessions with several clicks, and some documents at several positions",
                "the satisfaction of documents that were only shown last; where no document moves, giving up",
            ),
            ClickModelKind::Ccm => (
                "click chain model",
                "people read from the top; whether they go on depends on the click and on its relevance",
                "sessions with several clicks",
                NOTHING,
            ),
            ClickModelKind::Trust => (
                "trust-bias model",
                "as pbm, but examined documents are clicked by mistake, more so at the top",
                MOVED,
                "relevance up to an affine map, which the prior of relevance settles",
            ),
            ClickModelKind::Additive => (
                "additive two-tower model",
                "the logit of a click is that of the document plus that of the position",
                MOVED,
                "a constant between both towers; the first position has 0",
            ),
        };
        About { title, help, needs, open }
    }

    pub(super) fn family(self) -> Family {
        match self {
            ClickModelKind::Pbm | ClickModelKind::Ubm => Family::Slots,
            ClickModelKind::Trust => Family::Trust,
            ClickModelKind::Additive => Family::Additive,
            _ => Family::Cascade,
        }
    }

    /// Whether documents have a satisfaction σ beside their relevance γ.
    pub fn has_satisfaction(self) -> bool {
        matches!(self, ClickModelKind::Sdbn | ClickModelKind::Dbn)
    }

    /// How many parameters of users there are on pages with so many positions.
    pub fn parameter_count(self, positions: usize) -> usize {
        match self {
            ClickModelKind::Pbm | ClickModelKind::Dcm | ClickModelKind::Additive => positions,
            ClickModelKind::Ubm => positions * (positions + 1) / 2,
            ClickModelKind::Cm | ClickModelKind::Sdbn => 0,
            ClickModelKind::Dbn => 1,
            ClickModelKind::Ccm => 3,
            ClickModelKind::Trust => 3 * positions,
        }
    }

    /// The names of these parameters, as people read them.
    pub fn parameter_names(self, positions: usize) -> Vec<String> {
        let by_position = |name: &'static str| (1..=positions).map(move |k| format!("{name} {k}"));
        match self {
            ClickModelKind::Pbm => by_position("examination").collect(),
            ClickModelKind::Ubm => {
                (1..=positions).flat_map(|k| (0..k).map(move |from| format!("examination {from}→{k}"))).collect()
            }
            ClickModelKind::Cm | ClickModelKind::Sdbn => Vec::new(),
            ClickModelKind::Dcm => by_position("continuation").collect(),
            ClickModelKind::Dbn => vec!["continuation".into()],
            ClickModelKind::Ccm => {
                ["after a skip", "after an irrelevant click", "after a relevant click"].map(String::from).to_vec()
            }
            ClickModelKind::Trust => {
                ["examination", "right click", "wrong click"].into_iter().flat_map(by_position).collect()
            }
            ClickModelKind::Additive => by_position("logit").collect(),
        }
    }

    /// Where a last click at `from` (0 for none) and a position above it stand among the parameters of a slot model.
    pub(super) fn slot(self, from: u32, position: u32) -> usize {
        match self {
            ClickModelKind::Ubm => ((position - 1) * position / 2 + from) as usize,
            _ => position as usize - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_has_a_name_and_every_slot_its_own_place() {
        for kind in ClickModelKind::ALL {
            assert_eq!(kind.to_string().parse::<ClickModelKind>().unwrap(), kind);
            assert_eq!(kind.parameter_names(7).len(), kind.parameter_count(7), "{kind}");
            assert!(!kind.about().title.is_empty() && !kind.about().open.is_empty());
        }
        let mut slots: Vec<usize> =
            (1..=7).flat_map(|k| (0..k).map(move |from| ClickModelKind::Ubm.slot(from, k))).collect();
        slots.sort_unstable();
        assert_eq!(slots, (0..28).collect::<Vec<_>>());
    }
}

//! Answers to one word and one colour: yes, no or open, and whether that is good news.

/// The answer to a question of yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Yes: the measurements support it.
    Holds,
    /// No: the measurements contradict it.
    DoesNotHold,
    /// Not decided: too little was measured, or nothing.
    Open,
}

/// Whether something is good news.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As one would have it.
    Good,
    /// Something to act on.
    Bad,
    /// Not decided.
    Open,
    /// Neither good nor bad.
    Neutral,
}

/// A word with its tone, before a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Badge {
    name: &'static str,
    tone: Tone,
}

impl Verdict {
    /// Yes or no.
    pub fn of(holds: bool) -> Self {
        if holds { Verdict::Holds } else { Verdict::DoesNotHold }
    }

    /// Whether it holds, where that is decided.
    pub fn decided(self) -> Option<bool> {
        match self {
            Verdict::Holds => Some(true),
            Verdict::DoesNotHold => Some(false),
            Verdict::Open => None,
        }
    }

    /// The answer in a word: `Yes`, `No` or `Open`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "Yes",
            Verdict::DoesNotHold => "No",
            Verdict::Open => "Open",
        }
    }

    /// The word in colour, for a question to which yes is the good answer.
    pub fn badge(self) -> Badge {
        Badge { name: self.name(), tone: self.tone(Tone::Good, Tone::Bad) }
    }

    /// The word in colour, for a question such as “is there bias?”, to which no is the good answer.
    pub fn badge_of_problem(self) -> Badge {
        Badge { name: self.name(), tone: self.tone(Tone::Bad, Tone::Good) }
    }

    /// The word in colour, for a question to which neither answer is good or bad.
    pub fn badge_of_fact(self) -> Badge {
        Badge { name: self.name(), tone: self.tone(Tone::Neutral, Tone::Neutral) }
    }

    fn tone(self, yes: Tone, no: Tone) -> Tone {
        match self {
            Verdict::Holds => yes,
            Verdict::DoesNotHold => no,
            Verdict::Open => Tone::Open,
        }
    }
}

impl Badge {
    /// A word of its own, such as `Problem`.
    pub const fn new(name: &'static str, tone: Tone) -> Self {
        Badge { name, tone }
    }

    /// The word.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Whether it is good news.
    pub fn tone(self) -> Tone {
        self.tone
    }
}

impl Tone {
    /// Its name in style sheets.
    pub(super) fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Bad => "bad",
            Tone::Open => "open",
            Tone::Neutral => "neutral",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_can_be_good_or_bad_news() {
        let tones = |verdict: Verdict| (verdict.badge().tone(), verdict.badge_of_problem().tone());
        assert_eq!(tones(Verdict::Holds), (Tone::Good, Tone::Bad));
        assert_eq!(tones(Verdict::DoesNotHold), (Tone::Bad, Tone::Good));
        assert_eq!(tones(Verdict::Open), (Tone::Open, Tone::Open));
        assert_eq!([Verdict::Holds, Verdict::DoesNotHold, Verdict::Open].map(Verdict::name), ["Yes", "No", "Open"]);
    }
}

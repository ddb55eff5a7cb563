//! Draws sessions: a page and a model enter, clicks leave, with what no log shows.

use rand::RngExt;

use super::ClickModelKind;
use super::browsing::{Browsing, PageView, logistic, logit};
use super::kind::Family;
use crate::random::Random;

/// What happened on one page, by document from the top; reused from session to session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Session {
    /// Whether the document would be clicked once examined; for `trust` whether it is relevant.
    pub attractive: Vec<bool>,
    /// Whether it was examined. In the `additive` model, which has no examination, whether it was clicked.
    pub examined: Vec<bool>,
    /// Whether it was clicked.
    pub clicked: Vec<bool>,
    /// Whether it was clicked and satisfied the user, in models that have satisfaction.
    pub satisfied: Vec<bool>,
}

impl Session {
    fn begin(&mut self, len: usize) {
        for latents in [&mut self.examined, &mut self.clicked, &mut self.satisfied] {
            latents.clear();
            latents.resize(len, false);
        }
    }
}

impl Browsing {
    /// Draws a session.
    pub fn draw(&self, page: &PageView<'_>, random: &mut Random, session: &mut Session) {
        session.attractive.clear();
        session.attractive.extend(page.attraction.iter().map(|&gamma| random.random_bool(gamma)));
        self.browse(page, random, session);
    }

    /// Draws a session whose `attractive` documents are known.
    pub fn browse(&self, page: &PageView<'_>, random: &mut Random, session: &mut Session) {
        session.begin(page.len());
        match self.kind.family() {
            Family::Cascade => self.go_down(page, random, session),
            _ => self.look_at_slots(page, random, session),
        }
    }

    fn look_at_slots(&self, page: &PageView<'_>, random: &mut Random, session: &mut Session) {
        let mut last_click = 0;
        for (at, &position) in page.positions.iter().enumerate() {
            let value = self.values[self.kind.slot(last_click, position)];
            let attractive = session.attractive[at];
            let (examined, clicked) = match self.kind {
                ClickModelKind::Trust => {
                    let part = if attractive { self.positions } else { 2 * self.positions };
                    let examined = random.random_bool(value);
                    (examined, random.random_bool(self.values[part + position as usize - 1]) && examined)
                }
                ClickModelKind::Additive => {
                    let score = logit(page.attraction[at]) + value;
                    let clicked = random.random_bool(logistic(score));
                    (clicked, clicked)
                }
                _ => {
                    let examined = random.random_bool(value);
                    (examined, examined && attractive)
                }
            };
            (session.examined[at], session.clicked[at]) = (examined, clicked);
            if clicked {
                last_click = position;
            }
        }
    }

    fn go_down(&self, page: &PageView<'_>, random: &mut Random, session: &mut Session) {
        for at in 0..page.len() {
            session.examined[at] = true;
            session.clicked[at] = session.attractive[at];
            let goes_on = if session.clicked[at] {
                let pleases = self.pleases(page, at);
                session.satisfied[at] = pleases > 0.0 && random.random_bool(pleases);
                random.random_bool(self.after_click_if(page, at, session.satisfied[at]))
            } else {
                random.random_bool(self.after_skip())
            };
            if !goes_on {
                return;
            }
        }
    }

    /// The probability that a clicked document satisfies.
    fn pleases(&self, page: &PageView<'_>, at: usize) -> f64 {
        match self.kind {
            ClickModelKind::Sdbn | ClickModelKind::Dbn => page.satisfaction[at],
            ClickModelKind::Ccm => page.attraction[at],
            _ => 0.0,
        }
    }

    /// The probability of going on after a click that satisfied, or did not.
    fn after_click_if(&self, page: &PageView<'_>, at: usize, satisfied: bool) -> f64 {
        match self.kind {
            ClickModelKind::Dcm => self.values[page.positions[at] as usize - 1],
            ClickModelKind::Sdbn if !satisfied => 1.0,
            ClickModelKind::Dbn if !satisfied => self.values[0],
            ClickModelKind::Ccm => self.values[if satisfied { 2 } else { 1 }],
            _ => 0.0,
        }
    }
}

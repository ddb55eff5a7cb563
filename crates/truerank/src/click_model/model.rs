//! A fitted click model, and what it says about the pages of a log.

use super::browsing::{Browsing, Exposed, PageView, logistic, logit};
use super::{ClickLog, ClickModelKind};
use crate::ids::Ids;
use crate::propensity::Fit;
use crate::{Error, Result};

/// A click model with the parameters that a log, or a simulation, gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClickModel {
    /// Kinds of users, each with a model; one where users are not told apart, or each has parameters of their own.
    pub kinds: Vec<UserKind>,
    /// The users who are told apart.
    pub users: Ids,
    /// How they are.
    pub of_users: OfUsers,
    /// What pages are shown in, such as devices, where parameters differ by it; then users are alike.
    pub contexts: Ids,
    /// A row of parameters for each context.
    pub of_contexts: Vec<f64>,
    /// Queries of `documents`.
    pub queries: Ids,
    /// Documents of `documents`.
    pub docs: Ids,
    /// Sorted by query, document.
    pub documents: Vec<DocumentParameters>,
    /// γ of a document that the log did not show, by position; the last holds for all below.
    pub unseen_attraction: Vec<f64>,
    /// σ of such a document; empty where the model has none.
    pub unseen_satisfaction: Vec<f64>,
    /// How the fit went: penalised log-likelihood per impression.
    pub fit: Fit,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// A kind of users.
#[derive(Debug, Clone, PartialEq)]
pub struct UserKind {
    /// How they browse; where users have their own parameters, how a user nobody knows does.
    pub browsing: Browsing,
    /// Their share of users.
    pub share: f64,
    /// How many users are most likely of this kind.
    pub users: usize,
}

/// How users differ.
#[derive(Debug, Clone, PartialEq)]
pub enum OfUsers {
    /// They do not.
    Alike,
    /// A row of parameters for each.
    Parameters(Vec<f64>),
    /// For each the probability of each kind.
    Shares(Vec<f64>),
    /// For each the kind, as only a simulation knows it.
    Known(Vec<KnownUser>),
}

/// A user whose kind is known.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownUser {
    /// Number of the kind.
    pub kind: u32,
    /// The user's own parameters of its model, where they are not the kind's.
    pub values: Option<Vec<f64>>,
}

/// What the model knows of a document of a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DocumentParameters {
    /// Number of the query.
    pub query: u32,
    /// Number of the document.
    pub doc: u32,
    /// γ: the probability of a click, once it is examined.
    pub attraction: f64,
    /// σ: the probability that a click on it satisfies, in models that have it.
    pub satisfaction: Option<f64>,
}

/// γ that may not be exceeded, so that a skip is possible.
const MOST: f64 = 1.0 - 1e-9;

impl ClickModel {
    /// How many positions it knows.
    pub fn positions(&self) -> usize {
        self.kinds.first().map_or(0, |kind| kind.browsing.positions)
    }

    /// The models of its kinds of users, each once.
    pub fn models(&self) -> Vec<ClickModelKind> {
        let mut models: Vec<ClickModelKind> = Vec::new();
        for kind in &self.kinds {
            if !models.contains(&kind.browsing.kind) {
                models.push(kind.browsing.kind);
            }
        }
        models
    }

    /// How many parameters of users a row has, where users have their own.
    pub fn width(&self) -> usize {
        self.kinds[0].browsing.values.len()
    }

    /// Checks that every value can be what it is and that the parts fit together.
    pub fn check(&self) -> Result<()> {
        if self.kinds.is_empty() || self.positions() == 0 {
            return Err(Error::parameter("a click model should have a kind of users and a position, but has none"));
        }
        for UserKind { browsing, share, .. } in &self.kinds {
            check_row(browsing.kind, &browsing.values, browsing.kind.parameter_count(self.positions()))?;
            if !(0.0..=1.0).contains(share) || browsing.positions != self.positions() {
                return Err(Error::parameter(
                    "kinds of users should have shares between 0 and 1 and the same positions",
                ));
            }
        }
        self.check_users()?;
        self.check_contexts()?;
        self.check_documents()
    }

    fn check_users(&self) -> Result<()> {
        let (found, width) = match &self.of_users {
            OfUsers::Alike => (0, 0),
            OfUsers::Parameters(values) => (values.len(), self.width()),
            OfUsers::Shares(values) => (values.len(), self.kinds.len()),
            OfUsers::Known(users) => (users.len(), 1),
        };
        if found != width * self.users.len() {
            return Err(Error::parameter(format!(
                "a click model should have {width} values for each of {} users, but has {found} in all",
                self.users.len()
            )));
        }
        let probability = |value: &&f64| !(0.0..=1.0).contains(*value);
        match &self.of_users {
            OfUsers::Shares(values) => values.iter().find(probability).map_or(Ok(()), |value| {
                Err(Error::parameter(format!("the share of a kind should be between 0 and 1, but is {value}")))
            }),
            OfUsers::Parameters(values) => {
                values.chunks_exact(width.max(1)).try_for_each(|row| check_row(self.kinds[0].browsing.kind, row, width))
            }
            OfUsers::Known(users) => users.iter().try_for_each(|user| self.check_known(user)),
            OfUsers::Alike => Ok(()),
        }
    }

    fn check_contexts(&self) -> Result<()> {
        if self.contexts.is_empty() && self.of_contexts.is_empty() {
            return Ok(());
        }
        let (width, contexts, found) = (self.width(), self.contexts.len(), self.of_contexts.len());
        if found != width * contexts || width == 0 {
            return Err(Error::parameter(format!(
                "a click model should have {width} values for each of {contexts} contexts, but has {found} in all"
            )));
        }
        if self.of_users != OfUsers::Alike || self.kinds.len() > 1 {
            return Err(Error::parameter("a click model with contexts should have one kind of users, who are alike"));
        }
        self.of_contexts.chunks_exact(width).try_for_each(|row| check_row(self.kinds[0].browsing.kind, row, width))
    }

    fn check_known(&self, user: &KnownUser) -> Result<()> {
        let (number, kinds) = (u64::from(user.kind) + 1, self.kinds.len());
        let Some(UserKind { browsing, .. }) = self.kinds.get(user.kind as usize) else {
            let rule = format!("the kind of a user should be between 1 and {kinds}, but is {number}");
            return Err(Error::parameter(rule));
        };
        let width = browsing.kind.parameter_count(self.positions());
        user.values.as_ref().map_or(Ok(()), |values| check_row(browsing.kind, values, width))
    }

    fn check_documents(&self) -> Result<()> {
        let needed = self.kinds.iter().any(|kind| kind.browsing.kind.has_satisfaction());
        let unseen = self.unseen_attraction.iter().chain(&self.unseen_satisfaction);
        let all = self.documents.iter().flat_map(|document| [Some(document.attraction), document.satisfaction]);
        if let Some(value) = all.flatten().chain(unseen.copied()).find(|value| !(0.0..=1.0).contains(value)) {
            return Err(Error::parameter(format!(
                "attraction and satisfaction should be between 0 and 1, but one is {value}"
            )));
        }
        let complete = self.documents.iter().all(|document| document.satisfaction.is_some() == needed);
        if !complete || self.unseen_attraction.is_empty() || self.unseen_satisfaction.is_empty() == needed {
            return Err(Error::parameter(
                "documents should have a satisfaction where the model has one, and only there",
            ));
        }
        let known = |document: &DocumentParameters| {
            (document.query as usize) < self.queries.len() && (document.doc as usize) < self.docs.len()
        };
        let sorted = self.documents.windows(2).all(|pair| (pair[0].query, pair[0].doc) < (pair[1].query, pair[1].doc));
        match sorted && self.documents.iter().all(known) {
            true => Ok(()),
            false => Err(Error::parameter("documents should be sorted by query and document, each once")),
        }
    }

    /// Settles what clicks leave open: the population's largest θ is 1, or the first logit 0.
    pub(super) fn fix_scale(&mut self) {
        let [kind] = &self.kinds[..] else { return };
        let values = &kind.browsing.values;
        match kind.browsing.kind {
            ClickModelKind::Pbm | ClickModelKind::Ubm => {
                let most = values.iter().copied().fold(0.0, f64::max);
                self.rescale(|value| value / most, |gamma| gamma * most);
            }
            ClickModelKind::Additive => {
                let first = values[0];
                self.rescale(|value| value - first, |gamma| logistic(logit(gamma) + first));
            }
            _ => {}
        }
    }

    fn rescale(&mut self, of_users: impl Fn(f64) -> f64, of_documents: impl Fn(f64) -> f64) {
        self.kinds[0].browsing.values.iter_mut().for_each(|value| *value = of_users(*value));
        if let OfUsers::Parameters(values) = &mut self.of_users {
            values.iter_mut().for_each(|value| *value = of_users(*value));
        }
        self.of_contexts.iter_mut().for_each(|value| *value = of_users(*value));
        self.documents
            .iter_mut()
            .for_each(|document| document.attraction = of_documents(document.attraction).min(MOST));
        self.unseen_attraction.iter_mut().for_each(|value| *value = of_documents(*value).min(MOST));
    }

    /// Looks up the users, contexts and documents of a log. A position past the last one of the model is an error, and so is a log
    /// without contexts where the model has them.
    pub fn on<'m>(&'m self, log: &'m ClickLog<'m>) -> Result<ModelOnLog<'m>> {
        log.check()?;
        let shown = log.transitions.shown.iter().find(|shown| shown.position as usize > self.positions());
        if let Some(shown) = shown {
            return Err(Error::parameter(format!(
                "document {} was shown at position {}, but the click model ends at position {}; fit it to all positions",
                log.docs.name(shown.doc as usize),
                shown.position,
                self.positions()
            )));
        }
        if !self.contexts.is_empty() && log.contexts.is_empty() {
            return Err(Error::parameter(format!(
                "the click model has parameters by context, such as {}, but the log has no contexts; count it with `context`, or \
                 fit a model with `ignore_context`",
                self.contexts.name(0)
            )));
        }
        Ok(ModelOnLog {
            model: self,
            log,
            users: log.users.numbers_in(&self.users),
            queries: log.queries.numbers_in(&self.queries),
            docs: log.docs.numbers_in(&self.docs),
            contexts: log.contexts.numbers_in(&self.contexts),
        })
    }
}

/// θ may exceed 1 for a user who looks more than people do on average; logits may be anything; all else are probabilities.
fn check_row(kind: ClickModelKind, row: &[f64], width: usize) -> Result<()> {
    if row.len() != width {
        return Err(Error::parameter(format!("{kind} should have {width} parameters, but has {}", row.len())));
    }
    let allowed = |value: f64| match kind {
        ClickModelKind::Additive => value.is_finite(),
        ClickModelKind::Pbm | ClickModelKind::Ubm => value.is_finite() && value >= 0.0,
        _ => (0.0..=1.0).contains(&value),
    };
    match row.iter().find(|value| !allowed(**value)) {
        None => Ok(()),
        Some(value) => Err(Error::parameter(format!("a parameter of {kind} is {value}, but should be a probability"))),
    }
}

/// A click model with the users and documents of a log looked up.
pub struct ModelOnLog<'m> {
    model: &'m ClickModel,
    pub(super) log: &'m ClickLog<'m>,
    users: Vec<Option<u32>>,
    queries: Vec<Option<u32>>,
    docs: Vec<Option<u32>>,
    contexts: Vec<Option<u32>>,
}

/// A page of a log with what the model knows of its documents.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListParameters {
    /// Positions, rising.
    pub positions: Vec<u32>,
    /// γ of each document.
    pub attraction: Vec<f64>,
    /// σ of each document; empty where the model has none.
    pub satisfaction: Vec<f64>,
    /// How many of them the model does not know.
    pub unknown: usize,
}

impl ListParameters {
    /// The page as models see it.
    pub fn view(&self) -> PageView<'_> {
        PageView { positions: &self.positions, attraction: &self.attraction, satisfaction: &self.satisfaction }
    }
}

/// The models that a user follows, each with its probability.
pub type Followed = Vec<(f64, Browsing)>;

impl ModelOnLog<'_> {
    /// How many positions the model knows.
    pub fn positions(&self) -> usize {
        self.model.positions()
    }

    /// The documents of list number `list` of the log's transitions.
    pub fn list(&self, list: usize) -> ListParameters {
        let list = &self.log.transitions.lists[list];
        let mut found = ListParameters::default();
        for shown in self.log.transitions.of(list) {
            let known = self.document(list.query, shown.doc);
            let place = |values: &[f64]| values[(shown.position as usize).min(values.len()) - 1];
            found.unknown += usize::from(known.is_none());
            found.positions.push(shown.position);
            let unseen = || place(&self.model.unseen_attraction);
            found.attraction.push(known.map_or_else(unseen, |document| document.attraction));
            if !self.model.unseen_satisfaction.is_empty() {
                let satisfaction = known.and_then(|document| document.satisfaction);
                found.satisfaction.push(satisfaction.unwrap_or_else(|| place(&self.model.unseen_satisfaction)));
            }
        }
        found
    }

    fn document(&self, query: u32, doc: u32) -> Option<&DocumentParameters> {
        let key = (self.queries[query as usize]?, self.docs[doc as usize]?);
        let documents = &self.model.documents;
        let found = documents.binary_search_by_key(&key, |document| (document.query, document.doc)).ok()?;
        Some(&documents[found])
    }

    /// How user number `user` of the log browses; as the population does where the model does not know them.
    pub fn of_user(&self, user: u32) -> Followed {
        let Some(number) = self.users[user as usize] else { return self.population() };
        let row = |values: &[f64], width: usize| values[number as usize * width..][..width].to_vec();
        match &self.model.of_users {
            OfUsers::Alike => self.population(),
            OfUsers::Parameters(values) => {
                let values = row(values, self.model.width());
                vec![(1.0, Browsing { values, ..self.model.kinds[0].browsing.clone() })]
            }
            OfUsers::Shares(values) => {
                let shares = row(values, self.model.kinds.len()).into_iter().zip(&self.model.kinds);
                let likely = shares.filter(|(share, _)| *share > 1e-6);
                likely.map(|(share, kind)| (share, kind.browsing.clone())).collect()
            }
            OfUsers::Known(users) => {
                let KnownUser { kind, values } = &users[number as usize];
                let browsing = &self.model.kinds[*kind as usize].browsing;
                let values = values.as_ref().unwrap_or(&browsing.values).clone();
                vec![(1.0, Browsing { values, ..browsing.clone() })]
            }
        }
    }

    /// How user number `user` of the log browses on the pages of list number `list`.
    pub fn on_list(&self, list: usize, user: u32) -> Followed {
        if self.model.contexts.is_empty() { self.of_user(user) } else { self.population_on(list) }
    }

    /// How users browse on the pages of list number `list` whom nobody knows; in a context that the model does not know, as in
    /// all others on average.
    pub fn population_on(&self, list: usize) -> Followed {
        let context = self.log.transitions.lists[list].context as usize;
        let Some(number) = self.contexts.get(context).copied().flatten() else { return self.population() };
        let width = self.model.width();
        let Some(row) = self.model.of_contexts.chunks_exact(width.max(1)).nth(number as usize) else {
            return self.population();
        };
        vec![(1.0, Browsing { values: row.to_vec(), ..self.model.kinds[0].browsing.clone() })]
    }

    /// How many contexts of the log the model does not know, where it has any.
    pub fn unknown_contexts(&self) -> usize {
        match self.model.contexts.is_empty() {
            true => 0,
            false => self.contexts.iter().filter(|context| context.is_none()).count(),
        }
    }

    /// How users browse whom nobody knows.
    pub fn population(&self) -> Followed {
        self.model.kinds.iter().map(|kind| (kind.share, kind.browsing.clone())).collect()
    }

    /// How many users of the log the model has nothing of their own for, where it has for others.
    pub fn unknown_users(&self) -> usize {
        match self.model.of_users {
            OfUsers::Alike => 0,
            _ => self.users.iter().filter(|user| user.is_none()).count(),
        }
    }
}

/// Conditional exposure of the documents from number `from` on, as [`Browsing::exposed_after`] has it, under models that are
/// followed with some probability each.
pub fn exposed_after(followed: &[(f64, Browsing)], page: &PageView<'_>, from: usize) -> Vec<Exposed> {
    let mut all = vec![Exposed { slope: 0.0, shift: 0.0 }; page.len() - from];
    let total: f64 = followed.iter().map(|(share, _)| share).sum();
    for (share, browsing) in followed {
        for (sum, exposed) in all.iter_mut().zip(browsing.exposed_after(page, from)) {
            sum.slope += share / total * exposed.slope;
            sum.shift += share / total * exposed.shift;
        }
    }
    all
}

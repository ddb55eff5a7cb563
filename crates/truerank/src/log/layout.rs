//! Where the fields of a log stand among the columns of a file.

use std::path::Path;

use super::click_when::ClickWhen;
use super::events::EventLayout;
use super::finder::Finder;
use super::missing::{Missing, error_of};
use super::options::ReadOptions;
use super::pages::Lists;
use crate::Result;

/// Where a field of a log was read from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadColumn {
    /// The field: `session`, `user`, `query`, `doc`, `position`, `click`, `time` or `context`.
    pub field: &'static str,
    /// The column, several joined by `+`, or the condition that makes a click.
    pub column: String,
    /// Whether nobody said so, and the column's name is another one.
    pub guessed: bool,
}

/// Where the fields stand among the columns of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layout {
    /// Several together are one session. None: each record is a page of its own.
    pub session: Vec<usize>,
    /// None: all rows are of one anonymous user.
    pub user: Option<usize>,
    /// Several together are one query. None: all pages share one.
    pub query: Vec<usize>,
    pub doc: usize,
    /// None only for result pages, whose documents then stand in their order.
    pub position: Option<usize>,
    /// Where clicks are; in a log of events, where the clicked document is.
    pub click: usize,
    /// What makes a click, where that is not 0 or 1.
    pub click_when: Option<ClickWhen>,
    /// Which records show documents and which are clicks, in a log of events.
    pub events: Option<EventLayout>,
    /// None: times are not read.
    pub time: Option<usize>,
    /// Several together are one context. None: contexts are not read.
    pub context: Vec<usize>,
    /// Further columns of numbers.
    pub numbers: Vec<usize>,
    pub number_names: Vec<String>,
    /// How lists are read, in a log with one row per result page.
    pub lists: Option<Lists>,
    pub reads: Vec<ReadColumn>,
    /// What is not there, and only a log of whole pages can do without.
    pub missing: Vec<Missing>,
}

impl Layout {
    /// Finds the fields among the columns `found` in a file.
    pub fn find(path: &Path, found: &[String], options: &ReadOptions) -> Result<Self> {
        options.check()?;
        Finder::new(path, found, options).layout()
    }

    /// Every log needs positions and sessions, except one of whole pages: there a record is a page, in its order.
    pub fn check(&self, path: &Path, found: &[String], options: &ReadOptions) -> Result<()> {
        match self.missing.is_empty() || self.lists.is_some() {
            true => Ok(()),
            false => Err(error_of(path, &self.missing, found, &self.reads, options)),
        }
    }

    /// Whether a row is an impression and nothing more.
    pub fn is_plain(&self) -> bool {
        let is_simple = self.lists.is_none() && self.click_when.is_none() && self.events.is_none();
        is_simple
            && self.context.is_empty()
            && self.session.len() == 1
            && self.query.len() == 1
            && self.time.is_none()
            && self.numbers.is_empty()
    }

    /// Gives every column another number.
    pub fn renumber(&mut self, number: impl Fn(usize) -> usize) {
        let event = self.events.as_mut().map(|events| &mut events.column);
        let single = [Some(&mut self.doc), Some(&mut self.click), event].into_iter();
        let optional = [self.user.as_mut(), self.position.as_mut(), self.time.as_mut()].into_iter();
        let several = self.session.iter_mut().chain(&mut self.query).chain(&mut self.context).chain(&mut self.numbers);
        single.chain(optional).flatten().chain(several).for_each(|column| *column = number(*column));
    }

    /// The columns that are read, sorted.
    pub fn columns(&self) -> Vec<usize> {
        let event = self.events.as_ref().map(|events| events.column);
        let single = [Some(self.doc), Some(self.click), event, self.user, self.position, self.time];
        let several = self.session.iter().chain(&self.query).chain(&self.context).chain(&self.numbers);
        let mut columns: Vec<usize> = several.copied().collect();
        columns.extend(single.into_iter().flatten());
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Columns;

    fn find(found: &str, mappings: &[&str]) -> Result<Layout> {
        let mut columns = Columns::default();
        mappings.iter().for_each(|mapping| columns.map_text(mapping).unwrap());
        let found: Vec<String> = found.split(',').map(String::from).collect();
        Layout::find(Path::new("c.csv"), &found, &ReadOptions::new().columns(columns))
    }

    fn error(found: &str, mappings: &[&str]) -> String {
        find(found, mappings).unwrap_err().to_string()
    }

    #[test]
    fn own_names_come_before_said_guesses() {
        let layout = find("session,user,query,doc,position,click,rank,uid", &[]).unwrap();
        assert_eq!((layout.user, layout.position), (Some(1), Some(4)));
        assert!(layout.reads.iter().all(|read| !read.guessed));
        let layout = find("search_id,ClientId,q,url,rank,clicked", &[]).unwrap();
        assert_eq!((layout.session, layout.user, layout.query, layout.doc), (vec![0], Some(1), vec![2], 3));
        assert_eq!((layout.position, layout.click, layout.reads.iter().filter(|r| r.guessed).count()), (Some(4), 5, 6));
    }

    #[test]
    fn two_candidates_are_named() {
        assert_eq!(
            error("session,uid,client_id,query,doc,position,click", &[]),
            "c.csv: has columns 'uid' and 'client_id', and either could be the user; say which with `columns` user=NAME"
        );
        let said = find("session,uid,client_id,query,doc,position,click", &["user=client_id"]).unwrap();
        assert_eq!(said.user, Some(2));
        // What is said to be something else is no candidate.
        let other = find("session,uid,client_id,query,doc,position,click", &["session=uid"]).unwrap();
        assert_eq!((other.session, other.user), (vec![1], Some(2)));
    }

    #[test]
    fn sessions_may_be_several_columns_and_users_may_be_missing() {
        let layout = find("user,task,serp,query,doc,position,click", &["session=user+task+serp"]).unwrap();
        assert_eq!((layout.session, layout.user), (vec![0, 1, 2], Some(0)));
        assert_eq!(find("session,query,doc,position,click", &[]).unwrap().user, None);
        assert_eq!(find("session,user,query,doc,position,click", &["user="]).unwrap().user, None);
        assert_eq!(find("a+b,user,query,doc,position,click", &["session=a+b"]).unwrap().session, [0]);
        assert!(
            error("a,user,query,doc,position,click", &["session=a+b"]).contains("has no column 'b'; it has a, user")
        );
    }

    #[test]
    fn queries_may_be_several_columns_or_none() {
        let layout = find("session,country,device,doc,position,click", &["query=country+device"]).unwrap();
        assert_eq!(layout.query, [1, 2]);
        assert_eq!(layout.reads.iter().find(|read| read.field == "query").unwrap().column, "country+device");
        assert!(find("session,topic,doc,position,click", &["query="]).unwrap().query.is_empty());
        assert!(find("topic,doc,position,click", &["session="]).unwrap().session.is_empty());
    }

    #[test]
    fn what_makes_a_click_is_no_column_of_something_else() {
        let options = ReadOptions::new().click_when("rank>3".parse().unwrap());
        let found = ["session", "query", "doc", "rank", "pos"].map(String::from);
        let layout = Layout::find(Path::new("c.csv"), &found, &options).unwrap();
        assert_eq!((layout.click, layout.position), (3, Some(4)));
        assert!(!layout.is_plain());
        let mut columns = Columns::default();
        columns.map("click", "rank").unwrap();
        let error = Layout::find(Path::new("c.csv"), &found, &options.columns(columns)).unwrap_err().to_string();
        assert!(error.starts_with("`click_when` is 'rank>3' and `columns` has click=rank"), "{error}");
    }

    #[test]
    fn what_is_missing_is_named_with_what_is_there() {
        assert_eq!(
            error("session,user,query,position,click", &[]),
            "c.csv: has no column 'doc', but a log needs one; it has session, user, query, position, click; name yours \
             with `columns` doc=NAME"
        );
        assert!(error("session,user,query,doc,position", &[]).contains("A log of clicks alone will not do"));
        assert!(
            error("session,user,query,doc,position", &["user=who"]).contains("lacks 2 columns: 'who', 'click'; it has")
        );
        assert!(error("session,user,query,doc,position,click", &["user=who"]).contains("has no column 'who'"));
        assert!(error("session,user,user,query,doc,position,click", &[]).contains("has two columns 'user'"));
        let layout = find("user,query,doc,position,click", &[]).unwrap();
        let found: Vec<String> = "user,query,doc,position,click".split(',').map(String::from).collect();
        let error = layout.check(Path::new("c.csv"), &found, &ReadOptions::new()).unwrap_err().to_string();
        assert!(error.contains("has no column 'session'") && error.contains("session=NAME+NAME"), "{error}");
    }

    #[test]
    fn all_that_is_missing_is_said_at_once_with_few_names_that_are_close() {
        let many: String = (0..80).map(|i| format!("feature_{i},")).collect();
        let error = error(&format!("{many}quary,main_document"), &["session=page"]);
        assert_eq!(
            error,
            "c.csv: lacks 5 columns: 'page', 'query' (closest: quary), 'doc' (closest: main_document), 'click', \
             'position'; it has feature_0, feature_1, feature_2, feature_3, feature_4 and 77 more; name yours with `columns` \
             session=NAME `columns` query=NAME `columns` doc=NAME `columns` click=NAME `columns` position=NAME; query= says that \
             there are no queries; `click_when` 'NAME>0' says what else is a click. A log of clicks alone will not do: log \
             every result that was shown"
        );
    }
}

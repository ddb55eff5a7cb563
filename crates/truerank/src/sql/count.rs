//! The statements that count a log, from one template.

use super::click::click_value;
use super::dialect::Dialect;
use crate::log::{ALL_PAGES, ClickWhen, Columns, MAX_POSITION, QUERY_JOINT};
use crate::options::options;
use crate::{Error, Result};

const TEMPLATE: &str = include_str!("count.sql");

/// Between the parts of a session that is made of several columns, as when counting without SQL.
const JOINT: &str = "CHR(31)";

options! {
    /// How a log in a warehouse is counted.
    pub struct SqlOptions {
        /// Whose SQL it is.
        dialect: Dialect = Dialect::Spark;
        /// The column of session, user, query, doc, position or click, such as user=client_id.
        columns: Columns = Columns::default(), value("FIELD=NAME"), alias("column"), usual("the field's name");
        /// What makes a click, instead of a column of 0 and 1: 'dwell_time>0', 'action=click|purchase' or 'dwell_time present'.
        click_when: Option<ClickWhen> = None, value("CONDITION");
        /// The table of the log; of a dotted name each part is quoted.
        log: String = "log".to_string(), value("TABLE");
    }
}

/// Counts a log in a warehouse: the statements make the cells, sessions, patterns and transitions that [`counts`](crate::counts) does.
///
/// ```
/// use truerank::log::Columns;
/// use truerank::sql::{CountSql, Dialect};
/// let mut columns = Columns::default();
/// columns.map("user", "client id")?;
/// let sql = CountSql::new(Dialect::DuckDb).columns(&columns)?.table("clicks").script();
/// assert!(sql.contains("\"client id\" AS \"user\"") && sql.contains("FROM \"clicks\""));
/// # Ok::<(), truerank::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountSql {
    dialect: Dialect,
    source: String,
    fields: [String; 6],
    /// A column that says where a row comes from, passed through.
    place: Option<&'static str>,
}

/// What the statements make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountView {
    /// The impressions, with what is wrong with them.
    Log,
    /// What each page shows.
    Shown,
    /// The pages.
    Pages,
    /// What is wrong with the log.
    Checks,
    /// The cells.
    Cells,
    /// The sessions of each query and user.
    Sessions,
    /// Pages that look the same.
    Patterns,
    /// Pages that show several documents at one position.
    SharedPositions,
    /// The list of each page.
    PageLists,
    /// The lists.
    Lists,
    /// The steps of each page.
    Steps,
    /// Steps that are the same.
    Transitions,
}

impl CountView {
    /// All, each after those that it reads.
    pub const ALL: [CountView; 12] = [
        CountView::Log,
        CountView::Shown,
        CountView::Pages,
        CountView::Checks,
        CountView::Cells,
        CountView::Sessions,
        CountView::Patterns,
        CountView::SharedPositions,
        CountView::PageLists,
        CountView::Lists,
        CountView::Steps,
        CountView::Transitions,
    ];

    /// Its name in the statements.
    pub fn name(self) -> &'static str {
        [
            "truerank_log",
            "truerank_shown",
            "truerank_pages",
            "truerank_checks",
            "truerank_cells",
            "truerank_sessions",
            "truerank_patterns",
            "truerank_shared_positions",
            "truerank_page_lists",
            "truerank_lists",
            "truerank_steps",
            "truerank_transitions",
        ][self as usize]
    }

    /// What it is sorted by, where that matters; quoted as the dialect does.
    pub fn order(self, dialect: Dialect) -> Option<String> {
        let user = dialect.identifier("user");
        match self {
            CountView::Cells => Some(format!("query, doc, position, {user}")),
            CountView::Sessions => Some(format!("query, {user}")),
            CountView::Patterns => Some(format!("query, shown, {user}")),
            CountView::Lists => Some("query, list".to_string()),
            // The end of a page comes last.
            CountView::Transitions => Some(format!("query, list, {user}, from_position, to_position = 0, to_position")),
            _ => None,
        }
    }
}

impl CountSql {
    /// Counts a table called `log` with columns named as the fields are.
    pub fn new(dialect: Dialect) -> Self {
        let mut fields = ["session", "user", "query", "doc", "position", "click"].map(|name| dialect.identifier(name));
        fields[0] = joined(dialect, &["session"], JOINT);
        CountSql { dialect, source: String::new(), fields, place: None }.table("log")
    }

    /// Counts as the options say.
    pub fn of(options: &SqlOptions) -> Result<Self> {
        let SqlOptions { dialect, columns, click_when, log } = options;
        crate::log::check_click(click_when.as_ref(), columns)?;
        let sql = CountSql::new(*dialect).columns(columns)?.table(log);
        Ok(match click_when {
            Some(when) => sql.click_when(when),
            None => sql,
        })
    }

    /// The table of the log. Where its name has dots, each part is quoted by itself. Default: `log`.
    pub fn table(mut self, name: &str) -> Self {
        let parts: Vec<String> = name.split('.').map(|part| self.dialect.identifier(part)).collect();
        self.source = parts.join(".");
        self
    }

    /// The names of the columns. Default: those of the fields.
    ///
    /// A log without sessions is refused: rows of a table have no numbers that could tell pages apart.
    pub fn columns(mut self, columns: &Columns) -> Result<Self> {
        let dialect = self.dialect;
        let fields = columns.named();
        if fields.session.is_empty() {
            let finding = "session= says that each row is a page, but rows of a table have no numbers in SQL; make a column \
                           that tells pages apart and name it";
            return Err(Error::parameter(finding));
        }
        let column = |name: &str| dialect.identifier(name);
        let user = fields.user.map_or_else(|| dialect.literal(crate::log::ANONYMOUS), column);
        let query = match fields.query[..] {
            [] => dialect.literal(ALL_PAGES),
            [query] => column(query),
            ref several => joined(dialect, several, &dialect.literal(QUERY_JOINT)),
        };
        self.fields = [
            joined(dialect, &fields.session, JOINT),
            user,
            query,
            column(fields.doc),
            column(fields.position),
            column(fields.click),
        ];
        Ok(self)
    }

    /// What makes a click, instead of a column of 0 and 1; comes after [`columns`](Self::columns). Default: that column.
    pub fn click_when(mut self, when: &ClickWhen) -> Self {
        self.fields[5] = click_value(self.dialect, when, &self.dialect.identifier(when.column()));
        self
    }

    /// Passes a column of this name on to [`CountView::Log`].
    pub(crate) fn place(mut self, place: &'static str) -> Self {
        self.place = Some(place);
        self
    }

    /// All statements, and the queries that give the results.
    pub fn script(&self) -> String {
        let mut script = self.render(TEMPLATE);
        script +=
            "\n-- Must be empty.\nSELECT * FROM truerank_checks;\n\n-- Must be empty where transitions are wanted.\n";
        script += "SELECT * FROM truerank_shared_positions;\n\n-- The tables of a folder of counts, sorted as there.\n";
        for view in CountView::ALL {
            if let Some(order) = view.order(self.dialect) {
                script += &format!("SELECT * FROM {} ORDER BY {order};\n", view.name());
            }
        }
        script
    }

    /// The query behind one of the views.
    pub fn query(&self, view: CountView) -> String {
        let head = format!("{{create}} {} AS\n", view.name());
        let body = TEMPLATE.split_once(&head).map_or("", |(_, rest)| rest);
        self.render(body.split_once(";\n").map_or(body, |(query, _)| query))
    }

    /// Fills in the template. What is filled in is not looked at again, whatever it contains.
    fn render(&self, template: &str) -> String {
        let mut text = String::with_capacity(2 * template.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            text += before;
            let Some((name, behind)) = after.split_once('}') else { break };
            text += &self.value(name);
            rest = behind;
        }
        text + rest
    }

    fn value(&self, placeholder: &str) -> String {
        let [session, user, query, doc, position, click] = &self.fields;
        match placeholder {
            "log" => self.source.clone(),
            "session_column" => session.clone(),
            "user_column" => user.clone(),
            "query_column" => query.clone(),
            "doc_column" => doc.clone(),
            "position_column" => position.clone(),
            "click_column" => click.clone(),
            "user" => self.dialect.identifier("user"),
            "max_position" => MAX_POSITION.to_string(),
            "place" => self.place.map_or(String::new(), |place| format!(", {place}")),
            word => self.dialect.word(word).to_string(),
        }
    }
}

/// Several columns as one text: missing where one of its parts is missing or empty.
fn joined(dialect: Dialect, columns: &[&str], joint: &str) -> String {
    let text = dialect.word("text");
    let parts = columns.iter().map(|column| format!("NULLIF(CAST({} AS {text}), '')", dialect.identifier(column)));
    parts.collect::<Vec<_>>().join(&format!(" || {joint} || "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(mappings: &[&str]) -> Columns {
        let mut columns = Columns::default();
        mappings.iter().for_each(|mapping| columns.map_text(mapping).unwrap());
        columns
    }

    #[test]
    fn every_placeholder_has_a_value_in_every_dialect() {
        for dialect in Dialect::ALL {
            let script = CountSql::new(dialect).script();
            assert!(!script.contains(['{', '}']), "{script}");
            for view in CountView::ALL {
                let query = CountSql::new(dialect).query(view);
                assert!(query.starts_with("SELECT") && !query.contains(';'), "{query}");
                assert!(script.contains(&format!("{} {} AS\n{query};", dialect.words()[0].1, view.name())));
            }
        }
    }

    #[test]
    fn names_are_data_even_if_they_look_like_placeholders_or_sql() {
        let nasty = "{log}\"; DROP TABLE clicks; --";
        let sql = CountSql::new(Dialect::DuckDb).columns(&columns(&[&format!("doc={nasty}")])).unwrap().table("{text}");
        let query = sql.query(CountView::Log);
        assert!(query.contains("\"{log}\"\"; DROP TABLE clicks; --\" AS doc"), "{query}");
        assert!(query.contains("FROM \"{text}\""), "{query}");
        let table = CountSql::new(Dialect::BigQuery).table("my-project.logs.clicks").query(CountView::Log);
        assert!(table.contains("FROM `my-project`.`logs`.`clicks`"), "{table}");
    }

    #[test]
    fn sessions_may_be_several_columns_and_users_none() {
        let sql = CountSql::new(Dialect::Spark).columns(&columns(&["session=user+ta`sk", "user="])).unwrap();
        let query = sql.query(CountView::Log);
        let session =
            "NULLIF(CAST(`user` AS STRING), '') || CHR(31) || NULLIF(CAST(`ta``sk` AS STRING), '') AS session";
        assert!(query.contains(session), "{query}");
        assert!(query.contains("'anonymous' AS `user`"), "{query}");
    }

    #[test]
    fn queries_may_be_several_columns_or_none_and_sessions_must_be_there() {
        let query = |mapping: &str| {
            let sql = CountSql::new(Dialect::DuckDb).columns(&columns(&[mapping]));
            sql.map(|sql| sql.query(CountView::Log)).map_err(|error| error.to_string())
        };
        assert!(query("query=").unwrap().contains("'all' AS query"));
        let joined = "NULLIF(CAST(\"a\" AS VARCHAR), '') || '+' || NULLIF(CAST(\"b\" AS VARCHAR), '') AS query";
        assert!(query("query=a+b").unwrap().contains(joined));
        assert!(query("session=").unwrap_err().starts_with("session= says that each row is a page"));
    }
}

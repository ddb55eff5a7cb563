//! Usual names of a log's columns, for those that are not said.

use super::columns::Field;

/// Names under which a field is known elsewhere, in small letters and without `_`, `-`, `.` and spaces.
pub(super) fn usual_names(field: Field) -> &'static [&'static str] {
    match field {
        Field::Session => &[
            "session",
            "sessionid",
            "searchid",
            "searchsession",
            "searchsessionid",
            "serp",
            "serpid",
            "requestid",
            "pageid",
            "pageviewid",
            "resultpage",
            "resultpageid",
            "visit",
            "visitid",
            "impressionid",
            "querysession",
            "querysessionid",
            "sessid",
            "sid",
        ],
        Field::User => &[
            "user",
            "userid",
            "client",
            "clientid",
            "uid",
            "visitor",
            "visitorid",
            "customer",
            "customerid",
            "account",
            "accountid",
            "member",
            "memberid",
            "participant",
            "participantid",
            "person",
            "personid",
            "searcher",
            "searcherid",
            "anonid",
            "cookieid",
            "deviceid",
            "username",
        ],
        Field::Query => &[
            "query",
            "queryid",
            "qid",
            "querytext",
            "q",
            "keyword",
            "keywords",
            "searchterm",
            "searchterms",
            "searchquery",
            "userquery",
            "querystring",
            "searchtext",
            "topic",
            "topicid",
        ],
        Field::Doc => &[
            "doc",
            "docid",
            "document",
            "documentid",
            "item",
            "itemid",
            "product",
            "productid",
            "result",
            "resultid",
            "url",
            "objectid",
            "contentid",
            "sku",
            "asin",
            "docno",
            "clickurl",
            "news",
            "newsid",
            "article",
            "articleid",
            "video",
            "videoid",
            // Lists.
            "docs",
            "docids",
            "documents",
            "documentids",
            "items",
            "itemids",
            "products",
            "productids",
            "results",
            "resultids",
            "urls",
            "objectids",
            "skus",
            "newsids",
            "articles",
            "articleids",
            "videos",
            "videoids",
        ],
        Field::Position => &[
            "position",
            "rank",
            "pos",
            "ordinal",
            "slot",
            "resultposition",
            "docposition",
            "itemposition",
            "resultrank",
            "itemrank",
            "docrank",
            "placement",
            "impposition",
            "imprank",
            // Lists.
            "positions",
            "ranks",
            "slots",
        ],
        Field::Click => &[
            "click",
            "clicked",
            "clicks",
            "isclick",
            "isclicked",
            "clickflag",
            "wasclicked",
            "hasclick",
            "clicklabel",
            // Lists.
            "clickeddocs",
            "clickeditems",
            "clickedpositions",
            "clickedids",
            "clickedurls",
            "clickflags",
        ],
        Field::Context => &[],
        Field::Time => {
            &["time", "timestamp", "ts", "datetime", "date", "eventtime", "createdat", "eventtimestamp", "querytime"]
        }
    }
}

/// Whether a column's name is a usual one of a field.
pub(super) fn is_usual_name(field: Field, name: &str) -> bool {
    usual_names(field).contains(&plain(name).as_str())
}

/// Whether a column's name says that it holds lists.
pub(super) fn is_plural(name: &str) -> bool {
    let name = plain(name);
    name.ends_with('s') && is_usual_name(Field::Doc, &name[..name.len() - 1])
}

/// A name in small letters and without `_`, `-`, `.` and spaces.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | '.' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_does_not_matter() {
        let names = ["client_id", "ClientID", "client id", "Client-Id"];
        assert!(names.iter().all(|name| is_usual_name(Field::User, name)));
        assert!(!is_usual_name(Field::User, "client_name"));
        assert!(is_plural("Doc_IDs") && is_plural("results") && !is_plural("doc") && !is_plural("address"));
    }

    #[test]
    fn no_name_is_usual_for_two_fields() {
        let names = Field::ALL.map(usual_names);
        for (i, ours) in names.iter().enumerate() {
            assert!(ours.iter().all(|name| plain(name) == **name));
            assert!(names[i + 1..].iter().flat_map(|others| others.iter()).all(|name| !ours.contains(name)));
        }
    }
}

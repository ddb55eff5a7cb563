//! Reads logs into memory: all rows, or their times.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use super::model::{Impression, Log};
use super::options::ReadOptions;
use super::part::LogPart;
use super::read::{for_each_rows, lock};
use super::rows::{IdColumn, OTHER, Rows};
use super::time::Time;
use crate::ids::Interner;
use crate::progress::Silent;
use crate::{Error, Result};

/// Reads logs into memory, rows in the order of the files.
pub(crate) fn read_log(parts: &[LogPart], options: &ReadOptions) -> Result<Log> {
    let pieces = Mutex::new(Vec::new());
    let reading = for_each_rows(parts, options, &Silent, |piece| {
        lock(&pieces).push((piece.number, piece.rows));
        Ok(())
    })?;
    reading.bad.finish()?;
    let mut pieces = pieces.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Stable, because a task hands over its pieces in order.
    pieces.sort_by_key(|&(number, _)| number);
    let asked_for = pages_in_range(&pieces, options);
    let [mut users, mut queries, mut docs] = <[Interner; 3]>::default();
    let mut impressions = Vec::with_capacity(pieces.iter().map(|(_, rows)| rows.len()).sum());
    for (_, rows) in pieces {
        let is_in = |row: &usize| asked_for.as_ref().is_none_or(|pages| pages.contains(&page(&rows, *row)));
        impressions.extend((0..rows.len()).filter(is_in).map(|i| Impression {
            session: rows.sessions[i],
            user: number(&rows.users, i, &mut users),
            query: number(&rows.queries, i, &mut queries),
            doc: number(&rows.docs, i, &mut docs),
            position: rows.positions[i],
            click: rows.clicks[i],
        }));
    }
    Ok(Log { users: users.into_ids(), queries: queries.into_ids(), docs: docs.into_ids(), impressions })
}

/// A result page: its session and query.
type PageKey = (u64, String);

fn page(rows: &Rows, row: usize) -> PageKey {
    (rows.sessions[row], rows.queries.name(rows.queries.codes[row]).into_owned())
}

/// The pages whose earliest row is in the range that is asked for; none where all are.
fn pages_in_range(pieces: &[(u64, Rows)], options: &ReadOptions) -> Option<HashSet<PageKey>> {
    if !options.has_range() {
        return None;
    }
    let mut earliest: HashMap<PageKey, i64> = HashMap::new();
    for (_, rows) in pieces {
        for (row, &time) in rows.times.iter().enumerate() {
            let known = earliest.entry(page(rows, row)).or_insert(time);
            *known = time.min(*known);
        }
    }
    Some(earliest.into_iter().filter(|&(_, time)| options.is_in_range(time)).map(|(page, _)| page).collect())
}

/// The number of a row's id in a dictionary.
pub(super) fn number(column: &IdColumn, row: usize, interner: &mut Interner) -> u32 {
    let code = column.codes[row];
    match code & OTHER {
        0 if !column.is_text => interner.integer(i64::from(code)),
        0 => interner.text(&code.to_string()),
        _ => interner.id(column.others.ids(), (code & !OTHER) as usize),
    }
}

/// The time before which `share` of the rows lie; those at the very time come after it. For splits by time.
///
/// Reads the whole log. Rows that cannot be read are treated as `options` say.
pub(crate) fn time_at(parts: &[LogPart], options: &ReadOptions, share: f64) -> Result<Time> {
    if !(0.0..=1.0).contains(&share) {
        return Err(Error::parameter(format!("share should be in [0, 1], but is {share}")));
    }
    let options = options.with_times();
    let times = Mutex::new(Vec::new());
    let reading = for_each_rows(parts, &options, &Silent, |piece| {
        lock(&times).extend(piece.rows.times);
        Ok(())
    })?;
    reading.bad.finish()?;
    let mut times: Vec<i64> = times.into_inner().unwrap_or_else(PoisonError::into_inner);
    times.retain(|&time| options.is_in_range(time));
    let rank = ((times.len() as f64 * share).floor() as usize).min(times.len().saturating_sub(1));
    match times.is_empty() {
        true => Err(Error::parameter("no row of the log lies in the time that is asked for")),
        false => Ok(Time::from_milliseconds(*times.select_nth_unstable(rank).1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::OnBadRow;

    const HEADER: &str = "session,user,query,doc,position,click,time\n";

    fn with_log<T>(rows: &str, work: impl FnOnce(&[LogPart]) -> T) -> T {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.csv");
        std::fs::write(&path, format!("{HEADER}{rows}")).unwrap();
        work(&[path.into()])
    }

    #[test]
    fn a_share_of_the_rows_lies_before_a_time() {
        let rows: String = (0..10).rev().map(|i| format!("{i},u,q,d,1,0,{}\n", 1_700_000_000 + i)).collect();
        with_log(&rows, |paths| {
            let at = |share| time_at(paths, &ReadOptions::new(), share).unwrap().milliseconds() / 1000 - 1_700_000_000;
            // 7 of the 10 rows lie before the eighth.
            assert_eq!([at(0.0), at(0.7), at(0.75), at(1.0)], [0, 7, 7, 9]);
            assert!(time_at(paths, &ReadOptions::new(), 1.5).is_err());
        });
    }

    #[test]
    fn pages_are_not_torn_by_a_range_of_time() {
        let rows = "1,u,q,a,1,0,2024-03-01\n1,u,q,b,2,1,2024-03-05\n2,u,q,a,1,0,2024-03-02\n1,u,p,a,1,0,2024-03-03\n";
        with_log(rows, |paths| {
            let read = |options: ReadOptions| read_log(paths, &options).unwrap();
            let until = read(ReadOptions::new().until("2024-03-02".parse().unwrap()));
            assert_eq!(
                until.impressions.iter().map(|row| (row.session, row.position)).collect::<Vec<_>>(),
                [(1, 1), (1, 2)]
            );
            assert_eq!((until.queries.len(), until.docs.len()), (1, 2));
            assert_eq!(read(ReadOptions::new().since("2024-03-02".parse().unwrap())).impressions.len(), 2);
            assert_eq!(read(ReadOptions::new()).impressions.len(), 4);
        });
    }

    #[test]
    fn missing_users_get_a_way_out_where_all_are() {
        let error = |rows: &str, on_bad_row| {
            let options = ReadOptions::new().on_bad_row(on_bad_row);
            with_log(rows, |paths| read_log(paths, &options).unwrap_err().to_string())
        };
        let all = "1,,q,a,1,0,1\n1,,q,b,2,1,1\n";
        assert!(error(all, OnBadRow::Error).ends_with("needs one; where no user is known, pass `columns` user="));
        assert!(error(all, OnBadRow::Skip).ends_with("where no user is known, pass `columns` user="));
        assert!(error(&format!("{all}2,u,q,a,1,0,1\n"), OnBadRow::Error).ends_with("every impression needs one"));
    }
}

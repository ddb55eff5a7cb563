use super::*;

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'&<>`";

/// A report in which every string is hostile but the names of files, which are refused.
fn hostile() -> Report {
    let text = || HOSTILE.to_string();
    let answer = |verdict: Option<Verdict>| Answer { verdict: verdict.map(Verdict::badge), text: text() };
    let cell = || Cell { verdict: Some(Verdict::Open), ..Cell::text(HOSTILE).half_width(0.1).mark(Mark::Worse) };
    let table = Table {
        name: "table".into(),
        caption: text(),
        label: text(),
        columns: vec![Column::new(text(), Format::Text), Column::new(text(), Format::Measure).paper()],
        rows: vec![Row::new(text(), vec![cell(), Cell::value(0.5)])],
        notes: vec![text()],
    };
    let axis = || Axis::new(text(), Format::Number);
    let series = Series { name: text(), points: vec![Point::new(1.0, 2.0)], style: Style::Paper };
    let names = || vec![text(), text()];
    let map =
        HeatMap { row_title: text(), column_title: text(), rows: names(), columns: names(), ..HeatMap::default() };
    let dot = Dot { name: text(), value: 1.0, ..Dot::default() };
    let charts = [
        Chart::Lines(Lines { x: axis(), y: axis(), series: vec![series.clone(), series] }),
        Chart::HeatMap(HeatMap { values: vec![vec![Some(1.0), None]], ..map }),
        Chart::Dots(Dots { axis: axis(), rows: vec![dot] }),
        Chart::Stacked(Stacked { parts: names(), rows: vec![(text(), vec![1.0, 2.0])] }),
    ];
    let figure = |(i, chart)| Figure { name: format!("figure-{i}"), caption: text(), chart };
    let figures: Vec<Figure> = charts.into_iter().enumerate().map(figure).collect();
    let blocks = vec![
        Block::Text(format!("{HOSTILE} `{HOSTILE}`\n\n{HOSTILE}")),
        Block::Fold(text(), vec![Block::Table(table), Block::Figure(figures[0].clone())]),
        Block::Gallery(figures[1..].to_vec()),
    ];
    let section = Section {
        id: text(),
        title: text(),
        question: text(),
        answers: vec![answer(None), answer(Some(Verdict::Holds))],
        blocks,
    };
    let key = KeyResult {
        name: text(),
        value: 0.03,
        interval: Some((0.01, 0.05)),
        format: Format::Percent,
        is_change: true,
        badge: Some(Verdict::Holds.badge()),
        about: text(),
    };
    let provenance = Provenance { settings: vec![(text(), text())], command: Some(text()), ..Provenance::of(text()) };
    let (key, provenance) = (Some(key), Some(provenance));
    Report { title: text(), lead: text(), key, facts: vec![(text(), text())], sections: vec![section], provenance }
}

#[test]
fn hostile_text_stays_text() {
    let page = hostile().html().unwrap();
    assert!(!page.contains("<img") && !page.contains("alert(1)>"));
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</script").count(), 1);
    // Every attribute ends where we end it: nothing that could be a handler stands between `<` and `>`.
    for tag in page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()) {
        let outside_quotes: String = tag.split('"').step_by(2).collect();
        assert!(!outside_quotes.contains("onerror"), "{tag}");
    }
}

#[test]
fn nothing_is_loaded() {
    let page = hostile().html().unwrap();
    assert!(page.contains("default-src 'none'"));
    for loader in ["http:", "https:", "url(", "@import", "<iframe", "<object"] {
        let allowed = if loader == "http:" { page.matches("http://www.w3.org/2000/svg").count() } else { 0 };
        assert_eq!(page.matches(loader).count(), allowed, "{loader}");
    }
}

#[test]
fn rows_are_sorted_by_the_whole_number() {
    let table = Table {
        name: "t".into(),
        columns: vec![Column::new("a", Format::Measure).best(Best::Largest), Column::new("b", Format::Count)],
        rows: vec![
            Row::new("x", vec![Cell::value(0.705612345678), Cell::value(f64::NAN)]),
            Row::new("y", vec![Cell::empty(), Cell::value(12.0)]),
        ],
        ..Table::default()
    };
    let section = Section { blocks: vec![Block::Table(table)], ..Section::default() };
    let page = Report { sections: vec![section], ..Report::default() }.html().unwrap();
    assert!(page.contains("<td class=\"best\" data-value=\"0.705612345678\"><span class=\"printed\">.7056</span>"));
    assert!(page.contains("<td class=\"\"><span class=\"printed\">NaN</span>"));
    assert!(page.contains("data-first=\"descending\">a</th>") && page.contains("data-first=\"ascending\">b</th>"));
}

#[test]
fn verdicts_are_words() {
    let answers = [Verdict::Holds, Verdict::DoesNotHold, Verdict::Open]
        .map(|verdict| Answer::new(verdict.badge(), "so"))
        .to_vec();
    let page =
        Report { sections: vec![Section { answers, ..Section::default() }], ..Report::default() }.html().unwrap();
    for name in ["Yes", "No", "Open"] {
        assert_eq!(page.matches(&format!("</svg>{name}</span>")).count(), 1);
    }
}

#[test]
fn yes_to_a_problem_is_bad_news() {
    let page = |badge: Badge| {
        let section = Section { answers: vec![Answer::new(badge, "there is bias")], ..Section::default() };
        Report { sections: vec![section], ..Report::default() }.html().unwrap()
    };
    assert!(page(Verdict::Holds.badge_of_problem()).contains("<span class=\"badge bad\">"));
    assert!(page(Verdict::DoesNotHold.badge_of_problem()).contains("<span class=\"badge good\">"));
}

#[test]
fn the_key_result_has_its_interval_in_words_and_as_a_picture() {
    let report = hostile();
    let page = report.html().unwrap();
    assert!(page.contains("<strong>+3.0\u{202f}%</strong>") && page.contains("class=\"chart interval\""));
    assert!(page.contains("<small>95\u{202f}% interval +1.0\u{202f}% to +5.0\u{202f}%</small>"));
    assert!(report.text().contains("Yes: +3.0\u{202f}%"), "{}", report.text());
}

#[test]
fn an_empty_report_is_a_page() {
    let page = Report::default().html().unwrap();
    assert!(page.starts_with("<!doctype html>\n<html lang=\"en\">") && page.ends_with("</html>\n"), "{page}");
    let table = Block::Table(Table { name: "empty".into(), ..Table::default() });
    let section = Section { blocks: vec![table], ..Section::default() };
    assert!(Report { sections: vec![section], ..Report::default() }.html().unwrap().contains("no rows"));
}

#[test]
fn a_page_is_the_same_every_time() {
    assert_eq!(hostile().html().unwrap(), hostile().html().unwrap());
}

use super::*;

pub const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'&<>";

fn figure(chart: Chart) -> Figure {
    Figure { name: "f".into(), caption: HOSTILE.into(), chart }
}

fn series(name: &str, points: &[(f64, f64)], style: Style) -> Series {
    Series { name: name.into(), points: points.iter().map(|&(x, y)| Point::new(x, y)).collect(), style }
}

fn lines(series: Vec<Series>) -> Chart {
    let axis = |log| Axis { name: HOSTILE.into(), log, format: Format::Number };
    Chart::Lines(Lines { x: axis(true), y: axis(false), series })
}

fn dot(name: &str, value: f64, band: Option<(f64, f64)>) -> Dot {
    Dot { name: name.into(), value, band, style: Style::Plain }
}

/// Charts that have nothing to show, or too little, or too much.
fn degenerate() -> Vec<Chart> {
    let long = "long ".repeat(100);
    let numbers = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 0.0, -1.0];
    let all = |name: &str| {
        let points = numbers.iter().map(|&v| Point { x: v, y: v, band: Some((v, -v)) }).collect();
        Series { name: name.into(), points, style: Style::Strong }
    };
    let names: Vec<String> = vec![HOSTILE.into(), long.clone(), String::new()];
    let map = |values: Vec<Vec<Option<f64>>>| HeatMap {
        row_title: long.clone(),
        column_title: HOSTILE.into(),
        rows: names.clone(),
        columns: names.clone(),
        values,
        ..HeatMap::default()
    };
    let dots = |rows| Chart::Dots(Dots { axis: Axis::new(HOSTILE, Format::Measure), rows });
    vec![
        lines(vec![]),
        lines(vec![series("empty", &[], Style::Plain)]),
        lines(vec![series("one", &[(5.0, 5.0)], Style::Plain)]),
        lines(vec![series("equal", &[(1.0, 2.0), (1.0, 2.0)], Style::Plain), series(HOSTILE, &[], Style::Paper)]),
        lines(vec![all(HOSTILE), all(&long), series(&long, &[(1.0, 1.0)], Style::Reference)]),
        lines((0..40).map(|i| series(&format!("{long}{i}"), &[(1.0, i as f64)], Style::Plain)).collect()),
        Chart::HeatMap(HeatMap::default()),
        Chart::HeatMap(map(vec![])),
        Chart::HeatMap(map(vec![
            numbers[..3].iter().map(|&v| Some(v)).collect(),
            vec![None, Some(f64::MAX), Some(f64::MIN)],
        ])),
        Chart::HeatMap(map(vec![vec![Some(2.0); 3]; 3])),
        Chart::HeatMap(HeatMap { range: Some((f64::NAN, 1.0)), ..map(vec![vec![Some(0.5); 3]; 3]) }),
        dots(vec![]),
        dots(vec![dot(HOSTILE, 1.0, None)]),
        dots(numbers.iter().map(|&v| dot(&long, v, Some((v, f64::NAN)))).collect()),
        Chart::Stacked(Stacked::default()),
        Chart::Stacked(Stacked {
            parts: names.clone(),
            rows: vec![(long.clone(), vec![]), (HOSTILE.into(), numbers.to_vec()), ("all".into(), vec![0.0; 3])],
        }),
        Chart::Stacked(Stacked { parts: names, rows: vec![(HOSTILE.into(), vec![1.0, 2.0, 3.0])] }),
    ]
}

/// Tags are balanced, and every coordinate is a number within reason.
fn check(svg: &str) {
    let opened = svg.matches('<').count() - svg.matches("</").count() - svg.matches("/>").count();
    assert_eq!(opened, svg.matches("</").count(), "{svg}");
    let body = svg.split("</style>").last().unwrap();
    for attribute in ["d=\"", " x=\"", " y=\"", "width=\"", "height=\"", "viewBox=\"", "transform=\""] {
        for value in body.split(attribute).skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert!(!value.contains("NaN") && !value.contains("inf"), "{attribute}{value}");
            let digits = value.split(|c: char| !c.is_ascii_digit()).map(str::len).max();
            assert!(digits < Some(6), "{attribute}{value}");
        }
    }
}

#[test]
fn whatever_the_numbers_the_drawing_is_sound() {
    for chart in degenerate() {
        let figure = figure(chart);
        for svg in [figure.svg(), figure.inline_svg(WIDE), figure.inline_svg(NARROW)] {
            check(&svg);
            assert!(!svg.contains("<img") && !svg.contains("</script"), "{svg}");
            assert_eq!(svg.matches("<svg").count(), 1);
        }
    }
}

#[test]
fn a_figure_is_the_same_every_time() {
    for chart in degenerate() {
        assert_eq!(figure(chart.clone()).svg(), figure(chart).svg());
    }
}

#[test]
fn a_document_names_itself_and_brings_its_style() {
    let svg = figure(lines(vec![])).svg();
    assert!(svg.starts_with("<svg class=\"chart lines\" viewBox=\"0 0 900 "));
    assert!(svg.contains("role=\"img\" aria-label=\"&lt;/script&gt;") && svg.contains("<title>&lt;/script&gt;"));
    assert!(svg.contains("prefers-color-scheme:dark"));
}

#[test]
fn gaps_split_a_curve() {
    let points = [(1.0, 1.0), (2.0, 2.0), (3.0, f64::NAN), (4.0, 4.0), (5.0, 5.0), (-1.0, 6.0), (6.0, 6.0)];
    let svg = figure(lines(vec![series("a", &points, Style::Plain)])).inline_svg(WIDE);
    assert_eq!(svg.matches("class=\"curve\"").count(), 2);
    assert_eq!(svg.matches("class=\"point\"").count(), 5);
}

#[test]
fn points_carry_what_a_pointer_shows() {
    let y = Axis::new("nDCG@5", Format::Measure);
    let points = vec![Point::new(1000.0, 0.7056).band(0.7040, 0.7072), Point::new(2000.0, 0.71)];
    let series = vec![Series { name: "a\"b".into(), points, style: Style::Strong }];
    let chart = Chart::Lines(Lines { x: Axis::new("sessions", Format::Count).log(), y, series });
    let svg = figure(chart).inline_svg(NARROW);
    assert!(svg.contains("data-x=\"1,000\" data-y=\".7056 (.7040 to .7072)\""), "{svg}");
    assert!(svg.contains("data-x=\"2,000\" data-y=\".7100\"") && svg.contains("data-name=\"a&quot;b\""));
}

#[test]
fn cells_print_few_digits_where_they_fit_and_all_in_their_bubble() {
    let map = |n: usize| HeatMap {
        rows: vec!["r".into()],
        columns: (0..n).map(|i| i.to_string()).collect(),
        values: vec![vec![Some(0.70561); n]],
        format: Format::Measure,
        range: Some((0.0, 1.0)),
        ..HeatMap::default()
    };
    let svg = |n| figure(Chart::HeatMap(map(n))).inline_svg(NARROW);
    for n in [3, 10] {
        assert!(svg(n).contains(">.71</text>") && svg(n).contains(": .7056</title>"));
    }
    assert!(!svg(60).contains(">.71</text>") && svg(60).contains("<title>r, 59: .7056</title>"));
}

//! Writes a report with every kind of block, made-up numbers and hostile names, for eyes and for the browser test.
//!
//! `cargo run -p truerank --example sample_report FOLDER`

use std::path::Path;

use truerank::report::{
    Answer, Axis, Best, Block, Cell, Chart, Column, Dot, Dots, Figure, Format, HeatMap, KeyResult, Lines, Mark, Point,
    Provenance, Report, Row, Section, Series, Stacked, Style, Table, Verdict,
};

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>";
const QUOTES: &str = "\"'&<>` style=x onmouseover=alert(2)";
const SIZES: [f64; 8] = [2e3, 5e3, 1e4, 3e4, 1e5, 3e5, 1e6, 5e6];

/// Names, the level at the largest size, and how fast it is reached.
const METHODS: [(&str, f64, f64, Style); 6] = [
    ("naive", 0.6712, 0.006, Style::Plain),
    ("IPS-PBM", 0.6958, 0.028, Style::Plain),
    ("user-aware", 0.7061, 0.047, Style::Plain),
    ("user-aware, smoothed", 0.7076, 0.022, Style::Strong),
    ("DLA", 0.6899, 0.034, Style::Plain),
    ("ideal", 0.7098, 0.0, Style::Reference),
];

fn main() -> truerank::Result<()> {
    let folder = std::env::args().nth(1).expect("sample_report FOLDER");
    report().write(Path::new(&folder))
}

fn report() -> Report {
    let facts = [
        ("data", "generated, preset small"),
        ("queries", "1,200 train, 400 test"),
        ("sessions", "5,000,000"),
        ("users", "50 in 10 clusters"),
        ("seeds", "1 to 8"),
        ("significance", "paired t-test, p < .05"),
        (HOSTILE, QUOTES),
    ];
    Report {
        title: "Does it help to know who looks where?".into(),
        lead: "A sample of what a report can show. The numbers are made up; the shapes are those of experiments with \
               clicks that were simulated for `50` users."
            .into(),
        facts: facts.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        key: Some(KeyResult {
            name: "nDCG@5 of user-aware compared with ips-pbm".into(),
            value: 0.032,
            interval: Some((0.019, 0.045)),
            format: Format::Percent,
            is_change: true,
            badge: Some(Verdict::Holds.badge()),
            about: "Made up, as all numbers here.".into(),
        }),
        sections: vec![ranking(), curves(), users(), clicks(), hostile()],
        provenance: Some(Provenance {
            settings: vec![("clip".into(), "0.01".into()), (HOSTILE.into(), QUOTES.into())],
            ..Provenance::of(HOSTILE).seed(1).command("truerank sample 'a b' -o report/".to_string())
        }),
    }
}

fn answer(verdict: Verdict, text: &str) -> Answer {
    Answer::new(verdict.badge(), text)
}

fn figure(name: &str, caption: &str, chart: Chart) -> Figure {
    Figure { name: name.into(), caption: caption.into(), chart }
}

fn ranking() -> Section {
    Section {
        id: "ranking".into(),
        title: "Ranking quality".into(),
        question: "Do weights that know the user rank better than weights that do not?".into(),
        answers: vec![
            answer(
                Verdict::Holds,
                "With smoothing, nDCG@5 rises from .6958 to .7076, more than chance explains (p < .001).",
            ),
            answer(Verdict::DoesNotHold, "Without smoothing it does not reach that level at 5,000 sessions."),
            answer(Verdict::Open, "Whether DLA gains from more steps was not measured."),
        ],
        blocks: vec![
            Block::Table(main_table()),
            Block::Figure(figure(
                "differences",
                "Difference in nDCG@5 from IPS-PBM, with 95 % intervals over seeds.",
                differences(),
            )),
            Block::Figure(figure(
                "wins",
                "Test queries that each method ranks better than, as well as, and worse than IPS-PBM.",
                wins(),
            )),
            Block::Fold("How it was measured".into(), details()),
        ],
    }
}

fn main_table() -> Table {
    let measures = ["nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10", "ERR"];
    let mut columns: Vec<Column> =
        measures.iter().map(|name| Column::new(*name, Format::Measure).best(Best::Largest)).collect();
    columns.insert(3, Column::new("nDCG@5", Format::Measure).best(Best::Largest).paper());
    columns.push(Column::new("MSE", Format::Number).best(Best::Smallest));
    columns.push(Column::new("p", Format::PValue));
    Table {
        name: "main".into(),
        caption: "Quality on the test queries at 5,000,000 sessions, mean over 8 seeds with 95 % intervals.".into(),
        label: "method".into(),
        columns,
        rows: METHODS.iter().enumerate().map(|(i, method)| main_row(i, method)).collect(),
        notes: vec![
            "+ and − mark significant differences from IPS-PBM; the best of ours is bold; the ideal ranker sees grades.".into(),
            "MSE is that of relevance estimates, which `naive` and the ideal do not have.".into(),
        ],
    }
}

fn main_row(i: usize, (name, level, _, style): &(&str, f64, f64, Style)) -> Row {
    let mark = [Some(Mark::Worse), None, Some(Mark::Better), Some(Mark::Better), Some(Mark::Worse), None][i];
    let cell =
        |offset: f64| Cell::value(level + offset + 0.000_012_3).half_width(0.0009 + 0.0002 * i as f64).mark(mark);
    let estimated = (1..5).contains(&i);
    let mut cells = vec![cell(-0.024), cell(-0.011), cell(0.0), Cell::value(level + 0.0041), cell(0.031), cell(-0.31)];
    cells.push(if estimated { Cell::value([0.0, 0.0213, 0.0094, 0.0071, 0.033, 0.0][i]) } else { Cell::empty() });
    cells.push(if i == 1 || i == 5 {
        Cell::empty()
    } else {
        Cell::value([0.00001, 0.0, 0.0312, 0.0002, 0.0471, 0.0][i])
    });
    let ideal = *style == Style::Reference;
    Row { competes: !ideal, rule: ideal, ..Row::new(*name, cells) }
}

fn differences() -> Chart {
    let dot = |&(name, level, _, style): &(&str, f64, f64, Style)| {
        let value = level - 0.6958;
        Dot { name: name.into(), value, band: Some((value - 0.0019, value + 0.0023)), style }
    };
    let mut rows: Vec<Dot> = METHODS.iter().map(dot).collect();
    rows.push(Dot { name: "user-aware".into(), value: 0.0125, band: None, style: Style::Paper });
    Chart::Dots(Dots { axis: Axis::new("difference in nDCG@5", Format::Measure), rows })
}

fn wins() -> Chart {
    let rows = [
        ("naive", [61.0, 120.0, 219.0]),
        ("user-aware", [171.0, 130.0, 99.0]),
        ("user-aware, smoothed", [188.0, 127.0, 85.0]),
        ("DLA", [4.0, 301.0, 95.0]),
    ];
    let rows = rows.map(|(name, amounts)| (name.to_string(), amounts.to_vec())).to_vec();
    Chart::Stacked(Stacked { parts: ["wins", "ties", "losses"].map(String::from).to_vec(), rows })
}

fn details() -> Vec<Block> {
    let text = "Every method trains the same linear ranker on the same clicks; only the weights differ.\n\n\
                The command was `truerank experiment --seeds 8`, and the tests compare query by query after averaging \
                over seeds.";
    let columns = vec![
        Column::new("claim", Format::Text),
        Column::new("measured", Format::Percent),
        Column::new("queries", Format::Count),
    ];
    let row = |label: &str, claim: &str, verdict, share: f64| {
        Row::new(
            label,
            vec![Cell::text(claim).verdict(verdict), Cell::value(share).half_width(0.012), Cell::value(1200.0)],
        )
    };
    let table = Table {
        name: "claims".into(),
        caption: "Claims that were checked one by one.".into(),
        label: "claim of the paper".into(),
        columns,
        rows: vec![
            row("Theorem 1", "the estimate is unbiased", Verdict::Holds, 0.951),
            row("Theorem 2", "the variance is smaller for every user", Verdict::DoesNotHold, 0.873),
            row("Section 6.3", "the number of clusters is found", Verdict::Open, 0.402),
        ],
        notes: vec![],
    };
    vec![
        Block::Text(text.into()),
        Block::Table(table),
        Block::Table(Table { name: "none".into(), label: "nothing".into(), ..Table::default() }),
    ]
}

fn curves() -> Section {
    let series = METHODS.iter().enumerate().map(|(i, method)| curve(i, method)).collect();
    let x = Axis::new("sessions", Format::Count).log();
    let lines = Lines { x, y: Axis::new("nDCG@5", Format::Measure), series };
    Section {
        id: "curves".into(),
        title: "Learning curves".into(),
        question: "How many sessions does each method need?".into(),
        answers: vec![answer(Verdict::Holds, "Smoothing needs a tenth of the sessions that `user-aware` needs alone.")],
        blocks: vec![
            Block::Text("Bands are 95 % intervals over 8 seeds.".into()),
            Block::Figure(figure(
                "learning-curves",
                "nDCG@5 on the test queries by the number of sessions in the log.",
                Chart::Lines(lines),
            )),
        ],
    }
}

fn curve(i: usize, &(name, level, slope, style): &(&str, f64, f64, Style)) -> Series {
    let point = |&x: &f64| {
        let y = level - slope * (2e3 / x).powf(0.35) + 0.0006 * ((x.ln() * 3.0 + i as f64).sin());
        let half = 0.0016 + 0.006 * (2e3 / x).powf(0.4);
        if style == Style::Reference { Point::new(x, level) } else { Point::new(x, y).band(y - half, y + half) }
    };
    Series { name: name.into(), points: SIZES.iter().map(point).collect(), style }
}

fn users() -> Section {
    let grades = ["bad", "fair", "good", "excellent", "perfect"];
    let confusion = |name: &str, sharpness: f64| {
        let row =
            |i: usize| (0..5).map(|j| Some((-(sharpness * (i as f64 - j as f64)).powi(2)).exp())).collect::<Vec<_>>();
        let share = |row: Vec<Option<f64>>| {
            let sum: f64 = row.iter().flatten().sum();
            row.iter().map(|value| value.map(|v| v / sum)).collect()
        };
        let map = HeatMap {
            row_title: "true grade".into(),
            column_title: "estimated grade".into(),
            rows: grades.map(String::from).to_vec(),
            columns: grades.map(String::from).to_vec(),
            values: (0..5).map(row).map(share).collect(),
            format: Format::Percent,
            range: Some((0.0, 1.0)),
        };
        let stem = format!("confusion-{name}");
        figure(&stem, &format!("Estimated against true grades, {name}."), Chart::HeatMap(map))
    };
    let gallery =
        [("naive", 0.45), ("ips", 0.9), ("smoothed", 1.7)].map(|(name, sharpness)| confusion(name, sharpness));
    Section {
        id: "users".into(),
        title: "Users and their clusters".into(),
        question: "Are the clusters of users found again?".into(),
        answers: vec![answer(Verdict::Open, "Eight of ten are; two are so alike that clicks cannot part them.")],
        blocks: vec![
            Block::Gallery(gallery.to_vec()),
            Block::Figure(figure(
                "clusters",
                "Share of the users of each cluster (rows) in each estimated cluster.",
                clusters(),
            )),
        ],
    }
}

fn clusters() -> Chart {
    let value = |i: usize, j: usize| match (i, j) {
        (3, 7) | (7, 3) => Some(0.41),
        (3, 3) | (7, 7) => Some(0.56),
        (9, 0) => None,
        _ if i == j => Some(0.9 + 0.009 * i as f64),
        _ => Some(0.002 * ((i * 7 + j * 3) % 5) as f64),
    };
    let names: Vec<String> = (1..=10).map(|i| format!("c{i}")).collect();
    Chart::HeatMap(HeatMap {
        row_title: "simulated cluster".into(),
        column_title: "estimated cluster".into(),
        rows: names.clone(),
        columns: names,
        values: (0..10).map(|i| (0..10).map(|j| value(i, j)).collect()).collect(),
        format: Format::Measure,
        range: Some((0.0, 1.0)),
    })
}

fn clicks() -> Section {
    let curve = |scale: f64, bend: f64| (1..=10).map(move |k| Point::new(k as f64, scale / (k as f64).powf(bend)));
    let ours = curve(0.312, 0.83).map(|point| point.band(point.y * 0.97, point.y * 1.03)).collect();
    let series = vec![
        Series { name: "click rate".into(), points: ours, style: Style::Strong },
        Series { name: "click rate".into(), points: curve(0.331, 0.9).collect(), style: Style::Paper },
    ];
    let lines = |series| {
        Chart::Lines(Lines {
            x: Axis::new("position", Format::Count),
            y: Axis::new("click rate", Format::Percent),
            series,
        })
    };
    let one =
        vec![Series { name: "one".into(), points: vec![Point::new(3.0, 0.2).band(0.1, 0.3)], style: Style::Plain }];
    Section {
        id: "clicks".into(),
        title: "Clicks beside the paper's".into(),
        question: "Do simulated clicks fall off as the paper shows?".into(),
        answers: vec![Answer {
            verdict: None,
            text: "They fall a little more slowly, from 31 % to 4.6 % at position 10.".into(),
        }],
        blocks: vec![
            Block::Figure(figure("ctr", "Click rate by position, ours and the paper's.", lines(series))),
            Block::Gallery(vec![
                figure("single-point", "A single point with its interval.", lines(one)),
                figure("no-series", "No series at all.", lines(vec![])),
            ]),
        ],
    }
}

/// Names that would be markup if anything were not escaped, and names that are far too long.
fn hostile() -> Section {
    let long = "a method whose name goes on and on until no label could ever hold it whole, and then some";
    let series = |name: &str, shift: f64| Series {
        name: name.into(),
        points: [1.0, 2.0, f64::NAN, 4.0, 5.0].iter().map(|&x| Point::new(x, x + shift)).collect(),
        style: Style::Plain,
    };
    let lines = Lines {
        x: Axis::new(HOSTILE, Format::Number),
        y: Axis::new(QUOTES, Format::Number),
        series: vec![series(HOSTILE, 0.0), series(QUOTES, 0.5), series(long, 1.0)],
    };
    let names = || vec![HOSTILE.to_string(), QUOTES.to_string(), long.to_string()];
    let map = HeatMap {
        row_title: HOSTILE.into(),
        column_title: QUOTES.into(),
        rows: names(),
        columns: names(),
        values: vec![vec![Some(1.0), None, Some(f64::NAN)], vec![Some(2.0), Some(3.0), Some(f64::INFINITY)]],
        ..HeatMap::default()
    };
    let columns = vec![Column::new(HOSTILE, Format::Number), Column::new(QUOTES, Format::Text)];
    let rows = names().into_iter().zip([1.5, f64::NAN, f64::INFINITY]);
    let rows = rows.map(|(name, value)| Row::new(name, vec![Cell::value(value), Cell::text(HOSTILE)])).collect();
    let table = Table {
        name: "hostile".into(),
        caption: HOSTILE.into(),
        label: QUOTES.into(),
        columns,
        rows,
        notes: vec![QUOTES.into()],
    };
    let stacked =
        Stacked { parts: names(), rows: vec![(HOSTILE.into(), vec![1.0, 2.0, 3.0]), (long.into(), vec![0.0; 3])] };
    Section {
        id: format!("hostile {QUOTES}"),
        title: format!("Hostile names: {HOSTILE}"),
        question: QUOTES.into(),
        answers: vec![answer(Verdict::Holds, HOSTILE)],
        blocks: vec![
            Block::Text(format!("{HOSTILE} and `{HOSTILE}`")),
            Block::Table(table),
            Block::Figure(figure("hostile-lines", HOSTILE, Chart::Lines(lines))),
            Block::Gallery(vec![
                figure("hostile-map", QUOTES, Chart::HeatMap(map)),
                figure("hostile-bars", HOSTILE, Chart::Stacked(stacked)),
            ]),
            Block::Fold(HOSTILE.into(), vec![Block::Text(QUOTES.into())]),
        ],
    }
}

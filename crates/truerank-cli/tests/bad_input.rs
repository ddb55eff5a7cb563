//! Bad input gets one clear line with its place, the rule and the way out; no file changes, none is left behind.

mod common;

use common::Sandbox;

const HEADER: &str = "session,user,query,doc,position,click\n";

/// A run that must fail, and what its line must say. `OUT` stands for a new name, then for that of an older result.
type Case = (&'static str, &'static [&'static str]);

fn check(sandbox: &Sandbox, cases: &[Case]) {
    let mut wrong = Vec::new();
    for (arguments, expected) in cases {
        let mut lines = Vec::new();
        for out in ["fresh", "earlier"] {
            let arguments = arguments.replace("OUT", out);
            let line = sandbox.fail(&arguments);
            lines.push(line.replace(out, "OUT"));
            for text in *expected {
                let text = text.replace("OUT", out);
                if !line.contains(&text) {
                    wrong.push(format!("truerank {arguments}\n says {line}\n  not {text}\n"));
                }
            }
        }
        // The first mistake is reported, not the one that a thread happened to find first.
        assert_eq!(lines[0], lines[1]);
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

/// Three parts with two features and results of every kind, good ones and older ones that must survive.
fn prepared() -> Sandbox {
    let sandbox = Sandbox::new();
    for (part, first) in [("train", 1), ("vali", 10), ("test", 20)] {
        sandbox.write(&format!("data/{part}.txt"), queries(first, 4));
    }
    sandbox.run("simulate data --sessions 60 --production-share 1 -o clicks.csv");
    sandbox.run("count clicks.csv -o counts");
    sandbox.run("relevance counts --propensities clicks.propensities.json -o relevance.parquet");
    sandbox.run("train data --model svm-rank -o ranker.st");
    for name in ["earlier.parquet", "earlier.txt", "earlier.csv", "earlier.st", "earlier.trec", "earlier.json"] {
        sandbox.write(name, "an older result");
    }
    sandbox.run("count clicks.csv -o earlier-counts");
    sandbox.run("generate --preset tiny -o earlier-data");
    sandbox
}

/// Queries of three documents each, the better ones with the larger features.
fn queries(first: usize, count: usize) -> String {
    let line = |query, doc| format!("{} qid:{query} 1:{} 2:{} # d{query}.{doc}\n", 2 * doc, 0.25 * doc as f64, query);
    (first..first + count).flat_map(|query| (0..3).map(move |doc| line(query, doc))).collect()
}

fn truncated(sandbox: &Sandbox, from: &str, to: &str) {
    let bytes = sandbox.read(from);
    sandbox.write(to, &bytes[..bytes.len() * 2 / 3]);
}

#[test]
fn bad_logs() {
    let sandbox = prepared();
    let rows = [
        ("position-0", "1,u,q,d,0,1"),
        ("position-negative", "1,u,q,d,-3,1"),
        ("position-text", "1,u,q,d,first,1"),
        ("position-fraction", "1,u,q,d,1.5,1"),
        ("click-2", "1,u,q,d,1,2"),
        ("no-user", "1,,q,d,1,1"),
        ("short", "1,u,q,d,1"),
        ("quote", "1,\"u,q,d,1,1"),
    ];
    rows.iter().for_each(|(name, row)| sandbox.write(&format!("{name}.csv"), format!("{HEADER}7,u,q,e,1,0\n{row}\n")));
    sandbox.write("twice.csv", format!("{HEADER}1,u,q,d,1,0\n1,u,q,e,2,0\n1,u,q,d,3,1\n"));
    sandbox.write("two-users.csv", format!("{HEADER}1,u,q,d,1,0\n1,v,q,e,2,0\n"));
    sandbox.write("empty.csv", "");
    sandbox.write("empty.parquet", "");
    sandbox.write("header.csv", HEADER);
    sandbox.write("no-position.csv", "session,user,query,doc,level,click\n1,u,q,d,1,1\n");
    sandbox.write("zeros.csv", [0; 4096]);
    sandbox.write("zeros.parquet", [0; 4096]);
    sandbox.write("late-zeros.csv", [format!("{HEADER}1,u,q,d,1,1\n").as_bytes(), &[0; 512]].concat());
    sandbox.write("latin1.csv", [HEADER.as_bytes(), b"1,u,caf\xe9,d,1,1\n"].concat());
    sandbox.write("log.json", "{}");
    sandbox.run("simulate data --sessions 60 --production-share 1 -o good.csv.gz");
    sandbox.run("simulate data --sessions 60 --production-share 1 -o good.parquet");
    truncated(&sandbox, "good.csv.gz", "short.csv.gz");
    truncated(&sandbox, "good.parquet", "short.parquet");
    check(
        &sandbox,
        &[
            ("count position-0.csv -o OUT-counts", &["position-0.csv:3: position is 0, but positions start at 1"]),
            (
                "count position-negative.csv -o OUT-counts",
                &["position-negative.csv:3: position is -3, but positions start at 1"],
            ),
            (
                "count position-text.csv -o OUT-counts",
                &["position-text.csv:3: position is first, but positions are whole numbers"],
            ),
            ("count position-fraction.csv -o OUT-counts", &["position-fraction.csv:3: position is 1.5, but"]),
            ("count click-2.csv -o OUT-counts", &["click-2.csv:3: click is 2, but a click is 0 or 1"]),
            ("count no-user.csv -o OUT-counts", &["no-user.csv:3: user is empty, but every impression needs one"]),
            ("count short.csv -o OUT-counts", &["short.csv:3: has 5 fields, but the header has 6"]),
            ("count quote.csv -o OUT-counts", &["quote.csv:3: a quote opens here and never closes"]),
            (
                "count twice.csv -o OUT-counts",
                &["twice.csv:4: doc 'd' appears twice in session '1'", "give each page its own session"],
            ),
            ("count two-users.csv -o OUT-counts", &["two-users.csv:3: ", "session '1'"]),
            ("count empty.csv -o OUT-counts", &["empty.csv: holds no impressions: the file is empty"]),
            ("count empty.parquet -o OUT-counts", &["empty.parquet: is not a complete Parquet file", "Size is 0"]),
            ("count header.csv -o OUT-counts", &["header.csv: holds no impressions, only a header"]),
            (
                "count no-position.csv -o OUT-counts",
                &["no-position.csv: has no column 'position'", "--columns position=NAME"],
            ),
            ("count zeros.csv -o OUT-counts", &["zeros.csv:1: holds a NUL byte"]),
            ("count zeros.parquet -o OUT-counts", &["zeros.parquet: is not a complete Parquet file"]),
            ("count late-zeros.csv -o OUT-counts", &["late-zeros.csv:3: holds a NUL byte"]),
            ("count latin1.csv -o OUT-counts", &["latin1.csv:2: byte 0xe9 is not UTF-8 text; convert the file"]),
            ("count log.json -o OUT-counts", &["log.json:1: holds no JSON object at its beginning"]),
            ("count short.csv.gz -o OUT-counts", &["short.csv.gz: the gzip data is truncated or damaged"]),
            ("count short.parquet -o OUT-counts", &["short.parquet: is not a complete Parquet file"]),
            ("count nowhere.csv -o OUT-counts", &["nowhere.csv: no such file or folder"]),
            ("count data -o OUT-counts", &["data: is a folder without log files, but", ".jsonl"]),
            ("count clicks.csv nowhere.csv -o OUT-counts", &["nowhere.csv: no such file or folder"]),
            ("count clicks.csv --column who=client -o OUT-counts", &["no field 'who'", "session, user, query, doc"]),
            ("count clicks.csv --column user -o OUT-counts", &["--columns: 'user' should look like user=client_id"]),
            ("count data/train.txt -o OUT-counts", &["data/train.txt: ", ".parquet, .pq, .csv, .tsv", "--format"]),
            (
                "count relevance.parquet -o OUT-counts",
                &["relevance.parquet: lacks 2 columns: 'session'", ", 'position'; it has query, doc"],
            ),
        ],
    );
}

#[test]
fn bad_data_sets() {
    let sandbox = prepared();
    let lines = [
        ("index-0", "1 qid:2 0:1 2:1 # d"),
        ("nan", "1 qid:2 1:NaN 2:1 # d"),
        ("inf", "1 qid:2 1:1 2:-inf # d"),
        ("huge", "1 qid:2 1:1e60 2:1 # d"),
        ("again", "1 qid:1 1:1 2:1 # d"),
        ("grade-7", "7 qid:2 1:1 2:1 # d"),
        ("grade-half", "0.5 qid:2 1:1 2:1 # d"),
        ("grade-negative", "-1 qid:2 1:1 2:1 # d"),
        ("grade-text", "good qid:2 1:1 2:1 # d"),
        ("no-qid", "1 1:1 2:1 # d"),
        ("feature", "1 qid:2 1:1 2 # d"),
        ("feature-twice", "1 qid:2 2:1 2:1 # d"),
        ("same-doc", "1 qid:10 1:1 2:1 # d10.2"),
    ];
    lines.iter().for_each(|(name, line)| {
        sandbox.write(&format!("{name}.txt"), format!("{}{}{line}\n", queries(1, 1), queries(10, 1)))
    });
    sandbox.write("empty.txt", "");
    sandbox.write("zeros.txt", [0; 4096]);
    sandbox.write("zeros.parquet", [0; 4096]);
    sandbox.write("latin1.txt", b"1 qid:1 1:1 # caf\xe9\n");
    sandbox.write("no-queries.txt", "1 1:1 2:1\n0 1:0 2:1\n");
    sandbox.run("convert data/test.txt -o good.txt.gz");
    sandbox.run("convert data/test.txt -o good.parquet");
    sandbox.run("convert grade-7.txt --max-grade 7 -o grade-7.parquet");
    truncated(&sandbox, "good.txt.gz", "short.txt.gz");
    truncated(&sandbox, "good.parquet", "short.parquet");
    sandbox.write("leak/train.txt", queries(1, 2));
    sandbox.write("leak/vali.txt", queries(2, 2));
    sandbox.write("leak/test.txt", queries(4, 2));
    sandbox.write("part/train.txt", queries(1, 2));
    check(
        &sandbox,
        &[
            (
                "convert index-0.txt -o OUT.parquet",
                &["index-0.txt:7: feature index is 0, but indices start at 1", "--zero-based"],
            ),
            ("convert inf.txt -o OUT.parquet", &["inf.txt:7: feature 2 is -inf, but features must be finite"]),
            ("convert huge.txt -o OUT.parquet", &["huge.txt:7: feature 1 is 1e60, but"]),
            ("convert again.txt -o OUT.parquet", &["again.txt:7: query 1 started at line 1", "sort the file by qid"]),
            (
                "convert grade-7.txt -o OUT.parquet",
                &["grade-7.txt:7: grade is 7, but grades go from 0 to 4; pass --max-grade 7"],
            ),
            ("convert grade-7.parquet -o OUT.txt", &["grade-7.parquet: row 7: grade is 7, but grades go from 0 to 4"]),
            (
                "convert grade-half.txt -o OUT.parquet",
                &["grade-half.txt:7: grade is 0.5, but grades are whole numbers"],
            ),
            (
                "convert grade-negative.txt -o OUT.parquet",
                &["grade-negative.txt:7: grade is -1, but grades go from 0 to 4"],
            ),
            (
                "convert grade-text.txt -o OUT.parquet",
                &["grade-text.txt:7: grade is 'good', but a line starts with a number"],
            ),
            ("convert no-qid.txt -o OUT.parquet", &["no-qid.txt:7: has no qid, but the lines before do"]),
            (
                "convert feature.txt -o OUT.parquet",
                &["feature.txt:7: '2' is not a feature, but features look like 3:0.25"],
            ),
            ("convert feature-twice.txt -o OUT.parquet", &["feature-twice.txt:7: feature 2 stands twice"]),
            ("convert same-doc.txt -o OUT.parquet", &["same-doc.txt:7: document d10.2 has been in this query before"]),
            ("convert empty.txt -o OUT.parquet", &["empty.txt: holds no documents"]),
            ("convert zeros.txt -o OUT.parquet", &["zeros.txt:1: holds NUL bytes"]),
            ("convert zeros.parquet -o OUT.txt", &["zeros.parquet: is not a complete Parquet file"]),
            ("convert latin1.txt -o OUT.parquet", &["latin1.txt:1: byte 0xe9 is not UTF-8"]),
            ("convert no-queries.txt -o OUT.parquet", &["no-queries.txt: has no qid", "no-queries.txt.query"]),
            ("convert short.txt.gz -o OUT.parquet", &["short.txt.gz: the gzip data is truncated or damaged"]),
            ("convert short.parquet -o OUT.txt", &["short.parquet: is not a complete Parquet file"]),
            ("convert data -o OUT.parquet", &["data: is a folder, but a data set file is expected"]),
            ("convert nowhere.txt -o OUT.parquet", &["nowhere.txt: no such file or folder"]),
            ("convert clicks.csv -o OUT.parquet", &["clicks.csv: is not a data set by its name"]),
            ("convert data/test.txt -o OUT.csv", &["OUT.csv: is not a data set by its name"]),
            ("convert data/test.txt --features 1 -o OUT.parquet", &["data/test.txt:1: feature index is 2"]),
            (
                "convert relevance.parquet -o OUT.txt",
                &["relevance.parquet: is a truerank/relevance file, but a truerank/dataset file is expected"],
            ),
            ("simulate data/test.txt -o OUT.csv", &["data/test.txt: is a file, but a folder is expected here"]),
            ("simulate nowhere -o OUT.csv", &["nowhere: no such file or folder"]),
            ("simulate leak -o OUT.csv", &["leak: query 2 is in train.txt and in vali.txt"]),
            ("simulate part -o OUT.csv", &["part: has no vali part", "vali.txt"]),
        ],
    );
}

#[test]
fn files_that_do_not_fit_together() {
    let sandbox = prepared();
    sandbox.write("wide.txt", "1 qid:1 1:1 2:1 3:1\n");
    sandbox.write("narrow.txt", "1 qid:1 1:1\n");
    sandbox.write("other/train.txt", "1 qid:77 1:1 2:1\n0 qid:77 1:0 2:0\n");
    sandbox.write("other/vali.txt", "1 qid:78 1:1 2:1\n");
    sandbox.write("other/test.txt", "1 qid:79 1:1 2:1\n");
    let propensities =
        |fields: &str| format!(r#"{{"type":"truerank/propensities","version":1,"method":"m","scale":"s",{fields}}}"#);
    sandbox.write("two.json", propensities(r#""positions":2,"population":[1,0.5]"#));
    sandbox.write("above.json", propensities(r#""positions":1,"population":[1.5]"#));
    sandbox.write("zero.json", propensities(r#""positions":3,"population":[0,0,0]"#));
    sandbox.write("half.json", "{\"type\": ");
    sandbox.write("bare.json", "{}");
    sandbox.write("text.st", "not a ranker");
    sandbox.write("empty.st", "");
    truncated(&sandbox, "ranker.st", "short.st");
    let whole = sandbox.read("counts/meta.json");
    sandbox.write("half-counts/meta.json", whole);
    check(
        &sandbox,
        &[
            (
                "score wide.txt --ranker ranker.st -o OUT.trec",
                &[
                    "ranker.st with wide.txt: ",
                    "trained on 2 features, but the data set has 3; use data of the same kind",
                ],
            ),
            (
                "score narrow.txt --ranker ranker.st -o OUT.trec",
                &["pass --feature-count 2 if sparse text leaves out the last"],
            ),
            ("evaluate wide.txt --ranker ranker.st", &["ranker.st with wide.txt: ", "trained on 2 features"]),
            ("score data/test.txt --ranker text.st -o OUT.trec", &["text.st: is not a whole safetensors file"]),
            ("score data/test.txt --ranker empty.st -o OUT.trec", &["empty.st: "]),
            ("score data/test.txt --ranker short.st -o OUT.trec", &["short.st: is not a whole safetensors file"]),
            ("score data/test.txt --ranker nowhere.st -o OUT.trec", &["nowhere.st: no such file or folder"]),
            ("score data/test.txt --ranker data -o OUT.trec", &["data: is a folder, but a file is expected"]),
            (
                "score data/test.txt --ranker relevance.parquet -o OUT.trec",
                &["relevance.parquet: is not a whole safetensors file"],
            ),
            ("evaluate data/test.txt --ranker ranker.st --against nowhere.st", &["nowhere.st: no such file or folder"]),
            (
                "relevance counts --propensities two.json -o OUT.parquet",
                &["counts with two.json: ", "position 3", "end at position 2"],
            ),
            (
                "relevance counts --propensities counts/meta.json -o OUT.parquet",
                &["counts/meta.json: is a truerank/counts file, but a truerank/propensities file is expected"],
            ),
            (
                "relevance counts --propensities relevance.parquet -o OUT.parquet",
                &["relevance.parquet: is a truerank/relevance file, but a truerank/propensities file is expected"],
            ),
            (
                "relevance counts --propensities above.json -o OUT.parquet",
                &["above.json: ", "between 0 and 1, but is 1.5"],
            ),
            (
                "relevance counts --propensities zero.json -o OUT.parquet",
                &["counts with zero.json: ", "its examination there is 0"],
            ),
            ("relevance counts --propensities half.json -o OUT.parquet", &["half.json: is not complete JSON"]),
            (
                "relevance counts --propensities bare.json -o OUT.parquet",
                &["bare.json: does not say that it is a truerank/propensities file"],
            ),
            ("relevance counts --propensities nowhere.json -o OUT.parquet", &["nowhere.json: no such file or folder"]),
            (
                "relevance clicks.csv --propensities two.json -o OUT.parquet",
                &["clicks.csv: is not a folder of counts", "truerank count"],
            ),
            ("relevance data --propensities two.json -o OUT.parquet", &["data: is not a folder of counts"]),
            ("relevance nowhere --propensities two.json -o OUT.parquet", &["nowhere: no such file or folder"]),
            (
                "relevance half-counts --propensities two.json -o OUT.parquet",
                &["half-counts/cells.parquet: no such file"],
            ),
            (
                "train data --pairs counts --propensities clicks.propensities.json -o OUT.st",
                &["counts", "click patterns"],
            ),
            (
                "train other --relevance relevance.parquet -o OUT.st",
                &["relevance.parquet with other: no document with a weight", "same data?"],
            ),
            ("train data --relevance ranker.st -o OUT.st", &["ranker.st: is not a complete Parquet file"]),
            (
                "train data --relevance counts/cells.parquet -o OUT.st",
                &["counts/cells.parquet: is a truerank/cells file"],
            ),
            (
                "train data --relevance relevance.parquet --model svm-rank -o OUT.st",
                &["svm-rank learns from human grades"],
            ),
            ("simulate data --logger text.st -o OUT.csv", &["text.st: is not a whole safetensors file"]),
        ],
    );
}

#[test]
fn wrong_values() {
    let sandbox = prepared();
    for (part, query) in [("train", 1), ("vali", 2), ("test", 3)] {
        sandbox.write(&format!("one/{part}.txt"), format!("1 qid:{query} 1:1\n0 qid:{query} 1:0\n"));
    }
    check(
        &sandbox,
        &[
            ("generate --preset huge -o OUT-data", &["--preset", "'huge'", "tiny, small"]),
            (
                "relevance counts --propensities clicks.propensities.json --estimator best -o OUT.parquet",
                &["best", "user-aware"],
            ),
            (
                "relevance counts --propensities clicks.propensities.json --beta much -o OUT.parquet",
                &["--beta: it is 'much', but should be auto"],
            ),
            (
                "relevance counts --propensities clicks.propensities.json --beta=-1 -o OUT.parquet",
                &["--beta: it is '-1', but should be auto, likelihood or a number from 0"],
            ),
            ("relevance counts --propensities clicks.propensities.json --beta NaN -o OUT.parquet", &["it is 'NaN'"]),
            ("evaluate data/test.txt --ranker ranker.st --measure nDCG@0", &["--measure", "nDCG@0"]),
            (
                "evaluate data/test.txt --ranker ranker.st --measure clicks",
                &["'clicks' is not a measure; known are nDCG"],
            ),
            ("train data --validation accuracy -o OUT.st", &["'accuracy' is not a measure"]),
            (
                "train data --model tree -o OUT.st",
                &["the model is 'tree', but should be linear, mlp, mlp:SIZE,SIZE,…, linear-raw"],
            ),
            ("train data --model mlp:0 -o OUT.st", &["hidden size"]),
            ("train data --optimizer newton -o OUT.st", &["the optimizer is 'newton', but should be lbfgs, adagrad"]),
            ("train data --learning-rate=-1 -o OUT.st", &["--learning-rate is -1, but should be above 0"]),
            ("train data --batch 0 -o OUT.st", &["batch", "0"]),
            ("train data --steps 0 -o OUT.st", &["steps", "0"]),
            ("train data --check-every 0 -o OUT.st", &["check", "0"]),
            (
                "train data --model svm-rank --steps 9 -o OUT.st",
                &["--steps is for linear, mlp, linear-raw or trees, but --model is svm-rank"],
            ),
            (
                "train data --model linear-raw --scaling paper -o OUT.st",
                &["--scaling is for linear or mlp, but --model is linear-raw"],
            ),
            ("train data --model mlp:8,1 -o OUT.st", &["mlp:8,1 has one of 1", "all scores would be equal"]),
            (
                "train one --model linear --scaling paper -o OUT.st",
                &["needs at least 2 features, but the data has 1", "use another --scaling"],
            ),
            ("train data --cost 9 -o OUT.st", &["--cost is for svm-rank, but --model is mlp"]),
            ("train data --model svm-rank --share 0 -o OUT.st", &["share", "0"]),
            ("train data --model svm-rank --cost 0 -o OUT.st", &["--cost is 0, but should be above 0"]),
            ("simulate data --sessions 0 -o OUT.csv", &["--sessions is 0, but should be at least 1"]),
            ("simulate data --sessions many -o OUT.csv", &["--sessions", "many"]),
            (
                "simulate data --users 7 -o OUT.csv",
                &["--users is 7, but the paper has 5, 10 or 20; give --etas instead"],
            ),
            ("simulate data --swap 1.5 -o OUT.csv", &["--swap is 1.5, but should be from 0 to 1"]),
            ("simulate data --click-noise 2 -o OUT.csv", &["--click-noise is 2, but should be from 0 to 1"]),
            ("simulate data --length 0 -o OUT.csv", &["length", "0"]),
            ("simulate data --etas 1,x -o OUT.csv", &["--etas", "x"]),
            ("simulate data --production-share 0 -o OUT.csv", &["share", "0"]),
            ("simulate data --users-per-cluster 0 -o OUT.csv", &["0"]),
            ("simulate data -o OUT.txt", &["OUT.txt: ", ".parquet, .csv or .tsv"]),
            ("count clicks.csv --threads 0 -o OUT-counts", &["--threads", "0 is not in 1.."]),
            ("convert data/test.txt --max-grade 300 -o OUT.parquet", &["--max-grade", "300"]),
            ("demo --model tree", &["tree"]),
            ("demo --preset tiny --sessions 0", &["--sessions is 0, but should be at least 1"]),
            ("demo --seeds 0", &["--seeds"]),
        ],
    );
}

/// Also a log in which documents move, one without clicks, and one that links some positions and not others.
fn prepared_for_propensity() -> Sandbox {
    let sandbox = prepared();
    sandbox.run("simulate data --sessions 400 --etas 1,0.5 --shuffle 1 --production-share 1 -o moving.csv");
    sandbox.run("count moving.csv -o moving");
    sandbox.write("no-clicks.csv", format!("{HEADER}1,u,q,d,1,0\n1,u,q,e,2,0\n2,u,q,e,1,0\n2,u,q,d,2,0\n"));
    sandbox.run("count no-clicks.csv -o no-clicks");
    let apart = "1,u,q,a,1,1\n1,u,q,b,2,1\n1,u,q,c,3,1\n2,u,q,b,1,1\n2,u,q,a,2,0\n2,u,q,c,3,1\n";
    sandbox.write("apart.csv", format!("{HEADER}{apart}"));
    sandbox.run("count apart.csv -o apart");
    let swapped = "1,U,q,d,1,1\n1,U,q,e,2,1\n2,U,q,e,1,1\n2,U,q,d,2,0\n".replace('U', "\"u\nv\"");
    sandbox.write("lines.csv", format!("{HEADER}{swapped}"));
    sandbox.run("count lines.csv -o lines");
    sandbox.write("other.txt", "1 qid:77 1:1 2:1\n0 qid:77 1:0 2:0\n");
    let propensities = r#"{"type":"truerank/propensities","version":1,"method":"m","scale":"s","#;
    sandbox.write("two.json", format!(r#"{propensities}"positions":2,"population":[1,0.5]}}"#));
    truncated(&sandbox, "clicks.propensities.json", "short.json");
    for (name, rows) in [
        ("text", "1,3\n2,old"),
        ("wide", "1,3\n2,4,5"),
        ("missing", "1,3"),
        ("twice", "1,3\n2,4\n1,5"),
        ("nan", "1,NaN"),
    ] {
        sandbox.write(&format!("{name}-users.csv"), format!("user,age\n{rows}\n"));
    }
    sandbox.write("id-users.csv", "user\n1\n2\n");
    sandbox.write("empty-users.csv", "");
    sandbox
}

#[test]
fn logs_that_cannot_tell_examination() {
    check(
        &prepared_for_propensity(),
        &[
            ("propensity nowhere -o OUT.json", &["nowhere: no such file or folder"]),
            ("propensity clicks.csv -o OUT.json", &["clicks.csv: is not a folder of counts", "truerank count"]),
            ("propensity data -o OUT.json", &["data: is not a folder of counts"]),
            (
                "propensity counts -o OUT.json",
                &[
                    "counts: examination is not identifiable from this log: no two positions can be compared",
                    "swap positions 1 and 2",
                    "pass features of the documents",
                ],
            ),
            ("propensity counts --per-user -o OUT.json", &["counts: examination is not identifiable"]),
            (
                "propensity apart --strict -o OUT.json",
                &["apart: examination is not identifiable", "positions 1–2; position 3", "swap positions 2 and 3"],
            ),
            (
                "propensity counts --method swap -o OUT.json",
                &[
                    "counts: no document was shown at both position 1 and another",
                    "swapped or shuffled",
                    "use em with features",
                ],
            ),
            (
                "propensity apart --method swap -o OUT.json",
                &["apart: position 3 is not linked to position 1", "swapped or shuffled"],
            ),
            (
                "propensity counts --method harvesting -o OUT.json",
                &["counts: no document was shown at two positions", "swapped or shuffled"],
            ),
            ("propensity apart --method harvesting -o OUT.json", &["apart: position 3 is not linked to 1"]),
            ("propensity counts --method cpbm -o OUT.json", &["counts: no document was shown at two positions"]),
            ("propensity no-clicks -o OUT.json", &["no-clicks: the log has no clicks, so nothing can be said"]),
            ("propensity no-clicks --method swap -o OUT.json", &["no-clicks: the log has no clicks"]),
            ("propensity no-clicks --method harvesting -o OUT.json", &["no-clicks: the log has no clicks"]),
            ("propensity no-clicks --method cpbm -o OUT.json", &["no-clicks: the log has no clicks"]),
            (
                "propensity no-clicks --method user-pbm --data data -o OUT.json",
                &["no-clicks with data: the log has no clicks"],
            ),
            (
                "propensity no-clicks --method dla --data data -o OUT.json",
                &["no-clicks with data: the log has no clicks"],
            ),
        ],
    );
}

#[test]
fn files_that_do_not_fit_a_log() {
    check(
        &prepared_for_propensity(),
        &[
            (
                "propensity counts --data other.txt -o OUT.json",
                &["counts with other.txt: no document of the log is in the data set", "are they from the same data?"],
            ),
            (
                "propensity counts --data other.txt --per-user -o OUT.json",
                &["counts with other.txt: no document of the log is in the data set"],
            ),
            (
                "propensity counts --data other.txt --method user-pbm -o OUT.json",
                &["counts with other.txt: no document of the log is in the data set"],
            ),
            (
                "propensity counts --data other.txt --method dla -o OUT.json",
                &["counts with other.txt: no document of the log is in the data set"],
            ),
            ("propensity counts --data nowhere -o OUT.json", &["nowhere: no such file or folder"]),
            ("propensity counts --data clicks.csv -o OUT.json", &["clicks.csv: is not a data set by its name"]),
            ("propensity counts --data data --features 1 -o OUT.json", &["data/train.txt:1: feature index is 2"]),
            ("propensity moving --against short.json -o OUT.json", &["short.json: is not complete JSON"]),
            ("propensity moving --against nowhere.json -o OUT.json", &["nowhere.json: no such file or folder"]),
            (
                "propensity moving --against counts/meta.json -o OUT.json",
                &["counts/meta.json: is a truerank/counts file, but a truerank/propensities file is expected"],
            ),
            ("propensity moving --against two.json -o OUT.json", &["two.json: has 2 positions, but the log has 3"]),
            (
                "propensity moving --method cpbm --user-features text-users.csv -o OUT.json",
                &["error: text-users.csv:3: 'old' should be a finite number"],
            ),
            (
                "propensity moving --method cpbm --user-features nan-users.csv -o OUT.json",
                &["error: nan-users.csv:2: 'NaN' should be a finite number"],
            ),
            (
                "propensity moving --method cpbm --user-features wide-users.csv -o OUT.json",
                &["error: wide-users.csv:3: has 2 features, but the header has 1"],
            ),
            (
                "propensity moving --method cpbm --user-features twice-users.csv -o OUT.json",
                &["error: twice-users.csv:4: user '1' has features at line 2 already"],
            ),
            (
                "propensity moving --method cpbm --user-features missing-users.csv -o OUT.json",
                &["moving with missing-users.csv: every user of the log should have features, but \"2\" has none"],
            ),
            (
                "propensity lines --method cpbm --user-features missing-users.csv -o OUT.json",
                &["lines with missing-users.csv: every user", r#"but "u\nv" has none"#],
            ),
            (
                "propensity moving --method cpbm --user-features id-users.csv -o OUT.json",
                &["error: id-users.csv:1: has one column"],
            ),
            (
                "propensity moving --method cpbm --user-features empty-users.csv -o OUT.json",
                &["error: empty-users.csv: is empty"],
            ),
            (
                "propensity moving --method cpbm --user-features nowhere.csv -o OUT.json",
                &["error: nowhere.csv: no such file or folder"],
            ),
        ],
    );
}

#[test]
fn wrong_options_of_propensity() {
    check(
        &prepared_for_propensity(),
        &[
            (
                "propensity moving --method guess -o OUT.json",
                &["'guess' for '--method", "em, swap, harvesting, cpbm, user-pbm, dla"],
            ),
            ("propensity moving --per-user --shrink much -o OUT.json", &["'much'", "none, population, clusters"]),
            (
                "propensity moving --relevance tree --data data -o OUT.json",
                &["--relevance", "should be table, linear, mlp or like mlp:64,32, but is 'tree'"],
            ),
            ("propensity moving --relevance mlp:0 --data data -o OUT.json", &["--relevance", "hidden size"]),
            (
                "propensity counts --relevance mlp -o OUT.json",
                &["--relevance is mlp:64,32, which learns from features", "--data"],
            ),
            (
                "propensity counts --relevance linear -o OUT.json",
                &["--relevance is linear, which learns from features", "--data"],
            ),
            ("propensity moving --relevance table --data data -o OUT.json", &["leave out --data"]),
            ("propensity counts --method user-pbm -o OUT.json", &["user-pbm learns from features", "--data"]),
            ("propensity counts --method dla -o OUT.json", &["dla learns from features", "--data"]),
            ("propensity moving --per-user --clusters 0 -o OUT.json", &["--clusters", "auto or a whole number from 1"]),
            (
                "propensity moving --per-user --clusters abc -o OUT.json",
                &["--clusters", "auto or a whole number from 1, but is 'abc'"],
            ),
            (
                "propensity moving --per-user --clusters 3 -o OUT.json",
                &["moving: number of clusters should be at most the number of users, 2, but is 3"],
            ),
            (
                "propensity moving --clusters 2 -o OUT.json",
                &["--clusters is for the examination of each user: add --per-user"],
            ),
            ("propensity moving --grouping mixture -o OUT.json", &["--grouping", "add --per-user"]),
            ("propensity moving --shrink none -o OUT.json", &["--shrink", "add --per-user"]),
            (
                "propensity moving --per-user --shrink none --clusters 2 -o OUT.json",
                &["--clusters is for --shrink clusters, but --shrink is none"],
            ),
            (
                "propensity moving --per-user --shrink population --grouping k-means -o OUT.json",
                &["--grouping is for --shrink clusters, but --shrink is population"],
            ),
            ("propensity moving --resamples 1 -o OUT.json", &["--resamples is 1, but should be 0", "at least 2"]),
            ("propensity moving --method swap --resamples 1 -o OUT.json", &["--resamples is 1"]),
            ("propensity moving --iterations 0 -o OUT.json", &["--iterations is 0, but should be at least 1"]),
            ("propensity moving --tolerance 0 -o OUT.json", &["--tolerance is 0, but should be between 0 and 1"]),
            ("propensity moving --tolerance NaN -o OUT.json", &["--tolerance is NaN"]),
            ("propensity moving --seed x -o OUT.json", &["--seed", "x"]),
            (
                "propensity moving --method swap --data data -o OUT.json",
                &["--data is for em, user-pbm or dla, but --method is swap"],
            ),
            (
                "propensity moving --method harvesting --relevance table -o OUT.json",
                &["--relevance is for em, but --method is harvesting"],
            ),
            ("propensity moving --method swap --strict -o OUT.json", &["--strict is for em"]),
            (
                "propensity moving --method swap --per-user --shrink none -o OUT.json",
                &["--shrink is for em, but --method is swap"],
            ),
            ("propensity moving --method cpbm --clusters 2 -o OUT.json", &["--clusters is for em"]),
            ("propensity moving --method cpbm --grouping k-means -o OUT.json", &["--grouping is for em"]),
            ("propensity moving --user-features text-users.csv -o OUT.json", &["--user-features is for cpbm"]),
            (
                "propensity moving --weighting documents -o OUT.json",
                &["--weighting is for harvesting or cpbm, but --method is em"],
            ),
            (
                "propensity moving --method harvesting --weighting alike -o OUT.json",
                &["--weighting", "alike", "documents", "overlap"],
            ),
            ("propensity moving --ranker OUT.st -o OUT.json", &["--ranker is for dla"]),
            ("propensity moving --model linear -o OUT.json", &["--model is for dla"]),
            ("propensity moving --method swap --iterations 9 -o OUT.json", &["--iterations is for em, harvesting"]),
            ("propensity counts --method dla --data data --tolerance 0.1 -o OUT.json", &["--tolerance is for em"]),
            (
                "propensity counts --method user-pbm --data data --resamples 5 -o OUT.json",
                &["--resamples is for em, swap, harvesting or cpbm, but --method is user-pbm"],
            ),
            (
                "propensity counts --method dla --data data --ranker OUT.json -o OUT.json",
                &["--ranker and --output are both OUT.json: give them different names"],
            ),
        ],
    );
}

#[test]
fn outputs_that_cannot_be_written() {
    let sandbox = prepared();
    sandbox.write("mine/thesis.tex", "years of work");
    check(
        &sandbox,
        &[
            ("generate --preset tiny -o nowhere/OUT", &["nowhere: no such folder to write into; create it first"]),
            ("simulate data -o nowhere/OUT.csv", &["nowhere: no such folder"]),
            ("count clicks.csv -o nowhere/OUT", &["nowhere: no such folder"]),
            (
                "relevance counts --propensities clicks.propensities.json -o nowhere/OUT.parquet",
                &["nowhere: no such folder"],
            ),
            (
                "relevance counts --propensities clicks.propensities.json --estimator all -o nowhere/OUT",
                &["nowhere: no such folder"],
            ),
            ("propensity counts --data data -o nowhere/OUT.json", &["nowhere: no such folder to write into"]),
            (
                "propensity counts --data data -o clicks.csv/OUT.json",
                &["clicks.csv: is a file, but a folder is needed"],
            ),
            (
                "propensity counts --data data -o data",
                &["data: writing it would destroy what is read from data; name another output"],
            ),
            (
                "propensity counts --data data --method dla --ranker nowhere/OUT.st -o OUT.json",
                &["nowhere: no such folder to write into"],
            ),
            ("train data -o nowhere/OUT.st", &["nowhere: no such folder"]),
            ("score data/test.txt --ranker ranker.st -o nowhere/OUT.trec", &["nowhere: no such folder"]),
            ("convert data/test.txt -o nowhere/OUT.parquet", &["nowhere: no such folder"]),
            ("convert data/test.txt -o clicks.csv/OUT.parquet", &["clicks.csv: is a file, but a folder is needed"]),
            ("generate --preset tiny -o clicks.csv", &["clicks.csv: is a file, but a folder is to be written here"]),
            ("count clicks.csv -o clicks.csv", &["clicks.csv: writing it would destroy what is read from clicks.csv"]),
            ("simulate data --sessions 10 -o counts", &["counts: is a folder, but a file is to be written here"]),
            ("simulate data --sessions 10 --cells -o clicks.csv", &["clicks.csv: is a file, but a folder"]),
            ("train data -o counts", &["counts: is a folder, but a file is to be written here"]),
            ("score data/test.txt --ranker ranker.st -o counts", &["counts: is a folder, but a file"]),
            ("generate --preset tiny -o mine", &["mine: holds thesis.tex, which replacing the folder would remove"]),
            ("count clicks.csv -o mine", &["mine: holds thesis.tex", "choose a new one"]),
            ("count clicks.csv -o data", &["data: holds test.txt", "choose a new one"]),
            ("simulate data --sessions 10 --cells -o mine", &["mine: holds thesis.tex"]),
            (
                "relevance counts --propensities clicks.propensities.json --estimator all -o counts",
                &["counts: writing it would destroy what is read from counts"],
            ),
            ("score data/test.txt --ranker ranker.st -o ranker.st", &["ranker.st: writing it would destroy"]),
            ("train data -o data/train.txt", &["data/train.txt: writing it would destroy what is read from data"]),
            (
                "relevance counts --propensities clicks.propensities.json -o counts/cells.parquet",
                &["counts/cells.parquet: writing it would destroy what is read from counts"],
            ),
            ("export ranker.st --to onnx -o ranker.st", &["ranker.st: writing it would destroy"]),
            ("convert data/test.txt -o ./data/../data/test.txt", &["writing it would destroy what is read"]),
        ],
    );
}

#[cfg(unix)]
#[test]
fn a_folder_without_permission_to_write() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = prepared();
    let folder = sandbox.path("locked");
    std::fs::create_dir(&folder).unwrap();
    let permit = |mode| std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
    permit(0o555);
    // The administrator may write anywhere, so there is nothing to see then.
    if std::fs::write(folder.join("probe"), "").is_ok() {
        return;
    }
    let line = sandbox.fail("train data -o locked/ranker.st");
    permit(0o755);
    assert_eq!(line, "error: locked: permission denied");
}

/// Damage inside a Parquet file: found or harmless, but never a panic and never more than a line.
#[test]
fn damaged_parquet() {
    let sandbox = prepared();
    sandbox.run("simulate data --sessions 200 --production-share 1 -o good.parquet");
    let good = sandbox.read("good.parquet");
    for at in (4..good.len()).step_by(good.len() / 60 + 1) {
        let mut bytes = good.clone();
        bytes[at] ^= 0xff;
        sandbox.write("bad.parquet", bytes);
        if sandbox.output("count bad.parquet -o counts --quiet").status.code() != Some(0) {
            assert!(sandbox.fail("count bad.parquet -o counts").contains("bad.parquet"), "byte {at}");
        }
    }
}

//! The SQL for warehouses, and the engine that a build may lack.

mod common;

use common::Sandbox;

#[test]
fn the_statements_are_printed() {
    let sandbox = Sandbox::new();
    let named = "sql --dialect duckdb --log clicks --column user=client_id --column session=day+page";
    insta::assert_snapshot!("sql", sandbox.run(named));
}

#[test]
fn unknown_dialects_and_fields_are_refused() {
    let sandbox = Sandbox::new();
    assert!(sandbox.fail("sql --dialect oracle").contains("[possible values: spark, duckdb, bigquery]"));
    assert!(sandbox.fail("sql --column who=x").contains("a log has no field 'who'"));
}

/// Other builds are tested with a cluster.
#[cfg(not(feature = "spark"))]
#[test]
fn builds_without_spark_say_how_to_get_it() {
    let sandbox = Sandbox::new();
    sandbox.write("clicks.csv", "session,user,query,doc,position,click\n1,u,q,a,1,1\n1,u,q,b,2,0\n");
    sandbox.run("count clicks.csv -o counts");
    sandbox.write("p.json", r#"{"method":"by hand","scale":"true","positions":2,"population":[1.0,0.5]}"#);
    let expected = "this build has no Spark; build one with `cargo build --release --features spark`";
    for command in ["count clicks.csv", "propensity counts", "relevance counts --propensities p.json"] {
        let line = sandbox.fail(&format!("{command} --engine sc://host:15002/;token=secret -o out.json"));
        assert!(line.contains("sc://host:15002/: ") && line.contains(expected) && !line.contains("secret"), "{line}");
    }
    assert!(sandbox.fail("propensity counts --engine sc://host --method swap -o p.json").contains("not for --engine"));
}

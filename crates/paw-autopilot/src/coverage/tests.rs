use proptest::prelude::*;

use super::changed_lines::{LineRanges, changed_lines};
use super::gate::{ThresholdStatus, judge};
use super::*;
use crate::tasks::settings::CoverageThresholds;

fn base() -> PathBase<'static> {
    PathBase {
        root: Path::new("/app"),
        go_module: Some("example.com/m"),
        is_file: &|path| path.starts_with("lib"),
        is_test: &|path| path.starts_with("tests"),
    }
}

fn read(text: &str) -> Coverage {
    parse(text, base()).unwrap()
}

fn shown(coverage: &Coverage) -> String {
    let percent = |ratio: Option<CoverageRatio>| {
        ratio.map_or("-".to_owned(), |ratio| format!("{:.1}", ratio.percent()))
    };
    let metrics = [coverage.lines, coverage.branches, coverage.functions, coverage.statements].map(percent);
    let files = coverage.files.iter().map(|(file, lines)| format!("{} {lines:?}", file.display()));
    [metrics.join(" ")].into_iter().chain(files).collect::<Vec<_>>().join("\n")
}

const LCOV: &str = "TN:\nSF:/app/src/a.js\nFN:1,f\nFNF:2\nFNH:1\nBRF:4\nBRH:3\nDA:1,5\nDA:2,0\nLF:2\nLH:1\nend_of_record\n\
    TN:\nSF:src/a.js\nDA:2,1\nDA:3,0\nend_of_record\n";

#[test]
fn lcov_merges_a_file_that_is_listed_twice() {
    assert_eq!(shown(&read(LCOV)), "66.7 75.0 50.0 -\nsrc/a.js {1: 5, 2: 1, 3: 0}");
}

#[test]
fn cobertura_report_with_a_document_type_is_read() {
    let text = r#"<?xml version="1.0" ?>
<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">
<coverage line-rate="0.5" branch-rate="0" lines-covered="1" lines-valid="2" branches-covered="0" branches-valid="0" version="1">
<packages><package><classes><class filename="src/a.py"><methods><method name="f"><lines><line number="1" hits="3"/></lines></method></methods>
<lines><line number="1" hits="3"/><line number="2" hits="0"/></lines></class></classes></package></packages></coverage>"#;
    assert_eq!(shown(&read(text)), "50.0 - - -\nsrc/a.py {1: 3, 2: 0}");
}

#[test]
fn cobertura_names_are_relative_to_their_sources() {
    let text = r#"<coverage><sources><source>/elsewhere</source><source>/app/lib</source></sources><packages><package>
<classes><class filename="pkg/a.py"><lines><line number="1" hits="1"/></lines></class></classes></package></packages></coverage>"#;
    assert_eq!(shown(&read(text)), "100.0 - - -\nlib/pkg/a.py {1: 1}");
    let relative = text.replace("/app/lib", "lib");
    assert_eq!(shown(&read(&relative)), "100.0 - - -\nlib/pkg/a.py {1: 1}");
    let unknown = text.replace("/app/lib", "/gone");
    assert_eq!(shown(&read(&unknown)), "100.0 - - -\npkg/a.py {1: 1}", "no source has the file");
}

#[test]
fn test_files_do_not_count_as_covered_code() {
    let lcov = "SF:tests/a.js\nFNF:9\nFNH:9\nBRF:9\nBRH:9\nDA:1,5\nend_of_record\nSF:a.js\nBRF:2\nBRH:1\nDA:1,0\nend_of_record\n";
    assert_eq!(shown(&read(lcov)), "0.0 50.0 - -\na.js {1: 0}");
    let python = r#"{"totals":{"covered_lines":9,"num_statements":10},"files":{
        "tests/test_a.py":{"summary":{"covered_lines":9,"num_statements":9},"executed_lines":[1]},
        "a.py":{"summary":{"covered_lines":0,"num_statements":1},"missing_lines":[1]}}}"#;
    assert_eq!(shown(&read(python)), "0.0 - - 0.0\na.py {1: 0}");
}

#[test]
fn reports_of_one_run_complete_each_other() {
    let summary = r#"{"total":{"statements":{"total":4,"covered":3}}}"#;
    assert_eq!(
        shown(&read(summary).or(read("SF:a.js\nDA:1,1\nend_of_record"))),
        "100.0 - - 75.0\na.js {1: 1}"
    );
}

#[test]
fn istanbul_summary_without_branches_is_not_measured() {
    let text = r#"{"total":{"lines":{"total":10,"covered":8,"skipped":0,"pct":80},
        "statements":{"total":12,"covered":9,"pct":75},"functions":{"total":2,"covered":2,"pct":100},
        "branches":{"total":0,"covered":0,"skipped":0,"pct":"Unknown"}},"/app/a.js":{}}"#;
    assert_eq!(shown(&read(text)), "80.0 - 100.0 75.0");
}

#[test]
fn llvm_cov_segments_give_line_hits() {
    let text = r#"{"type":"llvm.coverage.json.export","version":"2.0.1","data":[{"totals":{
        "lines":{"count":4,"covered":3,"percent":75},"functions":{"count":2,"covered":1,"percent":50},
        "regions":{"count":5,"covered":4,"percent":80},"branches":{"count":0,"covered":0,"percent":0}},
        "files":[{"filename":"/app/src/lib.rs","segments":[
          [1,1,3,true,true,false],[3,2,0,false,false,false],[5,1,0,true,true,false],[6,2,0,false,false,false]]}]}]}"#;
    assert_eq!(shown(&read(text)), "75.0 - 50.0 80.0\nsrc/lib.rs {1: 3, 2: 3, 3: 3, 5: 0, 6: 0}");
}

#[test]
fn coverage_py_counts_are_used_instead_of_its_percentage() {
    let text = r#"{"meta":{"branch_coverage":true},"files":{"pkg/a.py":{"executed_lines":[1,2],"missing_lines":[3],
        "summary":{"covered_lines":2,"num_statements":3,"num_branches":2,"covered_branches":1}}},
        "totals":{"covered_lines":2,"num_statements":3,"percent_covered":60.0,"missing_lines":1,
        "num_branches":2,"covered_branches":1}}"#;
    assert_eq!(shown(&read(text)), "66.7 50.0 - 66.7\npkg/a.py {1: 1, 2: 1, 3: 0}");
}

#[test]
fn go_profile_blocks_are_merged() {
    let text = "mode: atomic\nexample.com/m/a.go:3.10,4.2 2 0\nexample.com/m/a.go:3.10,4.2 2 4\nexample.com/m/a.go:6.1,6.9 1 0\n";
    assert_eq!(shown(&read(text)), "- - - 66.7\na.go {3: 4, 4: 4, 6: 0}");
}

#[test]
fn unknown_report_formats_are_refused() {
    for text in ["", "hello", "{}", "<html/>", "[1]", "mode: set\nnonsense", "<coverage>", "{"] {
        assert!(parse(text, base()).is_err(), "{text:?}");
    }
}

#[test]
fn unmeasured_metric_is_neither_met_nor_missed() {
    let wanted = CoverageThresholds {
        lines: Some(60.0),
        branches: Some(80.0),
        functions: None,
        statements: Some(1.0),
    };
    let judged = judge(&read(LCOV), &wanted);
    let statuses: Vec<_> = judged.iter().map(|judged| (judged.metric, judged.status)).collect();
    assert_eq!(
        statuses,
        [
            ("lines", ThresholdStatus::Met),
            ("branches", ThresholdStatus::Missed),
            ("statements", ThresholdStatus::NotMeasured)
        ]
    );
}

#[test]
fn only_changed_lines_with_code_count() {
    let changes: LineRanges =
        [("src/a.js".into(), vec![2..=3, 7..=9]), ("src/new.js".into(), vec![1..=1])].into();
    let answer = changed_lines(&read(LCOV), &changes);
    assert_eq!(answer.ratio, CoverageRatio::of(1, 2));
    assert_eq!(answer.missed[0].line, Some(3));
    assert_eq!(answer.unknown, [PathBuf::from("src/new.js")]);
}

proptest! {
    #[test]
    fn coverage_parser_never_panics(text in "(SF:a\n|DA:|-?[0-9]{1,20}|,|FNF:|\n|end_of_record\n|mode: set\n|a:|\\.| |<coverage|>|\\{|\\}|\"data\":|\\[|\\]){0,40}") {
        let _ = parse(&text, base());
    }

    #[test]
    fn coverage_json_parser_never_panics(line in any::<u64>(), count in any::<u64>(), kind in "totals|total|data") {
        let value = serde_json::json!({"type": "llvm.coverage.json.export", kind: [{"files": [{"filename": "x",
            "segments": [[line, 1, count, true, true], [count, 1, line, true, false], 7]}]}]});
        let _ = parse(&value.to_string(), base());
    }
}

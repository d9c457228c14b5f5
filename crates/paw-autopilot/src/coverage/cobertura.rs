//! Cobertura XML. It has no functions or statements.

use std::path::{Path, PathBuf};

use roxmltree::{Document, Node, ParsingOptions};

use super::{Coverage, CoverageError, CoverageRatio, PathBase, count_lines};

pub(super) fn read(text: &str, base: PathBase<'_>) -> Result<Coverage, CoverageError> {
    let broken = |problem: String| CoverageError::Broken { format: "cobertura", problem };
    // These reports start with a document type; roxmltree does not load external entities.
    let options = ParsingOptions { allow_dtd: true, nodes_limit: 4_000_000, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| broken(error.to_string()))?;
    let root = document.root_element();
    if !root.has_tag_name("coverage") {
        return Err(CoverageError::Unknown);
    }
    let sources: Vec<&str> = root
        .descendants()
        .filter(|node| node.has_tag_name("source"))
        .filter_map(|node| node.text().map(str::trim))
        .collect();
    let mut coverage = Coverage::default();
    for class in root.descendants().filter(|node| node.has_tag_name("class")) {
        let Some(name) = class.attribute("filename") else { continue };
        let lines = coverage.files.entry(located(name, &sources, base)).or_default();
        for line in class.descendants().filter(|node| node.has_tag_name("line")) {
            if let Some(number) = line.attribute("number").and_then(|number| number.parse().ok()) {
                let hits = lines.entry(number).or_insert(0);
                // Methods repeat the lines of their class.
                *hits = (*hits).max(attribute(line, "hits"));
            }
        }
    }
    let given =
        |covered: &str, valid: &str| CoverageRatio::of(attribute(root, covered), attribute(root, valid));
    coverage.lines = given("lines-covered", "lines-valid").or_else(|| count_lines(&coverage.files));
    coverage.branches = given("branches-covered", "branches-valid");
    Ok(coverage)
}

/// The file of a class: its name is relative to one of the sources, or to the project.
fn located(name: &str, sources: &[&str], base: PathBase<'_>) -> PathBuf {
    let plain = base.relative(name);
    let below = |source: &&str| base.relative(&Path::new(source).join(name).to_string_lossy());
    let mut places = sources.iter().map(below).chain([plain.clone()]);
    places.find(|place| (base.is_file)(place)).unwrap_or(plain)
}

fn attribute(node: Node<'_, '_>, name: &str) -> u64 {
    node.attribute(name).and_then(|value| value.parse().ok()).unwrap_or(0)
}

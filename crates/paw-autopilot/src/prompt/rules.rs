//! The project's own rules for whoever works on it, read in the order its settings name them.

use crate::work::ProjectContext;

/// A rule nobody reads to its end is cut.
const LONGEST: usize = 64 * 1024;

/// Names and texts. The test generator's rules are for those who write tests. What is not there is passed over; what
/// lies outside of the worktree is not read.
pub fn load(context: &ProjectContext, writes_tests: bool) -> Vec<(String, String)> {
    let prompts = &context.settings.prompts;
    let rules = prompts.load_order.iter().map(|name| prompts.rules.join(name));
    let generator = writes_tests.then(|| prompts.test_generator.clone());
    let read = rules.chain(generator).filter_map(|path| {
        let text = context.load_inside(&path)?;
        let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
        Some((path.display().to_string(), text[..end].to_owned()))
    });
    read.collect()
}

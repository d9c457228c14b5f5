//! The project's rules for executors, in the configured order.

use crate::work::ProjectContext;

/// Longer rules are truncated.
const LONGEST: usize = 64 * 1024;

/// Loads names and texts. The test generator's rules are only for RED. Missing files and files outside of the
/// worktree are skipped.
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

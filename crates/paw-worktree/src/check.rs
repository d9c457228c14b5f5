//! What must be true before anything is touched, as far as it can be told from the request alone.

use std::path::{Path, PathBuf};

use paw_core::{BranchName, ProjectName};
use paw_host::git::Repo;

use crate::create::CreateRequest;
use crate::error::WorktreeError;

const MIB: u64 = 1024 * 1024;

/// A request whose words are sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateArguments {
    pub branch: BranchName,
    pub name: String,
}

pub fn check_arguments(request: &CreateRequest) -> Result<CreateArguments, WorktreeError> {
    if request.repo_path.as_os_str().is_empty() {
        return Err(WorktreeError::NoRepositoryPath);
    }
    let branch = BranchName::new(&request.branch)?;
    let name = match &request.name {
        Some(name) => worktree_name(name)?,
        None => branch.last_segment().to_owned(),
    };
    Ok(CreateArguments { branch, name })
}

/// A name is part of a directory's name, so it must not lead anywhere else.
fn worktree_name(name: &str) -> Result<String, WorktreeError> {
    if name.contains(['/', '\\']) {
        return Err(WorktreeError::NameWithSeparator);
    }
    let problem = match name {
        _ if name.trim().is_empty() => "is empty",
        "." | ".." => "means another directory",
        _ if name.starts_with('-') => "starts with '-'",
        _ if name.contains(|c: char| c.is_control()) => "contains a control character",
        _ => return Ok(name.to_owned()),
    };
    Err(WorktreeError::InvalidName { name: name.escape_default().to_string(), problem })
}

/// What the repository is called in the names of its worktrees.
pub fn project_name(repo: &Repo) -> ProjectName {
    let name = repo.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match (repo.bare, name.strip_suffix(".git")) {
        (true, Some(stem)) if !stem.is_empty() => ProjectName::from_path(&repo.root.with_file_name(stem)),
        // `app/.bare` is the repository of `app`.
        (true, _) if name.starts_with('.') => {
            ProjectName::from_path(repo.root.parent().unwrap_or(&repo.root))
        }
        _ => ProjectName::from_path(&repo.root),
    }
}

/// Where a worktree goes when nobody says: beside the repository.
pub fn default_directory(repo: &Repo, name: &str) -> PathBuf {
    parent_directory(repo).join(format!("{}-{name}", project_name(repo)))
}

/// The directory that holds the repository.
pub fn parent_directory(repo: &Repo) -> &Path {
    repo.root.parent().unwrap_or(&repo.root)
}

/// The files of a tree, and room for the index, for directories and for what a file system adds to each file.
pub fn required_bytes(tree_bytes: u64) -> u64 {
    tree_bytes.saturating_add(tree_bytes / 20).saturating_add(MIB)
}

/// Whether there is so much room that nobody needs to add up the files of the tree, which takes a while: four times
/// what the repository's own checkout takes for each of the `worktrees`, and a gibibyte.
pub fn has_ample_space(free: u64, checkout_bytes: Option<u64>, worktrees: u64) -> bool {
    let Some(bytes) = checkout_bytes else { return false };
    free >= bytes.saturating_mul(4).saturating_mul(worktrees).saturating_add(1024 * MIB)
}

#[cfg(test)]
mod tests {
    use paw_core::Diagnostic as _;

    use super::*;

    fn request(branch: &str, name: Option<&str>) -> CreateRequest {
        CreateRequest { name: name.map(Into::into), ..CreateRequest::new("/repo", branch) }
    }

    fn refusal(branch: &str, name: Option<&str>) -> String {
        let refused = check_arguments(&request(branch, name)).unwrap_err().report();
        format!("{}: {}", refused.code, refused.message)
    }

    #[test]
    fn bad_words_are_refused_with_the_rule_they_break() {
        let refusals = [
            refusal("feature/bad..name", None),
            refusal("x", Some("foo/bar")),
            refusal("x", Some("foo\\bar")),
            refusal("x", Some("..")),
            refusal("x", Some(" ")),
            refusal("x", Some("-rf")),
            refusal("x", Some("a\nb")),
        ];
        insta::assert_snapshot!(refusals.join("\n"), @r"
        INVALID_ARGUMENT: Invalid branch name: 'feature/bad..name' contains '..'
        INVALID_ARGUMENT: ManagedWorktree name cannot contain path separators
        INVALID_ARGUMENT: ManagedWorktree name cannot contain path separators
        INVALID_ARGUMENT: Invalid worktree name: '..' means another directory
        INVALID_ARGUMENT: Invalid worktree name: ' ' is empty
        INVALID_ARGUMENT: Invalid worktree name: '-rf' starts with '-'
        INVALID_ARGUMENT: Invalid worktree name: 'a\nb' contains a control character
        ");
    }

    #[test]
    fn without_a_name_it_is_the_last_part_of_the_branch() {
        assert_eq!(check_arguments(&request("feature/new-thing", None)).unwrap().name, "new-thing");
    }

    #[test]
    fn worktrees_stand_beside_the_repository_whatever_it_is() {
        let directory = |root: &str, bare| {
            let root = PathBuf::from(root);
            let repo = Repo { common_dir: root.clone(), root, worktree: None, bare };
            default_directory(&repo, "x").display().to_string()
        };
        assert_eq!(directory("/home/user/project", false), "/home/user/project-x");
        assert_eq!(directory("/srv/app.git", true), "/srv/app-x");
        assert_eq!(directory("/srv/app/.bare", true), "/srv/app/app-x");
    }

    #[test]
    fn plenty_of_room_grows_with_the_checkout_and_the_number_of_worktrees() {
        assert!(has_ample_space(1100 * MIB, Some(10 * MIB), 1));
        assert!(!has_ample_space(1100 * MIB, Some(10 * MIB), 10));
        assert!(!has_ample_space(u64::MAX, None, 1));
        assert_eq!(required_bytes(100 * MIB), 106 * MIB);
    }
}

//! Checks that need only the request: names, default paths and disk space.

use std::path::{Path, PathBuf};

use paw_core::{BranchName, ProjectName};
use paw_host::git::Repo;

use crate::create::CreateRequest;
use crate::error::WorktreeError;

const MIB: u64 = 1024 * 1024;

/// The valid branch and name of a request.
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

/// The name becomes part of a directory name, so it must not change the path.
fn worktree_name(name: &str) -> Result<String, WorktreeError> {
    if name.contains(['/', '\\']) {
        return Err(WorktreeError::NameWithSeparator);
    }
    let problem = match name {
        _ if name.trim().is_empty() => "is empty",
        "." | ".." => "is a relative path component",
        _ if name.starts_with('-') => "starts with '-'",
        _ if name.contains(|c: char| c.is_control()) => "contains a control character",
        _ => return Ok(name.to_owned()),
    };
    Err(WorktreeError::InvalidName { name: name.escape_default().to_string(), problem })
}

/// The project name used in worktree directories.
pub fn project_name(repo: &Repo) -> ProjectName {
    let name = repo.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match (repo.bare, name.strip_suffix(".git")) {
        (true, Some(stem)) if !stem.is_empty() => ProjectName::from_path(&repo.root.with_file_name(stem)),
        // A bare repository at `app/.bare` belongs to the project `app`.
        (true, _) if name.starts_with('.') => {
            ProjectName::from_path(repo.root.parent().unwrap_or(&repo.root))
        }
        _ => ProjectName::from_path(&repo.root),
    }
}

/// The default directory of a worktree: next to the repository.
pub fn default_directory(repo: &Repo, name: &str) -> PathBuf {
    parent_directory(repo).join(format!("{}-{name}", project_name(repo)))
}

/// The directory that contains the repository.
pub fn parent_directory(repo: &Repo) -> &Path {
    repo.root.parent().unwrap_or(&repo.root)
}

/// The size of a checkout: the files of the tree, plus the index, directories and file system overhead.
pub fn required_bytes(tree_bytes: u64) -> u64 {
    tree_bytes.saturating_add(tree_bytes / 20).saturating_add(MIB)
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
    fn invalid_branches_and_names_are_refused_with_the_violated_rule() {
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
        INVALID_ARGUMENT: Worktree name cannot contain path separators
        INVALID_ARGUMENT: Worktree name cannot contain path separators
        INVALID_ARGUMENT: Invalid worktree name: '..' is a relative path component
        INVALID_ARGUMENT: Invalid worktree name: ' ' is empty
        INVALID_ARGUMENT: Invalid worktree name: '-rf' starts with '-'
        INVALID_ARGUMENT: Invalid worktree name: 'a\nb' contains a control character
        ");
    }

    #[test]
    fn worktree_name_defaults_to_the_last_branch_segment() {
        assert_eq!(check_arguments(&request("feature/new-thing", None)).unwrap().name, "new-thing");
    }

    #[test]
    fn default_directory_is_next_to_a_normal_or_bare_repository() {
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
    fn a_checkout_needs_more_than_the_size_of_its_files() {
        assert_eq!(required_bytes(100 * MIB), 106 * MIB);
    }
}

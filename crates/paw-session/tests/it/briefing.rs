//! Briefings in real worktrees, which git must ignore.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::thread;

use paw_core::Diagnostic as _;
use paw_core::paths::CheckoutDir;
use paw_host::git::Repo;
use paw_session::briefing::{self, AGENTS_FILE, Briefing, BriefingError, END, InstalledBriefing, START};
use paw_session::skills::{self, SkillOrigin};
use paw_testkit::{Sandbox, TestRepo, git};

struct Place {
    sandbox: Sandbox,
    main: TestRepo,
    repo: Repo,
}

impl Place {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let main = sandbox.repo("app");
        let repo = Repo::discover(&main.root).unwrap();
        Self { sandbox, main, repo }
    }

    fn worktree(&self, name: &str) -> PathBuf {
        let dir = self.sandbox.root().join(name);
        self.main.git(["worktree", "add", "--quiet", "-b", &format!("feat/{name}"), dir.to_str().unwrap()]);
        dir
    }

    fn install(&self, dir: &Path) -> InstalledBriefing {
        briefing::install(&self.repo, dir, &briefing_of("do it")).unwrap()
    }

    fn remove(&self, dir: &Path) -> briefing::RemovedBriefing {
        briefing::remove(&self.repo, dir).unwrap()
    }

    fn excluded(&self) -> String {
        fs::read_to_string(self.main.root.join(".git/info/exclude")).unwrap_or_default()
    }
}

fn briefing_of(text: &str) -> Briefing {
    Briefing { text: text.to_owned(), warnings: Vec::new() }
}

fn status(dir: &Path) -> String {
    git(dir, ["status", "--porcelain", "--untracked-files=all"])
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn briefing_creates_an_agents_md_that_git_ignores() {
    let place = Place::new();
    let dir = place.worktree("a");
    let before = place.excluded();
    let installed = place.install(&dir);
    assert_eq!((installed.file.as_path(), installed.name), (dir.join(AGENTS_FILE).as_path(), AGENTS_FILE));
    let text = read(&installed.file);
    assert!(text.starts_with(START) && text.ends_with(&format!("do it\n{END}\n")), "{text}");
    git(&dir, ["add", "--all"]);
    assert_eq!(status(&dir), "");

    assert_eq!(place.remove(&dir).files, [dir.join(AGENTS_FILE)]);
    assert!(!dir.join(AGENTS_FILE).exists());
    assert_eq!(place.excluded(), before, "nothing of ours stays behind");
}

#[test]
fn installing_a_briefing_again_replaces_it() {
    let place = Place::new();
    let dir = place.worktree("a");
    place.install(&dir);
    let once = read(&dir.join(AGENTS_FILE));
    place.install(&dir);
    assert_eq!(read(&dir.join(AGENTS_FILE)), once);
    briefing::install(&place.repo, &dir, &briefing_of("something else")).unwrap();
    assert!(read(&dir.join(AGENTS_FILE)).contains("something else"));
    assert!(!read(&dir.join(AGENTS_FILE)).contains("do it"));
}

#[test]
fn briefing_keeps_the_content_of_an_untracked_agents_md() {
    let place = Place::new();
    let dir = place.worktree("a");
    let mine = b"\xef\xbb\xbf# Mine\r\n\xff no last line end";
    fs::write(dir.join(AGENTS_FILE), mine).unwrap();
    let installed = place.install(&dir);
    assert_eq!(installed.name, AGENTS_FILE);
    assert!(fs::read(&installed.file).unwrap().starts_with(mine));
    place.remove(&dir);
    assert_eq!(fs::read(dir.join(AGENTS_FILE)).unwrap(), mine);
}

#[test]
fn briefing_neither_changes_nor_hides_a_tracked_agents_md() {
    let place = Place::new();
    place.main.commit_file(AGENTS_FILE, "# Ours\n", "agents");
    let dir = place.worktree("a");
    let installed = place.install(&dir);
    assert_eq!(installed.name, CheckoutDir::BRIEFING);
    assert_eq!(read(&dir.join(AGENTS_FILE)), "# Ours\n");
    assert_eq!(status(&dir), "");

    // An agent's change to the tracked file is its work.
    fs::write(dir.join(AGENTS_FILE), "# Ours\nmore\n").unwrap();
    assert_eq!(status(&dir), " M AGENTS.md");
    git(&dir, ["commit", "--quiet", "--all", "--message", "more"]);
    assert_eq!(git(&dir, ["show", "--name-only", "--format=", "HEAD"]), AGENTS_FILE);

    place.remove(&dir);
    assert_eq!(read(&dir.join(AGENTS_FILE)), "# Ours\nmore\n");
    assert!(!dir.join(".git-paw").exists());
    assert_eq!(status(&dir), "");
}

#[test]
fn removing_a_briefing_keeps_a_region_committed_by_an_agent() {
    let place = Place::new();
    let committed = format!("# Ours\n{START}\nold\n{END}\n");
    place.main.commit_file(AGENTS_FILE, &committed, "agents");
    let dir = place.worktree("a");
    place.install(&dir);
    place.remove(&dir);
    assert_eq!((read(&dir.join(AGENTS_FILE)), status(&dir)), (committed, String::new()));
}

#[test]
fn briefing_does_not_recreate_a_deleted_but_tracked_agents_md() {
    let place = Place::new();
    place.main.commit_file(AGENTS_FILE, "# Ours\n", "agents");
    let dir = place.worktree("a");
    fs::remove_file(dir.join(AGENTS_FILE)).unwrap();
    assert_eq!(place.install(&dir).name, CheckoutDir::BRIEFING);
    assert!(!dir.join(AGENTS_FILE).exists());
}

#[test]
fn briefing_does_not_hide_an_untracked_agents_md_in_the_main_checkout() {
    let place = Place::new();
    let dir = place.worktree("a");
    place.main.write(AGENTS_FILE, "# Mine, not committed yet\n");
    assert_eq!(place.install(&dir).name, CheckoutDir::BRIEFING);
    assert_eq!(status(&place.main.root), "?? AGENTS.md");
}

#[test]
fn briefing_moves_to_the_local_file_when_the_main_checkout_gets_an_agents_md() {
    let place = Place::new();
    let dir = place.worktree("a");
    place.install(&dir);
    place.main.write(AGENTS_FILE, "# Mine, not committed yet\n");
    assert_eq!(place.install(&dir).name, CheckoutDir::BRIEFING);
    assert!(!dir.join(AGENTS_FILE).exists());
    assert_eq!(status(&place.main.root), "?? AGENTS.md");
}

#[test]
fn briefing_does_not_block_a_merge_that_adds_agents_md() {
    let place = Place::new();
    let dir = place.worktree("a");
    place.install(&dir);
    place.main.write(AGENTS_FILE, "# Ours\n");
    place.main.git(["add", "--force", AGENTS_FILE]);
    place.main.git(["commit", "--quiet", "--message", "agents"]);
    git(&dir, ["merge", "--quiet", "main"]);
    assert_eq!((read(&dir.join(AGENTS_FILE)), status(&dir)), ("# Ours\n".to_owned(), String::new()));
    assert_eq!(place.install(&dir).name, CheckoutDir::BRIEFING);
    assert_eq!(read(&dir.join(AGENTS_FILE)), "# Ours\n");
}

#[test]
fn supervisor_briefing_is_in_the_main_checkout_and_ignored_by_git() {
    let place = Place::new();
    place.main.commit_file(AGENTS_FILE, "# Ours\n", "agents");
    let root = &place.main.root;
    let installed = briefing::install_local(&place.repo, root, &briefing_of("watch")).unwrap();
    assert_eq!(installed.file, root.join(CheckoutDir::BRIEFING));
    assert_eq!(status(root), "");
    assert_eq!(place.remove(root).files, [root.join(CheckoutDir::BRIEFING)]);
    assert!(root.join(".git-paw").exists(), "the directory may hold more than ours");
}

#[test]
fn stop_strips_the_boot_block_injection() {
    let place = Place::new();
    let root = &place.main.root;
    place.main.commit_file(AGENTS_FILE, "# Ours\n", "agents");
    place.main.write(AGENTS_FILE, "# Ours\n<!-- git-paw:start -->\nold\n<!-- git-paw:end -->\n");
    assert_eq!(place.remove(root).files, [root.join(AGENTS_FILE)]);
    assert_eq!((read(&root.join(AGENTS_FILE)), status(root)), ("# Ours\n".to_owned(), String::new()));
}

#[test]
fn stop_or_purge_on_agents_md_without_markers_is_a_no_op() {
    let place = Place::new();
    let file = place.main.root.join(AGENTS_FILE);
    assert_eq!(place.remove(&place.main.root), briefing::RemovedBriefing::default());
    fs::write(&file, b"# Ours\r\n\xff").unwrap();
    assert_eq!(place.remove(&place.main.root), briefing::RemovedBriefing::default());
    assert_eq!(fs::read(&file).unwrap(), b"# Ours\r\n\xff");
}

#[test]
fn briefing_without_an_end_mark_causes_a_warning_and_its_text_stays() {
    let place = Place::new();
    let dir = place.worktree("a");
    fs::write(dir.join(AGENTS_FILE), format!("{START}\nperhaps mine\n")).unwrap();
    let installed = place.install(&dir);
    assert!(installed.warnings[0].contains("without its last line"), "{:?}", installed.warnings);
    place.remove(&dir);
    assert_eq!(read(&dir.join(AGENTS_FILE)), "perhaps mine\n");
}

#[test]
fn briefing_is_not_written_through_links() {
    let place = Place::new();
    let target = place.sandbox.write("precious/notes.md", "notes\n");
    let dir = place.worktree("a");
    symlink(&target, dir.join(AGENTS_FILE)).unwrap();
    assert_eq!(place.install(&dir).name, CheckoutDir::BRIEFING);

    let other = place.worktree("b");
    fs::create_dir(other.join(".git-paw")).unwrap();
    symlink(&target, other.join(CheckoutDir::BRIEFING)).unwrap();
    symlink("README.md", other.join(AGENTS_FILE)).unwrap();
    let error = briefing::install(&place.repo, &other, &briefing_of("x")).unwrap_err();
    assert!(matches!(error, BriefingError::NotAPlainFile(_)));

    let third = place.worktree("c");
    symlink(target.parent().unwrap(), third.join(".git-paw")).unwrap();
    let error = briefing::install_local(&place.repo, &third, &briefing_of("x")).unwrap_err();
    assert!(error.to_string().contains(".git-paw"), "{error}");
    assert_eq!(read(&target), "notes\n");
    assert_eq!(fs::read_dir(target.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn briefing_refuses_a_tracked_local_file() {
    let place = Place::new();
    place.main.commit_file(CheckoutDir::BRIEFING, "oops\n", "side file");
    let dir = place.worktree("a");
    let error = briefing::install_local(&place.repo, &dir, &briefing_of("x")).unwrap_err();
    let error = error.report().to_string();
    assert!(error.contains("git rm --cached"), "{error}");
    assert_eq!(status(&dir), "");
}

#[test]
fn briefings_installed_in_parallel_share_one_exclude_rule() {
    let place = Place::new();
    let dirs: Vec<PathBuf> = (0..8).map(|n| place.worktree(&format!("w{n}"))).collect();
    thread::scope(|scope| {
        for dir in &dirs {
            scope.spawn(|| place.install(dir));
        }
    });
    assert_eq!(place.excluded().lines().filter(|line| *line == "/AGENTS.md").count(), 1);
    for (at, dir) in dirs.iter().enumerate() {
        assert_eq!(status(dir), "");
        place.remove(dir);
        let needed = at + 1 < dirs.len();
        assert_eq!(place.excluded().contains("/AGENTS.md"), needed, "after {}", at + 1);
    }
}

#[test]
fn removing_a_briefing_keeps_the_users_exclude_rule() {
    let place = Place::new();
    let rules = place.main.root.join(".git/info/exclude");
    fs::write(&rules, "/AGENTS.md\n*.log").unwrap();
    let dir = place.worktree("a");
    place.install(&dir);
    place.remove(&dir);
    assert_eq!(read(&rules), "/AGENTS.md\n*.log");
}

#[test]
fn removing_a_briefing_drops_the_rule_of_a_removed_worktree() {
    let place = Place::new();
    let dir = place.worktree("a");
    place.install(&dir);
    place.main.git(["worktree", "remove", dir.to_str().unwrap()]);
    place.remove(&place.main.root);
    assert!(!place.excluded().contains("AGENTS.md"));
}

const OWN: &str = "---\nname: coordination\ndescription: ours\n---\nOur way.\n";

#[test]
fn skill_of_the_repository_overrides_the_users_which_overrides_the_built_in_one() {
    let place = Place::new();
    let config = place.sandbox.home().join(".config/git-paw");
    let load = || skills::load(skills::COORDINATION, &place.main.root, &config).unwrap();
    assert_eq!(load().skill.origin, SkillOrigin::BuiltIn);
    let single = place.sandbox.write("home/.config/git-paw/agent-skills/coordination.md", "My way.\n");
    let found = load();
    assert_eq!(
        (found.skill.origin, found.skill.body.as_str()),
        (SkillOrigin::User(single.clone()), "My way.\n")
    );
    fs::write(&single, OWN).unwrap();
    assert_eq!(
        (load().skill.body.as_str(), load().warnings.len()),
        ("Our way.\n", 0),
        "front matter is allowed"
    );
    let user = place.sandbox.write("home/.config/git-paw/agent-skills/coordination/SKILL.md", OWN);
    assert_eq!(load().skill.origin, SkillOrigin::User(user));
    place.main.write(".agents/skills/coordination/SKILL.md", OWN);
    let found = load();
    let own = place.main.root.join(".agents/skills/coordination/SKILL.md");
    assert_eq!((found.skill.origin, found.skill.body.as_str()), (SkillOrigin::Repository(own), "Our way.\n"));
}

#[test]
fn invalid_skill_is_skipped_with_a_warning() {
    let place = Place::new();
    let config = place.sandbox.home();
    let load = || skills::load(skills::SUPERVISOR, &place.main.root, &config).unwrap();
    for text in ["no front matter\n", "---\nname: [\n---\n", &"x".repeat(300 * 1024)] {
        place.main.write(".agents/skills/supervisor/SKILL.md", text);
        let found = load();
        assert_eq!((found.skill.origin, found.warnings.len()), (SkillOrigin::BuiltIn, 1));
    }
    let secret = place.sandbox.write("secret.md", OWN);
    let file = place.main.root.join(".agents/skills/supervisor/SKILL.md");
    fs::remove_file(&file).unwrap();
    symlink(&secret, &file).unwrap();
    let found = load();
    assert_eq!(found.skill.origin, SkillOrigin::BuiltIn);
    assert!(found.warnings[0].contains("is a link out of its directory"), "{:?}", found.warnings);
}

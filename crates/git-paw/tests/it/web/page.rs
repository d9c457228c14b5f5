//! The page in headless Chromium, as a person uses it: on a phone in the dark, and on a desktop with the keyboard alone.
//!
//! `scripts/test-web` repeats both on other screens: `PAW_WEB_SCREEN="360x740 light"`.

mod interruptions;

use std::fs;
use std::path::Path;

use paw_core::paths::TaskmasterDir;
use paw_testkit::{git, wait_until};
use serde_json::{Value, json};

use super::WebWorld;
use super::browser::{Browser, ENTER, Hand, note};

/// A name that git accepts and a careless page runs.
const HOSTILE_BRANCH: &str = "feat/<img/src=\"x\"/onerror=\"hacked=1\">";
const HOSTILE: &str = "<img src=x onerror=\"window.hacked=1\">";

/// A person in front of a screen.
struct Visit {
    world: WebWorld,
    browser: Browser,
    axe: Option<String>,
}

/// axe-core, if it is installed.
fn load_axe() -> Option<String> {
    let file =
        std::env::var_os("PAW_RUNNERS").map(|dir| Path::new(&dir).join("node_modules/axe-core/axe.min.js"));
    let axe = file.and_then(|file| fs::read_to_string(file).ok());
    if axe.is_none() {
        note(
            "skipped: axe-core is not installed, so the page's accessibility is not checked (scripts/test does it)",
        );
    }
    axe
}

impl Visit {
    /// Shows a view, by its address.
    fn go(&self, place: &str) {
        self.browser.script("location.hash = arguments[0]", &[place.into()]);
    }

    /// Nothing is wider than the screen, the names of views fit, nothing that agents wrote became part of the page, and axe-core finds nothing serious.
    fn check(&self, view: &str) {
        let widths = self.browser.script("return [document.documentElement.scrollWidth, innerWidth]", &[]);
        assert!(widths[0].as_u64() <= widths[1].as_u64(), "{view} is too wide: {widths}");
        let cut = "return [...document.querySelectorAll('.views b')]
            .filter((name) => innerWidth < 500 && (name.offsetHeight > 24 || name.offsetWidth > name.parentNode.offsetWidth))
            .map((name) => name.textContent)";
        assert_eq!(self.browser.script(cut, &[]), json!([]), "{view}: names of views do not fit");
        let script =
            "return [document.querySelectorAll('[onerror], img[src=x]').length, window.hacked ?? null]";
        assert_eq!(self.browser.script(script, &[]), json!([0, null]), "{view}");
        let Some(axe) = &self.axe else { return };
        self.browser.script(&format!("if (!window.axe) {{ {axe} }}"), &[]);
        let script = "const done = arguments[0];
            axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => done(violations
                .filter((found) => ['serious', 'critical'].includes(found.impact))
                .map((found) => `${found.id}: ${found.nodes.map((node) => node.html).join(' ')}`)),
                (error) => done(String(error)));";
        let found = self.browser.script_async(script, &[]);
        assert_eq!(found, json!([]), "{view}");
    }

    /// The link logs in, and does not stay in the address; nor does the next one in the same tab.
    fn log_in_with_the_link(&self) {
        for _ in 0..2 {
            let link = self.world.link(&[]);
            self.browser.open(link["link"].as_str().unwrap());
            self.browser.wait_for_script("the link is used", "return location.hash === ''");
            self.browser.wait_for("Nothing needs you");
        }
        assert_eq!(self.browser.script("return document.cookie", &[]), "");
    }

    /// The code is typed, after a wrong one.
    fn log_in_with_the_code(&self) {
        let link = self.world.link(&[]);
        let (link, code) = (link["link"].as_str().unwrap(), link["code"].as_str().unwrap());
        self.browser.open(link.split('#').next().unwrap());
        self.browser.wait_for("Run git paw web");
        self.check("the login");
        self.browser.write("#code", "ABCD-EFGH-JKLM");
        self.browser.press(ENTER);
        self.browser.wait_for("this code is not valid");
        // What was wrong is selected, so that typing replaces it.
        self.browser.press(&code.to_lowercase());
        self.browser.press(ENTER);
        self.browser.wait_for("Nothing needs you");
    }

    fn approve_and_deny(&self) {
        let (world, browser) = (&self.world, &self.browser);
        world.submit("build [[bash:rm -rf build]]");
        browser.wait_for("rm -rf build");
        browser.wait_for("`rm` is not on the allowlist");
        browser.wait_for_script("the title shows the number", "return document.title.startsWith('(1) ')");
        self.check("an approval");
        browser.activate("button", "Approve once");
        wait_until("it was allowed", || world.has_event("allowed rm -rf build").then_some(()));
        browser.wait_for("Nothing needs you");
        world.submit("clean [[bash:rm -rf cache]]");
        browser.wait_for("rm -rf cache");
        browser.activate("summary", "say what to do instead");
        browser.write("details.more input", "keep the cache");
        browser.activate("button", "Deny");
        wait_until("it was denied", || world.has_event("denied rm -rf cache").then_some(()));
        browser.wait_for("Nothing needs you");
        browser.wait_for_script("the title shows no number", "return !document.title.includes('(')");
    }

    /// What an agent writes is text, whatever it looks like.
    fn answer_a_question(&self) {
        let (world, browser) = (&self.world, &self.browser);
        let question = format!("tabs or {HOSTILE} spaces?");
        world.say_as_agent(&["status", "working", "--message", HOSTILE]);
        world.say_as_agent(&["question", &question]);
        browser.wait_for(&question);
        self.check("a question");
        browser.write("form.answer textarea", "spaces, please");
        browser.activate("form.answer button", "Answer");
        browser.wait_for("Nothing needs you");
        self.go("#/messages");
        browser.wait_for("onerror=");
        self.check("messages");
        browser.write("#words", "spaces, please");
        browser.wait_for_script(
            "the search finds the answer",
            "return document.querySelectorAll('.messages li').length === 1",
        );
    }

    fn comment_on_a_line(&self) {
        let (world, browser) = (&self.world, &self.browser);
        let worktree = world.worktree("feat/x");
        fs::write(worktree.join("greet.sh"), format!("echo hello\necho {HOSTILE}\n")).unwrap();
        self.go("#/agent/feat-x/diff");
        browser.wait_for(&format!("echo {HOSTILE}"));
        self.check("changes");
        browser.activate("button.line", "echo hello");
        browser.write("#comment", "greet by name");
        browser.activate(".comment button", "Send");
        browser.wait_for("Comment sent.");
        let comment = "comment on greet.sh:1 (`echo hello`): greet by name";
        wait_until("the agent gets it", || {
            let typed = world.agent.prompts().iter().any(|prompt| prompt.contains(comment));
            // A busy agent gets it in its inbox.
            (typed || world.run_as_agent(&["inbox"]).contains(comment)).then_some(())
        });
    }

    /// A conflict is in the matrix and in the list, and gone when it is resolved.
    fn see_a_conflict(&self) {
        let (world, browser) = (&self.world, &self.browser);
        let clash = |branch: &str| world.worktree(branch).join(HOSTILE);
        for branch in ["feat/x", "feat/y"] {
            fs::write(clash(branch), format!("{branch} wrote this\n")).unwrap();
        }
        self.go("#/conflicts");
        browser.wait_for("both changed it, and it does not merge");
        browser.wait_for(HOSTILE);
        self.check("conflicts");
        browser.activate(".matrix button", "");
        browser.wait_for_script(
            "the pair is picked",
            "return document.querySelector('.matrix button[aria-pressed=true]')?.ariaLabel.includes('1 conflict')",
        );
        fs::remove_file(clash("feat/y")).unwrap();
        browser.wait_for("No two agents change the same files.");
    }

    /// Every kind of event of this visit has its mark, and agents their bars.
    fn look_back(&self) {
        self.go("#/timeline");
        for part in
            [".bar.waits", ".mark.commit", ".mark.verified", ".mark.question", ".mark.conflict", ".mark.main"]
        {
            let script = format!("return Boolean(document.querySelector('svg {part}'))");
            self.browser.wait_for_script(part, &script);
        }
    }

    fn follow_an_autopilot_run(&self) {
        let run = TaskmasterDir::of(&self.world.worktree("feat/x")).run("2026-11-16T10-00-00");
        fs::create_dir_all(run.log().parent().unwrap()).unwrap();
        let manifest = json!({"runId": "1", "taskId": "7", "branch": "master/task-7", "status": "running",
            "startTime": "2026-11-16T10:00:00Z", "subtasksCompleted": ["7.1"], "totalCommits": 1,
            "finalCoverage": {"lines": 87}});
        fs::write(run.manifest(), manifest.to_string()).unwrap();
        let step =
            |phase, tests: Value| json!({"ts": "2026-11-16T10:00:01Z", "phase": phase, "tests": tests});
        let steps = [
            step("red", json!({"passed": 3, "failed": 1})),
            step("green", json!({"passed": 4, "failed": 0})),
            step("commit", Value::Null),
        ];
        fs::write(run.log(), steps.map(|step| format!("{step}\n")).concat()).unwrap();
        self.go("#/runs");
        for words in ["Task 7", "87 % of lines covered", "3 passed, 1 failed", "4 passed, 0 failed", "commit"]
        {
            self.browser.wait_for(words);
        }
        self.check("a run");
    }

    fn use_the_terminal(&self) {
        let (world, browser) = (&self.world, &self.browser);
        let pane = world.pane("feat-x");
        self.go("#/agent/feat-x/terminal");
        browser.wait_for("You are watching.");
        browser.wait_for("? for shortcuts");
        self.check("a terminal");
        browser.activate("button", "Take over");
        browser.wait_for("You are typing into this terminal.");
        browser.press("typed here");
        wait_until("it is in the pane", || world.shows(&pane, "typed here").then_some(()));
        browser.press_with('\u{e008}', '\u{e00c}');
        browser.wait_for_script("Shift+Escape leaves it", "return document.activeElement.id === 'release'");
        browser.activate("button", "Release");
        browser.wait_for("You are watching.");
        browser.activate("button", "Show as text");
        browser.wait_for_script(
            "the text is there",
            "return Boolean(document.querySelector('.transcript')?.textContent.includes('typed here'))",
        );
    }

    fn verify_and_merge(&self) {
        let (world, browser) = (&self.world, &self.browser);
        let worktree = world.worktree("feat/y");
        fs::write(worktree.join("good"), "x\n").unwrap();
        git(&worktree, ["add", "--all"]);
        git(&worktree, ["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", HOSTILE]);
        let tip = git(&worktree, ["rev-parse", "HEAD"]);
        self.go("#/work");
        browser.wait_for("can be merged");
        self.check("gates and merge");
        browser.activate("button", "Verify feat/y");
        browser.wait_for("✓ verified");
        browser.activate("button", "Merge all verified");
        browser.activate("button", "Merge now");
        browser.wait_for("main is now at");
        assert_eq!(world.repo.git(["rev-parse", "main"]), tip);
    }

    /// Notifications come only after the person asked for them, and only while they look elsewhere.
    fn turn_notifications_on(&self, origin: &str) {
        let (world, browser) = (&self.world, &self.browser);
        let permission = json!({"permissions": ["notifications"], "origin": origin});
        browser.protocol("Browser.grantPermissions", &permission);
        let script = "window.told = [];
            window.Notification = class extends Notification {
                constructor(title, options) {
                    super(title, options);
                    window.told.push(title);
                }
            };
            document.hasFocus = () => false;";
        browser.script(script, &[]);
        world.say_as_agent(&["question", "before you wanted to know?"]);
        browser.wait_for("before you wanted to know?");
        browser.activate("button", "Notifications are off");
        browser.wait_for("Notifications are on");
        self.go("#/");
        browser.write("form.answer textarea", "no");
        browser.activate("form.answer button", "Answer");
        browser.wait_for("Nothing needs you");
        world.say_as_agent(&["question", "and now?"]);
        browser.wait_for_script("the browser notifies", "return window.told.length > 0");
        assert_eq!(browser.script("return window.told", &[]), json!(["feat-x asks"]));
        browser.write("form.answer textarea", "yes");
        browser.activate("form.answer button", "Answer");
        browser.wait_for("Nothing needs you");
        // A browser on a phone lets only a service worker show them.
        let script = "window.told = [];
            window.Notification = class {
                static permission = 'granted';
                constructor() { throw new TypeError('Illegal constructor'); }
            };
            const show = ServiceWorkerRegistration.prototype.showNotification;
            ServiceWorkerRegistration.prototype.showNotification = function (title, options) {
                return show.call(this, title, options).then(() => window.told.push(`${title} ${options.data}`));
            };";
        browser.script(script, &[]);
        world.say_as_agent(&["question", "and on a phone?"]);
        browser.wait_for_script("the service worker notifies", "return window.told.length > 0");
        assert_eq!(browser.script("return window.told", &[]), json!(["feat-x asks #/agent/feat-x"]));
        browser.write("form.answer textarea", "there, too");
        browser.activate("form.answer button", "Answer");
        browser.wait_for("Nothing needs you");
    }
}

/// Everything, on one screen.
fn supervise((width, height): (u32, u32), scheme: &str, hand: Hand) {
    let config = "[supervisor]\ntest_command = \"test -e good\"\n[sandbox]\nruns = \"off\"\n";
    let world =
        WebWorld::with_branches(config, &["feat/x", "feat/y=second", &format!("{HOSTILE_BRANCH}=second")]);
    let Some(browser) = Browser::start(&world.sandbox, hand) else { return };
    let visit = Visit { world, browser, axe: load_axe() };
    let (world, browser) = (&visit.world, &visit.browser);
    wait_until("the agent got its first prompt", || (!world.agent.prompts().is_empty()).then_some(()));
    browser.show_as(width, height, scheme);
    match hand {
        Hand::Pointer => visit.log_in_with_the_link(),
        Hand::Keyboard => visit.log_in_with_the_code(),
    }
    browser.wait_for(HOSTILE_BRANCH);
    visit.approve_and_deny();
    visit.answer_a_question();
    visit.comment_on_a_line();
    visit.see_a_conflict();
    visit.use_the_terminal();
    visit.verify_and_merge();
    visit.look_back();
    visit.follow_an_autopilot_run();
    for view in ["#/conflicts", "#/timeline", "#/agent/feat-x"] {
        visit.go(view);
        visit.check(view);
    }
    visit.go("#/");
    let origin = browser.script("return location.origin", &[]);
    visit.turn_notifications_on(origin.as_str().unwrap());
    visit.see_the_costs();
    visit.wake_up();
    visit.lose_the_connection();
    visit.meet_another_version();
    browser.activate("button", "Log out");
    browser.wait_for("Run git paw web");
    assert_eq!(browser.script("return sessionStorage.length", &[]), Value::from(0));
}

/// Another screen, if `scripts/test-web` asks for one.
fn screen(width: u32, height: u32, scheme: &str) -> ((u32, u32), String) {
    let Ok(look) = std::env::var("PAW_WEB_SCREEN") else { return ((width, height), scheme.to_owned()) };
    let (size, scheme) = look.split_once(' ').unwrap();
    let (width, height) = size.split_once('x').unwrap();
    ((width.parse().unwrap(), height.parse().unwrap()), scheme.to_owned())
}

#[test]
fn person_supervises_a_session_on_a_phone() {
    let (size, scheme) = screen(360, 740, "dark");
    supervise(size, &scheme, Hand::Pointer);
}

#[test]
fn person_supervises_a_session_with_the_keyboard_alone() {
    let (size, scheme) = screen(1440, 900, "light");
    supervise(size, &scheme, Hand::Keyboard);
}

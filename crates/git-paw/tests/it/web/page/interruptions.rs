//! A page that loses its connection, sleeps, or meets a newer program.

use serde_json::Value;

use super::Visit;

/// Does something with the page's own state.
const WITH_STATE: &str = "const done = arguments[arguments.length - 1];
    import('/store.js').then((store) => { BODY; done(true); });";

impl Visit {
    fn with_state(&self, body: &str) {
        let done = self.browser.script_async(&WITH_STATE.replace("BODY", body), &[]);
        assert_eq!(done, Value::Bool(true), "{body}");
    }

    /// The page stays as it is, says that it is old, and connects again.
    pub(super) fn lose_the_connection(&self) {
        let (world, browser) = (&self.world, &self.browser);
        // The process may be back before anyone can look.
        let script = "window.wasStale = false;
            new MutationObserver(() => window.wasStale ||= document.body.innerText.includes('Not connected for'))
                .observe(document.body, { subtree: true, childList: true, characterData: true });";
        browser.script(script, &[]);
        self.go("#/agent/feat-x/terminal");
        browser.wait_for("? for shortcuts");
        world.kill_process();
        browser.wait_for_script("the page says that it is old", "return window.wasStale");
        // The terminal is live again, too.
        world.tmux(&["send-keys", "-t", &world.pane("feat-x"), "-l", "typed elsewhere"]);
        browser.wait_for("typed elsewhere");
        browser.wait_for_script(
            "nothing is wrong",
            "return document.querySelector('main .problem').textContent === ''",
        );
        self.go("#/");
        world.say_as_agent(&["question", "are you back?"]);
        browser.wait_for("are you back?");
        self.wait_until_connected();
        self.check("agents");
    }

    fn wait_until_connected(&self) {
        let script = "return !document.body.innerText.includes('Not connected for')";
        self.browser.wait_for_script("the page is connected", script);
    }

    /// A page that heard nothing for a minute, as a laptop that was closed, does not wait for its old connection.
    pub(super) fn wake_up(&self) {
        let script = "window.follows = 0;
            const original = window.fetch;
            window.fetch = (address, ...rest) => {
                if (String(address).includes('/api/events')) window.follows += 1;
                return original(address, ...rest);
            };";
        self.browser.script(script, &[]);
        self.with_state("store.state.lastSeen = Date.now() - 60_000; dispatchEvent(new Event('online'))");
        self.browser.wait_for_script("the page connects again", "return window.follows > 0");
        self.wait_until_connected();
    }

    /// The session's process is replaced by one of another version, whose files are loaded.
    pub(super) fn meet_another_version(&self) {
        let script = "document.querySelector('meta[name=\"program-version\"]').content = '0.0.0'; window.isOld = true;";
        self.browser.script(script, &[]);
        self.world.kill_process();
        // Something has to notice that it is gone.
        self.world.say_as_agent(&["status", "working", "--message", "after the upgrade"]);
        self.browser.wait_for_script("the page is loaded again", "return window.isOld === undefined");
        self.browser.wait_for("after the upgrade");
    }

    /// What a conversation has cost is shown where it is known.
    pub(super) fn see_the_costs(&self) {
        self.go("#/");
        let usage = "usage: { cost_usd_micros: 1230000, context_tokens: 45000 }";
        let agent = format!("{{ ...store.state.agents['feat-x'], {usage} }}");
        self.with_state(&format!("store.apply({{ agents: {{ 'feat-x': {agent} }} }})"));
        self.browser.wait_for("$1.23 · 45k tokens");
    }
}

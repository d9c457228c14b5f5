"""What is particular to each CLI: how it finds the model, what spares it its first questions, how one says no to it."""

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass

KEY = "not-a-real-key"


@dataclass
class Cli:
    name: str
    bin: str
    # What its hooks have reported after a first turn, and the name of such a record.
    tells = ("SessionStart", "UserPromptSubmit", "Stop")
    kind_of = "hook_event_name"
    # How git paw calls that.
    way = "hooks"
    # What a person presses to say no.
    no = ("Escape",)
    # The dialog it shows for new hooks, and the keys that answer it.
    greeting = None
    # What its dialog says in a directory that it does not trust, and the keys that answer it.
    trust = None
    # Whether it reports a rate limit by itself, and whether it continues by itself afterwards.
    tells_limits = False
    retries = False
    # Whether harmless commands run in a sandbox of its own, and only what has to leave it is asked.
    sandboxed = False

    def environment(self, url):
        raise NotImplementedError

    def seed(self, lab):
        raise NotImplementedError

    def distrust(self, lab):
        """Lets it ask again whether it may trust the repository. Seeding it again ends that."""
        raise NotImplementedError

    def conversations(self, lab):
        """The names of the conversations it keeps for the agent's worktree."""
        raise NotImplementedError

    def conversation_of(self, record):
        """The name of the conversation that a record is about."""
        return record["session_id"]


class Claude(Cli):
    tells_limits = True
    trust = ("Yes, I trust this folder", ("Enter",))

    def environment(self, url):
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            # Of itself it tries a refused request ten times.
            "CLAUDE_CODE_MAX_RETRIES": "1",
        }

    def seed(self, lab):
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        settings = {
            "hasCompletedOnboarding": True,
            "lastOnboardingVersion": "99.0.0",
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(lab.repo.resolve()): trusted},
        }
        (lab.home / ".claude.json").write_text(json.dumps(settings))

    def distrust(self, lab):
        file = lab.home / ".claude.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"projects": {}}))

    def conversations(self, lab):
        kept = "".join(letter if letter.isalnum() else "-" for letter in str(lab.worktree))
        return {file.stem for file in (lab.home / ".claude/projects" / kept).glob("*.jsonl")}


class Codex(Cli):
    sandboxed = True
    greeting = ("Hooks need review", ("2", "Enter"))
    trust = ("Trust and continue", ("Enter",))

    def environment(self, url):
        return {"FAKE_KEY": KEY}

    def seed(self, lab):
        # Without /tmp among the writable places, only what git paw adds lets a commit through. A model of which the
        # CLI knows nothing gets fewer tools, hence a known name; its successor is not to be advertised.
        config = f"""\
model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "on-request"
check_for_update_on_startup = false

[model_providers.scripted]
name = "Scripted"
base_url = "{lab.url}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"

[projects."{lab.repo.resolve()}"]
trust_level = "trusted"

[analytics]
enabled = false

[features]
daemon_auto_start = false
hooks = true

[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
"""
        file = lab.home / ".codex/config.toml"
        file.parent.mkdir(exist_ok=True)
        if file.exists():
            # It keeps there which hooks it was told to trust.
            config = f'{self.without_projects(file)}\n[projects."{lab.repo.resolve()}"]\ntrust_level = "trusted"\n'
        file.write_text(config)

    def distrust(self, lab):
        file = lab.home / ".codex/config.toml"
        file.write_text(self.without_projects(file))

    def without_projects(self, file):
        return re.sub(r'(?m)^\[projects\."[^\n]*\n(?:[^\[\n][^\n]*\n|\n)*', "", file.read_text())

    def conversations(self, lab):
        begun = (json.loads(file.open().readline()) for file in (lab.home / ".codex/sessions").rglob("*.jsonl"))
        return {one["payload"]["id"] for one in begun if one["payload"]["cwd"] == str(lab.worktree)}


class Gemini(Cli):
    tells = ()
    trust = ("Do you trust", ("1",))

    def environment(self, url):
        return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url}

    def seed(self, lab, asks=False):
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": asks}},
            "general": {"enableAutoUpdate": False, "disableAutoUpdate": True, "disableUpdateNag": True},
            "privacy": {"usageStatisticsEnabled": False},
            "ui": {"hideTips": True},
        }
        (lab.home / ".gemini").mkdir(exist_ok=True)
        (lab.home / ".gemini/settings.json").write_text(json.dumps(settings))

    def distrust(self, lab):
        self.seed(lab, asks=True)

    def conversations(self, lab):
        kept = (lab.home / ".gemini/tmp" / lab.worktree.name / "chats").glob("*.jsonl")
        return {json.loads(file.open().readline())["sessionId"] for file in kept}


class Opencode(Cli):
    tells = ("session.created", "session.status")
    kind_of = "type"
    way = "events"
    tells_limits = True
    retries = True

    def environment(self, url):
        return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}

    def seed(self, lab):
        model = "claude-sonnet-4-5"
        place = {"baseURL": f"{lab.url}/v1", "apiKey": KEY}
        provider = {"npm": "@ai-sdk/anthropic", "name": "Scripted", "options": place, "models": {model: {"name": "S"}}}
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "model": f"scripted/{model}",
            "small_model": f"scripted/{model}",
            "provider": {"scripted": provider},
            # Of itself it asks nothing.
            "permission": {"bash": "ask", "edit": "ask", "webfetch": "ask"},
        }
        config = lab.home / ".config/opencode"
        config.mkdir(parents=True, exist_ok=True)
        (config / "opencode.json").write_text(json.dumps(settings))
        # It installs a package at every start that has plugins. Where there is no network it is to give up at once.
        (lab.home / ".npmrc").write_text("fetch-retries=0\n")

    def conversations(self, lab):
        with closing(sqlite3.connect(lab.home / ".local/share/opencode/opencode.db")) as kept:
            found = kept.execute("select id from session where directory = ? and parent_id is null", [str(lab.worktree)])
            return {name for (name,) in found}

    def conversation_of(self, record):
        return record["properties"]["sessionID"]


KINDS = {"claude": Claude, "codex": Codex, "gemini": Gemini, "opencode": Opencode}

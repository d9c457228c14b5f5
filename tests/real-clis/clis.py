"""What is particular to each CLI: how it finds the model, what spares it its first questions, how one says no to it."""

import json
from dataclasses import dataclass

KEY = "not-a-real-key"


@dataclass
class Cli:
    name: str
    bin: str
    # Whether its hooks tell us what it does.
    hooks = True
    # What a person presses to say no.
    no = ("Escape",)
    # A dialog that a person answers when it first meets our hooks: what it shows, and the keys.
    greeting = None
    # Whether harmless commands run in a sandbox of its own, and only what has to leave it is asked.
    sandboxed = False

    def environment(self, url):
        raise NotImplementedError

    def seed(self, lab):
        raise NotImplementedError

    def conversations(self, lab):
        """What it calls the conversations that it keeps for the agent's worktree."""
        raise NotImplementedError


class Claude(Cli):
    def environment(self, url):
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
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

    def conversations(self, lab):
        kept = "".join(letter if letter.isalnum() else "-" for letter in str(lab.worktree))
        return {file.stem for file in (lab.home / ".claude/projects" / kept).glob("*.jsonl")}


class Codex(Cli):
    sandboxed = True
    greeting = ("Hooks need review", ("2", "Enter"))

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
        (lab.home / ".codex").mkdir()
        (lab.home / ".codex/config.toml").write_text(config)

    def conversations(self, lab):
        begun = (json.loads(file.open().readline()) for file in (lab.home / ".codex/sessions").rglob("*.jsonl"))
        return {one["payload"]["id"] for one in begun if one["payload"]["cwd"] == str(lab.worktree)}


class Gemini(Cli):
    hooks = False

    def environment(self, url):
        return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url}

    def seed(self, lab):
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False, "disableAutoUpdate": True, "disableUpdateNag": True},
            "privacy": {"usageStatisticsEnabled": False},
            "ui": {"hideTips": True},
        }
        (lab.home / ".gemini").mkdir()
        (lab.home / ".gemini/settings.json").write_text(json.dumps(settings))

    def conversations(self, lab):
        kept = (lab.home / ".gemini/tmp" / lab.worktree.name / "chats").glob("*.jsonl")
        return {json.loads(file.open().readline())["sessionId"] for file in kept}


KINDS = {"claude": Claude, "codex": Codex, "gemini": Gemini}

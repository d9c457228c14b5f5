CREATE TABLE worktrees (
    id             TEXT PRIMARY KEY,
    name           TEXT NOT NULL,
    path           BLOB NOT NULL UNIQUE,
    repo           BLOB NOT NULL,
    common_dir     BLOB NOT NULL,
    branch         TEXT NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('creating', 'active', 'stale', 'broken', 'removing')),
    message        TEXT,
    created_branch INTEGER NOT NULL,
    start          TEXT NOT NULL,
    admin_dir      BLOB,
    topmost_made   BLOB NOT NULL,
    setup_status   TEXT NOT NULL CHECK (setup_status IN ('none', 'success', 'failed', 'timeout', 'untrusted')),
    setup_error    TEXT,
    adopted        INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL
) STRICT;

CREATE INDEX worktrees_by_repo ON worktrees (repo);
CREATE INDEX worktrees_unfinished ON worktrees (status) WHERE status IN ('creating', 'removing');

-- A conversation stays, closed, after its worktree is deleted, so that it cannot continue elsewhere.
CREATE TABLE conversations (
    id          TEXT PRIMARY KEY,
    worktree_id TEXT REFERENCES worktrees (id) ON DELETE SET NULL,
    cli         TEXT NOT NULL,
    cli_session TEXT,
    status      TEXT NOT NULL CHECK (status IN ('idle', 'active', 'closed')),
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX conversations_by_worktree ON conversations (worktree_id);

CREATE TRIGGER conversations_close BEFORE DELETE ON worktrees BEGIN
    UPDATE conversations SET status = 'closed' WHERE worktree_id = OLD.id;
END;

-- Which worktree of a repository was entered last.
CREATE TABLE switched (
    repo        BLOB PRIMARY KEY,
    worktree_id TEXT NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE
) STRICT;

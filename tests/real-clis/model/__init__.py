"""A scripted model that AI CLIs use like a real one.

`Model` holds jobs and what was asked of it, `server` speaks HTTP, and each wire format has a file of its own.
"""

from .script import Job, Model, ask, bash, edit, hold, refuse, say, write
from .server import serve

__all__ = ["Job", "Model", "ask", "bash", "edit", "hold", "refuse", "say", "serve", "write"]

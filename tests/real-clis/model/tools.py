"""A step as the tool call of one CLI: each declares its own tools, and they are used by the names it gave them."""

import os
import re

PLACES = (
    r"<cwd>(.+?)</cwd>",
    r"[Ww]orking directory:\s*(/\S+)",
    r"working in the directory:?\s*(/\S+)",
    r"Workspace Directories:\*\*\s*-?\s*(/\S+)",
)


def call(step, request):
    """The name and the input of the tool that does the step."""
    tools = request.tools
    if step.kind == "bash":
        return shell(step, tools)
    if step.kind == "ask":
        name = first(tools, "AskUserQuestion", "ask_user", "request_user_input")
        choices = [{"label": one, "description": one} for one in ("yes", "no")]
        question = {"question": step.text, "header": "Choice", "multiSelect": False, "options": choices}
        return name, {"questions": [question]}
    if "apply_patch" in tools:
        return "apply_patch", {"input": patch(step)}
    path = os.path.join(cwd(request), step.path)
    if step.kind == "write":
        name = first(tools, "Write", "write_file", "write")
        return name, spelled({"file_path": path, "content": step.text}, tools[name])
    name = first(tools, "Edit", "replace", "edit")
    change = spelled({"file_path": path, "old_string": step.old, "new_string": step.text}, tools[name])
    if "instruction" in tools[name]:
        change["instruction"] = "replace it"
    return name, change


def spelled(words, declared):
    """The words as the tool spells them: file_path, or filePath."""
    camel = lambda name: re.sub(r"_(.)", lambda found: found.group(1).upper(), name)  # noqa: E731
    return {name if name in declared else camel(name): value for name, value in words.items()}


def shell(step, tools):
    name = first(tools, "Bash", "bash", "exec_command", "shell_command", "run_shell_command", "shell")
    if name == "shell":
        return name, {"command": ["bash", "-lc", step.text]}
    words = {"cmd" if name == "exec_command" else "command": step.text}
    if step.escalate and name in ("exec_command", "shell_command"):
        words |= {"sandbox_permissions": "require_escalated", "justification": "it does not work in the sandbox"}
    if name in ("Bash", "bash", "run_shell_command"):
        words["description"] = "Does what the task needs"
    return name, words


def patch(step):
    if step.kind == "write":
        rows = "".join(f"+{row}\n" for row in step.text.split("\n"))
        return f"*** Begin Patch\n*** Add File: {step.path}\n{rows}*** End Patch"
    return f"*** Begin Patch\n*** Update File: {step.path}\n@@\n-{step.old}\n+{step.text}\n*** End Patch"


def first(tools, *names):
    for name in names:
        if name in tools:
            return name
    raise LookupError(f"the CLI offers none of {', '.join(names)}")


def cwd(request):
    """Where the CLI says it is: most of its tools take absolute paths only."""
    said = "\n".join([request.system, *(turn.text for turn in request.turns)])
    for place in PLACES:
        found = re.search(place, said)
        if found:
            return found.group(1).rstrip(".`'\"")
    return ""

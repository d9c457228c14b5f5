//! Classifies error messages. Tests written before the code fail because something does not exist yet; other causes
//! are no proof.

/// The cause of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCause {
    /// A name, module or member that does not exist.
    Missing,
    /// A syntax error.
    Syntax,
    Other,
}

/// rustc codes for names, paths, modules, fields, variants, methods and traits that do not exist.
const RUST_MISSING: [&str; 19] = [
    "E0405", "E0407", "E0408", "E0411", "E0412", "E0422", "E0423", "E0424", "E0425", "E0426", "E0432",
    "E0433", "E0437", "E0438", "E0531", "E0560", "E0583", "E0599", "E0609",
];

/// Messages of other tools for the same cause.
const MISSING: [&str; 23] = [
    "ModuleNotFoundError",
    "cannot import name",
    "has no attribute",
    "NameError: name",
    "ERR_MODULE_NOT_FOUND",
    "Cannot find module",
    "Cannot find package",
    "does not provide an export named",
    "Failed to resolve import",
    "Failed to load url",
    "Cannot find name",
    "has no exported member",
    "does not exist on type",
    "is not defined",
    "undefined: ",
    "undefined (type",
    "is not in std",
    "no required module provides package",
    "cannot find module providing package",
    "is not in GOROOT",
    "not found in module",
    "is not a function",
    "is not a constructor",
];

const SYNTAX: [&str; 11] = [
    "SyntaxError",
    "IndentationError",
    "TabError",
    "Unexpected token",
    "Transform failed",
    "syntax error",
    "expected declaration",
    "unclosed delimiter",
    "invalid JS syntax",
    "Unexpected end of",
    ", found 'EOF'",
];

pub fn classify_error(message: &str) -> ErrorCause {
    if RUST_MISSING.iter().any(|code| message.contains(&format!("[{code}]"))) {
        return ErrorCause::Missing;
    }
    // node reports "does not provide an export" as a SyntaxError, so this check comes first.
    if MISSING.iter().any(|words| message.contains(words)) {
        return ErrorCause::Missing;
    }
    let bare_rust_error = message.starts_with("error: ") && !message.starts_with("error: aborting");
    if bare_rust_error || SYNTAX.iter().any(|words| message.contains(words)) {
        return ErrorCause::Syntax;
    }
    ErrorCause::Other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_names_and_syntax_errors_are_classified_for_many_tools() {
        for message in [
            "error[E0425]: cannot find function `subtract` in crate `fix`",
            "ModuleNotFoundError: No module named 'missing'",
            "ImportError: cannot import name 'nothing' from 'app'",
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/app/missing.mjs'",
            "SyntaxError: The requested module './a.mjs' does not provide an export named 'b'",
            "Failed to resolve import \"./missing.js\" from \"src/b.test.js\"",
            "b/b_test.go:3:11: undefined: y",
            "math_test.go:6:2: cannot find module providing package example.com/m/missing",
            "Cannot find module './missing.js' imported from /app/math.test.js",
            "Cannot find module './missing.js' from 'math.test.js'",
            "SyntaxError: Export named 'subtract' not found in module '/app/math.js'.",
            "TypeError: (0 , __vite_ssr_import_1__.subtract) is not a function",
        ] {
            assert_eq!(classify_error(message), ErrorCause::Missing, "{message}");
        }
        for message in [
            "error: expected one of `!` or `::`, found `x`",
            "SyntaxError: invalid syntax",
            "SyntaxError: Unexpected token '}'",
            "./x_test.go:3:1: syntax error: unexpected }",
            "math_test.go:5:30: expected '}', found 'EOF'",
            "error: Unexpected end of file\n    at /app/math.test.js:3:22",
            "Failed to parse source for import analysis because the content contains invalid JS syntax.",
        ] {
            assert_eq!(classify_error(message), ErrorCause::Syntax, "{message}");
        }
        assert_eq!(classify_error("error[E0308]: mismatched types"), ErrorCause::Other);
        assert_eq!(classify_error("permission denied"), ErrorCause::Other);
    }
}

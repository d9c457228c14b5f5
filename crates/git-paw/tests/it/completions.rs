//! `git paw completions`

use paw_testkit::Sandbox;

use crate::paw::{PROGRAM, paw};

#[test]
fn a_script_for_every_shell() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = paw(&sandbox, &sandbox.root(), &["completions", shell]);
        assert!(ran.code == 0 && ran.stdout.contains("list-clis"), "{shell}: {ran}");
        assert!(!ran.stdout.contains("demo-agent"), "{shell} offers hidden commands");
    }
}

#[test]
fn bash_completes_git_paw_and_git_dash_paw() {
    let sandbox = Sandbox::new();
    let script = format!(
        "source <({PROGRAM} completions bash)
         complete_it() {{ COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); cur=${{!#}} prev=${{@: -2:1}}; }}
         complete_it git-paw list; _git__paw git-paw list git-paw; echo \"${{COMPREPLY[@]}}\"
         complete_it git paw doc; _git_paw; echo \"${{COMPREPLY[@]}}\""
    );
    let ran = sandbox.run(&sandbox.root(), "bash", ["-c", &script]);
    assert_eq!(ran.stdout, "list-clis\ndoctor\n", "{ran}");
}

use std::path::PathBuf;

use paw_core::BranchName;
use proptest::prelude::*;

use super::*;

fn entry(kind: SpecFormat, id: &str, unit: &str, prompt: &str) -> SpecEntry {
    SpecEntry {
        id: id.to_owned(),
        unit: unit.to_owned(),
        branch: BranchName::new("spec/x").unwrap(),
        cli: None,
        prompt: prompt.to_owned(),
        owned_files: Vec::new(),
        path: PathBuf::from("specs/x"),
        kind,
    }
}

fn titles(draft: &TaskDraft) -> Vec<&str> {
    draft.subtasks.iter().map(|item| item.title.as_str()).collect()
}

#[test]
fn draft_turns_open_openspec_tasks_into_subtasks_with_details() {
    let tasks = "## 1. Backend\n- [x] 1.1 Create the table\n  - with an index\n- [ ] 1.2 Add the endpoint\n  - answers 201\n  - answers 400\n\n## 2. Frontend\n* [ ] 2.1 [docs](x) Show the code\n```\n- [ ] an example\n```\n\n## Spec: auth\n\n# Auth\nIt MUST ask twice.";
    let draft = draft(&[entry(SpecFormat::Openspec, "add-2fa", "add-2fa", tasks)]).unwrap();
    assert_eq!(titles(&draft), ["Add the endpoint", "[docs](x) Show the code"]);
    assert_eq!(draft.subtasks[0].details, "- answers 201\n- answers 400");
    assert_eq!(draft.title, "Add 2fa");
    assert!(draft.details.starts_with("Spec: specs/x (add-2fa)\n\n## 1. Backend"), "{}", draft.details);
}

#[test]
fn draft_takes_the_title_from_the_name_without_a_heading() {
    for (unit, title) in
        [("add-two-factor-auth", "Add two factor auth"), ("001-photo-albums", "Photo albums"), ("42", "42")]
    {
        let draft = draft(&[entry(SpecFormat::Markdown, unit, unit, "# Tasks\n\nWords.")]).unwrap();
        assert_eq!((draft.title.as_str(), draft.subtasks.len()), (title, 0));
    }
}

#[test]
fn draft_combines_the_parts_of_a_feature_in_order() {
    let context = "## Feature Context\n\n# Feature Specification: Photo albums\n\n---\n\n";
    let part = |id: &str, tasks: &str| {
        let prompt = format!(
            "{context}## Your Task\n\n001-photos, phase 1 (Setup):\n\n{tasks}\n\nLeave the check boxes alone."
        );
        entry(SpecFormat::Speckit, id, "001-photos", &prompt)
    };
    let parts = [
        part("001-photos-T002", "- T002 [US1] Make the model"),
        part("001-photos-phase-1", "- T001 Set up\n- T003"),
    ];
    let draft = draft(&parts).unwrap();
    assert_eq!((draft.title.as_str(), titles(&draft)), ("Photo albums", vec!["Make the model", "Set up"]));
    assert!(
        draft.details.starts_with("Spec: specs/x (001-photos)\n") && !draft.details.contains("Your Task")
    );
}

#[test]
fn draft_refuses_a_spec_whose_tasks_are_all_done() {
    let error = draft(&[entry(SpecFormat::Openspec, "x", "x", "- [x] 1.1 a\n- [X] 1.2 b")]).unwrap_err();
    assert!(error.to_string().contains("every task of spec 'x' is done"), "{error}");
}

proptest! {
    #[test]
    fn draft_of_any_text_has_non_empty_titles(text in "(- \\[[ xX]\\] |[0-9]\\.|T[0-9]|\\[P\\]|# |```|[a-z \n\u{e9}]){0,60}") {
        for kind in [SpecFormat::Openspec, SpecFormat::Markdown, SpecFormat::Speckit] {
            if let Ok(draft) = draft(&[entry(kind, "some-spec", "some-spec", &text)]) {
                prop_assert!(!draft.title.trim().is_empty());
                prop_assert!(draft.subtasks.iter().all(|item| !item.title.trim().is_empty()));
            }
        }
    }
}

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::PathBuf;

use paw_agent::detect::CliSource;

use super::*;
use crate::prompt::{LineCheck, PromptQuestion};

/// The next scripted answer.
#[derive(Debug)]
pub(crate) enum ScriptedAnswer {
    One(usize),
    Many(Vec<usize>),
    Line(&'static str),
    CtrlC,
}

/// A recorded question: its text, its rows, and the start of the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskedQuestion {
    pub(crate) text: String,
    pub(crate) rows: Vec<String>,
    pub(crate) start: usize,
}

/// Answers from a script. An unexpected question fails the test.
#[derive(Debug, Default)]
pub(crate) struct ScriptedPrompter {
    answers: RefCell<VecDeque<ScriptedAnswer>>,
    pub(crate) asked: RefCell<Vec<AskedQuestion>>,
}

impl ScriptedPrompter {
    pub(crate) fn new(answers: impl IntoIterator<Item = ScriptedAnswer>) -> Self {
        Self { answers: RefCell::new(answers.into_iter().collect()), asked: RefCell::default() }
    }

    fn next(
        &self,
        question: &PromptQuestion<'_>,
        rows: &[String],
        start: usize,
    ) -> Result<ScriptedAnswer, PawError> {
        let asked = AskedQuestion { text: question.text.to_owned(), rows: rows.to_vec(), start };
        self.asked.borrow_mut().push(asked);
        match self.answers.borrow_mut().pop_front().expect("no unexpected question") {
            ScriptedAnswer::CtrlC => Err(PawError::UserCancelled),
            answer => Ok(answer),
        }
    }
}

impl Prompter for ScriptedPrompter {
    fn is_interactive(&self) -> bool {
        true
    }

    fn pick_one(
        &self,
        question: &PromptQuestion<'_>,
        rows: &[String],
        start: usize,
    ) -> Result<usize, PawError> {
        match self.next(question, rows, start)? {
            ScriptedAnswer::One(number) => Ok(number),
            other => panic!("{other:?} does not answer {question:?}"),
        }
    }

    fn pick_many(&self, question: &PromptQuestion<'_>, rows: &[String]) -> Result<Vec<usize>, PawError> {
        match self.next(question, rows, 0)? {
            ScriptedAnswer::Many(numbers) => Ok(numbers),
            other => panic!("{other:?} does not answer {question:?}"),
        }
    }

    fn edit(&self, question: &PromptQuestion<'_>, _text: &str) -> Result<String, PawError> {
        match self.next(question, &[], 0)? {
            ScriptedAnswer::Line(line) => Ok(line.to_owned()),
            other => panic!("{other:?} does not answer {question:?}"),
        }
    }

    fn write(&self, question: &PromptQuestion<'_>, check: LineCheck) -> Result<String, PawError> {
        match self.next(question, &[], 0)? {
            ScriptedAnswer::Line(line) => {
                check(line).map(|()| line.to_owned()).map_err(PawError::BranchError)
            }
            other => panic!("{other:?} does not answer {question:?}"),
        }
    }

    fn confirm(&self, question: &PromptQuestion<'_>, _default: bool) -> Result<bool, PawError> {
        Ok(matches!(self.next(question, &[], 0)?, ScriptedAnswer::One(1)))
    }
}

pub(crate) fn cli(binary_name: &str, display_name: &str) -> CliInfo {
    CliInfo {
        binary_name: binary_name.to_owned(),
        display_name: display_name.to_owned(),
        source: CliSource::Detected,
        path: PathBuf::from("/usr/bin").join(binary_name),
        launcher: None,
    }
}

fn names(names: &[&str]) -> Vec<BranchName> {
    names.iter().map(|name| BranchName::new(*name).unwrap()).collect()
}

/// Two branches and two CLIs, `alpha` and `beta`.
struct Fixture {
    branches: Vec<BranchName>,
    clis: Vec<CliInfo>,
}

impl Fixture {
    fn new() -> Self {
        let clis = vec![cli("alpha", "Alpha"), cli("beta", "Beta")];
        Self { branches: names(&["feature/auth", "fix/api"]), clis }
    }

    fn choice(&self) -> SelectionInput<'_> {
        let Self { branches, clis } = self;
        SelectionInput { branches, own: None, clis, cli_flag: None, branches_flag: None, default_cli: None }
    }
}

fn mapped(selection: Result<Vec<Mapping>, PawError>) -> Vec<(String, String)> {
    selection.unwrap().into_iter().map(|(branch, cli)| (branch.into(), cli)).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(branch, cli)| ((*branch).to_owned(), (*cli).to_owned())).collect()
}

const UNIFORM: ScriptedAnswer = ScriptedAnswer::One(0);
const PER_BRANCH: ScriptedAnswer = ScriptedAnswer::One(1);

#[test]
fn both_flags_skip_all_prompts() {
    let fixture = Fixture::new();
    let flagged = names(&["feature/auth", "fix/api"]);
    let choice =
        SelectionInput { cli_flag: Some("alpha"), branches_flag: Some(&flagged), ..fixture.choice() };
    let selection = run_selection(&ScriptedPrompter::default(), &choice);
    assert_eq!(mapped(selection), pairs(&[("feature/auth", "alpha"), ("fix/api", "alpha")]));
}

#[test]
fn cli_flag_provided_branches_prompted() {
    let fixture = Fixture::new();
    let script = ScriptedPrompter::new([ScriptedAnswer::Many(vec![0, 1])]);
    let choice = SelectionInput { cli_flag: Some("alpha"), ..fixture.choice() };
    let selection = run_selection(&script, &choice);
    assert_eq!(mapped(selection), pairs(&[("feature/auth", "alpha"), ("fix/api", "alpha")]));
    assert_eq!(script.asked.borrow().len(), 1);
}

#[test]
fn branches_flag_provided_cli_prompted_in_uniform_mode() {
    let fixture = Fixture::new();
    let flagged = names(&["new/one", "new/two"]);
    let script = ScriptedPrompter::new([UNIFORM, ScriptedAnswer::One(1)]);
    let choice = SelectionInput { branches_flag: Some(&flagged), ..fixture.choice() };
    assert_eq!(mapped(run_selection(&script, &choice)), pairs(&[("new/one", "beta"), ("new/two", "beta")]));
}

#[test]
fn uniform_mode_selection() {
    let fixture = Fixture::new();
    let script = ScriptedPrompter::new([ScriptedAnswer::Many(vec![0, 1]), UNIFORM, ScriptedAnswer::One(0)]);
    let selection = run_selection(&script, &fixture.choice());
    assert_eq!(mapped(selection), pairs(&[("feature/auth", "alpha"), ("fix/api", "alpha")]));
}

#[test]
fn per_branch_mode_selection() {
    let fixture = Fixture::new();
    let script = ScriptedPrompter::new([
        ScriptedAnswer::Many(vec![0, 1]),
        PER_BRANCH,
        ScriptedAnswer::One(1),
        ScriptedAnswer::One(0),
    ]);
    let selection = run_selection(&script, &fixture.choice());
    assert_eq!(mapped(selection), pairs(&[("feature/auth", "beta"), ("fix/api", "alpha")]));
    let asked = script.asked.borrow();
    assert!(asked[2].text.contains("feature/auth") && asked[3].text.contains("fix/api"), "{asked:?}");
}

#[test]
fn per_branch_mode_with_branches_flag() {
    let fixture = Fixture::new();
    let flagged = names(&["a", "b"]);
    let script = ScriptedPrompter::new([PER_BRANCH, ScriptedAnswer::One(0), ScriptedAnswer::One(1)]);
    let choice = SelectionInput { branches_flag: Some(&flagged), ..fixture.choice() };
    assert_eq!(mapped(run_selection(&script, &choice)), pairs(&[("a", "alpha"), ("b", "beta")]));
}

#[test]
fn selection_of_one_branch_does_not_ask_for_a_mode() {
    let fixture = Fixture::new();
    let script = ScriptedPrompter::new([ScriptedAnswer::Many(vec![1]), ScriptedAnswer::One(1)]);
    assert_eq!(mapped(run_selection(&script, &fixture.choice())), pairs(&[("fix/api", "beta")]));
}

#[test]
fn selection_with_one_cli_does_not_ask_for_it() {
    let mut fixture = Fixture::new();
    fixture.clis.truncate(1);
    let script = ScriptedPrompter::new([ScriptedAnswer::Many(vec![0, 1])]);
    let selection = run_selection(&script, &fixture.choice());
    assert_eq!(mapped(selection), pairs(&[("feature/auth", "alpha"), ("fix/api", "alpha")]));
    assert_eq!(script.asked.borrow().len(), 1);
}

#[test]
fn selection_combines_existing_and_new_branches() {
    let fixture = Fixture::new();
    let choice = SelectionInput { cli_flag: Some("alpha"), ..fixture.choice() };
    let script = ScriptedPrompter::new([
        ScriptedAnswer::Many(vec![2, 1]),
        ScriptedAnswer::Line("feat/new, fix/api  feat/other feat/new"),
    ]);
    let selection = mapped(run_selection(&script, &choice));
    assert_eq!(selection, pairs(&[("fix/api", "alpha"), ("feat/new", "alpha"), ("feat/other", "alpha")]));
    assert!(script.asked.borrow()[0].rows[2].contains("new branches"));
}

#[test]
fn selection_does_not_offer_the_checked_out_branch() {
    let fixture = Fixture::new();
    let own = BranchName::new("fix/api").unwrap();
    let choice = SelectionInput { cli_flag: Some("alpha"), own: Some(&own), ..fixture.choice() };
    let script = ScriptedPrompter::new([ScriptedAnswer::Many(vec![0])]);
    assert_eq!(mapped(run_selection(&script, &choice)), pairs(&[("feature/auth", "alpha")]));
    assert!(!script.asked.borrow()[0].rows.contains(&"fix/api".to_owned()));
    let only = [own.clone()];
    let choice = SelectionInput { branches: &only, ..choice };
    let script = ScriptedPrompter::new([ScriptedAnswer::Line("feat/new")]);
    assert_eq!(mapped(run_selection(&script, &choice)), pairs(&[("feat/new", "alpha")]));
}

#[test]
fn selection_refuses_an_invalid_branch_name_and_cancels_on_an_empty_line() {
    let fixture = Fixture::new();
    let refused = |line| {
        let script = ScriptedPrompter::new([ScriptedAnswer::Many(vec![2]), ScriptedAnswer::Line(line)]);
        run_selection(&script, &SelectionInput { cli_flag: Some("alpha"), ..fixture.choice() }).unwrap_err()
    };
    assert!(matches!(refused("feat/ok bad..name"), PawError::BranchError(_)));
    assert!(matches!(refused(" , "), PawError::UserCancelled));
}

#[test]
fn empty_cli_list() {
    let fixture = Fixture::new();
    let choice = SelectionInput { clis: &[], ..fixture.choice() };
    let error = run_selection(&ScriptedPrompter::default(), &choice).unwrap_err();
    assert!(matches!(error, PawError::NoCLIsFound), "{error}");
}

#[test]
fn empty_branch_list() {
    let fixture = Fixture::new();
    for choice in [
        SelectionInput { branches: &[], ..fixture.choice() },
        SelectionInput { branches_flag: Some(&[]), cli_flag: Some("alpha"), ..fixture.choice() },
    ] {
        let error = run_selection(&ScriptedPrompter::default(), &choice).unwrap_err();
        assert!(matches!(error, PawError::BranchError(_)), "{error}");
    }
}

#[test]
fn selection_refuses_an_unknown_cli_before_it_asks() {
    let fixture = Fixture::new();
    let choice = SelectionInput { cli_flag: Some("gamma"), ..fixture.choice() };
    let error = run_selection(&ScriptedPrompter::default(), &choice).unwrap_err();
    assert!(matches!(&error, PawError::CliNotFound(name) if name == "gamma"), "{error}");
}

#[test]
fn user_cancels_branch_selection() {
    let fixture = Fixture::new();
    let error =
        run_selection(&ScriptedPrompter::new([ScriptedAnswer::CtrlC]), &fixture.choice()).unwrap_err();
    assert!(matches!(error, PawError::UserCancelled));
}

#[test]
fn user_selects_no_branches() {
    let fixture = Fixture::new();
    let error =
        run_selection(&ScriptedPrompter::new([ScriptedAnswer::Many(vec![])]), &fixture.choice()).unwrap_err();
    assert!(matches!(error, PawError::UserCancelled));
}

#[test]
fn user_cancels_cli_selection() {
    let fixture = Fixture::new();
    for cancelled in [
        ScriptedPrompter::new([ScriptedAnswer::Many(vec![0]), ScriptedAnswer::CtrlC]),
        ScriptedPrompter::new([ScriptedAnswer::Many(vec![0, 1]), ScriptedAnswer::CtrlC]),
        ScriptedPrompter::new([
            ScriptedAnswer::Many(vec![0, 1]),
            PER_BRANCH,
            ScriptedAnswer::One(0),
            ScriptedAnswer::CtrlC,
        ]),
    ] {
        let error = run_selection(&cancelled, &fixture.choice()).unwrap_err();
        assert!(matches!(error, PawError::UserCancelled));
    }
}

#[test]
fn selecting_one_of_two_branches() {
    let fixture = Fixture::new();
    let script = ScriptedPrompter::new([ScriptedAnswer::Many(vec![1])]);
    let choice = SelectionInput { cli_flag: Some("beta"), ..fixture.choice() };
    assert_eq!(mapped(run_selection(&script, &choice)), pairs(&[("fix/api", "beta")]));
}

#[test]
fn selection_preselects_the_configured_cli_for_every_branch() {
    let fixture = Fixture::new();
    let script = ScriptedPrompter::new([
        ScriptedAnswer::Many(vec![0, 1]),
        PER_BRANCH,
        ScriptedAnswer::One(1),
        ScriptedAnswer::One(1),
    ]);
    let choice = SelectionInput { default_cli: Some("beta"), ..fixture.choice() };
    run_selection(&script, &choice).unwrap();
    assert_eq!(script.asked.borrow().iter().map(|asked| asked.start).collect::<Vec<_>>(), [0, 0, 1, 1]);
}

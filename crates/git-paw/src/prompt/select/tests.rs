use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::PathBuf;

use paw_agent::detect::CliSource;

use super::*;
use crate::prompt::{Check, Question};

/// What somebody will answer next.
#[derive(Debug)]
pub(crate) enum Answer {
    One(usize),
    Many(Vec<usize>),
    Line(&'static str),
    CtrlC,
}

/// What somebody was asked: the question, its rows, and where the cursor stood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) text: String,
    pub(crate) rows: Vec<String>,
    pub(crate) start: usize,
}

/// Somebody who answers by heart. A question too many fails the test.
#[derive(Debug, Default)]
pub(crate) struct Script {
    answers: RefCell<VecDeque<Answer>>,
    pub(crate) asked: RefCell<Vec<Asked>>,
}

impl Script {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { answers: RefCell::new(answers.into_iter().collect()), asked: RefCell::default() }
    }

    fn next(&self, question: &Question<'_>, rows: &[String], start: usize) -> Result<Answer, PawError> {
        let asked = Asked { text: question.text.to_owned(), rows: rows.to_vec(), start };
        self.asked.borrow_mut().push(asked);
        match self.answers.borrow_mut().pop_front().expect("a question that was expected") {
            Answer::CtrlC => Err(PawError::UserCancelled),
            answer => Ok(answer),
        }
    }
}

impl Prompter for Script {
    fn is_interactive(&self) -> bool {
        true
    }

    fn pick_one(&self, question: &Question<'_>, rows: &[String], start: usize) -> Result<usize, PawError> {
        match self.next(question, rows, start)? {
            Answer::One(number) => Ok(number),
            other => panic!("{other:?} does not answer {question:?}"),
        }
    }

    fn pick_many(&self, question: &Question<'_>, rows: &[String]) -> Result<Vec<usize>, PawError> {
        match self.next(question, rows, 0)? {
            Answer::Many(numbers) => Ok(numbers),
            other => panic!("{other:?} does not answer {question:?}"),
        }
    }

    fn write(&self, question: &Question<'_>, check: Check) -> Result<String, PawError> {
        match self.next(question, &[], 0)? {
            Answer::Line(line) => check(line).map(|()| line.to_owned()).map_err(PawError::BranchError),
            other => panic!("{other:?} does not answer {question:?}"),
        }
    }

    fn confirm(&self, question: &Question<'_>, _default: bool) -> Result<bool, PawError> {
        Ok(matches!(self.next(question, &[], 0)?, Answer::One(1)))
    }
}

pub(crate) fn cli(binary_name: &str, display_name: &str) -> CliInfo {
    CliInfo {
        binary_name: binary_name.to_owned(),
        display_name: display_name.to_owned(),
        source: CliSource::Detected,
        path: PathBuf::from("/usr/bin").join(binary_name),
        named_by: None,
    }
}

fn names(names: &[&str]) -> Vec<BranchName> {
    names.iter().map(|name| BranchName::new(*name).unwrap()).collect()
}

/// Two branches and two CLIs, `alpha` and `beta`.
struct World {
    branches: Vec<BranchName>,
    clis: Vec<CliInfo>,
}

impl World {
    fn new() -> Self {
        let clis = vec![cli("alpha", "Alpha"), cli("beta", "Beta")];
        Self { branches: names(&["feature/auth", "fix/api"]), clis }
    }

    fn choice(&self) -> Choice<'_> {
        let Self { branches, clis } = self;
        Choice { branches, own: None, clis, cli_flag: None, branches_flag: None, default_cli: None }
    }
}

fn mapped(selection: Result<Vec<Mapping>, PawError>) -> Vec<(String, String)> {
    selection.unwrap().into_iter().map(|(branch, cli)| (branch.into(), cli)).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(branch, cli)| ((*branch).to_owned(), (*cli).to_owned())).collect()
}

const UNIFORM: Answer = Answer::One(0);
const PER_BRANCH: Answer = Answer::One(1);

#[test]
fn both_flags_skip_all_prompts() {
    let world = World::new();
    let flagged = names(&["feature/auth", "fix/api"]);
    let choice = Choice { cli_flag: Some("alpha"), branches_flag: Some(&flagged), ..world.choice() };
    let selection = run_selection(&Script::default(), &choice);
    assert_eq!(mapped(selection), pairs(&[("feature/auth", "alpha"), ("fix/api", "alpha")]));
}

#[test]
fn cli_flag_provided_branches_prompted() {
    let world = World::new();
    let script = Script::new([Answer::Many(vec![0, 1])]);
    let choice = Choice { cli_flag: Some("alpha"), ..world.choice() };
    let selection = run_selection(&script, &choice);
    assert_eq!(mapped(selection), pairs(&[("feature/auth", "alpha"), ("fix/api", "alpha")]));
    assert_eq!(script.asked.borrow().len(), 1);
}

#[test]
fn branches_flag_provided_cli_prompted_in_uniform_mode() {
    let world = World::new();
    let flagged = names(&["new/one", "new/two"]);
    let script = Script::new([UNIFORM, Answer::One(1)]);
    let choice = Choice { branches_flag: Some(&flagged), ..world.choice() };
    assert_eq!(mapped(run_selection(&script, &choice)), pairs(&[("new/one", "beta"), ("new/two", "beta")]));
}

#[test]
fn uniform_mode_selection() {
    let world = World::new();
    let script = Script::new([Answer::Many(vec![0, 1]), UNIFORM, Answer::One(0)]);
    let selection = run_selection(&script, &world.choice());
    assert_eq!(mapped(selection), pairs(&[("feature/auth", "alpha"), ("fix/api", "alpha")]));
}

#[test]
fn per_branch_mode_selection() {
    let world = World::new();
    let script = Script::new([Answer::Many(vec![0, 1]), PER_BRANCH, Answer::One(1), Answer::One(0)]);
    let selection = run_selection(&script, &world.choice());
    assert_eq!(mapped(selection), pairs(&[("feature/auth", "beta"), ("fix/api", "alpha")]));
    let asked = script.asked.borrow();
    assert!(asked[2].text.contains("feature/auth") && asked[3].text.contains("fix/api"), "{asked:?}");
}

#[test]
fn per_branch_mode_with_branches_flag() {
    let world = World::new();
    let flagged = names(&["a", "b"]);
    let script = Script::new([PER_BRANCH, Answer::One(0), Answer::One(1)]);
    let choice = Choice { branches_flag: Some(&flagged), ..world.choice() };
    assert_eq!(mapped(run_selection(&script, &choice)), pairs(&[("a", "alpha"), ("b", "beta")]));
}

#[test]
fn one_branch_is_not_asked_for_a_mode() {
    let world = World::new();
    let script = Script::new([Answer::Many(vec![1]), Answer::One(1)]);
    assert_eq!(mapped(run_selection(&script, &world.choice())), pairs(&[("fix/api", "beta")]));
}

#[test]
fn the_only_cli_is_not_asked_for() {
    let mut world = World::new();
    world.clis.truncate(1);
    let script = Script::new([Answer::Many(vec![0, 1])]);
    let selection = run_selection(&script, &world.choice());
    assert_eq!(mapped(selection), pairs(&[("feature/auth", "alpha"), ("fix/api", "alpha")]));
    assert_eq!(script.asked.borrow().len(), 1);
}

#[test]
fn new_branches_are_named_beside_those_that_are_there() {
    let world = World::new();
    let choice = Choice { cli_flag: Some("alpha"), ..world.choice() };
    let script =
        Script::new([Answer::Many(vec![2, 1]), Answer::Line("feat/new, fix/api  feat/other feat/new")]);
    let selection = mapped(run_selection(&script, &choice));
    assert_eq!(selection, pairs(&[("fix/api", "alpha"), ("feat/new", "alpha"), ("feat/other", "alpha")]));
    assert!(script.asked.borrow()[0].rows[2].contains("new branches"));
}

#[test]
fn the_branch_of_ones_own_checkout_is_not_offered_and_where_nothing_else_is_new_ones_are_asked_for() {
    let world = World::new();
    let own = BranchName::new("fix/api").unwrap();
    let choice = Choice { cli_flag: Some("alpha"), own: Some(&own), ..world.choice() };
    let script = Script::new([Answer::Many(vec![0])]);
    assert_eq!(mapped(run_selection(&script, &choice)), pairs(&[("feature/auth", "alpha")]));
    assert!(!script.asked.borrow()[0].rows.contains(&"fix/api".to_owned()));
    let only = [own.clone()];
    let choice = Choice { branches: &only, ..choice };
    let script = Script::new([Answer::Line("feat/new")]);
    assert_eq!(mapped(run_selection(&script, &choice)), pairs(&[("feat/new", "alpha")]));
}

#[test]
fn a_name_that_is_none_is_refused_and_no_name_at_all_means_never_mind() {
    let world = World::new();
    let refused = |line| {
        let script = Script::new([Answer::Many(vec![2]), Answer::Line(line)]);
        run_selection(&script, &Choice { cli_flag: Some("alpha"), ..world.choice() }).unwrap_err()
    };
    assert!(matches!(refused("feat/ok bad..name"), PawError::BranchError(_)));
    assert!(matches!(refused(" , "), PawError::UserCancelled));
}

#[test]
fn empty_cli_list() {
    let world = World::new();
    let choice = Choice { clis: &[], ..world.choice() };
    let error = run_selection(&Script::default(), &choice).unwrap_err();
    assert!(matches!(error, PawError::NoCLIsFound), "{error}");
}

#[test]
fn empty_branch_list() {
    let world = World::new();
    for choice in [
        Choice { branches: &[], ..world.choice() },
        Choice { branches_flag: Some(&[]), cli_flag: Some("alpha"), ..world.choice() },
    ] {
        let error = run_selection(&Script::default(), &choice).unwrap_err();
        assert!(matches!(error, PawError::BranchError(_)), "{error}");
    }
}

#[test]
fn a_cli_that_is_not_there_is_refused_before_anything_is_asked() {
    let world = World::new();
    let choice = Choice { cli_flag: Some("gamma"), ..world.choice() };
    let error = run_selection(&Script::default(), &choice).unwrap_err();
    assert!(matches!(&error, PawError::CliNotFound(name) if name == "gamma"), "{error}");
}

#[test]
fn user_cancels_branch_selection() {
    let world = World::new();
    let error = run_selection(&Script::new([Answer::CtrlC]), &world.choice()).unwrap_err();
    assert!(matches!(error, PawError::UserCancelled));
}

#[test]
fn user_selects_no_branches() {
    let world = World::new();
    let error = run_selection(&Script::new([Answer::Many(vec![])]), &world.choice()).unwrap_err();
    assert!(matches!(error, PawError::UserCancelled));
}

#[test]
fn user_cancels_cli_selection() {
    let world = World::new();
    for cancelled in [
        Script::new([Answer::Many(vec![0]), Answer::CtrlC]),
        Script::new([Answer::Many(vec![0, 1]), Answer::CtrlC]),
        Script::new([Answer::Many(vec![0, 1]), PER_BRANCH, Answer::One(0), Answer::CtrlC]),
    ] {
        let error = run_selection(&cancelled, &world.choice()).unwrap_err();
        assert!(matches!(error, PawError::UserCancelled));
    }
}

#[test]
fn selecting_one_of_two_branches() {
    let world = World::new();
    let script = Script::new([Answer::Many(vec![1])]);
    let choice = Choice { cli_flag: Some("beta"), ..world.choice() };
    assert_eq!(mapped(run_selection(&script, &choice)), pairs(&[("fix/api", "beta")]));
}

#[test]
fn the_configured_cli_is_preselected_for_every_branch() {
    let world = World::new();
    let script = Script::new([Answer::Many(vec![0, 1]), PER_BRANCH, Answer::One(1), Answer::One(1)]);
    let choice = Choice { default_cli: Some("beta"), ..world.choice() };
    run_selection(&script, &choice).unwrap();
    assert_eq!(script.asked.borrow().iter().map(|asked| asked.start).collect::<Vec<_>>(), [0, 0, 1, 1]);
}

//! The detector against a model that keeps the whole history and computes each result from the start.

use std::collections::{BTreeMap, BTreeSet};

use paw_broker::conflict::{ConflictCategory, ConflictLevel, ConflictReport, FileConflict, MergeCheckResult};
use paw_core::config::ConflictConfig;
use proptest::prelude::*;

use super::decisions::{TestDetector, intent, status};

const AGENTS: [&str; 3] = ["a", "b", "c"];
const FILES: [&str; 4] = ["x", "y", "d/one", "d/two"];
const CLAIMS: [&str; 4] = ["x", "d", "d/one", "y"];
const WINDOW: i64 = 20;
const QUIET_PERIOD: i64 = 5;

#[derive(Debug, Clone)]
enum Step {
    Files(usize, BTreeSet<usize>),
    Intent(usize, BTreeSet<usize>, i64),
    Wait(i64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let some = |most: usize| proptest::collection::btree_set(0..most, 0..3);
    let claims = proptest::collection::btree_set(0..CLAIMS.len(), 1..3);
    let step = prop_oneof![
        (0..AGENTS.len(), some(FILES.len())).prop_map(|(agent, files)| Step::Files(agent, files)),
        (0..AGENTS.len(), claims, 1..40_i64).prop_map(|(agent, files, ttl)| Step::Intent(agent, files, ttl)),
        (0..8_i64).prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 1..40)
}

/// A report: kind, level, agents, path. A question counts once.
type Said = BTreeSet<(ConflictCategory, ConflictLevel, String, String, String)>;

/// One second of the session: the files that each agent has changed and announced.
#[derive(Debug, Clone, Default)]
struct Second {
    at: i64,
    files: BTreeMap<usize, BTreeSet<usize>>,
    intents: BTreeMap<usize, BTreeMap<usize, i64>>,
}

impl Second {
    fn live(&self, agent: usize) -> Option<BTreeSet<usize>> {
        let claims = self.intents.get(&agent)?.iter().filter(|(_, until)| **until > self.at);
        Some(claims.map(|(claim, _)| *claim).collect())
    }

    fn covers(claim: usize, file: &str) -> bool {
        file == CLAIMS[claim] || file.starts_with(&format!("{}/", CLAIMS[claim]))
    }

    fn overlap(&self, a: usize, b: usize, file: usize) -> bool {
        [a, b].iter().all(|agent| self.files.get(agent).is_some_and(|files| files.contains(&file)))
    }

    fn violation(&self, violator: usize, owner: usize, file: usize) -> bool {
        let claims = |agent: usize| {
            self.live(agent)
                .is_some_and(|claims| claims.iter().any(|claim| Self::covers(*claim, FILES[file])))
        };
        self.files.get(&violator).is_some_and(|files| files.contains(&file))
            && claims(owner)
            && !claims(violator)
    }

    fn forward(&self, a: usize, b: usize, path: &str) -> bool {
        let of = |agent: usize| {
            self.live(agent).into_iter().flatten().map(|claim| CLAIMS[claim]).collect::<Vec<_>>()
        };
        let above = |claim: &str| path == claim || path.starts_with(&format!("{claim}/"));
        let (mine, theirs) = (of(a), of(b));
        (mine.contains(&path) && theirs.iter().any(|claim| above(claim)))
            || (theirs.contains(&path) && mine.iter().any(|claim| above(claim)))
    }
}

/// A condition over all snapshots so far: whether it is new, just cleared, or due for escalation.
fn follow(snapshots: &[(i64, bool)]) -> (bool, bool, bool) {
    let (mut since, mut calm, mut asked) = (None, None, false);
    let mut now = (false, false, false);
    for (at, holds) in snapshots {
        now = (false, false, false);
        if *holds {
            calm = None;
            if since.is_none() {
                (since, asked) = (Some(*at), false);
                now.0 = true;
            }
        } else if since.is_some() {
            let since_calm = *calm.get_or_insert(*at);
            if at - since_calm >= QUIET_PERIOD {
                (since, calm) = (None, None);
                now.1 = true;
            }
        }
        if since.is_some_and(|since| at - since >= WINDOW) && calm.is_none() && !asked {
            asked = true;
            now.2 = true;
        }
    }
    now
}

fn expected(seconds: &[Second]) -> Said {
    let mut said = Said::new();
    let last = seconds.last().unwrap();
    let mut say = |kind, level, you: usize, other: usize, path: &str| {
        said.insert((kind, level, AGENTS[you].to_owned(), AGENTS[other].to_owned(), path.to_owned()));
    };
    for a in 0..AGENTS.len() {
        for b in (0..AGENTS.len()).filter(|b| *b != a) {
            for (file, path) in FILES.iter().enumerate() {
                let overlap: Vec<_> =
                    seconds.iter().map(|second| (second.at, second.overlap(a, b, file))).collect();
                let (new, cleared, due) = follow(&overlap);
                if new {
                    say(ConflictCategory::InFlight, ConflictLevel::Overlap, a, b, path);
                }
                if cleared {
                    say(ConflictCategory::InFlight, ConflictLevel::Cleared, a, b, path);
                }
                if due && a < b {
                    say(ConflictCategory::InFlight, ConflictLevel::Escalated, a, b, path);
                }
                let violation: Vec<_> =
                    seconds.iter().map(|second| (second.at, second.violation(a, b, file))).collect();
                if follow(&violation).0 {
                    say(ConflictCategory::Ownership, ConflictLevel::Conflict, a, b, path);
                    say(ConflictCategory::Ownership, ConflictLevel::Escalated, a, b, path);
                }
            }
            for path in CLAIMS {
                let before = seconds.len() > 1 && seconds[seconds.len() - 2].forward(a, b, path);
                if last.forward(a, b, path) && !before {
                    say(ConflictCategory::Forward, ConflictLevel::Overlap, a, b, path);
                }
            }
        }
    }
    said
}

fn heard(messages: &[paw_broker::Message]) -> Said {
    let mut said = Said::new();
    for facts in messages.iter().map(|message| ConflictReport::find(message).unwrap()) {
        for file in &facts.files {
            let new =
                (facts.kind, facts.level, facts.you.to_string(), facts.other.to_string(), file.path.clone());
            assert!(said.insert(new.clone()), "said twice: {new:?}");
        }
    }
    said
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn detector_agrees_with_the_model(steps in steps()) {
        let config = ConflictConfig { window_seconds: u64::try_from(WINDOW).unwrap(), ..ConflictConfig::default() };
        let mut detector = TestDetector::new(config);
        let mut seconds: Vec<Second> = Vec::new();
        let mut now = Second::default();
        for step in steps {
            let said = match &step {
                Step::Files(agent, files) => {
                    let same = now.files.get(agent).cloned().unwrap_or_default() == *files;
                    now.files.insert(*agent, files.clone());
                    let names: Vec<&str> = files.iter().map(|file| FILES[*file]).collect();
                    let said = detector.tell(status(AGENTS[*agent], &names));
                    if same {
                        prop_assert_eq!(said, []);
                        continue;
                    }
                    said
                }
                Step::Intent(agent, claims, ttl) => {
                    let until = now.at + ttl;
                    let known = now.intents.entry(*agent).or_default();
                    for claim in claims {
                        let latest = known.entry(*claim).or_insert(until);
                        // A claim that has expired starts again.
                        *latest = until.max(*latest);
                    }
                    let names: Vec<&str> = claims.iter().map(|claim| CLAIMS[*claim]).collect();
                    detector.tell(intent(AGENTS[*agent], &names, u64::try_from(*ttl).unwrap()))
                }
                Step::Wait(wait) => {
                    now.at += wait;
                    detector.wait(*wait)
                }
            };
            seconds.push(now.clone());
            prop_assert_eq!(heard(&said), expected(&seconds), "after {:?}", step);
        }
    }

    /// With a merge check for every change: whatever git answers, both agents get the same reports, none is repeated,
    /// and only existing conflicts are cleared.
    #[test]
    fn merge_results_in_any_order_reach_both_agents(steps in proptest::collection::vec((0..3_usize, 0..4_usize, 0..3_u8, 0..4_i64), 1..60)) {
        let mut detector = TestDetector::new(ConflictConfig::default());
        let mut open: BTreeSet<(String, String, String)> = BTreeSet::new();
        for (number, (agent, files, verdict, wait)) in steps.into_iter().enumerate() {
            let mut said = detector.work(AGENTS[agent], &number.to_string(), &FILES[..files]);
            while !detector.asks.is_empty() {
                let conflict = FileConflict { path: FILES[0].into(), conflict_type: "contents".into(), first: Vec::new(), second: Vec::new() };
                let verdict = [MergeCheckResult::Clean, MergeCheckResult::Unknown, MergeCheckResult::Conflict(vec![conflict])][usize::from(verdict)].clone();
                said.extend(detector.verdict(verdict));
            }
            said.extend(detector.wait(wait));
            for facts in said.iter().map(|message| ConflictReport::find(message).unwrap()) {
                for file in facts.files {
                    let key = (facts.you.to_string(), facts.other.to_string(), file.path);
                    match facts.level {
                        ConflictLevel::Cleared => prop_assert!(open.remove(&key)),
                        ConflictLevel::Overlap | ConflictLevel::Conflict => drop(open.insert(key)),
                        ConflictLevel::Additive => prop_assert!(!open.contains(&key)),
                        ConflictLevel::Escalated => prop_assert!(open.contains(&key)),
                    }
                }
            }
            for (you, other, path) in &open {
                prop_assert!(open.contains(&(other.clone(), you.clone(), path.clone())));
            }
            prop_assert!(detector.inner.next_tick().is_none_or(|at| at > detector.now));
        }
    }
}

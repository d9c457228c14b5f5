//! Decides which tasks can start and which are blocked. Pure: the caller reports what has ended.

use crate::tasks::TaskId;

#[derive(Debug, Clone, PartialEq, Eq)]
enum ScheduleState {
    Waiting,
    Running,
    Done,
    /// Failed, skipped or never started.
    Lost,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ScheduledTask {
    task: TaskId,
    after: Vec<TaskId>,
    state: ScheduleState,
}

/// A task that is skipped, and the dependency that blocks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTask {
    pub task: TaskId,
    pub because: TaskId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    entries: Vec<ScheduledTask>,
    at_once: usize,
    stopped: bool,
}

impl Schedule {
    /// Tasks and their dependencies. A dependency that is not scheduled counts as done. At least one task runs at a
    /// time.
    pub fn new(tasks: impl IntoIterator<Item = (TaskId, Vec<TaskId>)>, at_once: usize) -> Self {
        let entries = tasks.into_iter().map(|(task, after)| ScheduledTask {
            task,
            after,
            state: ScheduleState::Waiting,
        });
        Self { entries: entries.collect(), at_once: at_once.max(1), stopped: false }
    }

    /// Marks the tasks that can start now as running and returns them.
    pub fn begin(&mut self) -> Vec<TaskId> {
        if self.stopped {
            return Vec::new();
        }
        let running = self.entries.iter().filter(|entry| entry.state == ScheduleState::Running).count();
        let room = self.at_once.saturating_sub(running);
        let ready: Vec<TaskId> = self
            .entries
            .iter()
            .filter(|entry| self.is_ready(entry))
            .take(room)
            .map(|entry| entry.task.clone())
            .collect();
        for entry in self.entries.iter_mut().filter(|entry| ready.contains(&entry.task)) {
            entry.state = ScheduleState::Running;
        }
        ready
    }

    fn is_ready(&self, entry: &ScheduledTask) -> bool {
        let is_met = |other: &TaskId| self.find(other).is_none_or(|other| other.state == ScheduleState::Done);
        entry.state == ScheduleState::Waiting && entry.after.iter().all(is_met)
    }

    fn find(&self, task: &TaskId) -> Option<&ScheduledTask> {
        self.entries.iter().find(|entry| entry.task == *task)
    }

    /// Records the end of a task and returns the tasks that are blocked by it, directly or not.
    pub fn ended(&mut self, task: &TaskId, done: bool) -> Vec<SkippedTask> {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.task == *task) {
            entry.state = if done { ScheduleState::Done } else { ScheduleState::Lost };
        }
        let mut left = Vec::new();
        while let Some((at, because)) = self.find_blocked() {
            self.entries[at].state = ScheduleState::Lost;
            left.push(SkippedTask { task: self.entries[at].task.clone(), because });
        }
        left
    }

    fn find_blocked(&self) -> Option<(usize, TaskId)> {
        let lost = |other: &&TaskId| self.find(other).is_some_and(|other| other.state == ScheduleState::Lost);
        let mut waiting =
            self.entries.iter().enumerate().filter(|(_, entry)| entry.state == ScheduleState::Waiting);
        waiting.find_map(|(at, entry)| Some((at, entry.after.iter().find(lost)?.clone())))
    }

    /// Stops the schedule and returns the tasks that have not started.
    pub fn stop(&mut self) -> Vec<TaskId> {
        self.stopped = true;
        let waiting = self.entries.iter_mut().filter(|entry| entry.state == ScheduleState::Waiting);
        waiting
            .map(|entry| {
                entry.state = ScheduleState::Lost;
                entry.task.clone()
            })
            .collect()
    }

    pub fn is_over(&self) -> bool {
        self.entries.iter().all(|entry| matches!(entry.state, ScheduleState::Done | ScheduleState::Lost))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn id(number: usize) -> TaskId {
        TaskId::new(&number.to_string()).unwrap()
    }

    fn names(tasks: &[TaskId]) -> Vec<&str> {
        tasks.iter().map(TaskId::as_str).collect()
    }

    #[test]
    fn schedule_skips_only_tasks_that_depend_on_a_failure() {
        let after = [(1, vec![]), (2, vec![1]), (3, vec![2]), (4, vec![])];
        let tasks = after.into_iter().map(|(task, after)| (id(task), after.into_iter().map(id).collect()));
        let mut schedule = Schedule::new(tasks, 2);
        assert_eq!(names(&schedule.begin()), ["1", "4"]);
        let left = schedule.ended(&id(1), false);
        assert_eq!(
            left,
            [SkippedTask { task: id(2), because: id(1) }, SkippedTask { task: id(3), because: id(2) }]
        );
        assert!(schedule.begin().is_empty() && !schedule.is_over());
        assert!(schedule.ended(&id(4), true).is_empty());
        assert!(schedule.is_over());
    }

    #[test]
    fn stopped_schedule_starts_nothing_and_waits_for_running_tasks() {
        let mut schedule = Schedule::new([(id(1), vec![]), (id(2), vec![]), (id(3), vec![id(1)])], 1);
        assert_eq!(names(&schedule.begin()), ["1"]);
        assert_eq!(names(&schedule.stop()), ["2", "3"]);
        assert!(schedule.begin().is_empty() && !schedule.is_over());
        schedule.ended(&id(1), true);
        assert!(schedule.begin().is_empty() && schedule.is_over());
    }

    proptest! {
        #[test]
        fn schedule_respects_limit_and_dependencies_and_always_ends(
            edges in proptest::collection::vec((0_usize..9, 0_usize..9), 0..20),
            at_once in 0_usize..5,
            fates in proptest::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 10),
            stop_after in proptest::option::of(0_usize..9),
        ) {
            // Edges point to smaller numbers only, so there are no cycles.
            let after = |task: usize| -> Vec<TaskId> {
                edges.iter().filter(|(from, to)| *from == task && to < from).map(|(_, to)| id(*to)).collect()
            };
            let mut schedule = Schedule::new((0..9).map(|task| (id(task), after(task))), at_once);
            let (mut running, mut done, mut over) = (Vec::<TaskId>::new(), BTreeSet::new(), BTreeSet::new());
            for (steps, (good, which)) in fates.into_iter().enumerate() {
                for task in schedule.begin() {
                    let needs = after(usize::try_from(task.number().unwrap()).unwrap());
                    prop_assert!(needs.iter().all(|need| done.contains(need)), "{task} began too early");
                    prop_assert!(!over.contains(&task), "{task} began twice");
                    running.push(task);
                }
                prop_assert!(running.len() <= at_once.max(1));
                if running.is_empty() { break; }
                let ended = running.remove(which.index(running.len()));
                over.insert(ended.clone());
                if good { done.insert(ended.clone()); }
                for left in schedule.ended(&ended, good) {
                    prop_assert!(!done.contains(&left.because) && over.insert(left.task));
                }
                if Some(steps) == stop_after { over.extend(schedule.stop()); }
            }
            prop_assert!(schedule.is_over() && over.len() == 9);
        }
    }
}

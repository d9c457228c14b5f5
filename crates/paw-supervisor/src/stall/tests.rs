use proptest::prelude::*;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn limits() -> StallLimits {
    StallLimits { silent: SignedDuration::from_mins(25), tokens: Some(250_000), zone: TimeZone::UTC }
}

fn activity(state: &AgentActivity) -> AgentProgress<'_> {
    let (since, progress) = (at(0), at(0));
    AgentProgress { state, since, progress, typed: None, repeats: ("", 0), context_left: None, tokens: None }
}

fn reports(steps: &[StallStep]) -> Vec<String> {
    let reports = |step: &StallStep| match step {
        StallStep::Report(stall) => Some(stall.to_string()),
        StallStep::Apply(_) => None,
    };
    steps.iter().filter_map(reports).collect()
}

#[test]
fn a_working_agent_without_progress_is_reported_once_until_it_progresses() {
    let mut detector = StallDetector::default();
    let working = AgentActivity::Working;
    assert_eq!(detector.step(&activity(&working), &limits(), at(60)), []);
    let steps = detector.step(&activity(&working), &limits(), at(1500));
    assert_eq!(reports(&steps), ["working for 25 minutes without progress"]);
    assert_eq!(detector.step(&activity(&working), &limits(), at(1600)), []);
    let moving = AgentProgress { progress: at(1700), ..activity(&working) };
    assert_eq!(detector.step(&moving, &limits(), at(1701)), []);
    assert_eq!(reports(&detector.step(&moving, &limits(), at(4000))).len(), 1, "silent again");
}

#[test]
fn a_waiting_or_idle_agent_is_not_stalled() {
    for state in
        [AgentActivity::Idle, AgentActivity::WaitingInput, AgentActivity::Starting, AgentActivity::Unknown]
    {
        assert_eq!(StallDetector::default().step(&activity(&state), &limits(), at(100_000)), [], "{state}");
    }
}

#[test]
fn a_large_conversation_is_reported_once_and_again_after_it_shrank() {
    let idle = AgentActivity::Idle;
    let sized = |tokens| AgentProgress { tokens: Some(tokens), ..activity(&idle) };
    let mut detector = StallDetector::default();
    assert_eq!(detector.step(&sized(250_000), &limits(), at(1)), []);
    let steps = detector.step(&sized(251_900), &limits(), at(2));
    assert_eq!(reports(&steps), ["its conversation grew to 251k tokens"]);
    assert_eq!(detector.step(&sized(260_000), &limits(), at(3)), []);
    assert_eq!(detector.step(&sized(20_000), &limits(), at(4)), []);
    assert_eq!(detector.step(&sized(260_000), &limits(), at(5)).len(), 1);
}

#[test]
fn the_conversation_size_limit_is_configurable() {
    let of = |context_bloat_threshold_k| {
        let config = SupervisorConfig { context_bloat_threshold_k, ..SupervisorConfig::default() };
        StallLimits::of(&config, TimeZone::UTC)
    };
    let idle = AgentActivity::Idle;
    let activity = AgentProgress { tokens: Some(90_000), ..activity(&idle) };
    for (threshold, steps) in [(250, 0), (89, 1), (90, 0), (0, 0), (u64::MAX, 0)] {
        assert_eq!(
            StallDetector::default().step(&activity, &of(threshold), at(1)).len(),
            steps,
            "{threshold}"
        );
    }
}

#[test]
fn a_command_loop_is_reported_once() {
    let mut detector = StallDetector::default();
    let working = AgentActivity::Working;
    let looping = |times| AgentProgress { repeats: ("cargo test", times), ..activity(&working) };
    assert_eq!(detector.step(&looping(5), &limits(), at(1)), []);
    let steps = detector.step(&looping(6), &limits(), at(2));
    assert_eq!(reports(&steps), ["ran the same command 6 times in a row: cargo test"]);
    assert_eq!(detector.step(&looping(7), &limits(), at(3)), []);
}

#[test]
fn an_exited_cli_is_reported_once_unless_it_restarts_at_once() {
    let mut detector = StallDetector::default();
    assert_eq!(detector.step(&activity(&AgentActivity::Exited), &limits(), at(5)), []);
    assert_eq!(
        reports(&detector.step(&activity(&AgentActivity::Exited), &limits(), at(10))),
        ["its CLI exited"]
    );
    assert_eq!(detector.step(&activity(&AgentActivity::Exited), &limits(), at(99)), []);
    assert_eq!(detector.step(&activity(&AgentActivity::Idle), &limits(), at(100)), []);
    let again = AgentProgress { since: at(200), ..activity(&AgentActivity::Exited) };
    assert_eq!(reports(&detector.step(&again, &limits(), at(211))).len(), 1);
}

#[test]
fn unsent_text_is_reported_after_a_while() {
    let theirs = AgentProgress { typed: Some("begin"), ..activity(&AgentActivity::Idle) };
    let mut detector = StallDetector::default();
    for second in [0, 10, 299] {
        assert_eq!(detector.step(&theirs, &limits(), at(second)), []);
    }
    assert_eq!(detector.step(&theirs, &limits(), at(300)), [StallStep::Report(Stall::NotSent)]);
    let more = AgentProgress { typed: Some("begin and"), ..theirs };
    assert_eq!(detector.step(&more, &limits(), at(310)), [], "the user is typing");
}

#[test]
fn a_nearly_full_conversation_is_reported_once() {
    let mut detector = StallDetector::default();
    let working = AgentActivity::Working;
    let context_left = |context_left| AgentProgress {
        context_left: Some(context_left),
        progress: at(90),
        ..activity(&working)
    };
    assert_eq!(detector.step(&context_left(10), &limits(), at(91)), []);
    assert_eq!(
        detector.step(&context_left(9), &limits(), at(91)),
        [StallStep::Report(Stall::ContextLow { percent: 9 })]
    );
    assert_eq!(detector.step(&context_left(3), &limits(), at(92)), []);
}

#[test]
fn a_rate_limit_is_reported_with_its_reset_and_resumed_once() {
    let mut detector = StallDetector::default();
    let limited = AgentActivity::RateLimited { resets: Some("in 2h".into()) };
    let steps = detector.step(&activity(&limited), &limits(), at(1));
    assert_eq!(reports(&steps), ["rate-limited, resets in 2h; git paw resumes it then"]);
    assert_eq!(detector.step(&activity(&limited), &limits(), at(7202)), []);
    assert_eq!(detector.step(&activity(&limited), &limits(), at(7204)), [StallStep::Apply(Remedy::Resume)]);
    assert_eq!(detector.step(&activity(&limited), &limits(), at(99_999)), []);
    let unknown = AgentActivity::RateLimited { resets: None };
    let mut detector = StallDetector::default();
    assert_eq!(detector.step(&activity(&unknown), &limits(), at(60)).len(), 1);
    assert_eq!(detector.step(&activity(&unknown), &limits(), at(99_999_999)), []);
}

#[test]
fn a_reset_at_a_time_of_day_gets_one_minute_of_margin() {
    let mut detector = StallDetector::default();
    let limited = AgentActivity::RateLimited { resets: Some("1am".into()) };
    assert_eq!(reports(&detector.step(&activity(&limited), &limits(), at(1))).len(), 1);
    assert_eq!(detector.step(&activity(&limited), &limits(), at(3659)), []);
    assert_eq!(detector.step(&activity(&limited), &limits(), at(3660)), [StallStep::Apply(Remedy::Resume)]);
}

#[test]
fn a_rate_limit_is_reported_with_a_reset_time_drawn_later() {
    let mut detector = StallDetector::default();
    assert_eq!(detector.step(&activity(&AgentActivity::RateLimited { resets: None }), &limits(), at(1)), []);
    let limited = AgentActivity::RateLimited { resets: Some("3pm".into()) };
    let steps = detector.step(&activity(&limited), &limits(), at(2));
    assert_eq!(reports(&steps), ["rate-limited until 3pm; git paw resumes it then"]);
}

#[test]
fn a_second_rate_limit_is_reported_and_resumed_again() {
    let mut detector = StallDetector::default();
    let limited = AgentActivity::RateLimited { resets: Some("in 10s".into()) };
    let again = AgentProgress { since: at(20), ..activity(&limited) };
    assert_eq!(detector.step(&activity(&limited), &limits(), at(0)).len(), 1);
    assert_eq!(detector.step(&activity(&limited), &limits(), at(13)), [StallStep::Apply(Remedy::Resume)]);
    assert_eq!(reports(&detector.step(&again, &limits(), at(20))).len(), 1);
    assert_eq!(detector.step(&again, &limits(), at(33)), [StallStep::Apply(Remedy::Resume)]);
}

fn any_state() -> impl Strategy<Value = AgentActivity> {
    prop_oneof![
        Just(AgentActivity::Starting),
        Just(AgentActivity::Working),
        Just(AgentActivity::WaitingInput),
        Just(AgentActivity::Idle),
        Just(AgentActivity::RateLimited { resets: Some("in 5m".into()) }),
        Just(AgentActivity::Exited),
        Just(AgentActivity::Unknown),
    ]
}

proptest! {
    /// Nothing is reported twice while the state stays.
    #[test]
    fn a_stall_is_reported_once_while_it_lasts(
        state in any_state(),
        times in prop::collection::vec(1_i64..5000, 1..20),
        typed in prop::option::of("[a-z]{0,3}"),
        repeats in 0_u32..9,
        context_left in prop::option::of(0_u8..100),
    ) {
        let mut detector = StallDetector::default();
        let mut now = 0;
        let mut reported = Vec::new();
        for step in times {
            now += step;
            let activity = AgentProgress {
                typed: typed.as_deref(), repeats: ("x", repeats), context_left, ..activity(&state)
            };
            for step in detector.step(&activity, &limits(), at(now)) {
                match step {
                    StallStep::Report(stall) => {
                        prop_assert!(!reported.contains(&stall.kind()), "{stall} twice");
                        reported.push(stall.kind());
                    }
                    StallStep::Apply(Remedy::Resume) => prop_assert_eq!(state.name(), "rate_limited"),
                }
            }
        }
    }
}

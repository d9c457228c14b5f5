use proptest::prelude::*;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn limits() -> Limits {
    Limits { silent: SignedDuration::from_mins(25), tokens: Some(250_000), zone: TimeZone::UTC }
}

fn facts(state: &State) -> Facts<'_> {
    let (since, progress) = (at(0), at(0));
    Facts {
        state,
        since,
        progress,
        typed: None,
        typed_is_ours: false,
        repeats: ("", 0),
        room: None,
        tokens: None,
    }
}

fn told(steps: &[Step]) -> Vec<String> {
    let told = |step: &Step| match step {
        Step::Tell(stall) => Some(stall.to_string()),
        Step::Try(_) => None,
    };
    steps.iter().filter_map(told).collect()
}

#[test]
fn an_agent_that_is_silent_at_work_is_told_once_until_it_gets_on() {
    let mut watch = Watch::default();
    let working = State::Working;
    assert_eq!(watch.step(&facts(&working), &limits(), at(60)), []);
    let steps = watch.step(&facts(&working), &limits(), at(1500));
    assert_eq!(told(&steps), ["at work for 25 minutes without a sign of progress"]);
    assert_eq!(watch.step(&facts(&working), &limits(), at(1600)), []);
    let moving = Facts { progress: at(1700), ..facts(&working) };
    assert_eq!(watch.step(&moving, &limits(), at(1701)), []);
    assert_eq!(told(&watch.step(&moving, &limits(), at(4000))).len(), 1, "silent again");
}

#[test]
fn an_agent_that_waits_or_rests_is_not_silent() {
    for state in [State::Idle, State::WaitingInput, State::Starting, State::Unknown] {
        assert_eq!(Watch::default().step(&facts(&state), &limits(), at(100_000)), [], "{state}");
    }
}

#[test]
fn a_conversation_that_outgrows_its_limit_is_told_once_and_again_when_it_has_shrunk_meanwhile() {
    let idle = State::Idle;
    let sized = |tokens| Facts { tokens: Some(tokens), ..facts(&idle) };
    let mut watch = Watch::default();
    assert_eq!(watch.step(&sized(250_000), &limits(), at(1)), []);
    let steps = watch.step(&sized(251_900), &limits(), at(2));
    assert_eq!(told(&steps), ["its conversation has grown to 251 thousand tokens"]);
    assert_eq!(watch.step(&sized(260_000), &limits(), at(3)), []);
    assert_eq!(watch.step(&sized(20_000), &limits(), at(4)), []);
    assert_eq!(watch.step(&sized(260_000), &limits(), at(5)).len(), 1);
}

#[test]
fn how_large_a_conversation_may_be_is_configured() {
    let of = |context_bloat_threshold_k| {
        let config = SupervisorConfig { context_bloat_threshold_k, ..SupervisorConfig::default() };
        Limits::of(&config, TimeZone::UTC)
    };
    let idle = State::Idle;
    let facts = Facts { tokens: Some(90_000), ..facts(&idle) };
    for (threshold, steps) in [(250, 0), (89, 1), (90, 0), (0, 0), (u64::MAX, 0)] {
        assert_eq!(Watch::default().step(&facts, &of(threshold), at(1)).len(), steps, "{threshold}");
    }
}

#[test]
fn a_loop_is_told_once() {
    let mut watch = Watch::default();
    let working = State::Working;
    let looping = |times| Facts { repeats: ("cargo test", times), ..facts(&working) };
    assert_eq!(watch.step(&looping(5), &limits(), at(1)), []);
    let steps = watch.step(&looping(6), &limits(), at(2));
    assert_eq!(told(&steps), ["has run the same command 6 times in a row: cargo test"]);
    assert_eq!(watch.step(&looping(7), &limits(), at(3)), []);
}

#[test]
fn a_dead_pane_is_told_once_unless_somebody_starts_it_again_at_once() {
    let mut watch = Watch::default();
    assert_eq!(watch.step(&facts(&State::Exited), &limits(), at(5)), []);
    assert_eq!(told(&watch.step(&facts(&State::Exited), &limits(), at(10))), ["its CLI has ended"]);
    assert_eq!(watch.step(&facts(&State::Exited), &limits(), at(99)), []);
    assert_eq!(watch.step(&facts(&State::Idle), &limits(), at(100)), []);
    let again = Facts { since: at(200), ..facts(&State::Exited) };
    assert_eq!(told(&watch.step(&again, &limits(), at(211))).len(), 1);
}

#[test]
fn a_prompt_of_ours_is_sent_once_and_a_strangers_only_told() {
    let ours = Facts { typed: Some("begin"), typed_is_ours: true, ..facts(&State::Idle) };
    let mut watch = Watch::default();
    assert_eq!(watch.step(&ours, &limits(), at(0)), []);
    assert_eq!(watch.step(&ours, &limits(), at(10)), [Step::Try(Remedy::Send)]);
    assert_eq!(watch.step(&ours, &limits(), at(20)), []);
    assert_eq!(watch.step(&ours, &limits(), at(300)), [Step::Tell(Stall::NotSent)]);

    let theirs = Facts { typed_is_ours: false, ..ours };
    let mut watch = Watch::default();
    for second in [0, 10, 299] {
        assert_eq!(watch.step(&theirs, &limits(), at(second)), []);
    }
    assert_eq!(watch.step(&theirs, &limits(), at(300)), [Step::Tell(Stall::NotSent)]);
    let more = Facts { typed: Some("begin and"), ..theirs };
    assert_eq!(watch.step(&more, &limits(), at(310)), [], "somebody types");
}

#[test]
fn a_conversation_that_is_nearly_full_is_told_once() {
    let mut watch = Watch::default();
    let working = State::Working;
    let room = |room| Facts { room: Some(room), progress: at(90), ..facts(&working) };
    assert_eq!(watch.step(&room(10), &limits(), at(91)), []);
    assert_eq!(watch.step(&room(9), &limits(), at(91)), [Step::Tell(Stall::LittleRoom { percent: 9 })]);
    assert_eq!(watch.step(&room(3), &limits(), at(92)), []);
}

#[test]
fn a_limit_is_told_with_its_end_and_tried_again_once_after_it() {
    let mut watch = Watch::default();
    let limited = State::RateLimited { resets: Some("in 2h".into()) };
    let steps = watch.step(&facts(&limited), &limits(), at(1));
    assert_eq!(told(&steps), ["has used up what it may, which is over in 2h; it is told to go on then"]);
    assert_eq!(watch.step(&facts(&limited), &limits(), at(7202)), []);
    assert_eq!(watch.step(&facts(&limited), &limits(), at(7204)), [Step::Try(Remedy::GoOn)]);
    assert_eq!(watch.step(&facts(&limited), &limits(), at(99_999)), []);
    let unknown = State::RateLimited { resets: None };
    let mut watch = Watch::default();
    assert_eq!(watch.step(&facts(&unknown), &limits(), at(60)).len(), 1);
    assert_eq!(watch.step(&facts(&unknown), &limits(), at(99_999_999)), []);
}

#[test]
fn a_time_of_the_day_is_given_a_minute_more() {
    let mut watch = Watch::default();
    let limited = State::RateLimited { resets: Some("1am".into()) };
    assert_eq!(told(&watch.step(&facts(&limited), &limits(), at(1))).len(), 1);
    assert_eq!(watch.step(&facts(&limited), &limits(), at(3659)), []);
    assert_eq!(watch.step(&facts(&limited), &limits(), at(3660)), [Step::Try(Remedy::GoOn)]);
}

#[test]
fn a_limit_is_told_with_its_end_even_if_that_is_drawn_later() {
    let mut watch = Watch::default();
    assert_eq!(watch.step(&facts(&State::RateLimited { resets: None }), &limits(), at(1)), []);
    let limited = State::RateLimited { resets: Some("3pm".into()) };
    let steps = watch.step(&facts(&limited), &limits(), at(2));
    assert_eq!(told(&steps), ["has used up what it may until 3pm; it is told to go on then"]);
}

#[test]
fn whoever_is_refused_again_is_told_of_again_and_tried_again() {
    let mut watch = Watch::default();
    let limited = State::RateLimited { resets: Some("in 10s".into()) };
    let again = Facts { since: at(20), ..facts(&limited) };
    assert_eq!(watch.step(&facts(&limited), &limits(), at(0)).len(), 1);
    assert_eq!(watch.step(&facts(&limited), &limits(), at(13)), [Step::Try(Remedy::GoOn)]);
    assert_eq!(told(&watch.step(&again, &limits(), at(20))).len(), 1);
    assert_eq!(watch.step(&again, &limits(), at(33)), [Step::Try(Remedy::GoOn)]);
}

fn any_state() -> impl Strategy<Value = State> {
    prop_oneof![
        Just(State::Starting),
        Just(State::Working),
        Just(State::WaitingInput),
        Just(State::Idle),
        Just(State::RateLimited { resets: Some("in 5m".into()) }),
        Just(State::Exited),
        Just(State::Unknown),
    ]
}

proptest! {
    /// Whatever happens: nothing is told twice in a row while the state stays, and no key is sent into a strange text.
    #[test]
    fn nothing_is_told_twice_while_it_lasts(
        state in any_state(),
        times in prop::collection::vec(1_i64..5000, 1..20),
        typed in prop::option::of("[a-z]{0,3}"),
        ours: bool,
        repeats in 0_u32..9,
        room in prop::option::of(0_u8..100),
    ) {
        let mut watch = Watch::default();
        let mut now = 0;
        let mut said = Vec::new();
        for step in times {
            now += step;
            let facts = Facts {
                typed: typed.as_deref(), typed_is_ours: ours, repeats: ("x", repeats), room, ..facts(&state)
            };
            for step in watch.step(&facts, &limits(), at(now)) {
                match step {
                    Step::Tell(stall) => {
                        prop_assert!(!said.contains(&stall.kind()), "{stall} twice");
                        said.push(stall.kind());
                    }
                    Step::Try(Remedy::Send) => prop_assert!(ours && state == State::Idle),
                    Step::Try(Remedy::GoOn) => prop_assert_eq!(state.name(), "rate_limited"),
                }
            }
        }
    }
}

use super::*;

#[test]
fn our_own_texts_are_skills_and_short() {
    for (name, text) in BUILT_IN {
        let (skill, odd) = parse(name, text, Origin::BuiltIn).unwrap();
        assert_eq!((skill.name.as_str(), odd), (name, None));
        assert!(text.lines().count() < 120, "{name} is read at every start");
    }
}

#[test]
fn a_text_without_name_or_description_is_no_skill() {
    for text in
        ["", "# Title\n", "---\nname: x\n---\nbody", "---\ndescription: x\n---\nbody", "---\nname: [\n---\n"]
    {
        assert!(parse("x", text, Origin::BuiltIn).is_err(), "{text:?}");
    }
}

#[test]
fn a_skill_that_calls_itself_something_else_is_told() {
    let (skill, odd) = parse("x", "---\nname: y\ndescription: d\n---\nbody", Origin::BuiltIn).unwrap();
    assert_eq!((skill.body.as_str(), odd.as_deref()), ("body", Some("it calls itself 'y', not 'x'")));
}

#[test]
fn a_name_that_is_a_path_is_no_skill() {
    for name in ["", "..", "a/b", "Coordination", "nonexistent"] {
        let error = load(name, Path::new("/nowhere"), Path::new("/nowhere")).unwrap_err();
        assert!(matches!(error, SkillError::UnknownSkill { .. }), "{name}");
    }
}

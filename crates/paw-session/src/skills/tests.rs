use super::*;

#[test]
fn built_in_skills_are_valid_and_shorter_than_120_lines() {
    for (name, text) in BUILT_IN {
        let (skill, warning) = parse(name, text, SkillOrigin::BuiltIn).unwrap();
        assert_eq!((skill.name.as_str(), warning), (name, None));
        assert!(text.lines().count() < 120, "every agent reads {name} when it starts");
    }
}

#[test]
fn skill_requires_a_name_and_a_description() {
    for text in
        ["", "# Title\n", "---\nname: x\n---\nbody", "---\ndescription: x\n---\nbody", "---\nname: [\n---\n"]
    {
        assert!(parse("x", text, SkillOrigin::BuiltIn).is_err(), "{text:?}");
    }
}

#[test]
fn skill_with_another_name_in_its_front_matter_causes_a_warning() {
    let (skill, warning) =
        parse("x", "---\nname: y\ndescription: d\n---\nbody", SkillOrigin::BuiltIn).unwrap();
    assert_eq!(
        (skill.body.as_str(), warning.as_deref()),
        ("body", Some("its front matter has the name 'y', expected 'x'"))
    );
}

#[test]
fn loading_an_unknown_or_invalid_skill_name_fails() {
    for name in ["", "..", "a/b", "Coordination", "nonexistent"] {
        let error = load(name, Path::new("/nowhere"), Path::new("/nowhere")).unwrap_err();
        assert!(matches!(error, SkillError::UnknownSkill { .. }), "{name}");
    }
}

use std::time::{Duration, Instant};

use super::*;

impl Scene {
    /// A scene made by hand, for the tests of the route.
    pub(in super::super) fn of(tmux: Tmux, own: Vec<(PathBuf, OwnWay)>, env: &Env) -> Self {
        let (identity, multiplexer) = Multiplexer::of(env);
        Self { tmux, own, identity, multiplexer, ssh: env.has(name::SSH_CONNECTION), place: None }
    }
}

fn look(variables: &[(&str, &str)], reach: Reach) -> Scene {
    let env = Env::from_iter(variables.iter().copied());
    Scene::look(&env, Origin::Here, reach, Instant::now() + Duration::from_millis(500))
}

#[test]
fn outside_tmux_there_is_no_place() {
    let scene = look(&[("TERM", "xterm-ghostty"), ("SSH_CONNECTION", "1.2.3.4 5 6.7.8.9 22")], Reach::TmuxOnly);
    assert!(!scene.in_tmux() && scene.place().is_none() && scene.own.is_empty());
    assert!(scene.over_ssh(None) && !scene.over_ssh(Some(u32::MAX)), "a client decides for itself");
}

#[test]
fn a_tmux_that_cannot_be_asked_is_an_unknown_place() {
    for (value, reason) in [
        ("/nonexistent/socket,1,0", "no socket /nonexistent/socket"),
        ("nonsense", "TMUX is malformed"),
        ("/dev/null,1,0", "/dev/null is no socket"),
    ] {
        let scene = look(&[("TMUX", value), ("TMUX_PANE", "%0")], Reach::TmuxOnly);
        assert!(scene.in_tmux());
        assert_eq!((scene.tmux_trouble(), scene.place()), (Some(reason), Some(&Place::default())), "{value}");
    }
}

#[test]
fn a_place_is_clean_and_blank_parts_are_unknown() {
    let place = Place::of(&Pane {
        id: "%3".to_owned(),
        session_name: "main".to_owned(),
        window_name: "a\x1b]9;x\x07b".to_owned(),
        window_index: Some(2),
        window_named: true,
        ..Pane::default()
    });
    assert_eq!(place.window_name, Some(Text::new("a ]9;x b")));
    assert_eq!((place.session, place.session_id, place.pane_id), (Some(Text::new("main")), None, Some(Text::new("%3"))));
    assert!(place.window_named && place.window_index == Some(2) && place.pane_index.is_none());
}

use super::super::explain::explain;
use super::super::tmux::{Client, Pane};
use super::*;
use crate::environment::Env;
use crate::protocol::Protocol::{Bel, Osc9, Osc99, Osc777};

fn pane(tty: &str, passthrough: bool) -> Pane {
    Pane {
        id: "%1".to_owned(),
        tty: tty.into(),
        session_id: "$1".to_owned(),
        window_id: "@1".to_owned(),
        active: true,
        passthrough,
        focus_events: true,
        version: "3.3a".to_owned(),
        ..Pane::default()
    }
}

fn client(tty: &str, session: &str, activity: u64) -> Client {
    Client {
        tty: tty.into(),
        session_id: session.to_owned(),
        window_id: "@1".to_owned(),
        activity,
        pid: Some(u32::try_from(activity).expect("small")),
        ..Client::default()
    }
}

fn terminal(tty: &str, session: &str, activity: u64, termtype: &str) -> Link {
    let client = Client { termtype: termtype.to_owned(), ..client(tty, session, activity) };
    Link { client, behind: Behind::Terminal(Identity::of_client(termtype, "xterm-256color")) }
}

fn ghostty(tty: &str) -> Link {
    terminal(tty, "$1", 100, "ghostty 1.3.1")
}

fn hidden(tty: &str) -> Link {
    Link { client: Client { termtype: "tmux 3.4".to_owned(), ..client(tty, "$1", 100) }, behind: Behind::HiddenTmux }
}

fn inside(passthrough: bool, clients: Vec<Link>) -> Scene {
    Scene::made(Tmux::Known(Layer { pane: pane("/dev/pts/0", passthrough), clients }), &[], &[])
}

fn outside(own: &[(&str, OwnWay)], variables: &[(&str, &str)]) -> Scene {
    Scene::made(Tmux::Absent, own, variables)
}

impl Scene {
    fn made(tmux: Tmux, own: &[(&str, OwnWay)], variables: &[(&str, &str)]) -> Self {
        let own = own.iter().map(|(tty, way)| (PathBuf::from(tty), *way)).collect();
        Self::of(tmux, own, &Env::from_iter(variables.iter().copied()))
    }
}

/// A client that gives no name in a terminal with this TERM.
fn nameless(tty: &str, termname: &str) -> Link {
    Link { client: Client { termname: termname.to_owned(), ..client(tty, "$1", 100) }, behind: Behind::HiddenTmux }
}

/// What is written where, in which order: `tty protocol wrap`.
fn plan(route: &Route) -> Vec<String> {
    let line = |attempt: &Attempt| {
        let wrap = match attempt.wrap {
            Wrap::None => String::new(),
            Wrap::Tmux(layers) => format!(" {layers}×DCS"),
            Wrap::Screen => " screen".to_owned(),
        };
        let ascii = if attempt.ascii { " ASCII" } else { "" };
        let last = if attempt.last_resort { " last" } else { "" };
        format!("{} {}{wrap}{ascii}{last}", attempt.tty.display(), attempt.protocol)
    };
    route.attempts.iter().map(line).collect()
}

#[test]
fn one_client_gets_it_raw_whatever_passthrough_says() {
    let preferences = Preferences::default();
    let route_off = route(&inside(false, vec![ghostty("/dev/pts/4")]), &preferences);
    assert_eq!(plan(&route_off), ["/dev/pts/4 osc777"]);
    assert_eq!(route_off.bell.as_deref(), Some(std::path::Path::new("/dev/pts/0")));
    assert_eq!(explain(&route_off, None, false), "tmux 3.3a client /dev/pts/4 → Ghostty 1.3.1 · OSC 777");
    assert_eq!(explain(&route_off, None, true), "tmux 3.3a client /dev/pts/4 → ssh → Ghostty 1.3.1 · OSC 777");
    // With passthrough the pane is left for clients whose tty cannot be written.
    let route_on = route(&inside(true, vec![ghostty("/dev/pts/4")]), &preferences);
    assert_eq!(plan(&route_on), ["/dev/pts/4 osc777", "/dev/pts/0 osc777 1×DCS last"]);
    assert_eq!(
        explain(&route_on, Some(1), false),
        "tmux 3.3a pane /dev/pts/0 → Ghostty 1.3.1 · OSC 777 in 1 DCS wrap, needs allow-passthrough"
    );
}

#[test]
fn the_own_session_comes_first_then_the_client_used_last() {
    let clients = vec![
        terminal("/dev/pts/1", "$2", 300, "foot(1.28.0)"),
        terminal("/dev/pts/2", "$1", 100, "ghostty 1.3.1"),
        terminal("/dev/pts/3", "$2", 400, "iTerm2 3.5"),
        terminal("/dev/pts/4", "$1", 200, "kitty(0.41.1)"),
    ];
    let scene = inside(false, clients);
    let best = route(&scene, &Preferences::default());
    assert_eq!(plan(&best), ["/dev/pts/4 osc99", "/dev/pts/2 osc777", "/dev/pts/3 osc9", "/dev/pts/1 osc777"]);
    assert!(!best.all);
    assert_eq!(best.likely().and_then(|attempt| attempt.client_pid), Some(200));
    let all = route(&scene, &Preferences { all_clients: true, ..Preferences::default() });
    assert!(all.all);
    assert_eq!(explain(&all, None, false), "tmux 3.3a client /dev/pts/4 → kitty 0.41.1 · OSC 99, and 3 more");
}

#[test]
fn without_a_client_only_the_bell_is_left() {
    let route = route(&inside(true, Vec::new()), &Preferences::default());
    assert!(route.detached && route.attempts.is_empty());
    assert_eq!((route.trouble, route.bell.as_deref()), (Some(Trouble::Detached), Some(std::path::Path::new("/dev/pts/0"))));
    assert_eq!(explain(&route, None, false), "tmux 3.3a, nobody attached");
}

#[test]
fn a_control_mode_client_reads_the_pane_and_its_own_tty_is_left_alone() {
    let control = |tty: &str, activity| {
        let link = terminal(tty, "$1", activity, "");
        Link { client: Client { control: true, ..link.client }, behind: Behind::Terminal(Identity::titled("iTerm2", Osc9, Vec::new())) }
    };
    let scene = inside(true, vec![control("/dev/pts/8", 300), control("/dev/pts/9", 200)]);
    let route_control = route(&scene, &Preferences::default());
    assert_eq!(plan(&route_control), ["/dev/pts/0 osc9"]);
    assert_eq!(explain(&route_control, None, false), "tmux 3.3a control mode by pane /dev/pts/0 → iTerm2 · OSC 9");
    let beside = route(&inside(false, vec![control("/dev/pts/8", 300), ghostty("/dev/pts/4")]), &Preferences::default());
    assert_eq!(plan(&beside), ["/dev/pts/0 osc9", "/dev/pts/4 osc777"]);
}

#[test]
fn a_hidden_outer_tmux_gets_one_wrap_and_those_that_the_person_knows_of() {
    let scene = inside(false, vec![hidden("/dev/pts/4")]);
    let plain = route(&scene, &Preferences::default());
    assert_eq!(plan(&plain), ["/dev/pts/4 osc777 1×DCS"]);
    assert_eq!(
        explain(&plain, None, true),
        "tmux 3.3a client /dev/pts/4 → ssh → tmux 3.4 → unknown terminal · OSC 777 in 1 DCS wrap, needs allow-passthrough"
    );
    let deep = Preferences { extra_layers: 2, terminals: vec![("tmux".to_owned(), Osc9)], ..Preferences::default() };
    assert_eq!(plan(&route(&scene, &deep)), ["/dev/pts/4 osc9 3×DCS"]);
    let passed_on = route(&inside(true, vec![hidden("/dev/pts/4")]), &deep);
    assert_eq!(plan(&passed_on), ["/dev/pts/4 osc9 3×DCS", "/dev/pts/0 osc9 4×DCS last"]);
}

#[test]
fn an_outer_tmux_on_this_host_is_passed_by_its_own_client() {
    let outer = Layer { pane: pane("/dev/pts/4", true), clients: vec![ghostty("/dev/pts/9")] };
    let nested = Link { client: Client { termtype: "tmux 3.3a".to_owned(), ..client("/dev/pts/4", "$1", 50) }, ..Link::default() };
    let through = |outer: Layer| Link { behind: Behind::Outer(Box::new(outer)), ..nested.clone() };
    let scene = inside(false, vec![through(outer)]);
    let found = route(&scene, &Preferences { extra_layers: 3, ..Preferences::default() });
    assert_eq!(plan(&found), ["/dev/pts/9 osc777", "/dev/pts/4 osc777 1×DCS last"]);
    assert_eq!(found.bell.as_deref(), Some(std::path::Path::new("/dev/pts/0")), "the innermost pane");
    assert_eq!(explain(&found, None, false), "tmux 3.3a client /dev/pts/4 → tmux 3.3a client /dev/pts/9 → Ghostty 1.3.1 · OSC 777");
    assert_eq!(found.attempts[0].client_pid, Some(100), "the client nearest to the person");

    let empty = inside(true, vec![through(Layer { pane: pane("/dev/pts/4", true), clients: Vec::new() })]);
    let detached = route(&empty, &Preferences::default());
    assert!(detached.detached && detached.attempts.is_empty());
    assert_eq!(explain(&detached, None, false), "tmux 3.3a client /dev/pts/4 → tmux 3.3a, nobody attached");
}

#[test]
fn a_terminal_without_notifications_is_named_and_not_reached_through_the_pane() {
    let route = route(&inside(true, vec![terminal("/dev/pts/4", "$1", 1, "VTE(8003)")]), &Preferences::default());
    assert_eq!(plan(&route), ["/dev/pts/4 bell"]);
    assert_eq!(explain(&route, None, false), "tmux 3.3a client /dev/pts/4 → VTE 8003 · shows no notifications, BEL only");
}

#[test]
fn tmux_in_gnu_screen_gets_screens_wrap() {
    let link = Link { client: Client { termname: "screen".to_owned(), ..client("/dev/pts/4", "$1", 1) }, behind: Behind::Screen };
    let route = route(&inside(true, vec![link]), &Preferences::default());
    assert_eq!(plan(&route), ["/dev/pts/4 osc777 screen ASCII"]);
}

#[test]
fn a_hidden_multiplexer_that_may_be_gnu_screen_gets_tmuxs_wrap_in_ascii() {
    let plan_of = |link: Link| plan(&route(&inside(true, vec![link]), &Preferences::default()));
    for termname in ["screen", "screen-256color", "screen.xterm-256color"] {
        let wanted = ["/dev/pts/4 osc777 1×DCS ASCII", "/dev/pts/0 osc777 2×DCS ASCII last"];
        assert_eq!(plan_of(nameless("/dev/pts/4", termname)), wanted, "{termname}");
    }
    let wanted = ["/dev/pts/4 osc777 1×DCS", "/dev/pts/0 osc777 2×DCS last"];
    assert_eq!(plan_of(nameless("/dev/pts/4", "tmux-256color")), wanted);
    let told = Link { client: Client { termname: "screen".to_owned(), ..hidden("/dev/pts/4").client }, ..hidden("/dev/pts/4") };
    assert_eq!(plan_of(told), wanted, "tmux has said who it is");
    // The pane reaches the other client as well.
    let both = inside(true, vec![ghostty("/dev/pts/5"), nameless("/dev/pts/4", "screen")]);
    assert_eq!(plan(&route(&both, &Preferences::default())).last().map(String::as_str), Some("/dev/pts/0 osc777 1×DCS ASCII last"));
}

#[test]
fn what_an_agent_writes_itself_may_pass_gnu_screen() {
    let inside = |link: Link, variables: &[(&str, &str)]| {
        Scene::made(Tmux::Known(Layer { pane: pane("/dev/pts/0", true), clients: vec![link] }), &[], variables).may_pass_screen()
    };
    let tmux = [("TMUX", "/x,1,0"), ("TERM", "screen-256color")];
    assert!(!inside(ghostty("/dev/pts/4"), &tmux), "the name that this tmux gives itself");
    assert!(inside(ghostty("/dev/pts/4"), &[("TMUX", "/x,1,0"), ("TERM", "screen"), ("STY", "1.x")]), "screen inside tmux");
    assert!(inside(nameless("/dev/pts/4", "screen"), &tmux));
    assert!(inside(Link { behind: Behind::Screen, ..nameless("/dev/pts/4", "screen") }, &tmux));
    let outer = Layer { pane: pane("/dev/pts/4", true), clients: vec![nameless("/dev/pts/9", "screen")] };
    assert!(inside(Link { behind: Behind::Outer(Box::new(outer)), ..nameless("/dev/pts/4", "tmux-256color") }, &tmux));
    let unknown = |variables| Scene::made(Tmux::Unknown("gone".to_owned()), &[], variables).may_pass_screen();
    assert!(unknown(&tmux) && !unknown(&[("TMUX", "/x,1,0"), ("TERM", "tmux-256color")]));
}

#[test]
fn each_attempt_knows_whom_it_reaches() {
    let control = terminal("/dev/pts/8", "$1", 300, "");
    let control = Link { client: Client { control: true, ..control.client }, ..control };
    let vte = terminal("/dev/pts/3", "$1", 200, "VTE(8003)");
    let found = route(&inside(true, vec![control, vte, ghostty("/dev/pts/4")]), &Preferences::default());
    let whom: Vec<_> = found.attempts.iter().map(|attempt| (attempt.client.to_str().expect("a path"), attempt.client_pid)).collect();
    assert_eq!(whom, [("/dev/pts/8", Some(300)), ("/dev/pts/3", Some(200)), ("/dev/pts/4", Some(100)), ("/dev/pts/4", Some(100))]);

    let clients = vec![terminal("/dev/pts/3", "$1", 200, "VTE(8003)"), ghostty("/dev/pts/4")];
    let second = route(&inside(false, clients), &Preferences::default());
    assert_eq!(second.likely().map(|attempt| attempt.client.as_path()), Some(std::path::Path::new("/dev/pts/4")));
    assert_eq!(explain(&second, None, false), "tmux 3.3a client /dev/pts/4 → Ghostty 1.3.1 · OSC 777");
    assert!(!second.is_bell_only() && !Route::default().is_bell_only());
    let silent = route(&inside(false, vec![terminal("/dev/pts/3", "$1", 200, "VTE(8003)")]), &Preferences::default());
    assert!(silent.is_bell_only() && silent.likely().is_some());
}

#[test]
fn outside_tmux_each_surrounding_has_its_wrap() {
    let own = [("/dev/tty", OwnWay::Controlling)];
    for (variables, wanted, explained) in [
        (&[("TERM", "xterm-kitty")] as &[_], "/dev/tty osc99", "/dev/tty → kitty · OSC 99"),
        (&[("TERM", "xterm-256color")], "/dev/tty osc777", "/dev/tty → xterm-256color · OSC 777"),
        (
            &[("TERM", "tmux-256color")],
            "/dev/tty osc777 2×DCS",
            "/dev/tty → tmux → unknown terminal · OSC 777 in 2 DCS wraps, needs allow-passthrough",
        ),
        (
            &[("TERM", "screen-256color")],
            "/dev/tty osc777 2×DCS ASCII",
            "/dev/tty → tmux → unknown terminal · OSC 777 in 2 DCS wraps, needs allow-passthrough",
        ),
        (
            &[("TERM", "screen"), ("STY", "1.x")],
            "/dev/tty osc777 screen ASCII",
            "/dev/tty → GNU screen → unknown terminal · OSC 777 wrapped for GNU screen",
        ),
        (&[("TERM", "xterm-kitty"), ("ZELLIJ", "0")], "/dev/tty osc777", "/dev/tty → Zellij → unknown terminal · OSC 777"),
    ] {
        let route = route(&outside(&own, variables), &Preferences { extra_layers: 1, ..Preferences::default() });
        assert_eq!(plan(&route), [wanted], "{variables:?}");
        assert_eq!(explain(&route, None, false), explained);
        assert_eq!(route.attempts[0].guard_digits, variables.iter().any(|(name, _)| *name == "ZELLIJ"));
    }
}

#[test]
fn outside_tmux_the_first_own_terminal_rings_too() {
    let own = [("/dev/pts/3", OwnWay::Ancestor), ("/dev/pts/2", OwnWay::SshTty)];
    let found = route(&outside(&own, &[("TERM", "foot")]), &Preferences::default());
    assert_eq!(plan(&found), ["/dev/pts/3 osc777", "/dev/pts/2 osc777"]);
    assert_eq!(found.bell.as_deref(), Some(std::path::Path::new("/dev/pts/3")));
    let none = route(&outside(&[], &[]), &Preferences::default());
    assert_eq!((none.trouble, none.bell.as_deref()), (Some(Trouble::NoTerminal), None));
    assert_eq!(explain(&none, None, false), "no terminal above this process");
}

#[test]
fn a_tmux_that_cannot_be_asked_is_named_and_passed_over() {
    let unknown = Tmux::Unknown("server gone".to_owned());
    let route = route(&Scene::made(unknown, &[("/dev/tty", OwnWay::Controlling)], &[("TERM", "foot")]), &Preferences::default());
    assert_eq!(plan(&route), ["/dev/tty osc777"]);
    assert_eq!(explain(&route, None, true), "tmux passed over (server gone): /dev/tty → ssh → foot · OSC 777");
}

#[test]
fn a_forced_protocol_is_used_everywhere() {
    let forced = Preferences { forced: Some(Bel), ..Preferences::default() };
    let clients = vec![terminal("/dev/pts/1", "$1", 2, "kitty(0.41.1)"), ghostty("/dev/pts/2")];
    assert!(route(&inside(true, clients), &forced).attempts.iter().all(|attempt| attempt.protocol == Bel));
    let forced = Preferences { forced: Some(Osc99), fallback: Osc777, ..Preferences::default() };
    assert_eq!(plan(&route(&inside(false, vec![ghostty("/dev/pts/2")]), &forced)), ["/dev/pts/2 osc99"]);
}

#[test]
fn attention_counts_only_what_every_layer_shows() {
    let focused = |link: Link| Link { client: Client { focused: true, ..link.client }, ..link };
    let layer = |outer_window: &str, focus_events: bool| {
        let mut outer = Layer { pane: pane("/dev/pts/4", true), clients: vec![focused(ghostty("/dev/pts/9"))] };
        outer.clients[0].client.window_id = outer_window.to_owned();
        outer.pane.focus_events = focus_events;
        let inner = Link { client: client("/dev/pts/4", "$1", 70), behind: Behind::Outer(Box::new(outer)) };
        inside(true, vec![focused(inner)]).attention()
    };
    let seen = layer("@1", true);
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].client_pid, seen[0].activity), (Some(70), 70));
    assert!(seen[0].visible && seen[0].focus_reported && seen[0].focused);
    assert!(!layer("@2", true)[0].visible, "the outer window is in the background");
    assert!(!layer("@1", false)[0].focus_reported, "the outer layer does not ask for focus reports");
    assert!(outside(&[], &[]).attention().is_empty());
}

use super::*;

fn client(termtype: &str, termname: &str) -> (String, Protocol) {
    let identity = Identity::of_client(termtype, termname);
    (identity.title(), identity.choose(&Preferences::default()))
}

fn outside(variables: &[(&str, &str)]) -> (String, Protocol) {
    let (protocol, name) = outside_protocol(&Env::from_iter(variables.iter().copied()), &Preferences::default());
    (name, protocol)
}

#[test]
fn a_client_is_known_by_its_answer_to_xtversion() {
    for (termtype, title, protocol) in [
        ("ghostty 1.3.1", "Ghostty 1.3.1", Osc777),
        ("kitty(0.41.1)", "kitty 0.41.1", Osc99),
        ("foot(1.28.0)", "foot 1.28.0", Osc777),
        ("WezTerm 20240203-110809-5046fc22", "WezTerm 20240203-110809-5046fc22", Osc777),
        ("iTerm2 3.5.10", "iTerm2 3.5.10", Osc9),
        ("Konsole 26.04.0", "Konsole 26.04.0", Osc777),
        ("contour 0.5.1", "Contour 0.5.1", Osc777),
        ("Rio 0.2.0", "Rio 0.2.0", Osc777),
        ("VTE(8003)", "VTE 8003", Bel),
        ("XTerm(390)", "xterm 390", Bel),
        ("xterm.js(5.6.0)", "xterm.js(5.6.0)", Osc777),
        ("something\x1b]9;x\x07", "something ]9;x", Osc777),
    ] {
        assert_eq!(client(termtype, "xterm-256color"), (title.to_owned(), protocol), "{termtype}");
    }
}

#[test]
fn without_that_answer_its_term_tells() {
    for (termname, title, protocol) in [
        ("xterm-ghostty", "Ghostty", Osc777),
        ("xterm-kitty", "kitty", Osc99),
        ("foot-extra", "foot", Osc777),
        ("alacritty", "Alacritty", Bel),
        ("xterm-256color", "xterm-256color", Osc777),
        ("", "unknown terminal", Osc777),
    ] {
        assert_eq!(client("", termname), (title.to_owned(), protocol), "{termname}");
    }
    assert_eq!(client("Unheard 1", "xterm-kitty"), ("kitty".to_owned(), Osc99));
}

#[test]
fn outside_tmux_the_environment_tells() {
    for (variables, title, protocol) in [
        (&[("TERM_PROGRAM", "ghostty"), ("TERM", "xterm-256color")] as &[_], "Ghostty", Osc777),
        (&[("TERM_PROGRAM", "WezTerm")], "WezTerm", Osc777),
        (&[("TERM_PROGRAM", "iTerm.app")], "iTerm2", Osc9),
        (&[("TERM_PROGRAM", "vscode")], "VS Code", Osc99),
        (&[("TERM_PROGRAM", "WarpTerminal")], "Warp", Osc777),
        (&[("TERM_PROGRAM", "zed")], "Zed", Osc9),
        (&[("TERM_PROGRAM", "Apple_Terminal")], "Apple Terminal", Bel),
        (&[("LC_TERMINAL", "iTerm2"), ("TERM", "xterm-256color")], "iTerm2", Osc9),
        (&[("ITERM_SESSION_ID", "w0t0p0")], "iTerm2", Osc9),
        (&[("KITTY_WINDOW_ID", "1")], "kitty", Osc99),
        (&[("GHOSTTY_RESOURCES_DIR", "/x")], "Ghostty", Osc777),
        (&[("WEZTERM_PANE", "0")], "WezTerm", Osc777),
        (&[("KONSOLE_VERSION", "260400")], "Konsole", Osc777),
        (&[("WT_SESSION", "0-0")], "Windows Terminal", Osc777),
        (&[("VTE_VERSION", "8003"), ("TERM", "xterm-256color")], "VTE", Bel),
        (&[("TERM", "xterm-kitty"), ("TERM_PROGRAM", "vscode")], "kitty", Osc99),
        (&[("TERM", "alacritty"), ("KITTY_WINDOW_ID", "1")], "Alacritty", Bel),
        (&[("TERM", "foot")], "foot", Osc777),
        (&[("TERM", "linux")], "Linux console", Bel),
        (&[("TERM", "xterm-256color")], "xterm-256color", Osc777),
        (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "tmux")], "xterm-256color", Osc777),
        (&[], "unknown terminal", Osc777),
    ] {
        assert_eq!(outside(variables), (title.to_owned(), protocol), "{variables:?}");
    }
}

#[test]
fn a_multiplexer_hides_the_terminal() {
    let of = |variables: &[(&str, &str)]| Multiplexer::of(&Env::from_iter(variables.iter().copied()));
    for (variables, title, multiplexer) in [
        (&[("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1")] as &[_], "unknown terminal", Multiplexer::Tmux),
        (&[("TERM", "screen-256color")], "unknown terminal", Multiplexer::TmuxOrScreen),
        (&[("TERM", "screen"), ("STY", "1.x")], "unknown terminal", Multiplexer::Screen),
        (&[("TERM", "xterm-256color"), ("STY", "1.x")], "unknown terminal", Multiplexer::Screen),
        (&[("TERM", "screen.xterm-kitty"), ("STY", "1.x")], "kitty", Multiplexer::Screen),
        (&[("TERM", "xterm-kitty"), ("STY", "1.x")], "kitty", Multiplexer::None),
        (&[("TERM", "tmux-256color"), ("STY", "1.x")], "unknown terminal", Multiplexer::Tmux),
        (&[("TERM", "xterm-ghostty"), ("ZELLIJ", "0"), ("TERM_PROGRAM", "ghostty")], "unknown terminal", Multiplexer::Zellij),
    ] {
        let (identity, found) = of(variables);
        assert_eq!((identity.title().as_str(), found), (title, multiplexer), "{variables:?}");
    }
    assert_eq!(outside(&[("TERM", "screen.xterm-kitty"), ("STY", "1.x")]), ("kitty behind GNU screen".to_owned(), Osc99));
    assert_eq!(outside(&[("ZELLIJ", "0"), ("TERM", "xterm-kitty")]), ("unknown terminal behind Zellij".to_owned(), Osc777));
    assert_eq!(outside(&[("TERM", "tmux-256color")]), ("unknown terminal behind tmux".to_owned(), Osc777));
    assert_eq!(outside(&[("TERM", "screen")]), ("unknown terminal behind tmux or GNU screen".to_owned(), Osc777));
}

#[test]
fn an_agent_in_gnu_screen_is_known_by_either_variable() {
    for (variables, wanted) in [
        (&[("TERM", "screen.xterm-256color"), ("STY", "1.x")] as &[_], true),
        // Screen was told to call itself so; an agent that wraps by STY still does.
        (&[("TERM", "xterm-kitty"), ("STY", "1.x")], true),
        (&[("TERM", "screen.xterm-256color")], true),
        (&[("TERM", "screen-256color")], true),
        (&[("TERM", "tmux-256color")], false),
        (&[("TERM", "xterm-kitty")], false),
        (&[], false),
    ] {
        assert_eq!(may_pass_screen(&Env::from_iter(variables.iter().copied())), wanted, "{variables:?}");
    }
}

#[test]
fn the_persons_table_beats_ours_and_the_longest_entry_wins() {
    let preferences = Preferences {
        terminals: vec![
            ("GHOSTTY".to_owned(), Osc9),
            ("ghostty 1.4".to_owned(), Bel),
            ("xterm-256color".to_owned(), Osc99),
            ("vs code".to_owned(), Bel),
        ],
        ..Preferences::default()
    };
    for (termtype, termname, protocol) in [
        ("ghostty 1.3.1", "xterm-ghostty", Osc9),
        ("ghostty 1.4.0", "xterm-ghostty", Bel),
        // The name of TERM counts only where the terminal itself is not known.
        ("ghostty 1.3.1", "xterm-256color", Osc9),
        ("kitty(0.41.1)", "xterm-256color", Osc99),
        ("", "xterm-256color", Osc99),
        ("Unheard 1", "xterm-256color", Osc99),
        ("foot(1.28.0)", "foot", Osc777),
    ] {
        assert_eq!(Identity::of_client(termtype, termname).choose(&preferences), protocol, "{termtype} {termname}");
    }
    assert_eq!(outside_protocol(&Env::from_iter([("TERM_PROGRAM", "vscode")]), &preferences).0, Bel);
    let forced = Preferences { forced: Some(Osc777), ..preferences };
    assert_eq!(Identity::of_client("ghostty 1.4.0", "").choose(&forced), Osc777);
    let fallback = Preferences { fallback: Osc9, ..Preferences::default() };
    assert_eq!(Identity::of_client("", "xterm-256color").choose(&fallback), Osc9);
}

#[test]
fn an_environment_with_a_terminal_in_it_was_not_emptied() {
    let names = |variables: &[(&str, &str)]| names_terminal(&Env::from_iter(variables.iter().copied()));
    assert!(names(&[("TERM", "xterm-ghostty")]) && names(&[("TERM_PROGRAM", "vscode"), ("TERM", "dumb")]));
    assert!(!names(&[]) && !names(&[("TERM", "tmux-256color"), ("TERM_PROGRAM", "tmux")]) && !names(&[("TERM", "dumb")]));
}

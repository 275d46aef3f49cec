//! Every payload under tests/fixtures/payloads goes through `agents::parse`, and has to mean what the tables of the two
//! READMEs there say. What is read from each is one line of a snapshot.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{cell::Cell, fs};

use agent_notify::agents::{self, Input};
use agent_notify::environment::Env;
use agent_notify::event::{Answers, AskIdentity, Background, Kind, Parsed, ReplyForm, Signal, Silence};
use proptest::prelude::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/payloads")
}

/// One line of a table.
struct Row {
    file: String,
    version: String,
    action: String,
    note: String,
}

/// All payloads of hooks, from both tables. What the Pi extension's handlers receive and what sockets say is none.
fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for readme in ["README.md", "README-cursor-pi-others.md"] {
        for line in fs::read_to_string(folder().join(readme)).expect("a README").lines() {
            let cells: Vec<&str> = line.trim_matches('|').split(" |").map(str::trim).collect();
            let [file, version, _, action, note, ..] = cells[..] else { continue };
            if Path::new(file).extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            if ["pi/events/", "pi/bus/"].iter().any(|other| file.starts_with(other))
                || ["cmux-", "herdr-"].iter().any(|other| file.contains(other))
            {
                continue;
            }
            let [file, version, action, note] = [file, version, action, note].map(str::to_owned);
            rows.push(Row { file, version, action, note });
        }
    }
    rows
}

/// How an agent calls us for a file.
struct Call {
    file: String,
    bytes: Vec<u8>,
    hook: &'static str,
    argument: Option<String>,
    agent: Option<&'static str>,
    variables: Vec<(&'static str, String)>,
    ancestors: Vec<Vec<String>>,
}

impl Call {
    fn of(file: &str) -> Self {
        let name = file.rsplit('/').next().expect("a name").trim_end_matches(".json");
        let bytes = fs::read(folder().join(file)).expect("a payload");
        let mut call = Self {
            file: file.to_owned(),
            bytes,
            hook: "generic",
            argument: None,
            agent: None,
            variables: Vec::new(),
            ancestors: Vec::new(),
        };
        match file.split('/').next() {
            Some("claude") => call.claude(name),
            Some("codex") => call.codex(name),
            Some("cursor") => call.cursor(name),
            Some("pi") => {
                call.hook = "pi";
                let payload: serde_json::Value = serde_json::from_slice(&call.bytes).expect("JSON");
                call.argument = payload["hook_event_name"].as_str().map(str::to_owned);
            }
            _ => call.other(name),
        }
        call
    }

    fn claude(&mut self, name: &str) {
        self.hook = "claude";
        let version = name.rsplit_once("-v").map_or("2.1.332", |(_, version)| version);
        let print = name.ends_with("-print");
        self.variables.push(("AI_AGENT", format!("claude-code_{}_harness", version.replace('.', "-"))));
        self.variables.push(("CLAUDE_CODE_ENTRYPOINT", if print { "sdk-cli" } else { "cli" }.to_owned()));
        if version == "2.1.332" {
            self.variables.push(("CLAUDE_CODE_SESSION_ATTENDED", u8::from(!print).to_string()));
        }
    }

    fn codex(&mut self, name: &str) {
        self.hook = "codex";
        let version = name.rsplit_once("-v").map_or("0.171.0", |(_, version)| version);
        let program = format!("/opt/codex@{version}/bin/codex");
        let arguments: &[&str] = if name.contains("-exec") { &["exec", "hi two"] } else { &[] };
        let codex = std::iter::once(program).chain(arguments.iter().map(|argument| (*argument).to_owned())).collect();
        self.ancestors = vec![vec!["/bin/bash".to_owned(), "-lc".to_owned(), "agent-notify hook codex".to_owned()], codex];
    }

    fn cursor(&mut self, name: &str) {
        let imported = name.contains("imported");
        self.hook = if imported { "claude" } else { "cursor" };
        self.argument = (imported && name.starts_with("stop")).then(|| "Stop".to_owned());
        self.variables.push(("CURSOR_PROJECT_DIR", "/home/u/variable".to_owned()));
    }

    fn other(&mut self, name: &str) {
        if name == "copilot-claude-settings-Stop" {
            self.hook = "claude";
            self.variables.push(("COPILOT_CLI", "1".to_owned()));
            return;
        }
        let (agent, event) = name.split_once('-').expect("an agent in front");
        let labels = ["Amp", "Antigravity", "Copilot", "Devin", "Droid", "Gemini", "Goose", "Kimi", "Kiro", "OpenCode", "Qoder", "Qwen"];
        self.agent = labels.into_iter().find(|label| label.eq_ignore_ascii_case(agent));
        assert!(self.agent.is_some(), "{name}: whose payload is it?");
        let payload = String::from_utf8_lossy(&self.bytes);
        // No event name in the payload: it stands in the command.
        if !["\"hook_event_name\"", "\"hookEventName\"", "\"event\"", "\"type\""].iter().any(|field| payload.contains(field)) {
            self.argument = event.split('-').next().map(str::to_owned);
        }
    }

    fn parse(&self) -> Parsed {
        self.parse_bytes(&self.bytes)
    }

    fn parse_bytes(&self, payload: &[u8]) -> Parsed {
        let env = Env::from_iter(self.variables.iter().map(|(name, value)| (*name, value.as_str())));
        let asked = Cell::new(0);
        let ancestors = || {
            asked.set(asked.get() + 1);
            self.ancestors.clone()
        };
        let input =
            Input { payload, argument: self.argument.as_deref(), agent: self.agent, env: &env, folder: &|| None, ancestors: &ancestors };
        let parsed = agents::parse(agents::find(self.hook).expect("a known agent"), &input);
        assert!(asked.get() <= 1, "{}: ancestors are asked for once at most", self.file);
        parsed
    }

    fn command_line(&self) -> String {
        let mut line = self.hook.to_owned();
        for part in [self.agent.map(|agent| format!("--agent {agent}")), self.argument.clone()].into_iter().flatten() {
            write!(line, " {part}").expect("a string");
        }
        line
    }
}

/// What a default configuration makes of it: the kind that is notified, if any.
fn notified(parsed: &Parsed) -> Option<Kind> {
    let Signal::Attention(kind) = parsed.signal else { return None };
    let event = &parsed.event;
    let off = matches!(kind, Kind::Idle | Kind::Tool);
    let held = kind == Kind::Stop && event.background != Background::None;
    let filtered = event.headless || (event.subagent && kind != Kind::Input);
    (!off && !held && !filtered).then_some(kind)
}

#[test]
fn every_payload_means_what_the_tables_say() {
    let rows = rows();
    assert!(rows.len() > 220, "only {} rows were understood", rows.len());
    for Row { file, version, action, note } in rows {
        let parsed = Call::of(&file).parse();
        let (signal, event) = (&parsed.signal, &parsed.event);
        let context = format!("{file}: {action}, {note}: {parsed:#?}");

        let wanted = match action.split(' ').next() {
            // A contradiction in the table: its own note on `client` makes this a headless run, quiet by default.
            Some("finished") if file.ends_with("notify-turn-complete-v0.120.0.json") => None,
            Some("finished") if !action.contains("only when") => Some(Kind::Stop),
            Some("needs_input") => Some(Kind::Input),
            Some("error") if !action.contains("only when") => Some(Kind::Error),
            _ => None,
        };
        assert_eq!(notified(&parsed), wanted, "{context}");

        // What is off or filtered by default.
        let headless = action.contains("policy.headless") || note.contains("policy.headless");
        if headless {
            assert!(event.headless && matches!(signal, Signal::Attention(Kind::Stop | Kind::Error)), "{context}");
        }
        if action == "idle" || action == "ignore / idle" {
            assert_eq!(*signal, Signal::Attention(Kind::Idle), "{context}");
        }
        if action == "ignore / tool" {
            assert_eq!(*signal, Signal::Attention(Kind::Tool), "{context}");
        }
        if action == "tool" && file.contains("/post-tool-use") {
            assert!(matches!(signal, Signal::Resumed | Signal::Attention(Kind::Tool)), "{context}");
        }
        assert_eq!(
            event.background != Background::None,
            note.starts_with("hold ") || note.starts_with("hold:") || note.ends_with(": hold"),
            "{context}"
        );
        assert_eq!(
            event.ide,
            file.starts_with("cursor/") && version.starts_with("IDE") && !file.contains("imported") && !file.contains("two-roots"),
            "{context}"
        );
        assert_eq!(event.answer_cut, file.contains("length"), "{context}");

        // What ends a wait.
        if note.contains("clears the state") {
            assert!(matches!(signal, Signal::Ended | Signal::TurnStarted | Signal::Silent(Silence::PersonActed)), "{context}");
        }
        if note.contains("agent_id") && !action.starts_with("needs_input") && !file.contains("user-prompt-submit") {
            assert!(event.subagent, "{context}");
        }
        if note.contains("Stop-hook loop") {
            assert_eq!(*signal, Signal::Silent(Silence::StopHookActive), "{context}");
        }

        // An unknown event is the only thing that is not understood.
        let unknown = ["unknown-event", "claude-unknown"].iter().any(|part| file.contains(part));
        assert_eq!(matches!(signal, Signal::Silent(Silence::UnknownEvent | Silence::NoEvent)), unknown, "{context}");

        let form = match file.split('/').next() {
            Some("codex" | "pi") => ReplyForm::Nothing,
            Some("claude") if event.headless || file.contains("-print") || file.contains("v2.1.138") => ReplyForm::EmptyObject,
            Some("claude") => ReplyForm::ClaudeSequence,
            _ => ReplyForm::EmptyObject,
        };
        assert_eq!(parsed.reply, form, "{context}");
    }
}

#[test]
fn every_payload_of_a_hook_stands_in_a_table() {
    let listed: Vec<String> = rows().into_iter().map(|row| row.file).collect();
    let mut folders = vec![folder()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder").flatten() {
            let path = entry.path();
            let name = path.strip_prefix(folder()).expect("below").to_string_lossy().into_owned();
            if path.is_dir() {
                if !["pi/events", "pi/bus"].contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if name.ends_with(".json") && !name.contains("/cmux-") && !name.contains("/herdr-") {
                assert!(listed.contains(&name), "{name}");
            }
        }
    }
}

#[test]
fn two_that_belong_together_have_one_identity() {
    let parse = |file: &str| Call::of(file).parse().event;
    let key = |file: &str| {
        let event = parse(file);
        (event.speaker.id, event.session, event.turn)
    };
    assert_eq!(key("codex/stop.json"), key("codex/notify-turn-complete.json"));
    assert_eq!(key("codex/stop-exec.json"), key("codex/notify-exec.json"));
    assert_eq!(key("claude/permission-request-bash.json"), key("claude/notification-permission_prompt.json"));
    assert_eq!(key("claude/elicitation.json"), key("claude/notification-elicitation_dialog.json"));
    assert_eq!(key("claude/stop.json"), key("claude/notification-idle_prompt.json"));
    assert_eq!(key("cursor/reconstructed/stop-completed-cli.json"), key("cursor/reconstructed/stop-imported-from-claude.json"));
    assert_eq!(key("cursor/reconstructed/stop-completed-cli.json"), key("cursor/reconstructed/stop-imported-from-claude-pascal-case.json"));
    let project = |file: &str| parse(file).project.expect("a project");
    assert_eq!(project("cursor/stop-ide-windows-bom.json").file_name().expect("a name"), "proj");
    assert_eq!(project("cursor/reconstructed/stop-empty-roots.json"), Path::new("/home/u/variable"));
}

#[test]
fn an_ask_is_known_again_in_what_follows_its_answer() {
    let parse = |file: &str| Call::of(file).parse().event;
    for (ask, answer) in [
        ("claude/permission-request-ask_user_question.json", "claude/post-tool-use-ask_user_question.json"),
        ("codex/permission-request.json", "codex/post-tool-use.json"),
        ("codex/pre-tool-use-request_user_input.json", "codex/post-tool-use-request_user_input.json"),
        ("others/reconstructed/opencode-permission.asked.json", "others/reconstructed/opencode-permission.replied.json"),
    ] {
        let identity = parse(ask).ask.expect("an ask").identity;
        let answers = parse(answer).answers;
        assert!(matches!(&answers, Answers::Asks(asks) if asks.contains(&identity)), "{ask}: {identity:?}, {answer}: {answers:?}");
    }
    let subagents = parse("codex/reconstructed/permission-request-subagent.json").ask.expect("an ask").identity;
    let answers = parse("codex/post-tool-use.json").answers;
    assert!(matches!(&answers, Answers::Asks(asks) if !asks.contains(&subagents)), "the same command of a subagent: {answers:?}");
    assert_eq!(parse("claude/elicitation-result.json").answers, Answers::Newest);
}

/// One compact line.
fn line(call: &Call) -> String {
    let Parsed { signal, event, reply, notes, .. } = call.parse();
    let mut line = format!("{} | {} | ", call.file, call.command_line());
    match signal {
        Signal::Attention(kind) => write!(line, "{kind}"),
        Signal::Silent(silence) => write!(line, "silent ({})", silence.reason()),
        other => write!(line, "{other:?}"),
    }
    .expect("a string");
    write!(line, " | {} <{}> {}", event.speaker.id, event.speaker.label, event.source).expect("a string");
    let short = |id: &str| if id.chars().count() > 8 { format!("…{}", &id[id.len() - 4..]) } else { id.to_owned() };
    let optional = |id: &Option<String>| id.as_deref().map_or_else(|| "-".to_owned(), short);
    let project = event.project.map_or_else(|| "-".to_owned(), |project| project.display().to_string());
    write!(line, " | session {} turn {} in {project}", optional(&event.session), optional(&event.turn)).expect("a string");
    if let Some(ask) = event.ask {
        let identity = match ask.identity {
            AskIdentity::Id(id) => format!("id {id}"),
            AskIdentity::Content(hash) => format!("content {:08x}", hash >> 96),
            AskIdentity::Newest(hash) => format!("newest {:08x}", hash >> 96),
        };
        write!(line, " | asks {identity} {:?}", ask.title).expect("a string");
    }
    if let Some(words) = event.words {
        write!(line, " | says {:?}", words.chars().take(60).collect::<String>()).expect("a string");
    }
    let background = match event.background {
        Background::None => "",
        Background::Shell => "background-shell",
        Background::Subagent => "background-subagent",
    };
    let flags = [
        (event.subagent, "subagent"),
        (event.headless, "headless"),
        (event.ide, "ide"),
        (event.answer_cut, "cut"),
        (!background.is_empty(), background),
    ];
    for (_, flag) in flags.into_iter().filter(|(set, _)| *set) {
        write!(line, " +{flag}").expect("a string");
    }
    write!(line, " | {reply:?}").expect("a string");
    if !notes.is_empty() {
        write!(line, " | notes {notes:?}").expect("a string");
    }
    line
}

#[test]
fn what_is_read_from_each_payload() {
    let lines: Vec<String> = rows().iter().map(|row| line(&Call::of(&row.file))).collect();
    insta::assert_snapshot!("payloads", lines.join("\n"));
}

/// The reply may not depend on how much of a payload can be read: the agent stays the same. Only a hook of Claude's that
/// Cursor has imported cannot be told without the field that tells it.
fn same_reply(call: &Call, whole: ReplyForm, parsed: &Parsed) -> bool {
    parsed.reply == whole || (call.file.contains("imported") && parsed.reply == ReplyForm::ClaudeSequence)
}

#[test]
fn a_payload_cut_anywhere_neither_panics_nor_changes_the_reply() {
    for row in rows() {
        let call = Call::of(&row.file);
        let whole = call.parse().reply;
        let length = call.bytes.len();
        // One payload holds 30 kB of the same letter: its middle is cut here and there.
        for end in (0..length).filter(|end| *end < 2000 || length - end < 2000 || end % 61 == 0) {
            let parsed = call.parse_bytes(&call.bytes[..end]);
            assert!(same_reply(&call, whole, &parsed), "{} cut at {end}", row.file);
            if call.bytes[end..].trim_ascii().is_empty() {
                assert_eq!(parsed.signal, call.parse().signal, "{} without its newline", row.file);
            }
        }
    }
}

#[test]
fn a_field_that_is_missing_or_of_another_type_neither_panics_nor_changes_the_reply() {
    let others = [
        serde_json::json!(null),
        serde_json::json!(true),
        serde_json::json!(7),
        serde_json::json!(-1.5e300),
        serde_json::json!(""),
        serde_json::json!("X"),
        serde_json::json!([]),
        serde_json::json!([1, [2], {"a": null}]),
        serde_json::json!({}),
        serde_json::json!({"question": {"questions": [{}]}, "id": 1}),
    ];
    for row in rows() {
        let call = Call::of(&row.file);
        let whole = call.parse().reply;
        let bytes = call.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&call.bytes);
        let payload: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(bytes).expect("JSON");
        for field in payload.keys() {
            let mut changed = payload.clone();
            changed.shift_remove(field);
            let parsed = call.parse_bytes(&serde_json::to_vec(&changed).expect("JSON"));
            assert!(same_reply(&call, whole, &parsed), "{} without {field}", row.file);
            for other in &others {
                changed.insert(field.clone(), other.clone());
                let parsed = call.parse_bytes(&serde_json::to_vec(&changed).expect("JSON"));
                assert!(same_reply(&call, whole, &parsed), "{} with {field} = {other}", row.file);
            }
        }
    }
}

/// Values that look like those of the agents, under names that they use.
fn payload() -> impl Strategy<Value = serde_json::Value> {
    let text = prop_oneof![
        Just("Stop".to_owned()),
        Just("Notification".to_owned()),
        Just("PermissionRequest".to_owned()),
        Just("agent.end".to_owned()),
        Just("session.status".to_owned()),
        Just("agent-turn-complete".to_owned()),
        Just("needs_input".to_owned()),
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
        text.prop_map(serde_json::Value::from),
    ];
    let name = prop_oneof![
        4 => proptest::sample::select(vec![
            "hook_event_name", "event", "type", "session_id", "cwd", "tool_name", "tool_input", "questions", "question", "status", "properties",
            "background_tasks", "agent_id", "cursor_version", "workspace_roots", "message", "notification_type", "prompt", "pid", "run",
            "input-messages", "client", "permission_mode", "details", "command",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    leaf.prop_recursive(4, 48, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
            proptest::collection::vec((name.clone(), inner), 0..10)
                .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn survives(bytes: &[u8], argument: Option<&str>) {
    let env = Env::from_iter([("HOME", "/nonexistent")]);
    for agent in ["claude", "cursor", "codex", "pi", "generic"] {
        let agent = agents::find(agent).expect("a known agent");
        let input = Input { payload: bytes, argument, agent: None, env: &env, folder: &|| None, ancestors: &Vec::new };
        let parsed = agents::parse(agent, &input);
        assert!(!parsed.event.speaker.label.is_blank() && !parsed.event.speaker.id.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200), argument in proptest::option::of(any::<String>())) {
        survives(&bytes, argument.as_deref());
    }

    #[test]
    fn any_escapes_are_survived(text in r#"\{"a":"(\\u[dD][89a-fA-F][0-9a-f]{0,2}|\\\\|\\|u|é|x){0,12}("\})?"#) {
        survives(text.as_bytes(), None);
    }

    #[test]
    fn any_json_is_survived(value in payload(), argument in proptest::option::of("[a-zA-Z]{0,12}")) {
        survives(value.to_string().as_bytes(), argument.as_deref());
    }
}

//! What a notification says: title and body from an event, its surroundings and the configuration. Pure; every text from
//! outside is sanitised here before it is put together.

use std::path::{Component, Path};

use super::catalogue::Catalogue;
use crate::config::{Config, Context};
use crate::event::{Background, Event, Kind, Text};
use crate::terminal::Place;

/// Title and body, sanitised but not yet cut to any carrier's limit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Message {
    pub title: Text,
    pub body: Text,
    /// Unique for this notification on this host.
    pub id: String,
    facts: Facts,
    title_template: String,
    /// The parts of the body with their labels.
    parts: Vec<(&'static str, Text)>,
}

impl Message {
    /// The body as labelled lines, for carriers in which newlines survive; the title is [`Message::project_title`] there.
    #[must_use]
    pub fn lines(&self) -> Vec<Text> {
        self.parts.iter().map(|(label, text)| Text::new(&format!("{label}{text}"))).collect()
    }

    /// The title with the project as its context.
    #[must_use]
    pub fn project_title(&self) -> Text {
        self.facts.title(&self.title_template, &self.facts.project)
    }
}

/// Where the event happened, as far as it is known.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Surroundings {
    /// Short host name.
    pub host: Option<String>,
    /// Reached over ssh (the hook or the tmux client).
    pub remote: bool,
    pub home: Option<std::path::PathBuf>,
    /// `None` outside tmux.
    pub tmux: Option<Place>,
}

/// How much of the session's id people see.
const SHORT_ID: usize = 8;

/// Puts the message together.
#[must_use]
pub fn compose(event: &Event, kind: Kind, surroundings: &Surroundings, config: &Config, catalogue: &Catalogue) -> Message {
    let facts = Facts::gather(event, kind, surroundings, config, catalogue);
    let parts = facts.parts(event, kind, surroundings, config, catalogue);
    let body = Text::new(&parts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" · "));
    let title_template = config.notify.title_template.clone();
    Message { title: facts.title(&title_template, &facts.context), body, id: unique_id(), facts, title_template, parts }
}

/// A template with its placeholders replaced.
struct Filled {
    text: String,
    /// From the first to the last value that is not blank, in bytes; `None` if there is none.
    values: Option<std::ops::Range<usize>>,
    /// The template begins, ends with a placeholder that is blank.
    blank_ends: [bool; 2],
}

impl Filled {
    /// Without the dash that leads to a blank value at either end. What the person has put there, or what is part of a value,
    /// stays.
    fn trimmed(&self) -> &str {
        let is_dash = |character: char| character.is_whitespace() || "—–-·:|".contains(character);
        let values = self.values.clone().unwrap_or(self.text.len()..0);
        let [begins_blank, ends_blank] = self.blank_ends;
        let start = if begins_blank {
            let led = &self.text[..values.start];
            led.len() - led.trim_start_matches(is_dash).len()
        } else {
            0
        };
        let end = if ends_blank {
            let from = values.end.max(start);
            from + self.text[from..].trim_end_matches(is_dash).len()
        } else {
            self.text.len()
        };
        &self.text[start..end]
    }
}

/// The values of the placeholders, sanitised.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Facts {
    agent: Text,
    context: Text,
    project: Text,
    host: Text,
    session: Text,
    window: Text,
    pane: Text,
    event: &'static str,
    message: Text,
    prompt_title: Text,
    cwd: Text,
    session_id: Text,
    tmux_ids: Text,
}

impl Facts {
    fn gather(event: &Event, kind: Kind, surroundings: &Surroundings, config: &Config, catalogue: &Catalogue) -> Self {
        let text = |raw: Option<&String>| raw.map(|raw| Text::new(raw)).unwrap_or_default();
        let project = event.project.as_deref().map(|path| project_name(path, surroundings.home.as_deref())).unwrap_or_default();
        let place = surroundings.tmux.clone().unwrap_or_default();
        let window_name = place.window_name.clone().unwrap_or_default();
        let index = |index: Option<u32>| index.map(|index| Text::new(&index.to_string())).unwrap_or_default();
        let context = match config.content.context {
            Context::Project => project.clone(),
            Context::Window if !window_name.is_blank() => window_name.clone(),
            Context::Auto if place.window_named && !window_name.is_blank() => window_name.clone(),
            Context::Window | Context::Auto => project.clone(),
        };
        let unknown = |value: Text, word: &str| if surroundings.tmux.is_some() && value.is_blank() { Text::new(word) } else { value };
        Self {
            agent: event.speaker.label.clone(),
            context,
            project,
            host: text(surroundings.host.as_ref()),
            session: unknown(place.session.clone().unwrap_or_default(), catalogue.unknown_session),
            window: unknown(if window_name.is_blank() { index(place.window_index) } else { window_name }, catalogue.unknown_window),
            pane: index(place.pane_index),
            event: kind.name(),
            message: event.words.as_deref().map(Text::first_line).unwrap_or_default(),
            prompt_title: event.ask.as_ref().and_then(|ask| ask.title.as_deref()).map(Text::first_line).unwrap_or_default(),
            cwd: event.project.as_deref().map(|path| Text::new(&path.to_string_lossy())).unwrap_or_default(),
            session_id: text(event.session.as_ref()),
            tmux_ids: tmux_ids(&place),
        }
    }

    /// Never blank.
    fn title(&self, template: &str, context: &Text) -> Text {
        let title = Text::new(self.fill(template, context).trimmed());
        if title.is_blank() { self.agent.clone() } else { title }
    }

    /// Replaces the placeholders of a template in one pass: what a value contains is never a placeholder again. Unknown ones
    /// stay as they are.
    fn fill(&self, template: &str, context: &Text) -> Filled {
        let mut filled = String::with_capacity(template.len() + 64);
        let (mut values, mut blank_ends): (Option<std::ops::Range<usize>>, _) = (None, [false; 2]);
        let template = template.trim();
        let mut rest = template;
        while let Some(open) = rest.find('{') {
            filled.push_str(&rest[..open]);
            let tail = &rest[open..];
            match tail.find('}').and_then(|close| Some((self.value(&tail[1..close], context)?, close))) {
                Some((value, close)) => {
                    let (start, is_first) = (filled.len(), rest.len() == template.len() && open == 0);
                    filled.push_str(value);
                    rest = &tail[close + 1..];
                    let is_blank = value.trim().is_empty();
                    if !is_blank {
                        values = Some(values.map_or(start, |values| values.start)..filled.len());
                    }
                    blank_ends = [blank_ends[0] || (is_first && is_blank), rest.is_empty() && is_blank];
                }
                None => {
                    filled.push('{');
                    rest = &tail[1..];
                }
            }
        }
        filled.push_str(rest);
        Filled { text: filled, values, blank_ends }
    }

    fn value<'facts>(&'facts self, placeholder: &str, context: &'facts Text) -> Option<&'facts str> {
        Some(match placeholder {
            "agent" => self.agent.as_str(),
            "context" => context.as_str(),
            "project" => self.project.as_str(),
            "host" => self.host.as_str(),
            "session" => self.session.as_str(),
            "window" => self.window.as_str(),
            "pane" => self.pane.as_str(),
            "event" => self.event,
            "message" => self.message.as_str(),
            "prompt_title" => self.prompt_title.as_str(),
            "cwd" => self.cwd.as_str(),
            "session_id" => self.session_id.as_str(),
            "tmux_ids" => self.tmux_ids.as_str(),
            _ => return None,
        })
    }

    /// The parts of the body in order, each with its label; blank ones are left out, but the first never is blank.
    fn parts(
        &self,
        event: &Event,
        kind: Kind,
        surroundings: &Surroundings,
        config: &Config,
        catalogue: &Catalogue,
    ) -> Vec<(&'static str, Text)> {
        let content = &config.content;
        let variant = match event.background {
            _ if kind != Kind::Stop => None,
            _ if event.answer_cut => Some(catalogue.answer_cut),
            Background::Shell => Some(catalogue.background_command),
            Background::None | Background::Subagent => None,
        };
        let own =
            config.notify.body(kind).map(|template| Text::new(&self.fill(template, &self.context).text)).filter(|text| !text.is_blank());
        let first = match (own, variant) {
            (Some(own), Some(variant)) => Text::new(&format!("{own} · {variant}")),
            (Some(own), None) => own,
            (None, variant) => Text::new(variant.unwrap_or(catalogue.event(kind))),
        };
        let mut parts = vec![("", first)];
        let project = if content.full_path { self.path(surroundings) } else { self.project.clone() };
        parts.push((catalogue.project_label, project));
        let host = match content.host {
            crate::config::Switch::On => true,
            crate::config::Switch::Off => false,
            crate::config::Switch::Auto => surroundings.remote,
        };
        if host {
            parts.push((catalogue.host_label, self.host.clone()));
        }
        if content.place
            && let Some(place) = &surroundings.tmux
        {
            parts.push((catalogue.place_label, self.place(place, catalogue)));
        }
        if content.prompt_title {
            parts.push(("", self.prompt_title.clone()));
        }
        if content.message {
            parts.push(("", self.message.clone()));
        }
        if content.details {
            let short: String = self.session_id.as_str().chars().take(SHORT_ID).collect();
            parts.push(("", Text::new(&format!("{} {short}", self.tmux_ids))));
        }
        parts.retain(|(_, text)| !text.is_blank());
        parts
    }

    /// `session / window index / pane index`.
    fn place(&self, place: &Place, catalogue: &Catalogue) -> Text {
        let window = place.window_index.map_or_else(|| catalogue.unknown_window.to_owned(), |index| index.to_string());
        let pane = place.pane_index.map(|pane| format!(" / {pane}")).unwrap_or_default();
        Text::new(&format!("{} / {window}{pane}", self.session))
    }

    /// The whole path, the person's home as `~`.
    fn path(&self, surroundings: &Surroundings) -> Text {
        let home = surroundings.home.as_deref().map(|home| home.to_string_lossy().into_owned()).unwrap_or_default();
        match self.cwd.as_str().strip_prefix(home.as_str()) {
            Some(rest) if !home.is_empty() && (rest.is_empty() || rest.starts_with('/')) => Text::new(&format!("~{rest}")),
            _ => self.cwd.clone(),
        }
    }
}

/// `$1 @2 %3`, as far as known.
fn tmux_ids(place: &Place) -> Text {
    let ids = [&place.session_id, &place.window_id, &place.pane_id].into_iter().flatten().map(Text::as_str);
    Text::new(&ids.collect::<Vec<_>>().join(" "))
}

/// Letters and digits only, as OSC 99 wants it.
fn unique_id() -> String {
    let nanoseconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_nanos());
    format!("an{:x}x{nanoseconds:x}", std::process::id())
}

/// The folder's name, which is never a path; `~` for the home itself, `/` for the root.
fn project_name(path: &Path, home: Option<&Path>) -> Text {
    if home == Some(path) {
        return Text::new("~");
    }
    let name = path.components().rev().find_map(|component| match component {
        Component::Normal(name) => Some(Text::new(&name.to_string_lossy())),
        _ => None,
    });
    name.unwrap_or_else(|| Text::new(if path.is_absolute() { "/" } else { "" }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Switch, parse};
    use crate::environment::Env;
    use crate::event::{Ask, AskIdentity, Speaker};

    fn event() -> Event {
        Event {
            session: Some("5e550000-0000-4000".to_owned()),
            project: Some("/home/u/proj".into()),
            ask: Some(Ask { identity: AskIdentity::Content(1), title: Some("touch {host}\nrm".to_owned()) }),
            words: Some("\n Done.\nMore".to_owned()),
            ..Event::of(Speaker::named("Claude"))
        }
    }

    fn in_tmux(named: bool) -> Surroundings {
        let text = |text| Some(Text::new(text));
        let tmux = Place {
            session: text("main"),
            window_index: Some(1),
            pane_index: Some(0),
            window_name: text("api;\x1b]0;x\x07"),
            window_named: named,
            session_id: text("$0"),
            window_id: text("@1"),
            pane_id: text("%2"),
        };
        Surroundings { host: Some("box".to_owned()), home: Some("/home/u".into()), tmux: Some(tmux), ..Surroundings::default() }
    }

    fn say(config: &str, kind: Kind, event: &Event, surroundings: &Surroundings) -> String {
        let (config, warnings) = parse(config);
        assert_eq!(warnings, []);
        let message = compose(event, kind, surroundings, &config, Catalogue::choose(config.notify.language, &Env::from_iter([("A", "b")])));
        format!("{} | {}", message.title, message.body)
    }

    #[test]
    fn by_default_no_path_prompt_or_answer_is_told() {
        assert_eq!(say("", Kind::Input, &event(), &in_tmux(false)), "Claude — proj | Needs your action · proj · box · main / 1 / 0");
        assert_eq!(say("", Kind::Stop, &event(), &Surroundings::default()), "Claude — proj | Waiting for input · proj");
    }

    #[test]
    fn a_window_that_the_person_named_is_the_context() {
        assert_eq!(say("", Kind::Stop, &event(), &in_tmux(true)), "Claude — api; ]0;x | Waiting for input · proj · box · main / 1 / 0");
        assert!(say("content.context = \"project\"", Kind::Stop, &event(), &in_tmux(true)).starts_with("Claude — proj"));
        assert!(say("content.context = \"window\"", Kind::Stop, &event(), &in_tmux(false)).starts_with("Claude — api"));
        assert!(say("content.context = \"window\"", Kind::Stop, &event(), &Surroundings::default()).starts_with("Claude — proj"));
    }

    #[test]
    fn everything_optional_stands_behind_what_always_stands_there() {
        let all = "[content]\nprompt_title = true\nmessage = true\ndetails = true\nfull_path = true\n";
        assert_eq!(
            say(all, Kind::Input, &event(), &in_tmux(false)),
            "Claude — proj | Needs your action · ~/proj · box · main / 1 / 0 · touch {host} · Done. · $0 @1 %2 5e550000"
        );
    }

    #[test]
    fn placeholders_are_replaced_once_and_unknown_ones_stay() {
        let config = "notify.title_template = \"{agent}{x} {prompt_title} {event} {\"\nnotify.body_stop = \"{message} {session_id}\"\n";
        assert_eq!(
            say(config, Kind::Stop, &event(), &Surroundings::default()),
            "Claude{x} touch {host} stop { | Done. 5e550000-0000-4000 · proj"
        );
    }

    #[test]
    fn an_unknown_place_says_so() {
        let surroundings = Surroundings { tmux: Some(Place::default()), ..Surroundings::default() };
        assert_eq!(
            say("", Kind::Stop, &event(), &surroundings),
            "Claude — proj | Waiting for input · proj · unknown session / window unknown"
        );
    }

    #[test]
    fn the_host_can_be_left_out_or_told_only_over_ssh() {
        let remote = Surroundings { host: Some("box".to_owned()), remote: true, ..Surroundings::default() };
        let local = Surroundings { remote: false, ..remote.clone() };
        assert!(!say("content.host = \"off\"", Kind::Stop, &event(), &remote).contains("box"));
        assert!(say("content.host = \"auto\"", Kind::Stop, &event(), &remote).contains("box"));
        assert!(!say("content.host = \"auto\"", Kind::Stop, &event(), &local).contains("box"));
        assert_eq!(parse("").0.content.host, Switch::On);
    }

    #[test]
    fn variants_of_a_finished_turn_are_named() {
        let cut = Event { answer_cut: true, ..event() };
        let held = Event { background: Background::Shell, ..event() };
        let none = Surroundings::default();
        assert_eq!(say("", Kind::Stop, &cut, &none), "Claude — proj | Answer cut · proj");
        assert_eq!(say("notify.language = \"zh\"", Kind::Stop, &held, &none), "Claude — proj | 已完成，后台命令仍在运行 · proj");
        assert_eq!(
            say("notify.body_stop = \"ok\"", Kind::Stop, &held, &none),
            "Claude — proj | ok · Finished, background command still running · proj"
        );
    }

    #[test]
    fn a_title_never_is_blank_and_never_ends_in_its_dash() {
        let bare = Event { project: None, ..event() };
        assert_eq!(say("", Kind::Stop, &bare, &Surroundings::default()), "Claude | Waiting for input");
        assert_eq!(say("notify.title_template = \"{window}\"", Kind::Stop, &bare, &Surroundings::default()), "Claude | Waiting for input");
        assert_eq!(
            say("notify.body_stop = \"\\u200b{window}\"", Kind::Stop, &bare, &Surroundings::default()),
            "Claude | Waiting for input"
        );
    }

    #[test]
    fn only_the_dash_of_a_blank_value_is_taken_off() {
        let title = |template: &str, project: Option<&str>| {
            let event = Event { project: project.map(Into::into), ..event() };
            let said = say(&format!("notify.title_template = {template:?}"), Kind::Stop, &event, &Surroundings::default());
            said.split_once(" | Waiting").expect("a body").0.to_owned()
        };
        assert_eq!(title("{agent} — {context}", Some("/a/a:")), "Claude — a:");
        assert_eq!(title("{agent} — {context}", Some("/a/-b-")), "Claude — -b-");
        assert_eq!(title("{agent} — {context}", None), "Claude");
        assert_eq!(title("{context}: {agent}", None), "Claude");
        assert_eq!(title("{agent} — {context} — {window}", Some("/a/a:")), "Claude — a:");
        assert_eq!(title("{window} · {agent} · {window}", Some("/a")), "Claude");
        assert_eq!(title("[{agent}] done |", None), "[Claude] done |");
        assert_eq!(title("- done", None), "- done");
        assert_eq!(title("{window} — {context}", None), "Claude");
    }

    #[test]
    fn labelled_lines_name_the_project() {
        let (config, _) = parse("notify.language = \"zh\"");
        let message = compose(
            &event(),
            Kind::Stop,
            &in_tmux(true),
            &config,
            Catalogue::choose(config.notify.language, &Env::from_iter([("A", "b")])),
        );
        let lines = message.lines();
        let lines: Vec<_> = lines.iter().map(Text::as_str).collect();
        assert_eq!(lines, ["等待输入", "项目：proj", "主机：box", "位置：main / 1 / 0"]);
        assert_eq!(message.project_title().as_str(), "Claude — proj");
    }

    #[test]
    fn home_and_root_have_names() {
        assert_eq!(project_name(Path::new("/home/u"), Some(Path::new("/home/u"))).as_str(), "~");
        assert_eq!(project_name(Path::new("/"), None).as_str(), "/");
        for (path, name) in [("/a/b/.", "b"), ("/a/b/..", "b"), ("/a/b/./../", "b"), ("/..", "/"), ("..", ""), (".", ""), ("", "")] {
            assert_eq!(project_name(Path::new(path), None).as_str(), name, "{path}");
        }
        assert_eq!(project_name(Path::new("/d:/Some Folder/proj"), None).as_str(), "proj");
    }
}

//! The texts in their languages.

use crate::config::LanguageChoice;
use crate::environment::{Env, name};
use crate::event::Kind;

/// One language's texts.
#[derive(Debug, Eq, PartialEq)]
pub struct Catalogue {
    stop: &'static str,
    input: &'static str,
    error: &'static str,
    idle: &'static str,
    tool: &'static str,
    /// The answer was cut at the model's output limit.
    pub answer_cut: &'static str,
    /// The turn is over while a command still runs.
    pub background_command: &'static str,
    pub unknown_session: &'static str,
    pub unknown_window: &'static str,
    pub project_label: &'static str,
    pub host_label: &'static str,
    pub place_label: &'static str,
}

static ENGLISH: Catalogue = Catalogue {
    stop: "Waiting for input",
    input: "Needs your action",
    error: "Failed",
    idle: "Idle 60s+, waiting for input",
    tool: "Tool finished",
    answer_cut: "Answer cut",
    background_command: "Finished, background command still running",
    unknown_session: "unknown session",
    unknown_window: "window unknown",
    project_label: "Project: ",
    host_label: "Host: ",
    place_label: "Place: ",
};

static CHINESE: Catalogue = Catalogue {
    stop: "等待输入",
    input: "需要你的操作",
    error: "执行出错",
    idle: "空闲 60s+，等待输入",
    tool: "工具执行完成",
    answer_cut: "回答被截断",
    background_command: "已完成，后台命令仍在运行",
    unknown_session: "未知会话",
    unknown_window: "未知窗口",
    project_label: "项目：",
    host_label: "主机：",
    place_label: "位置：",
};

static GERMAN: Catalogue = Catalogue {
    stop: "Wartet auf Eingabe",
    input: "Braucht dich",
    error: "Fehlgeschlagen",
    idle: "Seit 60 s untätig, wartet auf Eingabe",
    tool: "Befehl fertig",
    answer_cut: "Antwort abgeschnitten",
    background_command: "Fertig, ein Hintergrundbefehl läuft noch",
    unknown_session: "unbekannte Sitzung",
    unknown_window: "Fenster unbekannt",
    project_label: "Projekt: ",
    host_label: "Rechner: ",
    place_label: "Ort: ",
};

impl Catalogue {
    /// By choice, or by the first of LC_ALL, LC_MESSAGES and LANG that is set; languages without a catalogue read English.
    #[must_use]
    pub fn choose(choice: LanguageChoice, env: &Env) -> &'static Self {
        match choice {
            LanguageChoice::Chinese => &CHINESE,
            LanguageChoice::German => &GERMAN,
            LanguageChoice::English => &ENGLISH,
            LanguageChoice::Auto => {
                let locale = [name::LC_ALL, name::LC_MESSAGES, name::LANG].into_iter().find_map(|name| env.get(name)).unwrap_or_default();
                let language = locale.split(['_', '.', '-', '@']).next().unwrap_or_default();
                match () {
                    () if language.eq_ignore_ascii_case("zh") => &CHINESE,
                    () if language.eq_ignore_ascii_case("de") => &GERMAN,
                    () => &ENGLISH,
                }
            }
        }
    }

    /// What a kind of event says.
    #[must_use]
    pub const fn event(&self, kind: Kind) -> &'static str {
        match kind {
            Kind::Stop => self.stop,
            Kind::Input => self.input,
            Kind::Error => self.error,
            Kind::Idle => self.idle,
            Kind::Tool => self.tool,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_follows_the_first_variable_that_is_set() {
        let stop = |pairs: &[(&str, &str)]| Catalogue::choose(LanguageChoice::Auto, &Env::from_iter(pairs.iter().copied())).stop;
        assert_eq!(stop(&[("LC_ALL", "zh_CN.UTF-8"), ("LANG", "de_DE")]), "等待输入");
        assert_eq!(stop(&[("LC_ALL", ""), ("LC_MESSAGES", "de"), ("LANG", "zh_CN")]), "Wartet auf Eingabe");
        assert_eq!(stop(&[("LANG", "fr_FR.UTF-8")]), "Waiting for input");
        assert_eq!(stop(&[("LC_ALL", "C.UTF-8"), ("LANG", "zh_CN")]), "Waiting for input");
        assert_eq!(stop(&[]), "Waiting for input");
    }
}

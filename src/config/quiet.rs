//! Quiet hours: spans of local time, on all days or some.

/// `22:00-07:30`, optionally with days before it: `Mon-Fri 22:00-07:30`, `Sat,Sun 00:00-24:00`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct QuietHours {
    /// Bit 0 = Monday … bit 6 = Sunday: the days on which the span begins.
    pub days: u8,
    /// Minutes after midnight, 0 to 1440.
    pub from: u16,
    /// Minutes after midnight; not after `from` = on the next day.
    pub to: u16,
}

/// In full, or their first three letters.
const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const EVERY_DAY: u8 = 0x7f;

impl QuietHours {
    /// `None` if the text is no span.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let (first, second) = (words.next()?, words.next());
        if words.next().is_some() {
            return None;
        }
        let (days, span) = second.map_or((Some(EVERY_DAY), first), |span| (parse_days(first), span));
        let (from, to) = span.split_once('-')?;
        let (from, to) = (parse_time(from)?, parse_time(to)?);
        (from != to).then_some(Self { days: days?, from, to })
    }
}

/// `Mon-Fri`, `Sat,Sun`, `Fri-Mon`, `Wed`.
fn parse_days(text: &str) -> Option<u8> {
    let is = |name: &str, day: &str| name.eq_ignore_ascii_case(day) || name.eq_ignore_ascii_case(&day[..3]);
    let day = |name: &str| DAYS.iter().position(|day| is(name, day));
    let mut days = 0;
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (mut at, last) = (day(first)?, day(last)?);
        loop {
            days |= 1 << at;
            if at == last {
                break;
            }
            at = (at + 1) % 7;
        }
    }
    Some(days)
}

/// `7:30`, `22:00`, `24:00`.
fn parse_time(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let digits = |text: &str, most: usize| (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(hours, 2) || !digits(minutes, 2) || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
    let total = hours.checked_mul(60)?.checked_add(minutes)?;
    (minutes < 60 && total <= 24 * 60).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_with_and_without_days() {
        let read = QuietHours::parse;
        assert_eq!(read("22:00-07:30"), Some(QuietHours { days: EVERY_DAY, from: 1320, to: 450 }));
        assert_eq!(read("Mon-Fri 22:00-7:30"), Some(QuietHours { days: 0b001_1111, from: 1320, to: 450 }));
        assert_eq!(read("Sat,Sun 00:00-24:00"), Some(QuietHours { days: 0b110_0000, from: 0, to: 1440 }));
        assert_eq!(read("Fri-Mon 1:00-2:00"), Some(QuietHours { days: 0b111_0001, from: 60, to: 120 }));
        assert_eq!(read("monday-FRI 22:00-7:30"), read("Mon-Fri 22:00-7:30"));
        for wrong in [
            "Monkey 1:00-2:00",
            "Mo 1:00-2:00",
            "+7:30-8:00",
            "7:+3-8:00",
            "007:30-8:00",
            ":30-8:00",
            "",
            "22:00",
            "25:00-1:00",
            "22:60-23:00",
            "Mon 22:00",
            "Foo 1:00-2:00",
            "1:00-1:00",
            "a b c",
            "1:0-2:00",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}

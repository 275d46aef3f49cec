//! The agents: what each of them says. So far only how their payloads are read.

pub mod payload;

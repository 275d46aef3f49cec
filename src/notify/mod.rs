//! From one signal on stdin to the desk and the reply: pipeline, policy, message, roads and their carriers. Never reaches
//! into `install`.

pub mod catalogue;
pub mod message;
pub mod policy;

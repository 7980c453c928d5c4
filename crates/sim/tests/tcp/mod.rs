//! TCP's two halves over a path that drops, marks, delays and repeats as scripted.

mod pipe;

mod early;
mod golden;
mod growth;
mod loss;
mod lso;
mod marks;
mod prague;
mod probe;
mod properties;
mod rack;
mod receiver;
mod reduction;
mod restarts;
mod sender;
mod settings;
mod slow_start;
mod timeouts;
mod undo;
mod windows;

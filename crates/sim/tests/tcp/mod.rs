//! TCP's two halves over a path that drops, marks, delays and repeats as scripted.

mod pipe;

mod golden;
mod growth;
mod loss;
mod lso;
mod marks;
mod properties;
mod receiver;
mod reductions;
mod restarts;
mod sender;
mod windows;

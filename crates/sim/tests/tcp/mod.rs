//! TCP's two halves over a path that drops, marks, delays and repeats as scripted.

mod pipe;

mod growth;
mod loss;
mod lso;
mod marks;
mod properties;
mod receiver;
mod reduction;
mod sender;
mod settings;
mod slow_start;
mod windows;

//! Where the current exchange of a list begins, and who speaks in it.

use super::fact::{Fact, Role};

/// The requests of a list and the first reply to the last one.
///
/// The exchange begins at the last request; one beside results counts only where no plain request came
/// before, because agents put reminders there.
#[derive(Clone, Debug, Default)]
pub(super) struct Exchange {
    /// The position of the first request of all.
    pub(super) task: Option<usize>,
    /// The unit and the position of the last request.
    pub(super) asked: Option<(usize, usize)>,
    /// Whether that has no results beside it.
    plainly: bool,
    /// The unit of the last message in which a user says anything.
    pub(super) said: Option<usize>,
    /// The unit of the last message that is no system message.
    pub(super) newest: Option<usize>,
    /// Whether a list that ends with that message ends within a loop of calls.
    unfinished: bool,
    /// The unit of the first reply since the last request, and whether it thinks.
    reply: Option<(usize, bool)>,
}

impl Exchange {
    /// Go on with the next message, which is in a unit.
    pub(super) fn pass(&mut self, fact: &Fact, unit: usize, at: usize) {
        if fact.role != Role::System {
            self.newest = Some(unit);
            self.unfinished = fact.is_unfinished();
        }
        let answers = !fact.results.is_empty();
        if fact.request {
            self.task.get_or_insert(at);
            self.said = Some(unit);
        }
        if fact.request && !(answers && self.plainly) {
            self.asked = Some((unit, at));
            self.plainly = !answers;
            self.reply = None;
        } else if fact.role == Role::Assistant && self.reply.is_none() {
            self.reply = Some((unit, fact.thinks));
        }
    }

    /// The unit that the call is about: of the last request, or of the newest message if nobody asked.
    pub(super) fn subject(&self) -> Option<usize> {
        self.asked.map_or(self.newest, |(unit, _)| Some(unit))
    }

    /// The unit of a reply that must stay at the front of the unfinished loop that ends the list.
    pub(super) fn thinking(&self) -> Option<usize> {
        let reply = self.reply.filter(|(_, thinks)| *thinks && self.unfinished);
        reply.map(|(unit, _)| unit)
    }

    /// Whether a position is behind the last request; everything is if nobody asked.
    pub(super) fn is_since_asked(&self, at: usize) -> bool {
        self.asked.is_none_or(|(_, asked)| at > asked)
    }

    /// Whether a position is before the last request.
    pub(super) fn is_before_asked(&self, at: usize) -> bool {
        self.asked.is_some_and(|(_, asked)| at < asked)
    }
}

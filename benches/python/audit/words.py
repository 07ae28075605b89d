"""Words that the facts of `facts.py` are made of; none of them is taken from the audit.

Each sentence stands beside another one that says the same, which a summary may have instead.
"""

from __future__ import annotations

CARRIERS = {
    "dev": (
        [
            "The board shows {} today.",
            "She wrote {} on the card.",
            "It came back as {} again.",
            "Apparently the answer was {} in the end.",
            "we saw {} and moved on.",
            "In short: {}.",
        ],
        [
            "Recorded: {}.",
            "The talk settled on {} there.",
            "({}) was named.",
            "- {} came up",
            "{} is what they had.",
            "They mentioned {}, among others.",
        ],
    ),
    "test": (
        ["Hm, {} it was.", "look: {} (as expected)", "That leaves us with {}, fine by me."],
        ["* {}", "{}, it says.", "What stayed was {} and little else."],
    ),
}

CONSTRAINTS = {
    "dev": [
        ("Never {verb} the {thing}.", "Do not {verb} the {thing}"),
        ("You must not {verb} the {thing} by hand.", "{verb} no {thing} by hand"),
        ("Only {past} {thing} may leave the house.", "{past} {thing} only may leave it"),
        ("At most {number} {thing} can be {past}.", "{thing} {past}: at most {number}"),
        ("Always {verb} the {thing} before the weekend.", "before a weekend, {verb} {thing}"),
        ("Under no circumstances {verb} the {thing}.", "never {verb} {thing}"),
        ("The {thing} must be {past} before anything.", "before anything, {past} {thing}"),
        ("Please don't ever {verb} the {thing}.", "it is forbidden to {verb} the {thing}"),
        ("Nobody is allowed to {verb} the {thing}.", "not allowed: to {verb} the {thing}"),
        ("Keep the {thing} below {number} entries.", "{thing}: below {number} entries, keep"),
        ("The {thing} may only be {past} at night.", "{thing}: {past} only at night"),
        ("You are not to {verb} the {thing}.", "they must not {verb} the {thing}"),
        ("We cannot {verb} the {thing} before Easter.", "no {verb} of {thing} before Easter"),
        ("No more than {number} {thing} a day.", "{thing}: no more than {number} a day"),
        ("All {thing} have to be {past} by Friday.", "by Friday all {thing} must be {past}"),
        ("Make sure the {thing} get {past} first.", "{thing} get {past} first, make sure"),
        ("Whatever you do, leave the {thing} alone.", "whatever happens: leave {thing} alone"),
        ("I want the {thing} {past} only on demand.", "{thing}: wants {past} only on demand"),
        ("There is a hard limit of {number} {thing}.", "hard limit: {number} {thing}"),
        ("It is out of the question to {verb} the {thing}.", "out of question: {verb} no {thing}"),
    ],
    "test": [
        ("Hands off the {thing}!", "{thing}: hands off"),
        ("The {thing} have to stay under {number} rows.", "{thing} stay under {number} rows"),
        ("We agreed not to {verb} the {thing}.", "agreed: do not {verb} the {thing}"),
        (
            "It's essential that the {thing} are {past} nightly.",
            "nightly, {past} {thing} (essential)",
        ),
        ("Without my approval the {thing} won't be {past}.", "approval, or no {past} {thing}"),
        (
            "Anything over {number} {thing} is too much.",
            "over {number} {thing}: too much, anything",
        ),
        ("Don't you dare {verb} the {thing}.", "she does not dare {verb} the {thing}"),
        ("The {thing} shall be {past} exactly once.", "exactly once {past}: the {thing}"),
        ("You may {verb} the {thing}, but only on Sunday.", "on Sunday only, {verb} the {thing}"),
        ("Stay away from the {thing}, they are frozen.", "frozen: stay away from {thing}"),
        ("By law the {thing} are to be {past} yearly.", "yearly by law: {past} {thing}"),
        ("I insist that {thing} be {past} in pairs.", "insist: {thing} be {past} in pairs"),
    ],
}

TASKS = {
    "dev": [
        ("TODO: {verb} the {thing}.", "the {thing}: still to {verb}"),
        ("- [ ] {verb} the {thing}", "open: {verb} {thing}"),
        ("We still have to {verb} the {thing}.", "left to do: {verb} the {thing}"),
        ("Next step: {verb} the {thing}.", "next they {verb} the {thing}"),
        ("The {thing} still need to be {past}.", "remaining: {thing} to be {past}"),
        ("What is left to do is to {verb} the {thing}.", "yet to {verb} the {thing}"),
        ("Remind me to {verb} the {thing} tomorrow.", "tomorrow, {verb} the {thing}, remind"),
        ("Nobody has {past} the {thing} yet, it is pending.", "pending: {thing} {past} by nobody"),
        ("I have not {past} the {thing} yet.", "{thing} not {past} yet"),
        ("Then, as the last item, {verb} the {thing}.", "last item then: {verb} {thing}"),
        ("Could somebody {verb} the {thing} later?", "later somebody could {verb} the {thing}"),
        ("Open: the {thing}, to be {past} in May.", "in May, {thing} are {past} (open)"),
        ("After lunch I will {verb} the {thing}.", "{verb} the {thing} after lunch"),
        ("You still owe me the {past} {thing}.", "the {past} {thing} are owed to me, still owe"),
        ("FIXME {verb} {thing}", "fixme: {verb} the {thing}"),
    ],
    "test": [
        ("The {thing} haven't been {past}.", "not {past}: {thing}"),
        ("Please {verb} the {thing} when you find the time.", "when time is found, {verb} {thing}"),
        ("On the list there is still: {verb} the {thing}.", "on the list: {verb} {thing}"),
        ("I'd like you to {verb} the {thing} as well.", "would like: {verb} the {thing} as well"),
        ("* [ ] {thing}: {verb} them", "{verb} {thing}"),
        ("We'll {verb} the {thing} next week.", "{verb} the {thing} next week"),
        ("Can you {verb} the {thing} too?", "{verb} the {thing} too"),
        ("Somebody should {verb} the {thing}.", "should {verb} the {thing}, somebody"),
        ("Left for tomorrow: the {thing}, {past}.", "tomorrow: {past} {thing}, left"),
        ("The {thing} are waiting to be {past}.", "waiting: {thing} to be {past}"),
        ("XXX {verb} the {thing} before release", "before release {verb} {thing}, XXX"),
        ("We need to {verb} the {thing} again.", "again, {verb} the {thing}"),
    ],
}

"""Common English words that name nothing, as tables; what several of them share is written once."""

from __future__ import annotations

from typing import Final

_GRAMMAR: Final = frozenset(
    """
    a after all also an and any are as at before but by can could did do does each for from had has
    have he her here his how i if in is it its let my next no not of on one or our please she so
    some that the their then there these they this those to was we were what when where which while
    who will with would you your
    """.split()  # noqa: SIM905 - a table to be read
)
"""Words of grammar that begin sentences, too."""

_INSIDE: Final = frozenset(
    """
    about always be been being cannot don't done ever him into just may me most must never off only
    other out over own same shall should still such than them todo too under until up us very
    """.split()  # noqa: SIM905
)
"""Words of grammar that seldom do."""

_TALK: Final = frozenset(
    """
    first let's maybe now ok okay since sorry sure thanks two why yes yesterday yet
    """.split()  # noqa: SIM905
)
"""Words of talk that begin sentences."""

NO_NAMES: Final = (
    _GRAMMAR
    | _INSIDE
    | _TALK
    | frozenset(
        """
    again ah another aren't aw aww because both bye can't couldn't damn didn't doesn't dr either
    else error etc even every everyone everything false few further hadn't hasn't haven't having
    he'd he'll he's hello here's hers hey hi how's however huh i'd i'll i'm i've isn't it'd it'll
    it's itself last lastly later lol lot lots many mine mmm mr mrs ms much myself nah near
    nevertheless nobody none nope nor note nothing null oh once ooh others otherwise ours per
    perhaps rather second see she'd she'll she's shouldn't somebody someone something sometimes soon
    thank that'd that's theirs there's therefore they'd they'll they're they've third though through
    thus till today tomorrow tonight true unless upon via warning wasn't we'd we'll we're we've well
    weren't what's whatever whenever where's whether who's whose within without won't wouldn't wow
    yay yeah yep you'd you'll you're you've yours yourself
    """.split()  # noqa: SIM905
    )
)
"""Words that name nothing, wherever they stand."""

STARTERS: Final = _GRAMMAR | _TALK | {"looks"}
"""Words that name nothing at the beginning of a sentence, as an index line has them.

Fewer than `NO_NAMES` and `OPENERS` together, as nothing is lost by a name too many there.
"""

EMPTY: Final = (
    _GRAMMAR
    | _INSIDE
    | frozenset(
        "am doing get gets go going like might more need needs put s said t task".split()  # noqa: SIM905
    )
)
"""Words that carry nothing of what a sentence says: grammar, and verbs of any sentence."""

OPENERS: Final = frozenset(
    """
    absolutely actually add added agree agreed allow almost although amazing among anyone
    anything anytime anyway apart apparently appreciate appreciating aside ask asked assume
    avoid awesome back bad based beautiful begin besides best bet better big bon bring btw build
    busy call care catch certainly change changed chat check checked cheers cherish choose clean
    clear clearly click close come comes completely congrats congratulations consider cool copy
    copying correct count create created current currently decide decided default definitely
    depending depends deploy describe despite details drop dude during email enable enjoy ensure
    especially exactly example excellent except excited expect expected explain fair family
    fantastic far feel feels felt file files fill finally find fine finished fix fixed folks
    follow following found full fun funny gave generally get gets getting give given glad go
    goes going gonna good got gotcha gotta great guess guys hang happy hard hear heard help
    highly hm hmm hold honestly hope hopefully hoping how'd how're how've ideally imagine
    implement important impressive include increase incredible indeed initially input inside
    install instead interesting keep kind kinda know knowing lately learn learned leave left
    less life like likely limit list little logs long look looking looks lost love loved luckily
    made main make makes making manually mark mean means meanwhile mention merge might missing
    mostly move moving must've name nearly neat need needs neither new nice notice number
    obviously often old oof open opened options order ouch output outside part passing people
    perfect phew pick plan plus point possibly prefer pretty previously print probably problem
    progress proud put question quick quickly quite ran read ready real really recently refactor
    regarding related remember reminds remove rename replace reply report request require reset
    result results return review right root run running said save say says search seeing seems
    seen send separate seriously set several share ship short show similar simple simply skip
    sleep slowly small sort sounds speaking specifically spent split start started status stay
    step steps stop store stuff success suddenly suggest summarise summarize summary super
    support surely switch take takes taking talk talking task tell test tests thankfully things
    think thinking thought three throughout time tip together tons took total totally touch
    track translate tried truly trust try trying turn turns typically ugh understood
    unfortunately update updated use used useful user using usually value verify view visit wait
    waiting wanna want wanted warn watch way welcome went what've whereas whoa whoops wish woah
    wonderful woohoo work working works worth write wrote y'all yup
    """.split()  # noqa: SIM905
)
"""Words that begin sentences, and name nothing there."""

ROOTS: Final = frozenset(
    """
    api app apps assets bin build cmd config data dist docs etc feature fix home include lib main
    migrations opt origin packages pkg python public refs release scripts server services src srv
    static target test tests tmp tools usr utils var vendor
    """.split()  # noqa: SIM905
)
"""First or last pieces of a path that has nothing but letters and one slash."""

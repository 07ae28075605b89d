"""Common English words that name nothing, as tables."""

from __future__ import annotations

from typing import Final

NO_NAMES: Final = frozenset(
    """
    a about after again ah all also always an and another any are aren't as at aw aww be because
    been before being both but by bye can can't cannot could couldn't damn did didn't do does
    doesn't don't done dr each either else error etc even ever every everyone everything false
    few first for from further had hadn't has hasn't have haven't having he he'd he'll he's
    hello her here here's hers hey hi him his how how's however huh i i'd i'll i'm i've if in
    into is isn't it it'd it'll it's its itself just last lastly later let let's lol lot lots
    many may maybe me mine mmm most mr mrs ms much must my myself nah near never nevertheless
    next no nobody none nope nor not note nothing now null of off oh ok okay on once one only
    ooh or other others otherwise our ours out over own per perhaps please rather same second
    see shall she she'd she'll she's should shouldn't since so some somebody someone something
    sometimes soon sorry still such sure than thank thanks that that'd that's the their theirs
    them then there there's therefore these they they'd they'll they're they've third this those
    though through thus till to today todo tomorrow tonight too true two under unless until up
    upon us very via warning was wasn't we we'd we'll we're we've well were weren't what what's
    whatever when whenever where where's whether which while who who's whose why will with
    within without won't would wouldn't wow yay yeah yep yes yesterday yet you you'd you'll
    you're you've your yours yourself
    """.split()  # noqa: SIM905 - a table to be read
)
"""Words that name nothing, wherever they stand."""

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

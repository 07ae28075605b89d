"""Short forms of given names, and names that are ordinary words as well."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_FORMS: Final = """
    abigail abby gail; abraham abe; adam ad; albert al bert; alexander alex alec sasha xander;
    alexandra alex lexi sandra sasha; alfred al fred alfie; alice ali; alison ali; amanda mandy;
    amelia amy millie; andrea andi; andrew andy drew; angela angie; anita nita; anthony tony;
    antonio tony toni; arthur art artie; barbara barb babs; beatrice bea trixie; belinda bel;
    benjamin ben benny benji; bernard bernie; bethany beth; bradley brad; bridget biddy; calvin
    cal; cameron cam; carl charlie; caroline carrie caro; carolyn carrie; cassandra cass cassie;
    catherine cathy cate cat kate katie; cecilia celia cece; charles charlie chuck chas;
    charlotte charlie lottie; christian chris; christina chris chrissy tina; christine chris
    chrissy; christopher chris kit topher; cynthia cindy; daniel dan danny; danielle dani; david
    dave davey; deborah deb debbie; dennis den; diana di; dominic dom nick; donald don donnie;
    dorothy dot dottie; douglas doug; edward ed eddie ted teddy; edwin ed; eleanor ellie
    nell nora; elizabeth liz lizzie beth betty bess eliza ellie libby lisa; ellen ellie nell;
    emily em emmy; emma em; ernest ernie; eugene gene; evan ev; evelyn evie; felicity flick;
    florence flo florrie; frances fran frankie; francesca fran; francis frank frankie; franklin
    frank; frederick fred freddie; gabriel gabe; gabriela gabi; geoffrey geoff; george georgie;
    georgina georgie gina; gerald gerry jerry; gilbert gil; grace gracie; graham gray; gregory
    greg; guillermo memo; gwendolyn gwen; hannah han; harold hal harry; harriet hattie; helen
    nell; henry hank harry hal; herbert herb bert; howard howie; hubert bert; ignacio nacho;
    isaac ike zac; isabel izzy bel; isabella bella izzy; jacob jake; jacqueline jackie; james
    jim jimmy jamie; jane janie; janet jan; jason jay; jeffrey jeff; jennifer jen jenny; jeremy
    jerry; jerome jerry; jessica jess jessie; jesus chuy; joan joanie; joanna jo; john johnny
    jack jon; jonathan jon jonny nathan; jordan jordy; jorge coque; jose pepe; joseph joe joey;
    josephine jo josie; joshua josh; judith judy; julia jules; julian jules; katherine kate
    kathy katie kat kit; kathleen kathy kath; kelvin kel; kenneth ken kenny; kevin kev; kimberly
    kim; kristina kris tina; laura laurie; lawrence larry; leonard leo len lenny; leonardo leo;
    lillian lily lil; linda lindy; louis lou; louise lou; lucas luke; lucille lucy;
    madeline maddie; magdalena lena; margaret maggie meg peggy greta daisy madge marge; maria
    mia mary; marjorie marge; mark marky; martha marty; martin marty; mary molly polly; matilda
    tilly; matthew matt matty; maurice mo; maximilian max; maxwell max; megan meg; melanie
    mel; melinda mel; melissa mel missy; michael mike mick mickey mikey; michelle shelly;
    mildred millie; mitchell mitch; mohammed mo; morris mo; nancy nan; natalie nat; natasha
    tasha; nathan nate; nathaniel nate nat; nicholas nick nicky; nicole nicky; norman norm;
    oliver ollie; olivia liv livvy; oscar ozzie; pamela pam; patricia pat patty trish tricia;
    patrick pat paddy; pauline polly; penelope penny; peter pete; philip phil pip; phillip phil;
    priscilla cilla; rachel rach; randolph randy; raymond ray; rebecca becky becca; reginald
    reggie; richard rick ricky rich dick; robert rob bob bobby robbie bert; roberta bobbie;
    roderick rod; rodney rod; roger rodge; ronald ron ronnie; rosalind roz; rosemary rosie;
    rupert rob; russell russ; ruth ruthie; salvador sal; samantha sam sammy; samuel sam sammy;
    sarah sally sadie; sebastian seb; sharon shaz; shirley shirl; sidney sid; simon si; solomon
    sol; sophia sophie; stanley stan; stella ella; stephanie steph; stephen steve stevie; steven
    steve stevie; stewart stu; stuart stu; susan sue susie suzy; susanna sue susie; sylvester
    sly; tabitha tabby; tamara tammy; terence terry; teresa terri tess tessa; theodore ted teddy
    theo; theresa terri tess; thomas tom tommy; timothy tim timmy; tobias toby; valerie val;
    vanessa nessa; veronica ronnie; victor vic; victoria vicky tori; vincent vince vinny; violet
    vi; virginia ginny; vivian viv; walter walt wally; warren ren; wilfred wilf; wilhelmina
    mina; william will bill billy willy liam; winifred winnie; winston win; yolanda yoli; yvonne
    vonnie; zachary zach zack; zoe zo
"""
"""Given names, each with its short forms; some short forms have several."""

ORDINARY: Final = frozenset(
    """
    abbot angel april archer art august autumn bailey baker bank banks barb bay bell berry bill
    bird bishop black blank bond book booker bridge brook brooks brown bush butler carpenter
    carter case chance chase christian chuck clay cliff coffee cook cooper craft crane cross
    daisy dale dawn dean dear diamond dick dot drew duke earl early east eve faith farmer field
    fields finch fisher flick flint flood flora flower forest foster fox frank friend garden
    gene glass glen golden good grace grant gray green grey guy hall harbor hardy harmony hart
    harvest hazel heath heather herb hill hood hope house hunt hunter iris ivy jack jade jasmine
    jay jean jet job joy judge june kay keen king kit knight lake lane law liberty light lily
    little long lord love low major mark marsh marshal mason may meadow melody mercy mill miller
    mills moon moss nan night north novel oak olive page paige parish park parker parks pat
    patience pearl penny pepper perry piper pop poppy porter post power pratt price prince pure
    queen rain ray read reed rice rich river rivers rob robin rock rod rose rowan ruby rush sage
    sal sandy savage scout sharp sherry shore short silver singer sky sly small smart snow song
    spring star starling stella sterling stone storm street strong sue summer summers swan swift
    taylor terry thorn tiger tory town trip turner van victor violet wade walk walker wall ward
    waters watts way weaver web wells west wheeler white wild will willow win winter wolf wood
    woods wren wright young
    """.split()  # noqa: SIM905 - a table to be read
)
"""Names that are ordinary English words, too: written in small letters they are those words."""


@lru_cache(maxsize=1)
def _short() -> dict[str, tuple[str, ...]]:
    return {full: tuple(short) for full, *short in map(str.split, _FORMS.split(";"))}


@lru_cache(maxsize=1)
def _formal() -> dict[str, frozenset[str]]:
    known: dict[str, set[str]] = {}
    for full, short in _short().items():
        for name in (full, *short):
            known.setdefault(name, set()).add(full)
    return {name: frozenset(full) for name, full in known.items()}


def formal(name: str) -> frozenset[str]:
    """Return the given names that a name may stand for.

    Args:
        name: A name in small letters.

    Returns:
        For a short form the full ones, as robert for "bob"; for a full form itself; else none.
    """
    return _formal().get(name, frozenset())


def short_forms(name: str) -> tuple[str, ...]:
    """Return other names for the bearer of a name.

    Args:
        name: A name in small letters.

    Returns:
        The short forms of a full name; for a short form, the full names that it may stand for.
    """
    return _short().get(name) or tuple(sorted(formal(name)))

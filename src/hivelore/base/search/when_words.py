"""The words of `when.py`: how each language says days, weeks, months, and what stands before or after them.

Entries are regular expressions without groups. `{n}` stands for a number in digits or words, `{unit}` for a unit of
time, `{day}` for a weekday. A language is only looked at when one of its `cues` stands in the
question, or one of its `leads` beside a year.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DAY, WEEK, MONTH, YEAR = "day", "week", "month", "year"


@dataclass(frozen=True, slots=True)
class Spaced:
    """A language that puts blanks between its words.

    `days` counts back from today; `spans` gives the unit and how many of it back; `lately` are the last two weeks.
    `inside` may stand before a month or year that is a date only then ("in May", never "may"). `opening` and `joining`
    make a range of two dates. `events` are bounds that may stand before what happened ("before the migration"):
    `article` must follow there, `clause` ends the phrase.
    """

    days: Mapping[str, int]
    spans: Mapping[str, tuple[str, int]]
    units: Mapping[str, str]
    numbers: Mapping[str, int]
    months: tuple[str, ...]
    weekdays: tuple[str, ...]
    ago: tuple[str, ...]
    past: tuple[str, ...]
    lately: str
    last_weekday: tuple[str, ...]
    on_weekday: str
    inside: str
    day_month: tuple[str, ...]
    opening: str
    joining: str
    bounds: Mapping[str, str]
    article: str
    clause: str
    cues: str
    leads: str


def _numbers(words: str) -> dict[str, int]:
    """Number words in order: each entry gives the spellings of one number, from 1 on, joined by `/`."""
    return {word: at for at, entry in enumerate(words.split(), 1) for word in entry.split("/")}


ENGLISH = Spaced(
    days={
        r"the day before yesterday": 2,
        r"yesterday|last night": 1,
        r"today|tonight|this (?:morning|afternoon|evening)": 0,
    },
    spans={
        r"(?:last|previous) week(?:end)?": (WEEK, 1),
        r"(?:last|previous) month": (MONTH, 1),
        r"(?:last|previous) year": (YEAR, 1),
        r"this week": (WEEK, 0),
        r"this month": (MONTH, 0),
        r"this year": (YEAR, 0),
    },
    units={r"days?": DAY, r"weeks?": WEEK, r"months?": MONTH, r"years?": YEAR},
    numbers=_numbers("a/an/one two/couple_of three four five six seven eight nine ten eleven twelve"),
    months=(
        r"january|jan",
        r"february|feb",
        r"march|mar",
        r"april|apr",
        r"may",
        r"june|jun",
        r"july|jul",
        r"august|aug",
        r"september|sept?",
        r"october|oct",
        r"november|nov",
        r"december|dec",
    ),
    weekdays=("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    ago=(r"{n} {unit} ago",),
    past=(r"(?:the )?(?:last|past|previous) {n} {unit}", r"(?:the )?past {unit}"),
    lately=r"recently|lately",
    last_weekday=(r"(?:last|past) {day}",),
    on_weekday=r"on",
    inside=r"in|of|during|since|before|after|until|till|by|last|this",
    day_month=(r"(?:{d}(?:st|nd|rd|th)?(?: of)? {m})", r"(?:{m} {d}(?:st|nd|rd|th)?)"),
    opening=r"between|from",
    joining=r"and|to|until|till|through",
    bounds={"since": r"since|starting", "before": r"before|until|till|prior to", "after": r"after"},
    article=r"(?:(?:the|our|my|his|her|their|your|that|this) )?",
    clause=r"[,;.?!]| (?:what|which|who|how|why|did|do|does|we|i|you|they|he|she|was|were|is|are|had|has|have)\b",
    cues="""yesterday today tonight night morning afternoon evening day days week weeks weekend month months year years
    recently lately since before after until till between prior january february march april may june july august
    september october november december jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday
    thursday friday saturday sunday""",
    leads="in of during by from last this",
)

GERMAN = Spaced(
    days={r"vorgestern": 2, r"gestern": 1, r"heute": 0},
    spans={
        r"(?:letzte|vorige|vergangene)[nr]? woche|(?:letzte|vorige|vergangene)[sn]? wochenende": (WEEK, 1),
        r"(?:letzte|vorige|vergangene)[nrms]? monats?": (MONTH, 1),
        r"(?:letzte|vorige|vergangene)[nrms]? jahr(?:es)?": (YEAR, 1),
        r"diese[r]? woche": (WEEK, 0),
        r"diese[nmsr] monats?": (MONTH, 0),
        r"diese[ms] jahr(?:es)?|dieses jahr": (YEAR, 0),
    },
    units={r"tage?n?": DAY, r"wochen?": WEEK, r"monate?n?": MONTH, r"jahre?n?": YEAR},
    numbers=_numbers("ein/eine/einem/einer/einen zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"),
    months=(
        r"januar|jänner|jan",
        r"februar|feb",
        r"märz",
        r"april|apr",
        r"mai",
        r"juni",
        r"juli",
        r"august|aug",
        r"september|sept?",
        r"oktober|okt",
        r"november|nov",
        r"dezember|dez",
    ),
    weekdays=("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag|sonnabend", "sonntag"),
    ago=(r"vor {n} {unit}",),
    past=(r"(?:in den |der |die )?(?:letzten|vergangenen) {n} {unit}",),
    lately=r"kürzlich|neulich|in letzter zeit",
    last_weekday=(r"(?:letzte[nr]?|vergangene[nr]?|vorige[nr]?) {day}",),
    on_weekday=r"am",
    inside=r"im|in|im jahre?|seit|vor|nach|bis|ab|anfang|mitte|ende|letzten|vom|im monat",
    day_month=(r"(?:{d}\.? {m})",),
    opening=r"zwischen|von|vom",
    joining=r"und|bis|bis zum|und dem",
    bounds={"since": r"seit|seit dem|ab|ab dem", "before": r"vor|vor dem|bis|bis zum", "after": r"nach|nach dem"},
    article=r"(?:dem|der|den|unser[emn]{1,2}|mein[emr]{1,2}|diese[mrn]) ",
    clause=r"[,;.?!]| (?:was|wer|wie|welche[rsnm]?|hat|haben|habe|hatten|ist|sind|war|waren|wir|ich|wurde|lief)\b",
    cues="""gestern vorgestern heute tag tage tagen woche wochen wochenende monat monats monate monaten jahr jahres
    jahre jahren kürzlich neulich zeit seit vor nach bis zwischen januar jänner februar märz april mai juni juli august
    september oktober november dezember montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag""",
    leads="im in ab anfang mitte ende von vom",
)

FRENCH = Spaced(
    days={r"avant-hier": 2, r"hier": 1, r"aujourd['’]hui": 0},
    spans={
        r"(?:la )?semaine (?:dernière|passée|précédente)": (WEEK, 1),
        r"(?:le )?mois (?:dernier|passé|précédent)": (MONTH, 1),
        r"(?:l['’])?(?:an dernier|an passé|année dernière|année passée)": (YEAR, 1),
        r"cette semaine": (WEEK, 0),
        r"ce mois(?:-ci)?": (MONTH, 0),
        r"cette année": (YEAR, 0),
    },
    units={r"jours?": DAY, r"semaines?": WEEK, r"mois": MONTH, r"ans?|années?": YEAR},
    numbers=_numbers("un/une deux trois quatre cinq six sept huit neuf dix onze douze"),
    months=(
        r"janvier",
        r"février",
        r"mars",
        r"avril",
        r"mai",
        r"juin",
        r"juillet",
        r"août",
        r"septembre",
        r"octobre",
        r"novembre",
        r"décembre",
    ),
    weekdays=("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    ago=(r"il y a {n} {unit}",),
    past=(r"(?:ces |les )?{n} derni(?:er|ère)s {unit}", r"(?:ces |les )derni(?:er|ère)s {n} {unit}"),
    lately=r"récemment|dernièrement",
    last_weekday=(r"{day} (?:dernier|passé)",),
    on_weekday=r"le|de|ce",
    inside=r"en|au mois de|au mois d['’]|de|depuis|avant|après|jusqu['’]en|fin|début|mi|dès|à partir de",
    day_month=(r"(?:{d}(?:er)? {m})",),
    opening=r"entre|de|du|depuis",
    joining=r"et|à|au|et le|jusqu['’]en|jusqu['’]au",
    bounds={
        "since": r"depuis|depuis le|dès|à partir de|à partir du",
        "before": r"avant|avant le|jusqu['’]au|jusqu['’]en",
        "after": r"après|après le",
    },
    article=r"(?:(?:le|la|les|notre|votre|ma|mon|cette|ce) |l['’])",
    clause=r"[,;.?!]| (?:que|qui|quel|quelle|quels|comment|nous|on|avons|avait|était|est|a|ai|il|elle)\b",
    cues="""hier aujourd jour jours semaine semaines mois an ans année années récemment dernièrement depuis avant
    après janvier février mars avril mai juin juillet août septembre octobre novembre décembre lundi mardi mercredi
    jeudi vendredi samedi dimanche""",
    leads="en entre fin début dès de",
)

SPANISH = Spaced(
    days={r"anteayer|antes de ayer": 2, r"ayer|anoche": 1, r"hoy(?! en día)": 0},
    spans={
        r"(?:la )?semana (?:pasada|anterior)|(?:la )?última semana": (WEEK, 1),
        r"(?:el )?mes (?:pasado|anterior)|(?:el )?último mes": (MONTH, 1),
        r"(?:el )?año (?:pasado|anterior)|(?:el )?último año": (YEAR, 1),
        r"esta semana": (WEEK, 0),
        r"este mes": (MONTH, 0),
        r"este año": (YEAR, 0),
    },
    units={r"días?": DAY, r"semanas?": WEEK, r"mes(?:es)?": MONTH, r"años?": YEAR},
    numbers=_numbers("un/una dos tres cuatro cinco seis siete ocho nueve diez once doce"),
    months=(
        r"enero",
        r"febrero",
        r"marzo",
        r"abril",
        r"mayo",
        r"junio",
        r"julio",
        r"agosto",
        r"septiembre|setiembre",
        r"octubre",
        r"noviembre",
        r"diciembre",
    ),
    weekdays=("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
    ago=(r"hace {n} {unit}",),
    past=(r"(?:(?:en|de) )?l[oa]s últim[oa]s {n} {unit}", r"l[oa]s {n} últim[oa]s {unit}"),
    lately=r"recientemente|últimamente",
    last_weekday=(r"(?:el )?{day} pasado", r"el pasado {day}"),
    on_weekday=r"el|este",
    inside=r"en|de|desde|antes de|después de|hasta|durante",
    day_month=(r"(?:{d} de {m})", r"(?:{d} {m})"),
    opening=r"entre|de|desde|del",
    joining=r"y|a|al|hasta|y el",
    bounds={
        "since": r"desde|desde el|a partir de|a partir del",
        "before": r"antes de|antes del|hasta|hasta el",
        "after": r"después de|después del",
    },
    article=r"(?:(?:el|la|los|las|nuestr[oa]s?|mi|tu|su|est[ea]) )?",
    clause=r"[,;.?!¿¡]| (?:qué|quién|cuál|cómo|que|era|fue|usábamos|teníamos|hicimos|hemos|habíamos|se)\b",
    cues="""ayer anteayer anoche hoy día días semana semanas mes meses año años recientemente últimamente antes
    después desde hasta partir enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre
    diciembre lunes martes miércoles jueves viernes sábado domingo""",
    leads="en de entre durante",
)

RUSSIAN = Spaced(
    days={r"позавчера": 2, r"вчера": 1, r"сегодня": 0},
    spans={
        r"(?:на )?(?:прошлой|прошедшей) неделе|прошлую неделю|прошлая неделя": (WEEK, 1),
        r"(?:в )?прошлом месяце|прошлый месяц": (MONTH, 1),
        r"(?:в )?прошлом году|прошлый год": (YEAR, 1),
        r"(?:на )?этой неделе": (WEEK, 0),
        r"(?:в )?этом месяце": (MONTH, 0),
        r"(?:в )?этом году": (YEAR, 0),
    },
    units={
        r"дней|дня|день|дни": DAY,
        r"недел[яюьи]": WEEK,
        r"месяц(?:а|ев|ы)?": MONTH,
        r"год(?:а|ы)?|лет": YEAR,
    },
    numbers=_numbers("один/одну/одна два/две три четыре пять шесть семь восемь девять десять одиннадцать двенадцать"),
    months=(
        r"январ[ьяею]м?",
        r"феврал[ьяею]м?",
        r"март(?:а|е|у|ом)?",
        r"апрел[ьяею]м?",
        r"ма[йяею]м?",
        r"июн[ьяею]м?",
        r"июл[ьяею]м?",
        r"август(?:а|е|у|ом)?",
        r"сентябр[ьяею]м?",
        r"октябр[ьяею]м?",
        r"ноябр[ьяею]м?",
        r"декабр[ьяею]м?",
    ),
    weekdays=(
        r"понедельник[ае]?",
        r"вторник[ае]?",
        r"сред[ауые]",
        r"четверга?",
        r"пятниц[ауые]",
        r"суббот[ауые]",
        r"воскресень[ея]",
    ),
    ago=(r"{n} {unit} назад", r"{unit} назад"),
    past=(r"(?:за )?последни[ехй]{{1,2}} {n} {unit}", r"за {n} {unit}"),
    lately=r"недавно|в последнее время",
    last_weekday=(r"(?:в |во )?прошл(?:ый|ую|ое) {day}",),
    on_weekday=r"в|во",
    inside=r"в|во|с|со|до|после|от|за",
    day_month=(r"(?:{d} {m})",),
    opening=r"между|с|со|от",
    joining=r"и|по|до",
    bounds={"since": r"с|со|начиная с", "before": r"до|перед", "after": r"после"},
    article=r"(?:(?:наш[а-я]{1,3}|эт[а-я]{1,3}) )?",
    clause=r"[,;.?!]| (?:что|кто|как|какой|какая|какую|какие|мы|я|вы|они|был|была|было|были)\b",
    cues="",  # inflected too much for a list: RUSSIAN_CUE
    leads="",
)

RUSSIAN_CUE = (
    r"вчера|сегодня|недел|месяц|год|лет|день|дня|дней|недавно|последн|понедельник|вторник|сред|четверг|пятниц|суббот"
    r"|воскрес|январ|феврал|март|апрел|\bма[йяе]м?\b|июн|июл|август|сентябр|октябр|ноябр|декабр|\bдо\b|после|перед"
)

SPACED = {"en": ENGLISH, "de": GERMAN, "fr": FRENCH, "es": SPANISH, "ru": RUSSIAN}


@dataclass(frozen=True, slots=True)
class Unspaced:
    """A language whose time words stand inside runs, and after what they bound.

    `ago` and `past` hold one group for the number; `date` has the groups year, month and day; `event` has the group
    `what`. The other fields are as in `Spaced`.
    """

    days: Mapping[str, int]
    spans: Mapping[str, tuple[str, int]]
    ago: tuple[tuple[str, str], ...]
    past: tuple[tuple[str, str], ...]
    lately: str
    fixed_ago: Mapping[str, tuple[str, int]]
    date: str
    weekday: str
    weekday_names: str
    last_week: str
    joining: str
    bounds: Mapping[str, str]
    event: Mapping[str, str]


_N = r"(\d{1,3}|[一二两兩三四五六七八九十]{1,3}|한|두|세|네|다섯|여섯)"
_TOLD = r"(?P<what>[^\s、。，？！?!はがをにでもへと]{2,20}?)"  # what happened: a run without particles
_DATE_TAIL = r"(?:\s*(?P<day>\d{{1,2}})\s*{day})?"

JAPANESE = Unspaced(
    days={r"一昨日|おととい": 2, r"昨日|きのう": 1, r"今日(?!は、|は,)|本日": 0},
    spans={
        r"先々週": (WEEK, 2),
        r"先週": (WEEK, 1),
        r"今週": (WEEK, 0),
        r"先々月": (MONTH, 2),
        r"先月": (MONTH, 1),
        r"今月": (MONTH, 0),
        r"一昨年|おととし": (YEAR, 2),
        r"去年|昨年": (YEAR, 1),
        r"今年": (YEAR, 0),
    },
    ago=(
        (_N + r"\s*日前", DAY),
        (_N + r"\s*週間前", WEEK),
        (_N + r"\s*[かヶカヵケ]月前", MONTH),
        (_N + r"\s*年前", YEAR),
    ),
    past=(
        (r"(?:過去|この|ここ|直近)" + _N + r"\s*日間?", DAY),
        (r"(?:過去|この|ここ|直近)" + _N + r"\s*週間", WEEK),
        (r"(?:過去|この|ここ|直近)" + _N + r"\s*[かヶカヵケ]月間?", MONTH),
        (r"(?:過去|この|ここ|直近)" + _N + r"\s*年間?", YEAR),
    ),
    lately=r"最近",
    fixed_ago={},
    date=r"(?:(?P<year>\d{4})\s*年の?)?\s*(?P<month>\d{1,2})\s*月"
    + _DATE_TAIL.format(day="日")
    + r"|(?P<only>\d{4})\s*年",
    weekday=r"(?P<lead>先週の?|この前の|前の)?(?P<name>[月火水木金土日])曜日?",
    weekday_names="月火水木金土日",
    last_week=r"先週",
    joining=r"から|〜|～|~|-|–|と",
    bounds={"since": r"から|以来|以降", "before": r"(?:より|の|以)?前|まで", "after": r"の?後|以後"},
    event={
        "before": _TOLD + r"(?:の|する|した|より|以)?(?<![名午事直目手数])前(?=[にはの、のまで]|\s|$)",
        "after": _TOLD + r"(?:の|した)?(?:(?<![午最今前直以])後|以後)(?=[にはの、]|\s|$)",
        "since": _TOLD + r"(?:以来|以降)",
    },
)

CHINESE = Unspaced(
    days={r"前天": 2, r"昨天|昨日": 1, r"今天|今日": 0},
    spans={
        r"上上(?:周|週|个?星期|個?星期)": (WEEK, 2),
        r"上(?:周|週|个?星期|個?星期|个?礼拜|個?禮拜)": (WEEK, 1),
        r"(?:本|这|這)(?:周|週|个?星期|個?星期|个?礼拜|個?禮拜)": (WEEK, 0),
        r"上(?:个|個)?月": (MONTH, 1),
        r"(?:本|这个|這個)月": (MONTH, 0),
        r"前年": (YEAR, 2),
        r"去年": (YEAR, 1),
        r"今年": (YEAR, 0),
    },
    ago=(
        (_N + r"\s*(?:天|日)(?:之|以)?前", DAY),
        (_N + r"\s*(?:周|週|个星期|個星期|星期)(?:之|以)?前", WEEK),
        (_N + r"\s*(?:个|個)月(?:之|以)?前", MONTH),
        (_N + r"\s*年(?:之|以)?前", YEAR),
    ),
    past=(
        (r"(?:过去|過去|最近|近)的?" + _N + r"\s*(?:天|日)", DAY),
        (r"(?:过去|過去|最近|近)的?" + _N + r"\s*(?:周|週|个星期|個星期|星期)", WEEK),
        (r"(?:过去|過去|最近|近)的?" + _N + r"\s*(?:个|個)月", MONTH),
        (r"(?:过去|過去|最近|近)的?" + _N + r"\s*年", YEAR),
    ),
    lately=r"最近|近来|近來",
    fixed_ago={},
    date=r"(?:(?P<year>\d{4})\s*年)?\s*(?P<month>\d{1,2})\s*月(?!前|之前)"
    + _DATE_TAIL.format(day="[日号號]")
    + r"|(?P<only>\d{4})\s*年",
    weekday=r"(?P<lead>上个?|上個|本|这|這)?(?:周|星期|礼拜|週|禮拜)(?P<name>[一二三四五六日天])",
    weekday_names="一二三四五六日",
    last_week=r"上",
    joining=r"到|至|和|与|與|~|-|–|—",
    bounds={
        "since": r"以来|以來|以降|起|开始|開始",
        "before": r"之前|以前|前",
        "after": r"之后|之後|以后|以後|后|後",
    },
    event={
        "before": r"(?:在)?(?P<what>[^\s，。？！、,?!在]{2,16}?)(?:之前|以前)",
        "after": r"(?:在|自从|自從)?(?P<what>[^\s，。？！、,?!在]{2,16}?)(?:之后|之後|以后|以後)",
        "since": r"(?:自从|自從|自)?(?P<what>[^\s，。？！、,?!在自]{2,16}?)(?:以来|以來)",
    },
)

KOREAN = Unspaced(
    days={r"그저께|그제|엊그제": 2, r"어제": 1, r"오늘": 0},
    spans={
        r"지지난 ?주": (WEEK, 2),
        r"(?:지난|저번) ?주(?!말)": (WEEK, 1),
        r"이번 ?주|금주": (WEEK, 0),
        r"지난 ?달|저번 ?달": (MONTH, 1),
        r"이번 ?달": (MONTH, 0),
        r"재작년": (YEAR, 2),
        r"작년|지난 ?해": (YEAR, 1),
        r"올해|금년": (YEAR, 0),
    },
    ago=(
        (_N + r"\s*일 ?전", DAY),
        (_N + r"\s*주일? ?전", WEEK),
        (_N + r"\s*(?:개월|달) ?전", MONTH),
        (_N + r"\s*년 ?전", YEAR),
    ),
    past=(
        (r"(?:지난|최근) ?" + _N + r"\s*일(?:간| 동안)?", DAY),
        (r"(?:지난|최근) ?" + _N + r"\s*주(?:간| 동안)?", WEEK),
        (r"(?:지난|최근) ?" + _N + r"\s*(?:개월|달)(?:간| 동안)?", MONTH),
        (r"(?:지난|최근) ?" + _N + r"\s*년(?:간| 동안)?", YEAR),
    ),
    lately=r"최근",
    fixed_ago={
        r"하루 전": (DAY, 1),
        r"이틀 전": (DAY, 2),
        r"사흘 전": (DAY, 3),
        r"나흘 전": (DAY, 4),
        r"일주일 전": (WEEK, 1),
    },
    date=r"(?:(?P<year>\d{4})\s*년)?\s*(?P<month>\d{1,2})\s*월"
    + _DATE_TAIL.format(day="일")
    + r"|(?P<only>\d{4})\s*년",
    weekday=r"(?P<lead>지난 ?주 ?|지난 ?)?(?P<name>[월화수목금토일])요일",
    weekday_names="월화수목금토일",
    last_week=r"지난 ?주",
    joining=r"부터|에서|~|-|–|과|와",
    bounds={"since": r"부터|이후|이래", "before": r"이전|전|까지", "after": r"후"},
    event={
        "before": r"(?P<what>\S{2,16}) (?:이전|전)(?=에|의|까지|\s|$)",
        "after": r"(?P<what>\S{2,16}) 후(?=에|의|\s|$)",
        "since": r"(?P<what>\S{2,16}) 이후",
    },
)

UNSPACED = {"ja": JAPANESE, "zh": CHINESE, "ko": KOREAN}

DIGITS = {c: n for n, c in enumerate("一二三四五六七八九", 1)} | {"两": 2, "兩": 2}
KOREAN_NUMBERS = {"한": 1, "두": 2, "세": 3, "네": 4, "다섯": 5, "여섯": 6}

"""Texts of many scripts and kinds, written for the counts: several of each, the same at each run."""

# ruff: noqa: RUF001, E501 - letters that look like others, and paragraphs, are what is sampled

from __future__ import annotations

import base64
import hashlib
import inspect
import json
import random
import statistics
import textwrap

ENGLISH = [
    "We moved the launch to Friday because the connection pool kept running dry on Tuesday. Every worker held one connection for the whole model call, so twenty workers were enough to stop the service. The repair is small: release before the call, take another afterwards, and write down how long the wait was. Nobody should raise the pool's limit before that is measured.",
    "The old lighthouse keeper counted ships the way other people count sheep. On clear nights he reached forty before he slept, on foggy ones he counted horns instead. When the automatic lamp was installed he stayed on, unpaid, and kept his notebook, for he did not believe that a machine could tell a trawler from a ferry by its voice alone.",
    "Notwithstanding counterarguments, jurisprudential interpretations of constitutional prerogatives underwent extraordinarily comprehensive transformations; administrative decentralisation, industrialisation and internationalisation notwithstanding, parliamentary representatives characteristically misunderstood infrastructural interdependencies.",
]
WESTERN = [
    "Die Besprechung wurde auf nächsten Dienstag verschoben, weil die Unterlagen der Rechtsschutzversicherung noch nicht vollständig sind. Bitte schickt die geänderten Lieferbedingungen bis Freitagmittag, sonst können wir die Donaudampfschifffahrtsgesellschaft nicht mehr rechtzeitig benachrichtigen. Über die Größe des Straßenabschnitts entscheidet die Behörde.",
    "La réunion a été reportée à mardi prochain parce que les pièces jointes n'étaient pas complètes. Merci d'envoyer les conditions générales modifiées avant vendredi midi, faute de quoi nous ne pourrons plus prévenir la société de transport. L'équipe préférait déjà l'hôtel près de la forêt, où l'été dernier s'était achevé.",
    "La reunión se aplazó hasta el próximo martes porque faltaba la mitad de los documentos. Envíen, por favor, las condiciones corregidas antes del mediodía del viernes; de lo contrario no podremos avisar a la compañía. El niño soñó con montañas, cigüeñas y un pingüino que cantaba bajo la lluvia mientras el abuelo leía.",
    "A reunião foi adiada para a próxima terça-feira porque os anexos não estavam completos. Enviem as condições corrigidas até ao meio-dia de sexta, senão não conseguiremos avisar a companhia. As crianças já não acreditavam nas histórias do avô, mas ouviam-no com atenção até à última estação.",
    "La riunione è stata rinviata a martedì prossimo perché gli allegati non erano completi. Inviate per favore le condizioni corrette entro mezzogiorno di venerdì, altrimenti non riusciremo più ad avvertire la compagnia. Il nonno raccontava di città lontane, di navi e di un faro che nessuno voleva più accendere.",
    "De vergadering is verplaatst naar aanstaande dinsdag omdat de bijlagen nog niet volledig waren. Stuur de gewijzigde leveringsvoorwaarden alsjeblieft vóór vrijdagmiddag op, anders kunnen we de verzekeringsmaatschappij niet meer op tijd waarschuwen. De vuurtorenwachter telde schepen zoals anderen schaapjes tellen.",
]
NORTHERN = [
    "Kokous siirrettiin ensi tiistaille, koska liitteet eivät olleet vielä valmiita. Lähettäkää muutetut toimitusehdot perjantaihin puoleenpäivään mennessä, muuten emme ehdi ilmoittaa vakuutusyhtiölle ajoissa. Majakanvartija laski laivoja niin kuin muut laskevat lampaita, eikä hän uskonut, että kone erottaisi troolarin lautasta.",
    "Mötet har flyttats till nästa tisdag eftersom bilagorna ännu inte är färdiga. Skicka de ändrade leveransvillkoren före fredag lunch, annars hinner vi inte underrätta försäkringsbolaget i tid. Fyrvaktaren räknade skepp på samma sätt som andra räknar får, och han trodde aldrig att en maskin kunde höra skillnaden.",
    "Az értekezletet jövő keddre halasztottuk, mert a mellékletek még nem készültek el. Kérjük, péntek délig küldjétek el a módosított szállítási feltételeket, különben nem tudjuk időben értesíteni a biztosítótársaságot. A világítótorony őre úgy számolta a hajókat, ahogy mások a bárányokat, és nem hitte, hogy egy gép megkülönböztetné őket.",
]
EASTERN = [
    "Spotkanie przełożono na przyszły wtorek, ponieważ załączniki nie były jeszcze gotowe. Prosimy o przesłanie zmienionych warunków dostawy do piątku w południe, w przeciwnym razie nie zdążymy zawiadomić towarzystwa ubezpieczeniowego. Latarnik liczył statki tak, jak inni liczą owce, i nie wierzył, że maszyna odróżni kuter od promu.",
    "Schůzka byla přeložena na příští úterý, protože přílohy ještě nebyly hotové. Pošlete prosím změněné dodací podmínky do pátečního poledne, jinak nestihneme včas uvědomit pojišťovnu. Strážce majáku počítal lodě tak, jako jiní počítají ovečky, a nevěřil, že by stroj rozeznal rybářskou loď od trajektu.",
    "Toplantı önümüzdeki salı gününe ertelendi, çünkü ekler henüz hazır değildi. Lütfen değiştirilmiş teslimat koşullarını cuma öğlene kadar gönderin, yoksa sigorta şirketine zamanında haber veremeyiz. Fener bekçisi gemileri başkalarının koyun saydığı gibi sayardı ve bir makinenin tekneyi vapurdan ayırabileceğine inanmazdı.",
    "Cuộc họp được dời sang thứ ba tuần sau vì các tài liệu đính kèm chưa hoàn chỉnh. Xin vui lòng gửi các điều kiện giao hàng đã sửa trước trưa thứ sáu, nếu không chúng tôi sẽ không kịp báo cho công ty bảo hiểm. Người gác hải đăng đếm tàu như người khác đếm cừu, và ông không tin rằng máy móc có thể phân biệt được.",
    "Ședința a fost amânată pentru marțea viitoare, fiindcă anexele nu erau încă pregătite. Vă rugăm să trimiteți condițiile de livrare modificate până vineri la prânz, altfel nu vom putea înștiința la timp compania. Paznicul farului număra vapoarele așa cum alții numără oi.",
]
CYRILLIC = [
    "Встреча перенесена на следующий вторник, потому что приложения ещё не готовы. Пришлите, пожалуйста, изменённые условия поставки до полудня пятницы, иначе мы не успеем предупредить страховую компанию. Смотритель маяка считал корабли так, как другие считают овец, и не верил, что машина отличит траулер от парома по голосу.",
    "Зустріч перенесено на наступний вівторок, оскільки додатки ще не готові. Надішліть, будь ласка, змінені умови постачання до полудня п'ятниці, інакше ми не встигнемо попередити страхову компанію. Доглядач маяка рахував кораблі так, як інші рахують овець, і не вірив, що машина їх розрізнить.",
    "Срещата беше отложена за следващия вторник, защото приложенията още не бяха готови. Моля, изпратете променените условия за доставка до петък на обяд, иначе няма да успеем да предупредим застрахователната компания навреме. Пазачът на фара броеше корабите, както другите броят овце.",
    "Састанак је померен за следећи уторак јер прилози још нису били спремни. Пошаљите, молимо вас, измењене услове испоруке до петка у подне, иначе нећемо стићи да обавестимо осигуравајуће друштво. Чувар светионика бројао је бродове као што други броје овце.",
]
GREEK = [
    "Η συνάντηση μεταφέρθηκε για την επόμενη Τρίτη, επειδή τα συνημμένα δεν ήταν ακόμη έτοιμα. Παρακαλούμε στείλτε τους τροποποιημένους όρους παράδοσης μέχρι το μεσημέρι της Παρασκευής, αλλιώς δεν θα προλάβουμε να ειδοποιήσουμε την ασφαλιστική εταιρεία.",
    "Ο φαροφύλακας μετρούσε τα πλοία όπως οι άλλοι μετρούν πρόβατα και δεν πίστευε ότι μια μηχανή θα μπορούσε να ξεχωρίσει το ψαροκάικο από το φέρι μπότ μόνο από τον ήχο του.",
]
CHINESE = [
    "会议推迟到下周二，因为附件还没有准备好。请在星期五中午之前把修改后的交货条件发过来，否则我们来不及通知保险公司。灯塔看守人数船就像别人数羊一样，他不相信机器能够凭声音分辨拖网渔船和渡轮。数据库连接池的大小从二十改为十二，因为最大连接数只有八十。",
    "會議延期到下週二，因為附件還沒有準備好。請在星期五中午之前把修改後的交貨條件寄過來，否則我們來不及通知保險公司。燈塔看守人數船就像別人數羊一樣，他不相信機器能夠憑聲音分辨拖網漁船和渡輪，更不願意離開那座島。",
    "人工智能的上下文窗口有限，因此必须决定哪些对话保留、哪些对话省略。先统计每条消息的词元数量，再按照重要程度排序；工具调用与其结果必须同时保留或同时删除，不然服务端会拒绝整个请求。摘要可以代替旧消息，但不能代替原始记录。",
    "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。床前明月光，疑是地上霜。举头望明月，低头思故乡。",
]
JAPANESE = [
    "会議は来週の火曜日に延期されました。添付資料がまだ揃っていないためです。修正した納品条件を金曜日の正午までにお送りください。さもないと保険会社への連絡が間に合いません。灯台守は、ほかの人が羊を数えるように船を数え、機械が音だけで漁船とフェリーを聞き分けられるとは思っていませんでした。",
    "データベースのコネクションプールが枯渇したのは、すべてのワーカーがモデルの呼び出しの間ずっと接続を保持していたからです。修正は簡単で、呼び出しの前に接続を解放し、後でもう一度取得します。待ち時間も記録してください。",
    "むかしむかし、あるところに、おじいさんとおばあさんがすんでいました。おじいさんはやまへしばかりに、おばあさんはかわへせんたくにいきました。すると、おおきなももがどんぶらこ、どんぶらことながれてきました。",
]
KOREAN = [
    "회의는 다음 주 화요일로 연기되었습니다. 첨부 자료가 아직 준비되지 않았기 때문입니다. 수정된 납품 조건을 금요일 정오까지 보내 주세요. 그렇지 않으면 보험 회사에 제때 알릴 수 없습니다. 등대지기는 다른 사람들이 양을 세듯이 배를 세었고, 기계가 소리만으로 어선과 여객선을 구별할 수 있다고 믿지 않았습니다.",
    "모든 작업자가 모델 호출이 끝날 때까지 연결을 붙잡고 있었기 때문에 연결 풀이 바닥났습니다. 호출 전에 연결을 반납하고 끝난 뒤에 다시 얻으면 됩니다. 기다린 시간도 기록해 두세요. 측정하기 전에는 한도를 올리지 맙시다.",
]
ARABIC = [
    "تم تأجيل الاجتماع إلى يوم الثلاثاء المقبل لأن المرفقات لم تكن جاهزة بعد. يرجى إرسال شروط التسليم المعدلة قبل ظهر يوم الجمعة، وإلا فلن نتمكن من إبلاغ شركة التأمين في الوقت المناسب. كان حارس المنارة يعد السفن كما يعد الآخرون الخراف، ولم يكن يصدق أن آلة تستطيع أن تميز قارب الصيد من العبارة.",
    "جلسه به سه‌شنبه هفته آینده موکول شد، زیرا پیوست‌ها هنوز آماده نبودند. لطفاً شرایط تحویل اصلاح‌شده را تا ظهر جمعه بفرستید، وگرنه نمی‌توانیم شرکت بیمه را به‌موقع خبر کنیم. نگهبان فانوس دریایی کشتی‌ها را همان‌طور می‌شمرد که دیگران گوسفند می‌شمارند.",
    "اجلاس اگلے منگل تک ملتوی کر دیا گیا ہے کیونکہ منسلکہ کاغذات ابھی تیار نہیں تھے۔ براہ کرم ترمیم شدہ شرائط جمعہ کی دوپہر تک بھیج دیں، ورنہ ہم بیمہ کمپنی کو وقت پر اطلاع نہیں دے سکیں گے۔",
    "بِسْمِ ٱللَّهِ ٱلرَّحْمَٰنِ ٱلرَّحِيمِ ٱلْحَمْدُ لِلَّهِ رَبِّ ٱلْعَٰلَمِينَ ٱلرَّحْمَٰنِ ٱلرَّحِيمِ",
]
HEBREW = [
    "הפגישה נדחתה ליום שלישי הבא כי הנספחים עדיין לא היו מוכנים. נא לשלוח את תנאי האספקה המעודכנים עד יום שישי בצהריים, אחרת לא נספיק להודיע לחברת הביטוח בזמן. שומר המגדלור ספר אוניות כפי שאחרים סופרים כבשים, ולא האמין שמכונה תוכל להבחין ביניהן.",
    "בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם וְאֵת הָאָרֶץ וְהָאָרֶץ הָיְתָה תֹהוּ וָבֹהוּ וְחֹשֶׁךְ עַל פְּנֵי תְהוֹם",
]
DEVANAGARI = [
    "बैठक अगले मंगलवार तक स्थगित कर दी गई है क्योंकि संलग्न दस्तावेज़ अभी तैयार नहीं थे। कृपया संशोधित आपूर्ति शर्तें शुक्रवार दोपहर तक भेज दें, नहीं तो हम बीमा कंपनी को समय पर सूचित नहीं कर पाएँगे। प्रकाशस्तंभ का रखवाला जहाज़ों को वैसे ही गिनता था जैसे दूसरे लोग भेड़ें गिनते हैं।",
    "बैठक पुढील मंगळवारपर्यंत पुढे ढकलण्यात आली आहे, कारण जोडपत्रे अजून तयार नव्हती. कृपया सुधारित पुरवठा अटी शुक्रवारी दुपारपर्यंत पाठवा, नाहीतर आम्ही विमा कंपनीला वेळेवर कळवू शकणार नाही. दीपगृहाचा रखवालदार जहाजे मोजत असे.",
    "बैठक अर्को मंगलबारसम्म स्थगित गरिएको छ किनभने संलग्न कागजातहरू अझै तयार थिएनन्। कृपया संशोधित सर्तहरू शुक्रबार दिउँसोसम्म पठाउनुहोस्, नत्र हामी बीमा कम्पनीलाई समयमै खबर गर्न सक्दैनौं।",
]
INDIC = [
    "বৈঠকটি আগামী মঙ্গলবার পর্যন্ত স্থগিত করা হয়েছে, কারণ সংযুক্তিগুলি এখনও প্রস্তুত ছিল না। অনুগ্রহ করে সংশোধিত শর্তাবলী শুক্রবার দুপুরের মধ্যে পাঠান।",
    "இணைப்புகள் இன்னும் தயாராகாததால் கூட்டம் அடுத்த செவ்வாய்க்கிழமைக்கு ஒத்திவைக்கப்பட்டது. திருத்தப்பட்ட நிபந்தனைகளை வெள்ளிக்கிழமை நண்பகலுக்குள் அனுப்பவும்.",
    "జోడింపులు ఇంకా సిద్ధంగా లేనందున సమావేశం వచ్చే మంగళవారానికి వాయిదా పడింది. సవరించిన షరతులను శుక్రవారం మధ్యాహ్నంలోగా పంపండి.",
    "მოწყობილობა არ იყო მზად, ამიტომ შეხვედრა გადაიდო მომავალ სამშაბათს. გთხოვთ, პარასკევის შუადღემდე გამოგზავნოთ შესწორებული პირობები.",
    "ማስጀመሪያውን ወደ ዓርብ አዛውረነዋል ምክንያቱም ሰነዶቹ ገና ዝግጁ አልነበሩም። እባክዎን የተሻሻሉትን ሁኔታዎች ይላኩ።",
    "Ժողովը հետաձգվել է մինչև հաջորդ երեքշաբթի, քանի որ հավելվածները դեռ պատրաստ չէին։ Խնդրում ենք ուղարկել փոփոխված պայմանները։",
]
THAI = [
    "การประชุมถูกเลื่อนไปเป็นวันอังคารหน้า เพราะเอกสารแนบยังไม่พร้อม กรุณาส่งเงื่อนไขการส่งมอบที่แก้ไขแล้วก่อนเที่ยงวันศุกร์ ไม่เช่นนั้นเราจะแจ้งบริษัทประกันไม่ทันเวลา คนเฝ้าประภาคารนับเรือเหมือนที่คนอื่นนับแกะ และเขาไม่เชื่อว่าเครื่องจักรจะแยกเรือประมงออกจากเรือข้ามฟากได้จากเสียงเพียงอย่างเดียว",
    "พนักงานทุกคนถือการเชื่อมต่อไว้ตลอดการเรียกใช้โมเดล จึงทำให้การเชื่อมต่อหมด วิธีแก้คือคืนการเชื่อมต่อก่อนเรียก แล้วขอใหม่ภายหลัง พร้อมทั้งบันทึกเวลาที่รอ",
]
EMOJI = [
    "😀😃😄😁😆😅🤣😂🙂🙃😉😊😇🥰😍🤩😘😗😚😙🥲😋😛😜🤪😝🤑🤗🤭🤫🤔🤐🤨😐😑😶",
    "👨‍👩‍👧‍👦 👩🏽‍💻 🏳️‍🌈 🇩🇪🇯🇵🇧🇷🇮🇳 1️⃣2️⃣ ☎️ ❤️‍🔥 🧑🏿‍🚀 👍🏻👎🏿 ✈️☀️☂️✅❌⭐",
    "Great news 🎉🎉 the build is green ✅ and the demo went well 🚀🚀🚀 see you tomorrow 👋😊",
]
JAVASCRIPT = [
    '!function(e,t){"object"==typeof exports&&"undefined"!=typeof module?module.exports=t():"function"==typeof define&&define.amd?define(t):(e=e||self).q=t()}(this,function(){"use strict";var e={},t=0;function n(r,o){for(var i=[],a=0;a<r.length;a++)o(r[a],a)&&i.push(r[a]);return i}return e.f=n,e.m=function(e,n){return null!=e&&e.map?e.map(n):[]},e.id=function(){return"k"+(++t).toString(36)},e});',
    'const o=(a,b)=>{let c=new Map;for(const[d,e]of Object.entries(a))c.has(d)||c.set(d,[]),c.get(d).push(e*b|0);return[...c].sort(([x],[y])=>x<y?-1:x>y?1:0)};document.querySelectorAll(".j-x>li:not(.d)").forEach((g,h)=>g.addEventListener("click",k=>(k.preventDefault(),g.dataset.n=h%2?`a${h}`:null),{passive:!0}));',
]
RUST = [
    textwrap.dedent("""\
    /// The units that stay, newest first, until the budget is spent.
    pub fn keep_newest(costs: &[u64], budget: u64) -> Vec<usize> {
        let mut kept = Vec::with_capacity(costs.len());
        let mut spent = 0_u64;
        for (at, &cost) in costs.iter().enumerate().rev() {
            match spent.checked_add(cost) {
                Some(next) if next <= budget => { spent = next; kept.push(at); }
                _ => break,
            }
        }
        kept.reverse();
        kept
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        #[test]
        fn nothing_fits() { assert_eq!(keep_newest(&[5, 6], 4), Vec::<usize>::new()); }
    }
    """),
    "impl<'a, T: Ord + ?Sized> Iterator for Walk<'a, T> where T: 'a { type Item = (&'a T, usize); fn next(&mut self) -> Option<Self::Item> { let node = self.stack.pop()?; self.stack.extend(node.left.as_deref().into_iter().chain(node.right.as_deref())); Some((&*node.key, self.stack.len())) } }",
]


def _made() -> dict[str, list[str]]:
    rng = random.Random(7)
    rows = [
        {"id": n, "name": f"part-{n}", "price": rng.randrange(10_000) / 100, "tags": ["a", None]}
        for n in range(40)
    ]
    noise = [rng.randbytes(size) for size in (90, 600, 2_000)]
    digests = [hashlib.sha256(bytes([n])).hexdigest() for n in range(30)]
    words = ["alpha", "users", "v2", "report-2024", "items_list", "q", "page.html", "img", "a9f3"]
    urls = [
        f"https://www.{rng.choice(words)}.example.org/{'/'.join(rng.choices(words, k=3))}?id="
        f"{rng.randrange(10**8)}&ref={rng.choice(words)}#s{n}"
        for n in range(30)
    ]
    return {
        "python": [inspect.getsource(json.decoder), inspect.getsource(statistics.mean)],
        "rust": RUST,
        "javascript": JAVASCRIPT,
        "json": [
            json.dumps(rows),
            json.dumps(rows, indent=2),
            json.dumps(rows, separators=(",", ":")),
            json.dumps({"type": "object", "properties": {"city": {"type": "string"}}}),
        ],
        "base64": [base64.b64encode(data).decode() for data in noise],
        "base64 url": [base64.urlsafe_b64encode(data).decode() for data in noise],
        "base32": [base64.b32encode(data).decode() for data in noise],
        "hex": [noise[1].hex(), " ".join(digests), noise[2].hex().upper()],
        "urls": ["\n".join(urls), urls[0]],
        "numbers": [
            " ".join(str(rng.randrange(10**6)) for _ in range(200)),
            "\n".join(f"{rng.random():.6f},{rng.randrange(99)}" for _ in range(80)),
            str(rng.randrange(10**400)),
            " ".join(f"{n % 12 + 1:02}:{n % 60:02}" for n in range(90)),
        ],
        "letters": ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=n)) for n in (40, 900)],
    }


SAMPLES: dict[str, list[str]] = {
    "english": ENGLISH, "western european": WESTERN, "northern european": NORTHERN,
    "eastern european": EASTERN, "cyrillic": CYRILLIC, "greek": GREEK, "chinese": CHINESE,
    "japanese": JAPANESE, "korean": KOREAN, "arabic": ARABIC, "hebrew": HEBREW,
    "devanagari": DEVANAGARI, "other scripts": INDIC, "thai": THAI, "emoji": EMOJI, **_made(),
}  # fmt: skip
"""Several texts of each script and kind."""

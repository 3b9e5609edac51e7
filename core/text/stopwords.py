"""Words that carry no meaning of their own, by language, and which of a query's words are such."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

_LISTS = {
    "en": """
        a about after again all also am an and any are as at be because been before being between both but by can
        could did do does doing don down during each few for from further had has have having he her here hers him
        his how i if in into is it its just let ll me more most my no nor not now of off on once only or other our
        out over own please re same she should so some such t than that the their them then there these they this
        those through to too under until up us ve very was we were what when where which while who whom whose why
        will with would you your
    """,
    "de": """
        aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim bin bis bist da damit
        dann das dass dein dem den denn der des dessen die dies diese diesem diesen dieser dieses doch dort du
        durch ein eine einem einen einer eines er es etwas euch fur gegen gibt hab habe haben hat hatte hatten hier
        hin ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist jede jeden jeder jedes kann kein keine
        konnen konnte man mehr mein mich mir mit nach nicht noch nun nur ob oder ohne sehr sein seine seinem seinen
        seiner seit sich sie sind so soll sollte uber um und uns unser unter viel viele vielen vom von vor wann war
        waren warum was weil welche welchem welchen welcher welches wem wen wenn wer werde werden wessen wie wieder
        wieviel wieviele wir wird wo wodurch wofur woher wohin womit wurde wurden zu zum zur zwischen
    """,
    "fr": """
        a ai ainsi au aucun aussi autre autres aux avait avant avec avoir c car ce cela celle celui ces cet cette
        ceux chaque chez comme comment d dans de des donc dont du elle elles en encore entre est et etaient etait
        etant ete etes etre eu fait il ils j je l la laquelle le lequel les lesquels leur leurs lors lorsque lui m
        ma mais me meme mes moi moins mon n ne ni nos notre nous on ont ou par parce pas pendant peut plus pour
        pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se selon sera ses si soit son sont sous
        sur t ta te tes toi ton tous tout toute toutes tres tu un une vers vos votre vous y
    """,
    "es": """
        a ademas al algo alguna algunas alguno algunos ante antes aquel aquella asi aun aunque cada como con contra
        cual cuales cuando cuanta cuantas cuanto cuantos cuya cuyo de del desde donde dos durante e el ella ellas
        ellos en entre era eran eres es esa esas ese eso esos esta estaba estan estas este esto estos fue fueron ha
        habia han hasta hay la las le les lo los mas me mi mientras mis mucho muchos muy nada ni no nos nosotros o
        os otra otras otro otros para pero poco por porque pues que quien quienes se sea segun ser si sido sin
        sobre solo son su sus tal tambien tanto te tenia tiene tienen todo todos tras tu tus un una unas uno unos y
        ya yo
    """,
    "pt": """
        a ainda alem algum alguma algumas alguns antes ao aos apos aquela aquele as ate cada com como contra cuja
        cujo da das de dela dele deles depois desde dessa desse desta deste do dos durante e ela elas ele eles em
        entre era eram essa essas esse esses esta estao estas estava este estes eu foi foram ha isso isto ja la lhe
        lhes mais mas me mesmo meu minha muito muitos na nao nas nem no nos nossa nosso num numa o onde os ou para
        pela pelas pelo pelos por porque quais qual quando quantas quanto quantos que quem sao se sem ser seu seus
        sido so sobre sua suas tambem te tem tinha toda todas todo todos tu tua um uma umas uns voce voces
    """,
    "it": """
        a ad agli ai al alcuni alla alle allo anche ancora avere aveva c che chi ci cio coi col come con contro
        cosa cui d da dagli dai dal dalla dalle dallo degli dei del dell della delle dello di dopo dove due durante
        e ed egli era erano essere fa fra fu furono gli ha hanno ho i il in io l la le lei li lo loro lui ma me mi
        mia mio molto ne negli nei nel nell nella nelle nello no noi non nostro o ogni per perche piu poi prima
        qual quale quali quando quanta quante quanti quanto quella quelle quelli quello questa queste questi questo
        qui se sei si sia siamo sono sta stata stato su sua sue sugli sui sul sulla sulle suo suoi te ti tra tu tua
        tuo tutti tutto un una uno vi voi
    """,
    "nl": """
        aan al alle alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en
        er ge geen geweest haar had heb hebben heeft hem het hier hij hoe hoeveel hun ik in is ja je kan kon kunnen
        maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat ons ook op over reeds te tegen
        toch toen tot u uit uw van veel voor waar waarom wanneer want waren was wat we wel welk welke werd werden
        wezen wie wij wil worden wordt zal ze zei zelf zich zij zijn zo zonder zou
    """,
    "sv": """
        alla allt ar at att av aven blev bli blir blivit da dar de dem den denna deras dess dessa det detta dig din
        du eller en er ett for fran ha hade han hans har hon honom hur i icke in inom inte ja jag kan kunde man med
        mellan men mig min mot mycket nagon nagot nar nej nu och om oss over pa sa sadan samma sedan sig sin sina
        ska skulle som till under upp ut utan vad var vara varfor varit vars vem vi vid vilka vilken vilket
    """,
    "da": """
        aer af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din disse dog du
        efter eller en end er et fik for fordi fra ham han hans har havde have hende her hun hvad hvem hvilke
        hvilken hvilket hvis hvor hvordan hvorfor hvornar i ikke ind ja jeg jo kan kunne man mange med meget men
        mig min mod nar ned nogen noget nu og ogsa om op os over pa sa sammen selv sig sin skal skulle som thi til
        ud under vaere vaeret var vi vil ville vor
    """,
    "no": """
        alle at av bare begge ble blei bli blir da de deg dem den denne der dere det dette di din disse du eller en
        enn er et ett etter for fordi fra ha hadde han hans har hennes her hun hva hvem hvilke hvilken hvis hvor
        hvordan hvorfor i ikke inn ja jeg kan kunne man mange med meg meget mellom men min mot mye na nar noe noen
        og ogsa om opp oss over pa sa seg selv sin skal skulle som til ut uten vaere vaert var ved vi vil ville
    """,
    "fi": """
        ei eivat en et ette ettei ja jo joka jokin jonka jos jossa jota jotka kanssa keita ketka kuin kuinka kuka
        kun me mika milloin mina minka minun missa mista mita mitka monta mukaan mutta myos ne niiden niin niita
        nyt ole oli olivat olla on ovat paljon se seka sen siina sita tai tama tassa te tuo vain voi voidaan
    """,
    "pl": """
        a aby ale ani az bardzo bez bo by byc byl byla bylo byly co czy dla do gdy gdzie go i ich ile im inne ja
        jak jaka jaki jakie jako je jego jej jest jeszcze jezeli juz kiedy kto ktora ktore ktorego ktorej ktory
        ktorych ktorym ktorzy lub ma mi mnie moze na nad nawet nie niz o od oraz po pod podczas poniewaz przed
        przez przy roku sa sie siebie sobie swoje ta tak take takze tam te tego tej ten to tu ty tych tylko tym u w
        we wiec z za zas ze zostal
    """,
    "cs": """
        a aby aj ale ani ano asi az bez bude budou by byl byla byli bylo byt co coz do ho i ja jak jake jako jaky
        je jeho jej jeji jejich jen jeste ji jine jiz jsem jsi jsme jsou jste k kam kde kdo kdy kdyz ke kolik ktera
        ktere kteri kterou ktery ma mezi mi mne muze my na nad nam nebo nei nejsou neni nez nic o od on ona oni po
        pod podle pokud pouze prave pred pres pri pro proc proto protoze s se si sve svych ta tak take tato te tedy
        ten tento to toho tom tu ty u uz v ve vsak vy z za ze
    """,
    "ro": """
        a acea aceasta aceea acel acest aceste acestea acestui ai al ale alt am ar are as asa astfel atat au avea
        avut ca cand care carei caror carui cat cata cate cati ce cei cel cele celor cine cu cum da daca dar de
        deci despre din dintr dintre doar dupa ea ei el ele era erau este eu fara fi fie fiind fost i iar ii il in
        inainte insa intr intre isi la le lor lui ma mai mult multe nici noi nu o ori pana pe pentru peste pot prin
        s sa sale sau se si spre sub sunt toate tot un una unde unei unor unui va vor
    """,
    "hu": """
        a abban ahhoz ahogy aki akik akkor alatt altal amely amelyek amelyet ami amikor amit annak arra at az azert
        azok azt be benne csak de e egy egyes egyik el ellen elott ennek es ez ezek ezen ezt fel hanem hany hogy
        hogyan hol igen ill illetve is kell kellett ki kik kozott kozul legyen lehet lesz lett maga mar meg mely
        melyik mert mi miert mikor milyen mint mit mondta nagyon ne neki nelkul nem o ok olyan ott pedig s sem
        szamara szerint tobb ugy utan vagy van vannak volt voltak
    """,
    "ru": """
        а без бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее ей если
        есть еще же за зачем здесь и из или им их к как какая какие каким какое какой каком когда кого кому которая
        которого которое которой которые который которых кто куда ли между меня мне много может можно мой мы на над
        надо нас наш не него нее нет ни них но ну о об один он она они оно от очень по под после потом потому
        почему при про раз с сам свои свою себя сколько со так также такой там те тем то того тоже той только том
        тот тут ты у уже хотя чего чем что чтобы чья эта эти этих это этого этой этом этот я
    """,
    "uk": """
        а або але б без би був була були було бути в вам вас вже ви вона вони воно все всі від він де для до же з
        за зі и й його йому к кого коли кому котрий куди лише ме мене мені ми може між мій на над нам нас не неї
        ним них ну ні о один по при про під після с сам свої себе скільки та так такий також там те ти тим то того
        тоді той тому тут у усі хто це цей цього ця ці чи чий чим чого чому що щоб щодо я як яка яке який яких якщо
        які є і із їй їм їх її
    """,
    "tr": """
        acaba ama ancak artik asla aslinda az bana bazi belki ben beni benim bes bile bir bircok biri birkac biz
        bize bu buna bunda bundan bunlar bunu bunun cok cunku da daha de defa degil diye dolayi eger en gibi gore
        hala hangi hangisi hatta hem henuz hep her hic icin ile ilgili ise iste kac kadar kendi kez ki kim kime
        kimi kimin kimse mi mu nasil ne neden nedenle nedir nerede nereye nicin niye o olan olarak oldu oldugu
        olmak olmasi olup on ona onlar onu onun sadece sanki sen siz sonra su ta tarafindan tum var ve veya ya yani
        yapilan yine yok zaman
    """,
    "el": """
        αλλα αν απο αυτα αυτεσ αυτη αυτο αυτοι αυτοσ αυτου αυτουσ αυτων γι για γιατι δε δεν εαν ειμαι ειναι ειχαν
        ειχε εκει εκεινοσ ενα εναν ενασ ενοσ επειδη επι ετσι εχει εχουν η ηταν θα και κατα κι μασ με μεσα μετα
        μεταξυ μη μην μια μιασ μου να ο οι ομωσ οποια οποιο οποιοσ οπου οπωσ οσο οτι ου ποια ποιεσ ποιο ποιοι ποιον
        ποιοσ ποιου ποσα ποσεσ ποσο ποσοι ποτε που προσ πωσ σαν σασ σε σου στα στη στην στισ στο στον στουσ τα τη
        την τησ τι τισ το τον του τουσ των ωσ ωστε
    """,
    "ar": """
        ا اذا الا التی الذی الذین الی ام ان انه انها او ای ایضا این ایه بعد بعض به بها بین بینما تلک تم ثم حتی حول
        حیث خلال ذلک علی علیه علیها عن عند عندما غیر فی فیه فیها قبل قد لا لان لدی لقد لم لماذا لن له لها لکن ما
        ماذا متی مثل مع من منذ منه منها نحو نفس ها هذا هذه هل هم هن هناک هو هی و وقد ولا وهو وهی وکان کان کانت کل
        کم کما کیف یتم یمکن یکون
    """,
    "fa": """
        از است اما ان انها اگر این اینکه با باید بر برای به بود بودند بین تا تر خود دارد در دو را روی شد شده شود طی
        ما مانند مورد می نمی نیز نیست ها های هر هم همه هیچ و وی چرا چند چه چگونه چیست کجا کدام کرد کرده کند کنند که
        کی یا یک
    """,
    "hi": """
        अपना अपनी अपने अब आदि आप इन इस इसका इसकी इसके इसमें इसे उन उनका उनकी उनके उन्हें उस उसका उसकी उसके उसे एक
        एवं और कई कब कर करता करते करना करने करें का कि कितना कितनी कितने किया किस किसका किसकी किसके किसने किसी किसे
        की कुछ के को कोई कौन कौनसा कौनसी क्या क्यों गई गए गया जब जहां जा जाता जाती जाते जिस जिसका जिसके जिसमें जो
        तक तथा तब तो था थी थे दिया द्वारा नहीं ने पर फिर बहुत भी में यदि यह या ये रहा रही रहे लिए ले वह वहां वाला
        वाली वाले वे सकता सकते सब सभी साथ से हम ही हुआ हुई हुए हूं है हैं हो होता होती होते होना होने
    """,
    "id": """
        ada adalah agar akan anda antara apa apakah atas atau bagaimana bagi bahwa banyak beberapa berapa bisa
        bukan dalam dan dapat dari dengan di dia hanya harus hingga ia ini itu jika juga kami kapan karena ke
        kepada ketika kita lebih mana masih mereka merupakan namun oleh pada para saat saja sangat saya sebagai
        sebelum secara sejak seperti serta setelah siapa suatu sudah tanpa tapi telah tentang terhadap tersebut
        tetapi tidak untuk yaitu yang
    """,
    "vi": """
        ai bao bi boi cac cai chi cho co cu cua cung da dang dau day de den do duoc gi hay ho hoac hon khi khong la
        lai len ma may mot nao nay nen neu ngay nhieu nhu nhung o ra rang rat sao sau se tai theo thi tren trong
        truoc tu va van vao ve vi voi
    """,
}  # fmt: skip
_CJK_SIGNS = frozenset("的了吗呢吧么谁哪是嗎麼誰")
_CJK_PAIRS = """
    一个 一個 什麼 他们 他們 以及 但是 何时 何時 你们 你們 几个 可以 哪裡 因为 因為 多少 她们 她們 如何
    如果 它们 幾個 怎樣 怎样 我们 我們 或者 所以 有多 為何 为何 而且 這些 這個 这个 这些 那个 那些 那個
    는가 니까 떻게 누구 무슨 무엇 습니 어디 어떤 어떻 언제 얼마 에서 으로 이다 인가 입니 있는 하는 한다
    합니 했다
"""
_BY_SCRIPT = frozenset({"ru", "uk", "el", "ar", "fa", "hi"})
_ENOUGH = {"en": 1, **dict.fromkeys(_BY_SCRIPT, 1)}


@cache
def languages() -> dict[str, frozenset[str]]:
    """The stop words of each language, as `fold` writes them; English first."""
    return {language: frozenset(listed.split()) for language, listed in _LISTS.items()}


def stop_words(words: Iterable[str]) -> frozenset[str]:
    """Which of a query's folded words are stop words of the language that it seems to be written in.

    Languages are told apart by their stop words alone; one of them proves English or a script of its own, any other
    language takes two ("war" and "die" are German, but "war" is not).
    """
    asked = frozenset(words)
    best: frozenset[str] = frozenset()
    for language, listed in languages().items():
        found = asked & listed
        if len(found) > len(best) and len(found) >= _ENOUGH.get(language, 2):
            best = found
    return best


@cache
def _cjk_pairs() -> frozenset[str]:
    return frozenset(_CJK_PAIRS.split())


def is_stop_pair(pair: str) -> bool:
    """Whether a pair of CJK characters only holds a sentence together: 的, 什么, two hiragana, a Korean ending."""
    return pair in _cjk_pairs() or not _CJK_SIGNS.isdisjoint(pair) or all("\u3041" <= sign <= "\u309f" for sign in pair)

"""What people ask about a project, as data: the words of the question, of a heading, and of a line that answers it."""

from __future__ import annotations

import re

import msgspec

__all__ = ["TOPICS", "Topic", "asked_topics"]


class Topic(msgspec.Struct, frozen=True):
    """One thing that can be asked about a project, in English and Chinese."""

    name: str
    label: str
    label_zh: str
    asks: str
    """A pattern of the question."""
    headings: str
    """A pattern of a section's name."""
    lines: str
    """A pattern of a line that answers by itself: a command, an address, a name."""
    commands: bool = False
    """The answer is something to type."""


TOPICS: tuple[Topic, ...] = (
    Topic(
        "install",
        "install",
        "安装",
        asks=r"\binstall|\bset ?up\b|安装|装上|搭建",
        headings=r"\binstall|\bset ?up\b|getting started|quick ?start|安装|快速开始|快速上手|环境准备",
        lines=r"\b(?:pip3?|pipx|uv|conda|brew|apt(?:-get)?|cargo|go|gem|npm|pnpm|yarn|bun|composer|poetry|make|scripts?/)"
        r"\s*(?:pip\s+)?(?:install|add|sync|ci\b|i\b|get\b|setup)|^\s*(?:\$ )?(?:yarn|git clone \S+)|-m venv\b",
        commands=True,
    ),
    Topic(
        "start",
        "start",
        "启动",
        asks=r"\bstart|\brun(?:ning)?\b|\blaunch|\bserve\b|\bboot\b|\bbring .*up\b|启动|运行|跑起来|开起来|起服务",
        headings=r"\bstart|\brun(?:ning)?\b|\blaunch|\bserv(?:e|ing)\b|\busage\b|quick ?start|development|启动|运行"
        r"|快速开始|快速上手|使用|开发",
        lines=r"\b(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:start|dev|serve|preview)\b|\bpython3?\s+(?:-m\s+(?!venv|pip|pytest|"
        r"unittest|build)|\S+\.py)|\buvicorn\b|\bgunicorn\b|\bflask\b.*\brun\b|\bmanage\.py runserver|\bstreamlit run"
        r"|\bdocker(?:-compose| compose)?\s+(?:run|up)\b|\bmake\s+(?:run|start|serve|dev|up)\b|\bcargo run|\bgo run"
        r"|\bnode\s+\S+|\bdeno run|\bjava\s+-jar|\b(?:mvnw?|gradlew?)\s.*run\b|\brails s\b|\bdotnet run|\buv run\b"
        r"|\S*(?:/|^)(?:run|start|serve|dev)(?:\.sh)?(?:\s|$)|\"(?:start|dev|serve)\"\s*:",
        commands=True,
    ),
    Topic(
        "test",
        "test",
        "测试",
        asks=r"\btest|测试",
        headings=r"\btest|测试",
        lines=r"\bpytest\b|\btox\b|\bnox\b|\b(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?test|\b(?:cargo|go|make|dotnet|mvn|mvnw|"
        r"gradlew)\s+test|\bunittest\b|scripts?/test|\bctest\b|\"test\"\s*:",
        commands=True,
    ),
    Topic(
        "build",
        "build",
        "构建",
        asks=r"\bbuild|\bcompil|\bpackag|构建|编译|打包",
        headings=r"\bbuild|\bcompil|构建|编译|打包",
        lines=r"\b(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?build|\b(?:cargo|go|docker|dotnet)\s+build|\bmake(?:\s+(?:all|build))?"
        r"\s*$|\bcmake\b|\bpython3? -m build|\"build\"\s*:",
        commands=True,
    ),
    Topic(
        "deploy",
        "deploy",
        "部署",
        asks=r"\bdeploy|\bdocker\b|\brelease\b|部署|发布",
        headings=r"\bdeploy|\bdocker\b|\brelease|部署|发布",
        lines=r"\bdocker\b|\bkubectl\b|\bhelm\b|\bfly deploy|\bvercel\b",
        commands=True,
    ),
    Topic(
        "port",
        "port or address",
        "端口或地址",
        asks=r"\bport\b|\baddress\b|\burl\b|\blocalhost\b|端口|地址|网址|哪里打开",
        headings=r"\bport\b|端口",
        lines=r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]):\d{2,5}|\bport\b\D{0,12}\d{2,5}|\d{2,5}\D{0,3}\bport\b"
        r"|端口\D{0,8}\d{2,5}",
    ),
    Topic(
        "licence",
        "licence",
        "许可证",
        asks=r"\blicen[cs]e|许可|授权|开源协议|协议",
        headings=r"\blicen[cs]e|\bcopying\b|许可|协议|授权",
        lines=r"\blicen[cs]ed?\b|\bApache-2|\bMIT\b|\bGPL|许可证|协议",
    ),
    Topic(
        "version",
        "version",
        "版本",
        asks=r"\bversion|版本",
        headings=r"\bversion|版本|\brequire|\bprerequisite",
        lines=r"\bversion\b|\bv\d+\.\d+|\b(?:python|node(?:\.js)?|go|rust|java|ruby|npm|php|\.net)\W{1,4}v?\d+|版本"
        r"|\d+(?:\.\d+)*\s*(?:\+|or (?:newer|later|above)|以上)|>=\s*\d",
    ),
    Topic(
        "requirements",
        "requirements",
        "要求",
        asks=r"\brequire|\bprerequisite|\bdependenc|\bneed(?:ed)? (?:to have|before|first)|依赖|前置|环境要求|需要什么",
        headings=r"\brequire|\bprerequisite|\bdependenc|依赖|要求|前置|准备",
        lines=r"\brequires?\b|\bneeds?\b|\bdepends? on\b|需要|依赖|以上版本",
    ),
    Topic(
        "configuration",
        "configuration",
        "配置",
        asks=r"\bconfig|\benv(?:ironment)? ?var|\.env\b|\bsetting|\bapi key|配置|环境变量|设置|密钥",
        headings=r"\bconfig|\benvironment|\bsetting|配置|环境变量|设置",
        lines=r"\b[A-Z][A-Z0-9]+_[A-Z0-9_]+\b|\bexport \w+=|\.env\b|环境变量|\bconfig\S*\.(?:toml|ya?ml|json|ini)\b",
    ),
    Topic(
        "contributing",
        "contributing",
        "贡献",
        asks=r"\bcontribut|贡献",
        headings=r"\bcontribut|贡献",
        lines=r"\bpull request|\bcontribut|贡献",
    ),
    Topic(
        "author",
        "author",
        "作者",
        asks=r"\bauthor|\bmaintain|\bwho (?:wrote|made|is behind)|作者|谁写|维护者",
        headings=r"\bauthor|\bmaintain|\bcredits?\b|\bcontact|作者|维护|联系",
        lines=r"\bauthors?\b|\bmaintaine[dr]|\bcopyright\b|\bwritten by\b|作者|维护者",
    ),
    Topic(
        "about",
        "what it is",
        "是什么",
        asks=r"\bwhat(?:'s| is| does)\b.*\b(?:it|this|project|file|repo|app|program|do|about|say|contain)|\bsummar"
        r"|\boverview|\bdescri|\bexplain|\babout\b|是什么|干什么|做什么|介绍|总结|概述|概括|说了什么|讲了什么|内容|解释",
        headings=r"\babout\b|\boverview|\bintroduc|\bfeature|简介|介绍|概述|特性",
        lines=r"(?!)",
    ),
)


_RUN_SOMETHING_ELSE = re.compile(
    r"\b(?:run|start)\w*\s+(?:(?:the|its|all|any|unit)\s+)*(?=test|build|deploy)|运行(?=(?:所有|全部|单元)?测试)",
    re.IGNORECASE,
)


def asked_topics(question: str) -> tuple[Topic, ...]:
    """The topics that the question names, in the order of the table; "run the tests" does not ask how to start."""
    rest = _RUN_SOMETHING_ELSE.sub(" ", question)
    return tuple(
        topic for topic in TOPICS if re.search(topic.asks, rest if topic.name == "start" else question, re.IGNORECASE)
    )

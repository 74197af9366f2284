#!/usr/bin/env python3
"""The documents, comments, messages and help texts contain none of the phrases that make this project's sentences hard to read.

Usage: phrases.py ROOT. Prints FILE:LINE and the phrase for each hit and exits with status 1 if there is one. PHRASES has each pattern with
what to write instead. Checked are the files that git tracks (or, without git, all files of the folders below): Markdown, manual pages
and texts as a whole, code in its comments and string literals.

Headings may begin with "What" ("What Tally costs"): a heading is a label, not a sentence, and readers look for these words. The
same holds for a link whose text is such a heading.
"""
import pathlib
import re
import subprocess
import sys

PHRASES = [
    (r"\b(?:Of|By|Whether|What)\b(?= [a-z`])", "begin the sentence with its subject"),
    (r"\bthat of\b", "repeat the noun"),
    (r"\banew\b", "again"),
    (r"\bbeside\b", "next to, besides, with"),
    (r"\bby the clock\b", "wall clock"),
    (r"\bin turn\b", "alternately, one after another"),
    (r"\bnone is\b", "say what is missing"),
    (r"\bno two\b", "all differ"),
    (r"\bis told\b", "say who tells, or what is returned"),
    (r"\bwhat is named\b", "name it"),
    (r"\btakes it\b", "say what happens: uses, needs, copies"),
    (r"\bof other people\b", "third-party"),
]
# Only in documents: comments have other uses for these words.
DOCUMENT_PHRASES = [
    (r"\bhas to\b", "must"),
    (r"(?<![Tt]here.)\bis no (?!longer\b|more\b)[a-z]+", "is not a"),
    (r"\bof (?:its|their) own\b(?=[.,;:|)])", "separate, or put own before the noun"),
    (r"\bof ours\b", "Tally's"),
    (r"\bat hand\b", "say which"),
    (r"\bbut for\b", "except"),
]
PATTERNS, DOCUMENT_PATTERNS = ([(re.compile(pattern.replace(" ", r"\s+")), advice) for pattern, advice in phrases]
                               for phrases in (PHRASES, PHRASES + DOCUMENT_PHRASES))
FOLDERS = ("src", "docs", "tests", "scripts", "include", "bench", "examples", "fuzz", "cmake", "packaging")
PROSE = (".md", ".1", ".txt")
DOCUMENTS = (".md", ".1")
C_LIKE = (".h", ".cpp", ".c", ".inc", ".def", ".in", ".ts", ".mjs", ".js", ".css", ".comp", ".frag", ".vert", ".mesh", ".task", ".glsl",
          ".geom", ".tesc", ".tese", ".rgen", ".rahit", ".rchit", ".rmiss", ".rint", ".rcall", ".hlsl", ".qml")
HASH = (".py", ".sh", ".cmake", ".yml", ".yaml", ".supp", "")
# Texts of others, and lists that are no prose.
SKIPPED = ("LICENSE", "tests/corpus/frozen.sha256", "tests/checks/phrases.py", "tests/checks/commands.txt", "include/tally/vulkan_newest.h")
STRING = r'"(?:[^"\\\n]|\\.)*"'
CODE = {
    "c": re.compile(r"//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/|(?P<text>%s|'(?:[^'\\\n]|\\.){4,}')" % STRING, re.DOTALL),
    "hash": re.compile(r'(?P<block>""".*?""")|(?P<text>%s|\'(?:[^\'\\\n]|\\.)*\')|(?<!\S)#(?P<line>[^\n]*)' % STRING, re.DOTALL),
}


def prose_of(name, text):
    """The text with everything but prose blanked, at the same places."""
    suffix = pathlib.PurePath(name).suffix
    if suffix in PROSE and pathlib.PurePath(name).name != "CMakeLists.txt":
        if suffix == ".md":  # code stays out, and so do headings and links to them
            text = re.sub(r"^(```|~~~).*?^\1|^#[^\n]*|^    [^\n]*|`[^`\n]*`|\[What [^\]]*\]\(", blank, text, flags=re.MULTILINE | re.DOTALL)
        return text
    language = "c" if suffix in C_LIKE else "hash" if suffix in HASH or name.endswith("CMakeLists.txt") else None
    if language is None:
        return ""
    kept = list(blank_text(text))
    for match in CODE[language].finditer(text):
        group = match.lastgroup
        kept[match.start(group):match.end(group)] = text[match.start(group):match.end(group)]
    return "".join(kept)


def blank(match):
    return blank_text(match[0])


def blank_text(text):
    return re.sub(r"[^\n]", " ", text)


def hits(name, text):
    """(line, phrase, advice) of each banned phrase of a file. A phrase may go on in the next line of a comment."""
    prose = prose_of(name, text)
    for pattern, advice in DOCUMENT_PATTERNS if name.endswith(DOCUMENTS) else PATTERNS:
        for match in pattern.finditer(prose):
            yield prose.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), advice


def files(root):
    try:
        names = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=True).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        names = [file.relative_to(root).as_posix() for folder in FOLDERS for file in (root / folder).rglob("*")]
        names += [file.name for file in root.iterdir()]
    return sorted(name for name in names if name and (root / name).is_file() and name not in SKIPPED)


def check(root):
    for name in files(root):
        try:
            text = (root / name).read_text()
        except UnicodeDecodeError:
            continue
        for line, phrase, advice in sorted(hits(name, text)):
            yield f"{name}:{line}: \"{phrase}\": {advice}"


def self_test():
    def found(name, text):
        return [(line, phrase) for line, phrase, _ in sorted(hits(name, text))]

    assert found("a.md", "# What it costs\n[What it costs](b.md)\nBy hand.\n\n    none is\n") == [(3, "By")]
    assert found("a.h", "// Of the blocks\nint beside = 1;  // counts in\n// turn\n") == [(1, "Of"), (2, "in turn")]
    assert found("a.cpp", 'f("Whether it runs");\n/* taken\n anew */\n') == [(1, "Whether"), (3, "anew")]
    assert found("a.py", "x = 1  # that of y\nbeside = 'anew'\n") == [(1, "that of"), (2, "anew")]
    assert found("a.cpp", 'By by; What what = f("of it", "What");\n') == []
    assert found("a.md", "It has to be, is no file,\nhas a row of its own. Its own row is no longer\nthere. There is no file.\n") == [
        (1, "has to"), (1, "is no file"), (2, "of its own")]
    assert found("a.h", "// has to be a row of its own.\n") == []


def main():
    self_test()
    violations = list(check(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(violations) if violations else "no banned phrase")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())

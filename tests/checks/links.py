#!/usr/bin/env python3
"""Every link and every path that the documents name exists, and a reader of docs/index.md can reach every page.

Usage: links.py ROOT. Prints each violation and exits with status 1 if there is one. Checked are
- in *.md: relative links, with their anchors, and paths such as `src/base/log.h` or `docs/index.md`, as text or code;
- in code, scripts, CMake files and man pages: paths of documents (docs/...);
- every docs/**/*.md: links lead to it from docs/index.md;
- docs/reference/queries-chapter.md: the tests that it names are in a C++ file of tests/ or src/.
A path may hold `*` and `{a,b}`, as a shell expands them, and then has to match a file.
"""
import pathlib
import re
import sys
import tempfile

FOLDERS = ("src", "docs", "tests", "scripts", "include", "bench", "examples", "fuzz", "cmake")
CODE = (".h", ".cpp", ".c", ".py", ".txt", ".cmake", ".comp", ".glsl", ".1", ".in", "")
LINK = re.compile(r"\]\(([^)\s]+)\)")
# Not inside of a longer path: build/release/bin, <prefix>/include.
PATH = re.compile(r"(?<![\w/.>}-])((?:%s)/[\w./*{},-]*)" % "|".join(FOLDERS))
DOCUMENT = re.compile(r"(?<![\w/.>}-])(docs/[\w./-]+)")
TEST = re.compile(r"`(?:\w+\.)?([a-z0-9]+(?:_[a-z0-9]+){2,})`")  # in snake_case, with its suite or without
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def expand(path):
    """The patterns of a path with {a,b}."""
    if not (match := re.search(r"\{([^{}]*)\}", path)):
        return [path]
    return [one for choice in match[1].split(",")
            for one in expand(path[:match.start()] + choice + path[match.end():])]


def exists(root, path):
    path = path.rstrip(".,")
    return all(any(root.glob(one.rstrip("/"))) for one in expand(path))


def anchors(text):
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ +(.+?) *$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page):
    """(target as written, file or None where it leads out of the tree, anchor) of each link of a page."""
    for target in LINK.findall(FENCE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        yield target, (page.parent / file).resolve() if file else page.resolve(), anchor


def check_page(root, page):
    name = page.relative_to(root).as_posix()
    for target, file, anchor in links(page):
        if not file.exists():
            yield f"{name}: the link {target} leads nowhere"
        elif anchor and anchor not in anchors(file.read_text()):
            yield f"{name}: the link {target} names no heading"
    for path in PATH.findall(LINK.sub("]", page.read_text())):
        if not exists(root, path):
            yield f"{name}: {path} does not exist"


def check_code(root, file):
    try:
        text = file.read_text()
    except UnicodeDecodeError:
        return
    for path in DOCUMENT.findall(text):
        if not exists(root, path):
            yield f"{file.relative_to(root).as_posix()}: {path} does not exist"


def unreached(root):
    """Pages of docs/ that no chain of links from docs/index.md leads to."""
    seen, left = set(), [(root / "docs/index.md").resolve()]
    while left:
        page = left.pop()
        if page in seen or not page.exists() or page.suffix != ".md":
            continue
        seen.add(page)
        left += [file for _, file, _ in links(page)]
    for page in sorted(root.glob("docs/**/*.md")):
        if page.resolve() not in seen:
            yield f"{page.relative_to(root).as_posix()}: docs/index.md does not lead to it"


def missing_tests(root):
    """Tests that the page on the queries chapter names and nobody has."""
    page = root / "docs/reference/queries-chapter.md"
    named = set(TEST.findall(page.read_text())) if page.exists() else set()
    if named:
        code = "\n".join(file.read_text() for folder in ("src", "tests") for file in (root / folder).rglob("*.cpp"))
        named -= set(re.findall(r"\w+", code))
    for test in sorted(named):
        yield f"{page.relative_to(root).as_posix()}: there is no test {test}"


def files(root):
    yield from (file for file in sorted(root.iterdir()) if file.is_file() and not file.is_symlink())
    for folder in FOLDERS:
        yield from (file for file in sorted((root / folder).rglob("*")) if file.is_file())


def check(root):
    violations = []
    for file in files(root):
        if file.suffix == ".md":
            violations += check_page(root, file)
        elif file.suffix in CODE and file.resolve() != pathlib.Path(__file__).resolve():
            violations += check_code(root, file)
    return violations + list(unreached(root)) + list(missing_tests(root))


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name in ("docs", "src/base"):
            (root / name).mkdir(parents=True)
        (root / "docs/index.md").write_text("# Start here\n[a](a.md) [b](#start-here) `src/base/{log,hash}.h`\n"
                                            "[c](https://example.com) build/src/none `src/base/*.h`\n")
        (root / "docs/a.md").write_text("# A page: of `all`\n[back](index.md#start-here)\n")
        for name in ("log.h", "hash.h"):
            (root / "src/base" / name).write_text("// docs/a.md says more.\n")
        assert check(root) == [], check(root)
        assert anchors((root / "docs/a.md").read_text()) == {"a-page-of-all"}
        (root / "docs/a.md").write_text("[x](b.md) [y](index.md#end) src/base/none.h `src/base/{log,none}.h`\n")
        (root / "docs/alone.md").write_text("")
        (root / "src/base/log.h").write_text("// docs/none.md\n")
        assert len(check(root)) == 6, check(root)
        (root / "docs/reference").mkdir()
        (root / "docs/reference/queries-chapter.md").write_text("`Suite.one_that_exists`, `one_that_does_not`\n")
        (root / "src/base/base_test.cpp").write_text("TEST(Suite, one_that_exists) {}\n")
        assert [line for line in check(root) if "there is no test" in line] == [
            "docs/reference/queries-chapter.md: there is no test one_that_does_not"]


def main():
    self_test()
    violations = check(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join(violations) if violations else "every link and path of the documents leads somewhere")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())

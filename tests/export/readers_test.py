#!/usr/bin/env python3
"""Exports, opened by programs with a window and by programs that scripts/fetch-export-readers fetches.

Usage: readers_test.py TALLY WRITE_CAPTURES READERS
Screenshots are written to the folder that TALLY_SCREENSHOTS names.
"""
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TALLY, WRITE_CAPTURES = map(os.path.abspath, sys.argv[1:3])
READERS = pathlib.Path(sys.argv[3]).resolve()
SAMPLE_INSTRUCTIONS = 24_053_078  # as in export_test.py

# Without a display server, which ends with this, KCachegrind ends, too.
KCACHEGRIND = """
dbus-run-session -- kcachegrind "$1" &
window=$(timeout 60 xdotool search --sync --onlyvisible --name "$1" | head -n 1)
xdotool getwindowname "$window"
if [ -n "${TALLY_SCREENSHOTS:-}" ]; then
  xdotool windowsize "$window" 1380 880
  sleep 2  # for people to look at: nothing depends on it
  import -window root "$TALLY_SCREENSHOTS/kcachegrind.png"
fi
"""


class Browser:
    """A headless Chromium, through its debugging protocol: JSON that ends with a zero byte, over pipes."""

    def __init__(self, folder):
        (child_in, self.to), (self.of, child_out) = os.pipe(), os.pipe()
        command = f'exec chromium "$@" 3<&{child_in} 4>&{child_out}'
        self.process = subprocess.Popen(
            ["bash", "-c", command, "bash", "--headless=new", "--no-sandbox", "--use-angle=swiftshader",
             "--enable-unsafe-swiftshader", "--allow-file-access-from-files", "--remote-debugging-pipe",
             f"--user-data-dir={folder}"], pass_fds=(child_in, child_out), stderr=subprocess.DEVNULL)
        os.close(child_in)
        os.close(child_out)
        self.data, self.last = b"", 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def call(self, method, session=None, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.data:
                piece = os.read(self.of, 1 << 20)
                if not piece:
                    raise AssertionError(f"the browser ended during {method}")
                self.data += piece
            answer, _, self.data = self.data.partition(b"\0")
            answer = json.loads(answer)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise AssertionError(answer["error"])
                return answer["result"]

    def text_of(self, url, awaited):
        """The text of a page when it contains `awaited`, or after a minute; and a picture of the page."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.navigate", session, url=url)  # answers when the page is there
        script = """new Promise(resolve => {
          const look = () => { if (document.body?.innerText.includes(%s)) resolve(document.body.innerText); };
          new MutationObserver(look).observe(document, {childList: true, subtree: true, characterData: true});
          setTimeout(() => resolve(document.body.innerText), 60000);
          look();
        })""" % json.dumps(awaited)
        text = self.call("Runtime.evaluate", session, expression=script, awaitPromise=True)["result"]["value"]
        return text, base64.b64decode(self.call("Page.captureScreenshot", session)["data"])


class Readers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tally-readers-"))
        subprocess.run([WRITE_CAPTURES, cls.folder], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def tally(self, *arguments):
        subprocess.run([TALLY, *arguments], check=True, cwd=self.folder)

    def test_kcachegrind_opens_a_callgrind_export(self):
        self.tally("export", "--format", "callgrind", "-o", "callgrind.out.sample", "sample.tally")
        home = self.folder / "home"
        (home / ".config").mkdir(parents=True)
        home.chmod(0o700)
        (home / ".config" / "kcachegrindrc").write_text("[TipOfDay]\nRunOnStart=false\n")
        done = subprocess.run(
            ["xvfb-run", "-a", "-s", "-screen 0 1400x900x24", "bash", "-c", KCACHEGRIND, "bash", "callgrind.out.sample"],
            cwd=self.folder, env={**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(home)}, capture_output=True,
            text=True, timeout=120)
        # The title names the file and, from its header, the program.
        self.assertIn("callgrind.out.sample [renderer --fast]", done.stdout, done.stderr)
        self.assertNotRegex(done.stderr, r"(?i)parse|syntax|invalid|garbage")

    def test_speedscope_imports_the_stacks_with_their_values(self):
        self.tally("export", "--format", "speedscope", "-o", "sample.json", "sample.tally")
        # How speedscope's own command gives a file to its page.
        data = base64.b64encode((self.folder / "sample.json").read_bytes()).decode()
        script = self.folder / "sample.js"
        script.write_text(f"speedscope.loadFileFromBase64({json.dumps('sample.json')}, {json.dumps(data)})")
        page = READERS / "speedscope" / "dist" / "release" / "index.html"
        with Browser(self.folder / "browser") as browser:
            text, picture = browser.text_of(f"file://{page}#localProfilePath={script}&view=sandwich", "lit.frag:5")
        if folder := os.environ.get("TALLY_SCREENSHOTS"):
            (pathlib.Path(folder) / "speedscope.png").write_bytes(picture)
        # A row: total, with its share, self, with its share, name.
        rows = {name: (int(total.replace(",", "")), int(own.replace(",", ""))) for total, own, name in re.findall(
            r"([\d,]+) \([^)]*%\)\s+([\d,]+) \([^)]*%\)\s+(\S[^\n]*)", text)}
        self.assertEqual(sum(own for _, own in rows.values()), SAMPLE_INSTRUCTIONS, text)
        lines = [own for name, (_, own) in rows.items() if name.startswith("lit.frag:")]
        self.assertEqual(rows["lit.frag fragment: main"], (sum(lines), 0))

    def test_genhtml_of_lcov_2_makes_its_pages_without_a_message(self):
        (self.folder / "sources").mkdir()
        self.tally("coverage", "sample.tally", "--format", "lcov", "-o", "coverage.info", "--sources", "sources")
        lcov = READERS / "lcov" / "usr"
        done = subprocess.run(
            ["perl", "-I", lcov / "share" / "perl5", lcov / "bin" / "genhtml", "--branch-coverage", "-o", "../pages",
             "../coverage.info"], cwd=self.folder / "sources", capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("no messages were reported", done.stdout)
        self.assertNotRegex(done.stdout + done.stderr, "WARNING|ERROR")
        self.assertIn("4 of 4 lines", done.stdout)
        self.assertTrue((self.folder / "pages" / "index.html").exists())


if __name__ == "__main__":
    wanted = [READERS / "speedscope", READERS / "lcov"]
    missing = [str(path) for path in wanted if not path.exists()]
    missing += [name for name in ("chromium", "kcachegrind", "xdotool", "xvfb-run", "dbus-run-session") if not shutil.which(name)]
    if missing:
        print("not there: " + ", ".join(missing) + "; scripts/fetch-export-readers and scripts/setup get them")
        sys.exit(1 if os.environ.get("TALLY_REQUIRE_DRIVERS") == "1" else 77)
    unittest.main(argv=sys.argv[:1])

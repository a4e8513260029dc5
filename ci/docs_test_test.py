"""Every block is run once, in one directory, and one that fails is said and counted."""

import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import script_runner

PAGE = """
```sh
echo once >> count
```
```sh exits=0,3
exit 3
```
```text
exit 1
```
```sh
echo once >> count
```
```sh
test "$(wc -l < count)" = 1
```
"""


class DocsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.page = pathlib.Path(self.folder.name) / "page.md"

    def run_page(self, text, *arguments):
        self.page.write_text(text)
        return script_runner.run("docs-test", *arguments, self.page)

    def test_each_block_runs_once_in_one_directory(self):
        done = self.run_page(PAGE)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("3 passed, 0 failed", done.stdout)

    def test_a_block_that_fails_is_shown_with_its_output(self):
        done = self.run_page("```sh\necho because; exit 3\n```\n```sh\ntrue\n```\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("exit 3 of:\necho because; exit 3\n\nbecause\n", done.stdout)
        self.assertIn("1 passed, 1 failed", done.stdout)

    def test_what_the_caller_has_run_is_left_out(self):
        done = self.run_page("```sh\nfalse\n```\n```sh\ntrue\n```\n", "--ran", "false")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("1 passed, 0 failed", done.stdout)

    def test_a_page_without_blocks_is_no_pass(self):
        self.assertEqual(self.run_page("text\n").returncode, 1)


if __name__ == "__main__":
    unittest.main()

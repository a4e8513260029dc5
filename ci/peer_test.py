"""Pairs alternate, ratios are those of pairs, and what fails says so in one line."""

import builtins
import contextlib
import dis
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock

sys.dont_write_bytecode = True
SCRIPTS = pathlib.Path(__file__).resolve().parent / "peers.d"
sys.path.insert(0, str(SCRIPTS))
import peer


def load(path):
    """The script as a module, without what it does when it is run."""
    loader = importlib.machinery.SourceFileLoader(f"peers_{path.name}", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def missing(code, module):
    """The global names, and those of `peer`, that this code reads and nobody gives."""
    names, of_peer = [], False
    for step in dis.get_instructions(code):
        if of_peer and not hasattr(peer, step.argval):
            names.append(f"peer.{step.argval}")
        is_global = step.opname == "LOAD_GLOBAL"
        if is_global and not hasattr(module, step.argval) and not hasattr(builtins, step.argval):
            names.append(step.argval)
        of_peer = step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and step.argval == "peer"
    inner = [missing(part, module) for part in code.co_consts if isinstance(part, types.CodeType)]
    return names + [name for found in inner for name in found]


class Peer(unittest.TestCase):
    def setUp(self):
        self.argv, sys.argv = sys.argv, ["ci/peers.d/sample"]
        self.folder = tempfile.TemporaryDirectory()
        self.binaries = pathlib.Path(self.folder.name)

    def tearDown(self):
        sys.argv = self.argv
        self.folder.cleanup()

    def says(self, work):
        """What `work` says when it ends the script."""
        with self.assertRaises(SystemExit) as ended:
            work()
        return ended.exception.code

    def binary(self, output, code=0):
        path = self.binaries / "bench_sample"
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\nexit {code}\n", encoding="utf-8")
        path.chmod(0o700)

    def test_who_goes_first_alternates(self):
        calls = []
        with contextlib.redirect_stderr(io.StringIO()) as said:
            pairs = peer.take_pairs("x", 3, "1/s", lambda: calls.append("ours") or 2, lambda: calls.append("peer") or 1)
        self.assertEqual(calls, ["ours", "peer", "peer", "ours", "ours", "peer"])
        self.assertEqual(pairs, [(2, 1)] * 3)
        self.assertEqual(said.getvalue().splitlines()[0], "  x: pair 1 of 3: 2 beside 1 1/s")

    def test_the_ratio_is_the_median_of_the_pairs_ratios(self):
        row = peer.row("x", "1/s", [(10, 10), (40, 20), (9, 30)], True)
        self.assertEqual((row["ours"], row["peer"], row["ratio"]), (10, 20, 1))
        self.assertEqual((row["name"], row["pairs"], row["headline"]), ("sample x", 3, True))

    def test_a_command_that_fails_says_why_in_one_line(self):
        said = self.says(lambda: peer.run(["sh", "-c", "echo no such table >&2; echo 'LINE 1: x' >&2; exit 3"]))
        self.assertEqual(said, "peers.d/sample: sh failed with exit 3: no such table LINE 1: x")

    def test_a_side_that_did_nothing_is_no_pair(self):
        said = self.says(lambda: peer.take_pairs("x", 1, "1/s", lambda: 2, lambda: 0))
        self.assertEqual(said, "peers.d/sample: x: one side did nothing: 2 beside 0 1/s")

    def test_a_tool_that_printed_no_figure_is_no_number(self):
        self.assertEqual(peer.figure(r"tps = ([\d.]+)", "tps = 1\ntps = 2.5 (x)", "pgbench"), 2.5)
        said = self.says(lambda: peer.figure(r"tps = ([\d.]+)", "none\ntoday", "pgbench"))
        self.assertEqual(said, "peers.d/sample: pgbench printed no figure: none today")

    def test_a_command_that_is_not_there_names_the_setup(self):
        said = self.says(lambda: peer.run([self.binaries / "pgbench"]))
        self.assertRegex(said, r"^peers.d/sample: there is no .*/pgbench; ci/setup --peers")

    def test_a_failed_row_of_ours_is_no_number(self):
        self.binary('{"benchmarks": [{"name": "sample/a", "error_occurred": true, "error_message": "SERVER_CRASHED"}]}',
                    code=1)  # As our binaries end then.
        said = self.says(lambda: peer.our_rate(self.binaries, "a"))
        self.assertEqual(said, "peers.d/sample: sample/a: SERVER_CRASHED")

    def test_a_case_that_is_not_there_is_no_number(self):
        self.binary('{"benchmarks": []}')
        said = self.says(lambda: peer.our_rate(self.binaries, "a"))
        self.assertEqual(said, "peers.d/sample: there is no case sample/a")

    def test_a_binary_that_fails_without_rows_says_why(self):
        self.binary("selects none of the cases", code=2)
        self.assertRegex(self.says(lambda: peer.our_rate(self.binaries, "a")), "exit 2: selects none of the cases$")

    def test_items_count_where_an_operation_has_several(self):
        self.binary('{"benchmarks": [{"name": "sample/a", "operations_per_second": 3, "items_per_second": 30}]}')
        self.assertEqual(peer.our_rate(self.binaries, "a"), 30)
        self.binary('{"benchmarks": [{"name": "sample/a", "items_per_second": 30}]}')
        self.assertEqual(peer.our_rate(self.binaries, "a"), 30)
        self.binary('{"benchmarks": [{"name": "sample/a", "operations_per_second": 3}]}')
        self.assertEqual(peer.our_rate(self.binaries, "a"), 3)

    def test_parameters_become_variables(self):
        self.assertEqual(peer.with_variables("SELECT $2, $1", [":a", ":b"]), "SELECT :b, :a")

    def test_without_servers_it_says_how_to_get_them(self):
        with unittest.mock.patch.dict("os.environ", {"PLIMSOLL_INFRA_STATE": ""}):
            self.assertIn("run plimsoll-infra up", self.says(peer.state))
        state = self.binaries / "state.json"
        state.write_text('{"dsn": "x", "servers": {}, "absent": {"pooler": "no pgbouncer"}}', encoding="utf-8")
        with unittest.mock.patch.dict("os.environ", {"PLIMSOLL_INFRA_STATE": str(state)}):
            self.assertEqual(self.says(lambda: peer.server("pooler")), "peers.d/sample: the state file has no pooler "
                             "(no pgbouncer); run ci/setup, then plimsoll-infra up")
            self.assertIn("no redis (it was not started); run ci/setup", self.says(lambda: peer.server("redis")))

    def test_every_script_uses_names_that_exist(self):
        scripts = [path for path in sorted(SCRIPTS.iterdir()) if "." not in path.name and path.name[0] != "_"]
        self.assertGreaterEqual(len(scripts), 5)
        for path in scripts:
            code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
            self.assertEqual(missing(code, load(path)), [], path.name)


if __name__ == "__main__":
    unittest.main()

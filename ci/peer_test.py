"""Pairs alternate, ratios are those of pairs, and what fails says so in one line."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers.d"))
import peer


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

    def binary(self, output):
        path = self.binaries / "bench_sample"
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\n", encoding="utf-8")
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
        said = self.says(lambda: peer.run(["sh", "-c", "echo no such table >&2; exit 3"]))
        self.assertEqual(said, "peers.d/sample: sh failed with exit 3: no such table")

    def test_a_command_that_is_not_there_names_the_setup(self):
        said = self.says(lambda: peer.run([self.binaries / "pgbench"]))
        self.assertRegex(said, r"^peers.d/sample: there is no .*/pgbench; ci/setup --peers")

    def test_a_failed_row_of_ours_is_no_number(self):
        self.binary('{"benchmarks": [{"name": "sample/a", "error_occurred": true, "error_message": "SERVER_CRASHED"}]}')
        said = self.says(lambda: peer.our_rate(self.binaries, "a"))
        self.assertEqual(said, "peers.d/sample: sample/a: SERVER_CRASHED")

    def test_a_case_that_is_not_there_is_no_number(self):
        self.binary('{"benchmarks": []}')
        said = self.says(lambda: peer.our_rate(self.binaries, "a"))
        self.assertEqual(said, "peers.d/sample: there is no case sample/a")

    def test_items_count_where_an_operation_has_several(self):
        self.binary('{"benchmarks": [{"name": "sample/a", "operations_per_second": 3, "items_per_second": 30}]}')
        self.assertEqual(peer.our_rate(self.binaries, "a"), 30)
        self.binary('{"benchmarks": [{"name": "sample/a", "operations_per_second": 3}]}')
        self.assertEqual(peer.our_rate(self.binaries, "a"), 3)

    def test_parameters_become_variables(self):
        self.assertEqual(peer.with_variables("SELECT $2, $1", [":a", ":b"]), "SELECT :b, :a")

    def test_without_servers_it_says_how_to_get_them(self):
        with unittest.mock.patch.dict("os.environ", {"PLIMSOLL_INFRA_STATE": ""}):
            self.assertIn("run plimsoll-infra up", self.says(peer.state))
        state = self.binaries / "state.json"
        state.write_text('{"dsn": "x", "servers": {}}', encoding="utf-8")
        with unittest.mock.patch.dict("os.environ", {"PLIMSOLL_INFRA_STATE": str(state)}):
            self.assertIn("the state file has no redis", self.says(lambda: peer.server("redis")))


if __name__ == "__main__":
    unittest.main()

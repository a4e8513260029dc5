"""ctest says at its end which groups were skipped, and why, in a folder whose name holds a space too."""

import pathlib
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
REASON = "skipped, nothing measured; PLIMSOLL_BENCH=1 opens the gate"

PROJECT = f"""
cmake_minimum_required(VERSION 3.25)
project(Probe NONE)
enable_testing()
list(APPEND CMAKE_MODULE_PATH "{HERE.parent}/cmake")
include(PlimsollGroup)
add_test(NAME bench.first COMMAND ${{CMAKE_COMMAND}} -E echo "bench_first: {REASON}")
add_test(NAME bench.second_one COMMAND ${{CMAKE_COMMAND}} -E echo "bench_second_one: {REASON}")
add_test(NAME unit.other COMMAND ${{CMAKE_COMMAND}} -E echo "all is well")
set_tests_properties(bench.first bench.second_one PROPERTIES SKIP_REGULAR_EXPRESSION "skipped, ")
"""


class SkipReasonTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="with space ")
        self.addCleanup(folder.cleanup)
        self.source = pathlib.Path(folder.name)
        (self.source / "CMakeLists.txt").write_text(PROJECT)
        subprocess.run(["cmake", "-S", self.source, "-B", self.source / "build"], check=True, capture_output=True)

    def ctest(self, *arguments):
        run = subprocess.run(["ctest", "--test-dir", self.source / "build", *arguments],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(run.returncode, 0, run.stdout)
        return run.stdout

    def test_names_the_groups_and_the_reason(self):
        self.assertIn(f"\nfirst, second_one: {REASON}\n", self.ctest())

    def test_speaks_of_this_run_alone(self):
        self.ctest()
        said = self.ctest("-R", "first")
        self.assertIn(f"\nfirst: {REASON}\n", said)
        self.assertNotIn("first", self.ctest("-R", "other"))


if __name__ == "__main__":
    unittest.main()

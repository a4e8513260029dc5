"""Each way to go against the layers is found in a tree made for it, and what is allowed is not."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import script_runner

GROUPS = {"core": "", "pg": "plimsoll::core", "load": "plimsoll::core", "cache": "plimsoll::core fmt::fmt",
          "queue": "plimsoll::pg"}


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        for group, depends in GROUPS.items():
            self.write(f"lib/{group}/CMakeLists.txt", f"plimsoll_group({group} SOURCES x.cpp # plimsoll::load\n  DEPS {depends})\n")
            self.write(f"lib/{group}/x.cpp", f'#include "lib/{group}/x.hpp"\n#include "lib/core/result.hpp"\n#include <vector>\n')

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run_script(self, *arguments):
        return script_runner.run("check-layers", *arguments)

    def complaints(self):
        ran = self.run_script(self.root)
        self.assertEqual(ran.returncode, 1 if ran.stdout else 0, ran.stderr)
        return ran.stdout.splitlines()

    def assert_refused(self, path, text, *, line=1, because=""):
        self.write(path, text)
        complaints = self.complaints()
        self.assertEqual(len(complaints), 1, complaints)
        self.assertTrue(complaints[0].startswith(f"{path}:{line}: "), complaints[0])
        self.assertIn(because, complaints[0])

    def assert_allowed(self, path, text):
        self.write(path, text)
        self.assertEqual(self.complaints(), [])

    def test_a_tree_that_keeps_the_direction_passes(self):
        self.write("bench/cache/x_bench.cpp", '#include <benchmark/benchmark.h>\n#include "bench/harness/case.hpp"\n'
                                              '#include "lib/cache/x.hpp"\n#include "fixtures/infra.hpp"\n')
        self.write("bench/harness/case.hpp", '#include <benchmark/benchmark.h>\n#include "lib/load/runner.hpp"\n')
        self.write("fixtures/infra.cpp", '#include "fixtures/infra.hpp"\n#include "lib/core/result.hpp"\n')
        self.write("compare/cli/main.cpp", '#include "compare/model.hpp"\n#include "lib/core/result.hpp"\n')
        self.assertEqual(self.complaints(), [])

    def test_lib_never_sees_google_benchmark(self):
        self.assert_refused("lib/cache/y.cpp", "\n#include <benchmark/benchmark.h>\n", line=2, because="bench/")

    def test_nor_do_fixtures_or_compare(self):
        self.assert_refused("fixtures/y.cpp", "#include <benchmark/benchmark.h>\n")
        (self.root / "fixtures/y.cpp").unlink()
        self.assert_refused("compare/y.cpp", "#include <benchmark/benchmark.h>\n")

    def test_what_a_test_of_compare_compiles_may(self):
        self.assert_allowed("compare/ab/testdata/plain.cpp", "#include <benchmark/benchmark.h>\n")

    def test_lib_sees_fixtures_only_in_tests_that_need_a_server(self):
        include = '#include "fixtures/infra.hpp"\n'
        for name in ("x_pgtest.cpp", "x_redistest.cpp", "x_smtptest.cpp", "server_pgtest.hpp"):
            self.assert_allowed(f"lib/queue/{name}", include)
        self.assert_refused("lib/queue/x_test.cpp", include, because="only *_pgtest")

    def test_and_what_they_share_stays_with_them(self):
        self.write("lib/queue/server_pgtest.hpp", '#include "fixtures/infra.hpp"\n')
        self.assert_refused("lib/queue/y.hpp", '#include "lib/queue/server_pgtest.hpp"\n', because="need a server")

    def test_lib_does_not_read_the_environment(self):
        self.assert_refused("lib/cache/y.cpp", 'int a;\nauto b = std::getenv("B");\n', line=2, because="environment")

    def test_words_in_comments_and_texts_are_no_code(self):
        self.assert_allowed("lib/cache/y.cpp", '// getenv\n/* getenv()\n#include "bench/x.hpp" */\n'
                                               'auto a = "getenv"; auto b = R"x(getenv " )x"; char c = \'"\';\n')

    def test_a_server_test_may_read_it(self):
        self.assert_allowed("lib/queue/x_pgtest.cpp", 'auto b = getenv("B");\n')

    def test_lib_does_not_see_bench_or_compare(self):
        self.assert_refused("lib/cache/y.cpp", '#include "bench/harness/case.hpp"\n')
        self.assert_refused("lib/cache/y.cpp", '#include "compare/model.hpp"\n')

    def test_a_group_includes_another_only_if_its_cmake_line_says_so(self):
        self.assert_allowed("lib/queue/y.cpp", '#include "lib/pg/x.hpp"\n')
        self.assert_refused("lib/cache/y.cpp", '#include "lib/pg/x.hpp"\n', because="DEPS of lib/cache/CMakeLists.txt")

    def test_a_comment_in_cmake_is_no_dependency(self):
        self.assert_refused("lib/cache/y.cpp", '#include "lib/load/x.hpp"\n')

    def test_what_a_dependency_depends_on_may_be_included(self):
        self.write("lib/app/CMakeLists.txt", "plimsoll_group(app SOURCES x.cpp DEPS plimsoll::queue)\n")
        self.assert_allowed("lib/app/x.cpp", '#include "lib/pg/x.hpp"\n')

    def test_the_lower_storey_depends_on_no_group(self):
        self.assert_refused("lib/pg/CMakeLists.txt", "plimsoll_group(pg SOURCES x.cpp DEPS plimsoll::core plimsoll::cache)\n",
                            because="lies under")

    def test_core_depends_on_nobody(self):
        self.write("lib/core/CMakeLists.txt", "plimsoll_group(core SOURCES x.cpp DEPS plimsoll::pg)\n")
        self.assertTrue(any("lies under lib/pg" in line for line in self.complaints()))

    def test_groups_do_not_depend_in_a_circle(self):
        self.write("lib/cache/CMakeLists.txt", "plimsoll_group(cache DEPS plimsoll::core plimsoll::queue)\n")
        self.write("lib/queue/CMakeLists.txt", "plimsoll_group(queue DEPS plimsoll::core plimsoll::cache)\n")
        self.assertTrue(any("depends on itself" in line for line in self.complaints()))

    def test_fixtures_see_core_alone(self):
        self.assert_refused("fixtures/y.cpp", '#include "lib/pg/x.hpp"\n')
        self.assert_refused("fixtures/y.cpp", '#include "bench/harness/case.hpp"\n')

    def test_compare_sees_core_alone(self):
        self.assert_refused("compare/y.cpp", '#include "lib/load/x.hpp"\n')
        self.assert_refused("compare/y.cpp", '#include "fixtures/infra.hpp"\n')

    def test_bench_groups_do_not_know_each_other(self):
        self.assert_allowed("bench/cache/y.cpp", '#include "bench/cache/x.hpp"\n')
        self.assert_refused("bench/cache/y.cpp", '#include "bench/queue/x.hpp"\n')

    def test_the_harness_knows_no_group(self):
        self.assert_refused("bench/harness/y.cpp", '#include "lib/cache/x.hpp"\n')
        self.assert_refused("bench/harness/y.cpp", '#include "bench/cache/x.hpp"\n')

    def test_nothing_sees_compare(self):
        self.assert_refused("bench/cache/y.cpp", '#include "compare/model.hpp"\n')

    def test_includes_are_rooted(self):
        self.assert_refused("lib/cache/y.cpp", '#include "x.hpp"\n', because="rooted")
        self.assert_refused("lib/cache/y.cpp", '#include "lib/cache/../pg/x.hpp"\n', because="..")

    def test_angle_brackets_hide_nothing(self):
        self.assert_refused("lib/cache/y.cpp", "#include <bench/harness/case.hpp>\n")

    def test_odd_spelling_hides_nothing(self):
        self.assert_refused("lib/cache/y.cpp", '  #  include   "bench/harness/case.hpp"  // why\n')

    def test_the_program_exits_1_with_one_line_a_fault(self):
        self.write("lib/cache/y.cpp", "#include <benchmark/benchmark.h>\n" * 2)
        ran = subprocess.run([HERE / "check-layers", self.root], capture_output=True, text=True, check=False)
        self.assertEqual((ran.returncode, len(ran.stdout.splitlines()), ran.stderr), (1, 2, ""))

    def test_an_empty_tree_is_not_fine(self):
        with tempfile.TemporaryDirectory() as empty:
            ran = self.run_script(empty)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("nothing was checked", ran.stderr)

    def test_an_unknown_flag_is_refused(self):
        self.assertNotEqual(self.run_script("--fix").returncode, 0)


if __name__ == "__main__":
    unittest.main()

"""What is too long is found, what is just long enough is not, and braces that mean something else do not confuse it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import cpp_text
import script_runner


def names(text):
    return [name for _, _, name in cpp_text.functions(text)]


class CheckSize(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)

    def complaints(self, files):
        for path, text in files.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        ran = script_runner.run("check-size", self.root)
        self.assertEqual(ran.returncode, 1 if ran.stdout else 0, ran.stderr)
        return ran.stdout.splitlines()

    @staticmethod
    def function(lines, head="void f()"):
        return f"{head} {{\n" + "  g();\n" * (lines - 2) + "}\n"

    def test_a_file_of_400_lines_passes_and_one_more_does_not(self):
        self.assertEqual(self.complaints({"lib/a/x.cpp": "int a;\n" * 400}), [])
        self.assertEqual(self.complaints({"lib/a/x.cpp": "int a;\n" * 401}), ["lib/a/x.cpp:401: 401 lines; at most 400"])

    def test_a_bench_group_has_half_of_that_but_the_harness_not(self):
        self.assertEqual(self.complaints({"bench/harness/x.cpp": "int a;\n" * 400, "bench/a/x.cpp": "int a;\n" * 200}), [])
        self.assertEqual(self.complaints({"bench/a/x.cpp": "int a;\n" * 201}), ["bench/a/x.cpp:201: 201 lines; at most 200"])

    def test_a_function_of_70_lines_passes_and_one_more_does_not(self):
        self.assertEqual(self.complaints({"lib/a/x.cpp": self.function(70)}), [])
        self.assertEqual(self.complaints({"lib/a/x.cpp": "\n" + self.function(71)}),
                         ["lib/a/x.cpp:2: f has 71 lines; at most 70"])

    def test_methods_lambdas_and_tests_are_functions(self):
        for head in ("class A { public: int f() const noexcept override", "namespace a::b { namespace { auto f() -> int",
                     "struct A { explicit A(int x) : x_{x}, y_(x), z_{1, 2}", "TEST_F(Suite, Name)",
                     "const auto f = [](int x)", "bool operator==(const A& a)", "A::~A()", "template <class T> T f(T t = {1})",
                     "std::map<int, std::function<void(int)>> f(std::vector<int> v = {})",
                     "enum class E { a, b };\nstruct stat f(int x)"):
            closing = "}" * (head.count("{") - head.count("}"))
            with self.subTest(head):
                self.assertEqual(len(self.complaints({"lib/a/x.cpp": self.function(71, head) + closing})), 1)
                self.assertEqual(self.complaints({"lib/a/x.cpp": self.function(70, head) + closing}), [])

    def test_types_namespaces_and_tables_are_none(self):
        for head in ("namespace a", "class A final : public B<int(int)>", "struct alignas(64) A", "enum class E : int",
                     "const int table[] =", "std::array<F, 3> table", "extern \"C\"", "union U",
                     "const std::function<int()> table[] ="):
            with self.subTest(head):
                text = f"{head} {{\n" + "\n" * 100 + "};\n"
                self.assertEqual(self.complaints({"lib/a/x.cpp": text}), [])

    def test_braces_in_texts_and_comments_do_not_count(self):
        text = ('void f() {\n  a("}{{"); b(\'{\'); // }\n  /* } */ c(R"x(}} ")x"); d(1\'000\'000);\n}\n'
                "#define M() {{{ \\\n  {{\nvoid g() {\n}\n")
        self.assertEqual(cpp_text.functions(text), [(1, 4, "f"), (7, 8, "g")])

    def test_knows_functions_by_their_names(self):
        text = ("namespace n {\nint A::f(int x) { return x; }\nA::A() : a_{1} {}\nTEST(Suite, Case) {}\n"
                "static std::vector<int> values{1, 2};\nint g() { auto h = [] { return 1; }; return h(); }\n}\n")
        self.assertEqual(names(text), ["A::f", "A::A", "Suite.Case", "g"])

    def test_a_shift_or_a_comparison_among_default_arguments_opens_no_template(self):
        for default in ("1UL << 20", "1 < 2"):
            text = f"int f(std::size_t a = {default}) {{\n" + "  ;\n" * 69 + "}\n"
            self.assertEqual(self.complaints({"lib/a.cpp": text}), ["lib/a.cpp:1: f has 71 lines; at most 70"])

    def test_python_functions_are_measured_too(self):
        text = "#!/usr/bin/env python3\ndef f():\n" + "    a = 1\n" * 70
        self.assertEqual(self.complaints({"ci/tool": text}), ["ci/tool:2: f has 71 lines; at most 70"])

    def test_scripts_and_cmake_are_files_too(self):
        found = self.complaints({"ci/tool": "#!/bin/sh\n" + ":\n" * 400, "cmake/x.cmake": "#\n" * 401})
        self.assertEqual([line.split(":")[0] for line in found], ["ci/tool", "cmake/x.cmake"])

    def test_an_empty_tree_is_not_fine(self):
        ran = subprocess.run([HERE / "check-size", self.root], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 2)

    def test_every_function_of_this_repository_is_seen(self):
        """Statements stand in functions: one that stands elsewhere is in a function that was overlooked."""
        outside = []
        for room in ("lib", "fixtures", "bench", "compare"):
            for path in (HERE.parent / room).rglob("*.?pp"):
                text = path.read_text()
                inside = {n for first, last, _ in cpp_text.functions(text) for n in range(first, last + 1)}
                for number, line in enumerate(cpp_text.code_only(text).splitlines(), 1):
                    statement = line.strip().startswith(("return ", "if (", "for (", "while (", "co_return "))
                    if statement and number not in inside:
                        outside.append(f"{path}:{number}")
        # A lambda among the arguments of a declaration outside of any function may hold a few.
        self.assertLess(len(outside), 10, outside)


if __name__ == "__main__":
    unittest.main()

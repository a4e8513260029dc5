"""Every sample is drawn once, in its place, and what is not a sample is said."""

import pathlib
import subprocess
import sys
import unittest
import xml.etree.ElementTree

SCRIPT = pathlib.Path(__file__).resolve().parent / "flamegraph"

SAMPLES = """bench 12/13 100.5: 250000 cpu-clock:
\t    7f01 memcpy+0x10 (/usr/lib/libc.so.6)
\t    5501 seal<std::byte>(int)+0x2 (/x/bench_vault)
\t    5500 main+0x1 (/x/bench_vault)

bench 12/13 100.6: 250000 cpu-clock:
\t    5502 seal<std::byte>(int)+0x9 (/x/bench_vault)
\t    5500 main+0x1 (/x/bench_vault)

bench 12/13 100.7: 250000 cpu-clock:
\tffff81 [unknown] ([kernel.kallsyms])
\t    5500 main+0x1 (/x/bench_vault)
"""


def draw(text):
    return subprocess.run([sys.executable, SCRIPT], input=text, capture_output=True, text=True, check=False)


class FlameGraph(unittest.TestCase):
    def test_counts_each_frame_once_a_sample(self):
        ran = draw(SAMPLES)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        for name in ("all (3 samples, 100.0 %)", "main (3 samples, 100.0 %)", "memcpy (1 samples, 33.3 %)",
                     "seal&lt;std::byte&gt;(int) (2 samples, 66.7 %)", "[[kernel.kallsyms]] (1 samples, 33.3 %)"):
            self.assertIn(f"<title>{name}</title>", ran.stdout)

    def test_what_it_draws_is_xml_and_callers_are_below(self):
        boxes = {}
        for group in xml.etree.ElementTree.fromstring(draw(SAMPLES).stdout).iter("{http://www.w3.org/2000/svg}g"):
            rect = group.find("{http://www.w3.org/2000/svg}rect")
            boxes[group[0].text.split(" ")[0]] = (float(rect.get("y")), float(rect.get("width")))
        self.assertGreater(boxes["all"][0], boxes["bench"][0])
        self.assertGreater(boxes["main"][0], boxes["seal<std::byte>(int)"][0])
        self.assertAlmostEqual(boxes["memcpy"][1], 400, delta=0.1)

    def test_a_last_sample_without_an_empty_line_counts(self):
        self.assertIn("all (3 samples", draw(SAMPLES.rstrip("\n")).stdout)

    def test_no_samples_are_said(self):
        for text in ("", "\n\n"):
            ran = draw(text)
            self.assertEqual(ran.returncode, 1)
            self.assertIn("no samples", ran.stderr)
            self.assertEqual(ran.stdout, "")


if __name__ == "__main__":
    unittest.main()

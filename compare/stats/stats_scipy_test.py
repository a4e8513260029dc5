"""Computes with SciPy what stats_probe printed, and fails where the two differ.

Usage: stats_scipy_test.py PROBE
"""

import json
import os
import pathlib
import subprocess
import sys

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
# ci/setup unpacks the package here, because installing it pulls in a Boost that conflicts with ours.
UNPACKED = CACHE / "plimsoll/packages/python3-scipy/usr/lib/python3/dist-packages"
TOLERANCE = 1e-9

sys.path.append(str(UNPACKED))
try:
    import numpy
    from scipy import stats
except ImportError as missing:
    sys.exit(f"{missing}: this test needs Debian's package python3-scipy, installed or unpacked into\n"
             f"{UNPACKED}, which ci/setup does")


def sign_flips(case):
    """Exact p by every sign, with the mean ranks of the magnitudes; for ties, which wilcoxon() only approximates."""
    x = numpy.array([v for v in case["x"] if v != 0])
    if len(x) == 0:
        return 1.0
    ranks = stats.rankdata(abs(x)) * numpy.sign(x)
    result = stats.permutation_test((ranks,), lambda r, axis: numpy.sum(r, axis=axis), permutation_type="samples",
                                    vectorized=True, n_resamples=numpy.inf, alternative=case["tail"])
    return result.pvalue


def splits(case):
    """Exact p by every split; for ties, of which mannwhitneyu()'s exact method knows nothing."""
    ranks = stats.rankdata(case["y"] + case["x"])
    after = len(case["y"])
    result = stats.permutation_test((ranks[:after], ranks[after:]),
                                    lambda y, x, axis: numpy.sum(y, axis=axis), vectorized=True,
                                    n_resamples=numpy.inf, alternative=case["tail"])
    return result.pvalue


def signed_rank(case):
    if numpy.count_nonzero(case["x"]) > 60:
        return stats.wilcoxon(case["x"], mode="approx", correction=True, alternative=case["tail"]).pvalue
    if case["ties"]:
        return sign_flips(case)
    return stats.wilcoxon(case["x"], mode="exact", alternative=case["tail"]).pvalue


def rank_sum(case):
    if len(case["x"]) + len(case["y"]) > 80:
        return stats.mannwhitneyu(case["y"], case["x"], method="asymptotic", alternative=case["tail"]).pvalue
    if case["ties"]:
        return splits(case)
    return stats.mannwhitneyu(case["y"], case["x"], method="exact", alternative=case["tail"]).pvalue


def wilson(case):
    interval = stats.binomtest(case["successes"], case["trials"]).proportion_ci(method="wilson")
    return abs(interval.low - case["low"]) + abs(interval.high - case["high"])


def difference(case):
    """How far apart we and SciPy are."""
    if case["what"] == "signed_rank":
        return abs(signed_rank(case) - case["p"])
    if case["what"] == "rank_sum":
        return abs(rank_sum(case) - case["p"])
    if case["what"] == "wilson":
        return wilson(case)
    return abs(stats.norm.ppf(case["of"]) - case["value"])


def main():
    lines = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout.splitlines()
    cases = [json.loads(line) for line in lines]
    kinds = {case["what"] for case in cases}
    if kinds != {"signed_rank", "rank_sum", "wilson", "quantile"}:
        sys.exit(f"the probe printed only {sorted(kinds)}")
    failed = [case for case in cases if not difference(case) <= TOLERANCE]
    for case in failed:
        print(f"differs by {difference(case):g}: {json.dumps(case)}")
    print(f"{len(cases) - len(failed)} of {len(cases)} agree with SciPy within {TOLERANCE:g}")
    sys.exit(1 if failed else 0)


main()

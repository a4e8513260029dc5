"""What every comparison of ci/peers.d needs: our cases, SQL and pgbench on the servers of the state file, alternating
pairs. A script declares its comparisons and calls `main`; each is one row of the JSON object that it prints. What fails
ends the script with one line, "peers.d/<group>: ...", and exit 1.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

SECONDS = 2  # Measured of pgbench; the window of a load case at size full is as long.
WARMUP = 1  # Before it, as ours has: rows, dead versions and caches are then alike.


def group():
    """The name of the script that runs, which is that of its group."""
    return pathlib.Path(sys.argv[0]).name


def die(reason):
    """Ends the script with exit 1 and the reason on standard error, in one line whatever it was made of."""
    sys.exit(f"peers.d/{group()}: {' '.join(str(reason).split())}")


def finish(command, **options):
    """What subprocess.run returns, whatever the exit. Dies where there is no such program."""
    words = [str(word) for word in command]
    try:
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)
    except FileNotFoundError:
        die(f"there is no {words[0]}; ci/setup --peers installs what is missing")


def output_of(done):
    """The standard output of a finished command. Dies with what it said where it failed."""
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-500:]
        die(f"{done.args[0]} failed with exit {done.returncode}: {said}")
    return done.stdout


def run(command, **options):
    """The standard output of a command. Dies where there is no such program, or with what it said where it failed."""
    return output_of(finish(command, **options))


def figure(pattern, output, tool):
    """The last number that stands where the pattern's group does. Dies where `tool` printed none."""
    found = re.findall(pattern, output, re.MULTILINE | re.IGNORECASE)
    if not found:
        die(f"{tool} printed no figure: {output.strip()[-300:]}")
    return float(found[-1])


def state():
    """What `plimsoll-infra up` wrote to the file that PLIMSOLL_INFRA_STATE names. Dies where there is none."""
    path = os.environ.get("PLIMSOLL_INFRA_STATE", "")
    if not path or not pathlib.Path(path).exists():
        die("PLIMSOLL_INFRA_STATE names no state file; run plimsoll-infra up --state FILE, or ci/peers")
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def server(kind):
    """What the state file says of "redis" or "pooler"; its "dsn" is what clients take. Dies where it is not up."""
    up = state()
    if kind not in up.get("servers", {}):
        why = up.get("absent", {}).get(kind, "it was not started")
        die(f"the state file has no {kind} ({why}); run ci/setup, then plimsoll-infra up")
    return up["servers"][kind]


def our_rows(binaries, case, *flags):
    """The rows of our case `<group>/<case>`, one for each repetition, as the binary printed them. Dies where there is
    no such case, or with the message of a row that failed."""
    name = f"{group()}/{case}"
    done = finish([binaries / f"bench_{group()}", f"--benchmark_filter=^{name}$", "--benchmark_format=json", *flags])
    try:
        found = json.loads(done.stdout)["benchmarks"]
    except ValueError:
        found = []
    rows = [row for row in found if row.get("run_type") != "aggregate"]
    for row in rows:  # Before the exit, which is then 1 and has no words of its own.
        if row.get("error_occurred"):
            die(f"{name}: {row['error_message']}")
    output_of(done)
    if not rows:
        die(f"there is no case {name}")
    return rows


def our_rate(binaries, case):
    """What our load case does in a second at size full: items where an operation has several, else operations. Dies as
    `our_rows` does."""
    row = our_rows(binaries, case, "--plimsoll_size=full")[0]
    return row["items_per_second"] if "items_per_second" in row else row["operations_per_second"]


class Postgres:
    """The server of the state file, by psql and pgbench. What fails dies with what the tool said."""

    def __init__(self, user=""):
        """Logs in as the state file says, or as this role."""
        self.dsn = state()["dsn"] + (f" user={user}" if user else "")

    def sql(self, text):
        """What psql prints of these statements, bare; the first that fails ends it."""
        return run(["psql", self.dsn, "-XqAt", "-v", "ON_ERROR_STOP=1", "-f", "-"], input=text)

    def pgbench(self, text, connections, variables, way="", length=SECONDS):
        """One thread runs this script on so many connections for `length` seconds, directly with prepared statements,
        or by the dsn `way` of a pooler, which knows none. Returns its transactions, and how many it did a second."""
        mode = "extended" if way else "prepared"
        words = [part for name, value in variables.items() for part in ("-D", f"{name}={value}")]
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
            script.write(text)
            script.flush()
            output = run(["pgbench", "-n", "-M", mode, "-c", connections, "-j", 1, "-T", length, "-f", script.name,
                          *words, way or self.dsn])
        if "number of failed transactions: 0 " not in output:
            die("pgbench had failed transactions")
        return (figure(r"transactions actually processed: (\d+)", output, "pgbench"),
                figure(r"tps = ([\d.]+) \(without initial", output, "pgbench"))

    def rate(self, text, connections, variables, way="", count=None):
        """After a warm-up: transactions a second; or, with a `count` of what the tables say was done, that a second."""
        self.pgbench(text, connections, variables, way, WARMUP)
        before = count() if count else 0
        done, rate = self.pgbench(text, connections, variables, way)
        return (count() - before) / (done / rate) if count else rate


def with_variables(sql, names):
    """The library's statement with pgbench's variables for its parameters $1, $2, ..."""
    return re.sub(r"\$(\d)", lambda found: names[int(found[1]) - 1], sql)


def take_pairs(name, count, unit, ours, peer):
    """So many pairs (ours, peer), each of both calls one after the other; who goes first alternates. The calls give
    what was done a second, and a side that did nothing dies. A line a pair goes to standard error."""
    pairs = []
    for number in range(count):
        results = {}
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            results[side] = (ours, peer)[side]()
        if min(results.values()) <= 0:
            die(f"{name}: one side did nothing: {results[0]} beside {results[1]} {unit}")
        pairs.append((results[0], results[1]))
        print(f"  {name}: pair {number + 1} of {count}: {results[0]:,.0f} beside {results[1]:,.0f} {unit}",
              file=sys.stderr, flush=True)
    return pairs


def row(name, unit, pairs, headline):
    """The row of these pairs, both sides in `unit`: the median of each, and of the pairs' ratios ours / peer.
    `headline`: the goals of the project speak of it."""
    return {"name": f"{group()} {name}", "ours": statistics.median(own for own, _ in pairs),
            "peer": statistics.median(other for _, other in pairs), "unit": unit,
            "ratio": statistics.median(own / other for own, other in pairs), "pairs": len(pairs), "headline": headline}


def compare(name, count, unit, ours, peer, headline):
    """The row of so many pairs of these calls. Dies as they and `take_pairs` do."""
    return row(name, unit, take_pairs(name, count, unit, ours, peer), headline)


def main(description, measure):
    """Reads the arguments and prints the rows that `measure(binaries, pairs)` gives. Exit 2 is usage."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--pairs", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.pairs < 1:
        parser.error(f"--pairs is {arguments.pairs}; at least 1 is needed")
    print(json.dumps({"rows": measure(arguments.bin, arguments.pairs)}))

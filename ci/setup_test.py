"""ci/setup does no harm: what it asks of apt, with apt, dpkg and sudo replaced by recorders."""

import os
import pathlib
import stat
import subprocess
import tempfile
import unittest

SETUP = pathlib.Path(__file__).resolve().parent / "setup"

APT = """#!/bin/bash
echo "apt-get $*" >>"$LOG"
case "$*" in
  *"install -s"*) cat "$PLAN" ;;
  *download*) touch "${@: -1}_1_all.deb" ;;
esac
"""
DPKG_QUERY = """#!/bin/bash
grep -qxF -- "${@: -1}" "$INSTALLED" && echo installed
"""
DPKG = """#!/bin/bash
echo "dpkg $*" >>"$LOG"
"""
RECORDER = """#!/bin/bash
echo "$(basename "$0") $*" >>"$LOG"
"""
# Stands for root's rights: what would be written to the machine's own folders is only recorded.
TEE = """#!/bin/bash
echo "tee $*" >>"$LOG"
cat >/dev/null
"""

OUTSIDE = """#!/bin/bash
case "$*" in
  *" /etc/"*|*" /usr/"*) echo "$(basename "$0") $*" >>"$LOG" ;;
  *) exec "/bin/$(basename "$0")" "$@" ;;
esac
"""


class Setup(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        for name, text in {"apt-get": APT, "dpkg-query": DPKG_QUERY, "dpkg": DPKG, "deb-systemd-helper": RECORDER,
                           "sudo": '#!/bin/bash\n"$@"\n', "tee": TEE, "chmod": RECORDER,
                           "mkdir": OUTSIDE, "rm": OUTSIDE, "rmdir": RECORDER}.items():
            path = self.root / name
            path.write_text(text)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        (self.root / "cache").mkdir()
        self.core = subprocess.run([SETUP, "--list"], check=True, capture_output=True, text=True).stdout.split()

    def run_setup(self, *arguments, installed=(), plan="", unpacked=True):
        (self.root / "installed").write_text("\n".join(installed) + "\n")
        (self.root / "plan").write_text(plan)
        (self.root / "log").write_text("")
        if unpacked:
            (self.root / "cache/plimsoll/packages/python3-scipy").mkdir(parents=True, exist_ok=True)
        done = subprocess.run([SETUP, *arguments], capture_output=True, text=True, timeout=60, env={
            **os.environ, "PATH": f"{self.root}:{os.environ['PATH']}", "LOG": str(self.root / "log"),
            "PLAN": str(self.root / "plan"), "INSTALLED": str(self.root / "installed"),
            "XDG_CACHE_HOME": str(self.root / "cache")})
        return done, (self.root / "log").read_text()

    def test_does_nothing_when_everything_is_there(self):
        done, log = self.run_setup(installed=self.core)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(log, "")

    def test_installs_only_what_is_missing(self):
        done, log = self.run_setup(installed=[name for name in self.core if name != "ccache"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(log, r"apt-get install -y -qq --no-install-recommends ccache\n")

    def test_refuses_to_remove_what_is_installed(self):
        done, log = self.run_setup(installed=self.core[1:], plan="Remv exim4-daemon-light [4.96]\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("exim4-daemon-light (removed)", done.stderr)
        self.assertNotIn("install -y", log)

    def test_refuses_to_upgrade_a_server_that_is_installed(self):
        done, log = self.run_setup(installed=self.core[1:], plan="Inst postgresql-14 [14.1] (14.9 Debian)\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("postgresql-14 (upgraded from [14.1])", done.stderr)
        self.assertNotIn("install -y", log)

    def test_unpacks_a_conflicting_package_instead_of_installing_it(self):
        done, log = self.run_setup(installed=self.core, unpacked=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("download python3-scipy", log)
        self.assertNotIn("install -y", log)

    def test_unpacks_a_peer_that_would_remove_something(self):
        done, log = self.run_setup("--peers", installed=self.core, plan="Remv libssl-something [1]\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("download openssl", log)
        self.assertNotIn("install -y", log)

    def test_keeps_a_new_postgres_from_making_a_cluster(self):
        _, log = self.run_setup(installed=[name for name in self.core if name != "postgresql-15"])
        first = log.index("tee /etc/postgresql-common/createcluster.d/plimsoll-setup.conf")
        self.assertLess(first, log.index("install -y"))

    @unittest.skipIf(pathlib.Path("/usr/sbin/policy-rc.d").exists(), "this machine has a policy of its own, which holds")
    def test_keeps_a_new_redis_from_starting(self):
        _, log = self.run_setup(installed=[name for name in self.core if name != "redis-server"])
        self.assertLess(log.index("tee /usr/sbin/policy-rc.d"), log.index("install -y"))
        self.assertLess(log.index("install -y"), log.index("rm -f /usr/sbin/policy-rc.d"))

    def test_names_the_known_arguments(self):
        done, _ = self.run_setup("--peer")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--peers", done.stderr)


if __name__ == "__main__":
    unittest.main()

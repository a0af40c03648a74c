#!/usr/bin/env python3
"""tools/setup on machines in different states, with a played dpkg and apt.

  setup_test.py TREE
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TREE = sys.argv.pop(1) if len(sys.argv) > 1 else "."

# Each played program appends its call to the file `calls` beside it.
PLAYED = {
    # Knows the packages in the file `installed`; a package in `half` is there and not configured.
    "dpkg-query": """
for package in "$@"; do
  if grep -qx -- "$package" "$here/half"; then echo "half-configured $package"
  elif grep -qx -- "$package" "$here/installed"; then echo "installed $package"
  fi
done""",
    # dpkg cannot configure what stands in `unmet`, until apt-get has fetched its dependencies.
    "dpkg": """
if [ "$1" = --audit ]; then cat "$here/half"; fi
if [ "$1" = --configure ] && [ -s "$here/unmet" ]; then echo "dependency problems" >&2; exit 1; fi""",
    "apt-cache": '[ -e "$here/lists" ]',
    "apt-get": """
if [ "$1" = update ]; then touch "$here/lists"; fi
if [[ "$*" == *--fix-broken* ]]; then [ -e "$here/lists" ] || exit 100; : >"$here/unmet"; exit 0; fi
if [ "$1" = install ] && [ -s "$here/unmet" ]; then echo "E: unmet dependencies" >&2; exit 100; fi
if [ "$1" = install ] && [ -e "$here/refuses" ]; then echo "E: no such mirror" >&2; exit 100; fi""",
    "sudo": '"$@"',
}


class Setup(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="subak-setup-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.tree = os.path.join(self.folder, "tree")
        os.makedirs(os.path.join(self.tree, "tools"))
        shutil.copy(os.path.join(TREE, "tools", "setup"), os.path.join(self.tree, "tools"))
        # No real PostgreSQL package is installed, so nothing of it is configured either.
        self.programs = os.path.join(self.folder, "programs")
        os.makedirs(self.programs)
        for name, body in PLAYED.items():
            path = os.path.join(self.programs, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'#!/bin/bash\nhere={self.folder}\necho "{name} $*" >>"$here/calls"\n{body}\n')
            os.chmod(path, 0o755)
        for name in ("half", "installed", "unmet", "calls"):
            self.write(name, [])
        self.write("lists", [])

    def write(self, name, lines):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)

    def calls(self, program):
        with open(os.path.join(self.folder, "calls"), encoding="utf-8") as file:
            return [line.split() for line in file if line.split()[0] == program]

    def setup(self):
        environment = {**os.environ, "PATH": self.programs + os.pathsep + os.environ["PATH"]}
        return subprocess.run([os.path.join(self.tree, "tools", "setup"), "--run"], env=environment,
                              capture_output=True, text=True, check=False)

    def wanted(self):
        """All packages of --run, as asked for on a machine that has none of them."""
        self.assertEqual(self.setup().returncode, 0)
        asked = self.calls("apt-get")[-1]
        self.write("calls", [])
        return asked[asked.index("--no-install-recommends") + 1:]

    def test_a_bare_machine_gets_all_and_the_first_line_says_so(self):
        done = self.setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        first = done.stdout.splitlines()[0]
        self.assertRegex(first, r"^setup: installs (\d+) of \1 Debian packages, .*; the first build takes up to \d+ min")

    def test_a_machine_that_has_all_is_left_alone(self):
        self.write("installed", self.wanted())
        done = self.setup()
        self.assertEqual(done.returncode, 0)
        self.assertIn("nothing to install", done.stdout.splitlines()[0])
        self.assertEqual(self.calls("apt-get"), [])

    def test_a_half_installed_package_is_configured_and_installed(self):
        wanted = self.wanted()
        self.write("installed", wanted)
        self.write("half", ["libpq-dev"])
        done = self.setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.calls("apt-get")[-1][-1], "libpq-dev")
        self.assertIn(["dpkg", "--configure", "-a"], self.calls("dpkg"))

    def test_an_unpacked_package_gets_its_dependencies(self):
        wanted = self.wanted()
        for lists in (True, False):
            self.write("installed", wanted)
            self.write("half", ["libyaml-cpp-dev"])
            self.write("unmet", ["libyaml-cpp-dev"])
            if not lists:
                os.remove(os.path.join(self.folder, "lists"))
            done = self.setup()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.calls("apt-get")[-1][-1], "libyaml-cpp-dev")

    def test_missing_package_lists_are_fetched_first(self):
        os.remove(os.path.join(self.folder, "lists"))
        self.assertEqual(self.setup().returncode, 0)
        self.assertEqual([call[1] for call in self.calls("apt-get")], ["update", "install"])

    def test_a_refusal_ends_with_the_reason(self):
        self.write("refuses", [])
        done = self.setup()
        self.assertEqual(done.returncode, 1)
        self.assertEqual([call[1] for call in self.calls("apt-get")], ["install", "update", "install"])
        self.assertIn("E: no such mirror", done.stderr)
        self.assertIn("apt-get install fails", done.stderr)


if __name__ == "__main__":
    unittest.main()

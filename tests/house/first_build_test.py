#!/usr/bin/env python3
"""The first build of a machine that nobody has prepared: `tools/build` beside packages that only tests need.

  first_build_test.py TREE
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

TREE = sys.argv.pop(1) if len(sys.argv) > 1 else "."

# What Debian's libgtest-dev without libgmock-dev looks like to CMake.
WITHOUT_GMOCK = """
add_library(GTest::gtest INTERFACE IMPORTED)
add_library(GTest::gtest_main INTERFACE IMPORTED)
"""
# A package whose headers were removed, or that a second installation has broken.
BROKEN = 'message(FATAL_ERROR "this GTest must not be looked at")\n'


class FirstBuild(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="subak-first-build-")
        cls.addClassCleanup(cls.folder.cleanup)

    def configure(self, build, *arguments, gtest=None):
        """Runs tools/build --configure-only in a build folder of its own, with this GTest alone to be found."""
        cmake = []
        if gtest is None:
            cmake.append("-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON")
        elif gtest != "installed":
            found = os.path.join(self.folder.name, build + "-gtest")
            os.makedirs(found, exist_ok=True)
            with open(os.path.join(found, "GTestConfig.cmake"), "w", encoding="utf-8") as file:
                file.write(gtest)
            cmake.append(f"-DGTest_DIR={found}")
        environment = {**os.environ, "BUILD": os.path.join(self.folder.name, build), "ARGS_CMAKE": " ".join(cmake)}
        return subprocess.run([os.path.join(TREE, "tools", "build"), "--configure-only", *arguments], env=environment,
                              capture_output=True, text=True, check=False)

    def commands(self, build):
        with open(os.path.join(self.folder.name, build, "compile_commands.json"), encoding="utf-8") as file:
            return {entry["command"] for entry in json.load(file)}

    def test_the_service_is_configured_whatever_gtest_there_is(self):
        for build, gtest in (("none", None), ("half", WITHOUT_GMOCK), ("broken", BROKEN)):
            done = self.configure(build, gtest=gtest)
            self.assertEqual(done.returncode, 0, f"{build}: {done.stderr[-2000:]}")
            self.assertFalse([command for command in self.commands(build) if "_test.cc" in command])

    def test_tests_name_the_package_that_they_lack(self):
        for build, gtest, part in (("none_tests", None, "gtest"), ("half_tests", WITHOUT_GMOCK, "gmock")):
            done = self.configure(build, "--tests", gtest=gtest)
            self.assertEqual(done.returncode, 1)
            words = " ".join(done.stderr.split())
            self.assertIn(f"The tests need GTest::{part}", words)
            self.assertIn("tools/setup", words)

    def test_both_configurations_share_the_service_and_neither_undoes_the_other(self):
        self.assertEqual(self.configure("both", gtest="installed").returncode, 0)
        without = self.commands("both")
        self.assertEqual(self.configure("both", "--tests", gtest="installed").returncode, 0)
        with_tests = self.commands("both")
        self.assertTrue([command for command in without if "server/main.cc" in command])
        self.assertTrue(without < with_tests)
        # `make demo` after `make test` leaves the tests configured ...
        self.assertEqual(self.configure("both", gtest="installed").returncode, 0)
        self.assertTrue(self.commands("both") == with_tests)
        # ... and works when their packages are gone by then.
        self.assertEqual(self.configure("both", gtest=BROKEN).returncode, 0)
        self.assertTrue(self.commands("both") == without)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""The bundle of the console: the same sources give the same bytes, and a missing package is named.

  bundle_test.py TREE CMAKE
"""

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TREE, CMAKE = sys.argv[1:3]
del sys.argv[1:3]

MOST_BYTES = 250_000
FILES = ("index.html", "app.js", "app.css", "icon.svg", "licenses.txt")
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(only_the_console LANGUAGES NONE)
add_subdirectory(console)
"""


def content(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


class Bundle(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="subak-bundle-")
        self.addCleanup(shutil.rmtree, self.folder)

    def build(self, name, *arguments):
        """A copy of console/ that is configured and built alone. Returns its result and its build folder."""
        source = os.path.join(self.folder, name)
        shutil.copytree(os.path.join(TREE, "console"), os.path.join(source, "console"))
        with open(os.path.join(source, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(PROJECT)
        build = os.path.join(source, "out")
        done = subprocess.run([CMAKE, "-G", "Ninja", "-S", source, "-B", build, *arguments],
                              capture_output=True, text=True, check=False)
        if done.returncode == 0:
            done = subprocess.run([CMAKE, "--build", build, "--target", "console"],
                                  capture_output=True, text=True, check=False)
        return done, os.path.join(build, "console")

    def test_two_builds_give_the_same_bytes(self):
        built = []
        for name in ("one", "another-folder"):
            done, out = self.build(name)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            built.append(out)
        for name in [*FILES, *(name + ".gz" for name in FILES), "assets.cc"]:
            self.assertEqual(content(built[0], name), content(built[1], name), name)
        packed = [content(built[0], name + ".gz") for name in FILES]
        self.assertLess(sum(map(len, packed)), MOST_BYTES)
        for name, data in zip(FILES, packed):
            self.assertEqual(gzip.decompress(data), content(built[0], name), name)

    def test_the_arrays_have_the_bytes_of_the_files(self):
        done, out = self.build("one")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(os.path.join(out, "assets.cc"), encoding="utf-8") as file:
            source = file.read()
        for name in (*FILES, *(name + ".gz" for name in FILES)):
            array = "k_" + re.sub(r"\W", "_", name)
            found = re.search(rf"constexpr unsigned char {array}\[\] = {{\n([^}}]*)}}", source)
            self.assertIsNotNone(found, array)
            bytes_there = bytes(int(byte, 16) for byte in found.group(1).replace("\n", "").rstrip(",").split(","))
            self.assertEqual(bytes_there, content(out, name), name)
        self.assertIn('{"/", "text/html; charset=utf-8", "\\"', source)

    def test_a_missing_package_is_named_with_the_remedy(self):
        done, _ = self.build("one", "-DSUBAK_ESBUILD=/no/esbuild")
        self.assertNotEqual(done.returncode, 0)
        said = " ".join(done.stderr.split())
        self.assertIn("needs /no/esbuild: run tools/setup --run", said)

    def test_an_error_in_the_sources_stops_the_build(self):
        shutil.copytree(os.path.join(TREE, "console"), os.path.join(self.folder, "broken", "console"))
        main = os.path.join(self.folder, "broken", "console", "src", "main.tsx")
        with open(main, "a", encoding="utf-8") as file:
            file.write("\nconst = 1;\n")
        arguments = ("-DESBUILD=esbuild", "-DMODULES=/usr/share/nodejs",
                     "-DDYGRAPHS=/usr/share/javascript/dygraphs/src/dygraph.js",
                     f"-DSOURCE={os.path.dirname(os.path.dirname(main))}", f"-DOUT={self.folder}/out", "-P",
                     os.path.join(TREE, "console", "bundle.cmake"))
        done = subprocess.run([CMAKE, *arguments], capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("src/main.tsx", done.stderr)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""The bill of materials that `make package` writes names all that the image ships, and the image carries it.

usage: sbom_test.py TREE FOLDER_OF_PROGRAMS OUT      OUT is the folder that tools/package filled
"""

import calendar
import filecmp
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

TREE, PROGRAMS, OUT = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(3))
ID = re.compile(r"SPDXRef-[A-Za-z0-9.-]+")
EXPRESSION = re.compile(r"[()\s]+|\bAND\b|\bOR\b")
OWN = "/usr/share/sbom/"


def one(pattern):
    found = list(OUT.glob(pattern))
    assert len(found) == 1, f"{pattern}: {found}"
    return found[0]


class Bill(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = one("*.spdx.json")
        cls.bill = json.loads(cls.path.read_text(encoding="utf-8"))
        cls.packages = {p["SPDXID"]: p for p in cls.bill["packages"]}
        cls.files = {f["fileName"].removeprefix("."): f for f in cls.bill["files"]}
        with tarfile.open(one("*-rootfs.tar.gz")) as archive:
            cls.shipped = {m.name.removeprefix("."): archive.extractfile(m).read() for m in archive if m.isfile()}

    def test_shape(self):
        self.assertEqual((self.bill["spdxVersion"], self.bill["dataLicense"], self.bill["SPDXID"]), ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
        self.assertRegex(self.bill["documentNamespace"], "^urn:subak:sbom:[0-9.]+:[0-9a-f]{64}$")
        self.assertRegex(self.bill["creationInfo"]["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertTrue(self.bill["creationInfo"]["creators"][0].startswith("Tool: "))
        ids = [x["SPDXID"] for key in ("packages", "files") for x in self.bill[key]]
        self.assertEqual(len(ids), len(set(ids)))
        for name in ids:
            self.assertIsNotNone(ID.fullmatch(name), name)
        for row in self.bill["relationships"]:
            self.assertTrue({row["spdxElementId"], row["relatedSpdxElement"]} <= {*ids, "SPDXRef-DOCUMENT"}, row)
        self.assertIn({"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-Package-subak"},
                      self.bill["relationships"])  # fmt: skip

    def test_licences(self):
        declared = {x["licenseId"] for x in self.bill["hasExtractedLicensingInfos"]}
        used = set()
        for package in self.packages.values():
            for word in filter(None, EXPRESSION.split(package["licenseDeclared"])):
                self.assertRegex(word, r"^[A-Za-z0-9.-]+$")
                used |= {word} if word.startswith("LicenseRef-") else set()
        self.assertEqual(used, declared)
        named = {p["name"]: p["licenseDeclared"] for p in self.packages.values()}
        self.assertIn("Apache-2.0", named["libssl3"])
        self.assertEqual(named["libzstd1"].count("("), named["libzstd1"].count(")"))

    def test_each_file_of_the_image_is_in_it(self):
        inside = {path for path in self.shipped if not path.startswith(OWN)}
        self.assertEqual(set(self.files), inside)
        for path in inside:
            sums = {c["algorithm"]: c["checksumValue"] for c in self.files[path]["checksums"]}
            self.assertEqual(sums["SHA256"], hashlib.sha256(self.shipped[path]).hexdigest(), path)
            self.assertEqual(sums["SHA1"], hashlib.sha1(self.shipped[path]).hexdigest(), path)
        self.assertEqual(self.shipped[OWN + self.path.name], self.path.read_bytes())

    def test_each_library_has_its_package_and_version(self):
        linked = "".join(subprocess.run(["ldd", PROGRAMS / p], check=True, capture_output=True, text=True).stdout for p in ("subakd", "subak"))
        libraries = set(re.findall(r"(?:=> |^\t)(/\S+) \(", linked, re.M))
        self.assertGreater(len(libraries), 30)
        origin = {r["spdxElementId"]: r["relatedSpdxElement"] for r in self.bill["relationships"] if r["relationshipType"] == "COPY_OF"}
        packages = {}
        for library in libraries:
            package = self.packages[origin[self.files[library]["SPDXID"]]]
            packages[package["name"]] = package
        self.assertIn("libgrpc++1.51", packages)
        for name, package in packages.items():
            there = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n", name], check=True, capture_output=True, text=True).stdout
            self.assertIn(package["versionInfo"], there.splitlines())
            self.assertTrue(package["externalRefs"][0]["referenceLocator"].startswith("pkg:deb/debian/"))
        names = {p["name"] for p in self.packages.values()}
        self.assertTrue({"ca-certificates", "libcli11-dev", "libboost1.81-dev"} <= names, names)

    def test_the_same_files_give_the_same_bytes(self):
        created = calendar.timegm(time.strptime(self.bill["creationInfo"]["created"], "%Y-%m-%dT%H:%M:%SZ"))
        version = self.packages["SPDXRef-Package-subak"]["versionInfo"]
        with tempfile.TemporaryDirectory() as at:
            os.mkdir(at + "/root")
            subprocess.run(["tar", "-xzf", one("*-rootfs.tar.gz"), "-C", at + "/root"], check=True)
            os.remove(f"{at}/root{OWN}{self.path.name}")
            again = subprocess.run([TREE / "tools" / "sbom", at + "/root", "--version", version, "--programs", "subakd,subak",
                                    "--created", str(created)], check=True, capture_output=True, cwd=TREE).stdout  # fmt: skip
            self.assertEqual(again, self.path.read_bytes())
            image = one("*-oci.tar")
            architecture = self.image_of(image)[1]["architecture"]
            subprocess.run([TREE / "tools" / "image", one("*-rootfs.tar.gz"), self.path, at + "/again.tar", "--version", version,
                            "--arch", architecture, "--created", str(created)], check=True)  # fmt: skip
            self.assertTrue(filecmp.cmp(image, at + "/again.tar", shallow=False))

    def image_of(self, path):
        """(index, configuration, blobs) of the archive; each blob has the digest of its name."""
        with tarfile.open(path) as archive:
            content = {m.name: archive.extractfile(m).read() for m in archive}
        self.assertEqual(json.loads(content["oci-layout"]), {"imageLayoutVersion": "1.0.0"})
        blobs = {"sha256:" + name.removeprefix("blobs/sha256/"): data for name, data in content.items() if name.startswith("blobs/")}
        for digest, data in blobs.items():
            self.assertEqual("sha256:" + hashlib.sha256(data).hexdigest(), digest)
        index = json.loads(content["index.json"])
        manifest = json.loads(blobs[index["manifests"][0]["digest"]])
        return index, json.loads(blobs[manifest["config"]["digest"]]), blobs

    def test_image(self):
        index, config, blobs = self.image_of(one("*-oci.tar"))
        image, artifact = (json.loads(blobs[m["digest"]]) for m in index["manifests"])
        for part in (*index["manifests"], image["config"], *image["layers"], artifact["config"], *artifact["layers"]):
            self.assertEqual(part["size"], len(blobs[part["digest"]]))
        self.assertEqual(config["config"]["User"], "65532:65532")
        self.assertEqual(config["config"]["Entrypoint"], ["/usr/bin/subakd"])
        with tarfile.open(fileobj=io.BytesIO(blobs[image["layers"][0]["digest"]])) as layer:
            self.assertIn("./usr/bin/subakd", layer.getnames())
        self.assertEqual(blobs[image["layers"][0]["digest"]], one("*-rootfs.tar.gz").read_bytes())
        self.assertEqual(artifact["artifactType"], "application/spdx+json")
        self.assertEqual(artifact["subject"]["digest"], index["manifests"][0]["digest"])
        self.assertEqual(blobs[artifact["layers"][0]["digest"]], self.path.read_bytes())


unittest.main(verbosity=2)

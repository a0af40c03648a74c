#!/usr/bin/env python3
"""The Helm chart makes the objects of the manifests, and the generated files are what their sources give.

usage: chart_test.py TREE SUBAK [HELM]
The chart is rendered by helm_template.py, and by Helm too if there is a HELM, the variable HELM, or helm on the PATH:
then both must say the same. Exit 77 (skipped) where python3-yaml is not installed.
"""

import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is not installed")
    sys.exit(77)

from helm_template import TemplateError, merged, render

ROOT, SUBAK = pathlib.Path(sys.argv.pop(1)).resolve(), os.path.abspath(sys.argv.pop(1))
HELM = sys.argv.pop(1) if len(sys.argv) > 1 else os.environ.get("HELM") or shutil.which("helm")
PLAIN, CHART = ROOT / "deploy" / "kubernetes", ROOT / "deploy" / "helm" / "subak"
CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
ALL = {"createNamespace": True, "prometheus": {"podMonitor": True, "rules": True}, "grafana": {"dashboards": True}}
# What a person gives to `subak install --print`, and the values that mean the same.
VARIANTS = {
    "defaults": ([], {}),
    "version 1.29": (["--kubernetes", "1.29"], {"kubernetesVersion": "1.29"}),
    "version 1.36": (["--kubernetes", "1.36"], {"kubernetesVersion": "1.36"}),
    "names": (["--cluster", "east", "--image", "registry.example.com/subak@sha256:ab", "--gpu-kinds", "amd.com/gpu,intel.com/gpu",
               "--break-glass-group", "ops:night", "--as", "sub@k", "--kubernetes", "1.36"],
              {"cluster": "east", "image": "registry.example.com/subak@sha256:ab", "gpuKinds": ["amd.com/gpu", "intel.com/gpu"],
               "breakGlassGroup": "ops:night", "user": "sub@k", "kubernetesVersion": "v1.36.2"}),
    "database": (["--state", "postgres://subak@db:5433/subak", "--replicas", "3"],
                 {"database": {"url": "postgres://subak@db:5433/subak", "replicas": 3}}),
    "database with own files": (["--state", "postgres://subak@db/subak?sslcert=/c&sslrootcert=/r"],
                                {"database": {"url": "postgres://subak@db/subak?sslcert=/c&sslrootcert=/r"}}),
    "database with own CA": (["--state", "postgres://subak@db/subak?sslrootcert=/r"],
                             {"database": {"url": "postgres://subak@db/subak?sslrootcert=/r"}}),
    "cert-manager": (["--cert-manager"], {"certManager": {"enabled": True}}),
    "service outside": (["--url", "https://10.0.0.5:9443", "--only", "access,webhooks,policies"],
                        {"webhooks": {"url": "https://10.0.0.5:9443"}, "parts": {"service": False}}),
    "only the webhooks": (["--only", "webhooks"], {"parts": {"access": False, "service": False, "policies": False}}),
}  # fmt: skip


def objects(texts):
    """{(kind, namespace, name): object}; a configuration inside of an object is read too."""
    found = {}
    for text in texts:
        for one in yaml.safe_load_all(text):
            if one is None:
                continue
            one = copy.deepcopy(one)
            if "subak.yaml" in one.get("data", {}):
                one["data"]["subak.yaml"] = yaml.safe_load(one["data"]["subak.yaml"])
            key = (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"])
            assert key not in found, f"twice: {key}"
            found[key] = one
    return found


def chart_texts(values, **more):
    texts = render(CHART, values, **more)
    texts.pop("NOTES.txt")
    return texts


def printed(words):
    with tempfile.NamedTemporaryFile("w", suffix=".crt") as ca:
        ca.write(CA)
        ca.flush()
        words = words if "--cert-manager" in words else [*words, "--ca", ca.name]
        words = words if "--image" in words or "--url" in words else [*words, "--image", "subak:0.1.0"]
        return subprocess.run([SUBAK, "install", "--print", *words], check=True, timeout=120, capture_output=True, text=True).stdout


def leaves(values, path=()):
    for key, value in values.items():
        if isinstance(value, dict) and value and key not in ("requests", "limits", "labels"):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def nested(path, value):
    return {path[0]: nested(path[1:], value)} if path else value


class Chart(unittest.TestCase):
    maxDiff = 4000

    def same(self, got, wanted, what):
        self.assertEqual(sorted(got), sorted(wanted), what)
        for key, one in wanted.items():
            self.assertEqual(got[key], one, f"{what}: {key}")

    def test_generated_files_are_up_to_date(self):
        done = subprocess.run([sys.executable, ROOT / "tools" / "chart", "--check"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_the_chart_makes_what_the_manifests_say(self):
        """Each file of deploy/kubernetes, with the placeholders as values."""
        values = {**ALL, "image": "IMAGE", "cluster": "CLUSTER", "webhooks": {"url": "https://HOST:9443", "failurePolicy": "Fail"}}
        others = {"service-database.yaml": {"database": {"url": "STATE"}}, "certificates.yaml": {"certManager": {"enabled": True}}}
        files = sorted(PLAIN.glob("**/*.yaml"))
        self.assertEqual(len(files), len(list((CHART / "templates").glob("*.yaml"))))
        for file in files:
            name = str(file.relative_to(PLAIN)).replace("/", "-")
            version = {"gate-policy.yaml": "v1.36.0", "webhook-update.yaml": "v1.29.0"}.get(name, "v1.30.0")
            wanted = objects([file.read_text(encoding="utf-8")])
            got = objects([chart_texts(merged(values, others.get(name, {})), version=version)[name]])
            if name == "service-database.yaml":  # the chart adds the files of the secret
                state = got["ConfigMap", "subak-system", "subak"]["data"]["subak.yaml"]
                self.assertTrue(state["state"].startswith("STATE?password_file="), state)
                state["state"] = "STATE"
            self.same(got, wanted, name)

    def test_the_chart_makes_what_install_prints(self):
        for what, (words, values) in VARIANTS.items():
            if "cert-manager" not in what:
                values = merged({"webhooks": {"ca": CA}}, values)
            self.same(objects(chart_texts({"createNamespace": True, **values}).values()), objects([printed(words)]), what)

    def test_default_values(self):
        """Without any value: the manifests, but for the namespace, which Helm makes, and the CA, which nobody gave."""
        wanted = objects([printed([])])
        del wanted["Namespace", "", "subak-system"]
        for one in wanted.values():
            for hook in one.get("webhooks", []):
                hook["clientConfig"]["caBundle"] = ""
        self.same(objects(chart_texts({}).values()), wanted, "default values")
        self.assertIn("WARNING: webhooks.ca is empty", render(CHART, {})["NOTES.txt"])
        self.assertNotIn("WARNING", render(CHART, {"webhooks": {"ca": CA}})["NOTES.txt"])

    def test_each_value_does_something(self):
        own = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
        others = {"kubernetesVersion": "1.36", "imagePullPolicy": "Always", "webhooks.failurePolicy": "Ignore", "webhooks.ca": CA,
                  "webhooks.url": "https://h:1", "database.url": "postgres://u@h/d", "imagePullSecrets": [{"name": "x"}],
                  "tolerations": [], "gpuKinds": ["amd.com/gpu"], "storage.size": "7Gi"}  # fmt: skip
        needed = {"database.replicas": {"database": {"url": "postgres://u@h/d"}}, "certManager.issuer": {"certManager": {"enabled": True}},
                  "prometheus.labels": ALL, "grafana.namespace": ALL, "grafana.labels": ALL, "grafana.annotations": ALL}  # fmt: skip
        for path, value in leaves(own):
            name = ".".join(path)
            other = others.get(name)
            if other is None:
                other = {bool: lambda v: not v, int: lambda v: v + 1, str: lambda v: v + "x", dict: lambda _: {"a": "b"}}[type(value)](value)
            base = needed.get(name, {})
            before, after = (chart_texts(merged(base, v)) for v in ({}, nested(path, other)))
            self.assertNotEqual(objects(before.values()), objects(after.values()), f"{name} does nothing")
            self.assertNotIn("{{ ", re.sub(r"\{\{ ?\$", "", "".join(after.values()).replace("{{ $", "")), name)

    def test_values_and_their_schema_have_the_same_keys(self):
        schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
        own = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))

        def compare(values, part, path):
            if "properties" not in part:
                return
            self.assertEqual(sorted(values), sorted(k for k in part["properties"] if k != "global"), path)
            for key, value in values.items():
                one = part["properties"][key]
                if "pattern" in one:
                    self.assertRegex(value, one["pattern"], f"{path}.{key}")
                if isinstance(value, dict):
                    compare(value, one, f"{path}.{key}")

        compare(own, schema, "values")

    def test_versions(self):
        version = re.search(r"^project\(subak VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
        own = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
        self.assertEqual((chart["version"], chart["appVersion"], own["image"]), (version, version, f"subak:{version}"))

    def test_only_one_namespace(self):
        with self.assertRaisesRegex(TemplateError, "want subak-system"):
            render(CHART, {}, namespace="default")

    def test_helm_says_the_same(self):
        if not HELM:
            self.skipTest("no helm")
        for what, (_, values) in {**VARIANTS, "all": ([], ALL)}.items():
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                yaml.safe_dump(values, file)
                file.flush()
                done = subprocess.run([HELM, "template", "subak", CHART, "--namespace", "subak-system", "--kube-version", "v1.30.0",
                                       "--values", file.name], capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
            self.assertEqual((done.returncode, done.stderr), (0, ""), what)
            self.same(objects([done.stdout]), objects(chart_texts(values).values()), f"helm: {what}")
        lint = subprocess.run([HELM, "lint", "--strict", CHART, "--namespace", "subak-system"], capture_output=True, text=True, check=False)
        self.assertEqual(lint.returncode, 0, lint.stdout + lint.stderr)
        bad = subprocess.run([HELM, "template", "subak", CHART, "--namespace", "subak-system", "--set", "cluster=a'b"],
                             capture_output=True, text=True, check=False)  # fmt: skip
        self.assertIn("cluster", bad.stderr)
        self.assertNotEqual(bad.returncode, 0)


class CertManager(unittest.TestCase):
    """The names of the certificate are those under which others reach the service."""

    def setUp(self):
        self.found = objects([(PLAIN / name).read_text(encoding="utf-8") for name in ("certificates.yaml", "service.yaml", "replicas.yaml")])
        self.certificate = self.found["Certificate", "subak-system", "subak-tls"]["spec"]

    def test_names_and_secrets(self):
        names = set(self.certificate["dnsNames"])
        config = self.found["ConfigMap", "subak-system", "subak-webhook"]["data"]["subak.yaml"]
        self.assertIn(config["follow"].split(":")[0], names)
        replicas = next(v for (kind, _, name), v in objects([(PLAIN / "service-database.yaml").read_text()]).items()
                        if kind == "StatefulSet")  # fmt: skip
        self.assertIn(f"*.{replicas['spec']['serviceName']}.subak-system.svc", names)
        hooks = objects([printed(["--cert-manager"])])["MutatingWebhookConfiguration", "", "subak"]
        service = hooks["webhooks"][0]["clientConfig"]["service"]
        self.assertIn(f"{service['name']}.{service['namespace']}.svc", names)
        secrets = {v["secret"]["secretName"] for one in self.found.values() if one["kind"] in ("StatefulSet", "Deployment")
                   for v in one["spec"]["template"]["spec"]["volumes"] if "secret" in v}  # fmt: skip
        self.assertIn(self.certificate["secretName"], secrets)

    def test_chain(self):
        issuer = self.found["Issuer", "subak-system", self.certificate["issuerRef"]["name"]]["spec"]
        authority = next(c["spec"] for (kind, _, name), c in self.found.items() if kind == "Certificate" and name == "subak-ca")
        self.assertEqual(issuer["ca"]["secretName"], authority["secretName"])
        self.assertTrue(authority["isCA"])
        self.assertEqual(authority["privateKey"]["rotationPolicy"], "Never")  # else a renewal would lock out the webhook
        root = self.found["Issuer", "subak-system", authority["issuerRef"]["name"]]["spec"]
        self.assertEqual(root, {"selfSigned": {}})

    def test_webhooks_ask_for_the_ca(self):
        for version in ("1.29", "1.36"):
            for key, one in objects([printed(["--cert-manager", "--kubernetes", version])]).items():
                for hook in one.get("webhooks", []):
                    self.assertNotIn("caBundle", hook["clientConfig"], key)
                    mark = one["metadata"]["annotations"]["cert-manager.io/inject-ca-from"].split("/")
                    self.assertEqual(mark, ["subak-system", "subak-tls"])


class Monitoring(unittest.TestCase):
    def test_rules_are_those_of_prometheus(self):
        rule = objects([(PLAIN / "monitoring" / "rules.yaml").read_text(encoding="utf-8")])["PrometheusRule", "subak-system", "subak"]
        wanted = []
        for name in ("rules.yml", "alerts.yml"):
            wanted += yaml.safe_load((ROOT / "deploy" / "prometheus" / name).read_text(encoding="utf-8"))["groups"]
        self.assertEqual(rule["spec"], {"groups": wanted})
        chart = objects(chart_texts(ALL).values())["PrometheusRule", "subak-system", "subak"]
        self.assertEqual(chart, rule)
        self.assertGreater(sum("alert" in r for g in wanted for r in g["rules"]), 30)

    def test_dashboards_are_those_of_grafana(self):
        maps = objects([(PLAIN / "monitoring" / "dashboards.yaml").read_text(encoding="utf-8")])
        found = {name: json.loads(text) for one in maps.values() for name, text in one["data"].items()}
        files = (ROOT / "deploy" / "grafana").glob("*.json")
        self.assertEqual(found, {file.name: json.loads(file.read_text(encoding="utf-8")) for file in files})
        for one in maps.values():
            self.assertEqual(one["metadata"]["labels"], {"grafana_dashboard": "1"})
        chart = objects(chart_texts(merged(ALL, {"grafana": {"namespace": "g"}})).values())
        self.assertEqual({k[2] for k in chart if k[1] == "g"}, {k[2] for k in maps})

    def test_the_monitor_selects_each_process(self):
        monitor = objects([(PLAIN / "monitoring" / "pods.yaml").read_text(encoding="utf-8")])["PodMonitor", "subak-system", "subak"]["spec"]
        port = monitor["podMetricsEndpoints"][0]["port"]
        scrape = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())["scrape_configs"][0]
        self.assertIn({"targetLabel": "job", "replacement": scrape["job_name"]}, monitor["podMetricsEndpoints"][0]["relabelings"])
        self.assertEqual(monitor["podMetricsEndpoints"][0]["interval"], scrape["scrape_interval"])
        pods = 0
        for name in ("service.yaml", "replicas.yaml", "service-database.yaml"):
            for one in objects([(PLAIN / name).read_text(encoding="utf-8")]).values():
                if one["kind"] not in ("StatefulSet", "Deployment"):
                    continue
                pods += 1
                template = one["spec"]["template"]
                self.assertLessEqual(monitor["selector"]["matchLabels"].items(), template["metadata"]["labels"].items())
                self.assertIn(port, [p["name"] for p in template["spec"]["containers"][0]["ports"]])
        self.assertEqual(pods, 3)

    def test_off_by_default(self):
        kinds = {kind for kind, _, _ in objects(chart_texts({}).values())}
        self.assertFalse(kinds & {"PrometheusRule", "PodMonitor", "Certificate", "Issuer"})


unittest.main(verbosity=2)

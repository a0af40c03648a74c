#!/usr/bin/env python3
"""The manifests in deploy/kubernetes say what the webhook's code says: names, lists, paths, what fails and what not.

usage: manifests_test.py TREE
The conditions themselves are CEL, which only an API server evaluates; their one regular expression is tried here
on the cases of the C++ test. Exit 77 (skipped) where python3-yaml is not installed.
"""
import pathlib
import re
import sys

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is not installed")
    sys.exit(77)

failures = []


def check(ok, what):
    if not ok:
        failures.append(what)
        print(f"FAILED {what}")


def strings(text, after):
    """The quoted texts of the initialiser that begins after `after`."""
    begin = text.index(after) + len(after)
    return re.findall(r'"([^"]*)"', text[begin:text.index(";", begin)])


def read(tree):
    documents = []
    for file in sorted((tree / "deploy" / "kubernetes").glob("*.yaml")):
        check("&" not in re.sub(r"'[^']*'|&&|#.*", "", file.read_text()), f"{file.name}: anchors end with their document")
        documents += [(file.name, d) for d in yaml.safe_load_all(file.read_text())]
    return documents


def check_webhook(name, kind, hook, exempt):
    where = f"{name} {hook['name']}"
    check(hook["sideEffects"] == "None" and hook["admissionReviewVersions"] == ["v1"], f"{where}: versions, side effects")
    check(1 <= hook["timeoutSeconds"] <= 5, f"{where}: timeoutSeconds")
    url = hook["clientConfig"]["url"]
    wanted = "/mutate/" if kind.startswith("Mutating") else "/validate/"
    check(url == "https://HOST:9443" + wanted + "CLUSTER", f"{where}: url {url}")
    asked, left_out = hook["namespaceSelector"]["matchExpressions"]
    check(asked == {"key": "subak.gpu/managed", "operator": "In", "values": ["true", "warn"]}, f"{where}: {asked}")
    check(left_out["operator"] == "NotIn" and set(left_out["values"]) == exempt, f"{where}: {left_out}")
    check(hook["failurePolicy"] == "Fail", f"{where}: failurePolicy")
    for rule in hook["rules"]:
        if "pods" in rule["resources"]:
            check(hook.get("matchConditions"), f"{where}: asks about every pod")
        if "pods" in rule["resources"] and "UPDATE" in rule["operations"]:
            trusted = hook["matchConditions"][0]
            check(trusted["name"] == "not-trusted", f"{where}: Subak's own updates wait for Subak")


def check_paths(tree, documents):
    """The policy's regular expression is shows_gpus() without "..", which the API server refuses."""
    cases = (tree / "tests" / "kube" / "pod_test.cc").read_text()
    shown = [p for p in strings(cases, "HostPathsAreReadAsPaths) {") if ".." not in p]
    hidden = [p for p in strings(cases, "EXPECT_TRUE(shows_gpus(path)) << path;") if p and ".." not in p]
    expression = next(v["expression"] for _, d in documents if d["metadata"]["name"] == "subak-hidden"
                      for v in d["spec"].get("validations", []) if "hostPath" in v["message"])
    pattern = re.compile(re.search(r"matches\('(.*)'\)", expression).group(1))
    check(len(shown) > 10 and len(hidden) > 5, f"cases: {shown}, {hidden}")
    for path in shown:
        check(pattern.match("/" + path), f"policies.yaml: {path} shows GPUs")
    for path in hidden:
        check(not pattern.match("/" + path), f"policies.yaml: {path} shows none")


def main():
    tree = pathlib.Path(sys.argv[1])
    documents = read(tree)
    config = (tree / "admission" / "policy_config.h").read_text()
    modes = (tree / "engine" / "policy.h").read_text()
    exempt = {n for n in strings(modes, "6> kSystemNamespaces") if not n.endswith("*")}
    for name, document in documents:
        versions = {"rbac.yaml": {"v1", "rbac.authorization.k8s.io/v1"}}
        check(document["apiVersion"] in versions.get(name, {"admissionregistration.k8s.io/v1"}), f"{name}: apiVersion")
        for hook in document.get("webhooks", []):
            check_webhook(name, document["kind"], hook, exempt)
    text = "\n".join(f.read_text() for f in (tree / "deploy" / "kubernetes").glob("*.yaml"))
    user, group = strings(config, "own_user")[0], strings(config, "break_glass_group")[0]
    check(f"'{user}'" in text and f"'{group}'" in text, f"{user}, {group}: who is trusted")
    classes = strings(config, "gpu_runtime_classes")
    check("in [" + ", ".join(f"'{c}'" for c in classes) + "]" in text, f"runtime classes {classes}")
    gate = strings((tree / "core" / "names.h").read_text(), "kGate")[0]
    check(set(re.findall(r"g\.name == '([^']*)'", text)) == {gate}, "the gate's name")
    policies = {d["metadata"]["name"] for _, d in documents if d["kind"] == "ValidatingAdmissionPolicy"}
    bound = {d["spec"]["policyName"] for _, d in documents if d["kind"].endswith("PolicyBinding")}
    check(policies == bound and len(policies) == 4, f"policies {policies}, bound {bound}")
    for _, document in documents:
        if document["kind"].endswith("PolicyBinding") and document["metadata"]["name"] != "subak-namespace":
            where = document["spec"]["matchResources"]["namespaceSelector"]
            check(where == {"matchLabels": {"subak.gpu/managed": "true"}}, f"{document['metadata']['name']}: {where}")
    check_paths(tree, documents)
    print(f"{len(documents)} documents, {len(failures)} failures")
    sys.exit(1 if failures else 0)


main()

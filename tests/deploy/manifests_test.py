#!/usr/bin/env python3
"""The manifests in deploy/kubernetes say what the webhook's code says: names, lists, paths, what fails and what not;
and `subak install --print` fills them in, for every version, into what a YAML reader takes.

usage: manifests_test.py TREE SUBAK SUBAKD
The conditions themselves are CEL, which only an API server evaluates; their one regular expression is tried here
on the cases of the C++ test. Exit 77 (skipped) where python3-yaml is not installed.
"""
import base64
import pathlib
import re
import subprocess
import sys
import tempfile

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
    check(1 <= hook["timeoutSeconds"] <= 2, f"{where}: timeoutSeconds")
    url = hook["clientConfig"]["url"]
    stamps = hook["name"] == "stamp.subak.gpu"
    wanted = "/stamp/" if stamps else "/mutate/" if kind.startswith("Mutating") else "/validate/"
    check(url == "https://HOST:9443" + wanted + "CLUSTER", f"{where}: url {url}")
    asked, left_out = hook["namespaceSelector"]["matchExpressions"]
    holds = hook["failurePolicy"] == "Fail"
    parks = hook["name"] == "park.subak.gpu"
    check(not (parks and holds), f"{where}: pods wait behind gates while Subak is away")
    enforced = holds or parks or stamps
    label = {"key": "subak.gpu/managed", "operator": "In", "values": ["true" if enforced else "warn"]}
    check(asked == label, f"{where}: {asked}")
    check(hook["failurePolicy"] in ("Fail", "Ignore"), f"{where}: failurePolicy")
    check(left_out["operator"] == "NotIn" and set(left_out["values"]) == exempt, f"{where}: {left_out}")
    check(hook.get("matchConditions"), f"{where}: asks about every pod")
    for rule in hook["rules"]:
        if "pods" in rule["resources"] and "UPDATE" in rule["operations"]:
            trusted = hook["matchConditions"][0]
            check(trusted["name"] == "not-trusted", f"{where}: Subak's own updates wait for Subak")


def check_conditions(documents):
    """What holds and what only warns ask about the same pods."""
    hooks = [h for name, d in documents if name == "webhooks.yaml" for h in d["webhooks"]]
    for what in ("pods", "pods/ephemeralcontainers"):
        texts = {h["matchConditions"][0]["expression"] for h in hooks if what in h["rules"][0]["resources"]}
        check(len(texts) == 1, f"webhooks.yaml: {len(texts)} conditions for {what}, want one")


def print_for(subak, *words):
    """What `install --print` says, read."""
    with tempfile.NamedTemporaryFile("w", suffix=".crt") as ca:
        ca.write("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        ca.flush()
        text = subprocess.run([subak, "install", "--print", "--ca", ca.name, *words], check=True, timeout=60,
                              stdout=subprocess.PIPE, text=True).stdout  # fmt: skip
    return list(yaml.safe_load_all(text))


def kinds_of(documents):
    return sorted({d["kind"] for d in documents})


def within(labels, selector):
    return selector.items() <= labels.items()


def check_pods(documents, subakd):
    """The service, and its replicas: their configurations are good, and who is selected is who is meant."""
    named = {(d["kind"], d["metadata"]["name"]): d for d in documents}
    configs = {name: d["data"]["subak.yaml"] for (kind, name), d in named.items() if kind == "ConfigMap"}
    for name, text in configs.items():
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            done = subprocess.run([subakd, "--check-config", "--config", file.name], timeout=60, stderr=subprocess.PIPE, text=True)
        check(done.returncode == 0, f"{name}: {done.stderr}")
        check(yaml.safe_load(text)["gpuKinds"] == ["amd.com/gpu"], f"{name}: {text}")
    check(yaml.safe_load(configs["subak"])["clusters"][0]["name"] == "main", f"configuration: {configs['subak']}")
    leader = named["StatefulSet", "subak"]["spec"]["template"]
    replica = named["Deployment", "subak-webhook"]["spec"]["template"]
    selected = {name: [within(pod["metadata"]["labels"], d["spec"]["selector"].get("matchLabels", d["spec"]["selector"]))
                       for pod in (leader, replica)]
                for (kind, name), d in named.items() if kind in ("Service", "StatefulSet", "Deployment", "PodDisruptionBudget")
                for name in [f"{kind} {name}"]}  # fmt: skip
    check(selected == {"Service subak": [True, True], "Service subak-leader": [True, False], "StatefulSet subak": [True, False],
                       "Deployment subak-webhook": [False, True], "PodDisruptionBudget subak-webhook": [False, True]},
          f"who is selected: {selected}")  # fmt: skip
    follow = yaml.safe_load(configs["subak-webhook"])["follow"].split(":")
    check(follow == ["subak-leader.subak-system.svc", "9444"], f"follows {follow}")
    replicas = named["Deployment", "subak-webhook"]["spec"]["replicas"]
    check(0 < named["PodDisruptionBudget", "subak-webhook"]["spec"]["minAvailable"] < replicas, "a drain may take one")
    account = replica["spec"]["serviceAccountName"]
    bound = [s["name"] for d in documents for s in d.get("subjects", [])]
    check(account not in bound and not replica["spec"]["automountServiceAccountToken"], f"{account} has rights")
    token = next(v["secret"] for v in replica["spec"]["volumes"] if v["name"] == "token")
    check([i["key"] for i in token["items"]] == ["token"], "a replica sees no tokens but its own")
    caller = named["NetworkPolicy", "subak"]["spec"]["ingress"][1]["from"][0]["podSelector"]["matchLabels"]
    check(within(replica["metadata"]["labels"], caller) and not within(leader["metadata"]["labels"], caller), f"who may call: {caller}")


def check_database_pods(subak, subakd):
    """Several pods on one database: who serves what, and what the address gets from the secret."""
    address = "postgres://subak@db.example.com:5433/subak"
    documents = print_for(subak, "--image", "registry.example.com/subak:1", "--state", address, "--replicas", "3")
    named = {(d["kind"], d["metadata"]["name"]): d for d in documents}
    check("Deployment" not in kinds_of(documents), "each of them serves the webhook")
    text = named["ConfigMap", "subak"]["data"]["subak.yaml"]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([subakd, "--check-config", "--config", file.name], timeout=60, stderr=subprocess.PIPE, text=True)
    check(done.returncode == 0, f"on a database: {done.stderr}")
    spec = named["StatefulSet", "subak"]["spec"]
    pod = spec["template"]["spec"]
    mounts = {m["mountPath"]: m["name"] for m in pod["containers"][0]["volumeMounts"]}
    config = yaml.safe_load(text)
    for file in re.findall("=(/[^&]*)", config["state"]):
        check(mounts.get(file.rsplit("/", 1)[0]) == "database", f"{file} is of no secret")
    check(config["state"].startswith(address + "?password_file=/"), config["state"])
    check(mounts[config["knownFolder"]] == spec["volumeClaimTemplates"][0]["metadata"]["name"] == "known", f"known facts: {mounts}")
    check(spec["replicas"] == 3 and named["PodDisruptionBudget", "subak"]["spec"]["maxUnavailable"] == 1, "a drain may take one")
    labels = spec["template"]["metadata"]["labels"]
    leads = {**labels, "subak.gpu/leader": "true"}
    selected = {name: [within(one, d["spec"]["selector"]) for one in (labels, leads)] for (kind, name), d in named.items() if kind == "Service"}
    check(selected == {"subak": [True, True], "subak-leader": [False, True], "subak-replicas": [True, True]}, f"who is selected: {selected}")
    check(spec["serviceName"] == "subak-replicas" and named["Service", "subak-replicas"]["spec"]["clusterIP"] == "None", "names of pods")
    words = pod["containers"][0]["args"]
    check("--own-pod=$(POD_NAMESPACE)/$(POD_NAME)" in words, f"its own pod: {words}")
    check("--advertise=$(POD_NAME).subak-replicas.subak-system.svc:9444" in words, f"its address: {words}")
    own = print_for(subak, "--image", "i", "--state", address + "?sslcert=/c&sslrootcert=/r")
    state = next(yaml.safe_load(d["data"]["subak.yaml"])["state"] for d in own if d["kind"] == "ConfigMap")
    check(state == address + "?sslcert=/c&sslrootcert=/r", f"what it says itself: {state}")


def check_printed(subak, subakd):
    outside = ("--url", "https://10.0.0.5:9443", "--cluster", "fleet-1")
    hooks = {}
    for version in ("1.29", "1.30", "1.36"):
        documents = print_for(subak, *outside, "--kubernetes", version)
        kinds = kinds_of(documents)
        check("StatefulSet" not in kinds and "ClusterRole" in kinds and "FlowSchema" in kinds, f"{version}: {kinds}")
        check(("ValidatingAdmissionPolicy" in kinds) == (version != "1.29"), f"{version}: {kinds}")
        check(("MutatingAdmissionPolicy" in kinds) == (version == "1.36"), f"{version}: {kinds}")
        names = [(d["kind"], d["metadata"]["name"]) for d in documents]
        check(len(names) == len(set(names)), f"{version}: twice in {names}")
        check(("ValidatingWebhookConfiguration", "subak-update") in names or version != "1.29", f"{version}: {names}")
        for document in documents:
            for hook in document.get("webhooks", []):
                client = hook["clientConfig"]
                check(base64.b64decode(client["caBundle"]).startswith(b"-----BEGIN"), f"{version}: caBundle")
                check(re.fullmatch("https://10.0.0.5:9443/(mutate|validate|stamp)/fleet-1", client["url"]), client["url"])
                hooks[version, hook["name"]] = hook["failurePolicy"]
    for name in ("mutate.subak.gpu", "validate.subak.gpu"):
        check((hooks["1.30", name], hooks["1.36", name]) == ("Fail", "Ignore"), f"{name}: {hooks}")
    check(hooks["1.36", "debug.subak.gpu"] == "Fail", "debug containers have no gate")
    inside = print_for(subak, "--image", "registry.example.com/subak:1", "--gpu-kinds", "amd.com/gpu", "--as", "sub@k")
    check("StatefulSet" in kinds_of(inside) and "NetworkPolicy" in kinds_of(inside), f"in the cluster: {kinds_of(inside)}")
    check_pods(inside, subakd)
    for document in inside:
        for hook in document.get("webhooks", []):
            path = hook["clientConfig"]["service"]["path"]
            check(path in ("/mutate/main", "/validate/main", "/stamp/main"), path)
        if document["kind"] in ("FlowSchema", "ClusterRoleBinding"):
            check("sub@k" in str(document), f"{document['kind']}: for whom")


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
    modes = (tree / "model" / "policy.h").read_text()
    exempt = set(strings(modes, "9> kSystemNamespaces"))
    for name, document in documents:
        versions = {"rbac.yaml": {"v1", "rbac.authorization.k8s.io/v1"}, "flow.yaml": {"flowcontrol.apiserver.k8s.io/v1"},
                    "priority-class.yaml": {"scheduling.k8s.io/v1"},
                    "preflight.yaml": {"rbac.authorization.k8s.io/v1"},
                    "certificates.yaml": {"cert-manager.io/v1"},
                    "service.yaml": {"v1", "apps/v1", "networking.k8s.io/v1"},
                    "replicas.yaml": {"v1", "apps/v1", "policy/v1", "networking.k8s.io/v1"},
                    "service-database.yaml": {"v1", "apps/v1", "policy/v1", "networking.k8s.io/v1"}}  # fmt: skip
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
    policies = {(d["kind"], d["metadata"]["name"]) for _, d in documents if d["kind"].endswith("AdmissionPolicy")}
    bound = {(d["kind"][:-7], d["spec"]["policyName"]) for _, d in documents if d["kind"].endswith("PolicyBinding")}
    check(policies == bound and len(policies) == 11, f"policies {policies}, bound {bound}")
    for _, document in documents:
        if document["kind"].endswith("PolicyBinding") and document["metadata"]["name"] not in ("subak-namespace", "subak-self", "subak-self-jobs", "subak-self-domains",
                                                                                                          "subak-self-provisioning"):
            where = document["spec"]["matchResources"]["namespaceSelector"]
            check(where == {"matchLabels": {"subak.gpu/managed": "true"}}, f"{document['metadata']['name']}: {where}")
    check_paths(tree, documents)
    check_conditions(documents)
    check_printed(sys.argv[2], sys.argv[3])
    check_database_pods(sys.argv[2], sys.argv[3])
    print(f"{len(documents)} documents, {len(failures)} failures")
    sys.exit(1 if failures else 0)


main()

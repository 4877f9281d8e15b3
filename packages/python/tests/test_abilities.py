"""The client can do all that the API can, with the API's names: each operation of the OpenAPI document has a method, which takes its fields."""

from __future__ import annotations

import inspect
import json
import re
import unittest
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Set, Tuple, cast

from skerry import AsyncSkerry, Skerry
from skerry._command import command_line
from skerry._sync._machines import Machines
from skerry._sync._sandboxes import Sandbox, Sandboxes

DOCUMENT = json.loads((Path(__file__).parents[2] / "control/openapi.json").read_text("utf-8"))

#: Read by other programs. So is what needs no token, such as this package itself, but for the server's health.
LEFT_OUT = {"getMetrics", "getOpenapi", "createLoginCode", "describeLoginCode", "createSession", "endSession"}
#: Terminals, forwards, and what a port answers, which is for browsers and programs of one's own: not among this client's
#: abilities, and its documentation says so.
LEFT_OUT |= {
    name.replace("VM", kind)
    for kind in ("Sandbox", "Machine")
    for name in (
        "execInVM",
        "requestVMPort",
        "forwardVMPort",
    )
}

#: Of the methods that are written by hand.
METHODS = {
    "createSandbox": "sandboxes.create",
    "exportAudit": "audit.export",
    "listSandboxes": "sandboxes.page",
    "getSandbox": "sandboxes.get",
    "destroySandbox": "sandboxes.destroy",
    "updateSandbox": "sandboxes.update",
    "keepSandboxAlive": "sandboxes.keepalive",
    "pauseSandbox": "sandboxes.pause",
    "resumeSandbox": "sandboxes.resume",
    "createSnapshot": "sandboxes.snapshot",
    "createMachineSnapshot": "machines.snapshot",
    "forkMachine": "machines.fork",
    "rollBackMachine": "machines.rollback",
    "forkSandbox": "sandboxes.fork",
    "rollBackSandbox": "sandboxes.rollback",
    "getKeptExecution": "executions.get",
    "execute": "sandboxes.execute",
    "uploadFile": "sandboxes.upload",
    "downloadFile": "sandboxes.download",
    "statFile": "sandboxes.files().stat",
    "changeFile": "sandboxes.files().set_mode",
    "removeFile": "sandboxes.files().remove",
    "makeDirectory": "sandboxes.files().make_directory",
    "downloadDirectory": "sandboxes.files().pack",
    "uploadDirectory": "sandboxes.files().unpack",
    "watchDirectory": "sandboxes.files().watch",
    "statMachineFile": "machines.files().stat",
    "changeMachineFile": "machines.files().set_mode",
    "removeMachineFile": "machines.files().remove",
    "makeMachineDirectory": "machines.files().make_directory",
    "downloadMachineDirectory": "machines.files().pack",
    "uploadMachineDirectory": "machines.files().unpack",
    "watchMachineDirectory": "machines.files().watch",
    "getSandboxEgress": "sandboxes.egress",
    "setSandboxEgress": "sandboxes.set_egress",
    "listSandboxEvents": "sandboxes.events",
    "getSandboxMetrics": "sandboxes.metrics",
    "listSandboxPorts": "sandboxes.ports",
    "setSandboxPortAccess": "sandboxes.set_port_public",
    "signSandboxUrl": "sandboxes.sign_port_url",
    "listMachineEvents": "machines.events",
    "getMachineMetrics": "machines.metrics",
    "listMachinePorts": "machines.ports",
    "setMachinePortAccess": "machines.set_port_public",
    "signMachineUrl": "machines.sign_port_url",
    "createMachine": "machines.create",
    "listMachines": "machines.page",
    "getMachine": "machines.get",
    "destroyMachine": "machines.destroy",
    "startMachine": "machines.start",
    "stopMachine": "machines.stop",
    "updateMachine": "machines.update",
    "restartMachine": "machines.restart",
    "getMachineLogs": "machines.logs",
    "listMachineRestarts": "machines.restarts",
    "executeInMachine": "machines.execute",
    "uploadMachineFile": "machines.upload",
    "downloadMachineFile": "machines.download",
    "getMachineEgress": "machines.egress",
    "setMachineEgress": "machines.set_egress",
    "followEvents": "event_page",
    "createTemplate": "templates.begin_build",
    "pushTemplate": "templates.begin_push",
    "getBuildLog": "builds.log",
    "getAppLogs": "apps.logs",
    "uploadBuildContext": "builds.send_context",
    "uploadBuildSecret": "builds.send_secret",
}

#: Fields that a method takes in another form.
OTHERWISE: Dict[str, Set[str]] = {
    # It is text or bytes; and executions of their own are not among this client's abilities.
    "execute": {"encoding", "stdin_encoding", "detach", "reattach"},
    "executeInMachine": {"encoding", "stdin_encoding", "detach", "reattach"},
    # `files().list`, `files().sign_url` and `follow_logs`.
    "downloadFile": {"list", "depth", "limit", "_skerry"},
    "downloadMachineFile": {"list", "depth", "limit", "_skerry"},
    "uploadFile": {"_skerry"},
    "uploadMachineFile": {"_skerry"},
    "signSandboxUrl": {"path", "method", "mode"},
    "signMachineUrl": {"path", "method", "mode"},
    "getMachineLogs": {"follow"},
    "getBuildLog": {"follow"},
    "getAppLogs": {"follow", "after"},
    # A list, as `kinds`.
    "followEvents": {"kind"},
}

#: They take the whole body.
WHOLE_BODY = {"createTemplate", "pushTemplate", "updateSandbox", "updateMachine"}


METHODS |= {
    f"{operation.replace('VM', kind)}": f"{kind.lower()}{'es' if kind == 'Sandbox' else 's'}.{method}"
    for kind in ("Sandbox", "Machine")
    for operation, method in {
        "createVMExecution": "start_execution",
        "listVMExecutions": "list_executions",
        "getVMExecution": "get_execution",
        "streamVMExecution": "follow_execution",
        "sendVMExecutionStdin": "send_execution_stdin",
        "killVMExecution": "kill_execution",
    }.items()
}


GENERATED = Path(__file__).parents[1] / "src/skerry/_async/_generated"


def generated() -> Set[Tuple[str, str]]:
    """Method and path of each operation whose method follows from its declaration, and takes its fields thereby."""
    calls: Set[Tuple[str, str]] = set()
    for file in GENERATED.glob("*.py"):
        for method, path in re.findall(r'Request\(\s*"([A-Z]+)",\s*f?"([^"]+)"', file.read_text("utf-8")):
            calls.add((method.lower(), re.sub(r"segment\((\w+)\)", r"\1", path)))
    return calls


def operations() -> Iterator[Tuple[str, Set[str]]]:
    """Those that a client calls by a method that is written by hand, each with the names of its query and of its body."""
    schemas = DOCUMENT["components"]["schemas"]
    derived = generated()
    for address, path in DOCUMENT["paths"].items():
        for method, operation in path.items():
            if (method, address) in derived:
                continue
            operation_id = operation["operationId"]
            is_public = operation.get("security") == []
            if operation_id in LEFT_OUT or (is_public and operation_id not in METHODS):
                continue
            names = {it["name"] for it in operation.get("parameters", []) if it["in"] == "query"}
            content = operation.get("requestBody", {}).get("content", {})
            reference = content.get("application/json", {}).get("schema", {}).get("$ref")
            if reference is not None:
                names |= set(schemas[reference.split("/")[-1]].get("properties", {}))
            yield operation_id, names


def method_of(client: object, path: str) -> Callable[..., object]:
    found: Any = client
    for name in path.split("."):
        found = getattr(found, name.rstrip("()"))
        if name.endswith("()"):
            found = found("sbx_0")
    assert callable(found)
    return cast(Callable[..., object], found)


class AbilitiesTest(unittest.TestCase):
    def test_every_operation_has_a_method_which_takes_its_fields_by_their_names(self) -> None:
        tried = 0
        clients = (Skerry("http://h", token="sk_test"), AsyncSkerry("http://h", token="sk_test"))
        for operation, fields in operations():
            self.assertIn(operation, METHODS, "an operation without a method")
            for client in clients:
                parameters = inspect.signature(method_of(client, METHODS[operation])).parameters
                wanted = set() if operation in WHOLE_BODY else fields - OTHERWISE.get(operation, set())
                self.assertEqual(wanted - set(parameters), set(), operation)
                tried += 1
        self.assertEqual(tried, 2 * len(METHODS))
        self.assertGreater(len(generated()), 40)

    def test_the_readme_names_each_method_of_a_sandbox_and_of_machines(self) -> None:
        text = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
        for one in (Sandbox, Sandboxes, Machines):
            names = {name for name in dir(one) if not name.startswith("_")}
            self.assertGreater(len(names), 20)
            self.assertEqual({name for name in names if not re.search(rf"\b{name}\b", text)}, set(), one.__name__)

    def test_a_list_is_a_program_and_its_arguments(self) -> None:
        self.assertEqual(command_line("echo $HOME | cat"), "echo $HOME | cat")
        self.assertEqual(command_line(["echo", "$HOME", "it's", ""]), """echo '$HOME' 'it'"'"'s' ''""")

    def test_everything_but_what_a_call_is_about_is_named(self) -> None:
        about = {"self", "id", "user_id", "name_or_id", "command", "execution", "stdin", "path", "content", "changes", "role", "port"}
        about |= {"mode", "archive", "name", "request", "tag", "template", "host"}
        client = Skerry("http://h", token="sk_test")
        for path in METHODS.values():
            for parameter in inspect.signature(method_of(client, path)).parameters.values():
                if parameter.name not in about:
                    self.assertIs(parameter.kind, inspect.Parameter.KEYWORD_ONLY, f"{path}: {parameter.name}")


if __name__ == "__main__":
    unittest.main()

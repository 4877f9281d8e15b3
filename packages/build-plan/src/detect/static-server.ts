// The server of static files, in Python's standard library, which every built-in template that apps stand on has.

import type { RequestedStep } from "../build-plan.ts";
import { quoted } from "@skerry/contract/shell-words";

const FILE = "/usr/local/lib/skerry/serve-static.py";

const PROGRAM = `import os, sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

folder, is_one_page = sys.argv[1], sys.argv[2:] == ["--one-page"]


class Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *arguments):
        super().__init__(*arguments, directory=folder)

    def translate_path(self, path):
        found = super().translate_path(path)
        # Such as .git and .env, which nobody meant to publish.
        hidden = [part for part in found[len(folder):].split("/") if part.startswith(".")]
        if hidden and hidden[0] != ".well-known":
            return os.path.join(folder, ".hidden", "none")
        if os.path.exists(found):
            return found
        if os.path.isfile(found + ".html"):
            return found + ".html"
        # A path of the page's own router, and not of a file that is missing.
        has_ending = "." in os.path.basename(found)
        return os.path.join(folder, "index.html") if is_one_page and not has_ending else found

    def list_directory(self, path):
        self.send_error(404)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


Server(("0.0.0.0", int(os.environ.get("PORT", "8080"))), Handler).serve_forever()
`;

export function copyStaticServer(): RequestedStep {
  return { run: `mkdir -p /usr/local/lib/skerry && cat >${FILE} <<'END'\n${PROGRAM}END` };
}

/** The command that serves this folder; with `isOnePage` its index.html also answers paths that no file has. */
export function serveFolder(folder: string, isOnePage: boolean): string {
  return `exec python3 ${FILE} ${quoted(folder)}${isOnePage ? " --one-page" : ""}`;
}

// Small apps of every kind that is detected. Those with `answers` need nothing that is not in the built-in templates, so that a test can build
// and ask them anywhere.

export interface App {
  readonly files: Readonly<Record<string, string>>;
  /** What a path answers, once the app runs: a part of its body. */
  readonly answers?: Readonly<Record<string, string>>;
}

const nodeServer = (text: string): string =>
  `require("node:http").createServer((_, response) => response.end(${JSON.stringify(text)} + process.env.NODE_ENV)).listen(process.env.PORT);\n`;

const json = (value: object): string => `${JSON.stringify(value, undefined, 2)}\n`;

const pythonServer = (text: string): string => `import os
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"${text}")


HTTPServer(("0.0.0.0", int(os.environ["PORT"])), Handler).serve_forever()
`;

export const apps = {
  "node with a script": {
    files: {
      "package.json": json({ name: "one", scripts: { start: "node server.js" } }),
      "server.js": nodeServer("scripted "),
    },
    answers: { "/": "scripted production" },
  },
  "node with main": {
    files: { "package.json": json({ main: "./lib" }), "lib/index.js": nodeServer("main ") },
    answers: { "/": "main production" },
  },
  "node with an entry": {
    files: { "package.json": "{}", "app.js": nodeServer("entry ") },
    answers: { "/": "entry production" },
  },
  "node with a build": {
    files: {
      "package.json": json({ scripts: { build: "node build.js", start: "node made/server.js" } }),
      "build.js":
        'const fs = require("node:fs"); fs.mkdirSync("made"); fs.copyFileSync("source.js", "made/server.js");\n',
      "source.js": nodeServer("built "),
    },
    answers: { "/": "built production" },
  },
  "node with a Procfile": {
    files: {
      "package.json": json({ scripts: { start: "false" } }),
      "other.js": nodeServer("procfile "),
      Procfile: "# of the app\nweb: node other.js\nworker: node worker.js\n",
    },
    answers: { "/": "procfile production" },
  },
  npm: {
    files: {
      "package.json": json({ scripts: { start: "node index.js" }, dependencies: { "is-number": "7.0.0" } }),
      "package-lock.json": "{}",
      ".npmrc": "fund=false\n",
      "index.js": "",
    },
  },
  "npm without a lockfile": {
    files: {
      "package.json": json({ dependencies: { "is-number": "7" }, scripts: { build: "tsc" } }),
      "index.js": "",
    },
  },
  "npm with a postinstall": {
    files: {
      "package.json": json({
        dependencies: { a: "1" },
        scripts: { postinstall: "node make.js", start: "node ." },
      }),
      "package-lock.json": "{}",
    },
  },
  pnpm: {
    files: {
      "package.json": json({ dependencies: { a: "1" }, packageManager: "pnpm@9.12.0+sha512.abc" }),
      "pnpm-lock.yaml": "",
      "package-lock.json": "{}",
      "server.mjs": "",
    },
  },
  yarn: {
    files: {
      "package.json": json({ devDependencies: { a: "1" }, scripts: { build: "b", start: "s" } }),
      "yarn.lock": "",
    },
  },
  "yarn of today": {
    files: {
      "package.json": json({
        dependencies: { a: "1" },
        scripts: { start: "s" },
        packageManager: "yarn@4.5.0",
      }),
      "yarn.lock": "",
      ".yarnrc.yml": "",
      ".yarn/releases/yarn.cjs": "",
    },
  },
  "node of a version": {
    files: { "package.json": json({ engines: { node: ">=22 <23" } }), "index.js": "" },
  },
  "node of .nvmrc": {
    files: { "package.json": "{}", "index.js": "", ".nvmrc": "v18\n" },
  },
  "page made by vite": {
    files: {
      "package.json": json({ scripts: { build: "vite build" }, devDependencies: { vite: "5" } }),
      "package-lock.json": "{}",
      "index.html": "<div id=root></div>",
    },
  },
  "python with an entry": {
    files: { "main.py": pythonServer("plain") },
    answers: { "/": "plain" },
  },
  "python with a folder of its own": {
    files: { "requirements.txt": "# none\n", "src/app.py": pythonServer("below") },
    answers: { "/": "below" },
  },
  "python with a Procfile": {
    files: {
      "app.py": "",
      "wsgi_server.py": pythonServer("wsgi"),
      Procfile: "web: python3 wsgi_server.py\n",
    },
    answers: { "/": "wsgi" },
  },
  flask: {
    files: {
      "requirements.txt": "Flask==3.0.0\n",
      "app.py": "from flask import Flask\n\nsite = Flask(__name__)\n",
    },
  },
  "flask with gunicorn": {
    files: {
      "requirements.txt": "-r base.txt\nflask\ngunicorn>=20\n",
      "app/__init__.py": "import flask\napp: flask.Flask = flask.Flask(__name__)\n",
    },
  },
  fastapi: {
    files: {
      "pyproject.toml":
        '[project]\nname = "api"\ndependencies = [\n  "fastapi>=0.110", # the server comes by itself\n]\n',
      "main.py": "from fastapi import FastAPI\n\napi = FastAPI(title='a')\n",
    },
  },
  "fastapi with uvicorn": {
    files: { "requirements.txt": "fastapi\nuvicorn[standard]\n", "app/main.py": "app = FastAPI()\n" },
  },
  django: {
    files: { "requirements.txt": "django\n", "manage.py": "", "shop/wsgi.py": "" },
  },
  "django with gunicorn": {
    files: {
      Pipfile: '[packages]\ndjango = "*"\ngunicorn = "*"\n\n[dev-packages]\nblack = "*"\n',
      "Pipfile.lock": "{}",
      "manage.py": "",
      "shop/wsgi.py": "",
    },
  },
  poetry: {
    files: {
      "pyproject.toml":
        '[tool.poetry]\nname = "a"\n\n[tool.poetry.dependencies]\npython = "^3.11"\nflask = "^3"\n',
      "server.py": "app = Flask(__name__)\n",
    },
  },
  "one page": {
    files: {
      "index.html": "<h1>one page</h1>",
      "style.css": "body { color: red }",
      ".env": "SECRET=hidden",
    },
    answers: { "/": "one page", "/style.css": "color: red", "/a/path/of/its/own": "one page" },
  },
  "pages in public": {
    files: { "public/index.html": "<h1>first</h1>", "public/about.html": "<h1>about</h1>" },
    answers: { "/": "first", "/about": "about", "/about.html": "about" },
  },
  "page in dist": {
    files: { "dist/index.html": "<h1>made</h1>", "dist/404.html": "no" },
    answers: { "/": "made" },
  },
  Dockerfile: {
    files: { Dockerfile: "FROM scratch\n", "main.go": "package main\n" },
  },
  "Dockerfile beside an app": {
    files: { Dockerfile: "FROM scratch\n", "index.html": "" },
  },
  "python that only works": {
    files: {
      "requirements.txt": "",
      "job.py": "",
      Procfile: "worker: python3 job.py\nrelease: python3 migrate.py\n",
    },
  },
} satisfies Readonly<Record<string, App>>;

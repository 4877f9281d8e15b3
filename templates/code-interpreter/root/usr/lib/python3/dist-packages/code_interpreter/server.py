"""The calls of E2B's code interpreter, as HTTP."""

import asyncio
import json

import tornado.iostream
import tornado.web

from .contexts import Contexts, Refusal
from .jupyter_kernel import remove_folders

PORT = 49999
BODY_MAX_BYTES = 64 * 1024 * 1024


def is_encodable(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_variable(name, value):
    return name != "" and "=" not in name and "\0" not in name + value and is_encodable(name + value)


class Handler(tornado.web.RequestHandler):
    def initialize(self, contexts):
        self.contexts = contexts

    def body(self):
        """The fields of the request, of which each may be absent or null."""
        try:
            fields = json.loads(self.request.body or b"{}")
        except ValueError:
            raise Refusal(400, "The body is not JSON.")
        if not isinstance(fields, dict):
            raise Refusal(400, "The body is not a JSON object.")
        return fields

    def text_of(self, fields, name):
        value = fields.get(name)
        if value is not None and not isinstance(value, str):
            raise Refusal(400, f"`{name}` is not a string.")
        if value is not None and not is_encodable(value):
            raise Refusal(400, f"`{name}` has half of a character.")
        return value

    def answer(self, value):
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(value))

    def write_error(self, status, exc_info=None, **_):
        error = exc_info[1] if exc_info else None
        message = error.message if isinstance(error, Refusal) else self._reason
        self.answer({"code": status, "message": message})

    def log_exception(self, kind, value, trace):
        if not isinstance(value, Refusal):
            super().log_exception(kind, value, trace)


class Health(Handler):
    """The template is frozen once it answers 200."""

    def get(self):
        if not self.contexts.is_warm:
            raise Refusal(503, "The first kernels are starting.")
        self.answer("OK")


class AllContexts(Handler):
    def get(self):
        self.answer([context.described() for context in self.contexts.list()])

    async def post(self):
        fields = self.body()
        context = await self.contexts.create(self.text_of(fields, "language"), self.text_of(fields, "cwd"))
        self.answer(context.described())


class OneContext(Handler):
    async def delete(self, context_id):
        await self.contexts.remove(context_id)
        self.set_status(204)


class RestartedContext(Handler):
    async def post(self, context_id):
        await self.contexts.find(context_id).restart()
        self.set_status(204)


class Execute(Handler):
    gone = None

    def on_connection_close(self):
        if self.gone is not None:
            self.gone.set()

    async def post(self):
        fields = self.body()
        code, env = self.text_of(fields, "code"), fields.get("env_vars") or {}
        if code is None:
            raise Refusal(400, "`code` is missing.")
        if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
            raise Refusal(400, "`env_vars` is not an object of strings.")
        if not all(is_variable(name, value) for name, value in env.items()):
            raise Refusal(400, "`env_vars` has a name or a value that no variable can have.")
        context = self.contexts.of_request(self.text_of(fields, "context_id"), self.text_of(fields, "language"))
        self.gone = asyncio.Event()
        self.set_header("Content-Type", "application/x-ndjson")
        # The client waits for the head with a shorter deadline than for the rest.
        await self.flush()
        async for event in context.execute(code, env, self.gone):
            # What runs is interrupted and ends in order, also when the client has left.
            if not self.gone.is_set():
                await self.send(event)

    async def send(self, event):
        try:
            self.write(json.dumps(event) + "\n")
            await self.flush()
        except tornado.iostream.StreamClosedError:
            self.gone.set()


async def serve():
    remove_folders()
    contexts = Contexts()
    options = {"contexts": contexts}
    application = tornado.web.Application(
        [
            ("/health", Health, options),
            ("/execute", Execute, options),
            ("/contexts", AllContexts, options),
            ("/contexts/([0-9a-f-]+)", OneContext, options),
            ("/contexts/([0-9a-f-]+)/restart", RestartedContext, options),
        ],
        log_function=lambda _handler: None,
    )
    # Before they are warm: in a sandbox that has booted from its disk clients call at once.
    application.listen(PORT, "127.0.0.1", max_body_size=BODY_MAX_BYTES, max_buffer_size=BODY_MAX_BYTES)
    await contexts.warm_up()
    await asyncio.Event().wait()

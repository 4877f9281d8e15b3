"""Events of E2B's code interpreter, also of the messages that a Jupyter kernel publishes."""

import datetime

END = {"type": "end_of_execution"}

FIELDS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
    "e2b/data": "data",
    "e2b/chart": "chart",
}


def stream_event(name, text, date=None):
    """Without a date: of now."""
    date = date or datetime.datetime.now(datetime.timezone.utc)
    return {"type": name, "text": text, "timestamp": date.isoformat().replace("+00:00", "Z")}


def error_event(name, value, traceback=""):
    return {"type": "error", "name": name, "value": value, "traceback": traceback}


def count_event(count):
    return {"type": "number_of_executions", "execution_count": count}


def result_event(data, is_main):
    fields = {FIELDS.get(kind, kind): value for kind, value in data.items() if value is not None}
    text = fields.get("text")
    # A string of Python is shown as its value.
    if isinstance(text, str) and len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        fields["text"] = text[1:-1]
    return {**fields, "type": "result", "is_main_result": is_main}


def event_of(message):
    """None for what the client does not hear of."""
    kind, content = message["msg_type"], message["content"]
    if kind == "stream":
        return stream_event(content["name"], content["text"], message["header"]["date"])
    if kind in ("display_data", "execute_result"):
        return result_event(content["data"], kind == "execute_result")
    if kind == "error":
        return error_event(content["ename"], content["evalue"], "\n".join(content["traceback"]))
    if kind == "execute_input":
        return count_event(content["execution_count"])
    return None

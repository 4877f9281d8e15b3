"""What makes a sandbox one of its own: its variables, and its number. The agent writes both when a clone begins to be a sandbox."""

MACHINE_ID = "/etc/machine-id"
ENVIRONMENT = "/run/skerry-environment"


def sandbox_environment():
    try:
        with open(ENVIRONMENT, errors="surrogateescape") as file:
            entries = file.read().split("\0")
    except FileNotFoundError:
        return {}
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def machine_id():
    with open(MACHINE_ID) as file:
        return file.read()

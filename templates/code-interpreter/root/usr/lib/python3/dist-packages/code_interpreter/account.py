"""Programs of the sandbox's user."""

import asyncio
import os
import pwd

USER = "user"


def account():
    return pwd.getpwnam(USER)


def base_environment():
    """The variables that each program has, under those of the sandbox."""
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        **{"HOME": account().pw_dir, "USER": USER, "LOGNAME": USER},
    }


def give(fd):
    """A pipe is made by root, and the user opens it by name as `/dev/stdout`."""
    os.fchown(fd, account().pw_uid, account().pw_gid)


def give_file(path):
    os.chown(path, account().pw_uid, account().pw_gid)


async def start_as_user(argv, cwd, env, **options):
    """A program in a session of its own, which ends with the server."""
    return await asyncio.create_subprocess_exec(
        *("setpriv", "--pdeathsig", "KILL", "--", *argv),
        **{"cwd": cwd, "user": account().pw_uid, "group": account().pw_gid, "extra_groups": []},
        env={**base_environment(), **env},
        start_new_session=True,
        **options,
    )

"""Becomes a program for which files never answer, as those of a dead file server, or of a user's own file system (FUSE):
in_dead_files.py FILE... -- PROGRAM ARGUMENT...

They lie in a mount namespace of the program's own, so nobody else waits for them; and with the program, which holds the
servers' ends, they end. Exits with 77 where that cannot be had.
"""

import ctypes
import os
import sys

CLONE_NEWNS = 0x20000
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 2, 4, 0x4000, 0x40000


def call(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)


def main(files, command):
    try:
        call("unshare", CLONE_NEWNS)
        call("mount", None, b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)
        for file in files:
            server = os.open("/dev/fuse", os.O_RDWR)
            os.set_inheritable(server, True)
            options = f"fd={server},rootmode=100444,user_id=0,group_id=0".encode()
            call("mount", b"dead", os.fsencode(file), b"fuse", ctypes.c_ulong(MS_NOSUID | MS_NODEV), options)
    except OSError as error:
        print(f"no files that never answer: {error}", file=sys.stderr)
        sys.exit(77)
    os.execvp(command[0], command)


if __name__ == "__main__":
    at = sys.argv.index("--")
    main(sys.argv[1:at], sys.argv[at + 1:])

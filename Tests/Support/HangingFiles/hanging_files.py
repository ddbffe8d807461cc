"""A file system that hangs when it is told to: one directory with read-only files, served to the kernel over /dev/fuse.

    hanging_files.py MOUNTPOINT NAME=FILE...

It prints "ready" when the directory is mounted, and reads commands: "hang" leaves every request of the kernel without an answer until
"go on"; each is confirmed with a line. At the end of its input the directory is unmounted and every request that hangs fails (ENOTCONN).

Source: fuse(4), <linux/fuse.h>; nothing is cached, so that each look at a file is a request.
"""

import ctypes
import errno
import os
import select
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH = 1, 2, 3, 14, 15, 18, 25
INIT, OPENDIR, READDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = 26, 27, 28, 29, 36, 42
HEADER = struct.Struct("<IIQQIIII")


class Files:
    def __init__(self, sources):
        self.names = [name for name, _ in sources]
        self.contents = [open(path, "rb").read() for _, path in sources]

    def attributes(self, node):
        # Node 1 is the directory; the files follow in order.
        size, mode = (0, 0o040755) if node == 1 else (len(self.contents[node - 2]), 0o100755)
        return struct.pack("<QQQQQQIIIIIIIIII", node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, 4096, 0)

    def answer(self, code, node, body):
        if code == INIT:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, 0x20000, 0, 8, 6, 0x20000, 1, 1, 0, 0)
        if code == LOOKUP:
            name = body.rstrip(b"\0").decode()
            if name not in self.names:
                return errno.ENOENT
            found = self.names.index(name) + 2
            return struct.pack("<QQQQII", found, 0, 0, 0, 0, 0) + self.attributes(found)
        if code == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self.attributes(node)
        if code in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, 0, 0)
        if code == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return self.contents[node - 2][offset : offset + size]
        if code == READDIR:
            _, offset, _ = struct.unpack_from("<QQI", body)
            entries = b""
            for index, name in list(enumerate(self.names))[offset:]:
                text = name.encode()
                entry = struct.pack("<QQII", index + 2, index + 1, len(text), 8) + text
                entries += entry + b"\0" * (-len(entry) % 8)
            return entries
        if code in (RELEASE, RELEASEDIR, FLUSH):
            return b""
        return errno.ENOSYS


def main():
    place, sources = sys.argv[1], [text.split("=", 1) for text in sys.argv[2:]]
    files = Files(sources)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},default_permissions,allow_other"
    library = ctypes.CDLL(None, use_errno=True)
    # MS_NOSUID | MS_NODEV
    if library.mount(b"hanging", place.encode(), b"fuse", 6, options.encode()) != 0:
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    print("ready", flush=True)
    hangs = False
    while True:
        wanted = [sys.stdin] if hangs else [sys.stdin, device]
        ready = select.select(wanted, [], [])[0]
        if sys.stdin in ready:
            command = sys.stdin.readline().strip()
            if not command:
                break
            hangs = command == "hang"
            print(command, flush=True)
        elif device in ready:
            request = os.read(device, 0x21000)
            _, code, unique, node, _, _, _, _ = HEADER.unpack_from(request)
            if code in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            answer = files.answer(code, node, request[HEADER.size :])
            error, body = (-answer, b"") if isinstance(answer, int) else (0, answer)
            os.write(device, struct.pack("<IiQ", 16 + len(body), error, unique) + body)
    # MNT_DETACH: requests that hang keep the directory busy until the device is closed.
    library.umount2(place.encode(), 2)
    os.close(device)


main()

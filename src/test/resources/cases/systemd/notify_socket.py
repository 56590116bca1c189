"""Plays the service manager: prints each message that comes to the socket, as one line of JSON, with its sender's pid."""
import array
import json
import os
import socket
import struct
import sys
import time

listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
listener.bind(sys.argv[1])
print(json.dumps({"listening": sys.argv[1]}), flush=True)
while True:
    data, parts, _, _ = listener.recvmsg(65536, 4096)
    pid = 0
    for level, kind, content in parts:
        if kind == socket.SCM_RIGHTS:
            descriptors = array.array("i")
            descriptors.frombytes(content)
            for descriptor in descriptors:
                os.close(descriptor)  # the sender waits for this
        elif kind == 2:  # SCM_CREDENTIALS
            pid = struct.unpack("3i", content)[0]
    words = [word for word in data.decode().split("\n") if word]
    if words != ["BARRIER=1"]:
        print(json.dumps({"at": time.monotonic_ns() // 1000, "pid": pid, "words": words}), flush=True)

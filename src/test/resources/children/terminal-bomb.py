#!/usr/bin/env python3
# What a child can do to a terminal: colours and cursor, title, clipboard, C1 control characters (as UTF-8 and as bare bytes), text that
# runs the other way, carriage returns and backspaces over what stands there, broken UTF-8, NUL, DEL, and a line without end.
import sys

out = sys.stdout.buffer
out.write(b"\x1b[31mred\x1b[0m \x1b[2J\x1b[H\x1b[?1049h \x1b]0;owned\x07 \x1b]52;c;ZXZpbA==\x07 \x1bPq\x1b\\ \x1bc\n")
out.write("\u009b2J \u009d0;owned\u009c \u0090q\u009c \u0085next".encode() + b" \x9b2J \x9d52;c;ZXZpbA==\x9c\n")
out.write("safe\u202etxt.exe\u202c \u2066a\u2069 \u200f\u200e\u061c \u2028\u2029\n".encode())
out.write(b"harmless\rrm -rf /\b\b\x7f\x00\x0b\x0c\xff\xfe\xed\xa0\x80 end\n")
out.write(b"\x1b]0;" * 50_000)
out.flush()
sys.stderr.buffer.write(b"\x1b]52;c;ZXZpbA==\x07 in stderr\n")

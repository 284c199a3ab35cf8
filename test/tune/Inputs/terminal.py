# Runs a command on a terminal of 100 columns, and prints what it wrote, a line for each time that a line was begun anew, and the length of the longest.
import fcntl
import os
import pty
import re
import struct
import sys
import termios

child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
text = b""
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    text += part
lines = [re.sub("\x1b\\[K", "", line) for line in re.split("[\r\n]+", text.decode())]
print("\n".join(lines))
print("longest:", max(len(line) for line in lines if line.startswith("[")))

# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples of a page of documentation: a block between ``` is found by how it begins.

    examples.py show PAGE START          prints the block
    examples.py find PAGE START FILE     fails unless FILE has the block's lines, one after another; a line `…` stands for any lines"""
import re
import sys


def block(page, start):
    found = [text for text in re.findall(r"^```\w*\n(.*?)^```", open(page).read(), re.S | re.M) if text.startswith(start)]
    if len(found) != 1:
        raise SystemExit(f"{page}: {len(found)} blocks begin with `{start}`")
    return found[0]


def find(page, start, file):
    """The pieces between lines `…`, each in the file, after the one before."""
    text, at = open(file).read(), 0
    for piece in re.split(r"^ *…\n", block(page, start), flags=re.M):
        at = text.find(piece, at)
        if at < 0:
            raise SystemExit(f"{page}: tkc does not print\n{piece}")
        at += len(piece)


command, *arguments = sys.argv[1:]
if command == "show":
    sys.stdout.write(block(*arguments))
else:
    find(*arguments)

"""Prints the JSON of --emit=signatures a field a line, and a parameter or specialisation a line."""
import json
import sys

everything = json.load(open(sys.argv[1]))
print("version", everything["version"])
print("files", json.dumps([name.rsplit("/", 1)[-1] for name in everything["files"]]))
for entry in everything["entries"]:
    for key, value in entry.items():
        rows = value if key in ("parameters", "specializations", "gradients") else [value]
        for row in rows:
            print(key, json.dumps(row, sort_keys=True))

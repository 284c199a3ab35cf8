#!/usr/bin/env python3
"""Adds up JUnit results: summary.py FOLDER [RUNNER THAT FAILED…]. Prints what failed and why tests were skipped, then
`N passed, N failed, N skipped`; exits 1 after a failure."""
import collections
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

folder = pathlib.Path(sys.argv[1])
failed_runners = sys.argv[2:]
passed, failed, skipped = 0, [], collections.Counter()
for path in sorted(folder.glob("*.xml")):
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{path.stem}: {case.get('classname', '')} {case.get('name', '')}"
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
        elif skip is not None or case.get("status") == "notrun":
            skipped[f"{path.stem}: {skip.get('message') if skip is not None else 'disabled'}"] += 1
        else:
            passed += 1

# A runner may die before it writes its results, or after the last of them.
named = {name.split(":")[0] for name in failed}
for runner in failed_runners:
    if runner.split()[0] not in named:
        failed.append(f"{runner} ended with an error; see its log in {folder}")

for name in failed:
    print("FAILED", name)
for reason, count in skipped.items():
    print("skipped", count, "of", reason)
print(f"{passed} passed, {len(failed)} failed, {sum(skipped.values())} skipped")
sys.exit(1 if failed else 0)

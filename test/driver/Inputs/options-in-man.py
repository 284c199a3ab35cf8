"""options-in-man.py PAGE: each option that completion knows and the page of the manual lacks."""
import re
import subprocess
import sys

page = open(sys.argv[1]).read().replace("\\-", "-")
script = subprocess.run(["tkc", "completion", "bash"], capture_output=True, text=True, check=True).stdout
options = {word for words in re.findall(r"words='(.*)'", script) for word in words.split() if word.startswith("-")}
for option in sorted(options):
    if not re.search(rf"(?m)^\\fB(.*, )?{re.escape(option)}(, .*)?\\fR", page):
        print(option, "missing")
print("more than fifty options" if len(options) > 50 else f"{len(options)} options")

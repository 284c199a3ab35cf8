"""check-editors.py ROOT: each word of the language that an editor's syntax file lacks, and keywords of the library that the TextMate grammar leaves."""
import json
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
language = (root / "docs/language.md").read_text()
keywords = re.findall(r'TKC_KEYWORD\(\w+, "(\w+)"\)', (root / "frontend/Tokens.def").read_text())
elsewhere = re.search(r"mean something in other places: `([^`]+)`", language)[1].split()
types = re.findall(r'\{ElemType::\w+, "(\w+)"', (root / "support/ElemType.cpp").read_text())
table = language.split("## Functions and constants")[1].split("## Control")[0]
spans = [span.split("(")[0] for span in re.findall(r"`([^`]+)`", table)]
functions = {word for span in spans for word in span.split() if re.fullmatch(r"[A-Za-z]\w+", word)}
functions |= {"col" + word[3:] for word in functions if word.startswith("row")}
words = sorted({*keywords, *elsewhere, *types, *functions})

editors = {name: (root / "editors" / name).read_text()
           for name in ("vscode/syntaxes/tk.tmLanguage.json", "vim/syntax/tk.vim", "emacs/tk-mode.el")}
for name, text in editors.items():
    known = set(re.findall(r"\w+", text.replace("\\\\b", " ")))
    for word in words:
        if word not in known:
            print(f"editors/{name}: {word} is missing")

json.loads((root / "editors/vscode/package.json").read_text())
json.loads((root / "editors/vscode/language-configuration.json").read_text())
grammar = json.loads(editors["vscode/syntaxes/tk.tmLanguage.json"])["repository"]
patterns = [one["match"] for entry in grammar.values() for one in entry.get("patterns", [entry])]
first = re.compile("|".join(f"({one})" for one in patterns) + r"|(\w+)|\s+|.")
for file in sorted(root.glob("kernels/**/*.tk")):
    for line in file.read_text().splitlines():
        for match in first.finditer(line):
            if match[match.re.groups] in keywords:
                print(f"{file}: {match[match.re.groups]} is not coloured")
print("more than eighty words" if len(words) > 80 else f"{len(words)} words", "in", len(editors), "editors")

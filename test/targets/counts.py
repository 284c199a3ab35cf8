# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `tkc test --target=emulator --counts` writes, in few numbers."""
import re


def loop_lines(text):
    """The numbers of the lines of a .tk file that stand in `for` loops, from the line of the `for` to that of its brace."""
    inside, depths = set(), []
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0]
        if depths:
            inside.add(number)
        for found in re.finditer(r"\bfor\b[^{]*\{|[{}]", code):
            if found[0].startswith("for"):
                depths.append(0)
                inside.add(number)
            elif found[0] == "{" and depths:
                depths[-1] += 1
            elif found[0] == "}" and depths:
                if depths[-1] == 0:
                    depths.pop()
                else:
                    depths[-1] -= 1
    return inside


def summary(counts, file):
    """{"done", "needed": multiply-adds of matrix instructions; "loops", "others": {"accesses", "conflicts"}; "worst": places}.
    A conflict is a time that the banks are busy beyond the least."""
    in_loop = {f"{file.name}:{line}" for line in loop_lines(file.read_text())}
    result = {"done": sum(kernel["multiplyAdds"] for kernel in counts["products"]), "needed": counts.get("neededMultiplyAdds", 0),
              "loops": {"accesses": 0, "conflicts": 0}, "others": {"accesses": 0, "conflicts": 0}, "worst": []}
    for row in counts["shared"]:
        part = result["loops" if row["line"] in in_loop else "others"]
        part["accesses"] += row["accesses"]
        part["conflicts"] += row["served"] - row["least"]
        if row["served"] > row["least"]:
            result["worst"].append([row["served"] - row["least"], row["accesses"], row["bytes"], row["writes"], row["place"]])
    result["worst"] = sorted(result["worst"], reverse=True)[:5]
    return result

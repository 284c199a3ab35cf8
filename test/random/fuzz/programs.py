# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs: kernels that hand each other tensors of the program's workspace."""
TILES = (16, 32, 64, 48, 7, 128)


def first_stage(k, name, out_type):
    """Makes w[M, N] of inputs: (kernel, arguments, inputs of the program, equation)."""
    a, b = k.choices.pick(TILES), k.choices.pick(TILES[:4])
    kind = k.choices.pick(("each", "product", "scale"))
    if kind == "product":
        type = k.choices.pick(("bf16", "f16", "tf32"))
        text = f"""kernel {name}(x: {type}[M, K], z: {type}[K, N], out w: {out_type}[M, N]) {{
  parallel m in tiles(M, {a}), n in tiles(N, {b}) {{
    var acc = zeros({a}, {b});
    for k in tiles(K, 32) {{ acc += x[m, k] @ z[k, n]; }}
    w[m, n] = acc * 0.125;
  }}
}}
"""
        return text, "x, z", [f"x: {type}[M, K]", f"z: {type}[K, N]"], "sum(k in 0..K, x[m, k] * z[k, n]) * 0.125"
    form = {"each": "tanh(x[m, n]) + 0.5", "scale": "x[m, n] * 0.5"}[kind]
    text = f"""kernel {name}(x: f32[M, N], out w: {out_type}[M, N]) {{
  parallel m in tiles(M, {a}), n in tiles(N, {b}) {{ w[m, n] = {form}; }}
}}
"""
    return text, "x", ["x: f32[M, N]"], form


def second_stage(k, name, in_type, out_type):
    """Makes y[M, N] of w and another input: (kernel, arguments, inputs, equations)."""
    a, b = k.choices.pick(TILES), k.choices.pick(TILES[:4])
    kind = k.choices.pick(("rows", "each", "sum", "place"))
    if kind == "rows":
        text = f"""kernel {name}(w: {in_type}[M, N], out y: {out_type}[M, N]) {{
  parallel m in tiles(M, {a}) {{
    var s = zeros({a}, 1);
    for n in tiles(N, {b}) {{ s += rowsum(f32(w[m, n])); }}
    for n in tiles(N, {b}) {{ y[m, n] = w[m, n] * 0.5 + s; }}
  }}
}}
"""
        return text, "w, y", [], ["s1[m in 0..M] = sum(n in 0..N, w1[m, n]);", "y[m, n] = w1[m, n] * 0.5 + s1[m];"]
    if kind == "sum":
        text = f"""kernel {name}(w: {in_type}[M, N], v: f32[N], out y: {out_type}[M, N]) {{
  parallel m in tiles(M, {a}), n in tiles(N, {b}) {{ y[m, n] = w[m, n] * v[n].row + (w[m - 1, n] else 0); }}
}}
"""
        return text, "w, v, y", ["v: f32[N]"], ["y[m, n] = w1[m, n] * v[n] + (if m >= 1 then w1[m - 1, n] else 0);"]
    text = f"""kernel {name}(w: {in_type}[M, N], out y: {out_type}[M, N]) {{
  parallel m in tiles(M, {a}), n in tiles(N, {b}) {{ y[m, n] = abs(w[m, n]) + 0.25; }}
}}
"""
    return text, "w, y", [], ["y[m, n] = abs(w1[m, n]) + 0.25;"]


def middle_stage(k, number, name, type):
    """Makes w{number + 1} of w{number}: (kernels, calls, equation)."""
    old, new = f"w{number}", f"w{number + 1}"
    kind = k.choices.pick(("each", "flat", "atomic", "branch", "repeat", "turned", "parts", "chosen"))
    a = k.choices.pick(TILES)
    workspace = f"let {new} = new {type}[M, N];"
    if kind == "flat":
        text = f"kernel {name}(w: {type}[L], out y: {type}[L]) {{ parallel l in tiles(L, {a}) {{ y[l] = w[l] * 0.5 + 1; }} }}\n"
        return text, [workspace, f"{name}({old}.view(M * N), {new}.view(M * N));"], f"{old}[m, n] * 0.5 + 1"
    if kind == "atomic":
        # Into a workspace that begins with a number, or is filled.
        text = f"kernel {name}(w: {type}[M, N], inout y: f32[N]) {{ parallel m in tiles(M, {a}), n in tiles(N, 32) {{ y[n] += colsum(f32(w[m, n])); }} }}\n" \
               f"kernel {name}_b(w: {type}[M, N], s: f32[N], out y: {type}[M, N]) {{ parallel m in tiles(M, {a}), n in tiles(N, 32) {{ y[m, n] = w[m, n] + s[n].row * 0.125; }} }}\n"
        total = f"s{number}"
        begun = k.choices.pick(([f"let {total} = new f32[N] = 0;"], [f"let {total} = new f32[N];", f"{total} = 0;"]))
        return text, [workspace, *begun, f"{name}({old}, {total});", f"{name}_b({old}, {total}, {new});"], f"{old}[m, n] + 0.125 * sum(i in 0..M, {old}[i, n])"
    if kind == "turned":
        # The rows as those of one matrix of several.
        text = f"kernel {name}(w: {type}[E, M, N], out y: {type}[E, M, N]) {{ parallel e in 0..E, m in tiles(M, {a}), n in tiles(N, 32) {{ y[e, m, n] = w[e, m, n] * 0.5; }} }}\n"
        order = ".view(M, 1, N).order(1, 0, 2)"
        return text, [workspace, f"{name}({old}{order}, {new}{order});"], f"{old}[m, n] * 0.5"
    if kind == "parts":
        # Sums of the tiles' columns, in a workspace that has a row for each tile.
        part, rows = f"p{number}", "(M + 31) / 32"
        text = f"kernel {name}(w: {type}[M, N], out p: f32[{rows}, N]) {{ parallel m in tiles(M, 32), n in tiles(N, 32) {{ p[m.index, n] = colsum(f32(w[m, n])); }} }}\n" \
               f"kernel {name}_b(w: {type}[M, N], p: f32[P, N], out y: {type}[M, N]) {{ parallel m in tiles(M, {a}), n in tiles(N, 32) {{ " \
               f"var s = zeros(1, 32); for i in 0..P {{ s += p[i, n].row; }} y[m, n] = w[m, n] + s * 0.125; }} }}\n"
        return text, [workspace, f"let {part} = new f32[{rows}, N];", f"{name}({old}, {part});", f"{name}_b({old}, {part}, {new});"], \
            f"{old}[m, n] + 0.125 * sum(i in 0..M, {old}[i, n])"
    if kind == "chosen":
        return chosen_stage(k, number, name, type, workspace)
    each = f"kernel {name}(w: {type}[M, N], by: f32, out y: {type}[M, N]) {{ parallel m in tiles(M, {a}), n in tiles(N, 16) {{ y[m, n] = w[m, n] * by - 0.5; }} }}\n"
    if kind == "branch":
        return each, [workspace, f"if half {{ {name}({old}, 0.5, {new}); }} else {{ {name}({old}, y = {new}, by = 0.25); }}"], \
            f"if half then {old}[m, n] * 0.5 - 0.5 else {old}[m, n] * 0.25 - 0.5"
    if kind == "repeat" and type == "f32":
        place = f"kernel {name}(inout w: {type}[M, N], by: f32) {{ parallel m in tiles(M, {a}), n in tiles(N, 16) {{ w[m, n] = w[m, n] * by; }} }}\n"
        copy = f"kernel {name}_b(w: {type}[M, N], out y: {type}[M, N]) {{ parallel m in tiles(M, {a}), n in tiles(N, 64) {{ y[m, n] = w[m, n]; }} }}\n"
        return place + copy, [workspace, f"{name}_b({old}, {new});", f"for i in 0..3 {{ {name}({new}, 0.5); }}"], f"{old}[m, n] * 0.125"
    if k.choices.chance(50):
        factor = "(-factor * min(factor, 2) + 1)"
        return each, [workspace, f"{name}({old}, {factor}, {new});"], f"{old}[m, n] * {factor} - 0.5"
    return each, [workspace, f"{name}({old}, 0.5, {new});"], f"{old}[m, n] * 0.5 - 0.5"


def chosen_stage(k, number, name, type, workspace):
    """A kernel with constants of its own, a truth value, and a tensor that may be left out: by the program's arguments, or by the call."""
    old, new, a = f"w{number}", f"w{number + 1}", k.choices.pick(TILES)
    text = f"""kernel {name}(w: {type}[M, N], turn: bool, s: f32[N] = none, out y: {type}[M, N], const up: bool = false, const by: i32 = 2) {{
  parallel m in tiles(M, {a}), n in tiles(N, 32) {{
    var t = f32(w[m, n]);
    if turn {{ t = 0.5 - t; }}
    if up {{ t = t + f32(by); }} else {{ t = t * f32(by) * 0.25; }}
    if s != none {{ t = t + s[n].row; }}
    y[m, n] = t;
  }}
}}
"""
    turn, turned = k.choices.pick((("turn", "turn"), ("true", "true"), ("false", "false")))
    s, added = k.choices.pick((("shift", "(if shift != none then shift[n] else 0)"), ("none", "0"), ("", "0")))
    up, raised = k.choices.pick((("half", "half"), ("true", "true"), ("", "false")))
    by = k.choices.pick(("3", "", "-1"))
    arguments = [old, turn] + [f"s = {s}"] * bool(s) + [f"y = {new}"] + [f"up = {up}"] * bool(up) + [f"by = {by}"] * bool(by)
    first = f"(if {turned} then 0.5 - {old}[m, n] else {old}[m, n])"
    element = f"(if {raised} then {first} + {by or 2} else {first} * {by or 2} * 0.25) + {added}"
    return text, [workspace, f"{name}({', '.join(arguments)});"], element


def program(k):
    """Two kernels or more behind one call."""
    between, out_type = k.choices.pick(("f32", "bf16", "f16")), k.choices.pick(("f32", "bf16", "f16"))
    sizes = (16, 32, 64, 67, 1, 100)
    k.dims = {dim: k.choices.pick(sizes) for dim in "MNK"}
    k.others = dict.fromkeys("MNK", sizes)
    text, arguments, inputs, made = first_stage(k, f"{k.name}_a", between)
    rounded = (lambda element: element) if between == "f32" else (lambda element: f"{between}({element})")
    calls, lines = [f"let w1 = new {between}[M, N];", f"{k.name}_a({arguments}, w1);"], [f"w1[m in 0..M, n in 0..N] = {rounded(made)};"]
    stages, number = k.choices.count(4, 50), 1
    for number in range(1, 1 + stages):
        kernels, more, made = middle_stage(k, number, f"{k.name}_m{number}", between)
        text += kernels
        calls += more
        lines.append(f"w{number + 1}[m in 0..M, n in 0..N] = {rounded(made)};")
    last = f"w{stages + 1}"
    after, more, others, equations = second_stage(k, f"{k.name}_b", between, out_type)
    sized = inputs + others + ([] if any("K" in p for p in inputs) else ["dims: u8[K]"])
    calls.append(f"{k.name}_b({more.replace('w', last)});")
    lines += [equation.replace("w1", last) for equation in equations]
    if any("factor" in call for call in calls):
        sized.append("factor: f32")
        k.set("factor", ("0.5", "-1.25"))
    flags = ""
    if any("turn" in call for call in calls):
        sized.append("turn: bool")
        k.set("turn", ("true", "false"))
    if any("shift" in call for call in calls):
        sized.append("shift: f32[N] = none")
        k.set("shift", (None, "none"))
    if any("half" in call for call in calls):
        flags = ", const half: bool = false"
        k.set("half", (None, "true"))
    k.whole = (text + after + f"program {k.name}({', '.join(sized)}, out y: {out_type}[M, N]{flags}) {{\n  " + "\n  ".join(calls) + "\n}\n" +
               f"reference {k.name} {{\n  " + "\n  ".join(lines) + "\n}")

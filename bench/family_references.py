# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the kernels of families.py compute, in f64 with PyTorch, on the device of the tensors. Where a matrix of all pairs of steps would
not fit memory, heads or rows are taken a few at a time."""
import math

import torch

PAIRS = 1 << 27  # elements of a matrix of pairs at a time: 1 GiB


def heads(x):
    """[B, H, …] in f64 as [B · H, …]."""
    return x.double().flatten(0, 1)


def by_parts(count, elements, function):
    """function(part) for slices of 0..count, each so long that count times `elements` numbers fit; the results joined."""
    step = max(1, PAIRS // max(1, elements))
    results = [function(slice(begin, begin + step)) for begin in range(0, count, step)]
    return [torch.cat(each) for each in zip(*results)]


def recurrent(q, k, v, scale, gate=None, beta=None):
    """o [B, H, N, E] and the last state [B, H, D, E] of state[t] = exp(gate[t]) state[t - 1] + k[t] w[t]ᵀ, o[t] = scale · q[t] · state[t]; w is v,
    or with beta what the delta rule writes. A gate is one number for each step, [B, H, N, 1], or for each channel, [B, H, N, D]."""
    batch, count = q.shape[:2]
    qs, ks, vs = heads(q), heads(k), heads(v)
    decays = None if gate is None else heads(gate).exp()[..., None]
    betas = None if beta is None else heads(beta)[..., None, None]
    state = qs.new_zeros(qs.shape[0], qs.shape[2], vs.shape[2])
    o = torch.empty_like(vs)
    for t in range(qs.shape[1]):
        if decays is not None:
            state *= decays[:, t]
        w = vs[:, t, None]
        if betas is not None:
            w = betas[:, t] * (w - ks[:, t, None] @ state)
        state.baddbmm_(ks[:, t, :, None], w)
        torch.bmm(qs[:, t, None], state, out=o[:, t, None])
    return (o * scale).unflatten(0, (batch, count)), state.unflatten(0, (batch, count))


def delta_step(q, k, v, beta, scale, decayed):
    """One step of the delta rule on a state [B, H, D, E] that has decayed: o and the new state."""
    q, k, v, beta, decayed = (x.double() for x in (q, k, v, beta, decayed))
    w = beta[..., None] * (v - (k[..., None, :] @ decayed)[..., 0, :])
    state = decayed + k[..., None] * w[..., None, :]
    return scale * (q[..., None, :] @ state)[..., 0, :], state


def mamba(c, b, x, dt, a, skip):
    """y [B, L, H, D] and the last state [B, H, D, N] of Mamba-2's scan."""
    share = x.shape[2] // b.shape[2]
    c, b = (each.transpose(1, 2).repeat_interleave(share, 1) for each in (c, b))
    values = x.transpose(1, 2).double()
    step = dt.double()[..., None]
    y, state = recurrent(c, b, values * step, 1.0, gate=step * a.double()[:, None, None])
    return (y + skip.double()[:, None, None] * values).transpose(1, 2), state.transpose(2, 3)


def mamba_gradients(c, b, x, dt, a, skip, grad):
    """dc, db, dx, ddt, da and dskip of Mamba-2's scan."""
    (batch, n, count, _), share = x.shape, x.shape[2] // b.shape[2]
    steps, rates, skips = heads(dt), a.double().repeat(batch), skip.double().repeat(batch)
    decay = (steps * rates[:, None]).cumsum(-1)
    seen = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
    of_heads = [heads(each.transpose(1, 2).repeat_interleave(count // each.shape[2], 1)) for each in (c, b, x, grad)]

    def gradients(part):
        cs, bs, xs, gs = (each[part] for each in of_heads)
        step = steps[part, None]
        weight = (decay[part, :, None] - decay[part, None, :]).masked_fill(~seen, -math.inf).exp()
        seen_values, met = weight * (cs @ bs.mT), weight * (gs @ xs.mT)
        dc, db = met @ (bs * step.mT), (met.mT @ cs) * step.mT
        dx = (seen_values.mT @ gs) * step.mT + gs * skips[part, None, None]
        later = (seen_values * (gs @ xs.mT)).flip(1).cumsum(1).flip(1)  # the sum over this step and all later ones
        rest = (later * step).tril(-1).sum(-1)
        ddt = later.diagonal(dim1=1, dim2=2) + rest * rates[part, None]
        return dc, db, dx, ddt, (rest * steps[part]).sum(-1), (gs * xs).sum((1, 2))

    results = by_parts(batch * count, 5 * n * n, gradients)
    dc, db, dx, ddt, da, dskip = (each.unflatten(0, (batch, count)) for each in results)
    dc, db = (each.unflatten(1, (-1, share)).sum(2) for each in (dc, db))
    return [*(each.transpose(1, 2) for each in (dc, db, dx)), ddt, da.sum(0), dskip.sum(0)]


def simple_gated_gradients(q, k, v, grad, gate, scale):
    """dq, dk, dv of simple gated linear attention."""
    batch, count, n, _ = q.shape
    decay = heads(gate).cumsum(-1)
    seen = torch.ones(n, n, dtype=torch.bool, device=q.device).tril()

    def gradients(part):
        qs, ks, vs, gs = (heads(x)[part] for x in (q, k, v, grad))
        weight = scale * (decay[part, :, None] - decay[part, None, :]).masked_fill(~seen, -math.inf).exp()
        ds = weight * (gs @ vs.mT)
        return ds @ ks, ds.mT @ qs, (weight * (qs @ ks.mT)).mT @ gs

    return [x.unflatten(0, (batch, count)) for x in by_parts(batch * count, 3 * n * n, gradients)]


def gated_gradients(q, k, v, grad, gate, scale):
    """dq, dk, dv and dgate of gated linear attention."""
    batch, count, n, _ = q.shape
    qs, ks, vs, gs, decays = heads(q) * scale, heads(k), heads(v), heads(grad), heads(gate).exp()[..., None]
    dq, dk, dv = torch.empty_like(qs), torch.empty_like(ks), torch.empty_like(vs)
    state, dstate = (qs.new_zeros(qs.shape[0], qs.shape[2], vs.shape[2]) for _ in range(2))
    for t in range(n):
        state.mul_(decays[:, t]).baddbmm_(ks[:, t, :, None], vs[:, t, None])
        dq[:, t] = scale * (state @ gs[:, t, :, None])[..., 0]
    for t in reversed(range(n)):
        dstate.baddbmm_(qs[:, t, :, None], gs[:, t, None])
        dk[:, t], dv[:, t] = (dstate @ vs[:, t, :, None])[..., 0], (ks[:, t, None] @ dstate)[:, 0]
        dstate *= decays[:, t]
    dgate = (qs / scale * dq - ks * dk).flip(1).cumsum(1).flip(1)
    return [x.unflatten(0, (batch, count)) for x in (dq, dk, dv, dgate)]


def delta_gradients(q, k, v, grad, gate, beta, scale):
    """dq, dk, dv, dgate and dbeta of the gated delta rule, with a gate for each step, [B, H, N], or for each key channel, [B, H, N, K]: `miss`
    is what a step's value is above what the state has for its key, x the gradient of what it writes."""
    by_channel = gate.dim() == 4
    (batch, count, n, _), betas = q.shape, heads(beta)[..., None]
    decays = heads(gate).exp()[..., None] if by_channel else heads(gate).exp()[..., None, None]
    qs, ks, vs, gs = heads(q), heads(k), heads(v), heads(grad) * scale
    dq, dk, back, miss, x = torch.empty_like(qs), torch.empty_like(ks), torch.empty_like(ks), torch.empty_like(vs), torch.empty_like(vs)
    state, dstate, again = (qs.new_zeros(qs.shape[0], qs.shape[2], vs.shape[2]) for _ in range(3))
    for t in range(n):
        state *= decays[:, t]
        miss[:, t] = vs[:, t] - (ks[:, t, None] @ state)[:, 0]
        state.baddbmm_(ks[:, t, :, None], (betas[:, t] * miss[:, t])[:, None])
        dq[:, t] = (state @ gs[:, t, :, None])[..., 0]
    for t in reversed(range(n)):
        dstate.baddbmm_(qs[:, t, :, None], gs[:, t, None])
        x[:, t] = (ks[:, t, None] @ dstate)[:, 0]
        dk[:, t] = (dstate @ miss[:, t, :, None])[..., 0]
        dstate.baddbmm_(ks[:, t, :, None], (-betas[:, t] * x[:, t])[:, None]).mul_(decays[:, t])
    for t in range(n):  # the states again, now that x is known
        again *= decays[:, t]
        back[:, t] = -(again @ x[:, t, :, None])[..., 0]
        again.baddbmm_(ks[:, t, :, None], (betas[:, t] * miss[:, t])[:, None])
    dk = betas * (dk + back)
    rest = qs * dq - ks * dk + 2 * betas * ks * back
    rest = rest if by_channel else rest.sum(-1)
    results = dq, dk, betas * x, rest.flip(1).cumsum(1).flip(1), (x * miss).sum(-1)
    return [each.unflatten(0, (batch, count)) for each in results]


def based(q, k, v):
    """o and the last state, whose rows are the features of based.tk."""
    batch, count, n, _ = q.shape
    qs, ks, vs = heads(q), heads(k), heads(v)

    def output(part):
        s = qs[part] @ ks[part].mT / 4
        return ((1 + s + s * s / 2).tril() @ vs[part],)

    (o,) = by_parts(batch * count, 3 * n * n, output)
    row = torch.arange(144, device=q.device)
    products = ks[:, :, row % 16] * ks[:, :, (row + row // 16) % 16]
    state = torch.cat([products.mT @ vs, ks.mT @ vs, vs.sum(1, keepdim=True)], 1)
    state = torch.nn.functional.pad(state, (0, 0, 0, 192 - state.shape[1]))
    return [o.unflatten(0, (batch, count)), state.unflatten(0, (batch, count))]


def based_gradients(q, k, v, grad):
    """dq, dk, dv of Based."""
    batch, count, n, _ = q.shape
    seen = torch.ones(n, n, dtype=torch.bool, device=q.device).tril()

    def gradients(part):
        qs, ks, vs, gs = (heads(x)[part] for x in (q, k, v, grad))
        s = qs @ ks.mT / 4
        ds = (gs @ vs.mT * (1 + s) / 4).masked_fill(~seen, 0)
        return ds @ ks, ds.mT @ qs, (1 + s + s * s / 2).masked_fill(~seen, 0).mT @ gs

    return [x.unflatten(0, (batch, count)) for x in by_parts(batch * count, 5 * n * n, gradients)]


def hedgehog_heads(q, k, v, wq, wk, alpha, beta, scale, chunk):
    """o [P, N, D] of tensors in f64 with as many heads P each."""
    n = q.shape[1]
    tile = torch.arange(n, device=q.device) // chunk
    apart = tile[:, None] - tile[None, :]
    near = (apart <= 1) & torch.ones(n, n, dtype=torch.bool, device=q.device).tril()

    def features(x, w):
        y = x @ w
        return torch.cat((y.softmax(-1), (-y).softmax(-1)), -1)

    s = (q @ k.mT * scale).masked_fill(~near, -math.inf)
    far = (features(q, wq) @ features(k, wk).mT).masked_fill(apart <= 1, 0)
    weight = alpha[:, None, None] * (s - s.amax(-1, keepdim=True)).exp() + beta[:, None, None] * far
    return weight @ v / weight.sum(-1, keepdim=True)


def hedgehog_inputs(q, k, v, wq, wk, alpha, beta):
    batch = q.shape[0]
    return [heads(x) for x in (q, k, v)] + [x.double().repeat(batch, *[1] * (x.dim() - 1)) for x in (wq, wk, alpha, beta)]


def hedgehog(q, k, v, wq, wk, alpha, beta, scale, chunk):
    inputs, n = hedgehog_inputs(q, k, v, wq, wk, alpha, beta), q.shape[2]
    (o,) = by_parts(len(inputs[0]), 4 * n * n, lambda part: (hedgehog_heads(*(x[part] for x in inputs), scale, chunk),))
    return o.unflatten(0, q.shape[:2])


def hedgehog_gradients(q, k, v, wq, wk, alpha, beta, scale, chunk, grad):
    """o, and the gradients of the seven tensors, which PyTorch derives."""
    tensors, n = hedgehog_inputs(q, k, v, wq, wk, alpha, beta), q.shape[2]

    def gradients(part):
        inputs = [x[part].detach().requires_grad_() for x in tensors]
        o = hedgehog_heads(*inputs, scale, chunk)
        return o.detach(), *torch.autograd.grad(o, inputs, heads(grad)[part])

    o, *results = (x.unflatten(0, q.shape[:2]) for x in by_parts(len(tensors[0]), 10 * n * n, gradients))
    return o, [*results[:3], *(x.sum(0) for x in results[3:])]


def latent_prefill(q, k, kr, v, scale, causal):
    """o and lse; as many queries as keys."""
    batch, count, n, _ = q.shape
    o, lse = q.new_empty(batch, count, n, v.shape[3], dtype=torch.float64), q.new_empty(batch, count, n, dtype=torch.float64)
    at = torch.arange(n, device=q.device)
    for b in range(batch):
        for h in range(count):
            keys = torch.cat((k[b, h], kr[b]), -1).double()

            def rows(part):
                s = scale * (q[b, h, part].double() @ keys.T)
                if causal:
                    s = s.masked_fill(at[None, :] > at[part, None], -math.inf)
                return s.softmax(-1) @ v[b, h].double(), s.logsumexp(-1)

            o[b, h], lse[b, h] = by_parts(n, 2 * n, rows)
    return [o, lse]


def latent_decode(q, kv, pages, lens, scale):
    rows = []
    for b, length in enumerate(lens.tolist()):
        keys = kv[pages[b].long()].flatten(0, 1)[:length].double()
        rows.append((scale * q[b].double() @ keys.T).softmax(-1) @ keys[:, :512])
    return torch.stack(rows)


def chosen_experts(logits, k):
    """The k experts of each row, the first of equals, and their weights."""
    order = logits.double().sort(stable=True, dim=-1, descending=True).indices[:, :k]
    return order, logits.double().gather(1, order).softmax(-1)


def experts(x, expert, weight, gate, up, down):
    y = torch.zeros(x.shape, dtype=torch.float64, device=x.device)
    for e in range(gate.shape[0]):
        row, place = (expert == e).nonzero(as_tuple=True)
        rows = x[row].double()
        h = torch.nn.functional.silu(rows @ gate[e].double().T) * (rows @ up[e].double().T)
        y.index_add_(0, row, h @ down[e].double().T * weight[row, place, None].double())
    return y


def expert_rows(x, offsets, gate, up, down):
    """Of rows in the order of their experts, without the weights of these."""
    y = torch.empty(len(x), down.shape[1], dtype=torch.float64, device=x.device)
    for e, (begin, end) in enumerate(zip(offsets.tolist(), offsets[1:].tolist())):
        rows = x[begin:end].double()
        h = torch.nn.functional.silu(rows @ gate[e].double().T) * (rows @ up[e].double().T)
        y[begin:end] = h @ down[e].double().T
    return y


def unblocked(x, scale):
    """x times its scales, one for each 128 columns of a row, [columns / 128, rows]; f64."""
    return x.float().double() * scale.T.double().repeat_interleave(128, 1)[:, :x.shape[1]]


def unblocked_weights(w, scale):
    """w times its scales, one for each 128 × 128 elements; f64."""
    scale = scale.double().repeat_interleave(128, 0).repeat_interleave(128, 1)
    return w.float().double() * scale[:w.shape[0], :w.shape[1]]


def experts_float8(x, scale_x, offsets, gate, scale_gate, up, scale_up, down, scale_down):
    """Row by row in the order of the experts; what lies between the products is rounded to float8, in blocks of 128 columns."""
    x = unblocked(x, scale_x)
    y = torch.empty(len(x), down.shape[1], dtype=torch.float64, device=x.device)
    for e, (begin, end) in enumerate(zip(offsets.tolist(), offsets[1:].tolist())):
        mine = x[begin:end]
        products = [mine @ unblocked_weights(w[e], scale[e]).T for w, scale in ((gate, scale_gate), (up, scale_up))]
        h = (torch.nn.functional.silu(products[0]) * products[1]).unflatten(1, (-1, 128))
        scale_h = h.abs().amax(-1, keepdim=True).clamp_(min=1e-30) / 448
        h = ((h / scale_h).to(torch.float8_e4m3fn).double() * scale_h).flatten(1)
        y[begin:end] = h @ unblocked_weights(down[e], scale_down[e]).T
    return y


def index_logits(q, w, k, lens, scale):
    """-inf for tokens after the query."""
    batch, n, count, _ = q.shape
    result = torch.zeros(batch, n, k.shape[1], dtype=torch.float64, device=q.device)
    for b in range(batch):
        keys = k[b].to(torch.float32).double().T
        for h in range(count):
            result[b] += w[b, :, h, None].double() * (q[b, :, h].to(torch.float32).double() @ keys).clamp_(min=0)
        if scale is not None:
            result[b] *= scale[b].double()
        last = torch.arange(n, device=q.device)[:, None] + (lens[b] - n)
        result[b].masked_fill_(torch.arange(k.shape[1], device=q.device)[None, :] > last, -math.inf)
    return result


def sparse_decode(q, kv, chosen, lens, scale):
    """One query a sequence, all chosen tokens of which are before it."""
    rows = []
    for b in range(q.shape[0]):
        keys = kv[b, chosen[b, 0].long()].double()
        rows.append((scale * q[b, 0].double() @ keys.T).softmax(-1) @ keys[:, :512])
    return torch.stack(rows)[:, None]


def largest_columns(x, k):
    """The numbers of the k largest columns of each row, the first of equals, in ascending order."""
    return x.sort(stable=True, dim=-1, descending=True).indices[:, :k].sort(-1).values


def outside_of_token(token, x, u, temperature, top_k, top_p):
    """By how much of the probability u is outside of the interval that belongs to each row's token; 0 where the token is right."""
    worst = 0.0
    for i in range(x.shape[0]):
        row = x[i].double() / temperature[i].double()
        p = row.softmax(-1)
        kept = torch.ones_like(p, dtype=torch.bool)
        if top_k[i] > 0:
            kept &= row >= row.topk(int(top_k[i])).values[-1]
        if top_p[i] < 1:
            ordered = (p * kept).sort(descending=True).values
            total = ordered.cumsum(0)
            last = int((total < top_p[i].double() * total[-1]).sum())
            kept &= p >= ordered[min(last, len(ordered) - 1)]
        share = torch.where(kept, p, 0).cumsum(0)
        share = share / share[-1]
        at = int(token[i])
        if not 0 <= at < len(share):
            return math.inf
        before = share[at - 1] if at else share.new_zeros(())
        worst = max(worst, float(before - u[i]), float(u[i] - share[at]))
    return worst


def head_cross_entropy(x, w, target):
    """The loss and the log-sum-exp of each row."""
    def rows(part):
        y = x[part].double() @ weights
        total = y.logsumexp(-1)
        return total - y.gather(1, target[part, None])[:, 0], total

    weights = w.double().T
    return by_parts(x.shape[0], 2 * w.shape[0], rows)


def head_gradients(x, w, target, grad):
    """Of x and of w."""
    weights, dx, dw = w.double(), torch.empty_like(x, dtype=torch.float64), torch.zeros_like(w, dtype=torch.float64)
    step = max(1, PAIRS // (2 * w.shape[0]))
    for part in (slice(begin, begin + step) for begin in range(0, x.shape[0], step)):
        rows = x[part].double()
        g = (rows @ weights.T).softmax(-1)
        g[torch.arange(g.shape[0], device=g.device), target[part]] -= 1
        g *= grad[part, None].double()
        dx[part] = g @ weights
        dw += g.T @ rows
    return [dx, dw]


def convolved(x, spectrum):
    """The first elements of the circular convolution of x [B, H, L], with zeros behind it, with real filters. `spectrum` is what rfft makes of these."""
    points = 2 * (spectrum.shape[-1] - 1)
    return torch.fft.irfft(torch.fft.rfft(x.double(), n=points) * spectrum, n=points)[..., : x.shape[-1]]


def convolution_gradients(x, dy, spectrum):
    """Of x, and of the filters' elements, summed over the batch."""
    points, n = 2 * (spectrum.shape[-1] - 1), x.shape[-1]
    of_x, of_dy = torch.fft.rfft(x.double(), n=points), torch.fft.rfft(dy.double(), n=points)
    dx = torch.fft.irfft(of_dy * spectrum.conj(), n=points)[..., :n]
    return [dx, torch.fft.irfft((of_dy * of_x.conj()).sum(0), n=points)[..., :n]]


def attention_gradients(q, k, v, grad, scale, causal=True, window=None):
    """dq, dk, dv of attention with grouped queries, and o and lse of its forward pass. With a window a query sees so many keys up to its own."""
    batch, count, n, _ = q.shape
    share = count // k.shape[1]
    seen = torch.ones(n, n, dtype=torch.bool, device=q.device)
    seen = seen.tril() if causal else seen
    seen = seen.triu(1 - window) if window else seen
    dq, dk, dv = (torch.zeros(x.shape, dtype=torch.float64, device=q.device) for x in (q, k, v))
    o, lse = torch.empty_like(dq), dq.new_empty(batch, count, n)
    for b in range(batch):
        for h in range(count):
            g = h // share
            qs, ks, vs, gs = q[b, h].double(), k[b, g].double(), v[b, g].double(), grad[b, h].double()
            s = (scale * qs @ ks.T).masked_fill(~seen, -math.inf)
            lse[b, h] = s.logsumexp(-1)
            p = (s - lse[b, h][:, None]).exp()
            o[b, h] = p @ vs
            ds = p * (gs @ vs.T - (o[b, h] * gs).sum(-1, keepdim=True))
            dq[b, h] = scale * ds @ ks
            dk[b, g] += scale * ds.T @ qs
            dv[b, g] += p.T @ gs
    return (dq, dk, dv), o, lse


FP4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def from_nvfp4(codes, scales):
    """The numbers of bytes that hold two of f4e2m1, times a scale for each 16 elements."""
    table = torch.tensor(FP4 + tuple(-x for x in FP4), dtype=torch.float32, device=codes.device)
    low_first = torch.stack((codes & 15, codes >> 4), -1).flatten(1).long()
    return table[low_first] * scales.float().repeat_interleave(16, 1)

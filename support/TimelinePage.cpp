// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The chart's page: HTML, its style and its script. It loads nothing.
#include "support/TimelinePage.h"

namespace tkc::timeline {

const std::string_view pageHead = R"page(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tkc timeline</title>
<style>
:root { --back: #fff; --text: #1c1c1c; --soft: #666; --rule: #ddd; --band: #f6f6f6; }
@media (prefers-color-scheme: dark) {
  :root { --back: #16181c; --text: #e6e6e6; --soft: #9a9a9a; --rule: #3a3d43; --band: #1e2126; }
}
body { background: var(--back); color: var(--text); font: 14px/1.4 system-ui, sans-serif; margin: 16px; }
h1 { font-size: 17px; margin: 0 0 4px; }
#facts, #help { color: var(--soft); margin: 0 0 8px; }
#facts b { color: var(--text); font-weight: 600; }
#tools { display: flex; flex-wrap: wrap; gap: 14px; align-items: center; margin: 8px 0; }
#legend { display: flex; flex-wrap: wrap; gap: 12px; }
#legend span { display: inline-flex; align-items: center; gap: 5px; }
#legend i { width: 13px; height: 13px; border-radius: 2px; display: inline-block; }
#frame { position: relative; border: 1px solid var(--rule); }
canvas { display: block; width: 100%; touch-action: none; cursor: grab; }
#tip { position: absolute; display: none; pointer-events: none; max-width: 60ch; padding: 6px 9px; z-index: 1;
  background: var(--back); border: 1px solid var(--rule); border-radius: 4px; box-shadow: 0 2px 8px #0004; }
#tip code { display: block; white-space: pre-wrap; }
table { border-collapse: collapse; margin-top: 14px; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--rule); padding: 3px 12px 3px 0; text-align: right; vertical-align: top; }
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left; }
button { font: inherit; }
</style>
</head>
<body>
<h1 id="title"></h1>
<p id="facts"></p>
<div id="tools">
  <div id="legend"></div>
  <label id="alignBox"><input type="checkbox" id="align"> blocks side by side from their start</label>
  <button id="reset">whole</button>
</div>
<div id="frame"><canvas id="chart"></canvas><div id="tip"></div></div>
<p id="help">Wheel: zoom. Drag: move. Shift and drag: zoom to what is marked; the time between is shown. Keys: + − ← → 0.</p>
<div id="shares"></div>
<script id="data" type="application/json">)page";

const std::string_view pageTail = R"page(</script>
<script>
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const find = id => document.getElementById(id);
const escape = text => String(text).replace(/[&<>"]/g, c => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'}[c]));
const timeText = ns => ns >= 1e6 ? (ns / 1e6).toFixed(3) + ' ms' : ns >= 1e3 ? (ns / 1e3).toFixed(3) + ' µs'
  : ns.toFixed(1) + ' ns';

// ---- colours: work is cool, waits are warm, one for each thing that is waited for
const workColours = {compute: '#4e79a7', product: '#3f9b57', copy: '#8a7fb8'};
const waitColours = ['#e15759', '#f28e2b', '#edc948', '#d37295', '#b07040', '#ff9d9a', '#c44e52', '#e6a15c'];
const waits = new Map();
for (const side of data.sides)
  for (const block of side.blocks)
    for (const track of block.tracks)
      for (const span of track.spans)
        if (span.kind === 'wait' && !waits.has(span.name))
          waits.set(span.name, waitColours[waits.size % waitColours.length]);
const colourOf = span => span.kind === 'wait' ? waits.get(span.name) : workColours[span.kind];
const linesOf = span => !span.line ? '' : span.lastLine > span.line ? span.line + '–' + span.lastLine : '' + span.line;
const shortOf = span => span.kind === 'wait' ? span.name.replace(/^wait /, '') : linesOf(span);

// ---- rows: a heading for each block, a row for each track
const rows = [];
let from = Infinity, to = -Infinity;
for (const side of data.sides)
  for (const block of side.blocks) {
    let begin = Infinity;
    for (const track of block.tracks)
      if (track.spans.length) {
        begin = Math.min(begin, track.spans[0].begin);
        to = Math.max(to, track.spans[track.spans.length - 1].end);
      }
    from = Math.min(from, begin);
    rows.push({heading: (data.sides.length > 1 ? side.name + ' · ' : '') + (block.kernel ? block.kernel + ' · ' : '') +
      'block ' + block.number + (block.sm >= 0 ? ' · multiprocessor ' + block.sm : '')});
    for (const track of block.tracks)
      rows.push({track, begin: isFinite(begin) ? begin : 0});
  }
if (!isFinite(from)) { from = 0; to = 1; }
const headingHeight = 22, rowHeight = 24, axisHeight = 24, left = 110;
let height = axisHeight;
for (const row of rows) {
  row.y = height;
  row.height = row.heading !== undefined ? headingHeight : rowHeight;
  height += row.height;
}

// ---- the view: `start` ns at the left edge, `scale` pixels a ns
const canvas = find('chart'), context = canvas.getContext('2d');
let width = 0, start = 0, scale = 1, mark = null;
let aligned = data.sides.length > 1;
find('align').checked = aligned;
const originOf = row => aligned ? row.begin : from;
const extent = () => {
  let longest = 0;
  for (const row of rows)
    if (row.track && row.track.spans.length)
      longest = Math.max(longest, row.track.spans[row.track.spans.length - 1].end - originOf(row));
  return Math.max(longest, 1e-9);
};
function showWhole() { start = 0; scale = (width - left) / extent(); draw(); }
function resize() {
  const whole = width === 0, ratio = window.devicePixelRatio || 1, before = width;
  width = find('frame').clientWidth;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = height + 'px';
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  if (whole) showWhole(); else { scale *= (width - left) / (before - left); draw(); }
}
const xOf = ns => left + (ns - start) * scale;

function draw() {
  const style = getComputedStyle(document.documentElement), colour = name => style.getPropertyValue(name);
  context.clearRect(0, 0, width, height);
  context.font = '12px system-ui, sans-serif';
  context.textBaseline = 'middle';
  drawAxis(colour);
  for (const row of rows) {
    if (row.heading !== undefined) {
      context.fillStyle = colour('--band');
      context.fillRect(0, row.y, width, row.height);
      context.fillStyle = colour('--text');
      context.fillText(row.heading, 6, row.y + row.height / 2);
    } else {
      drawTrack(row);
      context.fillStyle = colour('--back');
      context.fillRect(0, row.y, left, row.height);
      context.fillStyle = colour('--text');
      context.fillText(row.track.name, 6, row.y + row.height / 2);
    }
  }
  if (mark) {
    const x = Math.min(mark.from, mark.to), wide = Math.abs(mark.to - mark.from);
    context.fillStyle = '#8888';
    context.fillRect(x, axisHeight, wide, height);
    context.fillStyle = colour('--text');
    context.fillText(timeText(wide / scale), x + 4, axisHeight / 2);
  }
}

function drawAxis(colour) {
  const raw = 90 / scale, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = power * [1, 2, 5, 10].find(m => power * m >= raw);
  context.strokeStyle = colour('--rule');
  context.fillStyle = colour('--soft');
  for (let ns = Math.ceil(start / step) * step; xOf(ns) < width; ns += step) {
    context.beginPath();
    context.moveTo(xOf(ns), 0);
    context.lineTo(xOf(ns), height);
    context.stroke();
    context.fillText(timeText(ns), xOf(ns) + 3, axisHeight / 2);
  }
}

// Spans narrower than a pixel are put together: the pixel has the colour of what fills most of it.
function drawTrack(row) {
  const spans = row.track.spans, origin = originOf(row), y = row.y + 2, high = row.height - 4;
  let pixel = -1, filled = {};
  const flush = () => {
    const most = Object.entries(filled).sort((a, b) => b[1] - a[1])[0];
    if (pixel >= left && most) { context.fillStyle = most[0]; context.fillRect(pixel, y, 1, high); }
    filled = {};
  };
  for (let i = firstEndingAfter(spans, start + origin); i < spans.length; ++i) {
    const span = spans[i], x = xOf(span.begin - origin), end = xOf(span.end - origin);
    if (x > width) break;
    if (end - x < 1) {
      if (Math.floor(x) !== pixel) { flush(); pixel = Math.floor(x); }
      filled[colourOf(span)] = (filled[colourOf(span)] || 0) + end - x;
      continue;
    }
    flush();
    context.fillStyle = colourOf(span);
    context.fillRect(x, y, Math.max(end - x - (end - x > 4 ? 1 : 0), 0.5), high);
    const room = Math.min(end, width) - Math.max(x, left) - 8;
    if (room < 8) continue;
    const text = [span.name, shortOf(span)].find(t => t && context.measureText(t).width <= room);
    if (text) { context.fillStyle = '#fff'; context.fillText(text, Math.max(x, left) + 4, row.y + row.height / 2); }
  }
  flush();
}

function firstEndingAfter(spans, ns) {
  let low = 0, high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle].end <= ns) low = middle + 1; else high = middle;
  }
  return low;
}

// ---- mouse and keys
function zoom(factor, x) {
  const at = start + (x - left) / scale;
  scale = Math.min(Math.max(scale * factor, (width - left) / extent() / 2), 100);
  start = at - (x - left) / scale;
  draw();
}
canvas.addEventListener('wheel', event => {
  event.preventDefault();
  if (event.shiftKey) { start += event.deltaY / scale; draw(); } else zoom(Math.exp(-event.deltaY / 400), event.offsetX);
}, {passive: false});
let drag = null;
canvas.addEventListener('pointerdown', event => {
  canvas.setPointerCapture(event.pointerId);
  drag = {x: event.offsetX, start};
  mark = event.shiftKey ? {from: event.offsetX, to: event.offsetX} : null;
});
canvas.addEventListener('pointermove', event => {
  if (mark) { mark.to = event.offsetX; draw(); }
  else if (drag) { start = drag.start - (event.offsetX - drag.x) / scale; draw(); }
  showTip(event);
});
canvas.addEventListener('pointerup', () => {
  if (mark && Math.abs(mark.to - mark.from) > 3) {
    const x = Math.min(mark.from, mark.to), wide = Math.abs(mark.to - mark.from);
    start += (x - left) / scale;
    scale *= (width - left) / wide;
  }
  drag = mark = null;
  draw();
});
canvas.addEventListener('pointerleave', () => { find('tip').style.display = 'none'; });
document.addEventListener('keydown', event => {
  const middle = (width + left) / 2;
  if (event.key === '+') zoom(1.5, middle);
  else if (event.key === '-') zoom(1 / 1.5, middle);
  else if (event.key === 'ArrowLeft') { start -= 100 / scale; draw(); }
  else if (event.key === 'ArrowRight') { start += 100 / scale; draw(); }
  else if (event.key === '0') showWhole();
});
find('reset').onclick = showWhole;
find('align').onchange = event => { aligned = event.target.checked; showWhole(); };
window.addEventListener('resize', resize);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);

function showTip(event) {
  const tip = find('tip'), row = rows.find(r => r.track && event.offsetY >= r.y && event.offsetY < r.y + r.height);
  const ns = row && start + (event.offsetX - left) / scale + originOf(row);
  const span = row && event.offsetX >= left && row.track.spans[firstEndingAfter(row.track.spans, ns)];
  if (!span || span.begin > ns) { tip.style.display = 'none'; return; }
  let text = '<b>' + escape(span.name) + '</b><br>' + span.kind + ', ' + timeText(span.end - span.begin) + ', at ' +
    timeText(span.begin - originOf(row));
  if (span.line) {
    text += '<br>' + escape(data.file) + ':' + linesOf(span);
    for (let line = span.line; line <= Math.min(Math.max(span.line, span.lastLine || 0), span.line + 9); ++line)
      if (data.source && data.source[line - 1] !== undefined)
        text += '<code>' + escape(line + '  ' + data.source[line - 1].trim()) + '</code>';
  }
  tip.innerHTML = text;
  tip.style.display = 'block';
  tip.style.left = Math.min(event.offsetX + 14, Math.max(0, width - tip.offsetWidth - 8)) + 'px';
  tip.style.top = event.offsetY + 16 + 'px';
}

// ---- head, legend, table of shares
find('title').textContent = document.title = data.title;
find('facts').innerHTML = (data.facts || []).map(([what, value]) => escape(what) + ' <b>' + escape(value) + '</b>').join(' · ');
find('legend').innerHTML = [...Object.entries(workColours), ...waits].map(([name, colour]) =>
  '<span><i style="background:' + colour + '"></i>' + escape(name) + '</span>').join('');
find('alignBox').style.display = rows.filter(row => row.heading !== undefined).length > 1 ? '' : 'none';
const percent = (part, all) => (all > 0 ? 100 * part / all : 0).toFixed(1) + ' %';
for (const side of data.sides) {
  const all = new Map();
  for (const block of side.blocks)
    for (const track of block.tracks) {
      const name = (block.kernel ? block.kernel + ' ' : '') + track.name;
      const sums = all.get(name) || {time: 0, kinds: {}, waits: {}};
      all.set(name, sums);
      if (track.spans.length) sums.time += track.spans[track.spans.length - 1].end - track.spans[0].begin;
      for (const span of track.spans) {
        sums.kinds[span.kind] = (sums.kinds[span.kind] || 0) + span.end - span.begin;
        if (span.kind !== 'wait') continue;
        const what = span.name.replace(/^wait /, '') + (span.line ? ' (line ' + span.line + ')' : '');
        sums.waits[what] = (sums.waits[what] || 0) + span.end - span.begin;
      }
    }
  const kinds = ['compute', 'product', 'copy', 'wait'];
  find('shares').innerHTML += '<table><tr><th>' + [escape(side.name), ...kinds, 'waiting for'].join('</th><th>') + '</th></tr>' +
    [...all].map(([name, sums]) => '<tr><td>' + [escape(name), ...kinds.map(k => percent(sums.kinds[k] || 0, sums.time)),
      escape(Object.entries(sums.waits).sort((a, b) => b[1] - a[1]).filter(w => w[1] >= 0.005 * sums.time)
        .map(([what, time]) => what + ' ' + percent(time, sums.time)).join(', '))].join('</td><td>') + '</td></tr>').join('') +
    '</table>';
}
resize();
</script>
</body>
</html>
)page";

} // namespace tkc::timeline

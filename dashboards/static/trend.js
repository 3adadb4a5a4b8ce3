// One series as a chart that can be moved in: the same points as the picture that it takes the place of.
"use strict";
(() => {
  const box = document.getElementById("trend"), data = document.getElementById("trend-data");
  if (!box || !data || typeof uPlot === "undefined") return;
  const given = JSON.parse(data.textContent);
  if (!given.points.row.length) return;
  const tools = box.querySelector(".tools"), plot = box.querySelector(".canvas");
  const home = `/series/${given.series.id}`, query = new URLSearchParams(location.search);
  if (location.pathname !== home) query.set("branch", given.branch);  // the answer to a form
  const state = {
    log: query.has("log"), time: query.has("time"), shown: given, pinned: false,
    relative: given.reference === null ? "" : given.relative, reference: given.reference,
  };
  // Other series that are drawn beside it: their points, by the commits that they share.
  const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7"], DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
  const boxes = [...box.querySelectorAll("[name=beside]")], others = new Map();
  let chart = null, strip = null, order = [], drawn = [], asked = 0, scale = {size: 1, symbol: ""};

  // --- numbers and times as people read them ---

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const moment = new Intl.DateTimeFormat(undefined, {year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: "short"});
  const day = new Intl.DateTimeFormat(undefined, {dateStyle: "medium"});
  const clock = new Intl.DateTimeFormat(undefined, {timeStyle: "short"});
  const isRelative = () => state.reference !== null && state.reference !== 0;

  const absolute = numbersOf(given.ladder, {isCount: given.series.unit === "1"}), percents = numbersOf([[0, 1, "%"]], {isSigned: true});
  const numbers = () => isRelative() ? percents : absolute, ticks = () => ticksOf(numbers());

  // --- what is drawn ---

  function places(points) {
    return state.time ? points.time.map((time) => Date.parse(time) / 1000) : points.row;
  }

  function relative(values) {
    return isRelative() ? values.map((value) => percentOf(value, state.reference)) : values;
  }

  // What is too many times the reference has no place.
  function percentOf(value, reference) {
    const its = 100 * (value / reference - 1);
    return Number.isFinite(its) ? its : null;
  }

  // What is drawn is in the unit of the axis; what is told of it is not.
  function columns() {
    const p = state.shown.points, x = places(p);
    order = x.map((_, i) => i).sort((a, b) => x[a] - x[b] || a - b);
    const sorted = (values) => order.map((i) => values[i]);
    drawn = [p.value, p.low, p.high].map(relative).concat([...others.values()].map(beside)).map(sorted);
    scale = ticks().scaleFor(drawn.flat());
    return [sorted(x), ...drawn.map((values) => values.map((value) => value === null ? null : value / scale.size))];
  }

  // Relative values are relative to the other series' own value of that commit.
  function beside(its) {
    const values = new Map(its.points.commit.map((sha, i) => [sha, its.points.value[i]]));
    const reference = isRelative() ? values.get(referenceCommit()) : null;
    return state.shown.points.commit.map((sha) => {
      const value = values.get(sha);
      if (value === undefined || reference === undefined || reference === 0) return null;
      return reference === null ? value : percentOf(value, reference);
    });
  }

  function referenceCommit() {
    return given.points.commit.find((sha) => sha.startsWith(state.relative)) ?? state.relative;
  }

  // What is relative has both signs, and some values are zero.
  function whyNotLog() {
    const all = [state.shown.points.low, ...[...others.values()].map((its) => its.points.value)];
    if (isRelative()) return "not of percent";
    return all.every((values) => values.every((value) => value > 0)) ? "" : "needs values above 0";
  }

  const isLog = () => state.log && !whyNotLog();

  function offerLog() {
    const choice = tools.querySelector("[name=log]"), why = whyNotLog();
    choice.checked = isLog();
    choice.disabled = why !== "";
    choice.parentElement.querySelector(".why").textContent = why && `(${why})`;
  }

  function tone(change) {
    if (change.machine || change.worse === null) return color("--open");
    return color(change.worse ? "--regressed" : "--improved");
  }

  // What lies between two points, as a change does, is right before the second one's row.
  function placeBefore(row) {
    const p = state.shown.points, at = p.row.indexOf(row);
    if (at < 1) return null;
    return state.time ? Date.parse(p.time[at]) / 1000 : row - 0.5;
  }

  function drawChanges(u) {
    const {ctx, bbox} = u;
    ctx.save();
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const change of given.changes) {
      const place = placeBefore(change.row);
      if (place === null) continue;
      const x = Math.round(u.valToPos(place, "x", true));
      ctx.strokeStyle = tone(change);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  // --- what is marked beside the curve: each kind has a shape of its own ---

  function limits() {
    if (!given.budget) return [];
    return relative([given.budget.max, given.budget.min].filter((limit) => limit !== null)).map((limit, i) =>
      [limit / scale.size, given.words.budget[i]]);
  }

  // One that would halve the size of what is shown stays out of the range.
  function withLimits(low, high) {
    let [bottom, top] = [low, high];
    for (const [limit] of limits()) {
      if (isLog() && limit <= 0) continue;
      const wider = [Math.min(bottom, limit), Math.max(top, limit)], size = (pair) => isLog() ? Math.log(pair[1] / pair[0]) : pair[1] - pair[0];
      if (size(wider) <= 2 * size([low, high])) [bottom, top] = wider;
    }
    return [bottom, top];
  }

  // A run without a point is before the first one of its row or later, as that row may be left out. Of what came after the
  // newest point the place is that point's own.
  function failedAt(run) {
    const p = state.shown.points, last = p.row.length - 1;
    if (run.row === p.row[last] + 1) return places(p)[last];
    return placeBefore(p.row.find((row) => row >= run.row));
  }

  function drawMarks(u) {
    const {ctx, bbox} = u, unit = devicePixelRatio, bottom = bbox.top + bbox.height, shown = state.shown.points;
    const ink = color("--ink-2"), isHere = (place) => place !== null && place !== undefined;
    const across = (place) => Math.round(u.valToPos(place, "x", true));
    const stroke = (style, width, dash, draw) => {
      ctx.strokeStyle = style;
      ctx.lineWidth = width * unit;
      ctx.setLineDash(dash.map((part) => part * unit));
      ctx.beginPath();
      draw();
      ctx.stroke();
    };
    ctx.save();
    for (const x of given.epochs.map((epoch) => placeBefore(epoch.row)).filter(isHere).map(across)) {
      stroke(ink, 1.2, [1.5, 3.5], () => { ctx.moveTo(x, bbox.top); ctx.lineTo(x, bottom); });
      ctx.fillStyle = ink;
      ctx.beginPath();
      ctx.moveTo(x - 5 * unit, bbox.top);
      ctx.lineTo(x + 5 * unit, bbox.top);
      ctx.lineTo(x, bbox.top + 8 * unit);
      ctx.fill();
    }
    const where = new Map(shown.row.map((row, i) => [row, i])), all = places(shown);
    stroke(color("--open"), state.shown.void.length > 100 ? 1 : 2, [], () => {
      for (const point of state.shown.void) {
        if (!where.has(point.row)) continue;
        const x = across(all[where.get(point.row)]);
        ctx.moveTo(x, bottom);
        ctx.lineTo(x, bottom - 8 * unit);
      }
    });
    for (const x of given.failed.map(failedAt).filter(isHere).map(across)) {
      stroke(color("--ink"), 1.8, [], () => {
        for (const side of [-4, 4]) { ctx.moveTo(x - side * unit, bottom - 4 * unit); ctx.lineTo(x + side * unit, bottom + 4 * unit); }
      });
    }
    drawLimits(u, stroke);
    ctx.restore();
  }

  function drawLimits(u, stroke) {
    const {ctx, bbox} = u, unit = devicePixelRatio;
    ctx.fillStyle = color("--ink-3");
    ctx.font = `${11 * unit}px system-ui, sans-serif`;
    ctx.textAlign = "right";
    ctx.textBaseline = "alphabetic";
    for (const [limit, words] of limits()) {
      const {min, max} = u.scales.y, isIn = limit >= min && limit <= max, right = bbox.left + bbox.width;
      const y = isIn ? Math.round(u.valToPos(limit, "y", true)) : limit > max ? bbox.top : bbox.top + bbox.height;
      if (isIn) stroke(color("--ink-2"), 1.2, [12, 5], () => { ctx.moveTo(bbox.left, y); ctx.lineTo(right, y); });
      const below = y - 5 * unit < bbox.top + 8 * unit;
      ctx.fillText(words + (isIn ? "" : limit > max ? " ↑" : " ↓"), right - 4 * unit, below ? y + 13 * unit : y - 5 * unit);
    }
  }

  const above = document.createElement("div");
  above.className = "unit small";

  // The control has a chart of its own below, on the same places.
  const below = document.createElement("div");
  below.className = "strip";
  below.setAttribute("aria-hidden", "true");  // the values are told with each point

  function drawControl() {
    if (strip) strip.destroy();
    strip = null;
    below.replaceChildren();
    const {row, deviation} = state.shown.control;
    if (!row.length) return;
    const of = new Map(row.map((one, i) => [one, 100 * deviation[i]])), values = order.map((i) => of.get(state.shown.points.row[i]) ?? null);
    const sizes = row.map((one, i) => Math.abs(100 * deviation[i])).sort((a, b) => a - b), reach = Math.max(2, sizes[Math.round(0.98 * (sizes.length - 1))]);
    // An axis that is not shown would keep uPlot from drawing those after it.
    const axis = {stroke: color("--ink-3"), grid: {stroke: color("--line"), width: 1}, ticks: {show: false}, font: FONT};
    const isSparse = row.length <= 240, ink = color("--ink-2");
    strip = new uPlot({
      width: plot.clientWidth, height: 64, legend: {show: false}, cursor: {show: false}, padding: [8, () => plot.clientWidth - (chart.bbox.left + chart.bbox.width) / devicePixelRatio, 8, 0],
      scales: {x: {time: false, range: () => [chart.scales.x.min, chart.scales.x.max]}, y: {range: () => [-reach, reach]}},
      axes: [{...axis, size: 0, values: () => [], grid: {show: false}}, {...axis, size: () => chart.bbox.left / devicePixelRatio, space: 8, splits: () => [-reach, 0, reach], values: () => [percent(-reach), "control", percent(reach)]}],
      series: [{}, {stroke: ink, width: 1.1, spanGaps: true, points: {show: isSparse, size: 3, fill: ink, stroke: ink}}],
    }, [chart.data[0], values], below);
  }

  function percent(value) {
    return `${value > 0 ? "+" : ""}${String(+value.toPrecision(2)).replace("-", "−")} %`;
  }

  // What is marked at a point, or right before it, in words.
  function marksOf(i) {
    const {row: rows} = state.shown.points, row = rows[i], previous = i ? rows[i - 1] : row - 1;
    const lines = given.epochs.map((epoch, nth) => epoch.row === row ? given.words.epochs[nth] : "").filter(Boolean);
    const failed = (after, until) => given.failed.map((run, nth) => run.row > after && run.row <= until ? `${run.commit.slice(0, 10)}: ${given.words.failed[nth]}` : "").filter(Boolean);
    lines.push(...failed(previous, row).map((its) => `Before it, no point of ${its}`));
    if (row === given.n - 1) lines.push(...failed(row, given.n).map((its) => `After it, no point of ${its}`));
    for (const point of state.shown.void.filter((one) => one.row === row)) {
      const why = (point.reasons ?? []).map((reason) => given.words.reasons[reason] ?? reason.replaceAll("_", " "));
      lines.push(`${point.n_void} of ${point.n_values} values void${why.length ? `: ${why.join("; ")}` : ""}`);
    }
    const at = state.shown.control.row.indexOf(row);
    if (at >= 0) lines.push(`control ${percent(100 * state.shown.control.deviation[at])}`);
    return lines;
  }

  function valueRange(u, low, high) {
    if (low == null) return [0, 1];
    [low, high] = withLimits(low, high);
    if (isLog()) return [low / 1.05, high * 1.05];
    // What differs by its rounding only is one level.
    const room = Math.max((high - low) * 0.06 || Math.abs(high) * 0.01 || 1, Math.abs(high) * 1e-9);
    return [low - room, high + room];
  }

  function placeRange(u, low, high) {
    const room = low === high ? (state.time ? 43200 : 0.5) : 0;
    return [low - room, high + room];
  }

  // --- the axes ---

  // What all ticks are in is said once, above them.
  function tickLabels(u, values) {
    const {min, max} = u.scales.y, isEven = !isLog() || ticks().isNarrow(min, max);
    const isOne = isEven || ticks().isOne(min * scale.size, max * scale.size);
    above.textContent = isOne ? scale.symbol : "";
    if (isEven) return ticks().alike(values);
    return values.map((value) => isOne ? numbers().plain(value) : numbers().prefixed(value * scale.size));
  }

  const FONT = "12px system-ui, sans-serif", pen = document.createElement("canvas").getContext("2d");
  function widthOf(texts) {
    pen.font = FONT;
    return Math.max(0, ...texts.map((text) => pen.measureText(text).width));
  }

  // Room for the labels, and for the control's below.
  const roomLeft = (u, labels) => Math.ceil(Math.max(38, widthOf(labels ?? []))) + 18;
  // The last label may stand under the last point.
  const roomRight = () => Math.ceil(Math.max(34, widthOf([day.format(timeOf(state.shown.points.row.at(-1)))]) / 2 + 4));

  // Of a thinned history a tick's row may be left out: its neighbour's time does as well.
  function timeOf(row) {
    const p = state.shown.points;
    let low = 0, high = p.row.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (p.row[middle] < row) low = middle + 1; else high = middle;
    }
    return new Date(p.time[low]);
  }

  // The day where it begins, the time of day where the tick before is of the same day.
  function rowLabels(rows) {
    let dayBefore = "", clockBefore = "";
    return rows.map(timeOf).map((time) => {
      const itsDay = day.format(time), itsClock = clock.format(time), isNew = itsDay !== dayBefore;
      const label = isNew ? itsDay : itsClock === clockBefore ? "" : itsClock;
      [dayBefore, clockBefore] = [itsDay, itsClock];
      return label;
    });
  }

  function size() {
    return {width: plot.clientWidth, height: Math.max(240, Math.min(380, plot.clientWidth * 0.42))};
  }

  function options() {
    const ink = color("--ink"), quiet = color("--ink-3"), line = color("--line");
    const axis = {stroke: quiet, grid: {stroke: line, width: 1}, ticks: {stroke: line, width: 1}, font: FONT};
    const isSparse = state.shown.points.row.length <= 240;
    return {
      ...size(), legend: {show: false}, padding: [null, roomRight, null, null],
      cursor: {drag: {x: true, y: false, setScale: false}, points: {size: 8}, bind: {dblclick: () => null}},
      scales: {x: {time: state.time, range: placeRange}, y: {distr: isLog() ? 3 : 1, range: valueRange}},
      axes: [
        {...axis, space: 110, ...(state.time ? {} : {incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6], values: (u, rows) => rowLabels(rows)})},
        {...axis, size: roomLeft, values: tickLabels, ...(isLog() ? {splits: (u, its, low, high) => ticks().logarithmic(low, high), filter: (u, values) => values} : {})},
      ],
      series: [
        {},
        {stroke: ink, width: 1.4, points: {show: isSparse, size: 5, fill: ink, stroke: ink}},
        {stroke: "transparent", points: {show: false}},
        {stroke: "transparent", points: {show: false}},
        ...[...others.keys()].map((id) => ({stroke: styleOf(id).colour, dash: styleOf(id).dash, width: 1.4, spanGaps: true, points: {show: isSparse, size: 4}})),
      ],
      bands: [{series: [3, 2], fill: "rgba(128, 138, 150, .22)"}],
      hooks: {drawAxes: [drawMarks], draw: [drawChanges], setCursor: [follow], setSelect: [zoomSoon]},
    };
  }

  function styleOf(id) {
    const at = [...others.keys()].indexOf(id);
    return {colour: COLOURS[at], dash: DASHES[at]};
  }

  function draw() {
    if (chart) chart.destroy();
    plot.replaceChildren(above);
    const values = columns();
    above.hidden = scale.symbol === "";
    chart = new uPlot(options(), values, plot);
    drawControl();
    chart.over.addEventListener("mousedown", (event) => { pressedAt = event.clientX; });
    chart.over.addEventListener("click", (event) => { if (Math.abs(event.clientX - pressedAt) < 4) keep(); });
  }

  // --- what is told of a point ---

  let pressedAt = 0;
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  plot.after(below, tip);

  function part(name, text) {
    const its = document.createElement(name);
    its.textContent = text;
    return its;
  }

  function follow(u) {
    if (state.pinned) return;
    if (u.cursor.idx == null || u.cursor.left < 0) tip.hidden = true; else tell(u.cursor.idx);
  }

  function tell(at) {
    const p = state.shown.points, i = order[at], [middle, low, high] = drawn.map((values) => values[at]), {told, between} = numbers();
    const value = document.createElement("div"), commit = document.createElement("div"), more = document.createElement("div");
    value.append(part("b", told(middle)), ` ${between(low, high)}, n = ${p.n[i]}`.replace(" ,", ","));
    commit.append(part("code", p.commit[i].slice(0, 10)), " ", part("bdi", p.subject[i].slice(0, 90)));
    more.append(part("bdi", p.author[i].slice(0, 40)), p.author[i] ? " · " : "", moment.format(new Date(p.time[i])));
    more.className = "small";
    tip.replaceChildren(value, commit, more);
    [...others.keys()].forEach((id, nth) => {
      const its = drawn[3 + nth][at];
      if (its != null) tip.append(part("div", `${nameOf(id)}: ${told(its)}`));
    });
    tip.append(...marksOf(i).map((line) => part("div", line)));
    if (p.flags[i].length) tip.append(part("div", p.flags[i].join(", ")));
    if (state.pinned) tip.append(actions(p, i));
    tip.classList.toggle("held", state.pinned);
    tip.hidden = false;
    place(chart.valToPos(chart.data[0][at], "x") + chart.bbox.left / devicePixelRatio + plot.offsetLeft);
  }

  // To the right of its point, or where no room is left there, to the left of it.
  function place(x) {
    const after = x + 14, before = x - 14 - tip.offsetWidth, isIn = after + tip.offsetWidth <= box.clientWidth - 8;
    tip.style.left = `${Math.max(0, isIn ? after : before)}px`;
    tip.style.top = `${chart.over.getBoundingClientRect().top - box.getBoundingClientRect().top + 8}px`;
  }

  function actions(p, i) {
    const its = document.createElement("div");
    its.className = "links";
    const run = part("a", /^\d+$/.test(p.run[i]) ? `Run ${p.run[i]}` : p.run[i]);
    run.href = `/runs/${p.run[i]}`;
    const commit = part("a", "Commit");
    commit.href = `/commits/${p.commit[i]}?project=${encodeURIComponent(state.shown.series.project)}`;
    its.append(run, commit);
    const relative = part("button", "Relative to this");
    relative.type = "button";
    relative.className = "plain";
    relative.addEventListener("click", () => refer(p, i));
    its.append(relative);
    return its;
  }

  // Of several results of a commit the newest is the reference, as it is for the server.
  function refer(p, i) {
    state.relative = p.commit[i];
    state.reference = p.value[p.commit.lastIndexOf(p.commit[i])];
    redraw();
  }

  function keep() {
    if (chart.cursor.idx == null) return;
    state.pinned = !state.pinned;
    tell(chart.cursor.idx);
  }

  function letGo() { state.pinned = false; tip.hidden = true; }

  function byKey(event) {
    const steps = {ArrowLeft: -1, ArrowRight: 1}, n = order.length;
    if (event.key === "Enter") { keep(); event.preventDefault(); }
    if (!(event.key in steps)) return;
    event.preventDefault();
    state.pinned = false;
    const now = chart.cursor.idx ?? (steps[event.key] > 0 ? -1 : n), at = Math.max(0, Math.min(n - 1, now + steps[event.key]));
    chart.setCursor({left: chart.valToPos(chart.data[0][at], "x"), top: chart.valToPos(chart.data[1][at], "y")});
  }

  // --- what is drawn beside it ---

  const nameOf = (id) => boxes.find((one) => one.value === id)?.dataset.name ?? id;

  function drawBeside() {
    const wanted = boxes.filter((one) => one.checked).map((one) => one.value);
    for (const one of boxes) one.disabled = !one.checked && wanted.length >= COLOURS.length;
    for (const id of [...others.keys()]) if (!wanted.includes(id)) others.delete(id);
    const missing = wanted.filter((id) => !others.has(id));
    return Promise.all(missing.map((id) => fetch(`/api/v1/series/${id}/trend?branch=${encodeURIComponent(given.branch)}&columns=10000`)
      .then((answer) => answer.ok ? answer.json() : null)
      .then((found) => { if (found && boxes.some((one) => one.value === id && one.checked)) others.set(id, found); })
      .catch(() => {})))
      .then(() => { mark(); redraw(); });
  }

  // A chosen series has the colour of its line; one that has nothing on this branch says so.
  function mark() {
    for (const one of boxes) {
      const its = others.get(one.value), sample = one.parentElement.querySelector("svg");
      one.parentElement.classList.toggle("absent", one.checked && !its);
      sample.toggleAttribute("hidden", !its);
      if (its) drawKey(sample.querySelector("path"), styleOf(one.value));
    }
  }

  function drawKey(line, {colour, dash}) {
    line.setAttribute("stroke", colour);
    line.setAttribute("stroke-dasharray", dash.join(" "));
  }

  // --- which part is shown ---

  // uPlot is done with the mouse by then: a chart that goes before that listens on.
  function zoomSoon(u) { queueMicrotask(() => zoom(u)); }

  function zoom(u) {
    const {left, width} = u.select;
    if (width < 4) return;
    const x = u.data[0], from = u.posToVal(left, "x"), to = u.posToVal(left + width, "x");
    const rows = state.shown.points.row, inside = order.filter((i, at) => x[at] >= from && x[at] <= to).map((i) => rows[i]);
    if (inside.length > 1) show(Math.min(...inside), Math.max(...inside));
    else u.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
  }

  function slice(whole, first, last) {
    const cut = (columns) => {
      const kept = columns.row.map((row, i) => i).filter((i) => columns.row[i] >= first && columns.row[i] <= last);
      return Object.fromEntries(Object.entries(columns).filter(([, column]) => Array.isArray(column)).map(([name, column]) => [name, kept.map((i) => column[i])]));
    };
    return {...whole, first, last, points: cut(whole.points), control: cut(whole.control)};
  }

  // What is here whole is cut out of that; all else the server has. The newest wish counts.
  function show(first, last, isNew = true) {
    asked += 1;
    const mine = asked, arrive = (found) => { state.shown = found; redraw(isNew); };
    const isHere = !given.thinned && !given.control.thinned && given.first <= first && last <= given.last;
    if (isHere) { arrive(slice(given, first, last)); return; }
    fetch(`/api/v1/series/${given.series.id}/trend?branch=${encodeURIComponent(given.branch)}&first=${first}&last=${last}`)
      .then((answer) => answer.ok ? answer.json() : Promise.reject(answer.status))
      .then((found) => { if (mine === asked) arrive(found); })
      .catch(() => {});  // what is drawn stays
  }

  function showAll() { show(0, given.n - 1); }

  function redraw(isNew = false) {
    letGo();
    remember(isNew);
    draw();
  }

  // The way back leads from one part to the one before; how it is shown stays.
  function keepAddress(address, isNew) {
    const {first, last} = state.shown, isOther = history.state?.first !== first || history.state?.last !== last;
    history[isNew && isOther ? "pushState" : "replaceState"]({first, last}, "", address);
  }

  addEventListener("popstate", ({state: part}) => { if (part) show(part.first, part.last, false); });

  // The address is that of what one sees.
  function remember(isNew) {
    for (const [name, is] of [["log", isLog()], ["time", state.time]]) is ? query.set(name, "1") : query.delete(name);
    state.relative ? query.set("relative", state.relative) : query.delete("relative");
    const isPart = state.shown.first > 0 || state.shown.last < given.n - 1;
    query.delete("beside");
    for (const one of boxes) if (one.checked) query.append("beside", one.value);
    for (const name of ["first", "last"]) isPart ? query.set(name, state.shown[name]) : query.delete(name);
    const text = query.toString();
    keepAddress((text ? `${home}?${text}` : home) + location.hash, isNew);
    offerLog();
    tools.querySelector("[name=relative]").hidden = !isRelative();
    tools.querySelector("[name=whole]").hidden = !isPart;
  }

  for (const name of ["log", "time"]) {
    const choice = tools.querySelector(`[name=${name}]`);
    choice.checked = state[name];
    choice.addEventListener("change", () => { state[name] = choice.checked; redraw(); });
  }
  tools.querySelector("[name=relative]").addEventListener("click", () => { state.relative = ""; state.reference = null; redraw(); });
  tools.querySelector("[name=whole]").addEventListener("click", showAll);
  for (const one of boxes) one.addEventListener("change", drawBeside);
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", plot.querySelector("svg")?.getAttribute("aria-label") ?? "");
  plot.tabIndex = 0;
  plot.addEventListener("keydown", byKey);
  box.addEventListener("dblclick", (event) => { if (!tools.contains(event.target)) showAll(); });
  document.addEventListener("keydown", (key) => { if (key.key === "Escape") letGo(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  new ResizeObserver(() => { if (chart && plot.clientWidth !== chart.width) { chart.setSize(size()); drawControl(); } }).observe(plot);
  tools.hidden = false;
  redraw();
  if (boxes.some((one) => one.checked)) drawBeside();
})();

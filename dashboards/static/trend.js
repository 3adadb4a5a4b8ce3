// One series as a chart that can be moved in: the same points as the picture that it takes the place of.
"use strict";
(() => {
  const box = document.getElementById("trend"), data = document.getElementById("trend-data");
  if (!box || !data || typeof uPlot === "undefined") return;
  const all = JSON.parse(data.textContent), unit = box.dataset.unit;
  const tools = box.querySelector(".tools"), plot = box.querySelector(".canvas");
  const query = new URLSearchParams(location.search);
  const state = {
    log: query.has("log"), time: query.has("time"), relative: query.get("relative"), shown: all, pinned: null,
  };
  let chart = null;

  // --- what is drawn ---

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const zone = new Intl.DateTimeFormat(undefined, {dateStyle: "medium", timeStyle: "short"});
  const day = new Intl.DateTimeFormat(undefined, {dateStyle: "medium"});

  function reference() {
    const at = state.relative ? all.points.commit.findIndex((sha) => sha.startsWith(state.relative)) : -1;
    return at < 0 ? null : all.points.value[at];
  }

  function columns() {
    const p = state.shown.points, base = reference();
    const scaled = base ? (values) => values.map((value) => 100 * (value / base - 1)) : (values) => values;
    const x = state.time ? p.time.map((time) => Date.parse(time) / 1000) : p.row;
    const order = x.map((_, i) => i).sort((a, b) => x[a] - x[b]);
    const sorted = (values) => order.map((i) => values[i]);
    return {order, data: [sorted(x), sorted(scaled(p.value)), sorted(scaled(p.low)), sorted(scaled(p.high))]};
  }

  // Prefixes are SI's, memory has binary ones; as the server writes them.
  function quantity(value) {
    if (value == null) return "–";
    if (reference()) return `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toPrecision(3)} %`;
    const [steps, size] = unit === "B" ? [["", "Ki", "Mi", "Gi", "Ti"], 1024] : [["", "k", "M", "G", "T"], 1000];
    let at = 0, rest = Math.abs(value);
    while (rest >= size && at < steps.length - 1) { rest /= size; at += 1; }
    let symbol = steps[at];
    if (rest && rest < 1 && unit !== "B" && unit !== "1" && unit !== "") {
      for (const small of ["m", "µ", "n", "p"]) { if (rest >= 1) break; rest *= 1000; symbol = small; }
    }
    const sign = value < 0 ? "−" : "", shown = rest >= 1000 ? Math.round(rest) : +rest.toPrecision(3);
    return `${sign}${shown} ${symbol}${unit === "1" ? "" : unit}`.trim();
  }

  // What is relative has both signs, and some values are zero.
  function isLog() {
    return state.log && !reference() && state.shown.points.low.every((value) => value > 0);
  }

  function tone(change) {
    if (change.machine || change.worse === null) return color("--open");
    return color(change.worse ? "--regressed" : "--improved");
  }

  // A change lies between the point before it and its own.
  function placeOf(change, order) {
    const rows = state.shown.points.row, at = rows.indexOf(change.row);
    if (at < 1) return null;
    if (!state.time) return change.row - 0.5;
    return Date.parse(state.shown.points.time[at]) / 1000;
  }

  function drawChanges(u) {
    const {ctx, bbox} = u;
    ctx.save();
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const change of all.changes) {
      const place = placeOf(change);
      if (place === null || place < u.scales.x.min || place > u.scales.x.max) continue;
      const x = Math.round(u.valToPos(place, "x", true));
      ctx.strokeStyle = tone(change);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  function limits(u, low, high) {
    if (low == null) return [0, 1];
    const room = (high - low) * 0.06 || Math.abs(high) * 0.01 || 1;
    return isLog() ? [low / 1.05, high * 1.05] : [low - room, high + room];
  }

  // uPlot's own marks of a logarithmic scale are powers of ten: few of them are in the range of a benchmark.
  function logSplits(u, _, low, high) {
    if (high / low > 30) return null;
    const step = Math.log(high / low) / 5;
    return [...new Set([0, 1, 2, 3, 4, 5].map((i) => +(low * Math.exp(i * step)).toPrecision(3)))];
  }

  function options(order) {
    const ink = color("--ink"), quiet = color("--ink-3"), line = color("--line");
    const axis = {stroke: quiet, grid: {stroke: line, width: 1}, ticks: {stroke: line, width: 1}, font: "12px system-ui, sans-serif"};
    const rows = state.shown.points;
    return {
      width: plot.clientWidth, height: Math.max(240, Math.min(380, plot.clientWidth * 0.42)),
      legend: {show: false}, cursor: {drag: {x: true, y: false}, points: {size: 8}, focus: {prox: 40}},
      scales: {x: {time: state.time}, y: {distr: isLog() ? 3 : 1, range: limits}},
      axes: [
        {...axis, values: state.time ? undefined : (u, places) => places.map((place) => {
          const at = rows.row.indexOf(Math.round(place));
          return at < 0 ? "" : day.format(new Date(rows.time[at]));
        }), space: 110},
        {...axis, size: 84, values: (u, places) => places.map(quantity), ...(isLog() ? {splits: logSplits} : {})},
      ],
      series: [
        {},
        {stroke: ink, width: 1.4, points: {show: rows.row.length <= 240, size: 5, fill: ink, stroke: ink}},
        {stroke: "transparent", points: {show: false}},
        {stroke: "transparent", points: {show: false}},
      ],
      bands: [{series: [3, 2], fill: color("--wash-band") || "rgba(128,138,150,.22)"}],
      hooks: {draw: [drawChanges], setCursor: [(u) => tell(u, order)], setSelect: [(u) => zoomed(u)]},
    };
  }

  function draw() {
    const {order, data: its} = columns();
    plot.replaceChildren();
    chart = new uPlot(options(order), its, plot);
    plot.append(tip);
    chart.over.addEventListener("click", () => keep(order));
    chart.over.addEventListener("dblclick", () => show(all, {}));
  }

  // --- what is told of a point ---

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;

  function part(name, text, title) {
    const its = document.createElement(name);
    its.textContent = text;
    if (title) its.title = title;
    return its;
  }

  function tell(u, order) {
    if (state.pinned !== null) return;
    const at = u.cursor.idx;
    if (at == null || u.cursor.left < 0) { tip.hidden = true; return; }
    fill(u, at, order, false);
  }

  function fill(u, at, order, isKept) {
    const p = state.shown.points, i = order[at], data = u.data;
    const value = part("b", quantity(data[1][at]));
    const between = part("span", ` ${quantity(data[2][at])} … ${quantity(data[3][at])}, n = ${p.n[i]}`);
    const first = document.createElement("div"), commit = document.createElement("div"), more = document.createElement("div");
    first.append(value, between);
    commit.append(part("code", p.commit[i].slice(0, 10)), " ", part("bdi", p.subject[i].slice(0, 90)));
    more.append(part("bdi", p.author[i].slice(0, 40)), p.author[i] ? " · " : "", zone.format(new Date(p.time[i])));
    more.className = "small";
    tip.replaceChildren(first, commit, more);
    if (p.flags[i].length) tip.append(part("div", p.flags[i].join(", ")));
    if (isKept) tip.append(actions(p, i));
    tip.classList.toggle("kept", isKept);
    tip.hidden = false;
    const left = u.valToPos(data[0][at], "x") + u.over.offsetLeft, room = plot.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(0, Math.min(room, left + 14))}px`;
    tip.style.top = `${u.over.offsetTop + 8}px`;
  }

  function actions(p, i) {
    const its = document.createElement("div");
    its.className = "links";
    if (/^\d+$/.test(p.run[i])) {
      const run = part("a", `Run ${p.run[i]}`);
      run.href = `/runs/${p.run[i]}`;
      its.append(run);
    }
    const relative = part("button", "Relative to this");
    relative.className = "plain";
    relative.addEventListener("click", () => { state.relative = p.commit[i]; letGo(); remember(); draw(); });
    its.append(relative);
    return its;
  }

  function keep(order) {
    const at = chart.cursor.idx;
    if (at == null) return;
    state.pinned = state.pinned === null ? at : null;
    if (state.pinned === null) tell(chart, order); else fill(chart, at, order, true);
  }

  function letGo() { state.pinned = null; tip.hidden = true; }

  // --- which part is shown ---

  function zoomed(u) {
    const {left, width} = u.select;
    if (width < 4 || state.time || !all.thinned) return;
    const first = Math.max(0, Math.floor(u.posToVal(left, "x"))), last = Math.ceil(u.posToVal(left + width, "x"));
    fetch(`/api/v1/series/${all.series.id}/trend?branch=${encodeURIComponent(all.branch)}&first=${first}&last=${last}`)
      .then((answer) => answer.ok ? answer.json() : Promise.reject(answer.status))
      .then((part) => show(part, {first, last}))
      .catch(() => {});  // what is drawn stays, a little coarser
  }

  function show(part, rows) {
    state.shown = part;
    for (const name of ["first", "last"]) rows[name] === undefined ? query.delete(name) : query.set(name, rows[name]);
    letGo();
    remember();
    draw();
  }

  function remember() {
    for (const name of ["log", "time"]) state[name] ? query.set(name, "1") : query.delete(name);
    state.relative ? query.set("relative", state.relative) : query.delete("relative");
    const told = query.toString();
    history.replaceState(null, "", told ? `?${told}` : location.pathname);
    tools.querySelector("[name=relative]").hidden = !state.relative;
  }

  for (const name of ["log", "time"]) {
    const choice = tools.querySelector(`[name=${name}]`);
    choice.checked = state[name];
    choice.addEventListener("change", () => { state[name] = choice.checked; letGo(); remember(); draw(); });
  }
  tools.querySelector("[name=relative]").addEventListener("click", () => { state.relative = null; remember(); draw(); });
  document.addEventListener("keydown", (key) => { if (key.key === "Escape") letGo(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  new ResizeObserver(() => {
    if (chart && plot.clientWidth !== chart.width) draw();
  }).observe(plot);
  tools.hidden = false;
  remember();
  draw();
})();

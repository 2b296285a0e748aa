"use strict";
// Line charts in SVG: axes with round ticks, a band where a point stands for several rows, a shared crosshair.

const SVG = "http://www.w3.org/2000/svg";

/** Short text for a number on an axis or in a readout. */
function formatNumber(value, digits = 4) {
  if (value === null || value === undefined) return "\u2013";
  const size = Math.abs(value);
  if (size === 0) return "0";
  for (const [unit, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (size >= unit) {
      const scale = letter === "k" ? 1e3 : unit;
      if (size / scale >= 1e5) break;
      return trimZeros((value / scale).toPrecision(digits)) + "\u202f" + letter;
    }
  }
  if (size >= 1e12 || size < 1e-4) return trimExponent(value.toExponential(Math.min(digits - 1, 2)));
  return trimZeros(value.toPrecision(digits)).replace("-", "\u2212");
}

function trimZeros(text) {
  if (text.includes("e")) return String(Number(text));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function trimExponent(text) {
  const [mantissa, exponent] = text.split("e");
  return trimZeros(mantissa).replace("-", "\u2212") + "e" + exponent.replace("+", "").replace("-", "\u2212");
}

/** Whole number with thousands separated. */
function formatCount(value) {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** Round ticks (1, 2 or 5 times a power of ten) inside [low, high], about `wanted` of them. */
function linearTicks(low, high, wanted) {
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough * 0.75) || rough;
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

function linearScale(low, high, from, to) {
  return { map: (value) => from + ((value - low) / (high - low)) * (to - from), ticks: (wanted) => linearTicks(low, high, wanted) };
}

function logScale(low, high, from, to) {
  const bottom = Math.log10(low), top = Math.log10(high);
  return {
    map: (value) => from + ((Math.log10(value) - bottom) / (top - bottom)) * (to - from),
    ticks: (wanted) => {
      const stride = Math.max(1, Math.ceil((top - bottom) / wanted));
      const ticks = [];
      for (let power = Math.ceil(bottom - 1e-9); power <= top + 1e-9; power++) {
        if (power % stride === 0) ticks.push(10 ** power);
      }
      return ticks.length >= 2 ? ticks : linearTicks(low, high, wanted).filter((tick) => tick > 0);
    },
  };
}

function svg(parent, name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

class Chart {
  /** spec: {key, title, hint, goal, fixed: [low, high] | undefined, wide}. curves: the page's "curves". */
  constructor(parent, spec, curves, board) {
    this.spec = spec;
    this.curves = curves;
    this.board = board;
    this.mean = curves.mean[spec.key];
    this.low = curves.low[spec.key] || this.mean;
    this.high = curves.high[spec.key] || this.mean;
    this.figure = document.createElement("figure");
    this.figure.className = spec.wide ? "chart wide" : "chart";
    this.figure.dataset.key = spec.key;
    const caption = document.createElement("figcaption");
    const title = document.createElement("h3");
    title.textContent = spec.title;
    this.value = document.createElement("span");
    this.value.className = "value";
    caption.append(title, this.value);
    const hint = document.createElement("p");
    hint.className = "hint";
    hint.textContent = spec.hint;
    hint.title = spec.hint;
    this.figure.append(caption, hint);
    this.root = svg(this.figure, "svg", { tabindex: "0", role: "img" });
    parent.append(this.figure);
    this.root.addEventListener("pointermove", (event) => this.point(event));
    this.root.addEventListener("pointerdown", (event) => this.point(event));
    this.root.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") board.select(null); });
    this.root.addEventListener("blur", () => board.select(null));
    this.root.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!move) return;
      event.preventDefault();
      event.stopPropagation();
      const last = this.mean.length - 1;
      board.select(Math.min(last, Math.max(0, (board.selected === null ? last : board.selected) + move)));
    });
  }

  /** Lowest and highest value to show, with some air; null when there is nothing to draw. */
  range(logarithmic) {
    let low = Infinity, high = -Infinity;
    for (let i = 0; i < this.mean.length; i++) {
      if (this.mean[i] === null) continue;
      if (this.low[i] < low) low = this.low[i];
      if (this.high[i] > high) high = this.high[i];
    }
    if (low > high) return null;
    if (logarithmic) return low === high ? [low / 2, high * 2] : [low / (high / low) ** 0.04, high * (high / low) ** 0.04];
    if (this.spec.goal !== undefined) { low = Math.min(low, this.spec.goal); high = Math.max(high, this.spec.goal); }
    if (this.spec.fixed) { low = Math.min(low, this.spec.fixed[0]); high = Math.max(high, this.spec.fixed[1]); }
    if (low > 0 && low < high * 0.45) low = 0; // a curve that comes near zero is read against zero
    if (low === high) return low === 0 ? [-1, 1] : [low - Math.abs(low) * 0.1, high + Math.abs(high) * 0.1];
    const air = (high - low) * 0.06;
    return [low === 0 ? 0 : low - air, high === 0 ? 0 : high + air];
  }

  draw() {
    const width = Math.max(200, Math.round(this.figure.clientWidth));
    const height = this.spec.wide ? Math.min(300, Math.max(210, width * 0.3)) : 168;
    this.root.replaceChildren();
    this.root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.root.setAttribute("height", height);
    const positive = this.low.every((value, i) => this.mean[i] === null || value > 0);
    const logarithmic = this.board.scale === "log" && positive;
    const range = this.range(logarithmic);
    this.root.setAttribute("aria-label", this.describe(range));
    this.cross = null;
    if (!range) {
      svg(this.root, "line", { class: "base", x1: 0, x2: width, y1: height - 22, y2: height - 22 });
      svg(this.root, "text", { class: "empty", x: width / 2, y: height / 2, "text-anchor": "middle" }, "no values");
      this.show(null);
      return;
    }
    const plot = { left: 46, right: width - 8, top: 8, bottom: height - 22 };
    this.plot = plot;
    const y = (logarithmic ? logScale : linearScale)(range[0], range[1], plot.bottom, plot.top);
    this.y = y;
    for (const tick of y.ticks(this.spec.wide ? 6 : 4)) {
      const at = y.map(tick);
      svg(this.root, "line", { class: "grid", x1: plot.left, x2: plot.right, y1: at, y2: at });
      svg(this.root, "text", { x: plot.left - 8, y: at + 3.8, "text-anchor": "end" }, formatNumber(tick, 3));
    }
    const xs = this.board.xs();
    const end = xs[xs.length - 1] || 1;
    const x = linearScale(0, end, plot.left, plot.right);
    this.x = x;
    svg(this.root, "line", { class: "base", x1: plot.left, x2: plot.right, y1: plot.bottom, y2: plot.bottom });
    this.xLabels = [];
    const unit = this.board.axis === "seconds" ? "\u202fs" : "";
    for (const tick of x.ticks(Math.max(2, Math.floor(width / (this.spec.wide ? 110 : 70))))) {
      const at = x.map(tick);
      svg(this.root, "line", { class: "base", x1: at, x2: at, y1: plot.bottom, y2: plot.bottom + 4 });
      const anchor = at > plot.right - 14 ? "end" : "middle";
      const label = formatNumber(tick, 3) + (tick ? unit : "");
      this.xLabels.push([at, svg(this.root, "text", { x: anchor === "end" ? plot.right : at, y: plot.bottom + 16, "text-anchor": anchor }, label)]);
    }
    this.drawGoal(logarithmic, range);
    this.drawCurve(xs);
    this.cross = svg(this.root, "g", { class: "cross", visibility: "hidden" });
    svg(this.root, "rect", { x: plot.left, y: 0, width: plot.right - plot.left, height, fill: "transparent" });
    this.show(this.board.selected);
  }

  drawGoal(logarithmic, range) {
    const goal = this.spec.goal;
    if (goal === undefined || (logarithmic && !(goal >= range[0] && goal <= range[1]))) return;
    const at = this.y.map(goal);
    svg(this.root, "line", { class: "goal", x1: this.plot.left, x2: this.plot.right, y1: at, y2: at });
    svg(this.root, "text", { class: "goal-label", x: this.plot.left + 6, y: at + (at < 24 ? 14 : -5) }, `goal ${formatNumber(goal)}`);
  }

  drawCurve(xs) {
    const at = (i, values) => `${this.x.map(xs[i]).toFixed(1)},${this.y.map(values[i]).toFixed(1)}`;
    let path = "", wash = "";
    for (let start = 0; start < xs.length; start++) {
      if (this.mean[start] === null) continue;
      let stop = start;
      while (stop < xs.length && this.mean[stop] !== null) stop++;
      const run = Array.from({ length: stop - start }, (_, k) => start + k);
      path += "M" + run.map((i) => at(i, this.mean)).join("L");
      if (run.length === 1) svg(this.root, "circle", { class: "dot", cx: this.x.map(xs[start]), cy: this.y.map(this.mean[start]), r: 2.5 });
      if (this.low !== this.mean && run.length > 1) {
        wash += "M" + run.map((i) => at(i, this.high)).join("L") + "L" + run.reverse().map((i) => at(i, this.low)).join("L") + "Z";
      }
      start = stop;
    }
    if (wash) svg(this.root, "path", { class: "wash", d: wash });
    svg(this.root, "path", { class: "curve", d: path });
  }

  describe(range) {
    if (!range) return `${this.spec.title}: no values`;
    const known = this.mean.filter((value) => value !== null);
    return `${this.spec.title}: from ${formatNumber(known[0])} to ${formatNumber(known[known.length - 1])}, ` +
      `lowest ${formatNumber(Math.min(...known))}, highest ${formatNumber(Math.max(...known))}`;
  }

  point(event) {
    const box = this.root.getBoundingClientRect();
    const xs = this.board.xs();
    if (!this.x || !xs.length) return;
    const wanted = (event.clientX - box.left - this.plot.left) / (this.plot.right - this.plot.left) * (xs[xs.length - 1] || 1);
    let low = 0, high = xs.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (xs[middle] < wanted) low = middle + 1; else high = middle;
    }
    this.board.select(low > 0 && wanted - xs[low - 1] < xs[low] - wanted ? low - 1 : low);
  }

  /** Show the value at a row (crosshair), or the newest value when there is none. */
  show(index) {
    let row = index;
    if (row === null) {
      row = this.mean.length - 1;
      while (row > 0 && this.mean[row] === null) row--;
    }
    const value = this.mean[row];
    this.value.textContent = formatNumber(value);
    if (value !== null && this.low !== this.mean && this.low[row] !== this.high[row]) {
      const spread = document.createElement("small");
      spread.textContent = ` ${formatNumber(this.low[row], 3)} to ${formatNumber(this.high[row], 3)}`;
      this.value.append(spread);
    }
    if (!this.cross) return;
    this.cross.replaceChildren();
    this.cross.setAttribute("visibility", index === null ? "hidden" : "visible");
    for (const [, label] of this.xLabels) label.removeAttribute("visibility");
    if (index === null) return;
    const at = this.x.map(this.board.xs()[index]);
    svg(this.cross, "line", { x1: at, x2: at, y1: this.plot.top, y2: this.plot.bottom });
    if (value !== null) svg(this.cross, "circle", { cx: at, cy: this.y.map(value), r: 4.5 });
    const label = this.board.label(index);
    const half = label.length * 3.1 + 6;
    const middle = Math.min(this.plot.right - half, Math.max(this.plot.left + half, at));
    for (const [x, other] of this.xLabels) {
      if (Math.abs(x - middle) < half + 20) other.setAttribute("visibility", "hidden");
    }
    svg(this.cross, "text", { x: middle, y: this.plot.bottom + 16, "text-anchor": "middle" }, label);
  }
}

/** All charts of the page: they share the horizontal axis, the scale and the crosshair. */
class Board {
  constructor(parent, curves, specs) {
    this.curves = curves;
    this.axis = "step";
    this.scale = "linear";
    this.selected = null;
    this.charts = specs.filter((spec) => curves.mean[spec.key]).map((spec) => new Chart(parent, spec, curves, this));
    let waiting = 0;
    new ResizeObserver(() => {
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(() => this.draw());
    }).observe(parent);
    this.draw();
  }

  xs() { return this.curves.mean[this.axis]; }

  label(index) {
    const step = this.curves.mean.step[index], seconds = this.curves.mean.seconds[index];
    return this.axis === "step" ? `step ${formatCount(step)}` : `${formatNumber(seconds)}\u202fs`;
  }

  set(change) {
    Object.assign(this, change);
    this.draw();
  }

  select(index) {
    if (index === this.selected) return;
    this.selected = index;
    for (const chart of this.charts) chart.show(index);
  }

  draw() { for (const chart of this.charts) chart.draw(); }
}

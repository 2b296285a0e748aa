// Fills the page from its data. Every text of the run goes in by textContent: it is shown, never interpreted.

const CHARTS = [
  { key: "return", title: "Return", hint: "mean of the last 100 finished episodes", wide: true },
  { key: "length", title: "Episode length", hint: "steps, mean of the last 100 finished episodes" },
  { key: "steps_per_second", title: "Steps per second", hint: "rollout and learning together" },
  { key: "policy_loss", title: "Policy loss", hint: "clipped surrogate objective; moves around zero" },
  { key: "value_loss", title: "Value loss", hint: "error of the predicted return" },
  { key: "explained_variance", title: "Explained variance", hint: "1: values predict returns; 0 or less: they do not" },
  { key: "entropy", title: "Entropy", hint: "nats; falls as the policy makes up its mind" },
  { key: "approx_kl", title: "Approximate KL", hint: "how far an update moved the policy" },
  { key: "clip_fraction", title: "Clip fraction", hint: "share of steps that the clipping held back" },
  { key: "gradient_norm", title: "Gradient norm", hint: "before clipping" },
  { key: "learning_rate", title: "Learning rate", hint: "of Adam, as annealed" },
];

function element(parent, name, text, className) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  parent.append(node);
  return node;
}

function capital(text) { return text.charAt(0).toUpperCase() + text.slice(1); }

function formatSeconds(seconds) {
  if (seconds >= 90) return [formatCount(Math.floor(seconds / 60)), ` min ${Math.round(seconds % 60)} s`];
  return [seconds.toPrecision(3).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, ""), " s"];
}

function formatBytes(bytes) {
  if (bytes < 1e4) return `${formatCount(bytes)} bytes`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function showMasthead(data) {
  document.title = `${data.environment || "Training report"} \u00b7 ${data.run}`;
  for (const name of ["environment", "run", "summary", "drawn"]) document.getElementById(name).textContent = data[name];
  if (!data.environment) document.getElementById("environment").textContent = "Unknown environment";
  const status = document.getElementById("status");
  status.textContent = data.status === "unknown" ? "no status" : data.status;
  status.classList.add(data.status);
  const reason = document.getElementById("reason");
  reason.textContent = data.reason;
  reason.hidden = !data.reason;
  const [seal] = data.digests.filter(([name]) => name === "Approved" || name === "Plan");
  if (seal) {
    document.getElementById("seal").hidden = false;
    document.getElementById("seal-name").textContent = seal[0];
    document.getElementById("seal-digest").textContent = `${seal[1].slice(0, 16)}\u2026`;
  }
  const notes = document.getElementById("notes");
  for (const note of data.notes) element(notes.firstElementChild, "li", note);
  notes.hidden = data.notes.length === 0;
}

function showHeadline(data) {
  const list = document.getElementById("headline");
  const head = data.headline, evaluation = head.evaluation;
  const item = (term, number, unit, details) => {
    const box = element(list, "div");
    element(box, "dt", term);
    const value = element(box, "dd", number, "number");
    if (unit) element(value, "span", unit, "unit");
    const detail = details.filter(Boolean).join(", ");
    if (detail) element(box, "dd", detail, "detail");
  };
  if (evaluation.return_mean !== null) {
    item("Return in evaluation", formatNumber(evaluation.return_mean),
      evaluation.return_std === null ? "" : ` \u00b1 ${formatNumber(evaluation.return_std, 3)}`, [
        evaluation.episodes === null ? "" : `${formatCount(evaluation.episodes)} episodes`,
        evaluation.length_mean === null ? "" : `${formatNumber(evaluation.length_mean)} steps each`,
        evaluation.seed === null ? "" : `seed ${evaluation.seed}`]);
  } else {
    item("Return in training", formatNumber(head.training_return), "", ["last 100 episodes", "not evaluated"]);
  }
  item("Goal", head.goal_reached === null || data.target === null ? "\u2013" : head.goal_reached ? "reached" : "not reached", "",
    [data.target === null ? "none set: the whole budget is trained" : `mean return of ${formatNumber(data.target)}`]);
  item("Training time", ...(head.train_seconds === null ? ["\u2013", ""] : formatSeconds(head.train_seconds)), [
    head.total_seconds === null ? "" : `${formatSeconds(head.total_seconds).join("")} in all`,
    head.build_seconds ? `${formatSeconds(head.build_seconds).join("")} building` : ""]);
  item("Steps", head.step === null ? "\u2013" : formatCount(head.step), "", [
    head.episodes === null ? "" : `${formatCount(head.episodes)} episodes`,
    head.iteration === null ? "" : `${formatCount(head.iteration)} updates`]);
  item("Steps per second", formatNumber(head.steps_per_second, 3), "", [
    head.rollout_share === null ? "" : `${Math.round(100 * head.rollout_share)}% acting, ${Math.round(100 - 100 * head.rollout_share)}% learning`]);
}

function makeSwitch(id, options, chosen, choose) {
  const box = document.getElementById(id);
  const buttons = options.map(([value, text]) => {
    const button = element(box, "button", text);
    button.type = "button";
    button.dataset.value = value;
    button.setAttribute("aria-pressed", String(value === chosen));
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      choose(value);
    });
    return button;
  });
}

function showCharts(data) {
  const curves = data.curves;
  if (!curves) return;
  document.getElementById("training").hidden = false;
  const specs = CHARTS.map((spec) => (spec.key === "return" && data.target !== null ? { ...spec, goal: data.target } : spec));
  for (const key of Object.keys(curves.mean)) {
    if (!key.startsWith("statistics.")) continue;
    const name = key.slice("statistics.".length);
    specs.push({ key, title: capital(name.replaceAll("_", " ")), hint: "statistic of the environment, at episode end" });
  }
  const board = new Board(document.getElementById("charts"), curves, specs);
  makeSwitch("axis", [["step", "Steps"], ["seconds", "Time"]], "step", (axis) => board.set({ axis, selected: null }));
  makeSwitch("scale", [["linear", "Linear"], ["log", "Log"]], "linear", (scale) => board.set({ scale }));
  if (curves.rows_a_point > 1) {
    const fine = document.getElementById("thinned");
    fine.hidden = false;
    fine.textContent = `Drawn from ${formatCount(curves.rows)} rows: a point is the mean of up to ` +
      `${formatCount(curves.rows_a_point)} rows, the band runs from their lowest to their highest value.`;
  }
}

function showSettings(data) {
  const parent = document.getElementById("settings");
  for (const group of data.settings) {
    const section = element(parent, "section");
    element(section, "h3", group.title);
    const list = element(section, "dl");
    for (const [name, value, meaning] of group.rows) {
      const row = element(list, "div");
      element(row, "dt", name);
      element(row, "dd", value, meaning ? "" : "long");
      if (meaning) element(row, "dd", meaning, "meaning");
    }
  }
  if (!data.settings.length) element(parent, "p", "There is no plan to show.", "fine");
}

function showEvidence(data) {
  const parent = document.getElementById("evidence");
  const table = (title, rows) => {
    if (!rows.length) return;
    const section = element(parent, "section");
    element(section, "h3", title);
    const list = element(section, "dl", undefined, "rows");
    for (const [name, digest, meaning] of rows) {
      const row = element(list, "div");
      element(row, "dt", name);
      const cell = element(row, "dd");
      element(cell, "code", digest);
      if (meaning) element(cell, "small", meaning);
    }
  };
  table("Digests", data.digests);
  table("Files", data.files.map((file) => [file.name, file.sha256, formatBytes(file.bytes)]));
  const section = element(parent, "section");
  for (const command of data.commands) {
    element(section, "h3", `To check it again: ${command.title.charAt(0).toLowerCase()}${command.title.slice(1)}`);
    element(element(section, "div", undefined, "command"), "pre", command.text);
  }
}

{
  const data = JSON.parse(document.getElementById("data").textContent);
  showMasthead(data);
  showHeadline(data);
  if (data.replay) new Replay(data.replay);
  showCharts(data);
  showSettings(data);
  showEvidence(data);
}

// The widget of a History: the slider chooses a record, and every row shows its leaf at that record.
(() => {
  "use strict";
  const PAUSE = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1600 : 800;
  const OPEN = [8, 24]; // a group with more leaves starts folded, at the top and below it
  const LEVELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const SHAPES = {
    params: "M3 3h10v10h-10z",
    state: "M8 2.5a5.5 5.5 0 1 0 .01 0z",
    opt_state: "M8 1.5 13.6 4.75v6.5L8 14.5 2.4 11.25v-6.5z",
    rng: "M8 1.5 14.5 8 8 14.5 1.5 8z",
  };

  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

  function html(name, style, ...children) {
    const element = document.createElement(name);
    if (style) element.className = style.replace(/\S+/g, "hs-history-$&");
    element.append(...children);
    return element;
  }

  function svg(name, attributes, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  const short = (number) => (number && Math.abs(number) < 1e-4 ? number.toExponential() : String(number));

  // a column of equal entries is written once
  const at = (column, record) => column[column.length === 1 ? 0 : record];

  function build(root) {
    const data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
    const base = (tag) => tag?.split(/[-_]/)[0];
    const here = base(root.closest("[lang]")?.lang);
    const language = Object.keys(data.labels).find((tag) => base(tag) === here) ?? "en";
    const labels = data.labels[language];
    const label = (name, values = {}) => fill(labels[name], values);
    const updates = new Set(); // what shows a record, for the parts that are unfolded
    const { count, leaves } = data;
    let shown = count - 1;

    // --- one leaf ---

    function curve(leaf) {
      const means = Array.from({ length: count }, (_, i) => at(leaf.mean, i));
      const known = means.filter((mean) => mean !== null);
      const x = (i) => (count > 1 ? 4 + (112 * i) / (count - 1) : 60);
      const mark = svg("line", { class: "hs-history-mark", y1: 1, y2: 31 });
      const dot = svg("circle", { class: "hs-history-dot", r: 2.5 });
      const drawing = svg("svg", { class: "hs-history-curve", viewBox: "0 0 120 32", role: "img" });
      let y = () => 16;
      if (known.length) {
        const ends = ["min", "max"].map((name) => means.map((mean, i) => at(leaf[name], i) ?? mean));
        const all = [...known, ...ends.flat().filter((end) => end !== null)];
        const low = Math.min(...all), high = Math.max(...all);
        y = (value) => (high > low ? 28 - (24 * (value - low)) / (high - low) : 16);
        for (const run of runs(means)) {
          const line = (values, indices) => indices.map((i) => `${x(i)} ${y(values[i])}`).join("L");
          const band = `M${line(ends[1], run)}L${line(ends[0], [...run].reverse())}z`;
          drawing.append(svg("path", { class: "hs-history-band", d: band }));
          drawing.append(svg("path", { class: "hs-history-line", d: `M${line(means, run)}` }));
        }
        const [first, last] = [known[0], known[known.length - 1]];
        drawing.setAttribute("aria-label", label("curve", { first: short(first), last: short(last) }));
      } else {
        const changes = means.map((_, i) => i).filter((i) => at(leaf.changed, i));
        const ticks = changes.map((i) => `M${x(i)} 11v10`).join("");
        drawing.append(svg("path", { class: "hs-history-line", d: ticks }));
        drawing.setAttribute("aria-label", label("ticks", { changes: changes.length, count }));
      }
      drawing.append(mark, dot);
      return [drawing, (record) => {
        mark.setAttribute("x1", x(record));
        mark.setAttribute("x2", x(record));
        dot.setAttribute("cx", x(record));
        dot.setAttribute("cy", y(means[record]));
        dot.setAttribute("visibility", means[record] === null ? "hidden" : "visible");
      }];
    }

    function* runs(values) {
      let run = [];
      for (let i = 0; i <= values.length; i++) {
        if (i < values.length && values[i] !== null) run.push(i);
        else if (run.length) { yield run; run = []; }
      }
    }

    function strip(leaf, record) {
      const levels = at(leaf.strip, record);
      const drawing = svg("svg", {
        class: "hs-history-strip", viewBox: `0 0 ${levels.length} 1`, preserveAspectRatio: "none", role: "img",
        "aria-label": label("strip", { min: short(leaf.range[0]), max: short(leaf.range[1]) }),
      });
      [...levels].forEach((level, i) => drawing.append(level === "."
        ? svg("path", { class: "hs-history-bad", d: `M${i} 0l1 1m0-1l-1 1` })
        : svg("rect", { x: i, width: 1, height: 1, "fill-opacity": 0.06 + (0.94 * LEVELS.indexOf(level)) / 63 })));
      return drawing;
    }

    function value(leaf, record) {
      if (at(leaf.type, record) === null) return [html("span", "muted", label("absent"))];
      const values = at(leaf.values, record);
      if (at(leaf.type, record) === "None") return [html("code", "", "None")];
      if (values) {
        const before = record ? at(leaf.values, record - 1) : null;
        const elements = values.flatMap((text, i) => {
          const isNew = before && before.length === values.length && values.length > 1 && before[i] !== text;
          return [isNew ? html("b", "new", text) : text, " "];
        });
        return [values.length ? html("code", "", ...elements) : html("span", "muted", label("blank"))];
      }
      const numbers = html("div", "numbers");
      for (const name of ["mean", "std", "min", "max"]) {
        const number = at(leaf[name], record);
        if (number !== null) numbers.append(html("span", "", html("span", "muted", label(name)), ` ${short(number)}`));
      }
      for (const [name, shown] of [["nan", "NaN"], ["inf", "Inf"]]) {
        const number = at(leaf[name], record);
        if (number) numbers.append(html("span", "broken", `${shown} ${number}`));
      }
      return at(leaf.strip, record) ? [numbers, strip(leaf, record)] : [numbers];
    }

    function change(leaf, record) {
      if (at(leaf.type, record) === null) return "";
      if (at(leaf.changed, record) === null) return label("first");
      if (!at(leaf.changed, record)) return label("unchanged");
      if (at(leaf.retyped, record)) return label("retyped");
      const norm = at(leaf.change, record);
      return norm ? label("moved", { norm: short(norm) }) : label("changed");
    }

    function row(node, level) {
      const leaf = node.leaf;
      const type = html("span", "type"), shows = html("div", "value"), changes = html("div", "change");
      const [drawing, move] = curve(leaf);
      const name = html("div", "name", ...(level ? [] : shape(leaf.kind)), html("code", "", node.name), type);
      const item = html("li", `leaf ${leaf.kind}`, name, shows, html("div", "plot", drawing), changes);
      return [item, (record) => {
        type.textContent = at(leaf.type, record) ?? "";
        shows.replaceChildren(...value(leaf, record));
        changes.textContent = change(leaf, record);
        item.classList.toggle("hs-history-moved", Boolean(at(leaf.changed, record)));
        move(record);
      }];
    }

    // --- the tree ---

    function tree() {
      const top = { children: new Map() };
      for (const leaf of leaves) {
        let node = top;
        for (const name of leaf.path) {
          if (!node.children.has(name)) node.children.set(name, { name, children: new Map(), leaves: [] });
          node = node.children.get(name);
          node.leaves.push(leaf);
        }
        node.leaf = leaf;
      }
      const joined = (node) => { // a chain of single children becomes one line
        node.children = [...node.children.values()].map(joined);
        if (node.children.length !== 1) return node;
        const [child] = node.children;
        return { ...child, name: `${node.name} › ${child.name}` };
      };
      return [...top.children.values()].map((node) => {
        node.children = [...node.children.values()].map(joined);
        return node;
      });
    }

    function list(nodes, level) {
      const parts = nodes.map((node) => (node.children.length ? group(node, level) : row(node, level)));
      return [html("ul", "list", ...parts.map(([item]) => item)), (record) => parts.forEach(([, show]) => show(record))];
    }

    function group(node, level) {
      const counts = html("span", "muted");
      const kind = node.leaves[0].kind;
      const summary = html("summary", "", ...(level ? [] : shape(kind)), html("code", "", node.name));
      if (!level && language !== "en" && labels[kind]) summary.append(html("span", "", labels[kind]));
      summary.append(counts);
      const details = html("details", `group ${kind}`, summary);
      let showInside = null; // the rows are made when they are first unfolded
      const show = (record) => {
        const changed = node.leaves.filter((leaf) => at(leaf.changed, record)).length;
        counts.textContent = record
          ? label("group", { changed, total: node.leaves.length })
          : label("leaves", { total: node.leaves.length });
        if (details.open) unfold(record);
      };
      const unfold = (record) => {
        if (!showInside) {
          const [inside, showList] = list(node.children, level + 1);
          details.append(inside);
          showInside = showList;
        }
        showInside(record);
      };
      details.open = node.leaves.length <= OPEN[Math.min(level, 1)];
      details.addEventListener("toggle", () => details.open && unfold(shown));
      return [html("li", "", details), show];
    }

    function shape(kind) {
      if (!SHAPES[kind]) return [];
      const path = svg("path", { d: SHAPES[kind], class: "hs-history-shape" });
      return [svg("svg", { class: "hs-history-kind", viewBox: "0 0 16 16", "aria-hidden": "true" }, path)];
    }

    // --- the controls ---

    const slider = html("input", "slider");
    Object.assign(slider, { type: "range", min: 0, max: count - 1, step: 1, value: shown });
    slider.setAttribute("aria-label", label("slider"));
    const button = html("button", "play");
    button.type = "button";
    const position = html("output", "position");
    const changes = html("p", "summary");
    const [items, showItems] = list(tree(), 0);
    let timer = null;

    function show(record) {
      shown = record;
      slider.value = record;
      const where = label("position", { index: record + 1, count });
      const step = data.steps && label("step", { step: data.steps[record] });
      position.replaceChildren(...(step ? [html("b", "", step), " ", html("span", "muted", where)] : [html("b", "", where)]));
      const changed = leaves.filter((leaf) => at(leaf.changed, record)).length;
      changes.textContent = record ? label("summary", { changed, total: leaves.length }) : label("start");
      slider.setAttribute("aria-valuetext", [step, where, changes.textContent].filter(Boolean).join(", "));
      showItems(record);
    }

    function play(isPlaying) {
      clearInterval(timer);
      timer = isPlaying ? setInterval(advance, PAUSE) : null;
      const icon = svg("path", { d: isPlaying ? "M3 2h4v12H3zM9 2h4v12H9z" : "M3 1.5v13L14 8z" });
      button.replaceChildren(svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, icon), label(isPlaying ? "pause" : "play"));
    }

    function advance() {
      if (root.isConnected && shown < count - 1) show(shown + 1);
      if (!root.isConnected || shown === count - 1) play(false);
    }

    slider.addEventListener("input", () => { play(false); show(Number(slider.value)); });
    button.addEventListener("click", () => {
      if (timer === null && shown === count - 1) show(0);
      play(timer === null);
    });
    button.disabled = slider.disabled = count === 1;
    play(false);
    show(shown);

    const view = html("div", "view", html("div", "controls", button, slider, position), changes, items, html("p", "legend", label("legend")));
    view.lang = language;
    view.setAttribute("role", "group");
    view.setAttribute("aria-label", label("title"));
    root.append(view);
    root.dataset.ready = "";
  }

  document.querySelectorAll(".hs-history:not([data-ready])").forEach((root) => {
    if (root.querySelector("script[type='application/json']")) build(root);
  });
})();

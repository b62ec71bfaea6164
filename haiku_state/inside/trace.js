// The stepper of a recorded trace: left the Python source, right the program as it is written.
(() => {
  "use strict";
  const html = (name, style, ...children) => {
    const element = document.createElement(name);
    if (style) element.className = style.replace(/\S+/g, "hs-trace-$&");
    element.append(...children);
    return element;
  };

  function build(root) {
    const data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
    const list = root.querySelector("ol");
    const base = (tag) => tag?.split(/[-_]/)[0];
    const here = base(root.closest("[lang]")?.lang);
    const language = Object.keys(data.labels).find((tag) => base(tag) === here) ?? "en";
    const label = data.labels[language];
    const sentences = [...list.children].map(
      (item) => item.querySelector(`.hs-trace-said [lang="${language}"]`)?.textContent ?? label.line,
    );
    const { steps, sources, programs } = data;
    let shown = 0;

    const button = (text, name, to) => {
      const element = html("button", "", text);
      element.type = "button";
      element.setAttribute("aria-label", name);
      element.addEventListener("click", () => show(to()));
      return element;
    };
    // where this call begins, or the one before
    const behind = () => {
      const other = steps[shown][0] - (shown > 0 && steps[shown - 1][0] !== steps[shown][0]);
      return steps.findIndex((step) => step[0] === other);
    };
    // where the next call begins, or the end of the last one
    const ahead = () => {
      const found = steps.findIndex((step, at) => at > shown && step[0] !== steps[shown][0]);
      return found < 0 ? steps.length - 1 : found;
    };
    const back = button("←", label.back, () => shown - 1);
    const next = button("→", label.next, () => shown + 1);
    const skip = button("⇥", label.call, ahead);
    const where = html("span", "where"), say = html("p", "say");
    say.setAttribute("aria-live", "polite");
    // none of these elements has a style in the themes that it may stand in
    const code = html("div", "code"), program = html("div", "code"), names = html("div", "names");
    for (const [element, name] of [[code, label.python], [program, label.program]]) {
      element.tabIndex = 0;
      element.setAttribute("role", "group"); // a region would be a landmark of the page
      element.setAttribute("aria-label", name);
    }
    const part = (title, ...children) => html("section", "", html("div", "title", title), ...children);
    const stepper = html(
      "div", "stepper",
      html("header", "", html("strong", "", data.name), where, html("span", "buttons", back, next, skip)),
      say,
      html("div", "columns", part(label.python, code), part(label.program, program)),
      names,
    );

    function lines(into, texts, style) {
      into.replaceChildren(...texts.map((text, index) => html("span", style(index), text || " ")));
    }

    function show(index) {
      shown = Math.max(0, Math.min(steps.length - 1, index));
      const [call, source, line, number, written, values, printed] = steps[shown];
      // where Python does not run, the source that it ran last is grey
      const last = source ?? steps.slice(0, shown).findLast((step) => step[1] !== null)?.[1] ?? 0;
      const known = number === null ? [] : programs[number].slice(0, written);
      const before = steps[shown - 1];
      const old = before?.[3] === number ? before[4] : 0;
      lines(code, sources[last] ?? [], (at) => (source === null ? "off" : at === line ? "on" : ""));
      lines(program, known, (at) => (source === null ? "on" : at >= old ? "new" : ""));
      say.textContent = sentences[shown];
      const entry = (name, isTracer, ...text) =>
        html("div", "", html("b", "", name), html("span", isTracer ? "tracer" : "", ...text));
      const returned = steps.slice(0, shown + 1).map((step) => step[7]).filter(Boolean);
      names.replaceChildren(
        ...values.map(([name, text, isTracer]) =>
          entry(name, isTracer, text, ...(isTracer ? [html("small", "", label.tracer)] : []))),
        ...(printed ? [entry(label.printed, 0, printed.trim())] : []),
        ...(returned.length ? [entry(label.returned, 0, returned.join("; "))] : []),
      );
      const numbers = { call, index: shown + 1, count: steps.length };
      where.textContent = label.step.replace(/\{(\w+)\}/g, (_, name) => numbers[name]);
      // a button that were disabled would lose the focus, and with it the keys
      back.ariaDisabled = String(shown === 0);
      next.ariaDisabled = skip.ariaDisabled = String(shown === steps.length - 1);
      reveal(code, code.querySelector(".hs-trace-on"));
      reveal(program, [...program.querySelectorAll(".hs-trace-new")].at(-1));
    }

    // scrolls a box, and not the page, under whose buttons the mouse is
    function reveal(box, line) {
      if (!line) return;
      const below = line.offsetTop + line.offsetHeight - box.clientHeight;
      box.scrollTop = Math.min(Math.max(box.scrollTop, below), line.offsetTop);
    }

    stepper.addEventListener("keydown", (event) => {
      const box = event.target;
      const scrolls = { Arrow: box.scrollWidth > box.clientWidth, Page: box.scrollHeight > box.clientHeight };
      if (box.tabIndex === 0 && box.role === "group" && scrolls[event.key.match(/Arrow|Page/)?.[0]]) return;
      const to = {
        ArrowLeft: shown - 1, ArrowRight: shown + 1, PageUp: behind(), PageDown: ahead(), Home: 0, End: Infinity,
      }[event.key];
      if (to !== undefined && !event.altKey && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        show(to);
      }
    });
    list.hidden = true;
    root.append(stepper);
    show(0);
  }

  for (const root of document.querySelectorAll(".hs-trace")) {
    if (!root.querySelector(".hs-trace-stepper")) build(root);
  }
})();

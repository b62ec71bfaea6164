// What a term means: on hover, on focus, at a first tap. Without this, its link leads to the glossary.
(() => {
  let tip, shown, tapped, timer;

  function make() {
    tip = document.createElement("div");
    Object.assign(tip, { id: "hs-tip", className: "hs-tip", role: "tooltip", popover: "manual" });
    document.body.append(tip);
  }

  // the other language's term, then the meaning, whose code stands between backticks
  function fill(link) {
    const term = document.createElement("strong");
    term.lang = link.dataset.language;
    term.textContent = link.dataset.other;
    const pieces = link.dataset.meaning.split("`").map((text, number) => {
      if (number % 2 === 0) return text;
      const code = document.createElement("code");
      code.textContent = text;
      return code;
    });
    tip.replaceChildren(term, document.createElement("br"), ...pieces);
  }

  function show(link) {
    clearTimeout(timer);
    if (shown === link) return;
    hide();
    if (!tip) make();
    fill(link);
    tip.hidden = false;
    tip.showPopover?.();
    const word = link.getClientRects()[0];
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const below = word.bottom + tip.offsetHeight + 8 < innerHeight;
    tip.style.left = `${Math.max(8, Math.min(word.left, room)) + scrollX}px`;
    tip.style.top = `${(below ? word.bottom + 4 : word.top - tip.offsetHeight - 4) + scrollY}px`;
    link.setAttribute("aria-describedby", tip.id);
    shown = link;
  }

  function hide() {
    clearTimeout(timer);
    if (!shown) return;
    shown.removeAttribute("aria-describedby");
    tip.hidePopover?.();
    tip.hidden = true;
    shown = null;
  }

  const later = (what, milliseconds) => {
    clearTimeout(timer);
    timer = setTimeout(what, milliseconds);
  };
  const termAt = (event) => event.target.closest?.("a.hs-term");

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const link = termAt(event);
    if (link) later(() => show(link), 120);
    else if (event.target.closest?.("#hs-tip")) clearTimeout(timer);
    else if (document.activeElement !== shown) later(hide, 250);
  });
  document.addEventListener("focusin", (event) => {
    const link = termAt(event);
    if (link) show(link);
    else hide();
  });
  document.addEventListener("focusout", (event) => { if (termAt(event)) hide(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  // a finger cannot hover: its first tap shows the meaning, its second follows the link
  document.addEventListener("pointerdown", (event) => {
    const link = termAt(event);
    tapped = event.pointerType === "touch" && link !== shown ? link : null;
    if (!link && !event.target.closest?.("#hs-tip")) hide();
  });
  document.addEventListener("click", (event) => {
    const link = termAt(event);
    if (!link || link !== tapped) return;
    event.preventDefault();
    show(link);
  });
})();

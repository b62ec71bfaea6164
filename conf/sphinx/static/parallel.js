// The same paragraph in the other language: below it on demand, or beside it on the whole page.
// What the other language says is loaded with the first wish, as a script: that works from a disk too.
(() => {
  const KEY = "haiku_state.parallel";
  const bar = document.querySelector(".hs-parallel");
  const blocks = [...document.querySelectorAll("[data-pair]")];
  if (!bar || !blocks.length) return;
  const choice = bar.querySelector("select");
  // the language that was chosen last (languages.js), or else the first
  const others = JSON.parse(bar.dataset.others);
  let [tag] = Object.keys(others);
  try {
    const last = localStorage.getItem("haiku_state.language");
    if (last in others) tag = last;
  } catch {} // where storage is forbidden
  const [address, short] = others[tag];
  const { show } = bar.dataset;
  let loading;

  const load = () => (loading ??= new Promise((done, failed) => {
    window.haikuStateOther = done;
    const script = Object.assign(document.createElement("script"), { src: address, onerror: failed });
    document.head.append(script);
  }));

  // a heading's other language is not a second heading
  function other(block, texts) {
    const element = document.createElement(block.matches("p") ? "p" : "div");
    element.className = "hs-other";
    element.lang = tag;
    element.innerHTML = texts[block.dataset.pair];
    return element;
  }

  function button(block, texts) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "hs-show", textContent: short, ariaLabel: show });
    button.ariaExpanded = false;
    button.addEventListener("click", () => {
      const isOpen = button.ariaExpanded === "true";
      if (isOpen) block.nextElementSibling.remove();
      else block.after(other(block, texts));
      button.ariaExpanded = !isOpen;
    });
    const link = block.querySelector(":scope > .headerlink");
    if (link) link.before(" ", button);
    else block.append(" ", button);
  }

  function beside(block, texts) {
    const pair = document.createElement("div");
    pair.className = "hs-pair";
    block.replaceWith(pair);
    pair.append(block, other(block, texts));
  }

  function remove() {
    document.documentElement.classList.remove("hs-beside");
    for (const each of document.querySelectorAll(".hs-show")) {
      each.previousSibling.remove(); // the space
      each.remove();
    }
    for (const each of document.querySelectorAll(".hs-other[lang]")) each.remove();
    for (const pair of document.querySelectorAll(".hs-pair")) pair.replaceWith(...pair.childNodes);
  }

  async function apply() {
    const wish = choice.value;
    const texts = wish === "none" ? {} : await load();
    if (wish !== choice.value) return; // another one has been made meanwhile
    // what the reader looks at stays where it is
    const seen = blocks.find((block) => block.getBoundingClientRect().top >= 0);
    const top = seen?.getBoundingClientRect().top;
    remove();
    if (wish === "each") for (const block of blocks) button(block, texts);
    if (wish === "all") {
      document.documentElement.classList.add("hs-beside");
      for (const block of blocks) beside(block, texts);
    }
    if (scrollY) scrollBy({ top: seen.getBoundingClientRect().top - top, behavior: "instant" });
  }

  try {
    choice.value = localStorage.getItem(KEY) ?? "none";
  } catch {} // where storage is forbidden
  choice.addEventListener("change", () => {
    try {
      localStorage.setItem(KEY, choice.value);
    } catch {}
    apply();
  });
  bar.hidden = false;
  if (choice.value !== "none") apply();
})();

// The same paragraph in another language: below it on demand, or beside it on the whole page.
// What the other language says is loaded with the first wish, as a script: that works from a disk too.
(() => {
  const KEY = "haiku_state.parallel";
  // the theme has two headers, of which it shows the one that fits
  const bars = [...document.querySelectorAll(".hs-parallel")];
  const blocks = [...document.querySelectorAll("[data-pair]")];
  if (!bars.length || !blocks.length) return;
  const [choice, which] = bars[0].querySelectorAll("select");
  const languages = JSON.parse(bars[0].dataset.languages);
  const loading = new Map();
  const chosen = () => languages[which?.selectedIndex ?? 0];

  // one after the other: each script calls the same function
  const load = async ({ address }) => {
    if (!loading.has(address)) loading.set(address, [...loading.values()].at(-1)?.catch(() => {}).then(() => fetched(address)) ?? fetched(address));
    return loading.get(address);
  };
  const fetched = (address) => new Promise((done, failed) => {
    window.haikuStateOther = done;
    const script = Object.assign(document.createElement("script"), { src: address, onerror: failed });
    document.head.append(script);
  });

  // a heading's other language is not a second heading
  function other(block, texts) {
    const element = document.createElement(block.matches("p") ? "p" : "div");
    element.className = "hs-other";
    element.lang = chosen().tag;
    element.innerHTML = texts[block.dataset.pair];
    return element;
  }

  function button(block, texts) {
    const { mark, show } = chosen();
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "hs-show", textContent: mark, ariaLabel: show });
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
    const language = chosen();
    const texts = wish === "none" ? {} : await load(language);
    if (wish !== choice.value || language !== chosen()) return; // another one has been made meanwhile
    // what the reader looks at stays where it is
    const seen = blocks.map((block) => [block, block.getBoundingClientRect()])
      .find(([, { top, height }]) => height && top >= 0)?.[0]; // what is folded has no height
    const top = seen?.getBoundingClientRect().top;
    remove();
    const told = blocks.filter((block) => block.dataset.pair in texts);
    if (wish === "each") for (const block of told) button(block, texts);
    if (wish === "all") {
      document.documentElement.classList.add("hs-beside");
      for (const block of told) beside(block, texts);
    }
    if (scrollY && seen) scrollBy({ top: seen.getBoundingClientRect().top - top, behavior: "instant" });
  }

  try {
    choice.value = localStorage.getItem(KEY) ?? "none";
    const last = languages.findIndex(({ tag }) => tag === localStorage.getItem(`${KEY}.language`));
    if (which) which.selectedIndex = Math.max(0, last);
  } catch {} // where storage is forbidden
  const show = () => {
    for (const bar of bars) {
      const [same, sameLanguage] = bar.querySelectorAll("select");
      same.value = choice.value;
      if (which) sameLanguage.selectedIndex = which.selectedIndex;
    }
  };
  for (const bar of bars) {
    bar.addEventListener("change", () => {
      const [mine, myLanguage] = bar.querySelectorAll("select");
      choice.value = mine.value;
      if (which) which.selectedIndex = myLanguage.selectedIndex;
      show();
      try {
        localStorage.setItem(KEY, choice.value);
        if (which) localStorage.setItem(`${KEY}.language`, languages[which.selectedIndex].tag);
      } catch {}
      apply();
    });
    document.addEventListener("click", ({ target }) => {
      if (!bar.contains(target)) bar.open = false;
    });
    bar.addEventListener("keydown", ({ key }) => {
      if (key !== "Escape") return;
      bar.open = false;
      bar.firstElementChild.focus();
    });
    bar.hidden = false;
  }
  show();
  if (choice.value !== "none") apply();
})();

// The search as the reader sees it: results as they type, and keys to go through them.
(() => {
  const input = document.querySelector(".hs-search input");
  const form = input.form;
  const list = document.getElementById("hs-found");
  const status = document.querySelector(".hs-search-status");
  const shown = input.closest("dialog") ? 8 : 30; // pages
  let options = [];
  let chosen = -1;
  let turn = 0;
  let shownFor;

  const element = (name, attributes, ...content) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...content);
    return made;
  };
  const marked = (text, marks) =>
    siteSearch.split(text, marks).map(([part, found]) => (found ? element("mark", {}, part) : part));

  function option({ place, marks }, number) {
    const address = new URL(`${list.dataset.root}${place.page}.html`, location.href);
    for (const mark of marks.slice(0, 6)) address.searchParams.append("highlight", mark);
    address.hash = place.anchor;
    const name = element("span", { class: "hs-place" }, ...marked(place.heading, marks));
    const excerpt = element("span", { class: "hs-excerpt" }, ...marked(siteSearch.excerpt(place, marks), marks));
    return element("a", { role: "option", id: `hs-found-${number}`, href: address, tabindex: "-1" }, name, excerpt);
  }

  /** The first pages with their best place each, to be seen at once; their other places come next. */
  function listed(groups) {
    const pages = groups.slice(0, shown);
    const cut = (...range) => pages.slice(0, 3).map((group) => ({ ...group, hits: group.hits.slice(...range) }));
    return [...cut(0, 1), ...cut(1).filter(({ hits }) => hits.length), ...pages.slice(3)];
  }

  function show(query, groups) {
    shownFor = query;
    list.replaceChildren();
    options = [];
    listed(groups).forEach(({ title, part, hits }, i) => {
      const label = element("div", { class: "hs-page", id: `hs-page-${i}`, role: "presentation" }, title);
      if (part && part !== title) label.append(element("span", { class: "hs-part" }, ` ${part}`));
      const found = hits.map((hit) => option(hit, options.push(null)));
      options.splice(-found.length, found.length, ...found);
      list.append(element("div", { role: "group", "aria-labelledby": label.id }, label, ...found));
    });
    const { some, none } = status.dataset;
    const text = options.length ? some : none;
    status.textContent = query
      ? text.replace("{places}", options.length).replace("{pages}", Math.min(groups.length, shown)).replace("{query}", query)
      : "";
    input.setAttribute("aria-expanded", String(options.length > 0));
    choose(options.length ? 0 : -1);
  }

  function choose(number) {
    options[chosen]?.removeAttribute("aria-selected");
    chosen = number;
    const option = options[chosen];
    if (!option) return input.removeAttribute("aria-activedescendant");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", option.id);
  }

  async function search() {
    const mine = ++turn;
    const query = input.value.trim();
    const groups = query ? await siteSearch.search(query) : [];
    if (mine === turn) show(query, groups);
  }

  const STEPS = { ArrowDown: 1, ArrowUp: -1 };
  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => {
    if (event.isComposing || !options.length || !(event.key in STEPS)) return;
    event.preventDefault();
    choose((chosen + STEPS[event.key] + options.length) % options.length);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (shownFor !== input.value.trim()) await search(); // Enter was faster
    options[chosen]?.click();
  });

  input.value ||= new URLSearchParams(location.search).get("q") ?? "";
  search();
})();

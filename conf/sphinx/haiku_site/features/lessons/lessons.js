// Which lessons were read is remembered in this browser alone, and marked in the sidebar and on the
// course map. A lesson has the same name in both languages.
(() => {
  const KEY = "haiku_state.read";
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href).pathname;
  const nameOf = (address) => {
    const { pathname } = new URL(address, location.href);
    return pathname.startsWith(root) ? pathname.slice(root.length).replace(/\.html$/, "") : "";
  };
  const here = nameOf(location.href);

  // where a browser forbids storage, nothing is remembered, and everything else works
  function load() {
    try {
      return new Set(JSON.parse(localStorage.getItem(KEY)));
    } catch {
      return new Set();
    }
  }
  function remember(isRead) {
    const read = load();
    if (isRead) read.add(here);
    else read.delete(here);
    try {
      localStorage.setItem(KEY, JSON.stringify([...read]));
    } catch {}
    show();
  }

  function mark(link, isRead, word) {
    link.closest("li").classList.toggle("hs-read", isRead);
    link.querySelector(".visually-hidden")?.remove();
    if (!isRead) return;
    const note = document.createElement("span");
    note.className = "visually-hidden";
    note.textContent = ` (${word})`;
    link.append(note);
  }

  // who has read the first lesson goes on from the home page with the next one
  const start = document.querySelector(".hs-buttons a");
  const first = start && { href: start.href, children: [...start.childNodes] };
  function lead(map, next) {
    if (!next || next.href === first.href) {
      start.href = first.href;
      start.replaceChildren(...first.children);
      return;
    }
    const time = document.createElement("span");
    time.className = "hs-count";
    time.textContent = next.closest("li").querySelector(".hs-time").textContent;
    const text = map.dataset.go.replace("{number}", next.querySelector(".hs-number").textContent);
    start.href = next.href;
    start.replaceChildren(text, " ", time);
  }

  function show() {
    const read = load();
    for (const list of document.querySelectorAll(".hs-progress")) {
      const lessons = [...list.querySelectorAll(".hs-number")].map((number) => number.closest("a"));
      for (const link of lessons) mark(link, read.has(nameOf(link.href)), list.dataset.read);
      list.querySelector(".hs-next")?.classList.remove("hs-next");
      const next = lessons.find((link) => !read.has(nameOf(link.href)));
      next?.closest("li").classList.add("hs-next");
      if (start && list.dataset.go) lead(list, next);
    }
    for (const box of document.querySelectorAll(".hs-mark input")) box.checked = read.has(here);
  }

  for (const box of document.querySelectorAll(".hs-mark input")) {
    box.closest(".hs-mark").hidden = false;
    box.addEventListener("change", () => remember(box.checked));
  }
  // whoever goes on from a lesson's end has read it
  document.querySelector(".hs-go")?.addEventListener("click", () => remember(true));
  addEventListener("pageshow", show);
  addEventListener("storage", show);
  show();
})();

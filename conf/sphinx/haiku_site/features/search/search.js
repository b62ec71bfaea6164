// Loads the search when somebody opens it, and marks on a page what was searched for.
(() => {
  const here = new URL(".", document.currentScript.src);
  const SCRIPTS = ["minisearch/minisearch.js", "search-index.js", "search-engine.js", "search-box.js"];
  const input = document.querySelector(".hs-search input");
  const dialog = input?.closest("dialog");

  function load() {
    const status = document.querySelector(".hs-search-status");
    status.textContent = status.dataset.loading;
    for (const name of SCRIPTS) {
      const script = document.createElement("script");
      script.src = new URL(name, here);
      script.async = false; // in this order
      document.head.append(script);
    }
  }
  // the theme opens the dialog, by its button and by Ctrl+K, and the browser gives the input the focus
  input?.addEventListener("focus", load, { once: true });
  // what is pasted into a page's own box is searched for; of a traceback, what its last line begins
  const ask = document.querySelector(".hs-ask textarea");
  ask?.addEventListener("input", () => {
    if (!ask.value.trim()) return;
    const lines = ask.value.trim().split(/\s*\n/);
    const begins = lines.findLastIndex((line) => /^[\w.]*(Error|Exception|Warning)\b/.test(line));
    input.value = lines.slice(Math.max(begins, 0)).join(" ");
    ask.value = "";
    dialog.showModal();
    input.focus();
    input.dispatchEvent(new Event("input"));
  });
  if (input && !dialog) input.focus();

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") globalThis.CSS?.highlights?.delete("hs-searched");
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (dialog && !dialog.open) dialog.showModal();
    input?.focus();
  });

  const words = new URLSearchParams(location.search).getAll("highlight");
  // in the section that was found: a whole page of marked words shows nothing
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const article = target?.closest("section, dl.py") ?? document.querySelector(".bd-article");
  if (!words.length || !article || !globalThis.CSS?.highlights) return;
  const found = new Highlight();
  const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode.data.toLowerCase();
    for (const word of words)
      for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
        const range = new Range();
        range.setStart(texts.currentNode, at);
        range.setEnd(texts.currentNode, at + word.length);
        found.add(range);
      }
  }
  CSS.highlights.set("hs-searched", found);
})();

// Shows the exercises of one kind and level, and remembers in this browser which were passed.
(() => {
  const KEY = "haiku_state.passed";
  const cards = [...document.querySelectorAll(".hs-exercise")];
  const form = document.querySelector(".hs-filters");

  // where a browser forbids storage, nothing is remembered, and everything else works
  function load() {
    try {
      return new Set(JSON.parse(localStorage.getItem(KEY)));
    } catch {
      return new Set();
    }
  }
  function show() {
    const passed = load();
    const wanted = [...form.querySelectorAll("select")].map(({ value }) => value).filter(Boolean);
    for (const card of cards) {
      card.hidden = !wanted.every((name) => card.classList.contains(`hs-is-${name}`));
      card.classList.toggle("hs-passed", passed.has(card.id));
      card.querySelector(".hs-done input").checked = passed.has(card.id);
    }
    for (const part of new Set(cards.map((card) => card.parentElement))) {
      part.hidden = !part.querySelector(".hs-exercise:not([hidden])");
    }
    const seen = cards.filter((card) => !card.hidden);
    const done = seen.filter((card) => passed.has(card.id));
    form.querySelector("output").textContent = `✓ ${done.length} / ${seen.length}`;
  }

  form.hidden = false;
  form.addEventListener("change", show);
  for (const card of cards) {
    const box = card.querySelector(".hs-done");
    box.hidden = false;
    box.addEventListener("change", ({ target }) => {
      const passed = load();
      if (target.checked) passed.add(card.id);
      else passed.delete(card.id);
      try {
        localStorage.setItem(KEY, JSON.stringify([...passed]));
      } catch {}
      show();
    });
  }
  addEventListener("pageshow", show);
  addEventListener("storage", show);
  addEventListener("hashchange", () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target?.closest("[hidden]")) form.reset();
    show();
  });
  show();
})();

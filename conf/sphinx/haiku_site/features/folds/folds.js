// A link to what is folded unfolds it. Paper is light whatever the theme is, and shows all cards.
(() => {
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const card = target?.closest("section")?.querySelector(":scope > details");
    const folds = [card, target?.closest("details")].filter((fold) => fold && !fold.open);
    for (const fold of folds) fold.open = true;
    if (folds.length) target.scrollIntoView({ behavior: "instant" });
  };
  addEventListener("hashchange", unfold);
  unfold();
  // the theme makes a tab stop of what scrolls when the window's size changes
  addEventListener("toggle", () => dispatchEvent(new Event("resize")), true);

  const root = document.documentElement;
  let theme;
  addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
    for (const card of document.querySelectorAll(".hs-card > details:not([open])")) {
      card.open = true;
      addEventListener("afterprint", () => { card.open = false; }, { once: true });
    }
  });
  addEventListener("afterprint", () => { root.dataset.theme = theme; });
})();

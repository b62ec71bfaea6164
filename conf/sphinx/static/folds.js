// Paper is light whatever the theme is, and has the answers of the questions.
{
  const root = document.documentElement;
  let theme;
  addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
    for (const answer of document.querySelectorAll("details.answer:not([open])")) {
      answer.open = true;
      addEventListener("afterprint", () => { answer.open = false; }, { once: true });
    }
  });
  addEventListener("afterprint", () => { root.dataset.theme = theme; });
}

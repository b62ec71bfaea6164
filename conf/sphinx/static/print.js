// Paper is light whatever the theme is, and only a long cell may break over two pages.
{
  const root = document.documentElement;
  let theme;
  addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
    for (const cell of document.querySelectorAll(".bd-article .cell")) {
      const lines = [...cell.querySelectorAll("pre")].map((pre) => pre.textContent.trim().split("\n").length);
      cell.classList.toggle("hs-long", lines.reduce((sum, n) => sum + n, 0) >= 25);
    }
  });
  addEventListener("afterprint", () => { root.dataset.theme = theme; });
}

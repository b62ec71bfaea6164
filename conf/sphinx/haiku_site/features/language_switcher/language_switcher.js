// The other language's link leads to the same place of the same page: section and search query.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a.language-switcher");
  if (!link) return;
  try {
    localStorage.setItem("haiku_state.language", link.lang); // for the root, which chooses one
  } catch {} // where storage is forbidden
  const target = new URL(link.getAttribute("href"), location.href);
  target.hash = location.hash;
  const typed = document.querySelector(".bd-search-container input")?.value;
  const query = typed ?? new URLSearchParams(location.search).get("q");
  if (query) target.search = new URLSearchParams({ q: query });
  link.href = target.href;
});

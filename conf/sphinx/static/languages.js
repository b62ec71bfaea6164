// The other language's link leads to the same place of the same page: section and search query.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a.language-switcher");
  if (!link) return;
  const target = new URL(link.getAttribute("href"), location.href);
  target.hash = location.hash;
  const query = new URLSearchParams(location.search).get("q");
  if (query) target.search = new URLSearchParams({ q: query });
  link.href = target.href;
});

// From a disk no page can be fetched to be quoted among the search results, only be found.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

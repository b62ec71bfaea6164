// The query's side of zh_search.py. Sphinx puts this at the end of language_data.js.

const zhHan = "\\u3005\\u3007\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}";
const zhRun = new RegExp(`[${zhHan}]+|(?:(?![${zhHan}])[\\p{L}\\p{N}_])+`, "gu");
const zhStart = new RegExp(`^[${zhHan}]`, "u");
const zhPhrase = new RegExp(`[${zhHan}]{3,}`, "gu");

// The same terms as split_query of zh_search.py: a test compares the two.
var splitQuery = (query) =>
  (query.toLowerCase().match(zhRun) ?? []).flatMap((run) => {
    const chars = [...run]; // whole characters, also those beyond U+FFFF
    const pairs = zhStart.test(run) ? chars.slice(1).map((char, i) => chars[i] + char) : [];
    return pairs.length ? pairs : [run];
  });

if (typeof Search !== "undefined") {
  // Sphinx requires all terms only of those longer than two characters, so a query such as
  // "pmap 函数" would find pages with either. Each term is looked up alone here, and a page has
  // to be among the hits of all; it scores as its weakest term does.
  const findTerm = Search.performTermsSearch;
  Search.performTermsSearch = (terms, excluded) => {
    const hits = [...terms].map(
      (term) => new Map(findTerm(new Set([term]), excluded).map((hit) => [hit[0], hit])),
    );
    return [...(hits[0] ?? new Map()).keys()]
      .filter((page) => hits.every((pages) => pages.has(page)))
      .map((page) => hits.map((pages) => pages.get(page)).reduce((a, b) => (a[4] < b[4] ? a : b)));
  };

  // Highlight 纯函数 as a whole, and quote the page where it stands, before its pairs.
  let phrases = [];
  const parseQuery = Search._parseQuery;
  Search._parseQuery = (query) => {
    const parsed = parseQuery(query);
    phrases = query.match(zhPhrase) ?? [];
    parsed[3] = new Set([...phrases, ...parsed[3]]);
    return parsed;
  };
  const makeSummary = Search.makeSearchSummary;
  Search.makeSearchSummary = (html, terms, anchor) =>
    makeSummary(html, [...terms, ...phrases], anchor); // the last one found is quoted

  // A page cannot be fetched, and so not quoted, from a disk: without this, an error for each hit.
  if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// Finds places for a query, with MiniSearch. What it looks through is written by search_index.py.
// How well it finds them: tests/search/evaluate.py.
(() => {
  const HAN = /\p{Script=Han}/u;
  const RUNS = /\p{Script=Han}+|[\p{L}\p{N}_.]+?(?=\p{Script=Han}|[^\p{L}\p{N}_.]|$)/gu;
  const EMPTY = new Set(
    ("a an and are as at be but by can do does for from has have how i if in into is it its my not of on or " +
      "so that the their then there this to use was now what when where which while why will with you your after " +
      "的 了 吗 呢 是 在 里 和 与 把 被 有 都 就 也 还 对 从 用 后 时 中 会 要 去 我 它 这 那 不 没 没有 " +
      "什么 怎么 怎样 怎么办 如何 为什么 哪里 哪个 一个 是否 可以 应该 一直").split(" "),
  );

  const { pages, synonyms, simplified } = globalThis.searchIndex;
  const plain = (text) =>
    [...text.normalize("NFKC")].map((char) => simplified[char] ?? char).join("");
  const low = (text) => plain(text).toLowerCase().replace(/(?<=\p{L})-(?=\p{L})/gu, " ");

  // jax.lax.scan, init_train_state and TrainState are found by each of their words, and as a whole
  const wordsOfName = (name) => {
    const parts = name.split(/[._]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/);
    const last = name.split(".").pop();
    return [name, last, last.replaceAll("_", ""), ...parts].map((word) => word.toLowerCase());
  };
  // Chinese has no spaces between words: every two neighbours are a term
  const pairs = (run) => {
    const chars = [...run];
    return chars.map((char, i) => char + (chars[i + 1] ?? ""));
  };
  const terms = (text) =>
    (plain(text).match(RUNS) ?? []).flatMap((run) =>
      HAN.test(run)
        ? pairs(run)
        : [...new Set(wordsOfName(run.replace(/^\.+|\.+$/g, "")))].filter(Boolean),
    );

  const places = pages.flatMap(([page, found]) =>
    found.map(([anchor, heading, around, text, code, also], i) => ({
      page,
      anchor: i ? anchor : "",
      heading,
      title: found[0][1],
      around,
      text,
      code,
      also,
    })),
  );
  places.forEach((place, id) => (place.id = id));

  const index = new MiniSearch({
    fields: ["heading", "title", "around", "text", "code", "also"],
    tokenize: terms,
    processTerm: (term) => term,
    searchOptions: {
      tokenize: (text) => [text],
      boost: { heading: 4, title: 2, around: 1, text: 1, code: 0.6 },
      bm25: { k: 1.2, b: 0.5, d: 0.5 },
    },
  });

  // A query is a list of ideas: words, or a term of the glossary with its other names.
  const others = new Map();
  for (const group of synonyms)
    for (const word of group.map(low))
      others.set(word, [...new Set([...(others.get(word) ?? []), ...group.map(low)])]);
  const longestFirst = [...others.keys()].sort((a, b) => b.length - a.length);

  const segment = globalThis.Intl?.Segmenter && new Intl.Segmenter("zh", { granularity: "word" });
  const segments = (run) => (segment ? [...segment.segment(run)].map((s) => s.segment) : [run]);

  function ideasOf(query) {
    let rest = plain(query).trim().replace(/(?<=\p{L})-(?=\p{L})/gu, " ");
    const ideas = [];
    const take = (run) => {
      if (HAN.test(run)) {
        for (const word of segments(run))
          ideas.push({ word, names: [], empty: EMPTY.has(word) || [...word].length < 2 });
      } else {
        const word = run.replace(/^\.+|\.+$/g, "");
        if (word) ideas.push({ word, names: [], empty: EMPTY.has(word.toLowerCase()) });
      }
    };
    while (rest) {
      const here = rest.toLowerCase();
      const known = longestFirst.find(
        (word) =>
          here.startsWith(word) && (HAN.test(word) || !/^[\p{L}\p{N}_.]/u.test(here.slice(word.length).replace(/^e?s\b/, ""))),
      );
      if (known) {
        ideas.push({
          word: rest.slice(0, known.length),
          names: others.get(known).filter((word) => word !== known),
          empty: false,
        });
        rest = rest.slice(known.length);
      } else {
        const run = HAN.test(rest[0]) ? untilKnown(rest) : rest.match(/^[\p{L}\p{N}_.]*/u)[0];
        const latin = HAN.test(run) ? run : run.split(/(?=\p{Script=Han})/u)[0];
        if (latin) take(latin);
        rest = rest.slice(latin.length || 1);
      }
    }
    const once = [...new Map(ideas.map((idea) => [idea.word.toLowerCase(), idea])).values()];
    return once.some((idea) => !idea.empty) ? once.filter((idea) => !idea.empty) : once;
  }

  // the Han characters up to the next term of the glossary
  function untilKnown(text) {
    const run = text.match(/^\p{Script=Han}+/u)[0];
    const next = longestFirst.map((word) => run.indexOf(word, 1)).filter((at) => at > 0);
    return next.length ? run.slice(0, Math.min(...next)) : run;
  }

  const stem = (word) => {
    const short = word.replace(/(?:ing|ed|es|s|e)$/, "");
    return short.length > 3 ? short : word;
  };
  const exactly = (term) => ({ queries: [term], prefix: false, fuzzy: false });
  const all = (queries) => ({ combineWith: "AND", queries });
  const any = (queries) => ({ combineWith: "OR", queries });
  const weighted = (queries, weight) => ({ combineWith: "OR", queries, boostTerm: () => weight });

  function lookUp(word, isName) {
    if (HAN.test(word)) {
      const found = pairs(word);
      return found.length > 1
        ? all(found.slice(0, -1).map(exactly))
        : { queries: found, prefix: true, fuzzy: false };
    }
    const whole = word.toLowerCase();
    const ways = [exactly(whole)];
    if (whole.length > 2) ways.push({ queries: [whole], prefix: true, fuzzy: false });
    if (!isName && stem(whole) !== whole) ways.push({ queries: [stem(whole)], prefix: true, fuzzy: false });
    const parts = wordsOfName(word).filter((part) => part && part !== whole && !part.includes("."));
    if (parts.length) ways.push(weighted([all(parts.slice(-2).map(exactly))], 0.8));
    const query = any(ways);
    if (whole.length > 3 && !index.search(query).length)
      return { queries: [whole], prefix: true, fuzzy: whole.length > 5 ? 2 : 1, maxFuzzy: 2 };
    return query;
  }

  const named = (name) => all((name.match(RUNS) ?? []).map((run) => lookUp(run, true)));
  const queryOf = ({ word, names }) => {
    const own = all((word.match(RUNS) ?? []).map((run) => lookUp(run)));
    return names.length ? any([own, weighted(names.map(named), 0.8)]) : own;
  };

  const compact = (text) => low(text).replace(/[^\p{L}\p{N}]/gu, "").replace(/(?<=[a-z]{3})s$/, "");

  // A lesson teaches, the rest reminds.
  const T = {glossary: 0.3, asked: 1.2, owner: 2, exercise: 0.5, gallery: 0.85, api: 0.7, top: 1.3, equal: 3, other: 2, holds: 1.5, held: 1.8, phrase: 1.5, pairs: 1, cover: 2, second: 0.3, third: 0.2, more: 0.1, rec: 1};
  const COLLECTIONS = /^(?:api|reference|exercises)\//;
  const RECURRING = { "further-reading": 0.3, "on-your-own": 0.5, "check-yourself": 0.7, "in-practice": 0.8 };
  function prior({ page, anchor }, asked) {
    if (anchor) {
      if (page === "reference/glossary") return asked ? T.asked : T.glossary;
      if (page === "exercises/index") return T.exercise;
      if (page === "reference/bug_gallery") return T.gallery;
      if (page !== "api/errors" && anchor.includes(".")) return T.api;
    }
    return RECURRING[anchor] ?? (anchor ? 1 : T.top);
  }

  // What the words alone do not tell: the whole query stands here, or its words stand together.
  function closeness(place, wholes, words, owner) {
    const heading = (place.short ??= compact(place.heading));
    const text = (place.near ??= compact(`${place.heading} ${place.text} ${place.also}`));
    const name = place.anchor.includes(".") ? compact(place.heading.split(".").pop()) : heading;
    let factor = owner && place.anchor.includes(".") && name === owner ? T.owner : 1;
    wholes.forEach((whole, i) => {
      const own = i ? T.other : T.equal;
      if (heading === whole || name === whole) factor = Math.max(factor, own);
      else if (whole.endsWith(name) && name.length > 3 && heading.endsWith(whole.replace(/^hs/, ""))) factor = Math.max(factor, own);
      else if (whole.length > 3 && heading.includes(whole)) factor = Math.max(factor, T.holds);
      else if (heading.length > 7 && whole.includes(heading)) factor = Math.max(factor, T.held);
    });
    if (wholes[0].length > 5 && text.includes(wholes[0])) factor *= T.phrase;
    if (words.length > 1) {
      const together = words.slice(1).filter((word, i) => text.includes(words[i] + word));
      factor *= 1 + T.pairs * together.length / (words.length - 1);
    }
    return factor;
  }

  const ready = index.addAllAsync(places, { chunkSize: 60 });

  /** Return pages, best first, each with its best places. */
  async function search(query) {
    await ready;
    const ideas = ideasOf(query);
    const found = new Map();
    let sum = 0;
    for (const idea of ideas) {
      const hits = index.search(queryOf(idea));
      const rarity = Math.log(1 + places.length / (1 + hits.length));
      sum += rarity;
      for (const hit of hits) {
        const known = found.get(hit.id) ?? { place: places[hit.id], score: 0, covered: 0, terms: [] };
        known.score += hit.score;
        known.covered += rarity;
        known.terms.push(...hit.terms);
        found.set(hit.id, known);
      }
    }
    const asked = /^what (?:is|are) |^什么是|是什么|什么意思/i.test(plain(query));
    const wholes = [compact(asked ? query.replace(/^what (?:is|are) (?:an? |the )?|^什么是|是什么.*|什么意思/i, "") : query)];
    const owner = /^[\w.]+\.\w+$/.test(query.trim()) && compact(query.split(".").at(-2));
    if (ideas.length === 1) {
      wholes.push(...ideas[0].names.map(compact));
    }
    const words = (plain(query).match(RUNS) ?? [])
      .flatMap((run) => (HAN.test(run) ? segments(run) : [run]))
      .map(compact);
    for (const hit of found.values())
      hit.score *= (hit.covered / sum) ** T.cover * prior(hit.place, asked) * closeness(hit.place, [...wholes, ...(ideas.length === 1 ? hit.terms : [])], words, owner);
    return grouped([...found.values()], ideas);
  }

  // The words to mark in a place: as they stand there, Chinese ones as long as possible.
  function marksOf({ place, terms }, ideas) {
    const text = low(`${place.heading} ${place.text}`);
    const here = (word) => text.includes(word);
    const runs = ideas.flatMap(({ word, names }) => [low(word), ...names]).filter((word) => HAN.test(word) && here(word));
    const rest = terms.filter((term) => term.length > 1 && !(runs.length && HAN.test(term)) && here(term));
    return [...new Set([...runs, ...rest])].sort((a, b) => b.length - a.length);
  }

  const pattern = (marks) =>
    new RegExp(`(${marks.map((mark) => mark.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "iu");

  /** Cut a text into parts, each with whether it is marked. */
  const split = (text, marks) =>
    marks.length ? text.split(pattern(marks)).map((part, i) => [part, i % 2 === 1]) : [[text, false]];

  /** Return what stands around the first mark. */
  function excerpt({ text }, marks) {
    const at = marks.length ? Math.max(0, text.search(pattern(marks))) : 0;
    const start = at < 60 ? 0 : text.lastIndexOf(" ", at - 40) + 1 || at - 20;
    const part = text.slice(start, start + 160);
    return (start ? "… " : "") + part + (start + 160 < text.length ? " …" : "");
  }

  function grouped(hits, ideas) {
    hits.sort((a, b) => b.score - a.score);
    const groups = new Map();
    for (const hit of hits) {
      const { page } = hit.place;
      if (!groups.has(page)) groups.set(page, { page, title: hit.place.title, hits: [], score: 0 });
      const group = groups.get(page);
      const more = COLLECTIONS.test(page) ? 0 : 1;
      group.score += hit.score * ([1, more * T.second, more * T.third][group.hits.length] ?? 0);
      if (group.hits.length < 3) group.hits.push(hit);
    }
    const pages = [...groups.values()].sort((a, b) => b.score - a.score);
    for (const hit of pages.flatMap((group) => group.hits)) hit.marks = marksOf(hit, ideas);
    return pages;
  }

  globalThis.siteSearch = { T, search, split, excerpt, ready, places };
})();

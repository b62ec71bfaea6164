// Finds places for a query, with MiniSearch, in what search_index.py has written.
// tests/search/evaluate.py measures how well.
(() => {
  const { pages, synonyms, simplified, language } = globalThis.searchIndex;
  // writing without spaces between words, or else what no letter has
  const SCRIPT = `[${language.script || "\\u0000"}]`;
  const UNSPACED = new RegExp(SCRIPT, "u");
  const RUN = `${SCRIPT}+|(?:(?!${SCRIPT})[\\p{L}\\p{N}_.])+`;
  const RUNS = new RegExp(RUN, "gu");
  const FIRST_RUN = new RegExp(`^(?:${RUN}|.)`, "su");
  const HYPHEN = /(?<=\p{L})-(?=\p{L})/gu;
  const EMPTY = new Set(language.noIdeas.split(" "));
  const DEFINITION = new RegExp(language.definition, "i");
  const QUALIFIED = /^(?:hs|haiku_state)\.[\w.]+$/;
  const WEIGHTS = {
    name: 0.8, // a term's other names, beside the one that was typed
    coverage: 2, // the exponent of the share of the query that a place has
    qualified: 10, // the query is hs.name
    equal: 3, // the heading is the query
    renamed: 2, // the heading is another name of it, or has the class in CLASS.name
    around: 1.5, // the heading holds the query
    inside: 1.8, // the query holds the heading
    phrase: 1.5, // the text holds the query
    together: 1.5, // neighbours in the query are neighbours in the text
    second: 0.2, // a lesson's second and third place, added to its best
    third: 0.4,
    // a lesson teaches, the rest reminds
    page: 1.3,
    "how-to": 0.9, // all of it is one place, in which many words stand
    glossary: 0.2,
    definition: 1.2,
    exercise: 0.4,
    bug: 0.8,
    problem: 0.4,
    api: 0.6,
    error: 0.8,
    "further-reading": 0.3,
    "on-your-own": 0.7,
    "check-yourself": 0.7,
    "in-practice": 0.8,
  };

  const plain = (text) =>
    [...text.normalize("NFKC").replace(HYPHEN, " ")].map((char) => simplified[char] ?? char).join("");
  const low = (text) => plain(text).toLowerCase();
  const runsOf = (text) => text.match(RUNS) ?? [];
  /** What is left of a text without spaces, marks and the plural. */
  const compact = (text) =>
    low(text).replace(/[^\p{L}\p{N}]/gu, "").replace(/(?<=[a-z]{3})s$/, "");

  // init_train_state and TrainState are found by each of their words, and as a whole
  const wordsOfName = (name) =>
    name
      .split(/[._]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
      .filter(Boolean)
      .map((word) => word.toLowerCase());
  const termsOfName = (run) => {
    const name = run.replace(/^\.+|\.+$/g, "");
    const last = name.split(".").pop().toLowerCase();
    return [...new Set([name.toLowerCase(), last, last.replaceAll("_", ""), ...wordsOfName(name)])].filter(Boolean);
  };
  // without spaces between words, every two neighbours are a term, and so is the last one
  const pairs = (run) => [...run].map((char, i, all) => char + (all[i + 1] ?? ""));
  const terms = (text) =>
    runsOf(plain(text)).flatMap((run) => (UNSPACED.test(run) ? pairs(run) : termsOfName(run)));

  const titles = new Map(pages.map(([page, places]) => [page, places[0][1]]));
  const places = pages.flatMap(([page, found]) =>
    found.map(([anchor, heading, around, text, code, also], i) => {
      const title = titles.get(page);
      const short = compact(heading);
      const name = anchor.includes(".") ? heading.split(".").pop() : "";
      const near = compact(`${heading} ${text} ${also}`);
      return { page, title, anchor: i ? anchor : "", heading, around, text, code, also, short, name, near };
    }),
  );
  places.forEach((place, id) => (place.id = id));

  const index = new MiniSearch({
    fields: ["heading", "title", "around", "text", "code", "also"],
    tokenize: terms,
    processTerm: (term) => term,
    searchOptions: {
      tokenize: (term) => [term],
      boost: { heading: 3 },
      bm25: { k: 1.2, b: 0.5, d: 0.5 },
    },
  });
  const ready = index.addAllAsync(places, { chunkSize: 60 });

  // A query is a list of ideas: a word, or a term of the glossary with its other names.
  const others = new Map();
  for (const group of synonyms.map((words) => words.map(low)))
    for (const word of group) others.set(word, [...new Set([...(others.get(word) ?? []), ...group])]);
  const known = [...others.keys()].sort((a, b) => b.length - a.length);
  const segmenter = globalThis.Intl?.Segmenter && new Intl.Segmenter(language.segmenter, { granularity: "word" });
  const segments = (run) =>
    UNSPACED.test(run) && segmenter ? [...segmenter.segment(run)].map(({ segment }) => segment) : [run];

  function termAt(text) {
    const begins = (word) =>
      text.startsWith(word) && (UNSPACED.test(word) || /^(?:e?s)?(?![\p{L}\p{N}_.])/u.test(text.slice(word.length)));
    return known.find(begins);
  }

  function ideasOf(query) {
    const ideas = new Map();
    const add = (word, names, empty) => ideas.set(word.toLowerCase(), { word, names, empty });
    for (let rest = plain(query); rest; ) {
      const term = termAt(rest.toLowerCase());
      if (term) add(term, others.get(term).filter((word) => word !== term), false);
      const run = term ?? rest.match(FIRST_RUN)[0];
      const next = UNSPACED.test(run) && !term ? known.map((word) => run.indexOf(word)).filter((at) => at > 0 && !language.negations.includes(run[at - 1])) : [];
      const taken = run.slice(0, Math.min(run.length, ...next)); // up to the next term
      for (const word of term ? [] : segments(taken).map((part) => part.replace(/^\.+|\.+$/g, "")))
        if (runsOf(word).length)
          add(word, [], EMPTY.has(word.toLowerCase()) || (UNSPACED.test(word) && [...word].length < 2));
      rest = rest.slice(taken.length);
    }
    const found = [...ideas.values()];
    return found.every(({ empty }) => empty) ? found : found.filter(({ empty }) => !empty);
  }

  const stem = (word) => {
    const short = word.replace(/(?:ing|ed|es|s|e)$/, "");
    return short.length > 3 ? short : word;
  };
  const exactly = (term) => ({ queries: [term], prefix: false, fuzzy: false });
  const beginning = (term) => ({ queries: [term], prefix: true, fuzzy: false });
  const all = (queries) => ({ combineWith: "AND", queries });
  const any = (queries) => ({ combineWith: "OR", queries });
  const weighted = (query, weight) => ({ ...any([query]), boostTerm: () => weight });

  function lookUp(run, way) {
    if (UNSPACED.test(run)) {
      const found = pairs(run);
      return found.length > 1 ? all(found.slice(0, -1).map(exactly)) : beginning(run);
    }
    const word = run.toLowerCase();
    const ways = [exactly(word)];
    if (word.length > 2) ways.push(beginning(word));
    if (way !== "name" && stem(word) !== word) ways.push(beginning(stem(word)));
    const parts = wordsOfName(run);
    if (parts.length > 1) ways.push(weighted(all(parts.slice(-2).map(exactly)), 0.8));
    const query = any(ways);
    const misspelled = word.length > 3 && !index.search(query).length;
    return misspelled ? { queries: [word], prefix: true, fuzzy: word.length > 5 ? 2 : 1 } : query;
  }
  const lookUpAll = (text, way) => all(runsOf(text).map((run) => lookUp(run, way)));
  // a misspelled term has the other names of the term that it resembles
  function repaired(idea) {
    const word = idea.word.toLowerCase();
    if (idea.names.length || UNSPACED.test(word) || word.length < 6 || index.search(lookUp(word)).some(({ terms }) => terms.includes(word))) return idea;
    const alike = index.search(lookUp(word)).flatMap(({ terms }) => terms).find((term) => others.has(term));
    return alike && !alike.startsWith(word) ? { ...idea, names: others.get(alike) } : idea;
  }
  const queryOf = ({ word, names }) =>
    any([lookUpAll(word), ...names.map((name) => weighted(lookUpAll(name, "name"), WEIGHTS.name))]);

  function prior({ page, anchor }, definition) {
    if (!anchor) return page.startsWith("how_to/") ? WEIGHTS["how-to"] : WEIGHTS.page;
    if (page === "reference/glossary") return definition ? WEIGHTS.definition : WEIGHTS.glossary;
    if (page === "reference/bug_gallery") return WEIGHTS.bug;
    if (page === "reference/problems") return WEIGHTS.problem;
    if (page === "exercises/index") return WEIGHTS.exercise;
    if (anchor.includes(".")) return page === "api/errors" ? WEIGHTS.error : WEIGHTS.api;
    return WEIGHTS[anchor] ?? 1;
  }

  // What the words alone do not tell: the whole query stands here, or its words stand together.
  function closeness({ short, name, near }, { text, whole, others, words, owner }) {
    const factors = [1];
    const called = compact(name);
    const parts = wordsOfName(name);
    const typed = words.flatMap(wordsOfName).slice(-parts.length);
    if (short === whole || called === whole) factors.push(WEIGHTS.equal);
    if (name && typed.length === parts.length && typed.every((part, i) => parts[i].startsWith(part)))
      if (short.endsWith(whole.replace(/^hs/, "")) || compact(typed.join("")) === whole) factors.push(WEIGHTS.equal);
    if (name && QUALIFIED.test(text) && typed.length === parts.length && compact(typed.join("")) === called)
      factors.push(WEIGHTS.qualified);
    if (others.includes(short) || (name && called === owner)) factors.push(WEIGHTS.renamed);
    if (whole.length > 3 && short.includes(whole)) factors.push(WEIGHTS.around);
    if (short.length > 7 && whole.includes(short)) factors.push(WEIGHTS.inside);
    const phrase = whole.length > 5 && near.includes(whole) ? WEIGHTS.phrase : 1;
    const rest = words.slice(1).filter((word, i) => near.includes(low(words[i] + word)));
    const together = words.length > 1 ? (WEIGHTS.together * rest.length) / (words.length - 1) : 0;
    return Math.max(...factors) * phrase * (1 + together);
  }

  /** Return pages, best first, each with its three best places and the words to mark in them. */
  async function search(query) {
    await ready;
    const ideas = ideasOf(query).map(repaired);
    const found = new Map();
    let rarity = 0;
    for (const idea of ideas) {
      const hits = index.search(queryOf(idea));
      const rare = Math.log(1 + places.length / (1 + hits.length));
      rarity += rare;
      for (const { id, score, terms } of hits) {
        const hit = found.get(id) ?? { place: places[id], score: 0, rarity: 0, terms: [] };
        hit.score += score;
        hit.rarity += rare;
        hit.terms.push(...terms);
        found.set(id, hit);
      }
    }
    const text = plain(query).trim();
    const definition = DEFINITION.test(text);
    const sought = {
      text,
      whole: compact(text.replace(DEFINITION, "")),
      words: runsOf(text).flatMap(segments),
      owner: /^[\w.]+\.\w+$/.test(text) ? compact(text.split(".").at(-2)) : "",
    };
    for (const hit of found.values()) {
      sought.others = ideas.length === 1 ? [...ideas[0].names, ...hit.terms].map(compact) : [];
      hit.score *= (hit.rarity / rarity) ** WEIGHTS.coverage;
      hit.score *= prior(hit.place, definition) * closeness(hit.place, sought);
    }
    const best = grouped([...found.values()].sort((a, b) => b.score - a.score));
    for (const hit of best.flatMap((group) => group.hits)) hit.marks = marksOf(hit, ideas);
    return best;
  }

  function grouped(hits) {
    const groups = new Map();
    for (const hit of hits) {
      const { page, title } = hit.place;
      const part = titles.get(page.replace(/[^/]*$/, "index")) ?? "";
      if (!groups.has(page)) groups.set(page, { page, title, part, hits: [], score: 0 });
      const group = groups.get(page);
      const own = group.hits.length;
      const lesson = !/^(?:api|reference|exercises)\//.test(page);
      if (own < 3) group.hits.push(hit);
      group.score += hit.score * [1, lesson && WEIGHTS.second, lesson && WEIGHTS.third, 0][Math.min(own, 3)];
    }
    return [...groups.values()].sort((a, b) => b.score - a.score);
  }

  // what was typed, or its other names, as they stand in the place
  function marksOf({ place, terms }, ideas) {
    const text = low(`${place.heading} ${place.text}`);
    const typed = ideas.flatMap(({ word }) => runsOf(word)).flatMap(termsOfName).map(stem);
    const begun = terms.filter((term) => !UNSPACED.test(term) && typed.some((word) => term.startsWith(word)));
    const whole = ideas.flatMap(({ word, names }) => [low(word), ...names]);
    const here = (words) => [...new Set(words)].filter((word) => word.length > 1 && text.includes(word));
    const marks = here([...whole, ...begun]);
    return (marks.length ? marks : here(terms)).sort((a, b) => b.length - a.length);
  }

  const literally = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const pattern = (marks) => new RegExp(`(${marks.map(literally).join("|")})`, "iu");

  /** Cut a text into parts, each with whether it is marked. */
  const split = (text, marks) =>
    marks.length ? text.split(pattern(marks)).map((part, i) => [part, i % 2 === 1]) : [[text, false]];

  /** Return what stands around the first mark in a place. */
  function excerpt({ text }, marks) {
    const at = marks.length ? Math.max(0, text.search(pattern(marks))) : 0;
    const length = UNSPACED.test(text) ? 90 : 160; // its characters are wider
    const start = at < length / 3 ? 0 : Math.max(at - length / 4, text.lastIndexOf(" ", at - length / 4) + 1);
    const part = text.slice(start, start + length);
    return (start ? "… " : "") + part + (start + length < text.length ? " …" : "");
  }

  globalThis.siteSearch = { search, split, excerpt, ready, places };
})();

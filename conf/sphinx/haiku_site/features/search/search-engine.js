// Finds places for a query, with MiniSearch, in what __init__.py has written.
// tests/tools/search/evaluate.py measures how well.
(() => {
  const { pages, synonyms, taught, simplified, language } = globalThis.searchIndex;
  // writing without spaces between words, or else what no letter has
  const SCRIPT = `[${language.script || "\\u0000"}]`;
  const UNSPACED = new RegExp(SCRIPT, "u");
  const CHAR = `(?:(?!${SCRIPT})[\\p{L}\\p{N}_])`; // of a word with spaces around it, or of a name
  const RUNS = new RegExp(`${SCRIPT}+|${CHAR}+(?:\\.${CHAR}+)*`, "gu");
  const HYPHEN = /(?<=\p{L})-(?=\p{L})/gu;
  const EMPTY = new Set(language.noIdeas.split(" "));
  const QUALIFIER = /(?<![\w.])(?:hs|haiku_state)\.(?=\w)/g;
  const CODE = /^\S*(?:[a-z][A-Z]|[a-z]_|\.[a-z])\S*$/;
  const LESSON = /^(?!api|how_to|changelog|license).*#$/; // teaches
  // only reminds of what a lesson teaches
  const ASIDE = /^(?:api\/(?!errors#.*\.)|reference\/(?:glossary|problems)#|changelog|license)|#(?:exercise-|further-reading)/;
  const CANDIDATES = 100;
  const RARE = 3; // what a word counts at most: a rare one may be there by chance
  const NEXT = 4; // a page's second and third place, added to its best
  // Of the logarithm of a score. Fitted to the queries that are not held back.
  const WEIGHTS = {
    words: 1.5, // what MiniSearch says
    coverage: 6, // the share of the query that a place has
    together: 3.5, // neighbours in the query are neighbours in the text
    called: 6.5, // how alike the query and a heading, another name or the file are
    lesson: 3, // the same, of a lesson
    holds: 3.5, // the heading holds the query
    titled: 4, // the title of the page is the query
    code: 0.5, // a name, for a query that is code
    named: 3, // the name that was typed
    taught: 3, // the glossary says that this page teaches the term
    aside: -2,
  };

  const plain = (text) =>
    [...text.normalize("NFKC").replace(HYPHEN, " ")].map((char) => simplified[char] ?? char).join("");
  const low = (text) => plain(text).toLowerCase();
  const runsOf = (text) => text.match(RUNS) ?? [];
  const lettersOf = (text) => text.replace(/[^\p{L}\p{N}]/gu, "");
  const literally = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  /** What is left of a text without spaces, marks and the plural. */
  const compact = (text) => lettersOf(low(text)).replace(/(?<=[a-z]{3})s$/, "");

  // init_train_state and TrainState are found by each of their words, and as a whole
  const wordsOfName = (name) =>
    name
      .split(/[._]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
      .filter(Boolean)
      .map((word) => word.toLowerCase());
  const termsOfName = (name) => {
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
      const name = anchor.includes(".") ? heading.split(".").pop() : "";
      return { page, anchor: i ? anchor : "", heading, around, text, code, also, name };
    }),
  );
  places.forEach((place, id) => (place.id = id));

  const index = new MiniSearch({
    fields: ["heading", "around", "text", "code", "also"],
    tokenize: terms,
    processTerm: (term) => term,
    searchOptions: { tokenize: (term) => [term], boost: { heading: 3 } },
  });
  const ready = index.addAllAsync(places, { chunkSize: 60 });

  const stem = (word) => {
    const short = word.replace(/(?:ing|ed|es|s|e)$/, "");
    return short.length > 3 ? short : word;
  };
  const beginning = (term) => ({ queries: [term], prefix: term.length > 2 || UNSPACED.test(term) });
  const any = (queries) => ({ combineWith: "OR", queries });
  const all = (queries) => ({ combineWith: "AND", queries });
  function lookUp(run) {
    if (!UNSPACED.test(run)) return any([...new Set([run, run.replaceAll("_", "")]), beginning(stem(run))]);
    return run.length > 1 ? any(pairs(run).slice(0, -1)) : beginning(run);
  }
  const queryOf = ({ word, names }) => any([word, ...names].map((name) => all(runsOf(name).map(lookUp))));

  /** Return a word that is nowhere as the one that is spelled like it, or else a name as its words. */
  function repaired(run) {
    if (run.length < 4 || UNSPACED.test(run) || EMPTY.has(run) || index.search(lookUp(run)).length) return run;
    const [best] = index.search(run, { fuzzy: run.length > 5 ? 2 : 1 });
    const parts = wordsOfName(run);
    return best?.terms[0] ?? (parts.length > 1 ? parts.map(repaired).join(" ") : run);
  }

  // A query is a list of ideas: a word, or a term of the glossary with its other names.
  const others = new Map();
  for (const group of synonyms.map((words) => words.map(low)))
    for (const word of group) others.set(word, [...new Set([...(others.get(word) ?? []), ...group])]);
  const known = [...others.keys()].sort((a, b) => b.length - a.length).map((word) =>
    UNSPACED.test(word)
      ? `(?<![${language.negations}])${literally(word)}`
      : `(?<!${CHAR}\\.?)${literally(word)}(?=(?:e?s)?(?!\\.?${CHAR}))`,
  );
  const TERM = new RegExp(`(${known.join("|")})(?:e?s(?!${CHAR}))?`, "u");
  const teaching = new Map(Object.entries(taught).map(([term, place]) => [low(term), place.split("#")[0]]));
  const segmenter = globalThis.Intl?.Segmenter && new Intl.Segmenter(language.segmenter, { granularity: "word" });
  const segments = (text) =>
    segmenter ? [...segmenter.segment(text)].map(({ segment }) => segment) : (text.match(/\s+|\S+/g) ?? []);
  const wordsOf = (text) => runsOf(text).flatMap((run) => (UNSPACED.test(run) ? segments(run) : [run]));

  function ideasOf(query) {
    const ideas = new Map();
    const add = (word, names, empty) => ideas.set(word, { word, names, empty });
    query.split(TERM).forEach((part, i) => {
      if (i % 2) return add(part, others.get(part).filter((name) => name !== part), false);
      for (const word of wordsOf(part)) add(word, [], EMPTY.has(word) || (UNSPACED.test(word) && word.length < 2));
    });
    const found = [...ideas.values()];
    return found.every(({ empty }) => empty) ? found : found.filter(({ empty }) => !empty);
  }

  /** Return what finds an idea in a phrase: its words with their endings, or its names. */
  function patternOf({ word, names }) {
    const ways = [word, ...names].map((way) =>
      UNSPACED.test(way) ? literally(way) : `(?<![a-z0-9])${literally(stem(way))}[a-z]{0,4}(?![a-z0-9])`,
    );
    return new RegExp(ways.join("|"), "u");
  }

  /** A text as it is compared with a query. */
  const phrase = (text) => ({ text: low(text), letters: lettersOf(text).length || 1 });
  /** Add what only a candidate needs. */
  function described(place) {
    if (place.called) return place;
    const { page, anchor, heading, text, also, name } = place;
    const file = anchor ? "" : page.replace(/(?:^|\/)index$/, "").split("/").pop().replaceAll("_", " ");
    const headings = name ? [name, wordsOfName(name).join(" ")] : heading.split(/ [·/] /);
    return Object.assign(place, {
      short: compact(heading),
      near: compact(`${heading} ${text} ${also}`),
      called: [...headings, ...also.split("; "), file].filter(Boolean).map(phrase),
    });
  }

  /** Return how much of the query a phrase has, times how much of the phrase that is. */
  function likeness({ text, letters }, { ideas, rarity }) {
    let [found, matched] = [0, 0];
    for (const { pattern, rare } of ideas) {
      const match = text.match(pattern);
      if (match) [found, matched] = [found + rare, matched + lettersOf(match[0]).length];
    }
    return (found / rarity) * Math.min(1, matched / letters);
  }

  function featuresOf({ place, score, rarity }, sought) {
    const { page, anchor, short, near, called, name } = described(place);
    const { whole, words, ideas, named } = sought;
    const address = `${page}#${anchor}`;
    const together = words.slice(1).filter((word, i) => near.includes(compact(words[i] + word)));
    const alike = Math.max(...called.map((each) => likeness(each, sought)));
    const taught = ideas.filter((idea) => idea.taught === page);
    return {
      words: Math.log(score),
      coverage: Math.log(rarity / sought.rarity),
      together: together.length / Math.max(1, words.length - 1),
      called: alike,
      lesson: LESSON.test(address) && alike,
      holds: whole.length > 2 && short.includes(whole),
      titled: !anchor && !ASIDE.test(address) && short === whole,
      code: name && sought.code,
      named: name && stem(compact(name)) === named,
      taught: taught.reduce((sum, { rare }) => sum + rare, 0) / sought.rarity,
      aside: ASIDE.test(address),
    };
  }
  const scoreOf = (features) =>
    Math.exp(Object.entries(features).reduce((sum, [name, value]) => sum + WEIGHTS[name] * value, 0));

  /** Return pages, best first, each with its three best places and the words to mark in them. */
  async function search(query) {
    await ready;
    const typed = plain(query).trim();
    const bare = typed.replace(QUALIFIER, "");
    const asked = bare.toLowerCase().replace(RUNS, repaired);
    const parts = runsOf(bare).map(wordsOfName).filter((words) => words.length > 1).flat();
    const ideas = ideasOf(asked);
    const found = new Map();
    let rarity = 0;
    for (const idea of ideas) {
      const hits = index.search(queryOf(idea));
      const rare = Math.min(RARE, Math.log(1 + places.length / (1 + hits.length)));
      const taught = [idea.word, ...idea.names].map((name) => teaching.get(name)).find(Boolean);
      Object.assign(idea, { rare, taught, pattern: patternOf(idea) });
      rarity += rare;
      for (const { id, score, terms } of hits) {
        const hit = found.get(id) ?? { place: places[id], score: 0, rarity: 0, terms: [] };
        hit.score += score;
        hit.rarity += rare;
        hit.terms.push(...terms);
        found.set(id, hit);
      }
    }
    const whole = compact(asked);
    const sought = { ideas, rarity, whole, words: wordsOf(asked), code: CODE.test(typed), named: stem(compact(bare)) };
    const roughly = (hit) => hit.score * hit.rarity ** 2;
    const hits = [...found.values()].sort((a, b) => roughly(b) - roughly(a)).slice(0, CANDIDATES);
    for (const hit of hits) hit.score = scoreOf(featuresOf(hit, sought));
    const best = grouped(hits.sort((a, b) => b.score - a.score));
    for (const { hits } of best) {
      for (const hit of hits) hit.marks = marksOf(hit, ideas, parts);
      // what a place is found by may stand below it
      for (const hit of hits) if (!hit.marks.length) hit.marks = hits.flatMap(({ marks }) => marks);
    }
    return best;
  }

  function grouped(hits) {
    const groups = new Map();
    for (const hit of hits) {
      const { page } = hit.place;
      const part = titles.get(page.replace(/[^/]*$/, "index")) ?? "";
      if (!groups.has(page)) groups.set(page, { page, title: titles.get(page), part, hits: [], score: 0 });
      const group = groups.get(page);
      if (group.hits.length === 3) continue;
      group.score += hit.score * (group.hits.length ? NEXT : 1);
      group.hits.push(hit);
    }
    return [...groups.values()].sort((a, b) => b.score - a.score);
  }

  // what was typed, or its other names, as they stand in the place
  function marksOf({ place, terms }, ideas, parts) {
    const text = low(`${place.heading} ${place.text}`);
    const typed = ideas.flatMap(({ word }) => runsOf(word)).flatMap(termsOfName).map(stem);
    const begun = terms.filter((term) => !UNSPACED.test(term) && typed.some((word) => term.startsWith(word)));
    const whole = ideas.flatMap(({ word, names }) => [word, ...names]);
    const here = (words) => [...new Set(words)].filter((word) => word.length > 1 && text.includes(word));
    const marks = here([...whole, ...begun, ...parts]);
    return (marks.length ? marks : here(terms)).sort((a, b) => b.length - a.length);
  }

  const pattern = (marks) => new RegExp(`(${marks.map(literally).join("|")})`, "iu");

  /** Cut a text into parts, each with whether it is marked. */
  const split = (text, marks) =>
    marks.length ? text.split(pattern(marks)).map((part, i) => [part, i % 2 === 1]) : [[text, false]];

  /** Return what stands around the first mark in a place, from the beginning of a word to the end of one. */
  function excerpt({ text }, marks) {
    const at = marks.length ? Math.max(0, text.search(pattern(marks))) : 0;
    const length = UNSPACED.test(text) ? 90 : 160; // its characters are wider
    const first = at < length / 3 ? 0 : Math.floor(at - length / 4);
    const near = text.slice(0, first).match(/^.*[^\p{L}\p{N}]/su)?.[0].length ?? 0;
    const part = text.slice(near, first + length + 20);
    let edge = near;
    const edges = segments(part).map((word) => (edge += word.length) - word.length);
    const start = first ? edges.findLast((edge) => edge <= first) : 0;
    const end = start + length < text.length ? edges.findLast((edge) => edge <= start + length) : text.length;
    return (start ? "… " : "") + text.slice(start, end).trim() + (end < text.length ? " …" : "");
  }

  globalThis.siteSearch = { search, split, excerpt };
})();

// Finds places for a query, with MiniSearch, in what search_index.py has written.
// tests/search/evaluate.py measures how well.
(() => {
  const { pages, synonyms, taught, simplified, language } = globalThis.searchIndex;
  // writing without spaces between words, or else what no letter has
  const SCRIPT = `[${language.script || "\\u0000"}]`;
  const UNSPACED = new RegExp(SCRIPT, "u");
  const RUN = `${SCRIPT}+|(?:(?!${SCRIPT})[\\p{L}\\p{N}_.])+`;
  const RUNS = new RegExp(RUN, "gu");
  const FIRST_RUN = new RegExp(`^(?:${RUN}|.)`, "su");
  const HYPHEN = /(?<=\p{L})-(?=\p{L})/gu;
  const EMPTY = new Set(language.noIdeas.split(" "));
  const DEFINITION = new RegExp(language.definition, "i");
  const NO_IDEA = new RegExp([...EMPTY].filter((word) => UNSPACED.test(word)).sort((a, b) => b.length - a.length).join("|") || "^$", "g");
  const QUALIFIER = /(?<![\w.])(?:hs|haiku_state)\.(?=\w)/g;
  const NAME = 0.8; // a term's other names, beside the one that was typed
  const SECOND = [1, 0.25, 0.2]; // a page's second and third place, added to its best
  const CANDIDATES = 100;
  const RARE = 3; // what a word counts at most: a rare one may be there by chance
  // Of the logarithm of a score. Fitted to the queries that are not held back.
  const WEIGHTS = {
    words: 1.9, // what MiniSearch says
    coverage: 4.5, // the share of the query that a place has
    phrase: 1.3, // the text holds the query
    together: 1.6, // neighbours in the query are neighbours in the text
    // how alike the query and a heading, another name, the file or the title above are
    "heading of page": 1.8,
    "heading of section": 1.7,
    "heading of name": 2.5,
    "also of page": 3.8,
    "also of section": 1.9,
    "also of name": 0.9,
    "heading of error": 1.2,
    "heading of room": 1.5,
    "also of error": 2, // its text
    file: 0.8,
    title: 0.5,
    // the query is that
    "is page": 3,
    "is section": 0.6,
    "is name": 1.9,
    "is error": 1.9,
    holds: 1.1, // a heading does
    "is also": 0.5,
    "is file": 1.7,
    begun: 2.3, // the name begins so
    qualified: 8, // the query is hs.name
    owner: 0.8, // the query is name.attribute
    code: 1.5, // a name, for a query that is code
    taught: 0.6, // the glossary says that the term is taught there
    "taught on page": 1.3,
    // a lesson teaches, the rest reminds
    page: 2.7,
    "how-to": -0.8, // all of it is one place, in which many words stand
    part: 0.1,
    "whole page": 0.4, // for a query of one idea
    "whole part": 1.1,
    "one section": -0.5,
    home: -0.4,
    term: -2,
    definition: 2.4,
    exercise: -1.9,
    bug: 1.1,
    problem: -1.9,
    api: -1.1,
    room: -1.7,
    error: 0.5,
    changelog: -1.1,
    "further-reading": -1.2,
    "check-yourself": -0.3,
    "in-practice": -0.3,
  };

  const plain = (text) =>
    [...text.normalize("NFKC").replace(HYPHEN, " ")].map((char) => simplified[char] ?? char).join("");
  const low = (text) => plain(text).toLowerCase();
  const runsOf = (text) => text.match(RUNS) ?? [];
  const lettersOf = (text) => text.replace(/[^\p{L}\p{N}]/gu, "");
  /** What is left of a text without spaces, marks and the plural. */
  const compact = (text) => lettersOf(low(text)).replace(/(?<=[a-z]{3})s$/, "");

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
      const name = anchor.includes(".") ? heading.split(".").pop() : "";
      return { page, title: titles.get(page), anchor: i ? anchor : "", heading, around, text, code, also, name };
    }),
  );
  places.forEach((place, id) => (place.id = id));

  const KINDS = [
    [/^(?:index|(?!exercises).*\/index)#$/, "part"],
    [/^api\/errors#.*\./, "error"],
    [/^api\/.*\./, "api"],
    [/^api\//, "room"],
    [/^reference\/glossary#./, "term"],
    [/^reference\/bug_gallery#./, "bug"],
    [/^reference\/problems#./, "problem"],
    [/#exercise-/, "exercise"],
    [/^how_to\/(?!index)/, "how-to"],
    [/^(?:changelog|license)#/, "changelog"],
    [/^index#/, "home"],
    [/#$/, "page"],
    [/#(?:further-reading|check-yourself|in-practice)$/, null],
    [/./, "section"],
  ];
  const PAGES = ["page", "part", "how-to"];
  const SELF = ["error", "room"];

  /** A text as it is compared with a query: how many letters mean something, and all of them. */
  function phrase(text) {
    const said = runsOf(low(text)).map((run) => (EMPTY.has(run) ? "" : UNSPACED.test(run) ? run.replace(NO_IDEA, "") : run));
    return { text: low(text), letters: lettersOf(said.join("")).length || 1, short: compact(text) };
  }
  /** Add what only a candidate needs. */
  function described(place) {
    if (place.kind) return place;
    const { page, anchor, heading, also, name } = place;
    const kind = KINDS.find(([pattern]) => pattern.test(`${page}#${anchor}`))[1] ?? anchor;
    const file = page.replace(/(?:^|\/)index$/, "").split("/").pop().replaceAll("_", " ");
    return Object.assign(place, {
      kind,
      of: PAGES.includes(kind) ? "page" : SELF.includes(kind) ? kind : kind === "api" ? "name" : "section",
      near: compact(`${heading} ${place.text} ${also}`),
      short: compact(heading),
      headings: (name ? [name, wordsOfName(name).join(" ")] : heading.split(/ [·/] /)).map(phrase),
      others: also.split("; ").filter(Boolean).map(phrase),
      files: (anchor || !file ? [] : [file]).map(phrase),
      titles: (anchor ? [place.title] : []).map(phrase),
    });
  }

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
  const teaching = new Map(Object.entries(taught).map(([term, place]) => [low(term), place]));
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
    for (let rest = plain(query).replace(QUALIFIER, ""); rest; ) {
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
      const found = pairs(run).map(exactly);
      if (found.length < 2) return beginning(run);
      const whole = all(found.slice(0, -1));
      return index.search(whole).length ? whole : any(found.slice(0, -1));
    }
    const word = run.toLowerCase();
    const ways = [exactly(word)];
    if (word.length > 2) ways.push(beginning(word));
    if (way !== "name" && stem(word) !== word) ways.push(beginning(stem(word)));
    const parts = wordsOfName(run);
    if (parts.length > 1) ways.push(weighted(all(parts.slice(-2).map(exactly)), 0.8));
    const query = any(ways);
    const misspelled = way !== "name" && word.length > 3 && !index.search(query).length;
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
    any([lookUpAll(word), ...names.map((name) => weighted(lookUpAll(name, "name"), NAME))]);
  const before = new Map(); // what was found while the query was shorter
  function hitsOf(idea) {
    const key = [idea.word, ...idea.names].join();
    if (!before.has(key)) before.set(key, index.search(queryOf(idea)));
    return before.get(key);
  }

  const literally = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  /** Return what finds an idea in a phrase: its words with their endings, its names, or what is spelled like it. */
  function patternOf({ word, names }, hits) {
    const short = stem(word.toLowerCase());
    const found = hits.slice(0, 5).flatMap(({ terms }) => terms);
    const alike = word.length < 4 || UNSPACED.test(word) || found.some((term) => term.startsWith(short) || word.toLowerCase().includes(term)) ? [] : found;
    const ways = [word, ...names, ...alike].map((way) => {
      if (UNSPACED.test(way)) return literally(low(way));
      const parts = wordsOfName(way).map(literally);
      return `(?<![a-z0-9])(?:${parts.length > 1 ? `${parts.join("[ _.]?")}|` : ""}${literally(stem(low(way)))}[a-z]{0,4})(?![a-z0-9])`;
    });
    return new RegExp(ways.join("|"), "u");
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
    const { page, anchor, kind, of, near, short, headings, others, files, titles, name } = described(place);
    const { text, whole, names, words, ideas } = sought;
    const like = (phrases) => Math.max(0, ...phrases.map((each) => likeness(each, sought)));
    const is = (phrases) => phrases.some((each) => each.short === whole || names.includes(each.short));
    const parts = wordsOfName(name);
    const typed = words.flatMap(wordsOfName).slice(-parts.length);
    const begun = name && typed.length === parts.length && typed.every((part, i) => parts[i].startsWith(part));
    const rest = words.slice(1).filter((word, i) => near.includes(compact(words[i] + word)));
    const share = (chosen) => chosen.reduce((sum, { rare }) => sum + rare / sought.rarity, 0);
    const one = ideas.length === 1;
    return {
      words: Math.log(score),
      coverage: Math.log(rarity / sought.rarity),
      phrase: !one && whole.length > 5 && near.includes(whole),
      together: one || words.length < 2 ? 0 : rest.length / (words.length - 1),
      [`heading of ${of}`]: like(headings),
      [`also of ${of}`]: like(others),
      file: like(files),
      title: like(titles),
      [`is ${of}`]: is(headings),
      holds: whole.length > 2 && short.includes(whole),
      "is also": is(others),
      "is file": is(files),
      begun: begun && (short.endsWith(whole) || compact(typed.join("")) === whole),
      qualified: name && text.search(QUALIFIER) === 0 && compact(name) === compact(text.split(".").pop()),
      owner: name && compact(name) === sought.owner,
      code: name && (sought.code || (parts.length > 1 && short.endsWith(text.toLowerCase()))),
      taught: share(ideas.filter(({ taught }) => taught === `${page}${anchor && "#"}${anchor}`)),
      "taught on page": share(ideas.filter(({ taught }) => taught?.split("#")[0] === page)),
      [kind]: 1,
      [`whole ${kind}`]: one,
      [`one ${of}`]: one,
      definition: kind === "term" && sought.definition,
    };
  }
  const scoreOf = (features) =>
    Math.exp(Object.entries(features).reduce((sum, [name, value]) => sum + value * (WEIGHTS[name] ?? 0), 0));

  /** Return pages, best first, each with its three best places and the words to mark in them. */
  async function search(query) {
    await ready;
    const ideas = ideasOf(query).map(repaired);
    const found = new Map();
    let rarity = 0;
    for (const idea of ideas) {
      const hits = hitsOf(idea);
      const rare = Math.min(RARE, Math.log(1 + places.length / (1 + hits.length)));
      const taught = [idea.word, ...idea.names].map((name) => teaching.get(low(name))).find(Boolean);
      Object.assign(idea, { rare, taught, pattern: patternOf(idea, hits) });
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
    const asked = text.replace(DEFINITION, "");
    const sought = {
      text,
      ideas,
      rarity,
      whole: compact(asked.replace(QUALIFIER, "")),
      names: ideas.length === 1 ? ideas[0].names.map(compact) : [],
      words: runsOf(asked).flatMap(segments),
      definition: asked !== text,
      code: /^\S*(?:[a-z][A-Z]|[a-z]_|\.[a-z])\S*$/.test(text),
      owner: /^[\w.]+\.\w+$/.test(text) ? compact(text.split(".").at(-2)) : "",
    };
    const roughly = (hit) => hit.score * hit.rarity ** 2;
    const hits = [...found.values()].sort((a, b) => roughly(b) - roughly(a)).slice(0, CANDIDATES);
    for (const hit of hits) hit.score = scoreOf(featuresOf(hit, sought));
    const best = grouped(hits.sort((a, b) => b.score - a.score));
    for (const { hits } of best) {
      for (const hit of hits) hit.marks = marksOf(hit, ideas);
      // what a place is found by may stand below it
      for (const hit of hits) if (!hit.marks.length) hit.marks = hits.flatMap(({ marks }) => marks);
    }
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
      group.score += hit.score * (lesson || !own ? (SECOND[own] ?? 0) : 0);
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
    const words = segmenter ? [...segmenter.segment(part)] : [...part.matchAll(/\S+|\s+/g)].map((word) => ({ segment: word[0], index: word.index }));
    const edges = words.map(({ index }) => near + index);
    const start = first ? edges.findLast((edge) => edge <= first) : 0;
    const end = start + length < text.length ? edges.findLast((edge) => edge <= start + length) : text.length;
    return (start ? "… " : "") + text.slice(start, end).trim() + (end < text.length ? " …" : "");
  }

  globalThis.siteSearch = { search, split, excerpt, ready, places };
})();

// A choice says whether it is right, and is remembered in this browser alone: what is to be
// repeated is on the list of questions, and the home page counts. Without this, the answer is
// folded below.
(() => {
  const KEY = "haiku_state.answers";
  // where a browser forbids storage, nothing is remembered, and everything else works
  function load() {
    try {
      return JSON.parse(localStorage.getItem(KEY)) ?? {};
    } catch {
      return {};
    }
  }
  function remember(name, isRight) {
    try {
      localStorage.setItem(KEY, JSON.stringify({ ...load(), [name]: isRight }));
    } catch {}
  }

  for (const question of document.querySelectorAll(".hs-question")) {
    const { right, yes, no } = question.dataset;
    question.addEventListener("change", ({ target }) => {
      const isRight = target.value === right;
      for (const label of question.querySelectorAll("label")) label.className = "";
      target.parentElement.className = isRight ? "hs-right" : "hs-wrong";
      question.querySelector("[role=status]").textContent = isRight ? yes : no;
      const place = question.closest(".hs-bug") ?? question.parentElement;
      place.querySelector("details.answer").open ||= isRight;
      remember(target.name, isRight);
    });
  }

  function show() {
    const answers = load();
    const known = Object.values(answers);
    const right = known.filter(Boolean).length;
    for (const score of document.querySelectorAll(".hs-score")) {
      const { total, text, ...words } = score.dataset;
      const counts = { right, total, wrong: known.length - right };
      const said = score.querySelector("a") ?? score.firstElementChild;
      if (known.length) said.textContent = text.replace(/\{(\w+)\}/g, (_, word) => counts[word]);
      for (const link of document.querySelectorAll(".hs-questions a")) mark(link, answers, words);
    }
  }
  // the sign before a question, and a word for those who do not see it
  function mark(link, answers, words) {
    const isRight = answers[new URL(link.href).hash.slice(1)];
    const kind = isRight ? "right" : "wrong";
    link.querySelector(".visually-hidden")?.remove();
    link.closest("li").className = isRight === undefined ? "" : `hs-${kind}`;
    if (isRight === undefined) return;
    const note = document.createElement("span");
    note.className = "visually-hidden";
    note.textContent = ` (${words[kind]})`;
    link.append(note);
  }
  addEventListener("pageshow", show);
  addEventListener("storage", show);
  show();
})();

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
      question.parentElement.querySelector("details.answer").open ||= isRight;
      remember(target.name, isRight);
    });
  }

  function show() {
    const answers = load();
    for (const link of document.querySelectorAll(".hs-questions a")) {
      const isRight = answers[new URL(link.href).hash.slice(1)];
      link.closest("li").className = isRight === undefined ? "" : isRight ? "hs-right" : "hs-wrong";
    }
    const known = Object.values(answers);
    for (const score of document.querySelectorAll(".hs-score")) {
      const { total, text } = score.dataset;
      const right = known.filter(Boolean).length;
      const words = { right, total, wrong: known.length - right };
      if (known.length) score.querySelector("a").textContent = text.replace(/\{(\w+)\}/g, (_, word) => words[word]);
    }
  }
  addEventListener("pageshow", show);
  addEventListener("storage", show);
  show();
})();

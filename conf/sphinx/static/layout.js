// What the first paint leaves out (see "content-visibility" in site.css) is laid out a section at a
// time while the browser is idle, so that no wait is long. What scrolls becomes a tab stop then.
(() => {
  const SCROLLERS = "pre, .cell_output > .output, .pst-scrollable-table-container, div.math";
  const sizes = new ResizeObserver((entries) => {
    const scrolls = entries.map(({ target }) => target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight);
    entries.forEach(({ target }, at) => {
      if (scrolls[at]) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    });
  });
  for (const scroller of document.querySelectorAll(SCROLLERS)) sizes.observe(scroller);

  const sections = [...document.querySelectorAll(".bd-article section :is(section, dl.py)")];
  const whenIdle = window.requestIdleCallback ?? setTimeout;
  whenIdle(function layOutNext() {
    const section = sections.shift();
    if (!section) return;
    section.style.contentVisibility = "visible";
    whenIdle(layOutNext);
  });

  // a link to an exercise shows it
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    target?.querySelector(":scope > details[name]")?.setAttribute("open", "");
  };
  addEventListener("hashchange", unfold);
  unfold();
})();

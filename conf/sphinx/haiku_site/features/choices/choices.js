// Shows what belongs to the settings that are chosen. Without this, all choices stand below each
// other.
(() => {
  for (const root of document.querySelectorAll(".hs-choices")) {
    const form = root.querySelector("form");
    const status = root.querySelector("[role=status]");
    const options = [...root.querySelectorAll(".hs-option")];
    const valuesOf = (option) => [...option.querySelectorAll("dd")].map((value) => value.textContent);
    root.querySelector(".hs-options").replaceChildren(...options);
    form.hidden = false;

    // of the choices that have the setting that was changed, the one with most of the others
    function nearest(chosen, changed) {
      const score = (option) =>
        valuesOf(option).reduce(
          (sum, value, at) => sum + (value === chosen[at]) * (at === changed ? 100 : 1), 0,
        );
      return options.reduce((best, option) => (score(option) > score(best) ? option : best));
    }
    function show(changed) {
      const fields = [...form.children];
      const chosen = fields.map((field) => field.querySelector(":checked").value);
      const option = nearest(chosen, changed);
      const values = valuesOf(option);
      for (const other of options) other.hidden = other !== option;
      fields.forEach((field, at) => {
        for (const button of field.elements) button.checked = button.value === values[at];
      });
      return values;
    }
    form.addEventListener("change", ({ target }) => {
      status.textContent = show([...form.children].indexOf(target.closest("fieldset"))).join("; ");
    });
    show(0);
  }
})();

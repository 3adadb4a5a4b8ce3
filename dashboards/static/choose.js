// One box that chooses all boxes of its form at once; without a script it is not shown.
"use strict";
document.querySelectorAll("input[data-choose]").forEach((all) => {
  const boxes = [...all.form.querySelectorAll(`input[type=checkbox][name^="${CSS.escape(all.dataset.choose)}"]`)];
  const look = () => {
    const n = boxes.filter((box) => box.checked).length;
    all.checked = n > 0 && n === boxes.length;
    all.indeterminate = n > 0 && n < boxes.length;
  };
  all.addEventListener("change", () => boxes.forEach((box) => { box.checked = all.checked; }));
  boxes.forEach((box) => box.addEventListener("change", look));
  all.closest("[hidden]").hidden = !boxes.length;
  look();
});

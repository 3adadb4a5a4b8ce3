(() => {
  const box = document.querySelector(".filter");
  if (!box) return;
  box.hidden = false;
  const input = box.querySelector("input"), said = box.querySelector("output");
  const fold = document.querySelector(".quiet");
  const rows = [...document.querySelectorAll("#cases .cases tbody")].map(
    (row) => [row, row.rows[0].textContent.toLowerCase()]);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [row, text] of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    if (fold && words.length) fold.open = true;
    said.textContent = words.length ? `${shown} of ${rows.length} shown` : "";
  });
})();

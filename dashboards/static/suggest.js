// Series as one types: below a field that has `data-suggest`, those that have all of the words, each a link to its page.
"use strict";
(() => {
  const MOST = 8, PAUSE_MS = 120;

  const label = (series) => {
    const params = Object.entries(series.params).map(([name, value]) => `${name}=${value}`).join(", ");
    return params ? `${series.benchmark}[${params}]` : series.benchmark;
  };

  function option(series, id) {
    const item = document.createElement("li"), name = document.createElement("b"), about = document.createElement("span");
    item.id = id;
    item.role = "option";
    item.dataset.href = `/series/${series.id}`;
    name.textContent = label(series);
    about.textContent = `${series.metric} · ${series.device_class} · ${series.project}`;
    item.append(name, about);
    return item;
  }

  function attach(field, number) {
    const list = document.createElement("ul");
    let asked = null, waiting = 0;
    list.id = `suggested-${number}`;
    list.className = "suggested";
    list.role = "listbox";
    list.setAttribute("aria-label", "Series");
    list.hidden = true;
    field.after(list);
    for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-controls", list.id], ["aria-expanded", "false"], ["autocomplete", "off"]]) field.setAttribute(name, value);

    const options = () => [...list.children];
    const chosen = () => list.querySelector("[aria-selected=true]");

    function show(found) {
      list.replaceChildren(...found.map((series, at) => option(series, `${list.id}-${at}`)));
      list.hidden = !found.length;
      field.setAttribute("aria-expanded", String(!list.hidden));
      field.removeAttribute("aria-activedescendant");
    }

    async function ask() {
      asked?.abort();
      const words = field.value.trim();
      if (!words) return show([]);
      asked = new AbortController();
      try {
        const answer = await fetch(`/api/v1/series?${new URLSearchParams({q: words, limit: MOST})}`, {signal: asked.signal});
        if (answer.ok) show((await answer.json()).series);
      } catch (error) {
        if (error.name !== "AbortError") show([]);
      }
    }

    function choose(by) {
      const all = options(), at = all.indexOf(chosen());
      all[at]?.setAttribute("aria-selected", "false");
      const next = at + by < 0 ? (at < 0 ? all.length - 1 : -1) : at + by < all.length ? at + by : -1;
      all[next]?.setAttribute("aria-selected", "true");
      all[next]?.scrollIntoView({block: "nearest"});
      next < 0 ? field.removeAttribute("aria-activedescendant") : field.setAttribute("aria-activedescendant", all[next].id);
    }

    field.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(ask, PAUSE_MS); });
    field.addEventListener("keydown", (event) => {
      if (list.hidden) return;
      if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); choose(event.key === "ArrowDown" ? 1 : -1); }
      if (event.key === "Enter" && chosen()) { event.preventDefault(); location.assign(chosen().dataset.href); }
      if (event.key === "Escape" && !field.closest("dialog")) { event.stopPropagation(); show([]); }
    });
    list.addEventListener("mousedown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => { const item = event.target.closest("li"); if (item) location.assign(item.dataset.href); });
    field.addEventListener("blur", () => { list.hidden = true; field.setAttribute("aria-expanded", "false"); });
    field.addEventListener("focus", () => { if (list.children.length) { list.hidden = false; field.setAttribute("aria-expanded", "true"); } });
  }

  document.querySelectorAll("input[data-suggest]").forEach(attach);
})();

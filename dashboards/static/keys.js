// The keyboard: `/` to look for a series, `j` and `k` through a list, `?` for what there is.
"use strict";
(() => {
  const help = document.getElementById("keys"), look = document.getElementById("look");
  const isTyping = (element) => element.matches("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]");

  function seek() {
    const field = document.querySelector("main input[type=search]");
    if (field) { field.focus(); field.select(); } else { look.showModal(); look.querySelector("input").select(); }
  }

  function step(by) {
    const links = [...document.querySelectorAll("main .attention li > a, main .found tbody th > a, main .lines :is(h2, h3) a")];
    if (!links.length) return;
    const at = links.indexOf(document.activeElement), next = at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by;
    links[Math.max(0, Math.min(links.length - 1, next))].focus();
  }

  const doings = {"/": seek, j: () => step(1), k: () => step(-1), "?": () => help.showModal()};

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || help.open || look.open) return;
    const done = doings[event.key];
    if (!done) return;
    event.preventDefault();
    done();
  });
})();

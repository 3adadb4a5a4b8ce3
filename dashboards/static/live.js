// A page of something that goes on is renewed where it stands: what one reads, marks or has opened stays.
"use strict";
(() => {
  const main = document.getElementById("main");
  const isTyping = (element) => element.matches("input, select, textarea");
  const isInUse = () => document.hidden || isTyping(document.activeElement) || document.querySelector("dialog[open]")
    || getSelection().toString() !== "";
  const plan = () => setTimeout(renew, 1000 * main.dataset.refresh);

  function take(found) {
    const opened = [...main.querySelectorAll("details")].map((fold) => fold.open);
    const focused = main.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    main.replaceChildren(...found.childNodes);
    main.querySelectorAll("details").forEach((fold, at) => { fold.open = opened[at] ?? fold.open; });
    if (focused) main.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
  }

  async function renew() {
    if (isInUse()) { plan(); return; }
    const answer = await fetch(location.href, {headers: {Accept: "text/html"}}).catch(() => null);
    const text = answer?.ok ? await answer.text().catch(() => null) : null;
    if (text === null) { plan(); return; }  // the service is away, and may come back
    if (answer.redirected) { location.assign(answer.url); return; }
    const page = new DOMParser().parseFromString(text, "text/html"), found = page.getElementById("main");
    if (!found || !found.dataset.refresh) { location.reload(); return; }  // it has ended, and may have other scripts
    document.title = page.title;
    take(found);
    plan();
  }

  plan();
})();

// Times are told in the reader's zone, with its name, also on what comes later; without a script their titles are in UTC.
"use strict";
(() => {
  const exact = new Intl.DateTimeFormat(undefined, {
    year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short",
  });
  const tell = (part) => part.querySelectorAll("time[datetime][title]").forEach((time) => { time.title = exact.format(new Date(time.dateTime)); });
  const main = document.getElementById("main");
  tell(main);
  new MutationObserver(() => tell(main)).observe(main, {childList: true});
})();

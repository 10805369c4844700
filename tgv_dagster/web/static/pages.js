"use strict";
/* What all pages share: messages about requests that failed, and the keys of the inbox. */

const say = (key) => document.body.dataset[key];

function tell(text) {
  const place = document.getElementById("notice");
  place.textContent = text;
  place.hidden = !text;
  if (text) place.scrollIntoView({ block: "nearest" });
}

document.body.addEventListener("htmx:beforeRequest", () => tell(""));
document.body.addEventListener("htmx:sendError", () => tell(say("lost")));
document.body.addEventListener("htmx:responseError", (event) => {
  const answer = event.detail.xhr;
  const page = new DOMParser().parseFromString(answer.responseText, "text/html");
  const told = page.querySelector("main");
  if (answer.status === 401) tell(say("expired"));
  else tell(told ? told.innerText.trim() : say("failed"));
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, textarea, select");
  if (event.key === "Escape" && typing) { typing.blur(); return; }
  if (typing) return;
  const target = document.querySelector(`[data-key~="${CSS.escape(event.key)}"]`);
  if (!target) return;
  event.preventDefault();
  if (target.matches("input, textarea, select")) target.focus();
  else target.click();
});

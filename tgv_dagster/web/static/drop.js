"use strict";
/* The drop: files wait in a list, can be taken out, and are sent one by one. Each has a key of its
   own, so that sending again after a lost connection is the same act (Idempotency-Key). */

const form = document.getElementById("drop");
const chosen = document.getElementById("chosen");
const zone = document.getElementById("zone");
const waiting = new Map();

function key() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

function show(item, text) { item.state.textContent = text; }

function add(file, gate) {
  if (file.size > Number(form.dataset.megabytes) * 1048576) { tell(`${file.name}: ${form.dataset.large}`); return; }
  if (waiting.size >= Number(form.dataset.most)) { tell(form.dataset.many); return; }
  const row = document.createElement("li");
  row.className = "card";
  const name = document.createElement("strong");
  name.textContent = file.name;
  const state = document.createElement("span");
  const remove = document.createElement("button");
  remove.type = "button";
  remove.textContent = form.dataset.remove;
  remove.setAttribute("aria-label", `${form.dataset.remove}: ${file.name}`);
  const item = { file, gate, row, state, remove, key: key() };
  remove.addEventListener("click", () => { waiting.delete(item.key); row.remove(); });
  row.append(name, state, remove);
  chosen.append(row);
  waiting.set(item.key, item);
  show(item, form.dataset.ready);
}

function send(item) {
  return new Promise((done) => {
    const body = new FormData();
    for (const name of ["intent", "entity", "project", "level", "visible_from"]) {
      const value = form.elements[name].value.trim();
      if (value) body.append(name, value);
    }
    body.append("gate", item.gate);
    body.append("files", item.file, item.file.name);
    const request = new XMLHttpRequest();
    request.open("POST", "/api/upload");
    request.setRequestHeader("X-CSRF-Token", document.body.dataset.csrf);
    request.setRequestHeader("Idempotency-Key", item.key);
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) show(item, `${form.dataset.sending} ${Math.round((100 * event.loaded) / event.total)} %`);
    });
    request.addEventListener("error", () => { show(item, form.dataset.again); tell(say("lost")); done(false); });
    request.addEventListener("load", () => done(answered(item, request)));
    item.remove.disabled = true;
    request.send(body);
  });
}

function answered(item, request) {
  if (request.status === 401) { show(item, form.dataset.again); tell(say("expired")); return false; }
  let answer = null;
  try { answer = JSON.parse(request.responseText); } catch { /* not from the service: told below */ }
  if (request.status !== 202 || !answer) {
    show(item, form.dataset.again);
    tell(answer?.error?.message ?? say("failed"));
    return false;
  }
  const result = answer.files[0];
  show(item, form.dataset[result.status]);
  if (result.document_id) {
    const link = document.createElement("a");
    link.href = `/d/${result.document_id}`;
    link.textContent = `${form.dataset.document} ${result.document_id}`;
    item.state.append(" · ", link);
  }
  if (result.status === "refused") return false;
  item.row.querySelector("strong").textContent = result.name;
  item.remove.remove();
  waiting.delete(item.key);
  return true;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (!waiting.size) { tell(form.dataset.none); return; }
  tell("");
  const button = document.getElementById("send");
  button.disabled = true;
  let all = true;
  for (const item of [...waiting.values()]) {
    const sent = await send(item);
    item.remove.disabled = false;
    all = all && sent;
    if (!sent) break;
  }
  button.disabled = false;
  if (all) form.elements.intent.value = "";
  htmx.ajax("GET", "/drop/queue", { target: "#queue", swap: "outerHTML" });
});

for (const [id, gate] of [["files", "drop"], ["camera", "photo"]]) {
  const input = document.getElementById(id);
  input.addEventListener("change", () => {
    for (const file of input.files) add(file, gate);
    input.value = "";
  });
}
for (const name of ["dragenter", "dragover"]) {
  zone.addEventListener(name, (event) => { event.preventDefault(); zone.classList.add("over"); });
}
zone.addEventListener("dragleave", () => zone.classList.remove("over"));
zone.addEventListener("drop", (event) => {
  event.preventDefault();
  zone.classList.remove("over");
  for (const file of event.dataTransfer.files) add(file, "drop");
});
window.addEventListener("beforeunload", (event) => { if (waiting.size) event.preventDefault(); });

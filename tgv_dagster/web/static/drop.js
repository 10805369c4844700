"use strict";
/* The drop: files wait in a list, can be taken out, and are sent one by one. Each has a key of its
   own, so that sending again after a lost connection is the same act (Idempotency-Key). */

const form = document.getElementById("drop");
const chosen = document.getElementById("chosen");
const zone = document.getElementById("zone");
const waiting = new Map();
const SILENCE = 60000; // milliseconds without a byte after which a connection counts as lost

function key() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

/* Files that say nothing of their kind are told apart by their name; everything else is paper. */
const KINDS = [
  ["picture", /^image\//, /\.(heic|heif|jpe?g|png|gif|webp|tiff?|bmp|avif|dng|raw)$/i],
  ["video", /^video\//, /\.(mp4|m4v|mov|avi|mkv|webm|3gp)$/i],
  ["audio", /^audio\//, /\.(mp3|m4a|wav|ogg|opus|flac|aac|amr|wma)$/i],
];

function kindOf(file) {
  const byType = KINDS.find(([, type]) => type.test(file.type));
  const byName = file.type ? undefined : KINDS.find(([, , name]) => name.test(file.name));
  return (byType ?? byName ?? ["paper"])[0];
}

/* Questions about rights are asked of the kinds that wait, and of no others. */
function ask() {
  const kinds = new Set([...waiting.values()].map((item) => item.kind));
  for (const group of form.querySelectorAll(".rights")) group.hidden = !kinds.has(group.dataset.kind);
}

function answers(item) {
  const group = form.querySelector(`.rights[data-kind="${item.kind}"]`);
  return [...(group?.querySelectorAll("[data-right]") ?? [])].map((e) => [e.dataset.right, e.value.trim()]);
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
  const item = { file, gate, kind: kindOf(file), row, state, remove, key: key() };
  remove.addEventListener("click", () => { waiting.delete(item.key); row.remove(); ask(); });
  row.append(name, state, remove);
  chosen.append(row);
  waiting.set(item.key, item);
  show(item, form.dataset.ready);
  ask();
}

function send(item) {
  return new Promise((done) => {
    const body = new FormData();
    const plain = ["intent", "entity", "project", "level", "visible_from"].map((n) => [n, form.elements[n].value.trim()]);
    const named = [...form.querySelectorAll("input[name=persons]:checked")].map((e) => ["persons", e.value]);
    for (const [name, value] of [...plain, ...named, ...answers(item)]) if (value) body.append(name, value);
    body.append("gate", item.gate);
    body.append("files", item.file, item.file.name);
    const request = new XMLHttpRequest();
    request.open("POST", "/api/upload");
    request.setRequestHeader("X-CSRF-Token", document.body.dataset.csrf);
    request.setRequestHeader("Idempotency-Key", item.key);
    let silent;
    const watch = () => { clearTimeout(silent); silent = setTimeout(() => request.abort(), SILENCE); };
    watch();
    request.upload.addEventListener("loadend", () => clearTimeout(silent));
    request.upload.addEventListener("progress", (event) => {
      watch();
      if (event.lengthComputable) show(item, `${form.dataset.sending} ${Math.round((100 * event.loaded) / event.total)} %`);
    });
    for (const end of ["error", "abort"]) {
      request.addEventListener(end, () => { clearTimeout(silent); show(item, form.dataset.again); tell(say("lost")); done(false); });
    }
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
  if (result.status === "already_here" && restricted()) item.state.append(` · ${form.dataset.rest}`);
  item.remove.remove();
  waiting.delete(item.key);
  return true;
}

/* Whether anything was said about who may see the files or about rights. */
function restricted() {
  const fields = [...form.querySelectorAll("[name=level], [name=visible_from], [data-right]")];
  return fields.some((e) => e.value) || form.querySelector("input[name=persons]:checked") !== null;
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
  if (all) { form.reset(); ask(); }
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

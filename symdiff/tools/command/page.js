"use strict";
// The page asks the server as one types, and shows answers as text, or as MathML whose elements are known.

const fields = ["formula", "wrt", "shapes", "declared", "kind", "values"];
const at = Object.fromEntries(
  [...fields, "message", "results", "more", "examples", "link"].map((name) => [name, document.getElementById(name)]));

const examples = {
  "Regression": [
    ["sum((X @ w - y)**2) + c * norm(w)**2", "w", "X=m,n w=n y=m c=()"],
    ["sum(log(1 + exp(-y * (X @ w))))", "w", "X=m,n w=n y=m"],
    ["sum(exp(X @ b) - y * (X @ b))", "b", "X=m,n b=n y=m"]],
  "Statistics": [
    ["log(det(S)) + x @ inv(S) @ x", "S", "S=n,n x=n", "S positive_definite"],
    ["-n * log(s) - sum((x - m)**2) / (2 * s**2)", "s, m", "x=5 n=() s=() m=()", "s positive"]],
  "Machine learning": [
    ["logsumexp(A @ x)", "x", "A=m,n x=n"],
    ["softmax(W @ x + b)", "x", "W=m,n x=n b=m"],
    ["sum(tanh(W @ x)**2)", "W", "W=m,n x=n"]],
  "Matrices": [
    ["trace(A @ X @ B @ X.T)", "X", "A=m,m X=m,n B=n,n"],
    ["log(det(A))", "A", "A=n,n"],
    ["trace(inv(A) @ B)", "A", "A=n,n B=n,n"]],
  "Physics": [
    ["sqrt(m**2 + p @ p)", "p", "p=3 m=()"],
    ["4 * e * ((s / norm(x - y))**12 - (s / norm(x - y))**6)", "x", "x=3 y=3 e=() s=()"]],
};

function words(text) { return text.split(/[,;\s]+/).filter(Boolean); }

function question() {
  const declared = {};
  for (const part of at.declared.value.split(";")) {
    const [name, ...facts] = words(part);
    for (const fact of facts) (declared[fact] ??= []).push(name);
  }
  const shapes = at.shapes.value.match(/[^\s=,]+\s*=\s*(\([^)]*\)|[^\s=,]+(?:\s*,\s*[^\s=,]+(?![^\s=,]*\s*=))*)/g) ?? [];
  return {
    formula: at.formula.value, wrt: at.wrt.value.split(",").map((name) => name.trim()).filter(Boolean),
    shapes: shapes.map((one) => one.replaceAll(" ", "")), declared, kind: at.wrt.value.trim() ? at.kind.value : "auto",
  };
}

function values() {
  const found = {};
  for (const [, name, text] of at.values.value.matchAll(/([\p{L}_][\p{L}\p{N}_]*)\s*=\s*(\[[^=]*\]|[^\s=]+)/gu)) {
    found[name] = JSON.parse(text);
  }
  return found;
}

async function ask(name, request, signal) {
  const answer = await fetch(`api/${name}`, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(request), signal });
  const found = await answer.json();
  if (found.error) throw new Error(found.error);
  return found;
}

function say(text, bad = false) {
  at.message.textContent = text;
  at.message.className = bad ? "bad" : "";
}

const MATHML = "http://www.w3.org/1998/Math/MathML";
const known = new Set(("math mrow mi mn mo mtext mspace msup msub msubsup mfrac msqrt mtable mtr mtd mover munder " +
  "munderover").split(" "));

function copied(node) {
  // elements of MathML that are known, with no attributes but how they are set, and text
  if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
  if (node.nodeType !== Node.ELEMENT_NODE || !known.has(node.localName)) return document.createTextNode(node.textContent ?? "");
  const made = document.createElementNS(MATHML, node.localName);
  for (const name of ["columnalign", "display", "displaystyle", "fence", "mathvariant", "separator", "stretchy", "width"]) {
    if (node.hasAttribute(name)) made.setAttribute(name, node.getAttribute(name));
  }
  made.append(...[...node.childNodes].map(copied));
  return made;
}

function show(found) {
  at.results.replaceChildren(...found.results.map((result) => {
    const box = document.createElement("article");
    box.className = "result";
    const head = document.createElement("h2");
    const by = found.kind === "value" ? "" : ` by ${result.wrt}`;
    const sizes = result.shape.join(", ") + (result.shape.length === 1 ? "," : "");
    head.textContent = `${found.kind}${by}, shape (${sizes})`;
    box.append(head);
    const math = copied(new DOMParser().parseFromString(result.mathml, "application/xml").documentElement);
    math.setAttribute("aria-label", result.text);
    box.append(math);
    const code = document.createElement("code");
    code.textContent = result.text;
    box.append(code);
    return box;
  }));
}

function drawn(found) {
  // lines along a number between 0 and 400 × 240, or a square for each nonzero; all that is drawn is numbers
  const part = (name, attributes, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  };
  const [height, width] = found.shape ?? [260, 400];
  const figure = part("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": found.text, class: found.at ? "pattern" : "lines" });
  if (found.at) {
    figure.append(...found.at.map(([row, column]) => part("rect", { x: column + 0.05, y: row + 0.05, width: 0.9, height: 0.9 })));
    return figure;
  }
  const all = Object.values(found.lines).flat().filter((y) => y !== null).sort((a, b) => a - b);
  const low = all[Math.floor(0.02 * all.length)] ?? 0, high = all[Math.ceil(0.98 * (all.length - 1))] ?? 1;
  const place = (y) => 220 - 200 * Math.min(Math.max((y - low) / (high - low || 1), -0.05), 1.05);
  Object.entries(found.lines).forEach(([label, ys], k) => {
    let path = "", apart = true;
    ys.forEach((y, i) => {
      if (y !== null) path += `${apart ? "M" : "L"}${(400 * i / (ys.length - 1)).toFixed(1)} ${place(y).toFixed(1)}`;
      apart = y === null;
    });
    figure.append(part("path", { d: path, class: `line${k % 4}` }), part("text", { x: 4 + 100 * (k % 4), y: 255, class: `line${k % 4}` }, label));
  });
  for (const [y, value] of [[place(high), high], [place(low), low]]) {
    figure.append(part("text", { x: 398, y: y + 4, "text-anchor": "end" }, value.toPrecision(3)));
  }
  return figure;
}

let waiting, running;

function remember() {
  const kept = Object.fromEntries(fields.map((name) => [name, at[name].value]).filter(([, value]) => value));
  history.replaceState(null, "", `#${encodeURIComponent(JSON.stringify(kept))}`);
}

async function derive() {
  running?.abort();
  const own = running = new AbortController();
  remember();
  at.more.hidden = true;
  at.results.className = "";
  if (!at.formula.value.trim()) { at.results.replaceChildren(); say(""); return; }
  try {
    const found = await ask("derive", question(), own.signal);
    show(found);
    say(found.rewrites.length ? `rewritten for accuracy: ${found.rewrites.join(", ")}` : "");
  } catch (error) {
    if (own.signal.aborted) return;
    at.results.className = "old";
    say(error.message, true);
  }
}

function later() { clearTimeout(waiting); waiting = setTimeout(derive, 300); }

async function copy(text, what) {
  try { await navigator.clipboard.writeText(text); say(`copied ${what}`); } catch {
    at.more.textContent = text; at.more.hidden = false; say("the browser does not let the page copy; here it is");
  }
}

async function look(name, more) {
  say("…");
  try {
    const found = await ask(name, { ...question(), ...more() });
    say("");
    return found;
  } catch (error) { say(error.message, true); return null; }
}

for (const name of fields) if (name !== "values") at[name].addEventListener("input", later);
document.getElementById("question").addEventListener("submit", (event) => { event.preventDefault(); derive(); });
document.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) derive(); });
at.link.addEventListener("click", () => { remember(); copy(location.href, "the link"); });
for (const button of document.querySelectorAll("[data-form]")) {
  button.addEventListener("click", async () => {
    const found = await look("copy", () => ({ form: button.dataset.form }));
    if (found) { at.more.textContent = found.text; at.more.hidden = false; copy(found.text, button.textContent); }
  });
}
for (const button of document.querySelectorAll("[data-question]")) {
  button.addEventListener("click", async () => {
    const found = await look(button.dataset.question, () => (button.dataset.question === "steps" ? {} : { values: values() }));
    if (!found) return;
    at.more.replaceChildren(...(found.lines || found.at ? [drawn(found)] : []), found.text);
    at.more.hidden = false;
    at.more.focus();
  });
}

function take(kept) {
  for (const name of fields) at[name].value = typeof kept[name] === "string" ? kept[name] : name === "kind" ? "auto" : "";
  if (!at.kind.value) at.kind.value = "auto";
  derive();
}

for (const [field, rows] of Object.entries(examples)) {
  const head = document.createElement("h3"), list = document.createElement("div");
  head.textContent = field;
  for (const [formula, wrt, shapes, declared = ""] of rows) {
    const button = document.createElement("button");
    button.textContent = formula;
    button.addEventListener("click", () => { take({ formula, wrt, shapes, declared }); at.formula.focus(); });
    list.append(button);
  }
  at.examples.append(head, list);
}

function fromLink() {
  let kept = {};
  try { kept = JSON.parse(decodeURIComponent(location.hash.slice(1))) ?? {}; } catch { /* no link of this page */ }
  if (typeof kept.formula === "string") take(kept);
  else take({ formula: "log(det(A)) + x @ inv(A) @ x", wrt: "A, x", shapes: "A=n,n x=n" });
}
window.addEventListener("hashchange", fromLink);
fromLink();

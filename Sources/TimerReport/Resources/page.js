"use strict";
// Shows what the reader chose, and keeps it in the address, so that a reload and a posted link show the same.
(() => {
const root = document.documentElement;
const all = selector => [...document.querySelectorAll(selector)];
const peers = document.getElementById("peers");
const loads = all("[name=load]");
const details = all("details");
const boxes = all("[data-show]");
// A part is open, and a line is shown or hidden by its box, under every load at once.
const open = new Set(), changed = new Set();
let theme = "";

const show = () => {
  const chosen = loads.find(input => input.checked)?.value;
  for (const section of all("section.load")) {
    section.classList.toggle("off", chosen !== undefined && section.dataset.load !== chosen);
  }
  for (const part of details) part.open = open.has(part.dataset.open);
  for (const box of boxes) box.checked = box.defaultChecked !== changed.has(box.dataset.show);
  const shown = new Set(boxes.filter(box => box.checked).map(box => box.dataset.show));
  for (const line of all("path[data-row]")) line.classList.toggle("off", !shown.has(line.dataset.row));
  if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
};

const keep = () => {
  const choices = new URLSearchParams();
  const load = loads.find(input => input.checked && !input.defaultChecked);
  if (load) choices.set("load", load.value);
  if (peers && peers.checked !== peers.defaultChecked) choices.set("peers", peers.checked ? "1" : "0");
  for (const name of open) choices.append("open", name);
  for (const name of changed) choices.append("change", name);
  if (theme) choices.set("theme", theme);
  const text = String(choices);
  if (text !== location.hash.slice(1)) {
    history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
  }
};

const read = () => {
  const choices = new URLSearchParams(location.hash.slice(1));
  for (const input of loads) input.checked = input.defaultChecked;
  for (const input of loads) if (input.value === choices.get("load")) input.checked = true;
  if (peers) peers.checked = choices.has("peers") ? choices.get("peers") === "1" : peers.defaultChecked;
  for (const [names, key] of [[open, "open"], [changed, "change"]]) {
    names.clear();
    for (const name of choices.getAll(key)) names.add(name);
  }
  theme = ["light", "dark"].includes(choices.get("theme")) ? choices.get("theme") : "";
  show();
};

const change = (names, name, isIn) => {
  if (isIn) names.add(name); else names.delete(name);
  show();
  keep();
};
// Before the part opens or closes by itself.
for (const part of details) {
  part.querySelector("summary").addEventListener("click", event => {
    event.preventDefault();
    change(open, part.dataset.open, !part.open);
  });
}
for (const box of boxes) {
  box.addEventListener("change", () => change(changed, box.dataset.show, box.checked !== box.defaultChecked));
}
for (const input of [...loads, peers].filter(Boolean)) {
  input.addEventListener("change", () => { show(); keep(); });
}
document.getElementById("theme").addEventListener("click", () => {
  const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  theme = isDark ? "light" : "dark";
  show();
  keep();
});
addEventListener("hashchange", read);
// Paper has no parts to open.
addEventListener("beforeprint", () => { for (const part of details) part.open = true; });
addEventListener("afterprint", show);
root.dataset.script = "runs";
read();
})();

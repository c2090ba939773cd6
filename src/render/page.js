"use strict";
// Sorts a table by a column: up, down, and as it was; leaves out rows of a long one. Nothing depends on it.
const units = { y: 31536000, d: 86400, h: 3600, m: 60, s: 1 };
const value = (text, words) => {
  const word = words.indexOf(text);
  if (word >= 0) return word;
  if (/^\x3c(none|unknown)>$/.test(text)) return null;
  if (text === "now") return 0;
  if (/^\+?(\d+[ydhms])+$/.test(text))
    return [...text.matchAll(/(\d+)(.)/g)].reduce((sum, [, number, unit]) => sum + number * units[unit], 0);
  const number = parseFloat(text);
  return /^[+-]?\d/.test(text) && !/^\d+[^\d\s+%.(-]/.test(text) ? number : text;
};
const compare = (one, other) => {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other), "en", { numeric: true });
};
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const first = [...body.rows];
  if (!table.tHead || 2 > first.length) continue;
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, place) => {
    const words = (header.dataset.words || "").split(",");
    const button = document.createElement("button");
    button.textContent = header.textContent;
    button.title = "sort";
    button.onclick = () => {
      const next = { ascending: "descending", descending: null }[header.ariaSort];
      const order = next === undefined ? "ascending" : next;
      for (const other of headers) other.removeAttribute("aria-sort");
      if (order) header.setAttribute("aria-sort", order);
      const sign = order === "descending" ? -1 : 1;
      const key = (row) => value(row.cells[place].textContent, words);
      // What is not known or not there comes last either way.
      const sorted = (one, other) => {
        const [left, right] = [key(one), key(other)];
        if (left === null || right === null) return (left === null) - (right === null);
        return sign * compare(left, right);
      };
      body.append(...(order ? [...first].sort(sorted) : first));
    };
    header.replaceChildren(button);
  });
  if (13 > first.length) continue;
  const texts = new Map(first.map((row) => [row, row.textContent.toLowerCase()]));
  const field = document.createElement("input");
  const shown = document.createElement("output");
  field.type = "search";
  field.placeholder = "filter: words, all of them";
  field.setAttribute("aria-label", "Show only rows with these words");
  field.oninput = () => {
    const words = field.value.toLowerCase().split(/\s+/);
    let number = 0;
    for (const [row, text] of texts) {
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) number += 1;
    }
    shown.textContent = number === first.length ? "" : `${number} of ${first.length} rows`;
  };
  table.parentElement.before(field, shown);
}

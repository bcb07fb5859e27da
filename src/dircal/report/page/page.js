"use strict";
// Everything is on the page without this script; it sorts, chooses and reads out.

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  heads.forEach((head, column) => {
    if (head.classList.contains("fixed")) return;
    const button = document.createElement("button");
    button.type = "button";
    // The words stay text: on paper, headers that repeat on every page leave out buttons.
    button.setAttribute("aria-label", "Sort by " + head.textContent);
    head.append(button);
    button.addEventListener("click", () => {
      const numeric = head.classList.contains("num");
      const old = head.getAttribute("aria-sort");
      const ascending = old ? old === "descending" : !numeric;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const key = (row) => row.cells[column].dataset.value;
      const compare = numeric
        ? (a, b) => Number(a) - Number(b)
        : (a, b) => a.localeCompare(b, undefined, { numeric: true });
      const rows = [...body.rows].sort((a, b) => {
        const x = key(a), y = key(b);
        // Rows without a value stay last, whatever the direction.
        if (x === "" || y === "") return (x === "") - (y === "");
        return ascending ? compare(x, y) : compare(y, x);
      });
      body.append(...rows);
    });
  });
}

function choosable(panels, picker, links) {
  const show = (number) => {
    for (const panel of panels.children) {
      panel.classList.toggle("shown", panel.id === "class-" + number);
    }
    for (const link of links) {
      link.closest("tr").classList.toggle("shown", link.hash === "#class-" + number);
    }
    picker.value = number;
  };
  panels.classList.add("live");
  picker.parentElement.hidden = false;
  picker.addEventListener("change", () => show(picker.value));
  for (const link of links) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      show(link.hash.slice("#class-".length));
      picker.parentElement.scrollIntoView({ block: "nearest" });
      picker.focus({ preventScroll: true });
    });
  }
  const wanted = location.hash.startsWith("#class-") ? location.hash.slice(7) : picker.value;
  show(document.getElementById("class-" + wanted) ? wanted : picker.value);
}

function readable(diagram) {
  const bins = [...diagram.querySelectorAll(".bin")];
  const readout = diagram.parentElement.querySelector(".readout");
  let current = -1;
  const read = (i) => {
    bins.forEach((bin, j) => bin.classList.toggle("read", j === i));
    current = i;
    readout.textContent = i < 0 ? "" : bins[i].querySelector("title").textContent;
  };
  bins.forEach((bin, i) => {
    bin.addEventListener("pointerenter", () => read(i));
    bin.addEventListener("click", () => read(i));
  });
  diagram.addEventListener("blur", () => read(-1));
  diagram.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || bins.length === 0) return;
    event.preventDefault();
    read(Math.min(Math.max(current + step, 0), bins.length - 1));
  });
}

document.querySelectorAll("table[data-sortable]").forEach(sortable);
const panels = document.querySelector(".panels");
choosable(panels, document.getElementById("class-picker"), document.querySelectorAll(".classes tbody a"));
document.querySelectorAll(".diagram").forEach(readable);

// Sorts a table by the header that is pressed: one way, the other way, and back to the order of the report.
(() => {
  const other = { ascending: "descending", descending: "ascending" };

  // Numbers in full precision come before words, and nothing comes last, whichever way.
  const keyOf = (cell) => {
    if (cell.dataset.value !== undefined) return { rank: 0, value: Number(cell.dataset.value) };
    const text = cell.textContent.trim();
    return text ? { rank: 1, value: text } : { rank: 2, value: "" };
  };

  const compare = (a, b, sign) => {
    if (a.key.rank !== b.key.rank) return a.key.rank - b.key.rank;
    const order = a.key.rank === 0 ? a.key.value - b.key.value : a.key.value.localeCompare(b.key.value, "en", { numeric: true });
    return sign * order || a.place - b.place;
  };

  const nextOrder = (header) => {
    const current = header.getAttribute("aria-sort");
    const first = header.dataset.first;
    if (!current) return first;
    return current === first ? other[first] : null;
  };

  const sort = (table, rows, headers, column) => {
    const order = nextOrder(headers[column]);
    for (const header of headers) header.removeAttribute("aria-sort");
    table.classList.toggle("sorted", order !== null);
    let sorted = rows;
    if (order) {
      headers[column].setAttribute("aria-sort", order);
      const keyed = rows.map((row, place) => ({ row, place, key: keyOf(row.cells[column]) }));
      sorted = keyed.sort((a, b) => compare(a, b, order === "ascending" ? 1 : -1)).map(({ row }) => row);
    }
    table.tBodies[0].append(...sorted);
  };

  for (const table of document.querySelectorAll(".table table")) {
    const rows = [...table.tBodies[0].rows];
    const headers = [...table.tHead.rows[0].cells];
    if (rows.length < 2) continue;
    headers.forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => sort(table, rows, headers, column));
    });
  }
})();

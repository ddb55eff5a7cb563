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

  // A table that is wider than its place says so, and where there is more of it.
  const watch = (scroll) => {
    const hint = document.createElement("p");
    hint.className = "scroll-hint";
    hint.textContent = "Scroll the table sideways to see all columns \u2192";
    scroll.after(hint);
    const update = () => {
      const rest = scroll.scrollWidth - scroll.clientWidth;
      scroll.parentElement.classList.toggle("more", rest > 1);
      scroll.classList.toggle("more-right", rest - scroll.scrollLeft > 1);
      if (rest > 1) scroll.setAttribute("tabindex", "0");
      else scroll.removeAttribute("tabindex");
    };
    scroll.addEventListener("scroll", update, { passive: true });
    new ResizeObserver(update).observe(scroll);
    update();
  };
  document.querySelectorAll(".scroll").forEach(watch);

  // The navigation marks the section that is read.
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const mark = (entries) => {
    const seen = entries.filter((entry) => entry.isIntersecting).map((entry) => links.get(entry.target.id)).filter(Boolean);
    if (seen.length === 0) return;
    for (const link of links.values()) link.removeAttribute("aria-current");
    seen[0].setAttribute("aria-current", "true");
  };
  const observer = new IntersectionObserver(mark, { rootMargin: "-10% 0px -75% 0px" });
  document.querySelectorAll("main > section").forEach((section) => observer.observe(section));
})();

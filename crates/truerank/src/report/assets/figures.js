// What figures tell when asked: values under a pointer or the arrow keys, series that come and go, and their SVG as a file.
(() => {
  const svgElement = (tag, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const htmlElement = (tag, className, text) => {
    const element = document.createElement(tag);
    element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };

  const bubble = document.querySelector("body > .bubble");
  // Takes away what its owner drew beside the bubble.
  let undo = () => {};
  const hide = () => {
    bubble.hidden = true;
    undo();
    undo = () => {};
  };
  // Beside a point of the window, on whichever side there is room; where there is none, below what it tells about.
  const showAt = (x, y, content, undoOwner = () => {}, below = y + 24, alwaysBelow = false) => {
    hide();
    undo = undoOwner;
    bubble.replaceChildren(...content);
    bubble.hidden = false;
    // Where it was before must not bound how wide it can be.
    bubble.style.left = bubble.style.top = "0";
    const { offsetWidth: width, offsetHeight: height } = bubble;
    const right = document.documentElement.clientWidth;
    const sides = alwaysBelow ? [] : [x + 16, x - 16 - width];
    const beside = sides.find((place) => place > 4 && place + width + 4 < right);
    const left = beside ?? x - width / 2;
    const top = Math.max(8, Math.min(beside === undefined ? below : y - height / 2, innerHeight - height - 8));
    bubble.style.left = `${Math.max(4, Math.min(left, right - width - 4)) + scrollX}px`;
    bubble.style.top = `${top + scrollY}px`;
  };

  // A finger leaves whenever it is lifted: what it touched stays, until it touches something else.
  const leave = (event) => {
    if (event.pointerType !== "touch") hide();
  };
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest("svg.chart, [data-tip]")) hide();
  });

  // Titles become bubbles, which appear at once and on touch.
  const upgradeTips = (svg) => {
    const texts = new Map();
    for (const tip of svg.querySelectorAll(".tip")) {
      const title = [...tip.children].find((child) => child.tagName === "title");
      texts.set(tip, title.textContent);
      title.remove();
    }
    if (texts.size === 0) return;
    const show = (event) => {
      const tip = event.target.closest(".tip");
      if (texts.has(tip)) showAt(event.clientX, event.clientY, [htmlElement("span", "", texts.get(tip))]);
      else hide();
    };
    svg.addEventListener("pointermove", show);
    svg.addEventListener("pointerdown", show);
    svg.addEventListener("pointerleave", leave);
  };

  // Points of all series that are shown, by their place on the horizontal axis.
  const columnsOf = (svg) => {
    const columns = new Map();
    for (const point of svg.querySelectorAll(".series:not(.off) [data-px]")) {
      const x = Number(point.dataset.px);
      if (!columns.has(x)) columns.set(x, []);
      columns.get(x).push(point);
    }
    const byHeight = (a, b) => Number(a.dataset.py) - Number(b.dataset.py);
    return [...columns].sort(([a], [b]) => a - b).map(([x, points]) => ({ x, points: points.sort(byHeight) }));
  };

  const lineOf = (point) => {
    const series = point.closest(".series");
    const line = htmlElement("div", "line");
    const looks = [...series.classList].filter((name) => name.startsWith("c-") || name === "paper" || name === "reference");
    line.append(
      htmlElement("span", `swatch ${looks.join(" ")}`),
      htmlElement("span", "", series.dataset.name),
      htmlElement("span", "", point.dataset.y),
    );
    return line;
  };

  const upgradeCurves = (svg) => {
    const [left, top, right, bottom] = svg.dataset.plot.split(" ").map(Number);
    const crosshair = svgElement("path", { class: "crosshair added", d: "" });
    const probe = svgElement("rect", {
      class: "probe added", x: left, y: top, width: right - left, height: bottom - top,
      tabindex: 0, role: "img", "aria-label": `${svg.getAttribute("aria-label")} Arrow keys read values.`,
    });
    svg.setAttribute("role", "group");
    svg.append(crosshair, probe);
    let current = -1;

    const undoShow = () => {
      crosshair.setAttribute("d", "");
      for (const point of svg.querySelectorAll(".near")) point.classList.remove("near");
    };
    const show = (index, y) => {
      const columns = columnsOf(svg);
      if (columns.length === 0) return hide();
      current = Math.min(Math.max(index, 0), columns.length - 1);
      const { x, points } = columns[current];
      const place = new DOMPoint(x, (top + bottom) / 2).matrixTransform(svg.getScreenCTM());
      const end = new DOMPoint(x, bottom + 30).matrixTransform(svg.getScreenCTM());
      const content = [htmlElement("b", "", points[0].dataset.x), ...points.map(lineOf)];
      showAt(place.x, y ?? place.y, content, undoShow, end.y);
      crosshair.setAttribute("d", `M${x} ${top}V${bottom}`);
      for (const point of points) point.classList.add("near");
    };
    const follow = (event) => {
      const { x } = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const distances = columnsOf(svg).map((column) => Math.abs(column.x - x));
      show(distances.indexOf(Math.min(...distances)), event.clientY);
    };
    const keys = {
      ArrowRight: () => show(current + 1),
      ArrowLeft: () => show(current - 1),
      Home: () => show(0),
      End: () => show(Infinity),
      Escape: hide,
    };
    probe.addEventListener("pointermove", follow);
    probe.addEventListener("pointerdown", follow);
    probe.addEventListener("pointerleave", leave);
    probe.addEventListener("blur", hide);
    probe.addEventListener("keydown", (event) => {
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
  };

  const upgradeKeys = (figure) => {
    const toggle = (number) => {
      for (const part of figure.querySelectorAll(".lines [data-series]")) {
        if (part.dataset.series !== number) continue;
        const off = part.classList.toggle("off");
        if (part.classList.contains("key")) part.setAttribute("aria-pressed", String(!off));
      }
    };
    for (const key of figure.querySelectorAll(".lines .key")) {
      key.setAttribute("role", "button");
      key.setAttribute("tabindex", "0");
      key.setAttribute("aria-pressed", "true");
      key.setAttribute("aria-label", key.dataset.name);
      key.addEventListener("click", () => toggle(key.dataset.series));
      key.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        toggle(key.dataset.series);
      });
    }
  };

  // The drawing that is seen, with its style, less what only a page needs.
  const fileOf = (svg) => {
    const copy = svg.cloneNode(true);
    for (const part of copy.querySelectorAll(".added, .off")) part.remove();
    for (const part of copy.querySelectorAll(".near")) part.classList.remove("near");
    const { width, height } = svg.viewBox.baseVal;
    const style = svgElement("style", {});
    style.textContent = document.querySelector("style[data-figure-style]").textContent;
    copy.prepend(style, svgElement("rect", { class: "fill c-surface", width, height }));
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    copy.setAttribute("role", "img");
    return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
  };

  const addSave = (figure) => {
    const button = htmlElement("button", "save", "SVG");
    button.type = "button";
    button.title = "Save this figure";
    button.addEventListener("click", () => {
      const seen = [...figure.querySelectorAll("svg.chart")].find((svg) => svg.getClientRects().length > 0);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(fileOf(seen));
      link.download = `${figure.dataset.name}.svg`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    });
    figure.querySelector("figcaption").append(" ", button);
  };

  // Words of the field explain themselves under a pointer, a finger or the focus.
  for (const word of document.querySelectorAll("[data-tip]")) {
    const show = () => {
      const { left, right, bottom, top } = word.getBoundingClientRect();
      const content = [htmlElement("b", "", word.textContent.trim()), htmlElement("span", "", word.dataset.tip)];
      showAt((left + right) / 2, top, content, undefined, bottom + 8, true);
    };
    word.addEventListener("pointerenter", show);
    word.addEventListener("focus", show);
    word.addEventListener("pointerleave", leave);
    word.addEventListener("blur", hide);
    word.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
    });
  }

  for (const figure of document.querySelectorAll("figure.figure")) {
    for (const svg of figure.querySelectorAll("svg.chart")) {
      upgradeTips(svg);
      if (svg.dataset.plot) upgradeCurves(svg);
    }
    upgradeKeys(figure);
    addSave(figure);
  }
})();

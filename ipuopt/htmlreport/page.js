// Draws what the reader picks into the sources of the plots. Names are those of the *_plots.py.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const types = { Uint8Array, Uint16Array, Uint32Array, Int32Array };
  const roleColour = (role) => data.colours[role % data.colours.length];
  const element = (id) => document.getElementById(id);
  const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u00a0");

  // A packed column is [type, base64]; it is unpacked when it is first used.
  const unpacked = new WeakMap();
  function column(packed) {
    if (!unpacked.has(packed)) {
      const bytes = Uint8Array.from(atob(packed[1]), (letter) => letter.charCodeAt(0));
      unpacked.set(packed, new types[packed[0]](bytes.buffer));
    }
    return unpacked.get(packed);
  }

  let models;
  const model = (name) => models.get_model_by_name(name);
  const fill = (name, columns) => { model(name).data = columns; };
  function range(name, start, end, axis) {
    const found = model(name)[axis];
    found.setv({ start, end });
  }

  // Tables: a click on a title sorts by it, a second one the other way.
  function sortBy(table, index) {
    const title = table.tHead.rows[0].cells[index];
    const down = title.getAttribute("aria-sort") === "ascending";
    for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
    title.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => {
      const cell = row.cells[index];
      return cell.dataset.order === undefined ? cell.textContent : Number(cell.dataset.order);
    };
    const rows = [...table.tBodies[0].rows].sort((one, other) => {
      const [a, b] = [key(one), key(other)];
      return (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1);
    });
    table.tBodies[0].append(...rows);
  }
  for (const table of document.querySelectorAll("table")) {
    [...table.tHead.rows[0].cells].forEach((cell, index) => {
      cell.querySelector("button").addEventListener("click", () => sortBy(table, index));
    });
  }
  function rowsOf(id, rows) {
    const body = document.createElement("tbody");
    for (const cells of rows) {
      const row = body.insertRow();
      for (const [text, order] of cells) {
        const cell = row.insertCell();
        cell.textContent = text;
        if (order === undefined) cell.className = "word"; else cell.dataset.order = order;
      }
    }
    element(id).tBodies[0].replaceWith(body);
  }

  // Floor plan. Physical numbers count along the rows of the chip, 64 in each.
  let tile = 0;
  const place = (number) => { const p = column(data.physical)[number]; return [p % 64, Math.floor(p / 64)]; };
  function fieldValues(field) {
    const [kind, phase] = field.split(":");
    return column(phase === undefined ? data[kind] : data.phases[phase][kind]);
  }
  function drawFloor() {
    const values = fieldValues(element("field").value);
    const numbers = Array.from({ length: data.tiles }, (_, index) => index);
    fill("floor_tiles", {
      x: numbers.map((number) => place(number)[0]), y: numbers.map((number) => place(number)[1]),
      tile: numbers, value: Array.from(values),
    });
    const high = values.reduce((a, b) => Math.max(a, b), 0);
    model("floor_colours").setv({ low: values.reduce((a, b) => Math.min(a, b), high), high: Math.max(1, high) });
  }
  function move(dx, dy) {
    const [x, y] = place(tile);
    for (let step = 1; step < 64; step++) {
      for (let number = 0; number < data.tiles; number++) {
        const [nx, ny] = place(number);
        if (nx === x + dx * step && ny === y + dy * step) return pick(number);
      }
    }
  }

  // Memory of the picked tile.
  function shardsOf(number) {
    const first = column(data.shards.first);
    const found = [];
    for (let i = first[number]; i < first[number + 1]; i++) {
      const at = (name) => column(data.shards[name])[i];
      found.push({ address: at("address"), size: at("size"), start: at("start"), stop: at("stop"),
        value: data.values[at("value")], role: at("role"), class: at("interleaved") ? "interleaved" : "standard" });
    }
    return found;
  }
  const hexadecimal = (number) => "0x" + number.toString(16);
  function drawMemory() {
    const shards = shardsOf(tile);
    fill("memory_shards", {
      left: shards.map((s) => s.start), right: shards.map((s) => s.stop),
      bottom: shards.map((s) => s.address), top: shards.map((s) => s.address + s.size),
      colour: shards.map((s) => roleColour(s.role)), value: shards.map((s) => s.value),
      role: shards.map((s) => data.roles[s.role]), class: shards.map((s) => s.class),
      line: shards.map((s) => (s.class === "interleaved" ? 2.5 : 0.5)), size: shards.map((s) => s.size),
      address: shards.map((s) => hexadecimal(s.address)),
    });
    const boundary = column(data.boundary)[tile], bands = model("memory_bands").data;
    model("memory_boundary").location = boundary;
    // Of the upper memory, what lies below the boundary is of the interleaved class.
    fill("memory_bands", { ...bands, top: [...bands.top.slice(0, 2), boundary, bands.top[3]],
      bottom: [...bands.bottom.slice(0, 3), boundary] });
    const live = new Array(data.steps.length + 1).fill(0);
    for (const s of shards) for (let step = s.start; step < s.stop; step++) live[step] += s.size;
    if (live.length > 1) live[live.length - 1] = live[live.length - 2];
    fill("live_bytes", { x: live.map((_, step) => step), y: live });
    rowsOf("buffers", shards.map((s) => [[hexadecimal(s.address), s.address], [grouped(s.size), s.size],
      [`${s.start} to ${s.stop}`, s.start], [s.value], [data.roles[s.role]], [s.class]]));
    return live.reduce((a, b) => Math.max(a, b), 0);
  }
  function drawRuns() {
    const first = column(data.work.first), rows = [];
    for (let i = first[tile]; i < first[tile + 1]; i++) {
      const step = column(data.work.step)[i], cycles = column(data.work.cycles)[i];
      rows.push([[String(step), step], [data.steps[step]], [data.work.names[column(data.work.kind)[i]]],
        [grouped(cycles), cycles]]);
    }
    rowsOf("runs", rows);
  }
  function pick(number) {
    if (!Number.isInteger(number) || number < 0 || number >= data.tiles) return;
    tile = number;
    const [x, y] = place(tile);
    fill("floor_picked", { x: [x], y: [y] });
    element("tile").value = tile;
    for (const span of document.querySelectorAll(".tile-number")) span.textContent = tile;
    const peak = drawMemory();
    drawRuns();
    const words = data.phases.map((phase) =>
      `${phase.name}: ${grouped(column(phase.sent)[tile])} words sent, ${grouped(column(phase.received)[tile])} received`);
    element("picked").textContent = [`Tile ${tile}, row ${y}, position ${x}: ${grouped(column(data.used)[tile])} bytes used, ` +
      `at most ${grouped(peak)} live, ${grouped(column(data.busy)[tile])} busy cycles`, ...words].join("; ") + ".";
    if (element("with-picked").checked) drawPhase();
  }

  // Bus windows of the chosen phase: three lanes a tile.
  function drawPhase() {
    const phase = data.phases[Number(element("phase").value)];
    if (phase === undefined) return;
    const shown = phase.critical.slice(0, 8);
    if (element("with-picked").checked && !shown.includes(tile)) shown.unshift(tile);
    const chain = new Set(phase.chain.map((link) => link[0]));
    const found = { left: [], right: [], bottom: [], top: [], colour: [], tile: [], bus: [], transfer: [], sender: [], line: [] };
    const first = column(phase.first);
    shown.forEach((number, lane) => {
      for (let i = first[number]; i < first[number + 1]; i++) {
        const bus = column(phase.bus)[i], transfer = column(phase.transfer)[i], start = column(phase.start)[i];
        found.left.push(start); found.right.push(start + column(phase.length)[i]);
        found.top.push(4 * lane + bus); found.bottom.push(4 * lane + bus + 0.9);
        found.bus.push(data.buses[bus][0]); found.colour.push(data.buses[bus][1]); found.tile.push(number);
        found.transfer.push(transfer); found.sender.push(column(phase.from)[transfer]);
        found.line.push(chain.has(transfer) ? "#000000" : null);
      }
    });
    fill("bus_windows", found);
    const lanes = 4 * shown.length;
    model("bus_axis").major_label_overrides = new Map(shown.map((number, lane) => [4 * lane + 1.5, `tile ${number}`]));
    model("bus_ticker").ticks = shown.map((_, lane) => 4 * lane + 1.5);
    range("bus", 0, 1.02 * phase.horizon, "x_range");
    range("bus", lanes, -0.5, "y_range");
    model("bus_horizon").location = phase.horizon;
    model("bus_bound").setv({ location: phase.bound ?? 0, visible: phase.bound !== null });
    const waits = phase.chain.reduce((sum, link) => sum + link[1], 0);
    const bound = phase.bound === null ? "no bound is proven" : `at least ${grouped(phase.bound)} by ${phase.source}`;
    element("phase-words").textContent = `${phase.name} ends at ${grouped(phase.horizon)}; ${bound}. The chain that ends it has ` +
      `${phase.chain.length} transfers, each after the bus that got free last before it; they waited ${grouped(waits)} events in all.` +
      (phase.complete ? "" : " Windows are kept for the critical tiles only: the phase is too large for a page.");
    const picture = model("density_pictures").data.image[Number(element("phase").value)];
    fill("density_image", { image: [picture], x: [0], y: [0], dw: [phase.horizon], dh: [data.tiles] });
    range("density", 0, phase.horizon, "x_range");
    range("density", 0, data.tiles, "y_range");
  }

  function drawSolve() {
    const solve = data.solves[Number(element("solve").value)];
    if (solve === undefined) return;
    for (const name of ["objective", "bound"]) {
      const kept = solve.time.map((time, i) => [time, solve[name][i]]).filter((point) => point[1] !== null);
      fill(`solve_${name}`, { x: kept.map((point) => point[0]), y: kept.map((point) => point[1]) });
    }
    model("solve_axis").axis_label = solve.unit;
    const values = [...solve.objective, ...solve.bound].filter((value) => value !== null);
    const low = Math.min(...values), high = Math.max(...values), room = Math.max(1, 0.1 * (high - low));
    range("convergence", 0, 1.05 * Math.max(0.01, ...solve.time), "x_range");
    range("convergence", low - room, high + room, "y_range");
  }

  function start() {
    models = Bokeh.documents[0];
    element("roles").append(...data.roles.map((role, index) => {
      const span = document.createElement("span"), box = document.createElement("i");
      box.style.background = roleColour(index);
      span.append(box, role);
      return span;
    }));
    const longest = data.phases.reduce((most, phase, index) => (phase.horizon > data.phases[most].horizon ? index : most), 0);
    if (data.phases.length > 0) element("phase").value = longest;
    drawFloor(); drawPhase(); drawSolve();
    const worst = document.querySelector("#worst tbody tr");
    pick(worst === null ? 0 : Number(worst.dataset.tile));
    model("floor_tiles").selected.properties.indices.change.connect(() => {
      const chosen = model("floor_tiles").selected.indices;
      if (chosen.length > 0) pick(chosen[0]);
    });
    element("field").addEventListener("change", drawFloor);
    element("phase").addEventListener("change", drawPhase);
    element("with-picked").addEventListener("change", drawPhase);
    element("solve").addEventListener("change", drawSolve);
    element("tile").addEventListener("input", () => pick(element("tile").valueAsNumber));
    element("floor-keys").addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      if (event.key in steps) { event.preventDefault(); move(...steps[event.key]); }
    });
    for (const row of document.querySelectorAll("tr.pickable")) {
      row.addEventListener("click", () => pick(Number(row.dataset.tile)));
      row.addEventListener("keydown", (event) => { if (event.key === "Enter") pick(Number(row.dataset.tile)); });
    }
    for (const form of document.querySelectorAll("form")) form.addEventListener("submit", (event) => event.preventDefault());
    document.body.dataset.ready = "yes";
  }
  const wait = () => (window.Bokeh && Bokeh.documents.length > 0 ? start() : setTimeout(wait, 10));
  wait();
})();

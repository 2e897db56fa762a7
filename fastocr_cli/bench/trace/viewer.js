"use strict";
// Replays one page's reading. Text enters the document as text nodes only; nothing is loaded.
(() => {
  const byId = (id) => document.getElementById(id);
  const trace = JSON.parse(byId("trace").textContent);
  const FULL = 65534, UNKNOWN = 65535;
  const TOKENS_PER_SECOND = 30, TRAIL = 8, TRAIL_LOOKS = 8;

  const bytesOf = (packed) => Uint8Array.from(atob(packed), (c) => c.charCodeAt(0)).buffer;
  const shares = (packed) => new Uint16Array(bytesOf(packed));
  const boxes = shares(trace.boxes), places = shares(trace.places);
  const looked = trace.indexBits === 32
    ? new Uint32Array(bytesOf(trace.looked)) : new Uint16Array(bytesOf(trace.looked));
  const seen = shares(trace.shares), kept = shares(trace.kept), mass = shares(trace.mass);
  const last = trace.steps - 1;

  // --- the text: runs of letters and of white space, each knowing which steps wrote it; a line
  // is a block of its own, so that a word that grows makes the browser lay out one line only

  const text = byId("text");
  const units = [];
  const unitOf = new Int32Array(trace.steps);

  trace.pieces.forEach((piece, step) => {
    for (const part of piece.split(/(\s+)/)) {
      if (!part) continue;
      const kind = /\s/.test(part) ? "gap" : "word";
      let unit = units[units.length - 1];
      if (!unit || unit.kind !== kind) {
        unit = { kind, first: step, last: step, parts: [], element: document.createElement("span") };
        units.push(unit);
      }
      unit.parts.push([step, part]);
      unit.last = step;
    }
    unitOf[step] = units.length - 1;
  });
  let line = null;
  units.forEach((unit, index) => {
    if (!line) text.append(line = document.createElement("div"));
    unit.whole = unit.parts.map(([, part]) => part).join("");
    unit.element.textContent = unit.whole;
    unit.element.className = unit.kind + " unread";
    if (unit.kind === "word") unit.element.dataset.unit = index;
    line.append(unit.element);
    if (unit.whole.includes("\n")) line = null;
  });

  let shown = 0, partial = null, now = null;

  function write(step) {
    if (partial) partial.element.textContent = partial.whole;
    while (shown < units.length && units[shown].first <= step) {
      units[shown].element.className = units[shown].kind;
      shown++;
    }
    while (shown > 0 && units[shown - 1].first > step) {
      shown--;
      units[shown].element.className = units[shown].kind + " unread";
    }
    if (now) now.element.classList.remove("now");
    now = shown ? units[shown - 1] : null;
    partial = now && now.last > step ? now : null;
    if (partial) {
      const written = partial.parts.filter(([at]) => at <= step);
      partial.element.textContent = written.map(([, part]) => part).join("");
    }
    if (now && now.kind === "word") now.element.classList.add("now");
    if (now) follow(now.element);
  }

  function follow(element) {
    const top = element.offsetTop - text.offsetTop;
    if (top < text.scrollTop || top > text.scrollTop + text.clientHeight - 48) {
      text.scrollTop = top - text.clientHeight / 3;
    }
  }

  // --- the heat

  const picture = byId("picture"), heat = byId("heat"), page = byId("page");
  const brush = heat.getContext("2d");
  const glow = document.createElement("canvas");
  glow.width = glow.height = 64;
  const ink = glow.getContext("2d");
  const fade = ink.createRadialGradient(32, 32, 0, 32, 32, 32);
  fade.addColorStop(0, "rgb(255 96 0 / 95%)");
  fade.addColorStop(0.45, "rgb(255 150 0 / 60%)");
  fade.addColorStop(1, "rgb(255 190 0 / 0%)");
  ink.fillStyle = fade;
  ink.fillRect(0, 0, 64, 64);

  function paintStep(step, strength, looks = trace.looks) {
    const start = step * trace.looks;
    let most = 1;
    for (let k = 0; k < looks; k++) most = Math.max(most, seen[start + k]);
    for (let k = 0; k < looks; k++) {
      const index = looked[start + k] - 1;
      if (index < 0 || !seen[start + k]) continue;
      const [x, y, w, h] = rectangle(boxes, index);
      brush.globalAlpha = strength * Math.sqrt(seen[start + k] / most);
      brush.drawImage(glow, x - w * 0.8, y - h * 0.8, w * 2.6, h * 2.6);
    }
    brush.globalAlpha = 1;
  }

  function rectangle(values, index) {
    const [x0, y0, x1, y1] = values.subarray(4 * index, 4 * index + 4);
    const across = heat.width / FULL, down = heat.height / FULL;
    return [x0 * across, y0 * down, (x1 - x0) * across, (y1 - y0) * down];
  }

  function outline(step) {
    if (places[4 * step] === UNKNOWN) return;
    brush.strokeStyle = "#1f5f99";
    brush.lineWidth = 2 * devicePixelRatio;
    brush.strokeRect(...rectangle(places, step));
  }

  function paint(step) {
    brush.clearRect(0, 0, heat.width, heat.height);
    const looks = Math.min(TRAIL_LOOKS, trace.looks);
    for (let age = Math.min(TRAIL, step); age > 0; age--) {
      paintStep(step - age, 0.35 * (1 - age / (TRAIL + 1)), looks);
    }
    paintStep(step, 1);
    outline(step);
  }

  function paintWord(unit) {
    brush.clearRect(0, 0, heat.width, heat.height);
    const steps = unit.last - unit.first + 1;
    for (let step = unit.first; step <= unit.last; step++) paintStep(step, 1.6 / (0.6 + steps));
    outline(unit.first);
    const place = places[4 * unit.first + 1];
    if (place !== UNKNOWN) reveal(place / FULL);
  }

  function reveal(down) {
    const top = down * picture.clientHeight;
    if (top < page.scrollTop || top > page.scrollTop + page.clientHeight - 40) {
      page.scrollTop = top - page.clientHeight / 3;
    }
  }

  // --- the strip

  const curves = byId("curves"), head = byId("head"), strip = byId("strip");

  function drawCurves() {
    const width = curves.width = Math.max(1, Math.round(strip.clientWidth * devicePixelRatio));
    const height = curves.height = Math.round(strip.clientHeight * devicePixelRatio);
    const pen = curves.getContext("2d"), style = getComputedStyle(document.documentElement);
    pen.clearRect(0, 0, width, height);
    const columns = Math.min(width, trace.steps);
    const at = (column) => Math.floor((column * trace.steps) / columns);
    const level = (values, column) => {
      let sum = 0, count = 0;
      for (let s = at(column); s < Math.max(at(column) + 1, at(column + 1)); s++) {
        if (values[s] !== UNKNOWN) { sum += values[s]; count++; }
      }
      return count ? sum / count / FULL : null;
    };
    pen.fillStyle = style.getPropertyValue("--kept");
    pen.globalAlpha = 0.4;
    for (let column = 0; column < columns; column++) {
      const tall = (level(kept, column) || 0) * height;
      const left = Math.floor((column * width) / columns);
      const right = Math.floor(((column + 1) * width) / columns);
      pen.fillRect(left, height - tall, right - left, tall);
    }
    pen.globalAlpha = 1;
    pen.strokeStyle = style.getPropertyValue("--mass");
    pen.lineWidth = 1.25 * devicePixelRatio;
    pen.beginPath();
    let isDown = false;
    for (let column = 0; column < columns; column++) {
      const value = level(mass, column);
      if (value === null) { isDown = false; continue; }
      const x = ((column + 0.5) * width) / columns, y = (1 - value) * (height - 2) + 1;
      if (isDown) pen.lineTo(x, y); else pen.moveTo(x, y);
      isDown = true;
    }
    pen.stroke();
  }

  const percent = (value) => (value === UNKNOWN ? "–" : (100 * value / FULL).toFixed(1) + " %");

  // --- one state: the step

  const slider = byId("step"), play = byId("play"), speed = byId("speed");
  slider.max = last;
  let step = -1, position = 0, isPlaying = false, before = 0;

  function show(wanted) {
    const target = Math.max(0, Math.min(last, wanted));
    if (target === step) return;
    step = target;
    slider.value = step;
    byId("where").textContent = `${step + 1} / ${trace.steps}`;
    byId("kept").textContent = percent(kept[step]);
    byId("mass").textContent = percent(mass[step]);
    head.style.left = `${(100 * (step + 0.5)) / trace.steps}%`;
    write(step);
    paint(step);
    if (places[4 * step] !== UNKNOWN) reveal(places[4 * step + 1] / FULL);
  }

  function setPlaying(wanted) {
    isPlaying = wanted;
    play.textContent = isPlaying ? "❚❚" : "▶";
    play.setAttribute("aria-label", isPlaying ? "Pause" : "Play");
    if (!isPlaying) return;
    position = step === last ? 0 : step;
    before = performance.now();
    requestAnimationFrame(tick);
  }

  function tick(time) {
    if (!isPlaying) return;
    position += (Math.max(0, time - before) / 1000) * TOKENS_PER_SECOND * Number(speed.value);
    before = time;
    show(Math.floor(position));
    if (step === last) setPlaying(false); else requestAnimationFrame(tick);
  }

  function seek(wanted) {
    setPlaying(false);
    show(wanted);
  }

  play.addEventListener("click", () => setPlaying(!isPlaying));
  slider.addEventListener("input", () => seek(Number(slider.value)));
  strip.addEventListener("pointerdown", (event) => {
    const across = (moved) => {
      const frame = strip.getBoundingClientRect();
      seek(Math.floor(((moved.clientX - frame.left) / frame.width) * trace.steps));
    };
    across(event);
    strip.setPointerCapture(event.pointerId);
    strip.onpointermove = across;
  });
  strip.addEventListener("lostpointercapture", () => { strip.onpointermove = null; });
  document.addEventListener("keydown", (event) => {
    if (event.target === speed || event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowLeft: -1, ArrowRight: 1, PageUp: -50, PageDown: 50 };
    if (event.key === " ") {
      setPlaying(!isPlaying);
    } else if (event.key in moves) {
      seek(step + moves[event.key]);
    } else {
      return;
    }
    event.preventDefault();
  });

  const unitAt = (event) => {
    const element = event.target.closest(".word");
    return element ? units[Number(element.dataset.unit)] : null;
  };
  text.addEventListener("pointerover", (event) => {
    const unit = unitAt(event);
    if (unit && !isPlaying) paintWord(unit);
  });
  text.addEventListener("pointerout", (event) => {
    if (unitAt(event) && !isPlaying) paint(step);
  });
  text.addEventListener("click", (event) => {
    const unit = unitAt(event);
    if (unit) seek(unit.last);
  });

  function fit() {
    heat.width = Math.max(1, Math.round(picture.clientWidth * devicePixelRatio));
    heat.height = Math.max(1, Math.round(picture.clientHeight * devicePixelRatio));
    heat.style.width = `${picture.clientWidth}px`;
    heat.style.height = `${picture.clientHeight}px`;
    drawCurves();
    if (step >= 0) paint(step);
  }
  new ResizeObserver(fit).observe(page);
  picture.addEventListener("load", fit);
  fit();
  show(0);
})();

"use strict";
// The times of a trace as bars: one bar a step, as high as the wait before it; a long trace shares pixels, and a pixel shows
// the longest wait and the worst thing that are in it. And the times as they pass, when it is played.

const MARKED = ["error", "end", "reset", "issue"];
const SPEEDS = [["steady", 0], ["¼×", 0.25], ["1×", 1], ["4×", 4], ["16×", 16], ["64×", 64]];
const STEADY_SECONDS = 0.6;

class TimelineView {
  constructor(trace, { seek }) {
    this.trace = trace;
    this.at = 0;
    this.canvas = h("canvas", { class: "bars", role: "img" });
    this.range = h("input", { type: "range", class: "scrubber", min: 0, max: 0, value: 0, oninput: () => seek(Number(this.range.value)) });
    this.facts = h("p", { class: "times" });
    this.tip = h("output", { class: "tip", hidden: true });
    this.element = h("div", { class: "timeline" }, h("div", { class: "plot" }, this.canvas, this.tip), this.range, this.facts);
    this.grown();
    const place = (event) => this.stepAt(event.clientX - this.canvas.getBoundingClientRect().left);
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      seek(place(event));
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (event.buttons) seek(place(event));
      this.hint(event, place(event));
    });
    this.canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  stepAt(x) {
    const width = this.canvas.clientWidth || 1;
    return Math.max(0, Math.min(this.trace.length - 1, Math.floor((x / width) * this.trace.length)));
  }

  hint(event, number) {
    if (this.trace.length === 0) return;
    const box = this.canvas.getBoundingClientRect();
    this.tip.textContent = `${number + 1} · ${say("gap", seconds(this.trace.gap(number)))} · ${this.trace.summary(number, 40)}`;
    this.tip.hidden = false;
    const x = event.clientX - box.left;
    this.tip.style.setProperty("--x", `${Math.min(x, Math.max(0, box.width - this.tip.offsetWidth))}px`);
  }

  /** The trace or the language is another: names and bars are made anew. */
  grown() {
    this.drawn = -1;
    this.canvas.setAttribute("aria-label", say("timeline"));
    this.range.setAttribute("aria-label", say("step"));
  }

  move(number) {
    this.at = number;
    this.range.max = Math.max(0, this.trace.length - 1);
    this.range.value = number;
    this.range.setAttribute("aria-valuetext", `${say("step_of", number + 1, this.trace.length)}: ${this.trace.summary(number)}`);
    this.draw();
  }

  tell() {
    const { trace } = this;
    if (!trace.timed) {
      fill(this.facts, say("untimed"));
      return;
    }
    let longest = 0;
    for (let number = 1; number < trace.length; number += 1) if (trace.gap(number) > trace.gap(longest)) longest = number;
    const told = [
      trace.firstToken !== null && say("first_token", seconds(trace.times[trace.firstToken])),
      say("longest_gap", seconds(trace.gap(longest))),
      say("total", seconds(trace.times.at(-1) ?? 0)),
    ];
    fill(this.facts, told.filter(Boolean).join(" · "));
  }

  draw() {
    const { canvas, trace } = this;
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (width === 0 || trace.length === 0) return;
    if (this.drawn !== trace.length || this.width !== width * ratio || this.theme !== document.documentElement.dataset.theme) {
      this.bars = this.paint(width, height, ratio);
      this.drawn = trace.length;
      this.width = width * ratio;
      this.theme = document.documentElement.dataset.theme;
      this.tell();
    }
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const context = canvas.getContext("2d");
    context.drawImage(this.bars, 0, 0);
    const each = (width * ratio) / trace.length;
    const x = this.at * each;
    context.fillStyle = colour("--cursor");
    context.globalAlpha = 0.25;
    context.fillRect(x, 0, Math.max(each, 2), canvas.height);
    context.globalAlpha = 1;
    context.fillRect(x, 0, Math.max(2, ratio), canvas.height);
  }

  /** The bars without the cursor, drawn once for a length and a width. */
  paint(width, height, ratio) {
    const { trace } = this;
    const picture = document.createElement("canvas");
    picture.width = width * ratio;
    picture.height = height * ratio;
    const context = picture.getContext("2d");
    const columns = Math.min(trace.length, Math.floor(picture.width / 2));
    const each = picture.width / columns;
    let longest = 0.001;
    for (let number = 0; number < trace.length; number += 1) longest = Math.max(longest, trace.gap(number));
    if (trace.firstToken !== null && trace.timed) {
      context.fillStyle = colour("--wait");
      context.fillRect(0, 0, (trace.firstToken / trace.length) * picture.width, picture.height);
    }
    const colours = Object.fromEntries(KINDS.map((kind) => [kind, colour(`--kind-${kind}`)]));
    const marks = 8 * ratio;
    for (let column = 0; column < columns; column += 1) {
      const from = Math.floor((column * trace.length) / columns);
      const to = Math.max(from + 1, Math.floor(((column + 1) * trace.length) / columns));
      let gap = 0;
      let worst = KINDS.length - 1;
      for (let number = from; number < to; number += 1) {
        gap = Math.max(gap, trace.gap(number));
        worst = Math.min(worst, KINDS.indexOf(trace.kinds[number]));
      }
      const kind = KINDS[worst];
      const size = Math.max(2 * ratio, Math.sqrt(gap / longest) * (picture.height - marks - 4 * ratio));
      const space = each > 6 ? Math.max(1, Math.min(4 * ratio, each * 0.15)) : 0;
      context.fillStyle = colours[kind];
      context.fillRect(column * each, picture.height - size, each - space, size);
      if (MARKED.includes(kind)) {
        context.beginPath();
        context.arc(column * each + (each - space) / 2, marks / 2, Math.min(3.2 * ratio, marks / 2), 0, 7);
        context.fill();
      }
    }
    return picture;
  }
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Goes on by itself, each step after the time that it took, or steadily. */
class Player {
  constructor(app) {
    this.app = app;
    this.speed = 1;
    this.frame = null;
  }

  build() {
    this.button = h("button", { class: "play", "data-action": "play", onclick: () => this.toggle() });
    const speeds = h("select", { "aria-label": say("speed"), "data-action": "speed", onchange: () => this.change(Number(speeds.value)) },
      SPEEDS.map(([name, value]) => h("option", { value, selected: value === this.speed }, name === "steady" ? say("steady") : value === 1 ? `1× ${say("real_time")}` : name)));
    this.stop();
    return h("div", { class: "group" }, this.button, speeds);
  }

  change(speed) {
    this.speed = speed;
    this.began = {};
  }

  toggle() {
    if (this.frame !== null) {
      this.stop();
      return;
    }
    if (this.app.moved.every((view) => view.isAtEnd)) this.app.toFirst();
    this.began = {};
    this.button.textContent = `‖ ${say("pause")}`;
    this.frame = requestAnimationFrame(() => this.tick());
  }

  stop() {
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    this.frame = null;
    this.button.textContent = `▷ ${say("play")}`;
  }

  /** Whose clock it is while two play: the first's that is on its way. */
  get leader() {
    const going = this.app.moved.filter((view) => !view.isAtEnd);
    return going.find((view) => view.place >= 0) ?? going[0] ?? this.app.moved[0];
  }

  tick() {
    const { leader } = this;
    const { trace, place } = leader;
    const now = performance.now();
    const isNew = this.began.leader !== leader || this.began.place !== place || this.began.time === undefined;
    if (isNew) this.began = { leader, place, clock: now, time: trace.times[leader.at] };
    const past = (now - this.began.clock) / 1000;
    const isSteady = this.speed === 0 || !trace.timed || place < 0;
    const by = isSteady ? Number(past >= STEADY_SECONDS) : upTo(trace.times, this.began.time + past * this.speed) - 1 - place;
    if (by > 0) {
      this.app.move(by);
      this.began.place = leader.place;
      if (isSteady) this.began.clock = now;
    }
    if (this.app.moved.every((view) => view.isAtEnd && view.trace.done)) this.stop();
    else this.frame = requestAnimationFrame(() => this.tick());
  }
}

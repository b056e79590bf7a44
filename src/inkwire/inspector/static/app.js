"use strict";
// The page: loads the chunks, keeps the step, and puts the panels together. Everything can be done with the keyboard.

const config = JSON.parse(document.getElementById("config").textContent);
const SPEEDS = [["steady", 0], ["¼×", 0.25], ["1×", 1], ["4×", 4], ["16×", 16], ["64×", 64]];
const STEADY_SECONDS = 0.6;

class App {
  constructor() {
    const stored = settings();
    language = config.language ?? stored.language ?? (navigator.language.startsWith("zh") ? "zh" : "en");
    const isDark = matchMedia("(prefers-color-scheme: dark)");
    const paint = () => (document.documentElement.dataset.theme = settings().theme ?? (isDark.matches ? "dark" : "light"));
    paint();
    isDark.addEventListener("change", paint);
    this.isPair = config.layout === "pair";
    this.chosen = config.first;
    const asked = config.names.indexOf(new URLSearchParams(location.hash.slice(1)).get("show"));
    if (config.layout === "choose" && asked >= 0) this.chosen = asked;
    this.views = this.isPair ? config.names.map((name) => new View(name, this, true)) : [new View(config.names[this.chosen], this, false)];
    this.linked = true;
    this.playing = null;
    this.speed = 1;
    this.query = "";
    this.matches = [];
    this.wanted = Number(new URLSearchParams(location.hash.slice(1)).get("step")) - 1;
    this.build();
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => {
      const step = Number(new URLSearchParams(location.hash.slice(1)).get("step")) - 1;
      if (step >= 0 && step !== this.first.at) this.seek(this.first, step);
    });
    this.load();
  }

  get first() {
    return this.views[0];
  }

  // ---- loading -----------------------------------------------------------------------------------

  async load() {
    await Promise.all(this.views.map((view, number) => {
      const source = this.isPair ? number : this.chosen;
      return config.served ? this.fetchAll(view, source) : this.unpackAll(view, source);
    }));
  }

  /** Another of several recordings. */
  choose(number) {
    this.stop();
    this.chosen = number;
    this.wanted = -1;
    this.query = "";
    this.views = [new View(config.names[number], this, false)];
    history.replaceState(null, "", this.address);
    this.build();
    this.load();
  }

  get address() {
    const show = config.layout === "choose" ? `show=${config.names[this.chosen]}&` : "";
    return `#${show}step=${this.first.at + 1}`;
  }

  async fetchAll(view, source) {
    for (let number = 0; !view.trace.done; ) {
      let chunk;
      try {
        chunk = await (await fetch(`chunk/${source}/${number}`)).json();
      } catch {
        fill(this.status, say("gone"));
        return;
      }
      if (chunk.steps.length > 0 || chunk.done) {
        number += 1;
        if (!this.views.includes(view)) return;
        this.take(view, chunk);
      }
    }
  }

  async unpackAll(view, source) {
    for (const element of document.querySelectorAll(`script.chunk[data-source="${source}"]`)) {
      const packed = Uint8Array.from(atob(element.textContent), (char) => char.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      const chunk = await new Response(stream).json();
      if (this.views.includes(view)) this.take(view, chunk);
    }
  }

  take(view, chunk) {
    const { trace } = view;
    const before = trace.length;
    const follows = config.live && view.at === Math.max(0, before - 1);
    trace.load(chunk);
    view.grown();
    if (before === 0 && trace.length > 0) view.show(0);
    if (this.wanted >= 0 && trace.length > this.wanted && view === this.first) {
      this.seek(view, this.wanted);
      this.wanted = -1;
    } else if (follows) view.show(trace.length - 1);
    else view.show(view.at);
    if (trace.done && this.isPair) this.compare();
    this.showCalls();
    this.showStatus();
  }

  showStatus() {
    const loading = this.views.find((view) => !view.trace.done);
    if (!loading) fill(this.status, say(config.live ? "live_over" : "recorded"));
    else if (config.live) fill(this.status, say("live"));
    else fill(this.status, say("loading", count(loading.trace.length)));
    document.documentElement.dataset.loaded = loading ? "no" : "yes";
  }

  // ---- moving ------------------------------------------------------------------------------------

  seek(view, number) {
    const by = number - view.at;
    for (const each of this.views) {
      if (each === view || this.linked) each.show(each === view ? number : each.at + by);
    }
    this.showDifference();
    history.replaceState(null, "", this.address);
    this.said.textContent = `${say("step_of", this.first.at + 1, this.first.trace.length)}: ${this.first.trace.summary(this.first.at)}`;
  }

  move(by) {
    this.seek(this.first, Math.max(0, Math.min(this.first.at + by, this.first.trace.length - 1)));
  }

  /** To the next step that a question is true of, or to the one before. */
  jump(asked, forward = true) {
    const { trace, at } = this.first;
    for (let number = at + (forward ? 1 : -1); number >= 0 && number < trace.length; number += forward ? 1 : -1) {
      if (asked(number, trace)) {
        this.seek(this.first, number);
        return;
      }
    }
    this.flash();
  }

  flash() {
    this.toolbar.classList.remove("flash");
    void this.toolbar.offsetWidth;
    this.toolbar.classList.add("flash");
  }

  jumps() {
    return {
      issue: (forward) => this.jump((number, trace) => (trace.steps[number].issues ?? []).length > 0, forward),
      call: (forward) => this.jump((number, trace) => (trace.steps[number].events ?? []).some((event) => event.type === "tool_call_start"), forward),
      reset: (forward) => this.jump((number, trace) => trace.kinds[number] === "reset" || (trace.steps[number].changes ?? []).some((change) => change.type === "voided"), forward),
      end: (forward) => this.jump((number, trace) => trace.kinds[number] === "end" || trace.kinds[number] === "error", forward),
    };
  }

  // ---- playing -----------------------------------------------------------------------------------

  play() {
    if (this.playing !== null) {
      this.stop();
      return;
    }
    const { trace } = this.first;
    if (this.first.at >= trace.length - 1) this.seek(this.first, 0);
    const speed = trace.timed ? this.speed : 0;
    let position = this.first.at;
    let clock = performance.now();
    const began = { clock, time: trace.times[position] };
    const tick = () => {
      const now = performance.now();
      let target = this.first.at;
      if (speed === 0) {
        if (now - clock >= STEADY_SECONDS * 1000) {
          target += 1;
          clock = now;
        }
      } else target = Math.max(target, upTo(trace.times, began.time + ((now - began.clock) / 1000) * speed) - 1);
      if (target !== this.first.at) this.seek(this.first, Math.min(target, trace.length - 1));
      if (this.first.at >= trace.length - 1 && trace.done) this.stop();
      else this.playing = requestAnimationFrame(tick);
    };
    this.playing = requestAnimationFrame(tick);
    this.playButton.textContent = `‖ ${say("pause")}`;
    void position;
  }

  stop() {
    if (this.playing !== null) cancelAnimationFrame(this.playing);
    this.playing = null;
    this.playButton.textContent = `▷ ${say("play")}`;
  }

  // ---- searching ---------------------------------------------------------------------------------

  search(query) {
    this.query = query;
    this.matches = searched(this.first.trace, query.toLowerCase());
    if (this.matches.length > 0) this.match(true, true);
    else this.showMatches();
  }

  match(forward, here = false) {
    if (this.matches.length === 0) return;
    const at = this.first.at;
    let index = forward ? upTo(this.matches, here ? at - 1 : at) : upTo(this.matches, at - 1) - 1;
    index = (index + this.matches.length) % this.matches.length;
    this.seek(this.first, this.matches[index]);
    this.showMatches(index);
  }

  showMatches(index) {
    if (this.query === "") fill(this.found);
    else if (this.matches.length === 0) fill(this.found, say("found_none"));
    else fill(this.found, say("found", count((index ?? 0) + 1), count(this.matches.length)));
  }

  // ---- two recordings ----------------------------------------------------------------------------

  /** Where the two first differ, by their events; and at which steps each difference is. */
  compare() {
    if (this.views.some((view) => !view.trace.done)) return;
    this.differs = firstDifference(...this.views.map((view) => view.trace));
    this.showDifference();
  }

  showDifference() {
    if (!this.isPair || this.differs === undefined) return;
    this.views.forEach((view, number) => {
      const at = this.differs?.[number];
      const state = at === undefined || view.at < at ? "same" : view.at === at ? "differs" : "differs_before";
      view.difference.className = `tag ${state === "same" ? "good" : "bad"}`;
      fill(view.difference, say(state, (at ?? 0) + 1));
    });
  }

  toDifference() {
    if (!this.differs) {
      this.flash();
      return;
    }
    this.views.forEach((view, number) => view.show(this.differs[number]));
    this.showDifference();
  }

  // ---- the page ----------------------------------------------------------------------------------

  build() {
    const jumps = this.jumps();
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
    document.title = `${this.views.map((view) => view.trace.name).join(" | ")} · ${say("title")}`;
    const button = (text, label, onclick, name) => h("button", { onclick, title: label, "aria-label": label, "data-action": name }, text);
    this.playButton = h("button", { class: "play", "data-action": "play", onclick: () => this.play() }, `▷ ${say("play")}`);
    this.status = h("span", { class: "status" });
    this.said = h("div", { class: "unseen", role: "status", "aria-live": "polite" });
    this.found = h("span", { class: "found" });
    this.field = h("input", { type: "search", placeholder: say("search"), "aria-label": say("search"), value: this.query, oninput: () => this.search(this.field.value) });
    this.calls = h("nav", { class: "calls" });
    const speeds = h("select", { "aria-label": say("speed"), onchange: () => { this.speed = Number(speeds.value); if (this.playing !== null) { this.stop(); this.play(); } } },
      SPEEDS.map(([name, value]) => h("option", { value, selected: value === this.speed }, name === "steady" ? say("steady") : value === 1 ? `1× ${say("real_time")}` : name)));
    this.filter = this.isPair ? null : h("select", { "aria-label": say("filter"), onchange: () => this.first.list.choose(this.filter.value) },
      Object.keys(FILTERS).map((name) => h("option", { value: name, selected: name === this.first.list.filter }, say(`filter_${name}`))));
    this.link = this.isPair && h("input", { type: "checkbox", checked: this.linked, onchange: () => { this.linked = this.link.checked; } });
    this.toolbar = h("div", { class: "toolbar", role: "toolbar" },
      h("div", { class: "group moves" }, button("|◀", say("first"), () => this.seek(this.first, 0), "first"), button("◀", say("back"), () => this.move(-1), "back"),
        h("button", { class: "next", "data-action": "next", onclick: () => this.move(1) }, `${say("next")} ▶`), button("▶|", say("last"), () => this.move(Infinity), "last")),
      h("div", { class: "group" }, this.playButton, speeds),
      h("div", { class: "group jumps" }, h("span", { class: "label" }, say("jump")),
        this.isPair && button(say("next_difference"), say("next_difference"), () => this.toDifference(), "difference"),
        ["issue", "call", "reset", "end"].map((name) => button(say(`next_${name}`), say(`next_${name}`), () => jumps[name](true), name))),
      this.link && h("label", { class: "toggle" }, this.link, say("linked")),
      h("div", { class: "group search" }, this.field, this.found));
    const header = h("header", { class: "top" },
      h("h1", {}, h("span", { class: "mark" }, "inkwire"), " ", !this.isPair && this.nameOrChoice()),
      !this.isPair && this.first.verdict, this.status,
      h("div", { class: "group" }, h("button", { "data-action": "language", onclick: () => this.changeLanguage() }, say("language")),
        button("◐", say("theme"), () => this.changeTheme(), "theme"), button("?", say("help"), () => this.showHelp(), "help")));
    const main = this.isPair ? this.buildPair() : this.buildOne();
    this.help = this.buildHelp();
    const about = config.about[this.chosen];
    fill(document.getElementById("app"), header, about && !this.isPair && h("p", { class: "about-scenario" }, about[language]), this.calls, this.toolbar, main, this.help, this.said);
    this.showCalls();
    this.showStatus();
    for (const view of this.views) {
      view.grown();
      view.show(view.at);
    }
    this.showDifference();
  }

  nameOrChoice() {
    if (config.layout !== "choose") return h("span", { class: "name" }, this.first.trace.name);
    const choice = h("select", { class: "name", "aria-label": say("choose"), "data-action": "choose", onchange: () => this.choose(Number(choice.value)) },
      config.names.map((name, number) => h("option", { value: number, selected: number === this.chosen }, `${number + 1}. ${name}`)));
    return choice;
  }

  buildOne() {
    const view = this.first;
    return h("main", { class: "one" },
      view.timeline.element,
      h("div", { class: "now" }, view.head, view.panels.notes),
      h("details", { class: "side", open: !matchMedia("(max-width: 720px)").matches }, h("summary", {}, say("steps")), h("label", { class: "filter" }, say("filter"), " ", this.filter), view.list.element),
      view.panels.element, view.panels.code.box, view.issues.element);
  }

  buildPair() {
    return h("main", { class: "pair" }, this.views.map((view) => h("section", { class: "column", "aria-label": view.trace.name },
      h("h2", { class: "name" }, view.trace.name, " ", view.verdict, " ", view.difference),
      view.timeline.element, h("div", { class: "now" }, view.head, view.panels.notes), view.panels.element, view.issues.element)));
  }

  buildHelp() {
    const keys = [["→ ←", "next"], ["Home End", "ends"], ["PgDn PgUp", "ten"], ["Space", "play"], ["w", "issue"], ["c", "call"], ["r", "reset"], ["e", "end"],
      ["/", "search"], ["f", "filter"], ["t", "theme"], ["l", "language"], ...(this.isPair ? [["d", "difference"]] : []), ["?", "help"]];
    return h("dialog", { class: "help", "aria-label": say("help") }, h("h2", {}, say("help")),
      h("dl", {}, keys.map(([key, name]) => [h("dt", {}, key.split(" ").map((one) => h("kbd", {}, one))), h("dd", {}, say(`key_${name}`))])),
      h("h2", {}, say("laws")), h("ol", { class: "laws" }, [1, 2, 3, 4, 5, 6, 7].map((law) => h("li", {}, h("span", { class: "law" }, law), say(`law_${law}`)))),
      h("form", { method: "dialog" }, h("button", {}, say("close"))));
  }

  showHelp() {
    this.help.showModal();
  }

  showCalls() {
    const { calls } = this.first.trace;
    this.calls.hidden = this.isPair || calls.length < 2;
    if (this.calls.hidden) return;
    fill(this.calls, calls.slice(0, 200).map((call) => {
      const end = call.end === null ? null : this.first.trace.steps[call.end];
      const how = end === null ? "…" : end.message ? end.message.stop_reason : end.error ? end.error.class : say(`moment_${end.moment}`);
      return h("button", { class: end?.error ? "bad" : "", onclick: () => this.seek(this.first, call.from) }, h("b", {}, say("call_number", call.number)), ` ${how}`);
    }));
  }

  changeLanguage() {
    language = language === "en" ? "zh" : "en";
    settings({ language });
    this.stop();
    this.build();
  }

  changeTheme() {
    const root = document.documentElement;
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    settings({ theme: root.dataset.theme });
    for (const view of this.views) view.timeline.draw();
  }

  key(event) {
    const { target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    if (target === this.field) {
      if (event.key === "Escape") this.field.blur();
      if (event.key === "Enter") this.match(!event.shiftKey);
      return;
    }
    if (target instanceof HTMLSelectElement) return;
    const isButton = target instanceof HTMLButtonElement || target instanceof HTMLInputElement || target.tagName === "SUMMARY";
    const jumps = this.jumps();
    const actions = {
      ArrowRight: () => this.move(1), ArrowLeft: () => this.move(-1), j: () => this.move(1), k: () => this.move(-1),
      Home: () => this.seek(this.first, 0), End: () => this.move(Infinity), PageDown: () => this.move(10), PageUp: () => this.move(-10),
      w: () => jumps.issue(true), W: () => jumps.issue(false), c: () => jumps.call(true), C: () => jumps.call(false),
      r: () => jumps.reset(true), R: () => jumps.reset(false), e: () => jumps.end(true), E: () => jumps.end(false),
      n: () => this.match(true), N: () => this.match(false), "/": () => this.field.focus(), f: () => this.filter?.focus(),
      t: () => this.changeTheme(), l: () => this.changeLanguage(), d: () => this.isPair && this.toDifference(), "?": () => this.showHelp(),
    };
    if (target === this.first.list?.element) Object.assign(actions, { ArrowDown: actions.ArrowRight, ArrowUp: actions.ArrowLeft });
    if (!isButton) actions[" "] = () => this.play();
    const action = actions[event.key];
    if (action === undefined) return;
    if (target instanceof HTMLInputElement && target.type === "range" && event.key.startsWith("Arrow")) target.blur();
    event.preventDefault();
    action();
  }
}

/** What the reader chose before, where the browser keeps it; a page from disk may have no place for it. */
function settings(change) {
  try {
    const all = JSON.parse(localStorage.getItem("inkwire-inspector") ?? "{}");
    if (change) localStorage.setItem("inkwire-inspector", JSON.stringify({ ...all, ...change }));
    return all;
  } catch {
    return {};
  }
}

window.app = new App();

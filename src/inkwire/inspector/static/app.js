"use strict";
// The page: loads the chunks, keeps the step, and puts the panels together. Everything can be done with the keyboard.

const config = JSON.parse(document.getElementById("config").textContent);
const ADDRESS_MILLISECONDS = 350; // WebKit allows 100 in 30 s

class App {
  constructor() {
    const stored = settings();
    language = config.language ?? stored.language ?? (navigator.language.startsWith("zh") ? "zh" : "en");
    const isDark = matchMedia("(prefers-color-scheme: dark)");
    const paint = () => (document.documentElement.dataset.theme = settings().theme ?? (isDark.matches ? "dark" : "light"));
    paint();
    isDark.addEventListener("change", paint);
    const { show, steps } = this.asked;
    this.isPair = config.layout === "pair";
    this.chosen = config.layout === "choose" && show >= 0 ? show : config.first;
    this.linked = true;
    this.player = new Player(this);
    this.writing = null;
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => this.obey());
    this.begin(steps);
  }

  /** Views of what is chosen, on the page and loading; the steps are shown as soon as they are there. */
  begin(steps) {
    this.views = this.isPair ? config.names.map((name) => new View(name, this, true)) : [new View(config.names[this.chosen], this, false)];
    this.active = this.first;
    this.wanted = steps;
    this.fault = null;
    this.search = new Search(this);
    this.comparison = this.isPair ? new Comparison(this.views) : null;
    this.build();
    this.load();
  }

  get first() {
    return this.views[0];
  }

  // ---- the address -------------------------------------------------------------------------------

  /** Which recording the address asks for, and the step of each view; null for what is no step's number. */
  get asked() {
    const given = new URLSearchParams(location.hash.slice(1));
    const step = (name) => (/^[1-9][0-9]{0,8}$/.test(given.get(name)) ? Number(given.get(name)) - 1 : null);
    return { show: config.names.indexOf(given.get("show")), steps: [step("step"), step("other")] };
  }

  get address() {
    const show = config.layout === "choose" ? `show=${encodeURIComponent(config.names[this.chosen])}&` : "";
    return `#${show}step=${this.first.at + 1}${this.isPair ? `&other=${this.views[1].at + 1}` : ""}`;
  }

  /** Soon: a browser allows only so many changes in a time, and what it refuses the next step brings. */
  writeAddress() {
    this.writing ??= setTimeout(() => {
      this.writing = null;
      try {
        history.replaceState(null, "", this.address);
      } catch {
        // The page goes on without it.
      }
    }, ADDRESS_MILLISECONDS);
  }

  /** The address was changed by hand or by a link. */
  obey() {
    clearTimeout(this.writing);
    this.writing = null;
    const { show, steps } = this.asked;
    if (config.layout === "choose" && show >= 0 && show !== this.chosen) this.choose(show, steps);
    else {
      this.wanted = steps;
      this.showWanted();
    }
  }

  /** Shows the steps that were asked for once they are there; a number past the end is left alone. */
  showWanted() {
    const [first, second] = this.wanted;
    const places = [first, second ?? first];
    if (first === null || !this.views.every((view, side) => view.trace.done || view.trace.length > places[side])) return;
    this.wanted = [null, null];
    if (first >= this.first.trace.length) return;
    this.views.forEach((view, side) => view.show(second === null ? places[side] : Math.min(places[side], view.trace.length - 1)));
    this.arrived();
  }

  /** Another of several recordings. */
  choose(number, steps = [null, null]) {
    this.chosen = number;
    this.begin(steps);
    this.writeAddress();
  }

  // ---- loading -----------------------------------------------------------------------------------

  async load() {
    await Promise.all(this.views.map(async (view, number) => {
      const chunks = (config.served ? fetchedChunks : unpackedChunks)(this.isPair ? number : this.chosen);
      try {
        for await (const chunk of chunks) {
          if (!this.views.includes(view)) return;
          this.take(view, chunk);
        }
      } catch (error) {
        if (!(error instanceof LoadError)) throw error;
        if (this.views.includes(view)) this.fault = error.told;
        this.showStatus();
      }
    }));
  }

  take(view, chunk) {
    const { trace } = view;
    const follows = config.live && view.at === Math.max(0, trace.length - 1);
    trace.load(chunk);
    keepingFocus(() => {
      view.grown();
      view.show(follows ? Math.max(0, trace.length - 1) : view.place);
      this.showCalls();
    });
    this.showWanted();
    if (trace.done) {
      this.search.look();
      this.search.show();
      this.comparison?.update();
      this.comparison?.show();
    }
    this.showStatus();
  }

  showStatus() {
    const loading = this.views.find((view) => !view.trace.done);
    if (!loading) fill(this.status, say(config.live ? "live_over" : "recorded"));
    else if (this.fault !== null) fill(this.status, say(...this.fault));
    else if (config.live) fill(this.status, say("live"));
    else fill(this.status, say("loading", count(loading.trace.length)));
    document.documentElement.dataset.loaded = loading ? "no" : "yes";
  }

  // ---- moving ------------------------------------------------------------------------------------

  /** The views that a move is for: both when they are linked, else the one that was used last. */
  get moved() {
    return this.linked ? this.views : [this.active];
  }

  /** The column that the keys are for while the two are not linked. */
  use(view) {
    this.active = view;
    this.showActive();
  }

  showActive() {
    for (const view of this.isPair ? this.views : []) {
      const isActive = !this.linked && view === this.active;
      view.keys.hidden = !isActive;
      fill(view.keys, say("keys"));
      view.keys.title = say("keys_here");
      if (isActive) view.column.setAttribute("aria-current", "true");
      else view.column.removeAttribute("aria-current");
    }
  }

  relink(linked) {
    this.linked = linked;
    for (const view of this.views) view.place = view.at; // from here on they keep the distance that they have now
    this.showActive();
  }

  seek(view, number) {
    this.use(view);
    this.shift(number - view.place);
  }

  shift(by) {
    for (const view of this.moved) view.show(view.place + by);
    this.arrived();
  }

  /** On until each view is at its end, back until each is at its beginning. */
  move(by) {
    const most = Math.max(...this.moved.map((view) => view.trace.length - 1 - view.place));
    const least = Math.min(...this.moved.map((view) => -view.place));
    this.shift(Math.max(least, Math.min(by, most)));
  }

  toFirst() {
    for (const view of this.moved) view.show(0);
    this.arrived();
  }

  /** What a move leaves to be said. */
  arrived(before = "") {
    this.wanted = [null, null];
    this.comparison?.show();
    this.search.show();
    this.writeAddress();
    const told = this.moved.map((view) => (this.isPair ? say(view === this.first ? "in_first" : "in_second", view.told) : view.told));
    this.said.textContent = [before, ...told].filter(Boolean).join("; ");
  }

  /** To the nearest step, in any view that moves, that a question is true of. */
  jump(name, forward = true) {
    const found = this.moved.map((view) => view.distance(JUMPS[name], forward)).filter((by) => by !== null);
    if (found.length === 0) this.flash();
    else this.shift(forward ? Math.min(...found) : Math.max(...found));
  }

  /** Both to the next place at which they differ, or to the one before. */
  toDifference(forward = true) {
    const found = this.comparison.next(forward);
    if (found === undefined) {
      this.flash();
      return;
    }
    this.views.forEach((view, side) => view.show(found.steps[side]));
    this.arrived(this.comparison.told);
  }

  flash() {
    this.toolbar.classList.remove("flash");
    void this.toolbar.offsetWidth;
    this.toolbar.classList.add("flash");
  }

  // ---- the page ----------------------------------------------------------------------------------

  build() {
    keepingFocus(() => this.lay());
  }

  lay() {
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
    document.title = `${this.views.map((view) => view.trace.name).join(" | ")} · ${say("title")}`;
    const button = (text, label, onclick, name) => h("button", { onclick, title: label, "aria-label": label, "data-action": name }, text);
    this.status = h("span", { class: "status" });
    this.said = h("div", { class: "unseen", role: "status", "aria-live": "polite" });
    this.calls = h("nav", { class: "calls" });
    this.filter = this.isPair ? null : h("select", { "aria-label": say("filter"), "data-action": "filter", onchange: () => this.first.list.choose(this.filter.value) },
      Object.keys(FILTERS).map((name) => h("option", { value: name, selected: name === this.first.list.filter }, say(`filter_${name}`))));
    this.link = this.isPair && h("input", { type: "checkbox", "data-action": "link", checked: this.linked, onchange: () => this.relink(this.link.checked) });
    this.toolbar = h("div", { class: "toolbar", role: "toolbar", "aria-label": say("toolbar") },
      h("div", { class: "group moves" }, button("|◀", say("first"), () => this.toFirst(), "first"), button("◀", say("back"), () => this.move(-1), "back"),
        h("button", { class: "next", "data-action": "next", onclick: () => this.move(1) }, `${say("next")} ▶`), button("▶|", say("last"), () => this.move(Infinity), "last")),
      this.player.build(),
      h("div", { class: "group jumps" }, h("span", { class: "label" }, say("jump")),
        this.isPair && button(say("next_difference"), say("next_difference"), () => this.toDifference(), "difference"),
        Object.keys(JUMPS).map((name) => button(say(`next_${name}`), say(`next_${name}`), () => this.jump(name), name))),
      this.link && h("label", { class: "toggle" }, this.link, say("linked")),
      this.search.build(), this.comparison?.element);
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
      view.show(view.place);
    }
    this.comparison?.show();
    this.showActive();
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
    return h("main", { class: "pair" }, this.views.map((view) => {
      const use = () => this.use(view);
      view.column = h("section", { class: "column", "aria-label": view.trace.name, onfocusin: use, onpointerdown: use },
        h("h2", { class: "name" }, view.trace.name, " ", view.verdict, " ", view.difference),
        view.timeline.element, h("div", { class: "now" }, view.head, view.panels.notes), view.panels.element, view.issues.element);
      return view.column;
    }));
  }

  buildHelp() {
    const keys = [["→ ←", "next"], ["Home End", "ends"], ["PgDn PgUp", "ten"], ["Space", "play"], ["w", "issue"], ["c", "call"], ["r", "reset"], ["e", "end"],
      ["/", "search"], ["f", "filter"], ["t", "theme"], ["l", "language"], ...(this.isPair ? [["d", "differences"]] : []), ["?", "help"]];
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
    this.calls.setAttribute("aria-label", say("calls_all", count(calls.length)));
    fill(this.calls, calls.slice(0, 200).map((call) => {
      const end = call.end === null ? null : this.first.trace.steps[call.end];
      const how = end === null ? "…" : end.message ? end.message.stop_reason : end.error ? end.error.class : say(`moment_${end.moment}`);
      return h("button", { class: end?.error ? "bad" : "", "data-action": `call-${call.number}`, onclick: () => this.seek(this.first, call.from) }, h("b", {}, say("call_number", call.number)), ` ${how}`);
    }));
  }

  changeLanguage() {
    language = language === "en" ? "zh" : "en";
    settings({ language });
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
    if (target === this.search.field) {
      if (event.key === "Escape") target.blur();
      if (event.key === "Enter") this.search.go(!event.shiftKey);
      return;
    }
    if (target instanceof HTMLSelectElement) return;
    const isScrubber = target instanceof HTMLInputElement && target.type === "range";
    const isButton = target instanceof HTMLButtonElement || (target instanceof HTMLInputElement && !isScrubber) || target.tagName === "SUMMARY";
    const actions = {
      ArrowRight: () => this.move(1), ArrowLeft: () => this.move(-1), j: () => this.move(1), k: () => this.move(-1),
      Home: () => this.toFirst(), End: () => this.move(Infinity), PageDown: () => this.move(10), PageUp: () => this.move(-10),
      w: () => this.jump("issue"), W: () => this.jump("issue", false), c: () => this.jump("call"), C: () => this.jump("call", false),
      r: () => this.jump("reset"), R: () => this.jump("reset", false), e: () => this.jump("end"), E: () => this.jump("end", false),
      n: () => this.search.go(true), N: () => this.search.go(false), "/": () => this.search.field.focus(), f: () => this.filter?.focus(),
      t: () => this.changeTheme(), l: () => this.changeLanguage(), "?": () => this.showHelp(),
      ...(this.isPair ? { d: () => this.toDifference(), D: () => this.toDifference(false) } : {}),
    };
    if (target === this.first.list?.element) Object.assign(actions, { ArrowDown: actions.ArrowRight, ArrowUp: actions.ArrowLeft });
    if (!isButton) actions[" "] = () => this.player.toggle();
    const action = actions[event.key];
    if (action === undefined) return;
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

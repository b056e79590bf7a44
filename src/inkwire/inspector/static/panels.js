"use strict";
// The state at a step in, the panels of it out: received | held | given, the laws at work, and the code that ran.

class Panels {
  constructor(trace, { compact }) {
    this.trace = trace;
    this.whole = false;
    this.at = 0;
    this.notes = h("div", { class: "notes", "data-panel": "notes" });
    this.received = this.panel("received");
    this.held = this.panel("held");
    this.given = this.panel("given");
    this.code = compact ? null : this.codePanel();
    this.element = h("div", { class: "panels", role: "group" }, this.received.box, this.held.box, this.given.box);
  }

  panel(name) {
    const body = h("div", { class: "body" });
    const id = `${name}-${Math.random().toString(36).slice(2)}`;
    const title = h("h2", { id });
    const about = h("p", { class: "about" });
    const box = h("section", { class: `panel ${name}`, "data-panel": name, tabindex: "0", "aria-labelledby": id }, h("header", {}, title, about), body);
    return { box, body, title, about, name };
  }

  codePanel() {
    const panel = this.panel("code");
    this.toggle = h("input", { type: "checkbox", onchange: () => { this.whole = this.toggle.checked; this.showCode(); } });
    this.toggleWords = h("span");
    this.rooms = h("span", { class: "rooms" });
    panel.box.querySelector("header").append(this.rooms, h("label", { class: "toggle" }, this.toggle, this.toggleWords));
    return panel;
  }

  show(number) {
    this.at = number;
    const { trace } = this;
    this.element.setAttribute("aria-label", say("panels"));
    for (const panel of [this.received, this.held, this.given]) {
      panel.title.textContent = say(panel.name);
      panel.about.textContent = say(`${panel.name}_about`);
    }
    if (number >= trace.length) return;
    this.showNotes(number);
    fill(this.received.body, this.receivedOf(number));
    fill(this.held.body, this.heldOf(number));
    fill(this.given.body, this.givenOf(number));
    if (this.code) this.showCode();
    this.lookAtNew();
  }

  /** Scrolls each panel, and each long text in it, to what is new. */
  lookAtNew() {
    for (const panel of [this.received, this.held, this.given]) {
      for (const text of panel.body.querySelectorAll("pre.text")) text.scrollTop = text.scrollHeight;
      for (const tree of panel.body.querySelectorAll(".tree")) {
        const last = [...tree.querySelectorAll("mark, .new, .caret")].at(-1)?.getBoundingClientRect();
        if (last) tree.scrollTop += last.bottom - tree.getBoundingClientRect().bottom + 16;
      }
      const fresh = panel.body.querySelector("mark, .new")?.closest(".part, .facts, .raw");
      const below = fresh ? fresh.offsetTop + fresh.offsetHeight - panel.body.offsetTop - panel.body.clientHeight : 0;
      panel.body.scrollTop = Math.max(0, Math.min(below + 16, fresh ? fresh.offsetTop - panel.body.offsetTop : 0));
    }
  }

  showNotes(number) {
    const notes = this.trace.steps[number].notes.map((name) => config.notes[name]);
    fill(this.notes, notes.map((note) => h("p", { class: "note" },
      note.law && h("span", { class: "law", title: say(`law_${note.law}`) }, say("law", note.law)), h("span", {}, note[language]))));
  }

  // ---- received ----------------------------------------------------------------------------------

  receivedOf(number) {
    const { trace } = this;
    const step = trace.steps[number];
    const found = [];
    if (step.moment === "head" || step.moment === "refused") found.push(this.exchangeOf(step));
    const { old, fresh } = trace.raw(number);
    if (old.length + fresh.length > 0) found.push(rawView(old, fresh));
    else if (step.moment !== "head") found.push(h("p", { class: "quiet" }, say("nothing_received")));
    if (step.waiting) found.push(h("p", { class: "waits" }, say("waits", count(step.waiting))));
    if (step.frame) found.push(this.frameOf(number));
    return found;
  }

  exchangeOf(step) {
    const exchange = this.trace.exchanges[step.exchange];
    const asked = exchange.url || exchange.request ? `${exchange.method} ${exchange.url}` : "";
    return [
      asked && h("p", { class: "line" }, h("b", {}, say("request")), " ", visible(asked)),
      headersView(exchange.request_headers),
      exchange.request && fold(say("request_body", count(exchange.request_size)), () => jsonText(exchange.request, { cut: [...exchange.request].length < exchange.request_size })),
      step.moment === "head" && h("p", { class: "line" }, h("b", {}, say("response")), ` ${exchange.status ? `HTTP ${exchange.status}` : say("no_status")} · ${exchange.protocol}`),
      headersView(exchange.headers),
    ];
  }

  frameOf(number) {
    const step = this.trace.steps[number];
    const told = step.fragments ?? [];
    const payload = this.trace.payload(number) ?? "";
    const name = step.frame.event ? ` · event: ${visible(step.frame.event)}` : "";
    return [
      payload.trimStart().startsWith("{") && fold(`${say("payload")}${name}`, () => jsonText(payload)),
      h("h3", {}, say("says")),
      told.length === 0 ? h("p", { class: "quiet" }, say("nothing_said"))
        : longList(h("ul", { class: "fragments" }), told, (fragment) => h("li", {}, h("b", {}, say(`says_${fragment.type}`)), " ", fields(fragment))),
    ];
  }

  // ---- held --------------------------------------------------------------------------------------

  heldOf(number) {
    const { trace } = this;
    const step = trace.steps[number];
    const isVoid = step.moment === "again";
    const life = isVoid ? trace.lives[trace.lifeAt[number] - 1] : trace.life(number);
    const parts = (life?.parts ?? []).filter((part) => part.opened <= number);
    return [
      parts.length === 0 && h("p", { class: "quiet" }, say("nothing_held")),
      this.partsOf(parts, number, isVoid),
      this.factsOf(life, number),
    ];
  }

  /** All parts, or of very many those that changed in this step and the last ones; the others can be opened. */
  partsOf(parts, number, isVoid) {
    const MOST = 24;
    const isTold = (part) => part.opened === number || part.sizes.changedAt(number) || part.names.changedAt(number) || part.index >= parts.length - MOST / 2;
    const told = new Set(parts.length <= MOST ? parts : parts.filter(isTold).slice(-MOST));
    const others = parts.filter((part) => !told.has(part));
    const view = (part) => this.partOf(part, number, isVoid);
    return [others.length > 0 && longList(h("div", { class: "others" }), others, view, { most: 0, fromEnd: true }), [...told].map(view)];
  }

  partOf(part, number, isVoid) {
    const kind = ["text", "reasoning", "tool_call"].includes(part.kind) ? part.kind : "opaque";
    const named = part.names.at(number);
    const fresh = part.freshAt(number);
    const opaque = part.opaque.at(number);
    const isCall = kind === "tool_call";
    return h("article", { class: `part ${kind} hue-${part.index % 6}${isVoid ? " void" : ""}`, "data-part": part.index },
      h("h3", {},
        h("span", { class: "chip" }, part.index), say(kind),
        isCall && named && h("code", {}, visible(`${named.name || "?"}`)), isCall && named?.id && h("code", { class: "id" }, visible(named.id)),
        kind === "opaque" && h("code", {}, visible(part.kind)),
        isVoid && h("span", { class: "tag bad" }, say("void")),
        isCall && !isVoid && h("span", { class: named?.announced ? "tag" : "tag warn" }, say(named?.announced ? "announced" : "held_back"))),
      isCall ? this.argumentsOf(part, number, fresh) : part.size > 0 && longText(part.textAt(number), fresh),
      opaque && fold(Object.keys(opaque).map(visible).join(", "), () => jsonText(JSON.stringify(opaque))));
  }

  argumentsOf(part, number, fresh) {
    const known = part.known.at(number);
    const text = part.textAt(number);
    if (text === "") return h("p", { class: "quiet" }, `${say("string")}: ""`);
    const state = known === undefined ? say("free_text") : known.broken ? say("broken", known.broken) : say(known.whole ? "whole" : "not_whole");
    return h("div", { class: "arguments" },
      h("div", {}, h("h4", {}, say("string")), longText(text, fresh, "text json"),
        h("p", { class: known?.broken ? "state bad" : known?.whole ? "state good" : "state" }, state)),
      known && h("div", {}, h("h4", {}, say("tree")), h("div", { class: "tree" }, treeView(part.treeAt(number).root, number))));
  }

  factsOf(life, number) {
    if (!life) return null;
    const rows = [...life.facts].flatMap(([name, values]) => {
      const value = values.at(number);
      if (value === undefined || name === "complete") return [];
      return [h("div", { class: values.changedAt(number) ? "fact new" : "fact" }, h("dt", {}, say(name)), h("dd", {}, visible(String(value))))];
    });
    const isComplete = life.facts.get("complete")?.at(number) === true;
    const warnings = life.warnings.filter(([step]) => step <= number);
    return [
      h("p", { class: isComplete ? "signal yes" : "signal" }, say(isComplete ? "signal" : "no_signal_yet")),
      rows.length > 0 && h("dl", { class: "facts" }, rows),
      warnings.length > 0 && [h("h3", {}, say("warnings")), longList(h("ul", { class: "warnings" }), warnings,
        ([step, warning]) => h("li", {}, h("b", {}, kindWords(warning.kind)), " ", visible(this.trace.said(step, warning.detail))), { most: 20, fromEnd: true })],
    ];
  }

  // ---- given -------------------------------------------------------------------------------------

  givenOf(number) {
    const step = this.trace.steps[number];
    const events = step.events ?? [];
    return [
      h("h3", {}, say("shown")),
      events.length === 0 ? h("p", { class: "quiet" }, say("nothing_shown")) : longList(h("ol", { class: "events" }), events, (event) => eventView(event, (text) => this.trace.said(number, text))),
      h("h3", {}, say("to_loop")),
      this.loopOf(number),
    ];
  }

  loopOf(number) {
    const { trace } = this;
    const at = trace.ending(number);
    const step = at === null ? null : trace.steps[at];
    if (step === null) return h("p", { class: "quiet loop-nothing" }, say("nothing_given"));
    if (step.moment === "cancelled") return h("p", { class: "quiet loop-nothing" }, say("never_given"));
    const said = (text) => trace.said(at, text);
    if (step.error && trace.isAskedAgain(step)) {
      return [h("p", { class: "quiet loop-nothing" }, say("again_follows", step.attempt)), errorView(step.error, said)];
    }
    if (step.error) return [h("p", { class: "ending bad" }, say("error_given")), errorView(step.error, said), this.partialOf(at)];
    const { message } = step;
    const calls = message.parts.filter((part) => part.type === "tool_call");
    return [
      h("p", { class: "ending good" }, say("message_given"), " ", h("code", {}, `message_end ${message.stop_reason}`)),
      longList(h("div", { class: "verdicts" }), calls, (call) => verdictView(call, said), { most: 50 }),
      fold("AssistantMessage", () => jsonText(messageText(message)), calls.length === 0),
    ];
  }

  /** What had arrived when it ended in an error. */
  partialOf(number) {
    const parts = (this.trace.life(number)?.parts ?? []).filter((part) => part.size > 0 || part.names.at(number));
    if (parts.length === 0) return h("p", { class: "quiet" }, say("nothing_arrived"));
    return longList(h("div", { class: "partial" }), parts, (part) => {
      const isCall = part.kind === "tool_call";
      return h("div", {}, h("p", {}, h("b", {}, say(isCall ? "cut_call" : part.kind)), isCall && [" ", h("code", {}, visible(part.names.at(number)?.name || "?"))]),
        h("pre", {}, cutText(part.textAt(number), 600)));
    }, { most: 20 });
  }

  // ---- code --------------------------------------------------------------------------------------

  showCode() {
    const { code, trace } = this;
    const set = trace.sets[trace.steps[this.at]?.lines] ?? [];
    code.title.textContent = say("code");
    this.toggleWords.textContent = say("code_whole");
    const lines = set.reduce((sum, [, numbers]) => sum + numbers.length, 0);
    code.about.textContent = set.length === 0 ? "" : say("code_lines", lines, set.length);
    if (set === this.shownSet && this.whole === this.shownWhole && language === this.shownLanguage) return;
    this.shownSet = set;
    this.shownWhole = this.whole;
    this.shownLanguage = language;
    fill(code.body, set.length === 0 && h("p", { class: "quiet" }, say("code_none")),
      set.map(([number, ran]) => functionView(trace.functions[number], ran, this.whole)));
    const rooms = new Map();
    set.forEach(([number], place) => {
      const room = trace.functions[number].file.split("/")[0].replace(".py", "");
      if (!rooms.has(room)) rooms.set(room, code.body.children[place]);
    });
    const jump = (found) => { code.body.scrollTop = found.offsetTop - code.body.offsetTop; };
    fill(this.rooms, rooms.size > 1 && [...rooms].map(([room, found]) => h("button", { onclick: () => jump(found) }, room)));
    code.body.scrollTop = 0;
  }
}

// ---- pieces ----------------------------------------------------------------------------------------

/** Bytes of the wire as text, the ends of lines to be seen. */
function wireText(bytes) {
  return visibleBytes(bytes).replaceAll("\n", "↵\n");
}

function rawView(old, fresh) {
  const LIMIT = 6000;
  const element = h("pre", { class: "raw" });
  const show = (whole) => {
    const before = whole ? old : old.subarray(Math.max(0, old.length - LIMIT));
    const now = whole ? fresh : fresh.subarray(0, LIMIT);
    const cut = old.length + fresh.length - before.length - now.length;
    fill(element, before.length > 0 && h("span", { class: "old" }, wireText(before)), h("mark", {}, wireText(now)),
      cut > 0 && h("button", { class: "more", onclick: () => keepFocus(element, () => show(true)) }, say("all", count(old.length + fresh.length))));
  };
  show(false);
  return element;
}

function headersView(headers) {
  const entries = Object.entries(headers ?? {});
  if (entries.length === 0) return null;
  return h("details", {}, h("summary", {}, say("headers", entries.length)),
    h("pre", {}, entries.map(([name, value]) => `${visible(name)}: ${visible(value)}\n`)));
}

/** The message as JSON text; its arguments are text already, as exact as a tool is given them. */
function messageText(message) {
  const parts = message.parts.map((part) => {
    if (part.type !== "tool_call" || part.free_text || typeof part.arguments !== "string") return JSON.stringify(part);
    return `${JSON.stringify({ ...part, arguments: undefined }).slice(0, -1)},"arguments":${part.arguments}}`;
  });
  return `{"parts":[${parts.join(",")}],${JSON.stringify({ ...message, parts: undefined }).slice(1)}`;
}

function fields(fragment) {
  return Object.entries(fragment).filter(([name]) => name !== "type")
    .map(([name, value]) => h("span", { class: "field" }, h("i", {}, fieldWords(name)), value !== true && " ", value !== true && shortened(typeof value === "string" ? value : JSON.stringify(value).slice(0, 200), 160)));
}

/** A fragment's field in words. */
function fieldWords(name) {
  return `field_${name}` in WORDS.en ? say(`field_${name}`) : say(name);
}

function eventView(event, said) {
  const content = event.json_delta ?? event.text ?? said(event.reason ?? (event.type === "warning" ? `${event.kind} ${event.detail}` : ""));
  const hue = "index" in event ? ` hue-${event.index % 6}` : "";
  return h("li", { class: `event ${event.type}${hue}` },
    h("b", {}, event.type), "index" in event && h("span", { class: "chip" }, event.index),
    event.name !== undefined && h("code", {}, visible(event.name)), event.id && h("code", { class: "id" }, visible(event.id)),
    event.delay_seconds !== undefined && ` ${event.delay_seconds} s `,
    content !== "" && h("span", { class: "content" }, cutText(content, 400)));
}

function verdictView(call, said) {
  const argument = call.arguments ?? call.raw_arguments;
  return h("div", { class: call.executable ? "verdict good" : "verdict bad" },
    h("p", {}, h("b", {}, say(call.executable ? "runs" : "refused")), " ", h("code", {}, visible(call.name || "?")), " ", h("code", { class: "id" }, visible(call.id))),
    h("pre", {}, cutText(argument, 600)),
    call.refusal && h("p", { class: "reason" }, visible(said(call.refusal))));
}

function errorView(error, said) {
  const about = [error.kind, error.status && `HTTP ${error.status}`, error.code, error.retryable === true && "retryable"].filter(Boolean).join(" · ");
  return h("div", { class: "verdict bad" }, h("p", {}, h("b", {}, error.class), " ", h("span", { class: "quiet" }, about)), h("p", { class: "reason" }, visible(said(error.message))));
}

/** A node of the tree of known JSON; open ones end in a mark, new text is marked. Of very many entries the last are made, the others on demand. */
function treeView(node, step, budget = { left: 300 }) {
  budget.left -= 1;
  if (node === null) return h("span", { class: "quiet" }, "…");
  const isNew = node.step === step;
  if (node.type === "value") return h("span", { class: isNew ? "literal new" : "literal" }, node.text);
  const caret = node.open && h("span", { class: "caret", "aria-hidden": "true" }, "▌");
  if (node.type === "string") {
    const LIMIT = 1200;
    const fresh = node.freshStep === step ? node.fresh : 0;
    const start = Math.max(0, node.text.length - Math.min(Math.max(LIMIT, fresh + 100), 2 * LIMIT));
    const border = Math.max(start, node.text.length - fresh);
    return h("span", { class: "string" }, start > 0 && "… ", visible(node.text.slice(start, border)),
      fresh > 0 && h("mark", {}, visible(node.text.slice(border))), caret);
  }
  const isInnermost = !node.last?.open;
  const end = node.type === "object" ? "}" : "]";
  return h("span", { class: "container" }, node.type === "object" ? "{" : "[", node.entries.length > 0 && entriesView(node, step, budget), isInnermost && caret, !node.open && end);
}

/** The entries from the last one backwards, as many as the budget allows: what is new is at the end, or before the button when its key came again. */
function entriesView(node, step, budget) {
  const MOST_AGAIN = 20;
  const list = h("ul", {});
  const row = ([key, child], allowed) => h("li", {}, key !== null && [h("span", { class: "key" }, visible(key)), ": "], treeView(child, step, allowed));
  const again = [...node.again].filter(([, child]) => child.step === step || child === node.last).slice(-MOST_AGAIN).map(([at]) => at);
  const told = new Map(again.map((at) => [at, row(node.entries[at], budget)]));
  let at = node.entries.length;
  const button = h("button", { class: "more", onclick: () => keepFocus(list, () => show({ left: 300 })) });
  const more = h("li", {}, button);
  const show = (allowed) => {
    const rows = [];
    for (; at > 0 && (allowed.left > 0 || rows.length === 0); at -= 1) rows.push(told.get(at - 1) ?? row(node.entries[at - 1], allowed));
    more.after(...rows.reverse());
    const left = at - again.filter((one) => one < at).length;
    button.textContent = say("more", count(left));
    if (left === 0) more.remove();
  };
  list.append(...told.values(), more);
  show(budget);
  return list;
}

function functionView(found, ran, whole) {
  const lines = found.source.split("\n");
  const lit = new Set(ran);
  const near = new Set(ran.flatMap((line) => [line - 1, line, line + 1]));
  near.add(found.first);
  const rows = [];
  let hidden = false;
  lines.forEach((text, offset) => {
    const number = found.first + offset;
    if (!whole && !near.has(number)) {
      if (!hidden) rows.push(h("span", { class: "gap" }, "⋯\n"));
      hidden = true;
      return;
    }
    hidden = false;
    rows.push(h("span", { class: lit.has(number) ? "row lit" : "row" }, h("span", { class: "number" }, String(number).padStart(4)), `${text}\n`));
  });
  return h("div", { class: "function" }, h("h3", {}, h("code", {}, `${found.file}`), " ", h("b", {}, found.name)), h("pre", {}, rows));
}

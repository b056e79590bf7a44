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
    this.element = h("div", { class: "panels", role: "group", "aria-label": say("panels") }, this.received.box, this.held.box, this.given.box);
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
      exchange.request && fold(say("request_body", count(exchange.request_size)), () => jsonText(exchange.request)),
      step.moment === "head" && h("p", { class: "line" }, h("b", {}, say("response")), ` HTTP ${exchange.status ?? 200} · ${exchange.protocol}`),
      headersView(exchange.headers),
    ];
  }

  frameOf(number) {
    const step = this.trace.steps[number];
    const told = step.fragments ?? [];
    const payload = this.trace.payload(number) ?? "";
    const name = step.frame.event ? ` · event: ${visible(step.frame.event)}` : "";
    const says = told.length === 0 ? h("p", { class: "quiet" }, say("nothing_said"))
      : told.map((fragment) => h("li", {}, h("b", {}, fragment.type), " ", fields(fragment)));
    return [
      payload.trimStart().startsWith("{") && fold(`${say("payload")}${name}`, () => jsonText(payload)),
      h("h3", {}, say("says")),
      h("ul", { class: "fragments" }, says),
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

  /** All parts, or of very many those that changed in this step and the last ones. */
  partsOf(parts, number, isVoid) {
    const MOST = 24;
    const isTold = (part) => part.opened === number || part.sizes.changedAt(number) || part.names.changedAt(number) || part.index >= parts.length - MOST / 2;
    const told = parts.length <= MOST ? parts : parts.filter(isTold).slice(0, MOST);
    const left = parts.length - told.length;
    return [left > 0 && h("p", { class: "quiet" }, say("more_parts", count(left))), told.map((part) => this.partOf(part, number, isVoid))];
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
      opaque && h("details", {}, h("summary", {}, Object.keys(opaque).map(visible).join(", ")), h("pre", {}, jsonView(opaque))));
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
      warnings.length > 0 && [h("h3", {}, say("warnings")), h("ul", { class: "warnings" },
        warnings.map(([, warning]) => h("li", {}, h("b", {}, kindWords(warning.kind)), " ", visible(warning.detail))))],
    ];
  }

  // ---- given -------------------------------------------------------------------------------------

  givenOf(number) {
    const step = this.trace.steps[number];
    const events = step.events ?? [];
    return [
      h("h3", {}, say("shown")),
      events.length === 0 ? h("p", { class: "quiet" }, say("nothing_shown")) : h("ol", { class: "events" }, events.map(eventView)),
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
    if (step.error && trace.isAskedAgain(step)) {
      return [h("p", { class: "quiet loop-nothing" }, say("again_follows", step.attempt)), errorView(step.error)];
    }
    if (step.error) return [h("p", { class: "ending bad" }, say("error_given")), errorView(step.error)];
    const { message } = step;
    const calls = message.parts.filter((part) => part.type === "tool_call");
    return [
      h("p", { class: "ending good" }, say("message_given"), " ", h("code", {}, `message_end ${message.stop_reason}`)),
      calls.slice(0, 50).map(verdictView),
      calls.length > 50 && h("p", { class: "quiet" }, say("more_parts", count(calls.length - 50))),
      fold("AssistantMessage", () => h("pre", {}, jsonView(message)), calls.length === 0),
    ];
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
  return visibleBytes(bytes).replaceAll("\n", "↵\n").replace(/\n$/, "");
}

function rawView(old, fresh) {
  const LIMIT = 6000;
  const element = h("pre", { class: "raw" });
  const show = (whole) => {
    const before = whole ? old : old.subarray(Math.max(0, old.length - LIMIT));
    const now = whole ? fresh : fresh.subarray(0, LIMIT);
    const cut = old.length + fresh.length - before.length - now.length;
    fill(element, before.length > 0 && h("span", { class: "old" }, wireText(before)), h("mark", {}, wireText(now)),
      cut > 0 && h("button", { class: "more", onclick: () => show(true) }, say("all", count(old.length + fresh.length))));
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

/** JSON text indented; text that is no JSON as it is. */
function jsonText(text) {
  try {
    return h("pre", {}, jsonView(JSON.parse(text)));
  } catch {
    return longText(text, 0);
  }
}

function fields(fragment) {
  return Object.entries(fragment).filter(([name]) => name !== "type")
    .map(([name, value]) => h("span", { class: "field" }, h("i", {}, name), " ", shortened(typeof value === "string" ? value : JSON.stringify(value).slice(0, 200), 160)));
}

function eventView(event) {
  const content = event.json_delta ?? event.text ?? event.reason ?? (event.type === "warning" ? `${event.kind} ${event.detail}` : "");
  const hue = "index" in event ? ` hue-${event.index % 6}` : "";
  return h("li", { class: `event ${event.type}${hue}` },
    h("b", {}, event.type), "index" in event && h("span", { class: "chip" }, event.index),
    event.name !== undefined && h("code", {}, visible(event.name)), event.id && h("code", { class: "id" }, visible(event.id)),
    event.delay_seconds !== undefined && ` ${event.delay_seconds} s `,
    content !== "" && h("span", { class: "content" }, shortened(content, 400)));
}

function verdictView(call) {
  const argument = call.arguments === null || call.arguments === undefined ? call.raw_arguments : JSON.stringify(call.arguments);
  return h("div", { class: call.executable ? "verdict good" : "verdict bad" },
    h("p", {}, h("b", {}, say(call.executable ? "runs" : "refused")), " ", h("code", {}, visible(call.name || "?")), " ", h("code", { class: "id" }, visible(call.id))),
    h("pre", {}, shortened(argument, 600)),
    call.refusal && h("p", { class: "reason" }, visible(call.refusal)));
}

function errorView(error) {
  const about = [error.kind, error.status && `HTTP ${error.status}`, error.code, error.retryable === true && "retryable"].filter(Boolean).join(" · ");
  return h("div", { class: "verdict bad" }, h("p", {}, h("b", {}, error.class), " ", h("span", { class: "quiet" }, about)), h("p", { class: "reason" }, visible(error.message)));
}

/** A node of the tree of known JSON; open ones end in a mark, new text is marked. */
function treeView(node, step) {
  if (node === null) return h("span", { class: "quiet" }, "…");
  const isNew = node.step === step;
  if (node.type === "value") return h("span", { class: isNew ? "literal new" : "literal" }, String(node.value));
  const caret = node.open && h("span", { class: "caret", "aria-hidden": "true" }, "▌");
  if (node.type === "string") {
    const LIMIT = 1200;
    const fresh = node.freshStep === step ? node.fresh : 0;
    const start = Math.max(0, node.text.length - Math.min(Math.max(LIMIT, fresh + 100), 2 * LIMIT));
    const border = Math.max(start, node.text.length - fresh);
    return h("span", { class: "string" }, start > 0 && "… ", visible(node.text.slice(start, border)),
      fresh > 0 && h("mark", {}, visible(node.text.slice(border))), caret);
  }
  const isInnermost = !node.entries.at(-1)?.[1].open;
  const rows = node.entries.map(([key, child]) => h("li", {}, key !== null && [h("span", { class: "key" }, visible(key)), ": "], treeView(child, step)));
  return h("span", { class: "container" }, node.type === "object" ? "{" : "[", rows.length > 0 && h("ul", {}, rows), isInnermost && caret, !node.open && (node.type === "object" ? "}" : "]"));
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

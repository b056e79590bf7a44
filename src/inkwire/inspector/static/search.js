"use strict";
// A text in, the steps that hold it out; and the field that asks for it.

/** In lower case, of the same length: places in it are places in the text. */
function lowered(text) {
  return text.replaceAll("İ", "i").toLowerCase();
}

/** Steps at which the text (in lower case) is to be read, or at which the last piece of it came. Linear in what the trace holds. */
function searched(trace, wanted) {
  const found = new Set();
  if (wanted === "") return [];
  for (let number = 0; number < trace.length; number += 1) {
    if (cameWith(trace, number, wanted) || lowered(trace.summary(number, 200)).includes(wanted) || lowered(toldBy(trace, number)).includes(wanted)) found.add(number);
  }
  for (const part of trace.lives.flatMap((life) => life.parts)) {
    const whole = lowered(part.text);
    for (let at = whole.indexOf(wanted); at >= 0; at = whole.indexOf(wanted, at + wanted.length)) {
      const step = part.sizes.steps[upTo(part.sizes.values, at + wanted.length - 1)];
      if (step !== undefined) found.add(step);
    }
  }
  return [...found].sort((one, other) => one - other);
}

/** Whether the bytes of a step end the text; of the event's earlier bytes only as many are read as it can have begun in. */
function cameWith(trace, number, wanted) {
  const { old, fresh } = trace.raw(number);
  if (fresh.length === 0) return false;
  const before = old.subarray(Math.max(0, old.length - 4 * wanted.length - 4));
  const text = lowered(visibleBytes(new Uint8Array(fresh.buffer, before.byteOffset, before.length + fresh.length)));
  let whole = before.length; // a character that is cut here is read with the new bytes
  for (let at = before.length - 1; at >= Math.max(0, before.length - 3); at -= 1) {
    if (before[at] < 0xc0) continue;
    if (lengthOfCharacter(before, at) === 0) whole = at;
    break;
  }
  const known = visibleBytes(before.subarray(0, whole)).length;
  return text.includes(wanted, Math.max(0, known - wanted.length + 1));
}

/** What a step tells besides its bytes and texts: the request and the headers, warnings, refusals, errors, reasons. */
function toldBy(trace, number) {
  const step = trace.steps[number];
  const told = [];
  if (step.moment === "head" || step.moment === "refused") told.push(exchangeText(trace.exchanges[step.exchange]));
  for (const issue of step.issues ?? []) told.push(kindWords(issue.kind), issue.detail);
  for (const change of step.changes ?? []) if (change.type === "warned") told.push(change.kind, change.detail);
  for (const event of step.events ?? []) told.push(event.reason, event.type === "warning" && `${event.kind} ${event.detail}`);
  for (const part of step.message?.parts ?? []) told.push(part.refusal, part.arguments_error?.detail);
  if (step.error) told.push(step.error.class, step.error.kind, step.error.code, step.error.message);
  return told.filter(Boolean).join("\n");
}

const exchangeTexts = new WeakMap();

/** Method, address, headers and request: as they were sent, and the request's JSON as the panel shows it. */
function exchangeText(exchange) {
  if (exchange === undefined) return "";
  if (!exchangeTexts.has(exchange)) {
    const headers = [exchange.request_headers, exchange.headers].flatMap((each) => Object.entries(each ?? {}).map(([name, value]) => `${name}: ${value}`));
    exchangeTexts.set(exchange, [`${exchange.method} ${exchange.url}`, ...headers, exchange.request, plain(exchange.request)].join("\n"));
  }
  return exchangeTexts.get(exchange);
}

function plain(request) {
  try {
    return JSON.stringify(JSON.parse(request));
  } catch {
    return "";
  }
}

/** The field, how many places each view has, and the way from one to the next. */
class Search {
  constructor(app) {
    this.app = app;
    this.query = "";
    this.found = h("span", { class: "found", "aria-live": "polite" });
  }

  build() {
    this.field = h("input", { type: "search", placeholder: say("search"), "aria-label": say("search"), "data-action": "search", value: this.query, oninput: () => this.ask(this.field.value) });
    this.show();
    return h("div", { class: "group search" }, this.field, this.found);
  }

  ask(query) {
    this.query = query;
    this.look();
    this.go(true, true);
    this.show();
  }

  look() {
    for (const view of this.app.views) view.matches = searched(view.trace, lowered(this.query));
  }

  /** To the nearest match in a view that moves; `here` is near too. After the last comes the first. */
  go(forward, here = false) {
    const views = this.app.moved.filter((view) => view.matches.length > 0);
    if (views.length === 0) return;
    const distances = views.flatMap(({ matches, place }) => matches[forward ? upTo(matches, here ? place - 1 : place) : upTo(matches, place - 1) - 1] - place).filter((by) => !Number.isNaN(by));
    const around = views.map(({ matches, place }) => matches.at(forward ? 0 : -1) - place);
    const all = distances.length > 0 ? distances : around;
    this.app.shift(forward ? Math.min(...all) : Math.max(...all));
  }

  show() {
    const [first, second] = this.app.views.map((view) => this.told(view));
    fill(this.found, this.query !== "" && (second === undefined ? first : `${say("in_first", first)} · ${say("in_second", second)}`));
  }

  told({ matches, at }) {
    const index = upTo(matches, at);
    if (matches.length === 0) return say("found_none");
    return matches[index - 1] === at ? say("found", count(index), count(matches.length)) : say("found_number", count(matches.length));
  }
}

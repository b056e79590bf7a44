"use strict";
// Chunks in, the state at any step out. What grows is kept once, with the lengths that it had at each step; so a look at
// step n costs a binary search, whether the trace has ten steps or a hundred thousand.

const KINDS = ["error", "end", "reset", "issue", "call", "reasoning", "text", "wait", "info"];

class Part {
  constructor(index, kind, step) {
    this.index = index;
    this.kind = kind;
    this.opened = step;
    this.names = new Timeline();
    this.sizes = new Timeline();
    this.known = new Timeline();
    this.opaque = new Timeline();
    this.pieces = [];
    this.size = 0;
    this.tree = null;
  }

  grow(step, text) {
    this.pieces.push(text);
    this.size += text.length;
    this.sizes.set(step, this.size);
  }

  get text() {
    if (this.pieces.length > 1) this.pieces = [this.pieces.join("")];
    return this.pieces[0] ?? "";
  }

  textAt(step) {
    return this.text.slice(0, this.sizes.at(step) ?? 0);
  }

  /** How many characters came with this very step. */
  freshAt(step) {
    return (this.sizes.at(step) ?? 0) - (this.sizes.at(step - 1) ?? 0);
  }

  /** The JSON tree at a step; going on from the tree before costs only what is new. */
  treeAt(step) {
    if (this.tree === null || this.tree.step > step) this.tree = new KnownTree();
    this.tree.forward(this.known, step);
    return this.tree;
  }
}

/** Values with the step since which each holds. */
class Timeline {
  constructor() {
    this.steps = [];
    this.values = [];
  }

  set(step, value) {
    if (this.steps.at(-1) === step) {
      this.values[this.values.length - 1] = value;
      return;
    }
    this.steps.push(step);
    this.values.push(value);
  }

  at(step) {
    const index = upTo(this.steps, step) - 1;
    return index < 0 ? undefined : this.values[index];
  }

  changedAt(step) {
    const index = upTo(this.steps, step) - 1;
    return index >= 0 && this.steps[index] === step;
  }
}

/** How many of the sorted numbers are at most `limit`. */
function upTo(numbers, limit) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The arguments' JSON as far as it is known, built by the steps that the program told. */
class KnownTree {
  constructor() {
    this.step = -1;
    this.next = 0;
    this.root = null;
    this.stack = [];
    this.key = null;
  }

  forward(known, step) {
    for (; this.next < known.steps.length && known.steps[this.next] <= step; this.next += 1) {
      for (const op of known.values[this.next].ops) this.apply(op, known.steps[this.next]);
    }
    this.step = step;
  }

  apply(op, step) {
    if (op === "{" || op === "[") {
      const node = { type: op === "{" ? "object" : "array", entries: [], places: new Map(), last: null, again: new Map(), open: true, step };
      this.put(node);
      this.stack.push(node);
    } else if (op === "}" || op === "]") {
      this.stack.pop().open = false;
    } else if (op[0] === "k") {
      this.key = op[1];
    } else if (op[0] === "s") {
      const node = { type: "string", text: "", open: true, step, fresh: 0, freshStep: step };
      this.put(node);
      this.stack.push(node);
    } else if (op[0] === "t") {
      const node = this.stack.at(-1);
      if (node.freshStep !== step) node.fresh = 0;
      node.text += op[1];
      node.fresh += op[1].length;
      node.freshStep = step;
    } else if (op[0] === "e") {
      this.stack.pop().open = false;
    } else if (op[0] === "n" || op[0] === "v") {
      this.put({ type: "value", text: String(op[1]), step });
    }
  }

  put(node) {
    const parent = this.stack.at(-1);
    if (parent === undefined) {
      this.root = node;
      return;
    }
    parent.last = node;
    if (parent.type === "array") parent.entries.push([null, node]);
    else {
      // As in Python's dict: a key that comes again keeps its place and takes the new value.
      const place = parent.places.get(this.key);
      if (place !== undefined) {
        parent.entries[place][1] = node;
        parent.again.set(place, node);
      } else parent.places.set(this.key, parent.entries.push([this.key, node]) - 1);
    }
  }
}

/** The parts and facts between two beginnings: an attempt, or what follows a restart inside one. */
class Life {
  constructor(step, record) {
    this.from = step;
    this.call = record.call;
    this.attempt = record.attempt;
    this.exchange = record.exchange;
    this.parts = [];
    this.facts = new Map();
    this.warnings = [];
  }
}

class Body {
  constructor() {
    this.bytes = new Uint8Array(1024);
    this.size = 0;
  }

  write(start, piece) {
    const end = start + piece.length;
    if (end > this.bytes.length) {
      const larger = new Uint8Array(Math.max(end, this.bytes.length * 2));
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes.set(piece, start);
    this.size = Math.max(this.size, end);
  }
}

class Trace {
  constructor(name) {
    this.name = name;
    this.steps = [];
    this.exchanges = [];
    this.functions = [];
    this.sets = [];
    this.done = false;
    this.lives = [];
    this.lifeAt = [];
    this.times = [];
    this.kinds = [];
    this.issues = [];
    this.calls = [];
    this.attempts = new Map();
    this.bodies = new Map();
    this.bases = new Map();
    this.firstToken = null;
    this.timed = false;
  }

  get length() {
    return this.steps.length;
  }

  load(chunk) {
    this.functions.push(...(chunk.functions ?? []));
    this.sets.push(...(chunk.sets ?? []));
    for (const exchange of chunk.exchanges ?? []) {
      this.exchanges[exchange.number] = exchange;
      this.timed ||= exchange.timed;
    }
    for (const step of chunk.steps) this.add(step);
    this.done = chunk.done;
  }

  add(step) {
    const number = this.steps.length;
    this.steps.push(step);
    if (step.bytes !== undefined) {
      if (!this.bodies.has(step.exchange)) this.bodies.set(step.exchange, new Body());
      const piece = Uint8Array.from(atob(step.bytes), (char) => char.charCodeAt(0));
      step.size = piece.length;
      this.bodies.get(step.exchange).write((step.end ?? 0) - piece.length, piece);
      delete step.bytes;
    }
    this.times.push(this.base(step, number) + step.seconds);
    let life = this.lives.at(-1);
    if (life === undefined || life.exchange !== step.exchange) life = this.begin(number, step);
    for (const change of step.changes ?? []) {
      if (change.type === "voided" && step.moment !== "again") life = this.begin(number, step);
      else this.change(life, number, change);
    }
    this.lifeAt.push(this.lives.length - 1);
    this.judge(number, step);
  }

  begin(number, step) {
    const life = new Life(number, step);
    this.lives.push(life);
    const call = this.calls.at(-1);
    if (call === undefined || call.number !== step.call) {
      this.calls.push({ number: step.call, from: number, attempts: step.attempt, exchange: step.exchange, end: null });
    } else call.attempts = step.attempt;
    this.attempts.set(step.call, step.attempt);
    return life;
  }

  change(life, number, change) {
    const part = life.parts[change.part];
    if (change.type === "opened") life.parts.push(new Part(change.part, change.kind, number));
    else if (change.type === "grew") part.grow(number, change.text);
    else if (change.type === "named") part.names.set(number, change);
    else if (change.type === "known") part.known.set(number, change);
    else if (change.type === "opaque") part.opaque.set(number, change.opaque);
    else if (change.type === "warned") life.warnings.push([number, change]);
    else if (change.type === "fact") {
      if (!life.facts.has(change.name)) life.facts.set(change.name, new Timeline());
      life.facts.get(change.name).set(number, change.value);
    }
  }

  /** Seconds from the recording's first request to this exchange's. */
  base(step, number) {
    if (!this.bases.has(step.exchange)) {
      const first = this.exchanges.find((exchange) => exchange !== undefined);
      const started = this.exchanges[step.exchange]?.started;
      const before = this.times[number - 1] ?? 0;
      const known = typeof started === "number" && typeof first?.started === "number";
      this.bases.set(step.exchange, Math.max(before, known ? started - first.started : before));
    }
    return this.bases.get(step.exchange);
  }

  judge(number, step) {
    const events = step.events ?? [];
    const call = this.calls.at(-1);
    for (const issue of step.issues ?? []) this.issues.push({ ...issue, step: number, call: step.call, attempt: step.attempt });
    if (step.message || step.error || step.moment === "cancelled" || step.moment === "unknown") call.end = number;
    if (this.firstToken === null && events.some((event) => "index" in event)) this.firstToken = number;
    this.kinds.push(this.kindOf(step, events));
  }

  kindOf(step, events) {
    if (step.error) return "error";
    if (step.message || step.moment === "cancelled" || step.moment === "unknown") return "end";
    if (events.some((event) => event.type === "stream_reset" || event.type === "retrying")) return "reset";
    if ((step.issues ?? []).some((issue) => issue.kind !== "silence")) return "issue";
    if (events.some((event) => event.type.startsWith("tool_call"))) return "call";
    if (events.some((event) => event.type === "reasoning_delta")) return "reasoning";
    if (events.some((event) => event.type === "text_delta")) return "text";
    return step.waiting ? "wait" : "info";
  }

  gap(number) {
    return number === 0 ? this.times[0] : Math.max(0, this.times[number] - this.times[number - 1]);
  }

  life(number) {
    return this.lives[this.lifeAt[number]];
  }

  /** The raw event of a step: bytes that earlier steps brought, and the new ones. */
  raw(number) {
    const step = this.steps[number];
    const body = this.bodies.get(step.exchange);
    if (body === undefined || step.end === undefined) return { old: new Uint8Array(), fresh: new Uint8Array() };
    const start = step.start ?? 0;
    const fresh = Math.max(start, step.end - (step.size ?? 0));
    return { old: body.bytes.subarray(start, fresh), fresh: body.bytes.subarray(fresh, step.end) };
  }

  payload(number) {
    const step = this.steps[number];
    if (step.frame === undefined) return null;
    if (step.frame.data !== undefined) return step.frame.data;
    const [start, end] = step.frame.at;
    return new TextDecoder().decode(this.bodies.get(step.exchange).bytes.subarray(start, end));
  }

  /** The step that ended this step's call, if it is not later than the step. */
  ending(number) {
    const step = this.steps[number];
    for (let at = number; at >= 0 && this.steps[at].exchange === step.exchange; at -= 1) {
      if (this.steps[at].message || this.steps[at].error || this.steps[at].moment === "cancelled") return at;
      if (this.steps[at].moment === "frame") break;
    }
    return null;
  }

  /** What the library says in this step, in the language that is chosen; what a service said stays as it is. */
  said(number, text) {
    if (language === "en") return text;
    return Object.entries(this.steps[number]?.reasons ?? {}).reduce((told, [reason, words]) => told.replaceAll(reason, () => words), text);
  }

  isAskedAgain(step) {
    return step.attempt < (this.attempts.get(step.call) ?? 1);
  }

  /** One line about a step. */
  summary(number, length = 60) {
    const step = this.steps[number];
    const events = step.events ?? [];
    if (step.moment === "head") {
      const status = this.exchanges[step.exchange]?.status;
      return status ? `HTTP ${status}` : say("no_status");
    }
    if (step.error) return step.error.class;
    if (step.message) return `message_end ${step.message.stop_reason}`;
    if (events.length > 0) {
      const last = events.at(-1);
      const content = last.json_delta ?? last.text ?? last.name ?? (last.reason ? this.said(number, last.reason) : last.kind ?? "");
      const more = events.length > 1 ? ` (+${events.length - 1})` : "";
      const index = "index" in last ? ` ${last.index}` : "";
      return `${last.type}${index} ${shortened(content, length)}${more}`;
    }
    if (step.waiting) return say("waits", count(step.waiting));
    const told = (step.fragments ?? []).filter((fragment) => fragment.type !== "origin").map(fragmentSummary);
    if (told.length > 4) return `${told.slice(0, 4).join(" · ")} (+${told.length - 4})`;
    if (told.length > 0) return told.join(" · ");
    if (step.moment === "read") return say(this.raw(number).fresh.every((byte) => byte === 10 || byte === 13) ? "blank" : "keep_alive");
    return step.moment === "frame" ? step.frame?.event || say("moment_frame") : say(`moment_${step.moment}`);
  }
}

function fragmentSummary(fragment) {
  if (fragment.type === "finish") return `finish_reason ${fragment.raw ?? fragment.stop_reason}`;
  if (fragment.type === "done") return `done ${fragment.signal ?? ""}`;
  return say(`says_${fragment.type}`);
}

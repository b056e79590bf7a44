"use strict";
// Small makers of DOM elements. Text goes in as text nodes and in no other way: what a stream holds is never markup.

/** An element with attributes (`on…` are listeners, `class` and `data-…` as written) and children, strings included. */
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Replaces what is inside an element. */
function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

const CONTROLS = "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US".split(" ");
const JOINING = "\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Devanagari}\\p{Script=Bengali}\\p{Script=Gurmukhi}\\p{Script=Gujarati}\\p{Script=Oriya}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}\\p{Script=Malayalam}\\p{Script=Sinhala}";
const PICTURE = "\\p{Extended_Pictographic}";
/** What belongs to the picture of an emoji or the shape of a letter is seen; what else has no width is not. */
const INVISIBLE = new RegExp(
  [
    `(?<=${PICTURE}\\p{Emoji_Modifier}?\\ufe0f?)\\u200d(?=${PICTURE})`,
    `(?<=${PICTURE})[\\ufe0e\\ufe0f]|(?<=[0-9#*])\\ufe0f(?=\\u20e3)`, // a digit is an emoji by its properties; it looks so as a keycap only
    "(?<=\\p{Ideographic})[\\ufe00-\\ufe02\\u{e0100}-\\u{e01ef}]",
    `(?<=[${JOINING}])[\\u200c\\u200d]`,
    "[\\u0600-\\u0605\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u{110bd}\\u{110cd}]", // format characters that have a picture
    "([\\p{Cf}\\p{Default_Ignorable_Code_Point}\\u2028\\u2029])",
  ].join("|"),
  "gu",
);
const IS_PLAIN = /^[\n\t\x20-\x7e\u4e00-\u9fff\u3000-\u303f\uff01-\uff5e]*$/;

/** Text that can be looked at: control characters by their names, characters without width by their numbers. */
function visible(text) {
  if (IS_PLAIN.test(text)) return text;
  return text
    .replace(/[\x00-\x08\x0b-\x1f\x7f]/g, (char) => `‹${CONTROLS[char.charCodeAt(0)] ?? "DEL"}›`)
    .replace(/[\x80-\x9f]/g, (char) => `‹${char.charCodeAt(0).toString(16).toUpperCase()}›`)
    .replace(INVISIBLE, (found, hidden) => (hidden ? `‹U+${hidden.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›` : found));
}

const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Bytes as text that can be looked at; bytes that are no UTF-8 (a binary body, half a character) in hexadecimal. */
function visibleBytes(bytes) {
  let text = "";
  let at = 0;
  while (at < bytes.length) {
    try {
      text += DECODER.decode(bytes.subarray(at));
      break;
    } catch {
      // A character's length is told by its first byte; what does not decode is shown as it is.
      let good = at;
      while (good < bytes.length) {
        const size = lengthOfCharacter(bytes, good);
        if (size === 0) break;
        good += size;
      }
      if (good > at) text += DECODER.decode(bytes.subarray(at, good));
      let bad = good;
      while (bad < bytes.length && lengthOfCharacter(bytes, bad) === 0) bad += 1;
      const hex = Array.from(bytes.subarray(good, bad), (byte) => byte.toString(16).toUpperCase().padStart(2, "0"));
      text += `‹${hex.join(" ")}›`;
      at = bad;
    }
  }
  return visible(text);
}

function lengthOfCharacter(bytes, at) {
  const first = bytes[at];
  const size = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  if (size === 0 || at + size > bytes.length) return 0;
  try {
    DECODER.decode(bytes.subarray(at, at + size));
    return size;
  } catch {
    return 0;
  }
}

function seconds(value) {
  if (value < 0.9995) return `${Math.round(value * 1000)} ms`;
  return value < 100 ? `${value.toFixed(2)} s` : `${Math.round(value).toLocaleString("en")} s`;
}

function count(value) {
  return value.toLocaleString("en");
}

function shortened(text, length) {
  const line = visible(text.slice(0, length + 1)).replace(/\n/g, "⏎");
  return line.length > length ? `${line.slice(0, place(line, length))}…` : line;
}

/** A place in a text, or the one before when it is in the middle of a character. */
function place(text, at) {
  return at > 0 && /[\ud800-\udbff]/.test(text[at - 1]) && /[\udc00-\udfff]/.test(text[at] ?? "") ? at - 1 : at;
}

/** The beginning of a text, and a button that shows all of it. */
function cutText(text, length) {
  const element = h("span", {}, shortened(text, length));
  if (text.length > length) element.append(" ", h("button", { class: "more", onclick: () => keepFocus(element, () => fill(element, visible(text))) }, say("all", count(text.length))));
  return element;
}

/** Runs what takes away the button in an element that has the focus; the scrolling box around it has it then. */
function keepFocus(element, change) {
  const box = element.contains(document.activeElement) ? element.closest("[tabindex]") : null;
  change();
  if (!document.activeElement?.isConnected || document.activeElement === document.body) box?.focus({ preventScroll: true });
}

/** Long text: its end, and a button that shows the rest. `fresh` characters at the end are marked as new. */
function longText(text, fresh, kind) {
  const LIMIT = 4000;
  const element = h("pre", { class: kind ?? "text" });
  const show = (whole) => {
    const start = whole ? 0 : place(text, Math.max(0, text.length - Math.min(Math.max(LIMIT, fresh + 200), 2 * LIMIT)));
    const border = Math.max(start, text.length - fresh);
    const old = visible(text.slice(start, border));
    fill(
      element,
      start > 0 && h("button", { class: "more", onclick: () => keepFocus(element, () => show(true)) }, say("before", count(start))),
      old,
      fresh > 0 && h("mark", {}, visible(text.slice(border))),
    );
  };
  show(false);
  return element;
}

/** A fold whose inside is made when it is opened first. */
function fold(title, make, open = false) {
  const element = h("details", { open, ontoggle: () => { if (element.open && element.children.length === 1) append(element, [make()]); } }, h("summary", {}, title));
  if (open) append(element, [make()]);
  return element;
}

/** A list of which only `most` items are made, the first or (`fromEnd`) the last; buttons make more. */
function longList(list, items, make, { most = 100, fromEnd = false } = {}) {
  const BLOCK = 400;
  let shown = 0;
  const button = h("button", { class: "more", onclick: () => keepFocus(list, () => show(BLOCK)) });
  const more = h(list.tagName === "OL" || list.tagName === "UL" ? "li" : "div", {}, button);
  const show = (size) => {
    const to = Math.min(items.length, shown + size);
    const made = (fromEnd ? items.slice(items.length - to, items.length - shown) : items.slice(shown, to)).map(make);
    if (fromEnd) more.after(...made);
    else more.before(...made);
    shown = to;
    button.textContent = say("more", count(items.length - shown));
    if (shown === items.length) more.remove();
  };
  list.append(more);
  show(most);
  return list;
}

const JSON_TOKENS = /"(?:[^"\\]|\\.)*(?:"|\\?$)|[{}[\],:]|[^\s{}[\],:"]+/gs;

/** JSON text indented, its numbers as they are written; text that is no JSON as it is. `cut`: it has no end. */
function jsonText(text, { cut = false } = {}) {
  try {
    if (!cut) JSON.parse(text);
    else if (!/^\s*[{[]/.test(text)) return longText(text, 0);
  } catch {
    return longText(text, 0);
  }
  const lines = jsonLines(text);
  if (cut) lines.push([{ note: say("cut_here") }]);
  return longList(h("div", { class: "json" }), lines, (tokens) => h("pre", {}, tokens.map(tokenView)), { most: 400 });
}

/** The lines of JSON text, each as its tokens. */
function jsonLines(text) {
  const tokens = text.match(JSON_TOKENS) ?? [];
  const lines = [[]];
  let depth = 0;
  const begin = () => lines.push(["  ".repeat(Math.min(depth, 40))]);
  tokens.forEach((token, at) => {
    const isFirst = "{[".includes(tokens[at - 1]);
    const isEnd = "}]".includes(token);
    if (isEnd) depth -= 1;
    if (isFirst !== isEnd) begin();
    lines.at(-1).push(token[0] === '"' && tokens[at + 1] === ":" ? { key: token } : token);
    if ("{[".includes(token)) depth += 1;
    else if (token === ",") begin();
  });
  return lines;
}

function tokenView(token) {
  if (token.key) return h("span", { class: "key" }, visible(token.key));
  if (token.note) return h("span", { class: "quiet" }, token.note);
  if (/^"([^"\\]|\\.)*"$/s.test(token)) return stringView(JSON.parse(token));
  if (token[0] === '"') return h("span", { class: "string" }, cutText(token, 600));
  return token === ":" ? ": " : /^[{}[\],]|^ *$/.test(token) ? token : h("span", { class: "literal" }, visible(token));
}

function stringView(value) {
  const LIMIT = 600;
  const element = h("span", { class: "string" });
  const text = visible(JSON.stringify(value));
  if (text.length <= LIMIT) {
    fill(element, text);
    return element;
  }
  const more = h("button", { class: "more", onclick: () => keepFocus(element, () => fill(element, text)) }, say("all", count(value.length)));
  fill(element, `${text.slice(0, place(text, LIMIT))}…`, more);
  return element;
}

"use strict";
// A text in, the steps that hold it out.

/** Steps whose bytes or summary hold the text (in lower case), or where the last piece of it came. */
function searched(trace, wanted) {
  const found = new Set();
  if (wanted === "") return [];
  for (let number = 0; number < trace.length; number += 1) {
    const { old, fresh } = trace.raw(number);
    const bytes = old.length + fresh.length < 1e5 ? concatenated(old, fresh) : fresh;
    const text = fresh.length > 0 ? visibleBytes(bytes).toLowerCase() : "";
    if (text.includes(wanted) || trace.summary(number, 200).toLowerCase().includes(wanted)) found.add(number);
  }
  for (const part of trace.lives.flatMap((life) => life.parts)) {
    const whole = part.text.toLowerCase();
    for (let at = whole.indexOf(wanted); at >= 0; at = whole.indexOf(wanted, at + 1)) {
      const step = part.sizes.steps[upTo(part.sizes.values, at + wanted.length - 1)];
      if (step !== undefined) found.add(step);
    }
  }
  return [...found].sort((one, other) => one - other);
}

function concatenated(one, other) {
  const all = new Uint8Array(one.length + other.length);
  all.set(one);
  all.set(other, one.length);
  return all;
}

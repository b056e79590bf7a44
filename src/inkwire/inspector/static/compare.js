"use strict";
// Two traces in, the steps at which their events first differ out.

/** The step of each at which the first difference is; null when they tell the same. */
function firstDifference(one, other) {
  const left = eventsOf(one);
  const right = eventsOf(other);
  let index = 0;
  while (index < left.length && index < right.length && left[index].text === right[index].text) index += 1;
  if (index === left.length && index === right.length) return null;
  return [left[index]?.step ?? one.length - 1, right[index]?.step ?? other.length - 1];
}

/** Every event of a trace with its step, pieces of one part joined: so it does not matter how the wire was cut. */
function eventsOf(trace) {
  const found = [];
  trace.steps.forEach((step, number) => {
    for (const event of step.events ?? []) {
      for (const char of event.type.endsWith("_delta") ? event.json_delta ?? event.text : [JSON.stringify({ ...event, id: undefined })]) {
        found.push({ step: number, text: `${event.type} ${event.index ?? ""} ${char}` });
      }
    }
    if (step.message) found.push({ step: number, text: `${step.message.stop_reason} ${step.message.parts.map((part) => part.executable)}` });
    if (step.error) found.push({ step: number, text: step.error.class });
  });
  return found;
}

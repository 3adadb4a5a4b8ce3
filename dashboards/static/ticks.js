// The vertical axis of a chart: what its numbers are in, where its ticks are, and what they say.
"use strict";
const ticksOf = (numbers) => {
  const FEW = 8, LEAST_POWER = -323;  // powers of ten below it are 0
  const raised = (power) => [...String(power)].map((one) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(one)]).join("");

  // In the unit of the largest value steps are round; a number too long for it is told with its power of ten.
  function scaleFor(values) {
    const largest = values.reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), 0);
    const [, size, symbol] = numbers.rung(largest), rest = largest / size;
    const power = rest && (rest < 1e-4 || rest >= 1e6) ? Math.max(LEAST_POWER, Math.floor(Math.log10(rest))) : 0;
    return {size: size * 10 ** power, symbol: power ? `× 10${raised(power)} ${symbol}`.trim() : symbol};
  }

  // Whether values so far apart are told in one unit.
  function isOne(low, high) {
    return numbers.rung(Math.abs(low))[2] === numbers.rung(Math.abs(high))[2];
  }

  // Digits enough to tell neighbours apart, the same for all.
  function alike(values) {
    const steps = values.slice(1).map((value, i) => Math.abs(value - values[i])).filter(Boolean), step = steps.length ? Math.min(...steps) : 1;
    let digits = 0;
    while (digits < 12 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6 * step * 10 ** digits) digits += 1;
    return values.map((value) => numbers.signed(value.toFixed(digits), value));
  }

  function roundStep(least) {
    const power = 10 ** Math.floor(Math.log10(least));
    return power * [1, 2, 5, 10].find((one) => one * power >= least * (1 - 1e-9));
  }

  function even(low, high) {
    const step = roundStep((high - low) / FEW), first = Math.ceil(low / step - 1e-9);
    return Array.from({length: Math.floor(high / step + 1e-9) - first + 1}, (_, i) => +((first + i) * step).toPrecision(12));
  }

  function powers(low, high) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9), every = Math.ceil((last - first + 1) / FEW);
    return Array.from({length: Math.floor((last - first) / every) + 1}, (_, i) => +`1e${first + i * every}`);
  }

  function roundOnes(low, high) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
      found.push(...[1, 2, 5].map((one) => +`${one}e${power}`).filter((one) => one >= low && one <= high));
    }
    return found;
  }

  // Of a narrow range the steps are even, as on a linear axis; of a wide one they are round numbers, at last powers of ten.
  const isNarrow = (low, high) => high / low <= 4;
  function logarithmic(low, high) {
    if (isNarrow(low, high)) return even(low, high);
    return high / low <= 100 ? roundOnes(low, high) : powers(low, high);
  }

  return {scaleFor, isOne, isNarrow, alike, logarithmic};
};

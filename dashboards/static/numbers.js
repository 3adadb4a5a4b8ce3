// Numbers as people read them, with the units and digits of the server. A ladder has [from which value on, size, symbol].
"use strict";
const numbersOf = (ladder, {isCount = false, isSigned = false} = {}) => {
  const rung = (size) => ladder.reduce((found, one) => (one[0] <= size * (1 + 1e-9) ? one : found), ladder[0]);
  const signed = (text, value) => `${isSigned && value > 0 ? "+" : ""}${text.replaceAll("-", "−")}`;
  const isShort = (value, short) => Math.abs(value - short) <= 1e-9 * Math.abs(value);

  function exponential(value, digits) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
    return `${isShort(value, +`${mantissa}e${exponent}`) ? +mantissa : mantissa}e${+exponent}`;
  }

  // So many significant digits; a number that has fewer is told with those it has.
  function plain(value, digits = 3) {
    const size = Math.abs(value), short = +value.toPrecision(digits);
    if (size && (size < 1e-4 || size >= 1e6)) return exponential(value, digits);
    if (size >= 10 ** (digits - 1)) return value.toFixed(0);
    return isShort(value, short) ? String(short) : value.toPrecision(digits);
  }

  const inUnit = (value, [, size, symbol]) => `${signed(plain(value / size), value)} ${symbol}`.trim();
  const prefixed = (value) => inUnit(value, rung(Math.abs(value)));

  // Whole numbers are told in full.
  const unitOf = (value) => isCount && Number.isInteger(value) && Math.abs(value) < 1e6 ? [0, 1, ""] : rung(Math.abs(value));

  const told = (value) => value == null ? "–" : inUnit(value, unitOf(value));

  // Two numbers with four digits in the larger, and as many decimals in the other if it is near.
  function alike(first, second) {
    const [small, large] = [Math.abs(first), Math.abs(second)].sort((a, b) => a - b);
    const areWhole = Number.isInteger(first) && Number.isInteger(second), isFar = small * 10 < large || large < 1e-3 || large >= 1e15;
    if (areWhole && large < 1e6) return [String(first), String(second)];
    if (areWhole || isFar) return [first, second].map((value) => plain(+value.toPrecision(4), 4));
    return [first, second].map((value) => value.toFixed(Math.max(0, 3 - Math.floor(Math.log10(large)))));
  }

  // A range with one unit and digits enough to tell its ends apart; nothing where it is one value.
  function between(low, high) {
    if (low === high) return "";
    const [, size, symbol] = unitOf(Math.max(Math.abs(low), Math.abs(high))), ends = [low, high];
    return `${alike(low / size, high / size).map((text, at) => signed(text, ends[at])).join(" … ")} ${symbol}`.trim();
  }

  return {rung, signed, plain, prefixed, told, between};
};

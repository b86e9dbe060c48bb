// Numbers as people read them: three significant digits and a unit, exactly as numbers.rs writes them.

// As Rust rounds: the exact value, halves to the even digit.
function fixed(value, places) {
  const text = value.toFixed(places);
  const doubled = value * 2 ** (places + 1);
  // Only a value that is a whole number of 2^-(places + 1) can lie exactly half-way; toFixed then takes the larger.
  if (!Number.isInteger(doubled) || Math.abs(value) > 2 ** 40) return text;
  const halves = value * 2 * 10 ** places;
  if (!Number.isInteger(halves) || halves % 2 === 0) return text;
  const lower = (halves - 1) / 2;
  return ((lower % 2 === 0 ? lower : lower + 1) / 10 ** places).toFixed(places);
}

function threeDigits(value) {
  const size = Math.abs(value);
  return fixed(value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3);
}

function withUnit(value, units) {
  const [factor, name] = units.find(([factor]) => Math.abs(value) / factor >= 0.9995) ?? units.at(-1);
  return `${threeDigits(value / factor)} ${name}`;
}

const time = (ns) => withUnit(ns, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]);

function ratioPlaces(ratio) {
  if (ratio >= 99.5) return 0;
  if (ratio >= 9.95) return 1;
  return (ratio >= 0.95 && ratio <= 1.05) || ratio < 0.0995 ? 3 : 2;
}

const ratioText = (value) => fixed(value, ratioPlaces(value));

const missing = (value) => value === null || value === undefined;

// The interval of a ratio, as precise as the ratio itself; null while it is unbounded.
function ratioInterval(around, lo, hi) {
  if (missing(lo) || missing(hi)) return null;
  const places = ratioPlaces(around);
  return `${fixed(lo, places)}–${fixed(hi, places)}`;
}

// The interval of a time, whichever of its bounds are known; null where neither is.
function timeInterval(lo, hi) {
  if (missing(lo) && missing(hi)) return null;
  if (missing(hi)) return `from ${time(lo)}`;
  if (missing(lo)) return `up to ${time(hi)}`;
  return `${time(lo)} – ${time(hi)}`;
}

function sizeText(bytes) {
  const unit = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]].find(
    ([factor]) => bytes >= factor && bytes % factor === 0,
  );
  return unit ? `${bytes / unit[0]} ${unit[1]}` : `${bytes} B`;
}

const percentText = (share) => `${Number((share * 100).toFixed(2))} %`;

// Turns values of the API into text for people.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}\p{NChar}\p{Cs}]/gu;
const SHORT: { [code: number]: string } = { 9: "\\t", 10: "\\n", 13: "\\r" };

// Returns the text with control characters, marks of direction and invisible characters written
// out, as the command line does: "\u202e". So a name shows as what it is.
export function shown(text: string | undefined): string {
  return (text ?? "").replace(HIDDEN, (letter) => {
    const code = letter.codePointAt(0) ?? 0;
    if (SHORT[code]) return SHORT[code];
    const digits = code.toString(16);
    return code > 0xffff ? "\\U" + digits.padStart(8, "0") : "\\u" + digits.padStart(4, "0");
  });
}

// Returns a 64-bit integer of proto3 JSON as a number. Missing means 0.
export function int(value: string | number | undefined): number {
  return value === undefined ? 0 : Number(value);
}

// Returns a double of proto3 JSON, which may be "Infinity" or "NaN".
export function real(value: number | string | undefined): number {
  return value === undefined ? 0 : Number(value);
}

// Returns an amount of milli-GPU in GPUs: 62500 becomes "62.5".
export function gpus(milligpu: string | number | undefined): string {
  return count(int(milligpu) / 1000);
}

export function count(value: number, digits = 3): string {
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

// Returns "1 job" or "3 jobs".
export function plural(value: number, word: string, words = word + "s"): string {
  return `${count(value)} ${value === 1 ? word : words}`;
}

export function percent(part: number): string {
  return Number.isFinite(part) ? (100 * part).toFixed(1) + " %" : "–";
}

// Returns the factor for people: 1.094 becomes "1.09", and infinity "∞".
export function factor(value: number | string | undefined): string {
  const number = real(value);
  return Number.isFinite(number) ? count(number, number < 10 ? 2 : 0) : "∞";
}

// Returns GPU-hours from a GpuTime.
export function hours(time: { gpuSeconds?: string } | undefined): number {
  return int(time?.gpuSeconds) / 3600;
}

export function hoursText(value: number): string {
  return count(value, Math.abs(value) < 10 ? 2 : Math.abs(value) < 1000 ? 1 : 0) + " h";
}

// Returns the milliseconds of a Duration ("23.888s").
export function millis(duration: string | undefined): number {
  return duration ? parseFloat(duration) * 1000 : 0;
}

const UNITS: [number, string][] = [
  [86400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
];

// Returns a length of time with at most two units: "2 h 5 min".
export function duration(ms: number): string {
  const sign = ms < 0 ? "−" : "";
  let rest = Math.round(Math.abs(ms) / 1000);
  if (rest === 0) return ms === 0 ? "0 s" : `${count(ms, Math.abs(ms) < 1 ? 2 : 0)} ms`;
  const parts: string[] = [];
  for (const [size, unit] of UNITS) {
    const whole = Math.floor(rest / size);
    if (whole > 0) parts.push(`${whole} ${unit}`);
    else if (parts.length) break;
    rest -= whole * size;
    if (parts.length === 2) break;
  }
  return sign + parts.join(" ");
}

// Returns an instant in milliseconds since 1970, or undefined if it is unset.
export function instant(timestamp: string | undefined): number | undefined {
  const ms = timestamp ? Date.parse(timestamp) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

const two = (value: number) => String(value).padStart(2, "0");

// Returns "2026-03-01" in UTC.
export function day(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

// Returns "12:31:05" in UTC.
export function clock(ms: number): string {
  return new Date(ms).toISOString().slice(11, 19);
}

// Returns the instant in UTC. The date is left out if it is the date of `now`.
export function time(timestamp: string | number | undefined, now: number): string {
  const ms = typeof timestamp === "number" ? timestamp : instant(timestamp);
  if (ms === undefined) return "–";
  const short = clock(ms).slice(0, 5);
  return day(ms) === day(now) ? `${short} UTC` : `${day(ms)} ${short} UTC`;
}

// Returns "in 5 min" or "5 min ago".
export function relative(ms: number, now: number): string {
  const gap = ms - now;
  if (Math.abs(gap) < 1000) return "now";
  return gap > 0 ? `in ${duration(gap)}` : `${duration(-gap)} ago`;
}

const AGO: { [unit: string]: number } = { s: 1000, min: 60_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

// Reads a moment that a person typed: the number of a fact, a length of time before `now` ("2h"), or a time
// in UTC ("2026-03-01 12:00", "12:00" for today). Returns it as the service reads it. Undefined: it is none.
export function momentFrom(typed: string, now: number): string | undefined {
  const text = typed.trim();
  if (/^[1-9]\d{0,15}$/.test(text)) return text;
  const ago = /^(\d+(?:\.\d+)?) ?(s|min|m|h|d)$/.exec(text);
  if (ago) return isoText(now - Number(ago[1]) * AGO[ago[2]]);
  const parts = /^(\d{4}-\d\d-\d\d)?[ T]?(\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)?(?: ?(?:UTC|Z))?$/.exec(text);
  if (!parts || (!parts[1] && !parts[2])) return undefined;
  const at = Date.parse(`${parts[1] ?? day(now)}T${parts[2] ?? "00:00"}Z`);
  return Number.isNaN(at) ? undefined : isoText(at);
}

// Returns an instant as the service reads it: "2026-03-01T12:00:00Z".
export function isoText(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}

// Turns "JOB_STATE_QUEUED" with the prefix "JOB_STATE_" into "queued".
export function word(value: string | undefined, prefix: string): string {
  const short = (value ?? "").replace(prefix, "").toLowerCase().replaceAll("_", " ");
  return short === "unspecified" ? "" : short;
}

// Returns the text as a sentence: with a capital letter.
export function sentence(text: string | undefined): string {
  const clean = shown(text);
  return clean.charAt(0).toUpperCase() + clean.slice(1);
}

// Returns the account and user as the command line writes them: "ml.vision/ana".
export function owner(account: string | undefined, user: string | undefined): string {
  return user ? `${account ?? ""}/${user}` : account || "root";
}

// Returns "2026-03" for the month of this instant in UTC.
export function month(ms: number): string {
  const date = new Date(ms);
  return `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}`;
}

// Turns a mask of GPU indexes into "0-3, 6".
export function maskText(mask: string | undefined): string {
  let bits = BigInt(mask ?? "0");
  const parts: string[] = [];
  for (let at = 0; bits > 0n; ) {
    if (!(bits & 1n)) {
      bits >>= 1n;
      at += 1;
      continue;
    }
    const from = at;
    while (bits & 1n) {
      bits >>= 1n;
      at += 1;
    }
    parts.push(from === at - 1 ? String(from) : `${from}-${at - 1}`);
  }
  return parts.join(", ");
}

// Splits a record such as "path=ml shares=3" into its fields.
export function fieldsOf(record: string | undefined): Map<string, string> {
  const fields = new Map<string, string>();
  for (const part of (record ?? "").split(/ (?=[\w.]+=)/)) {
    const at = part.indexOf("=");
    if (at > 0) fields.set(part.slice(0, at), part.slice(at + 1));
    else if (part) fields.set(part, "");
  }
  return fields;
}

// Returns the first instants of a month ("2026-03") and of the next one. Undefined: not a month.
export function bounds(month: string): { from: Date; to: Date } | undefined {
  const found = /^(\d{4})-(\d{2})$/.exec(month);
  if (!found || Number(found[2]) < 1 || Number(found[2]) > 12) return undefined;
  const at = (step: number) => new Date(Date.UTC(Number(found[1]), Number(found[2]) - 1 + step));
  return { from: at(0), to: at(1) };
}

/** Sample string for a regular expression, derived by parsing: running an untrusted pattern could take forever. */

const MAX_PATTERN_CHARACTERS = 500;
const MAX_SAMPLE_CHARACTERS = 10_000;

/** Candidates for a character class, tried before the characters of the class itself. */
const SAMPLE_CHARACTERS = ['a', '0', 'A', '-', '_', ' ', '.', '@', '\n', '\t', 'é', '中'];

/** Operands of escapes, by the letter of the escape. */
const ESCAPE_OPERANDS: Record<string, RegExp> = {
  p: /^\{[^}]*\}/,
  P: /^\{[^}]*\}/,
  u: /^(?:\{[0-9a-f]*\}|[0-9a-f]{4})/i,
  x: /^[0-9a-f]{2}/i,
};

/** Undefined for unsupported patterns: lookaround, backreferences, contradictory assertions. */
export function samplePattern(pattern: string, minLength: number): string | undefined {
  if (pattern.length > MAX_PATTERN_CHARACTERS) return undefined;
  const shortest = generate([...pattern], 0);
  if (shortest === undefined || shortest.length >= minLength) return shortest;
  return generate([...pattern], minLength - shortest.length);
}

/** The shortest match of the first alternatives, extended by about `spare` characters if repetitions allow. */
function generate(pattern: string[], spare: number): string | undefined {
  let at = 0;
  let isSupported = true;

  function alternatives(): string {
    const first = sequence();
    while (pattern[at] === '|') {
      at++;
      sequence();
    }
    return first;
  }

  function sequence(): string {
    let text = '';
    while (at < pattern.length && pattern[at] !== '|' && pattern[at] !== ')') text += repeated(atom());
    if (text.length > MAX_SAMPLE_CHARACTERS) isSupported = false;
    return isSupported ? text : '';
  }

  function atom(): string {
    const sign = pattern[at++] ?? '';
    switch (sign) {
      case '^':
      case '$':
        return '';
      case '.':
        return 'a';
      case '(':
        return group();
      case '[':
        return member(classText());
      case '\\':
        return escaped();
      default:
        return sign;
    }
  }

  function group(): string {
    const opening = /^\?(?::|<[^=!>][^>]*>)/.exec(pattern.slice(at).join(''));
    if (opening) at += [...opening[0]].length;
    else if (pattern[at] === '?') isSupported = false;
    const text = alternatives();
    at++;
    return text;
  }

  function classText(): string {
    const start = at - 1;
    if (pattern[at] === '^') at++;
    while (at < pattern.length && pattern[at] !== ']') at += pattern[at] === '\\' ? 2 : 1;
    return pattern.slice(start, ++at).join('');
  }

  function escaped(): string {
    const sign = pattern[at++] ?? '';
    if (/[bB]/.test(sign)) return '';
    if (/[1-9k]/.test(sign)) isSupported = false;
    const [operand] = ESCAPE_OPERANDS[sign]?.exec(pattern.slice(at).join('')) ?? [''];
    at += operand.length;
    return member(`\\${sign}${operand}`);
  }

  function member(text: string): string {
    const matches = compiled(text);
    const found = [...SAMPLE_CHARACTERS, ...text].find((letter) => matches?.test(letter));
    if (found === undefined) isSupported = false;
    return found ?? '';
  }

  function repeated(text: string): string {
    const quantifier = /^(?:[*+?]|\{(\d+)(,(\d*))?\})\??/.exec(pattern.slice(at, at + 20).join(''));
    if (!quantifier) return text;
    at += quantifier[0].length;
    const [min, max] = bounds(quantifier);
    const more = text === '' ? 0 : Math.min(max - min, Math.ceil(spare / text.length));
    spare -= more * text.length;
    if (text.length * (min + more) > MAX_SAMPLE_CHARACTERS) isSupported = false;
    return isSupported ? text.repeat(min + more) : '';
  }

  const text = alternatives();
  return isSupported && at === pattern.length ? text : undefined;
}

function bounds([quantifier, min, comma, max]: RegExpExecArray): [number, number] {
  if (min !== undefined)
    return [Number(min), comma === undefined ? Number(min) : max ? Number(max) : Number.POSITIVE_INFINITY];
  return [quantifier.startsWith('+') ? 1 : 0, quantifier.startsWith('?') ? 1 : Number.POSITIVE_INFINITY];
}

/** Compiles one class or escape to a pattern for a single character. */
function compiled(text: string): RegExp | undefined {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(`^(?:${text})$`, flags);
    } catch {
      // Invalid with these flags; tries the next.
    }
  }
  return undefined;
}

/** Hub names of parameters in the spelling of a protocol, for errors and the header of dropped parameters. */

/**
 * The longest known beginning of a dotted name is replaced, and the rest is spelled. Behind what is known there may be names of
 * the client, of any length and with any number of dots.
 */
export function createParameterNames(
  known: Readonly<Record<string, string>>,
  spell: (rest: string) => string,
): (parameter: string) => string {
  const mostDots = Math.max(...Object.keys(known).map((name) => name.split('.').length)) - 1;

  return (parameter) => {
    const ends: number[] = [];
    let end = parameter.indexOf('.');
    for (; end >= 0 && ends.length <= mostDots; end = parameter.indexOf('.', end + 1)) ends.push(end);
    if (end < 0) ends.push(parameter.length);
    for (const length of ends.reverse()) {
      const name = parameter.slice(0, length);
      if (Object.hasOwn(known, name)) return known[name] + spell(parameter.slice(length));
    }
    return spell(parameter);
  };
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

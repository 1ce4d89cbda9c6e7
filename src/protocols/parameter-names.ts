/** Hub names of parameters in the spelling of a protocol, for errors and the header of dropped parameters. */

/** Beginning of the name of a member of a schema, whose own names stay as the client wrote them. */
const SCHEMA = 'format.schema.';

/**
 * The longest known beginning of a dotted name is replaced, and the rest is spelled. Behind what is known there may be names of
 * the client, of any length and with any number of dots.
 */
export function createParameterNames(
  known: Readonly<Record<string, string>>,
  spell: (rest: string) => string,
): (parameter: string) => string {
  const mostDots = Math.max(...Object.keys(known).map((name) => name.split('.').length)) - 1;

  function nameOf(parameter: string): string {
    const ends: number[] = [];
    let end = parameter.indexOf('.');
    for (; end >= 0 && ends.length <= mostDots; end = parameter.indexOf('.', end + 1)) ends.push(end);
    if (end < 0) ends.push(parameter.length);
    for (const length of ends.reverse()) {
      const name = parameter.slice(0, length);
      if (Object.hasOwn(known, name)) return known[name] + spell(parameter.slice(length));
    }
    return spell(parameter);
  }

  return (parameter) => {
    if (!parameter.startsWith(SCHEMA)) return nameOf(parameter);
    return `${nameOf(SCHEMA.slice(0, -1))}.${parameter.slice(SCHEMA.length)}`;
  };
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

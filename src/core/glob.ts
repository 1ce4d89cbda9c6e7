/** Globs of model ids: `*` matches any characters, everything else matches literally. */

/** Takes time linear in the length of the text, whatever the glob. */
export function matchesGlob(glob: string, text: string): boolean {
  const [first = '', ...others] = glob.split('*');
  const last = others.pop();
  if (last === undefined) return text === glob;
  if (!text.startsWith(first)) return false;
  let position = first.length;
  for (const piece of others) {
    const found = text.indexOf(piece, position);
    if (found < 0) return false;
    position = found + piece.length;
  }
  return text.length - position >= last.length && text.endsWith(last);
}

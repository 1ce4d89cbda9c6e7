/** Protocols of the playground. */

export const WIRES = ['chat', 'messages', 'generate', 'responses'] as const;
export type Wire = (typeof WIRES)[number];

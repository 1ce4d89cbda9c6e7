/** Fields of an HTTP message: names in lower case, with their values. */

export type Fields = Record<string, string | undefined>;

/** Bodies in chunks that both parsers refuse, by their fault. */

export const MALFORMED_CHUNKS: Readonly<Record<string, string>> = {
  'a chunk without a size': '\r\nabc\r\n0\r\n\r\n',
  'a size that is none': 'x\r\nabc\r\n0\r\n\r\n',
  'a hexadecimal size with its prefix': '0x3\r\nabc\r\n0\r\n\r\n',
  'a negative size': '-1\r\n\r\n',
  'a size with a space': '3 \r\nabc\r\n0\r\n\r\n',
  'a size that ends with a line feed': '3\nabc\r\n0\r\n\r\n',
  'a size beyond what a number represents': 'fffffffffffff\r\n',
  'a chunk that is longer than its size': '3\r\nabcd\r\n0\r\n\r\n',
  'a chunk that ends with a line feed': '3\r\nabc\n0\r\n\r\n',
  'a line feed in an extension': '3;a\nb\r\nabc\r\n0\r\n\r\n',
  'a line feed at the end of an extension': '3;\nabc\r\n0\r\n\r\n',
  'a carriage return in an extension': '3;a\rb\r\nabc\r\n0\r\n\r\n',
  'a null in an extension': '3;a\0\r\nabc\r\n0\r\n\r\n',
  'a control character in an extension': '3;a\x7f\r\nabc\r\n0\r\n\r\n',
  'a line end in quotes of an extension': '3;a="\r\nabc\r\n0\r\n\r\n',
  'a line end behind an escaped quote of an extension': '3;a="b\\"\r\nabc\r\n0\r\n\r\n',
  'a line end behind a backslash in quotes of an extension': '3;a="b\\\r\nabc\r\n0\r\n\r\n',
  'a line end in quotes of the last extension': '3\r\nabc\r\n0;a="\r\n\r\n',
  'a trailer that is no field': '0\r\nnothing\r\n\r\n',
  'a trailer behind a space': '0\r\n a: b\r\n\r\n',
};

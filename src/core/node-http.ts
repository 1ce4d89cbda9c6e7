/** Values of `node:http`. An import of it would read all its exports, and some of them load a second HTTP client: 13 MB. */

export const { createServer, get, ServerResponse, STATUS_CODES } = process.getBuiltinModule('node:http');

#!/usr/bin/env node
/**
 * Entry point of the npm package, copied to `dist/polygate.cjs`. Old versions of Node must be able to read it: they get one
 * line that says what to type. It lets Node keep compiled code between starts.
 */

'use strict';

var needed = require('../package.json').engines.node.replace('>=', '');

if (isNewEnough(process.versions.node, needed)) {
  keepCompiledCode();
  import('./main.js');
} else {
  process.stderr.write(
    'Polygate needs Node ' +
      needed +
      ' or newer, and this is ' +
      process.versions.node +
      '. Type: npx -p node@' +
      needed.split('.')[0] +
      ' -p polygate polygate\n',
  );
  process.exitCode = 1;
}

function isNewEnough(version, bound) {
  var numbers = version.split('.').map(Number);
  var bounds = bound.split('.').map(Number);
  return numbers[0] > bounds[0] || (numbers[0] === bounds[0] && numbers[1] >= bounds[1]);
}

/**
 * Only in a folder that no other user can write: what is in it is run. Node's own choice is a folder for temporary files,
 * where another user could be first.
 */
function keepCompiledCode() {
  if (process.env.NODE_COMPILE_CACHE !== undefined) return;
  var folder = cacheFolder();
  if (folder === undefined) return;
  var fs = require('node:fs');
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (isPrivate(fs.lstatSync(folder))) require('node:module').enableCompileCache(folder);
  } catch (_) {
    // A start without it takes longer, and does the same.
  }
}

function cacheFolder() {
  var path = require('node:path');
  var base =
    process.env.XDG_CACHE_HOME ||
    process.env.LOCALAPPDATA ||
    (process.env.HOME && path.join(process.env.HOME, '.cache'));
  return base && path.isAbsolute(base) ? path.join(base, 'polygate', 'compiled') : undefined;
}

function isPrivate(stats) {
  if (process.getuid === undefined) return stats.isDirectory();
  return stats.isDirectory() && stats.uid === process.getuid() && (stats.mode & 0o022) === 0;
}

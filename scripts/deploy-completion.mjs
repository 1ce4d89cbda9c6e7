/** Check of `polygate completion`: bash, zsh and fish complete lines with the scripts, each as it does for a person. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runOrThrow } from './deploy-tools.mjs';
import { root } from './install.mjs';

/** A line that is being typed, and the one word that may follow; none if empty. */
const LINES = {
  'polygate ser': 'serve',
  'polygate keys ro': 'rotate',
  'polygate keys create --bud': '--budget',
  'polygate route sandbox/echo --protocol me': 'messages',
  'polygate completion f': 'fish',
  'polygate connect cl': 'claude',
  'polygate check --config my': 'my config.yaml',
  'polygate import litellm my': 'my config.yaml',
  'polygate keys show my': '',
  'polygate serve --workers my': '',
};

const BASH = `
. "$1"
words=($2)
COMP_WORDS=("\${words[@]}"); COMP_CWORD=$(( \${#words[@]} - 1 ))
_polygate
printf '%s\\n' "\${COMPREPLY[@]}"`;

const FISH = 'source $argv[1]; complete --do-complete $argv[2] | string split --fields 1 \\t; true';

/** A shell with a terminal of its own gets the line and a tab; then a key shows what it made of the line. */
const ZSH = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; stty cols 1000; source '$1'; print READY-\\$((40+2))"
zpty -r shell output '*READY-42*'
zpty -w shell "show() { print -r -- RESULT=\\$BUFFER=END }; zle -N show; bindkey '^X' show; print READY-\\$((40+3))"
zpty -r shell output '*READY-43*'
zpty -n -w shell "$2"$'\\t'
zpty -n -w shell $'\\x18'
zpty -r shell output '*=END*'
zpty -d shell
output=\${output##*RESULT=}
print -r -- "\${output%%=END*}"`;

export function checkCompletion({ node, folder }) {
  writeFileSync(join(folder, 'my config.yaml'), '');
  const scripts = Object.fromEntries(
    ['bash', 'zsh', 'fish'].map((shell) => {
      const file = join(folder, `completion.${shell}`);
      writeFileSync(file, runOrThrow(node, [join(root, 'src/main.ts'), 'completion', shell]).stdout);
      return [shell, file];
    }),
  );
  const ask = (program, ...args) =>
    runOrThrow(program, args, { cwd: folder, env: { ...process.env, HOME: folder, TERM: 'dumb' } }).stdout.trimEnd();
  for (const [line, word] of Object.entries(LINES)) {
    assert.equal(ask('bash', '--norc', '-c', BASH, 'bash', scripts.bash, line), word, `bash: ${line}`);
    assert.equal(ask('fish', '--no-config', '--command', FISH, scripts.fish, line), word, `fish: ${line}`);
    const typed = line.slice(line.lastIndexOf(' ') + 1);
    const completed = line.slice(0, -typed.length) + (word === '' ? typed : word.replaceAll(' ', '\\ '));
    assert.equal(ask('zsh', '-f', '-c', ZSH, 'zsh', scripts.zsh, line), completed, `zsh: ${line}`);
  }
  return `${Object.keys(LINES).length} lines in 3 shells`;
}

/** `polygate completion`: the script by which a shell completes commands and options, made from the commands themselves. */

import type { Command, Option } from 'commander';

export type CompletionShell = 'bash' | 'zsh' | 'fish';

/** A command with its place: `keys create`; the empty text is the program itself. */
interface Place {
  path: string;
  command: Command;
}

export function completionScript(shell: CompletionShell, root: Command): string {
  const places = placesOf(root, '');
  if (shell === 'fish') return fishScript(root.name(), places);
  const script = bashScript(root.name(), places);
  return shell === 'bash' ? script : `autoload -Uz compinit bashcompinit && compinit && bashcompinit\n${script}`;
}

function placesOf(command: Command, path: string): Place[] {
  const inner = command.commands.flatMap((each) => placesOf(each, `${path} ${each.name()}`.trim()));
  return [{ path, command }, ...inner];
}

/** Names of a command's options that can be typed, `--help` included. */
function flagsOf(command: Command): string[] {
  return [...command.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? ''), '--help'];
}

function valuesOf(option: Option): readonly string[] {
  return option.argChoices ?? [];
}

function argumentChoices(command: Command): string[] {
  return command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
}

function namesFile(text: string): boolean {
  return text.includes('file');
}

function takesFiles(command: Command): boolean {
  return command.registeredArguments.some((argument) => namesFile(argument.name()));
}

function bashScript(name: string, places: Place[]): string {
  const steps = places.filter(({ path }) => path !== '').map(({ path }) => `"${stepOf(path)}"`);
  const words = places.map(({ path, command }) => {
    const inner = command.commands.map((each) => each.name());
    const files = takesFiles(command) ? '; files=1' : '';
    return `    "${path}") words="${[...inner, ...argumentChoices(command), ...flagsOf(command)].join(' ')}"${files} ;;`;
  });
  return `# Completion of ${name}.
_${name}() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path="" words="" files="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path \${COMP_WORDS[i]}" in
      ${steps.join('|')}) path="\${path:+$path }\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path" in
${words.join('\n')}
  esac
  case "$path $prev" in
${bashValues(places).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  local IFS=$'\\n'
  if [ -n "$files" ]; then COMPREPLY+=($(compgen -f -- "$cur")); fi
}
complete -o filenames -F _${name} ${name}
`;
}

/** Cases of options that have a value: their choices, files, or nothing. */
function bashValues(places: Place[]): string[] {
  const groups = new Map<string, string[]>();
  for (const { path, command } of places) {
    for (const option of command.options.filter(({ required, optional }) => required || optional)) {
      const settings = `words="${valuesOf(option).join(' ')}" files=${namesFile(option.flags) ? 1 : '""'}`;
      groups.set(settings, [...(groups.get(settings) ?? []), `"${path} ${option.long}"`]);
    }
  }
  return [...groups].map(([settings, patterns]) => `    ${patterns.join('|')}) ${settings} ;;`);
}

/** Returns where a word leads from a place: the path before it, a space, and the word. */
function stepOf(path: string): string {
  const last = path.lastIndexOf(' ');
  return last < 0 ? ` ${path}` : path;
}

function fishScript(name: string, places: Place[]): string {
  const steps = places.filter(({ path }) => path !== '').map(({ path }) => `'${stepOf(path)}'`);
  return `# Completion of ${name}.
function __${name}_at
  set -l path ''
  set -l words (commandline -opc)
  for word in $words[2..-1]
    switch "$path $word"
      case ${steps.join(' ')}
        set path (string trim -- "$path $word")
    end
  end
  test "$path" = "$argv[1]"
end
complete -c ${name} -f
${places.flatMap((place) => fishLines(name, place)).join('\n')}
`;
}

function fishLines(name: string, { path, command }: Place): string[] {
  const start = `complete -c ${name} -n "__${name}_at '${path}'"`;
  const inner = command.commands.map((each) => `${start} -a ${each.name()} -d ${quoted(each.description())}`);
  const choices = argumentChoices(command).map((choice) => `${start} -a ${choice}`);
  const files = takesFiles(command) ? [`${start} -F`] : [];
  const options = command.options
    .filter(({ hidden }) => !hidden)
    .map((option) => {
      const takesValue = option.required || option.optional;
      const values = valuesOf(option);
      const list = values.length > 0 ? ` -a '${values.join(' ')}'` : '';
      const value = namesFile(option.flags) ? ' -r -F' : ` -x${list}`;
      const long = (option.long ?? '').replace(/^--/, '');
      return `${start} -l ${long}${takesValue ? value : ''} -d ${quoted(option.description)}`;
    });
  return [...inner, ...choices, ...files, ...options, `${start} -l help -d 'show help'`];
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
